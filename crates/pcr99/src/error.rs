//! What can be wrong with the input, in words that name the place and the remedy.

use std::fmt;

/// Which of the two point sets an error speaks of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The points `a` that are moved.
    Source,
    /// The points `b` they are moved to.
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

/// Bad input. Too few inliers is not among these: that is an outcome, see [`Registration`](crate::Registration).
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A parameter that must be finite and positive was not.
    #[error("`{name}` must be finite and positive, got {value}")]
    NotPositive {
        /// The parameter.
        name: &'static str,
        /// What was given.
        value: f64,
    },
    /// A parameter was outside its range.
    #[error("`{name}` must be between {low} and {high}, got {value}")]
    OutOfRange {
        /// The parameter.
        name: &'static str,
        /// What was given.
        value: f64,
        /// The least that is accepted.
        low: f64,
        /// The most that is accepted.
        high: f64,
    },
    /// A range whose ends are in the wrong order.
    #[error("the scale range {low}..{high} is empty: the first number must be the smaller one")]
    EmptyRange {
        /// The first number.
        low: f64,
        /// The second.
        high: f64,
    },
    /// The published method has no notion of a bounded scale.
    #[error("the paper's method takes a known or an unknown scale, not a range: use the default method")]
    ScaleRangeWithPaper,
    /// There is not one weight for each match, or one of them is not finite.
    #[error(
        "weight {index} (counted from 0) is missing or not finite: give one finite number for each of the {matches} matches"
    )]
    BadWeight {
        /// Which weight, from 0.
        index: usize,
        /// How many matches there are.
        matches: usize,
    },
    /// A number that must be at least one was zero.
    #[error("`{name}` must be at least 1")]
    Zero {
        /// The parameter.
        name: &'static str,
    },
    /// A word that is not one of those that documents use.
    #[error("`{word}` is not a known {kind}")]
    UnknownWord {
        /// What the word should name.
        kind: &'static str,
        /// The word.
        word: String,
    },
    /// The two sides of the matches differ in number.
    #[error(
        "{source_points} source points but {target_points} target points: row i of one must match row i of the other"
    )]
    UnequalLengths {
        /// How many source points.
        source_points: usize,
        /// How many target points.
        target_points: usize,
    },
    /// Three matches are the least that fix a similarity.
    #[error("{found} matches: at least 3 are needed")]
    TooFewMatches {
        /// How many there are.
        found: usize,
    },
    /// A coordinate is NaN or infinite.
    #[error("match {index} (counted from 0) has a {side} coordinate that is not finite: remove it")]
    NotFinite {
        /// Which side.
        side: Side,
        /// Which match, from 0.
        index: usize,
    },
    /// All points of one side coincide.
    #[error("all {side} points are equal: nothing fixes a rotation; check that the right columns were read")]
    AllEqual {
        /// Which side.
        side: Side,
    },
    /// All points of one side lie on a line.
    #[error(
        "all {side} points lie on one line: the rotation about it cannot be found; add matches off the line"
    )]
    Collinear {
        /// Which side.
        side: Side,
    },
    /// The coordinates are so large, or the two sides so different in size, that no number holds the transform.
    #[error(
        "source coordinates of about {source_size:.0e} and target coordinates of about {target_size:.0e}: \
         no number holds the transform between them; use other units"
    )]
    ExtremeUnits {
        /// About how large the source coordinates are.
        source_size: f64,
        /// About how large the target coordinates are.
        target_size: f64,
    },
    /// A pair of indices points outside a cloud.
    #[error(
        "index pair {row} (counted from 0) names {side} point {index}, but there are only {points}: indices count from 0"
    )]
    IndexOutOfRange {
        /// Which pair of indices, from 0.
        row: usize,
        /// Which side.
        side: Side,
        /// The index given.
        index: usize,
        /// How many points the cloud has.
        points: usize,
    },
    /// The method would need more memory than it may use.
    #[error(
        "{matches} matches need {needed_mib} MiB with this method, more than the budget of {budget_mib} MiB: \
         raise the memory budget or thin the matches"
    )]
    TooMuchMemory {
        /// How many matches.
        matches: usize,
        /// What they would need.
        needed_mib: u64,
        /// What is allowed.
        budget_mib: u64,
    },
    /// The memory is within the budget, but the system does not give it.
    #[error(
        "the system does not give the {needed_mib} MiB that {matches} matches need with this method: \
         thin the matches, or use random sampling"
    )]
    OutOfMemory {
        /// How many matches.
        matches: usize,
        /// What they would need.
        needed_mib: u64,
    },
}
