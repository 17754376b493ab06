//! Errors for invalid input. Each message names the place and the remedy.

use std::fmt;

/// One of the two point sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The source points `a`, which are moved.
    Source,
    /// The target points `b`, to which they are moved.
    Target,
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Source => "source",
            Self::Target => "target",
        })
    }
}

/// Invalid input. Too few inliers are not an error but a result: see [`Registration`](crate::Registration).
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A parameter is not finite and positive.
    #[error("`{name}` must be finite and positive, got {}", short(*value))]
    NotPositive {
        /// Name of the parameter.
        name: &'static str,
        /// The value given.
        value: f64,
    },
    /// A coordinate of a parameter is not finite.
    #[error("{name} must have finite coordinates, got {value}")]
    NotFiniteCoordinate {
        /// What the coordinate belongs to.
        name: &'static str,
        /// The value given.
        value: f64,
    },
    /// A parameter is outside its range.
    #[error("`{name}` must be between {} and {}, got {}", short(*low), short(*high), short(*value))]
    OutOfRange {
        /// Name of the parameter.
        name: &'static str,
        /// The value given.
        value: f64,
        /// The smallest accepted value.
        low: f64,
        /// The largest accepted value.
        high: f64,
    },
    /// The ends of a range are in the wrong order.
    #[error("the scale range {low}..{high} is empty: the first number must be the smaller one")]
    EmptyRange {
        /// The first number.
        low: f64,
        /// The second number.
        high: f64,
    },
    /// The published method does not take a range of scales.
    #[error("the paper's method takes a known or an unknown scale, not a range: use the default method")]
    ScaleRangeWithPaper,
    /// A weight is missing or not finite.
    #[error(
        "weight {index} (counted from 0) is missing or not finite: give one finite number for each of the {matches} matches"
    )]
    BadWeight {
        /// Index of the weight, counted from 0.
        index: usize,
        /// Number of matches.
        matches: usize,
    },
    /// The standard deviations are not as many as the matches.
    #[error("{found} standard deviations for {matches} matches: give one for each match")]
    StandardDeviationCount {
        /// Number of standard deviations.
        found: usize,
        /// Number of matches.
        matches: usize,
    },
    /// A standard deviation is NaN, infinite, zero or negative.
    #[error(
        "the standard deviation of match {index} (counted from 0) is {value}: give a finite number above 0, or remove the match"
    )]
    BadStandardDeviation {
        /// Index of the match, counted from 0.
        index: usize,
        /// The value given.
        value: f64,
    },
    /// The published method does not take matches that differ in noise.
    #[error(
        "the paper's method treats all matches as equally precise: remove the standard deviations, or use the default method"
    )]
    StandardDeviationsWithPaper,
    /// A parameter that must be at least 1 is zero.
    #[error("`{name}` must be at least 1")]
    Zero {
        /// Name of the parameter.
        name: &'static str,
    },
    /// The vertical of one side is no direction.
    #[error(
        "the vertical of the {side} is {},{},{}: give three finite numbers that are not all zero, for instance 0,0,1",
        short(direction[0]), short(direction[1]), short(direction[2])
    )]
    BadVertical {
        /// The side.
        side: Side,
        /// The direction given.
        direction: [f64; 3],
    },
    /// The tilt of a vertical is outside its range.
    #[error("the tilt must be at least 0 and below 90 degrees, got {}: give the error of the verticals, for instance 2", short(*value))]
    BadTilt {
        /// The value given.
        value: f64,
    },
    /// The published method does not take a known vertical.
    #[error("the paper's method does not take a known vertical: remove it, or use the default method")]
    VerticalWithPaper,
    /// A number that must be finite and at least zero is not.
    #[error("`{name}` must be a finite number and at least 0, not {value}")]
    Negative {
        /// Name of the parameter.
        name: &'static str,
        /// The value given.
        value: f64,
    },
    /// A word is not one of those used in documents.
    #[error("`{word}` is not a known {kind}")]
    UnknownWord {
        /// What the word should name, for instance `status`.
        kind: &'static str,
        /// The word.
        word: String,
    },
    /// Source and target differ in their number of points.
    #[error(
        "{source_points} source points but {target_points} target points: row i of one must match row i of the other"
    )]
    UnequalLengths {
        /// Number of source points.
        source_points: usize,
        /// Number of target points.
        target_points: usize,
    },
    /// There are fewer than three matches, which do not determine a similarity.
    #[error("{found} matches: at least 3 are needed")]
    TooFewMatches {
        /// Number of matches.
        found: usize,
    },
    /// A coordinate is NaN or infinite.
    #[error("match {index} (counted from 0) has a {side} coordinate that is not finite: remove it")]
    NotFinite {
        /// The side.
        side: Side,
        /// Index of the match, counted from 0.
        index: usize,
    },
    /// All points of one side coincide.
    #[error(
        "all {side} points are equal, so the rotation is undetermined; check that the right columns were read"
    )]
    AllEqual {
        /// The side.
        side: Side,
    },
    /// All points of one side are collinear.
    #[error(
        "all {side} points lie on one line, so the rotation about it is undetermined; add matches off the line"
    )]
    Collinear {
        /// The side.
        side: Side,
    },
    /// The coordinates are so large, or the two sides differ so much in size, that the transform overflows.
    #[error(
        "source coordinates of about {source_size:.0e} and target coordinates of about {target_size:.0e}: \
         the transform between them overflows; use other units"
    )]
    ExtremeUnits {
        /// Approximate size of the source coordinates.
        source_size: f64,
        /// Approximate size of the target coordinates.
        target_size: f64,
    },
    /// An index lies outside its cloud.
    #[error(
        "index pair {row} (counted from 0) names {side} point {index}, but there are only {points}: indices count from 0"
    )]
    IndexOutOfRange {
        /// Index of the pair of indices, counted from 0.
        row: usize,
        /// The side.
        side: Side,
        /// The index given.
        index: usize,
        /// Number of points of the cloud.
        points: usize,
    },
    /// The method needs more memory than its budget.
    #[error(
        "{matches} matches need {needed_mib} MiB with this method, more than the budget of {budget_mib} MiB: \
         raise the memory budget or use fewer matches"
    )]
    TooMuchMemory {
        /// Number of matches.
        matches: usize,
        /// The memory they need.
        needed_mib: u64,
        /// The budget.
        budget_mib: u64,
    },
    /// The system cannot allocate the memory, although it is within the budget.
    #[error(
        "the system cannot allocate the {needed_mib} MiB that {matches} matches need with this method: \
         use fewer matches, or random sampling"
    )]
    OutOfMemory {
        /// Number of matches.
        matches: usize,
        /// The memory they need.
        needed_mib: u64,
    },
}

/// A number with an exponent where it would otherwise have hundreds of zeros.
fn short(x: f64) -> String {
    let text = format!("{x:?}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiny_numbers_have_an_exponent() {
        let error = crate::Params::new().with_miss_probability(1e-301).unwrap_err();
        assert_eq!(error.to_string(), "`miss_probability` must be between 1e-300 and 0.5, got 1e-301");
        let error = Error::NotPositive { name: "threshold", value: -2.0 };
        assert_eq!(error.to_string(), "`threshold` must be finite and positive, got -2");
    }
}
