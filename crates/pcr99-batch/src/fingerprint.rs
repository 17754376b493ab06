//! Hash that identifies rows, the same on every machine and with every compiler.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// 128-bit FNV-1a hash (Fowler, Noll, Vo). The probability that any two of a million different rows have the same is about 10⁻²⁷.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Fingerprint(u128);

impl Fingerprint {
    /// Fingerprint of nothing.
    pub(crate) const fn empty() -> Self {
        Self(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d)
    }

    /// Adds a text with its length: (`ab`, `c`) differs from (`a`, `bc`).
    #[must_use]
    pub(crate) fn with(self, text: &str) -> Self {
        self.bytes(&(text.len() as u64).to_le_bytes()).bytes(text.as_bytes())
    }

    /// Adds a number.
    #[must_use]
    pub(crate) fn with_number(self, number: u64) -> Self {
        self.bytes(&number.to_le_bytes())
    }

    /// The lower 64 bits.
    pub(crate) fn low(self) -> u64 {
        self.0 as u64
    }

    /// Adds another fingerprint.
    #[must_use]
    pub(crate) fn and(self, other: Self) -> Self {
        self.bytes(&other.0.to_le_bytes())
    }

    fn bytes(self, bytes: &[u8]) -> Self {
        const PRIME: u128 = (1 << 88) + 0x13b;
        Self(bytes.iter().fold(self.0, |hash, &byte| (hash ^ u128::from(byte)).wrapping_mul(PRIME)))
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl From<Fingerprint> for String {
    fn from(fingerprint: Fingerprint) -> Self {
        fingerprint.to_string()
    }
}

impl FromStr for Fingerprint {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let hex = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let number = hex.then(|| u128::from_str_radix(text, 16).ok()).flatten();
        number.map(Self).ok_or("a fingerprint has 32 hexadecimal digits")
    }
}

impl TryFrom<String> for Fingerprint {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_published_function() {
        // From the definition: the offset, and the offset times the prime after xor with `a`.
        assert_eq!(Fingerprint::empty().to_string(), "6c62272e07bb014262b821756295c58d");
        assert_eq!(Fingerprint::empty().bytes(b"a").to_string(), "d228cb696f1a8caf78912b704e4a8964");
    }

    #[test]
    fn texts_do_not_run_together() {
        let of = |texts: &[&str]| texts.iter().fold(Fingerprint::empty(), |hash, text| hash.with(text));
        assert_ne!(of(&["ab", "c"]), of(&["a", "bc"]));
        assert_ne!(of(&["a", ""]), of(&["", "a"]));
        assert_eq!(of(&["a", "b"]), of(&["a", "b"]));
        let one = of(&["x"]);
        assert_eq!(one.to_string().parse(), Ok(one));
        assert!("+2345678901234567890123456789012".parse::<Fingerprint>().is_err());
    }
}
