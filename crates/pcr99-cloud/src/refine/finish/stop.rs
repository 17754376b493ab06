//! When the refinement ends: steps that are small beside the noise, and poses that are too far from the start.

use pcr99::Similarity;
use pcr99_base::vector::{distance_sq, plus, times};

use super::{
    AXES, Finish,
    weights::{Measures, Sums},
};

/// A step below this fraction of its standard deviation ends the refinement. The rest that is left is a fraction of it.
const SETTLED: f64 = 0.1;

impl Finish<'_> {
    /// Whether two poses differ by at most `reach`: at the middle, and at a typical distance from it along each axis.
    pub(super) fn is_within(&self, a: &Similarity, b: &Similarity, reach: f64) -> bool {
        let Measures { about, lever, .. } = self.measures;
        let back = a.inverse();
        let is_near = |p: [f64; 3]| distance_sq(b.apply(back.apply(p)), p) <= reach * reach;
        is_near(about) && AXES.into_iter().all(|axis| is_near(plus(about, times(lever, axis))))
    }
}

/// Squared length of a step, in standard deviations of the noise.
pub(super) fn squared_length(x: &[f64; 7], sums: &Sums) -> f64 {
    (0..7).map(|i| (0..7).map(|j| x[i] * sums.matrix[i][j] * x[j]).sum::<f64>()).sum()
}

/// Whether a step of this squared length is small beside the noise.
pub(super) fn is_small(length_sq: f64) -> bool {
    length_sq < SETTLED * SETTLED
}
