//! Covariance of a refined pose.
//!
//! Residuals of neighbouring patches share points and the shape of the surface, so they are not independent. The scores, which are the derivatives of the sum
//! of squares, are summed over blocks of space that are much larger than patches, and the blocks count as independent: `S = Σ g·gᵀ`. The derivative `A` of the
//! score by the pose is taken by differences between poses, with new planes and new weights at each. The covariance is `A⁻¹·S·A⁻ᵀ`.

use pcr99::{Covariance, FreeDirection, Similarity};
use pcr99_base::{
    eigen::symmetric_eigen,
    vector::{norm, times},
};

use super::{Finish, Residual};
use crate::grid::{KeyTable, key_of};

/// Step of the differences, in units of the scatter of points about their planes.
const STEP: f64 = 0.5;
/// Smallest and largest step, in cells. A larger one takes more time, because more patches have new planes.
const STEP_RANGE: [f64; 2] = [0.02, 0.06];
/// Number of patches for the differences.
const PROBES: usize = 4000;
/// A step below this fraction of the standard deviation is small.
const SMALL: f64 = 0.3;
/// A direction is weak when its eigenvalue of `A` is below this fraction of the mean.
const WEAK: f64 = 0.1;
/// A direction is held when its eigenvalue of `A` is at least this fraction of the mean, and its standard deviation is less than half a cell: beyond, the
/// patches would have other planes. A corridor whose only relief are ten doors has a fraction of about 0.0005.
const HELD: f64 = 1e-3;

/// The derivative of the score, by its eigenvalues.
#[derive(Debug, Clone, Copy)]
pub(super) struct Slope {
    vectors: [[f64; 7]; 7],
    /// Inverse eigenvalues; zero in directions that are not held.
    inverse: [f64; 7],
}

impl Slope {
    /// The motion that makes the score zero, along the eigenvectors.
    fn along(&self, score: &[f64; 7]) -> [f64; 7] {
        std::array::from_fn(|k| {
            -self.inverse[k] * self.vectors[k].iter().zip(score).map(|(v, x)| v * x).sum::<f64>()
        })
    }

    /// Whether that motion is small beside these standard deviations along the eigenvectors.
    pub(super) fn is_small(&self, score: &[f64; 7], deviations: &[f64; 7]) -> bool {
        self.along(score).iter().zip(deviations).all(|(x, deviation)| x.abs() <= SMALL * deviation)
    }

    /// The motion that makes the score zero.
    pub(super) fn step(&self, score: &[f64; 7]) -> [f64; 7] {
        let along = self.along(score);
        std::array::from_fn(|i| (0..7).map(|k| along[k] * self.vectors[k][i]).sum())
    }
}

impl Finish<'_> {
    /// The derivative of the score at a pose between patches.
    pub(super) fn slope(&self, pose: &Similarity) -> Slope {
        let unknowns = self.unknowns();
        let [least, most] = STEP_RANGE.map(|step| step * self.cell());
        let step = (STEP * self.scatter()).clamp(least, most);
        let stride = self.pairings.iter().map(Vec::len).sum::<usize>().div_ceil(PROBES).max(1);
        // Derivative of the score along a motion.
        let along = |way: [f64; 7], stride: usize| -> [f64; 7] {
            let ends = [step, -step]
                .map(|step| self.score(&self.measures.moved(pose, &way.map(|x| step * x)), stride));
            std::array::from_fn(|i| stride as f64 * (ends[0][i] - ends[1][i]) / (2.0 * step))
        };
        let mut slope = [[0.0; 7]; 7];
        for (k, column) in slope.iter_mut().enumerate().take(unknowns) {
            *column = along(std::array::from_fn(|i| f64::from(u8::from(i == k))), stride);
        }
        let mean = (0..6).map(|k| slope[k][k]).sum::<f64>() / 6.0;
        let symmetric: [[f64; 7]; 7] = std::array::from_fn(|i| {
            std::array::from_fn(|j| match (i < unknowns, j < unknowns) {
                (true, true) => 0.5 * (slope[i][j] + slope[j][i]),
                // A known scale is held and has no score.
                _ => f64::from(u8::from(i == j)) * mean,
            })
        });
        let (values, vectors) = symmetric_eigen(&symmetric);
        // Weak directions once more, with all patches: a small error of a slope turns them.
        let mut better: [[f64; 7]; 7] =
            std::array::from_fn(|k| std::array::from_fn(|l| if k == l { values[k] } else { 0.0 }));
        for k in (0..7).filter(|&k| values[k] < WEAK * mean) {
            let derivative = along(vectors[k], 1);
            for (l, vector) in vectors.iter().enumerate() {
                let product: f64 = vector.iter().zip(derivative).map(|(v, x)| v * x).sum();
                better[k][l] = product;
                better[l][k] = product;
            }
        }
        let (values, turns) = symmetric_eigen(&better);
        let vectors =
            turns.map(|turn| std::array::from_fn(|i| (0..7).map(|k| turn[k] * vectors[k][i]).sum()));
        let inverse = values.map(|value| if value > HELD * mean { 1.0 / value } else { 0.0 });
        Slope { vectors, inverse }
    }

    /// Covariance of a pose between patches, in the coordinates of the fixed cloud, and the standard deviations along the eigenvectors.
    pub(super) fn covariance(&mut self, pose: &Similarity, slope: &Slope) -> Option<(Covariance, [f64; 7])> {
        let unknowns = self.unknowns();
        let measures = self.measures;
        let blocks = self.block_scores(pose)?;
        let count = blocks.len();
        if count <= unknowns + 1 {
            return None;
        }
        // The pose was fitted to the same blocks.
        let lost = count as f64 / (count - unknowns) as f64;
        // Motions that each block asks for, along the eigenvectors.
        let Slope { vectors, inverse } = slope;
        let mut turned = [[0.0; 7]; 7];
        for score in &blocks {
            let along: [f64; 7] = std::array::from_fn(|k| {
                inverse[k] * vectors[k].iter().zip(score).map(|(v, x)| v * x).sum::<f64>()
            });
            for k in 0..7 {
                for l in 0..7 {
                    turned[k][l] += lost * along[k] * along[l];
                }
            }
        }
        let mut free = Vec::new();
        let most = measures.lever * measures.lever;
        let cell = self.cell();
        let finest = super::FINEST * cell;
        for k in 0..7 {
            let is_unknown = measures.with_scale || vectors[k][6].abs() < 0.5;
            // Residuals of an exact copy are rounding errors and must not make the pose infinitely certain.
            turned[k][k] += finest * finest;
            if is_unknown && (inverse[k] == 0.0 || turned[k][k] > (0.5 * cell) * (0.5 * cell)) {
                (0..7).for_each(|l| {
                    turned[k][l] = 0.0;
                    turned[l][k] = 0.0;
                });
                turned[k][k] = most;
                free.push(direction(&vectors[k]));
            }
        }
        let unit: [f64; 7] =
            std::array::from_fn(|k| if (3..6).contains(&k) { 1.0 } else { 1.0 / measures.lever });
        let element = |i: usize, j: usize| {
            let row = |k: usize| (0..7).map(|l| turned[k][l] * vectors[l][j]).sum::<f64>();
            (0..7).map(|k| vectors[k][i] * row(k)).sum::<f64>() * unit[i] * unit[j]
        };
        let matrix =
            (0..unknowns).map(|i| (0..unknowns).map(|j| element(i.max(j), i.min(j))).collect()).collect();
        let inner = Covariance::new(matrix, measures.about, measures.lever, free);
        let deviations = std::array::from_fn(|k| turned[k][k].sqrt());
        let mut outer = inner.in_frame(&self.prepared.turns[1].inverse());
        for free in &mut outer.free {
            *free = match *free {
                FreeDirection::Sliding(way) => FreeDirection::Sliding(unsigned(way)),
                FreeDirection::Turning(axis) => FreeDirection::Turning(unsigned(axis)),
                other => other,
            };
        }
        Some((outer, deviations))
    }

    /// Scores summed over blocks of space.
    fn block_scores(&mut self, pose: &Similarity) -> Option<Vec<[f64; 7]>> {
        let measures = self.measures;
        let inverse = 1.0 / self.prepared.block;
        let part = |list: &mut Vec<_>, r: Residual| {
            let factor = measures.weight(&r) * r.value;
            list.push((key_of(r.at, inverse), measures.row(&r).map(|x| x * factor)));
        };
        let scores = self.collect(pose, &Vec::new(), part);
        let (mut table, mut blocks) = (KeyTable::new(), Vec::<[f64; 7]>::new());
        for (key, score) in scores.into_iter().flatten() {
            let number = table.number(key?);
            if number == blocks.len() {
                blocks.push([0.0; 7]);
            }
            blocks[number].iter_mut().zip(score).for_each(|(sum, x)| *sum += x);
        }
        Some(blocks)
    }
}

/// The name of a motion: its largest part.
fn direction(motion: &[f64; 7]) -> FreeDirection {
    let [turn, slide] = [[motion[0], motion[1], motion[2]], [motion[3], motion[4], motion[5]]];
    if motion[6].abs() > norm(turn).max(norm(slide)) {
        FreeDirection::Scaling
    } else if norm(slide) >= norm(turn) {
        FreeDirection::Sliding(unsigned(slide))
    } else {
        FreeDirection::Turning(unsigned(turn))
    }
}

/// The unit vector along `v` or against it, whose largest part is positive: the sign of a free direction has no meaning.
fn unsigned(v: [f64; 3]) -> [f64; 3] {
    let largest = v.into_iter().fold(0.0, |m: f64, x| if x.abs() > m.abs() { x } else { m });
    times(largest.signum() / norm(v), v)
}
