/// Why a problem could not be made, or a truth not be read.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A similarity needs three points.
    #[error("a problem needs at least 3 points, got {points}: ask for more")]
    TooFewPoints {
        /// Number asked for.
        points: usize,
    },
    /// More points than there is a use, and memory, for.
    #[error("a problem may have at most {most} points, got {points}: ask for fewer", most = crate::problem::MOST_POINTS)]
    TooManyPoints {
        /// Number asked for.
        points: usize,
    },
    /// The share of outliers is not a share.
    #[error("the outlier ratio must be from 0 to 1, got {value}: write 99 % as 0.99")]
    OutlierRatio {
        /// What was given.
        value: f64,
    },
    /// The standard deviation of the noise is negative or not a number.
    #[error("the noise must be a finite standard deviation of at least 0, got {value}: use 0 for none")]
    Noise {
        /// What was given.
        value: f64,
    },
    /// The scale is not a finite number above zero.
    #[error("the scale must be finite and above 0, got {value}: use 1 for a rigid motion")]
    Scale {
        /// What was given.
        value: f64,
    },
    /// A cloud holds fewer points than are to be drawn from it.
    #[error(
        "cloud `{name}` has {available} points but {wanted} are needed: ask for at most {available} points (at \
         least 3), or give a larger cloud"
    )]
    CloudTooSmall {
        /// Name of the cloud.
        name: String,
        /// Points it has.
        available: usize,
        /// Points needed.
        wanted: usize,
    },
    /// A cloud holds NaN or an infinity.
    #[error("point {index} (counted from 0) of cloud `{name}` is not finite: remove such points first")]
    CloudNotFinite {
        /// Name of the cloud.
        name: String,
        /// Index of the first such point.
        index: usize,
    },
    /// The points drawn lie on one line, about which any rotation fits equally well.
    #[error(
        "the {points} points drawn from `{name}` lie on one line or have no finite extent, so that no rotation is \
         determined: draw more points, or give a cloud that spreads in at least two directions"
    )]
    Collinear {
        /// Name of the shape.
        name: String,
        /// Points drawn.
        points: usize,
    },
    /// The text is not JSON, or lacks a field of a truth document.
    #[error("not a truth document: {message}; write one with `pcr99 simulate --truth FILE`")]
    TruthSyntax {
        /// What the JSON reader says, with line and column.
        message: String,
    },
    /// The document has a version this crate does not know.
    #[error(
        "the truth document has schema {found}, this version reads schema {known}: write it anew",
        known = crate::truth::SCHEMA
    )]
    TruthSchema {
        /// Version found.
        found: u32,
    },
    /// A field of the document contradicts itself or another.
    #[error("field `{field}` of the truth document is wrong: {cause}; restore or write it anew")]
    TruthInvalid {
        /// Name of the field.
        field: &'static str,
        /// What it should have been.
        cause: &'static str,
    },
    /// The core refused.
    #[error(transparent)]
    Core(#[from] pcr99::Error),
}
