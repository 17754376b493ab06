//! Text for people: short numbers, and characters that change how others are shown.

use std::borrow::Cow;

use crate::Similarity;

/// Whether a character changes the direction of text. In a name, it can make the rest of a message or of a page read backwards.
///
/// ```
/// assert!(pcr99_base::text::is_direction_mark('\u{202e}'));
/// assert!(!pcr99_base::text::is_direction_mark('א'));
/// ```
pub fn is_direction_mark(character: char) -> bool {
    matches!(character, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// `text` with its direction marks spelled out, such as `⟨U+202E⟩`.
pub fn without_direction_marks(text: &str) -> Cow<'_, str> {
    if !text.contains(is_direction_mark) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        match is_direction_mark(character) {
            true => shown += &format!("⟨U+{:04X}⟩", u32::from(character)),
            false => shown.push(character),
        }
    }
    Cow::Owned(shown)
}

/// A number with six significant digits.
///
/// ```
/// assert_eq!([0.5, 1234.5678, 3e-9].map(pcr99_base::text::shown), ["0.5", "1234.568", "3.00000e-9"]);
/// ```
pub fn shown(x: f64) -> String {
    if x == 0.0 || (1e-4..1e7).contains(&x.abs()) {
        let before_point = libm::log10(x.abs().max(1.0)) as usize + 1;
        let text = format!("{x:.*}", 7_usize.saturating_sub(before_point));
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
    } else {
        format!("{x:.5e}")
    }
}

/// A fraction in percent, without decimals.
pub fn percent(fraction: f64) -> String {
    format!("{:.0} %", 100.0 * fraction)
}

/// Rotation angle, translation and scale of a transform in a few words.
pub fn motion(transform: &Similarity) -> String {
    let r = transform.rotation();
    let cosine = 0.5 * (r[0][0] + r[1][1] + r[2][2] - 1.0);
    let degrees = libm::acos(cosine.clamp(-1.0, 1.0)).to_degrees();
    let [x, y, z] = transform.translation().map(shown);
    format!("rotation {degrees:.1}°, translation ({x}, {y}, {z}), scale {}", shown(transform.scale()))
}

/// A number with its noun.
pub fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_motion_in_a_few_words() {
        let quarter =
            Similarity::from_quaternion(2.0, [1.0, 0.0, 0.0, 1.0], [1.0, 0.0, -3.5]).expect("a similarity");
        assert_eq!(motion(&quarter), "rotation 90.0°, translation (1, 0, -3.5), scale 2");
    }

    #[test]
    fn marks_are_spelled_out_and_letters_stay() {
        assert_eq!(without_direction_marks("a\u{202e}gpj.exe"), "a⟨U+202E⟩gpj.exe");
        assert_eq!(without_direction_marks("\u{2067}שלום ü 点\u{2069}"), "⟨U+2067⟩שלום ü 点⟨U+2069⟩");
    }
}
