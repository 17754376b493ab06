//! Why two clouds cannot be registered at all.

/// Why a cloud or a parameter cannot be used.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RegisterError {
    /// Fewer than three places.
    #[error("{distinct} distinct point(s) of {given}; at least 3 that are finite are needed")]
    TooFewPoints {
        /// How many points there were.
        given: usize,
        /// How many finite and distinct ones.
        distinct: usize,
    },
    /// A line can turn about itself.
    #[error("all {points} distinct points are on one line, which can turn about itself; a surface is needed")]
    Collinear {
        /// How many there are.
        points: usize,
    },
    /// The numbers are too large or too small to compute with.
    #[error("most points are within {extent:e} of each other; change the unit so that this is near 1")]
    ExtremeSize {
        /// Edge of the cube around most of the points.
        extent: f64,
    },
    /// A parameter is not as it should be.
    #[error(transparent)]
    Parameter(#[from] pcr99::Error),
}
