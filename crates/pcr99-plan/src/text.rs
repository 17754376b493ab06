use std::{fmt, str::FromStr};

use pcr99_baselines::Method;
use pcr99_cloud::Refinement;

/// What a text should have been. Its message is, for instance, "expected a number".
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expected(String);

impl Expected {
    /// The text should have been this.
    pub(crate) fn new(what: &str) -> Self {
        Self(what.to_owned())
    }

    fn one_of(names: &[&str]) -> Self {
        Self(format!("one of {}", names.join(", ")))
    }
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected {}", self.0)
    }
}

impl std::error::Error for Expected {}

/// A number; its range is checked by the plan.
///
/// # Errors
/// When the text is not a number.
pub fn number(text: &str) -> Result<f64, Expected> {
    text.parse().map_err(|_| Expected::new("a number"))
}

/// A whole number that is not negative.
///
/// # Errors
/// When the text is something else, or too large for `T`.
pub fn whole<T: FromStr>(text: &str) -> Result<T, Expected> {
    text.parse().map_err(|_| Expected::new("a whole number that is not negative"))
}

/// A method by its name.
///
/// # Errors
/// When there is no such method; the error lists them all.
pub fn method(text: &str) -> Result<Method, Expected> {
    text.parse().map_err(|_| Expected::one_of(&Method::ALL.map(Method::name)))
}

/// Names of the ways to refine a pose.
const REFINEMENTS: [(&str, Refinement); 4] = [
    ("point-to-plane", Refinement::PointToPlane),
    ("point-to-point", Refinement::PointToPoint),
    ("plane-to-plane", Refinement::PlaneToPlane),
    ("none", Refinement::None),
];

/// A refinement by its name: `point-to-plane`, `point-to-point`, `plane-to-plane` or `none`.
///
/// # Errors
/// When there is no such refinement; the error lists them all.
pub fn refinement(text: &str) -> Result<Refinement, Expected> {
    let found = REFINEMENTS.into_iter().find(|(name, _)| *name == text).map(|(_, refinement)| refinement);
    found.ok_or_else(|| Expected::one_of(&REFINEMENTS.map(|(name, _)| name)))
}

/// Name of a refinement, as [`refinement`] reads it.
pub fn refinement_name(refinement: Refinement) -> &'static str {
    REFINEMENTS.into_iter().find(|(_, known)| *known == refinement).map_or("none", |(name, _)| name)
}

/// The shortest text that [`number`] reads back as the same number. It has an exponent where it would have many zeros.
///
/// ```
/// assert_eq!([2.0, 0.1, 1e300].map(pcr99_plan::text::number_text), ["2", "0.1", "1e300"]);
/// ```
pub fn number_text(x: f64) -> String {
    let text = format!("{x:?}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_say_what_was_expected() {
        assert_eq!(number("large").unwrap_err().to_string(), "expected a number");
        assert_eq!(
            whole::<u64>("-1").unwrap_err().to_string(),
            "expected a whole number that is not negative"
        );
        assert_eq!(
            whole::<u64>("1.5").unwrap_err().to_string(),
            "expected a whole number that is not negative"
        );
        assert_eq!(
            refinement("much").unwrap_err().to_string(),
            "expected one of point-to-plane, point-to-point, plane-to-plane, none"
        );
        let message = method("magic").unwrap_err().to_string();
        assert!(message.starts_with("expected one of default, paper, paper-random, "), "{message}");
    }

    #[test]
    fn names_are_read_back() {
        for (name, refinement_of_name) in REFINEMENTS {
            assert_eq!(refinement(name), Ok(refinement_of_name));
            assert_eq!(refinement_name(refinement_of_name), name);
        }
        for each in Method::ALL {
            assert_eq!(method(each.name()), Ok(each));
        }
    }
}
