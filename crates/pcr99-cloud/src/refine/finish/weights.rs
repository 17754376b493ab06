//! Weights of residuals, and weighted sums over them.

use pcr99::Similarity;
use pcr99_base::{
    rotation_of,
    vector::{cross, dot, minus, times},
};

use super::residuals::Residual;
use crate::refine::Refinement;

/// Tukey's constant: 95 % efficiency on Gaussian residuals.
const TUKEY: f64 = 4.685;

/// What is measured once and then fixed while a score is compared with others.
#[derive(Debug, Clone, Copy)]
pub(super) struct Measures {
    pub(super) kind: Refinement,
    /// Whether the scale is unknown. Derivatives by a known scale are zero.
    pub(super) with_scale: bool,
    /// Typical squared scatter of points about their planes, in fixed units.
    pub(super) typical: f64,
    /// Residuals below this length always count. It begins with what the start may be off, and narrows to the scatter of the points: a wall would otherwise be
    /// taken for an outlier, because the floor fits already.
    pub(super) gate: f64,
    /// Middle of the residuals.
    pub(super) about: [f64; 3],
    /// Their root mean square distance from it. It is the unit of rotations: one unit moves a typical point by one unit of length.
    pub(super) lever: f64,
}

impl Measures {
    /// Derivative of a residual by a small motion about the middle.
    pub(super) fn row(&self, residual: &Residual) -> [f64; 7] {
        let arm = times(1.0 / self.lever, minus(residual.at, self.about));
        let n = residual.normal;
        let turn = cross(arm, n);
        [turn[0], turn[1], turn[2], n[0], n[1], n[2], if self.with_scale { dot(arm, n) } else { 0.0 }]
    }

    /// Weight of a residual.
    pub(super) fn weight(&self, residual: &Residual) -> f64 {
        let limit_sq = (TUKEY * TUKEY * residual.expected).max(self.gate * self.gate);
        let share = residual.apart_sq / limit_sq;
        if share < 1.0 { residual.weight * (1.0 - share) * (1.0 - share) } else { 0.0 }
    }

    /// `pose`, and then the small motion `x` about the middle.
    pub(super) fn moved(&self, pose: &Similarity, x: &[f64; 7]) -> Similarity {
        let half = x.map(|x| 0.5 * x / self.lever);
        // A quaternion with vector part ω/2 rotates by ω to second order, and is a rotation for any ω.
        let rotation = rotation_of([1.0, half[0], half[1], half[2]]);
        let further = Similarity::new_unchecked(1.0 + x[6] / self.lever, rotation, [x[3], x[4], x[5]]);
        let [there, back] = [self.about.map(|x| -x), self.about].map(Similarity::from_translation);
        pose.then(&there).then(&further).then(&back)
    }
}

/// Weighted sums over residuals. Only the lower half of the matrix is filled until [`symmetric`](Self::symmetric) is called.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sums {
    pub(super) matrix: [[f64; 7]; 7],
    pub(super) score: [f64; 7],
    pub(super) count: usize,
    pub(super) weight: f64,
    /// Weighted sum of the squared distances of points from the planes.
    pub(super) sum_sq: f64,
}

impl Sums {
    pub(super) const NONE: Self =
        Self { matrix: [[0.0; 7]; 7], score: [0.0; 7], count: 0, weight: 0.0, sum_sq: 0.0 };

    pub(super) fn add(&mut self, row: &[f64; 7], weight: f64, residual: &Residual) {
        let Residual { value, variance, .. } = *residual;
        self.weight += weight;
        self.sum_sq += weight * (value * value + variance);
        for i in 0..7 {
            let weighted = weight * row[i];
            self.score[i] += weighted * value;
            self.matrix[i].iter_mut().zip(&row[..=i]).for_each(|(sum, x)| *sum += weighted * x);
        }
        self.count += 1;
    }

    pub(super) fn merge(&mut self, other: &Self) {
        for i in 0..7 {
            self.score[i] += other.score[i];
            for j in 0..=i {
                self.matrix[i][j] += other.matrix[i][j];
            }
        }
        self.count += other.count;
        self.weight += other.weight;
        self.sum_sq += other.sum_sq;
    }

    /// The sum of some sums, with both halves of the matrix.
    pub(super) fn total<'s>(parts: impl IntoIterator<Item = &'s Self>) -> Self {
        let mut all = Self::NONE;
        parts.into_iter().for_each(|part| all.merge(part));
        all.symmetric()
    }

    pub(super) fn symmetric(mut self) -> Self {
        for i in 0..7 {
            for j in 0..i {
                self.matrix[j][i] = self.matrix[i][j];
            }
        }
        self
    }
}
