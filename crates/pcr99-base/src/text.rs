//! Characters that change how other characters are shown.

use std::borrow::Cow;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_spelled_out_and_letters_stay() {
        assert_eq!(without_direction_marks("a\u{202e}gpj.exe"), "a⟨U+202E⟩gpj.exe");
        assert_eq!(without_direction_marks("\u{2067}שלום ü 点\u{2069}"), "⟨U+2067⟩שלום ü 点⟨U+2069⟩");
    }
}
