//! The matches that fit a hypothesis (Algorithm 1, line 19): `‖s·R·a + t − b‖ ≤ δ_in`.

use super::Problem;
use pcr99_base::kernel::consensus::{Affine, squared_residual};

use crate::Similarity;

/// A hypothesis and its number of inliers.
#[derive(Debug, Clone, Copy)]
pub(super) struct Consensus {
    pub(super) model: Similarity,
    /// Number of inliers.
    pub(super) len: usize,
}

impl Consensus {
    /// Indices of the inliers, ascending.
    pub(super) fn inliers(&self, problem: &Problem<'_>) -> Vec<u32> {
        let (model, delta_sq) = (Affine::from(&self.model), problem.delta * problem.delta);
        let fits = |&i: &u32| squared_residual(problem.points, &model, i as usize) <= delta_sq;
        (0..problem.points.len() as u32).filter(fits).collect()
    }
}
