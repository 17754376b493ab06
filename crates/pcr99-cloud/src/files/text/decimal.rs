//! Decimal numbers to doubles, correctly rounded, faster than `str::parse` on the numbers that tables have.
//!
//! A decimal is `w·10^e` with integers `w` and `e`. Up to 19 digits, `w` fits 64 bits, and there are three cases:
//!
//! 1. `w ≤ 2⁵³` and `|e| ≤ 22`: both are exact as doubles, so one multiplication or division rounds once (Clinger, *How to read floating point
//!    numbers accurately*, 1990).
//! 2. `−27 ≤ e < 0`: `5^−e` fits 64 bits. Quotient and remainder of integers give more bits than a double has, and whether anything follows.
//! 3. Anything else is left to `str::parse`.

/// Largest number of digits that always fit 64 bits.
const MOST_DIGITS: usize = 19;

/// Powers of ten that are exact as doubles.
const TENS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18,
    1e19, 1e20, 1e21, 1e22,
];

/// Powers of ten of up to eight digits.
const WHOLE_TENS: [u64; 9] = [1, 10, 100, 1000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000];

/// Powers of five that fit 64 bits.
const FIVES: [u64; 28] = {
    let mut powers = [1; 28];
    let mut i = 1;
    while i < powers.len() {
        powers[i] = 5 * powers[i - 1];
        i += 1;
    }
    powers
};

/// The finite number that `bytes` are; `None` for anything else.
pub(super) fn parse(bytes: &[u8]) -> Option<f64> {
    leading(bytes).filter(|&(_, length)| length == bytes.len()).map(|(value, _)| value)
}

/// The finite number at the beginning of `bytes`, as far as it reaches, and its length.
#[inline(always)] // a call takes a fifth of the time
pub(super) fn leading(bytes: &[u8]) -> Option<(f64, usize)> {
    let first = *bytes.first()?;
    let negative = first == b'-';
    let start = usize::from(negative || first == b'+');
    // Before the point there are one or two digits in most tables, and their number seldom changes.
    let (mut number, mut at) = few_digits(bytes, start, 0);
    let (mut count, mut exponent) = (at - start, 0);
    if bytes.get(at) == Some(&b'.') {
        let point = at + 1;
        (number, at) = many_digits(bytes, point, number);
        count += at - point;
        exponent = -((at - point) as i64);
    }
    if count == 0 {
        return None;
    }
    if let Some(b'e' | b'E') = bytes.get(at) {
        let shift;
        (shift, at) = shift_after(bytes, at + 1)?;
        exponent += shift;
    }
    let text = &bytes[..at];
    let fits = count <= MOST_DIGITS || count - leading_zeros(&text[start..]) <= MOST_DIGITS;
    if fits && let Some(magnitude) = times_power_of_ten(number, exponent) {
        return Some((if negative { -magnitude } else { magnitude }, at));
    }
    by_standard_library(text).map(|value| (value, at))
}

/// The number that `text` is, if it is finite.
#[cold]
fn by_standard_library(text: &[u8]) -> Option<f64> {
    std::str::from_utf8(text).ok()?.parse().ok().filter(|value: &f64| value.is_finite())
}

/// Appends the decimal digits of `bytes` from `at` on to `number`, modulo 2⁶⁴; returns it with the place after them.
#[inline]
fn few_digits(bytes: &[u8], mut at: usize, mut number: u64) -> (u64, usize) {
    while let Some(digit @ b'0'..=b'9') = bytes.get(at) {
        number = number.wrapping_mul(10).wrapping_add(u64::from(digit - b'0'));
        at += 1;
    }
    (number, at)
}

/// [`few_digits`] for any number of digits: eight bytes at a time. A loop over digits would be mispredicted at its end, which differs from
/// number to number.
#[inline]
fn many_digits(bytes: &[u8], mut at: usize, mut number: u64) -> (u64, usize) {
    while let Some(eight) = bytes[at..].first_chunk() {
        let eight = u64::from_le_bytes(*eight);
        let count = count_digits(eight);
        if count == 0 {
            return (number, at);
        }
        // The bytes after the digits are shifted out, and zeros come before the digits.
        let value = value_of_digits(eight << (64 - 8 * count));
        number = number.wrapping_mul(WHOLE_TENS[count]).wrapping_add(value);
        at += count;
        if count < 8 {
            return (number, at);
        }
    }
    few_digits(bytes, at, number)
}

/// Number of bytes from `0` to `9` before the first other one, of eight bytes of which the lowest is the first.
fn count_digits(eight: u64) -> usize {
    // The high bit of a byte below `0` is set by a borrow, and of one above `9` by a carry. Bytes after it may be wrong.
    let above = eight.wrapping_add(0x4646_4646_4646_4646);
    let below = eight.wrapping_sub(0x3030_3030_3030_3030);
    let others = (above | below) & 0x8080_8080_8080_8080;
    others.trailing_zeros() as usize / 8
}

/// The number with these eight digits, of which the lowest byte is the first.
fn value_of_digits(eight: u64) -> u64 {
    let digits = eight & 0x0f0f_0f0f_0f0f_0f0f;
    // Neighbours are joined: to two digits in 16 bits, four in 32, eight in 64.
    let pairs = (digits.wrapping_mul(10 << 8 | 1) >> 8) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs.wrapping_mul(100 << 16 | 1) >> 16) & 0x0000_ffff_0000_ffff;
    fours.wrapping_mul(10_000 << 32 | 1) >> 32
}

/// The exponent from `at` on, and the place after it; `None` without a digit. Large ones are cut to one that is beyond any double.
#[inline(never)]
fn shift_after(bytes: &[u8], at: usize) -> Option<(i64, usize)> {
    let negative = bytes.get(at) == Some(&b'-');
    let start = at + usize::from(negative || bytes.get(at) == Some(&b'+'));
    let mut end = start;
    let mut shift = 0i64;
    while let Some(digit @ b'0'..=b'9') = bytes.get(end) {
        shift = (10 * shift + i64::from(digit - b'0')).min(1 << 40);
        end += 1;
    }
    (end > start).then_some((if negative { -shift } else { shift }, end))
}

/// Number of zeros before the first other digit.
#[cold]
fn leading_zeros(number: &[u8]) -> usize {
    number.iter().take_while(|byte| matches!(byte, b'0' | b'.')).filter(|byte| **byte == b'0').count()
}

/// `number·10^exponent`, correctly rounded, in cases 1 and 2 above.
#[inline]
fn times_power_of_ten(number: u64, exponent: i64) -> Option<f64> {
    if number <= 1 << 53 && (-22..=22).contains(&exponent) {
        let power = TENS[exponent.unsigned_abs() as usize];
        return Some(if exponent < 0 { number as f64 / power } else { number as f64 * power });
    }
    match exponent {
        -27..0 if number > 0 => Some(over_power_of_ten(number, exponent.unsigned_abs() as usize)),
        0 => Some(number as f64),
        _ => None,
    }
}

/// `number / 10^power`, correctly rounded, for a positive number.
#[inline(never)]
fn over_power_of_ten(number: u64, power: usize) -> f64 {
    let five = FIVES[power];
    // Both fill 64 bits, so the quotient has 62 or 63, nine more than a double at least.
    let (up, five_up) = (number.leading_zeros(), five.leading_zeros());
    let (dividend, divisor) = (u128::from(number << up) << 62, u128::from(five << five_up));
    let (quotient, rest) = ((dividend / divisor) as u64, dividend % divisor);
    // The last bit stands for all that follow. It decides between values half-way, and no rounding sees it otherwise.
    let rounded = (quotient | u64::from(rest > 0)) as i64 as f64;
    // A power of two from 2⁻¹⁵³ to 2¹, so that the product is exact.
    let exponent = i64::from(five_up) - i64::from(up) - 62 - power as i64;
    rounded * f64::from_bits(((1023 + exponent) as u64) << 52)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The definition: what the standard library parses, if it is finite.
    fn expected(text: &str) -> Option<f64> {
        text.parse().ok().filter(|value: &f64| value.is_finite())
    }

    fn check(text: &str) {
        assert_eq!(parse(text.as_bytes()).map(f64::to_bits), expected(text).map(f64::to_bits), "{text}");
        let longer = format!("{text},1");
        let found = leading(longer.as_bytes());
        if expected(text).is_some() {
            assert_eq!(
                found.map(|(value, end)| (value.to_bits(), end)),
                expected(text).map(|x| (x.to_bits(), text.len()))
            );
        }
    }

    #[test]
    fn every_spelling() {
        for text in [
            "0",
            "-0",
            "+0",
            "0.0",
            "-0.000",
            "00000000000000000000000001",
            "1",
            "-1",
            "+1",
            "1.",
            ".5",
            "-.5",
            "1e5",
            "1E5",
            "1e+5",
            "1e-5",
            "1.5e0",
            "",
            "+",
            "-",
            ".",
            "-.",
            "e5",
            ".e5",
            "1e",
            "1e+",
            "1 ",
            " 1",
            "--1",
            "+-1",
            "1.2.3",
            "1e5.0",
            "0x10",
            "1_000",
            "nan",
            "inf",
            "-inf",
            "infinity",
            "1e999",
            "-1e999",
            "1e-999",
            "1e99999999999999999999",
            "0e99999999999999999999",
            "9007199254740992",
            "9007199254740993",
            "9007199254740993e22",
            "9007199254740993e-22",
            "18446744073709551615",
            "18446744073709551616",
            "9999999999999999999",
            "99999999999999999999",
            "0.00000000000000000001234567890123456789",
            "1234567890123456789e-27",
            "12345678901234567890123e-30",
            "1234567890123456789e-28",
            "9999999999999999999e-27",
            "4.9e-324",
            "2.2250738585072011e-308",
            "1.7976931348623157e308",
            "1.797693134862315808e308",
            "0.1",
            "0.3",
            "123456.789",
            "8.5",
            "0.500000000000000166533453693773481063544750213623046875",
            "1٣",
            "１",
        ] {
            check(text);
        }
    }

    /// Half-way between two doubles, where one more digit decides.
    #[test]
    fn halves_are_rounded_to_even() {
        for odd in [1u64, 3, 0x3_ffff_ffff, (1 << 54) - 1] {
            for power in 1..=9 {
                // odd/2^power has `power` decimals.
                let scaled = u128::from(odd) * 5u128.pow(power) + (1u128 << 54) * 10u128.pow(power);
                let (whole, part) = (scaled / 10u128.pow(power), scaled % 10u128.pow(power));
                let width = power as usize;
                for end in ["", "0", "00000001", "1"] {
                    check(&format!("{whole}.{part:0width$}{end}"));
                }
            }
        }
        check("4503599627370496.5");
        check("4503599627370497.5");
        check("0.50000000000000005551");
        check("0.5000000000000000555111512312578270211815834045410156250");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]

        #[test]
        fn doubles_come_back(value in any::<f64>(), small in -1e3..1e3f64, decimals in 0..25usize) {
            for value in [value, small].into_iter().filter(|value| value.is_finite()) {
                prop_assert_eq!(parse(value.to_string().as_bytes()).map(f64::to_bits), Some(value.to_bits()));
                prop_assert_eq!(parse(format!("{value:e}").as_bytes()).map(f64::to_bits), Some(value.to_bits()));
            }
            check(&format!("{small:.decimals$}"));
            check(&format!("{small:.decimals$e}"));
        }

        #[test]
        fn digits_and_exponents(number in any::<u64>(), shift in 0..64u32, exponent in -45..45i32, zeros in 0..4usize) {
            let number = number >> shift;
            check(&format!("{number}e{exponent}"));
            check(&format!("-{}{number}e{exponent}", "0".repeat(zeros)));
            check(&format!("0.{}{number}", "0".repeat(zeros)));
            check(&format!("{number}.{}{number}", "0".repeat(zeros)));
        }

        #[test]
        fn any_text(text in "[-+0-9.eE]{0,12}") {
            check(&text);
        }
    }
}
