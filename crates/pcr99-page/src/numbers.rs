//! Numbers formatted for people.

/// A number with six significant digits.
pub fn shown(x: f64) -> String {
    if x == 0.0 || (1e-4..1e7).contains(&x.abs()) {
        let before_point = libm::log10(x.abs().max(1.0)) as usize + 1;
        let text = format!("{x:.*}", 7_usize.saturating_sub(before_point));
        let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
        if text == "-0" { "0".to_owned() } else { text.to_owned() }
    } else {
        format!("{x:.5e}")
    }
}

/// A number with two significant digits.
pub fn rough(x: f64) -> String {
    // Decimal digits are rounded as they are printed.
    shown(format!("{x:.1e}").parse().unwrap_or(x))
}

/// A number with all the digits that are needed to read back the same number.
pub fn exact(x: f64) -> String {
    // The debugging form has an exponent where the display form would have hundreds of zeros.
    format!("{x:?}")
}

/// A fraction as a whole percentage.
pub fn percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}

/// A time in microseconds, milliseconds or seconds.
pub fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 1e-3 => format!("{:.0} µs", 1e6 * s),
        s if s < 1e-2 => format!("{:.2} ms", 1e3 * s),
        s if s < 1.0 => format!("{:.0} ms", 1e3 * s),
        s if s < 100.0 => format!("{s:.2} s"),
        s => format!("{s:.0} s"),
    }
}

/// An integer with a space between groups of three digits, from five digits on.
pub fn grouped(number: usize) -> String {
    let digits = number.to_string();
    if digits.len() < 5 {
        return digits;
    }
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push('\u{202f}');
        }
        text.push(digit);
    }
    text
}

/// A power of ten: written out near one, with an exponent elsewhere.
pub fn power_of_ten(power: i32) -> String {
    if (-4..=4).contains(&power) {
        return format!("{}", 10_f64.powi(power));
    }
    let plain = power.to_string();
    let raised = plain.chars().map(|digit| match digit {
        '-' => '⁻',
        '1' => '¹',
        '2' => '²',
        '3' => '³',
        digit => char::from_u32('⁰' as u32 + digit.to_digit(10).unwrap_or(0)).unwrap_or(digit),
    });
    "10".chars().chain(raised).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readable() {
        assert_eq!([1.0, 0.05, -1.25, 1234.5678, -0.0].map(shown), ["1", "0.05", "-1.25", "1234.568", "0"]);
        assert_eq!([0.000_844, 0.0996, 12.34, 0.0].map(rough), ["0.00084", "0.1", "12", "0"]);
        assert_eq!([1e-9, 2.5e12].map(shown), ["1.00000e-9", "2.50000e12"]);
        assert_eq!(
            [2e-5, 0.0021, 0.25, 2.0, 250.0].map(duration),
            ["20 µs", "2.10 ms", "250 ms", "2.00 s", "250 s"]
        );
        assert_eq!(exact(1e-300), "1e-300");
    }

    #[test]
    fn thousands_are_separated() {
        assert_eq!(
            [7, 1000, 10_000, 1_000_000].map(grouped),
            ["7", "1000", "10\u{202f}000", "1\u{202f}000\u{202f}000"]
        );
    }

    #[test]
    fn powers_are_readable() {
        let words = [-12, -5, -4, 0, 4, 5, 6].map(power_of_ten);
        assert_eq!(words, ["10⁻¹²", "10⁻⁵", "0.0001", "1", "10000", "10⁵", "10⁶"]);
    }
}
