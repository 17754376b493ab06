//! The scale as the user gave it: text or numbers.

use std::{fmt, str::FromStr};

use pcr99::{Positive, Scale};

use crate::{
    PlanError,
    text::{self, Expected},
};

/// Scale as the user gave it, not yet checked. As text: `unknown`, a number, or a range `MIN..MAX`.
///
/// ```
/// use pcr99_plan::GivenScale;
///
/// assert_eq!("unknown".parse(), Ok(GivenScale::Unknown));
/// assert_eq!("2.5".parse(), Ok(GivenScale::Known(2.5)));
/// assert_eq!("0.5..2".parse(), Ok(GivenScale::Range(0.5, 2.0)));
/// assert_eq!(GivenScale::Range(0.5, 2.0).to_string(), "0.5..2");
/// assert!("large".parse::<GivenScale>().is_err());
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum GivenScale {
    /// Estimate it.
    Unknown,
    /// It is this number.
    Known(f64),
    /// Estimate it between these bounds.
    Range(f64, f64),
}

impl GivenScale {
    /// The checked scale.
    ///
    /// # Errors
    /// Unless the numbers are finite and positive, and the first of a range is below the second.
    pub fn checked(self) -> Result<Scale, PlanError> {
        Ok(match self {
            Self::Unknown => Scale::Unknown,
            Self::Known(scale) => Scale::known(scale)?,
            Self::Range(low, high) => {
                // Errors name the option, not an end of its range.
                Positive::new("scale", low)?;
                Positive::new("scale", high)?;
                Scale::between(low, high)?
            }
        })
    }
}

impl From<Scale> for GivenScale {
    fn from(scale: Scale) -> Self {
        match scale {
            Scale::Unknown => Self::Unknown,
            Scale::Known(scale) => Self::Known(scale.get()),
            Scale::Between(low, high) => Self::Range(low.get(), high.get()),
        }
    }
}

impl FromStr for GivenScale {
    type Err = Expected;

    fn from_str(text: &str) -> Result<Self, Expected> {
        let number = |text: &str| {
            text::number(text).map_err(|_| Expected::new("`unknown`, a positive number, or a range MIN..MAX"))
        };
        match text.split_once("..") {
            _ if text == "unknown" => Ok(Self::Unknown),
            None => number(text).map(Self::Known),
            Some((low, high)) => Ok(Self::Range(number(low)?, number(high)?)),
        }
    }
}

impl fmt::Display for GivenScale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Unknown => f.write_str("unknown"),
            Self::Known(scale) => f.write_str(&text::number_text(scale)),
            Self::Range(low, high) => {
                write!(f, "{}..{}", text::number_text(low), text::number_text(high))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn wrong_scales_are_refused() {
        for (text, message) in [
            ("large", "expected `unknown`, a positive number, or a range MIN..MAX"),
            ("1..", "expected `unknown`, a positive number, or a range MIN..MAX"),
            ("0", "`scale` must be finite and positive, got 0"),
            ("NaN", "`scale` must be finite and positive, got NaN"),
            ("-1..2", "`scale` must be finite and positive, got -1"),
            ("1..inf", "`scale` must be finite and positive, got inf"),
            ("2..1", "the scale range 2..1 is empty: the first number must be the smaller one"),
        ] {
            let checked = match text.parse::<GivenScale>() {
                Ok(given) => given.checked().map_err(|error| error.to_string()),
                Err(expected) => Err(expected.to_string()),
            };
            assert_eq!(checked.unwrap_err(), message);
        }
    }

    proptest! {
        #[test]
        fn text_and_back(which in 0..3, low in 1e-300..1e300_f64, more in 1.1..10.0_f64) {
            let scale = match which {
                0 => Scale::Unknown,
                1 => Scale::known(low).unwrap(),
                _ => Scale::between(low, low * more).unwrap(),
            };
            let again: GivenScale = GivenScale::from(scale).to_string().parse().unwrap();
            prop_assert_eq!(again.checked().unwrap(), scale);
        }
    }
}
