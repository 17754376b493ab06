//! Hot loops and least squares, so that the other methods of this repository are compared at equal terms: no promise is made
//! about this module.

use crate::{Correspondences, Positive, Scale, Similarity};
pub use crate::{
    kernel::{
        Soa,
        consensus::{Affine, Coarse, count_inliers, squared_residual},
        edges::mirror_block,
        lengths::{alike_row, common_bits, common_counts, length_difference, vote},
        near::near_bits,
        residuals::squared_residuals,
    },
    least_squares::{best_rotation, fit, fit_weighted},
};

/// Matches in units of their own, with all that was said of them in the same units.
#[derive(Debug, Clone, Copy)]
pub struct Inward<'a> {
    /// Centred, of a size near one.
    pub points: &'a Soa,
    /// The inlier threshold.
    pub threshold: f64,
    /// The scale, when it is known.
    pub known_scale: Option<f64>,
}

/// The matches as the searches see them.
pub fn inward(pairs: &Correspondences, scale: Scale, threshold: Positive) -> Inward<'_> {
    Inward {
        points: pairs.points(),
        threshold: pairs.target_length_inward(threshold),
        known_scale: match scale {
            Scale::Known(s) => Some(pairs.scale_inward(s)),
            Scale::Unknown | Scale::Between(..) => None,
        },
    }
}

/// A transform found in those units, in the caller's.
pub fn outward(pairs: &Correspondences, model: &Similarity) -> Similarity {
    pairs.outward(model)
}
