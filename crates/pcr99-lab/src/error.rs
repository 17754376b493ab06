/// Error when generating a problem or reading a truth document.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Fewer than three points were requested; they do not determine a similarity.
    #[error("a problem needs at least 3 points, got {points}: ask for more")]
    TooFewPoints {
        /// Requested number.
        points: usize,
    },
    /// More points were requested than fit into memory.
    #[error("a problem may have at most {most} points, got {points}: ask for fewer", most = crate::problem::MOST_POINTS)]
    TooManyPoints {
        /// Requested number.
        points: usize,
    },
    /// The outlier ratio is not between 0 and 1.
    #[error("the outlier ratio must be from 0 to 1, got {value}: write 99 % as 0.99")]
    OutlierRatio {
        /// Given value.
        value: f64,
    },
    /// The standard deviation of the noise is negative or not finite.
    #[error("the noise must be a finite standard deviation of at least 0, got {value}: use 0 for none")]
    Noise {
        /// Given value.
        value: f64,
    },
    /// The scale is not a finite number above zero.
    #[error("the scale must be finite and above 0, got {value}: use 1 for a rigid motion")]
    Scale {
        /// Given value.
        value: f64,
    },
    /// A cloud has fewer points than requested.
    #[error(
        "cloud `{name}` has {available} points but {wanted} are needed: ask for at most {available} points (at \
         least 3), or give a larger cloud"
    )]
    CloudTooSmall {
        /// Name of the cloud.
        name: String,
        /// Number of its points.
        available: usize,
        /// Number of points needed.
        wanted: usize,
    },
    /// A cloud has a point that is not finite.
    #[error("point {index} (counted from 0) of cloud `{name}` is not finite: remove such points first")]
    CloudNotFinite {
        /// Name of the cloud.
        name: String,
        /// Index of the first such point, counted from 0.
        index: usize,
    },
    /// The drawn points are collinear, so the rotation about their line is undetermined.
    #[error(
        "the {points} points drawn from `{name}` lie on one line or have no finite extent, so the rotation is \
         undetermined: draw more points, or give a cloud with extent in at least two directions"
    )]
    Collinear {
        /// Name of the shape.
        name: String,
        /// Number of points drawn.
        points: usize,
    },
    /// The text is not JSON, or a field is missing.
    #[error("not a truth document: {message}; write one with `pcr99 simulate --truth FILE`")]
    TruthSyntax {
        /// Message of the JSON reader, with line and column.
        message: String,
    },
    /// The document has another schema.
    #[error(
        "the truth document has schema {found}, this version reads schema {known}: generate the problem again",
        known = crate::truth::SCHEMA
    )]
    TruthSchema {
        /// Schema of the document.
        found: u32,
    },
    /// A field of the document is invalid or contradicts another field.
    #[error(
        "field `{field}` of the truth document is invalid: {cause}; restore the file, or generate the problem again"
    )]
    TruthInvalid {
        /// Name of the field.
        field: &'static str,
        /// What the field must be.
        cause: &'static str,
    },
    /// Error of the core.
    #[error(transparent)]
    Core(#[from] pcr99::Error),
}
