//! Errors of a registration.

/// Why a cloud or a parameter cannot be used.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RegisterError {
    /// The cloud has fewer than three distinct finite points.
    #[error(
        "the cloud has {distinct} distinct finite point(s) of {given}, but a registration needs at least 3"
    )]
    TooFewPoints {
        /// Number of points as given.
        given: usize,
        /// Number of distinct finite points.
        distinct: usize,
    },
    /// All points are on one line.
    #[error("all {points} points are collinear, so the rotation about their line is undetermined")]
    Collinear {
        /// Number of distinct points.
        points: usize,
    },
    /// The coordinates are too large or too small to compute with.
    #[error("90 % of the points lie within {extent:e} of each other; change the unit so that this is near 1")]
    ExtremeSize {
        /// Edge of a cube that holds nine tenths of the points.
        extent: f64,
    },
    /// There are more or fewer normals than points.
    #[error("{normals} normals for {points} points: give one for each point, or none")]
    NormalCount {
        /// Number of normals.
        normals: usize,
        /// Number of points.
        points: usize,
    },
    /// A coordinate of the viewpoint is NaN or infinite.
    #[error("the viewpoint {viewpoint:?} is not finite; leave it out when it is unknown")]
    ViewpointNotFinite {
        /// The viewpoint.
        viewpoint: [f64; 3],
    },
    /// A parameter is out of range.
    #[error(transparent)]
    Parameter(#[from] pcr99::Error),
}
