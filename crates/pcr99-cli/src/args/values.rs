//! Parsers of single values. Ranges are checked by the plan, where the option is one of a registration.

use std::str::FromStr;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use pcr99_plan::{Expected, Method, check_threads, text};

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
