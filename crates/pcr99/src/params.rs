//! Parameters that are checked when they are made and cannot be invalid afterwards.

use crate::Error;

/// A finite number above zero, checked when it is made.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Positive(f64);

impl Positive {
    /// The number 1.
    pub const ONE: Self = Self(1.0);

    /// Checks `value`. Errors call it `name`.
    ///
    /// # Errors
    /// [`Error::NotPositive`] when `value` is zero, negative, infinite or NaN.
    pub fn new(name: &'static str, value: f64) -> Result<Self, Error> {
        if value.is_finite() && value > 0.0 {
            Ok(Self(value))
        } else {
            Err(Error::NotPositive { name, value })
        }
    }

    /// Checks that `value` is positive and between `low` and `high`.
    pub(crate) fn within(name: &'static str, value: f64, [low, high]: [f64; 2]) -> Result<Self, Error> {
        let positive = Self::new(name, value)?;
        if (low..=high).contains(&value) {
            Ok(positive)
        } else {
            Err(Error::OutOfRange { name, value, low, high })
        }
    }

    /// The value.
    pub const fn get(self) -> f64 {
        self.0
    }

    /// A literal, checked at compile time when called in a `const` block.
    pub(crate) const fn literal(value: f64) -> Self {
        assert!(value > 0.0 && value < f64::INFINITY);
        Self(value)
    }
}

/// What is known of the scale `s` in `b = s·R·a + t` (Eq. 1).
///
/// ```
/// use pcr99::Scale;
/// assert!(Scale::known(2.5).is_ok());
/// assert_eq!(Scale::known(0.0).unwrap_err().to_string(), "`scale` must be finite and positive, got 0");
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Scale {
    /// The scale is estimated together with `R` and `t` (Sec. V).
    Unknown,
    /// The scale is given (Sec. VI).
    Known(Positive),
    /// The scale is estimated within these bounds; for the default method only.
    Between(Positive, Positive),
}

impl Scale {
    /// A scale that is known to be `s`.
    ///
    /// # Errors
    /// [`Error::NotPositive`] unless `s` is finite and above zero.
    pub fn known(s: f64) -> Result<Self, Error> {
        Positive::new("scale", s).map(Self::Known)
    }

    /// A scale that is known to be between `low` and `high`.
    ///
    /// # Errors
    /// [`Error::NotPositive`] unless both are finite and above zero, [`Error::EmptyRange`] unless `low` is below `high`.
    pub fn between(low: f64, high: f64) -> Result<Self, Error> {
        let bounds = (Positive::new("least scale", low)?, Positive::new("greatest scale", high)?);
        if low < high { Ok(Self::Between(bounds.0, bounds.1)) } else { Err(Error::EmptyRange { low, high }) }
    }

    /// The scale 1 of a rigid motion.
    pub const fn one() -> Self {
        Self::Known(const { Positive::literal(1.0) })
    }
}
