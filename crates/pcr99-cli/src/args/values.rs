//! Parsers of single values. Ranges are checked by the plan, where the option is one of a registration.

use std::str::FromStr;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use pcr99_plan::{Expected, GivenVertical, Method, check_threads, text};

use super::Place;

/// A method by its name.
pub(super) fn method() -> impl TypedValueParser<Value = Method> {
    let names = PossibleValuesParser::new(Method::ALL.map(Method::name));
    names.try_map(|name| text::method(&name))
}

/// Any number.
pub(super) fn number(text: &str) -> Result<f64, Expected> {
    text::number(text)
}

/// The direction that is up on one side.
pub(super) fn vertical(text: &str) -> Result<GivenVertical, Expected> {
    text.parse()
}

/// The directions of the two values of an option; `None` when it was not given. A side that is given twice leaves the other one missing.
pub(crate) fn both_sides(given: &[GivenVertical]) -> Option<GivenVertical> {
    let merged = |all: GivenVertical, one: &GivenVertical| GivenVertical {
        source: all.source.or(one.source),
        target: all.target.or(one.target),
    };
    (!given.is_empty()).then(|| given.iter().fold(GivenVertical::default(), merged))
}

/// A whole number that is not negative.
pub(super) fn whole<T: FromStr>(text: &str) -> Result<T, Expected> {
    text::whole(text)
}

/// A finite number above zero.
#[cfg(feature = "lab")]
pub(super) fn positive(text: &str) -> Result<f64, String> {
    let number = number(text).ok().filter(|number| number.is_finite() && *number > 0.0);
    number.ok_or_else(|| "expected a positive number".to_owned())
}

/// A count that cannot be zero.
pub(super) fn at_least_one<T: FromStr + From<u8> + PartialOrd>(text: &str) -> Result<T, String> {
    let number = whole(text).ok().filter(|number| *number >= T::from(1));
    number.ok_or_else(|| "expected a whole number of at least 1".to_owned())
}

/// Longest text in the head of a page, in characters. Longer ones are mistakes, such as the content of a file.
const LONGEST_LINE: usize = 200;

/// A line of text, without spaces at its ends.
pub(super) fn line(text: &str) -> Result<String, String> {
    let line = text.trim();
    let is_line =
        !line.is_empty() && !line.contains(char::is_control) && line.chars().count() <= LONGEST_LINE;
    if is_line {
        Ok(line.to_owned())
    } else {
        Err(format!("expected one line of 1 to {LONGEST_LINE} characters"))
    }
}

/// A number of threads.
pub(super) fn threads(text: &str) -> Result<usize, String> {
    check_threads(at_least_one(text)?).map_err(|error| error.to_string())
}

/// Three coordinates.
pub(super) fn place(text: &str) -> Result<Place, String> {
    let numbers: Result<Vec<f64>, Expected> = text.split(',').map(|part| number(part.trim())).collect();
    let place = numbers.ok().and_then(|numbers| <[f64; 3]>::try_from(numbers).ok());
    place
        .filter(|place| place.iter().all(|x| x.is_finite()))
        .map(Place)
        .ok_or_else(|| "expected three numbers separated by commas, such as 0,0,1.7".to_owned())
}
