//! Covariance of a refined pose.
//!
//! Residuals of neighbouring patches share points and the shape of the surface, so they are not independent. The scores, which are the derivatives of the sum
//! of squares, are summed over blocks of space that are much larger than patches, and the blocks count as independent: `S = Σ g·gᵀ`. The derivative `A` of the
//! score by the pose is taken by differences between poses, with new planes and new weights at each. The covariance is `A⁻¹·S·A⁻ᵀ`.

use pcr99::Similarity;
use pcr99_base::{eigen::symmetric_eigen, vector::rotate};

use super::{Finish, Residual};
use crate::grid::{KeyTable, key_of};

/// Edge of a block, in cells.
const BLOCK: f64 = 8.0;
/// Step of the differences, in units of the scatter of points about their planes.
const STEP: f64 = 0.5;
/// Smallest step, in cells.
const LEAST_STEP: f64 = 0.02;

/// Covariance of a small further motion `p + ω × (p − c) + t + σ·(p − c)` of the moved points `p`, in fixed coordinates.
#[derive(Debug, Clone, PartialEq)]
pub struct Covariance {
    /// Of `(ω, t, σ)`; the last row and column are zero with a known scale.
    pub matrix: [[f64; 7]; 7],
    /// The point `c`: the middle of the overlap.
    pub center: [f64; 3],
    /// Root mean square distance of the overlap from there.
    pub lever: f64,
    /// Number of blocks.
    pub blocks: usize,
}

impl Finish {
    /// Covariance of the pose that [`run`](Finish::run) found.
    pub fn covariance(&mut self, pose: &Similarity) -> Option<Covariance> {
        let pose = &self.inward(pose);
        let unknowns = self.unknowns();
        let measures = self.measures;
        let inverse = 1.0 / (BLOCK * self.cell());
        let scores = self.collect(pose, &|residuals| {
            let part = |r: Residual| {
                let factor = measures.weight(&r) * r.value;
                (key_of(r.at, inverse), measures.row(&r).map(|x| x * factor))
            };
            residuals.map(part).collect::<Vec<_>>()
        });
        let (mut table, mut blocks) = (KeyTable::new(), Vec::<[f64; 7]>::new());
        for (key, score) in scores.into_iter().flatten() {
            let number = table.number(key?);
            if number == blocks.len() {
                blocks.push([0.0; 7]);
            }
            blocks[number].iter_mut().zip(score).for_each(|(sum, x)| *sum += x);
        }
        let count = blocks.len();
        if count <= unknowns {
            return None;
        }
        let mut outer = [[0.0; 7]; 7];
        for score in &blocks {
            for i in 0..unknowns {
                for j in 0..unknowns {
                    outer[i][j] += score[i] * score[j];
                }
            }
        }
        // The pose was fitted to the same blocks.
        let lost = count as f64 / (count - unknowns) as f64;
        let step = (STEP * measures.typical.sqrt()).max(LEAST_STEP * self.cell());
        let mut slope = [[0.0; 7]; 7];
        for k in 0..unknowns {
            let mut ends = [1.0, -1.0].map(|sign| {
                let mut x = [0.0; 7];
                x[k] = sign * step;
                self.sums(&measures.moved(pose, &x)).score
            });
            for i in 0..unknowns {
                slope[i][k] = (ends[0][i] - ends[1][i]) / (2.0 * step);
            }
            ends.reverse();
        }
        let symmetric: [[f64; 7]; 7] = std::array::from_fn(|i| {
            std::array::from_fn(|j| match (i < unknowns, j < unknowns) {
                (true, true) => 0.5 * (slope[i][j] + slope[j][i]),
                // With a known scale, its direction is held and has no score.
                _ => f64::from(u8::from(i == j)) * (0..6).map(|k| slope[k][k].abs()).sum::<f64>(),
            })
        });
        let (values, vectors) = symmetric_eigen(&symmetric);
        let largest = values[6];
        let inverse: [f64; 7] = std::array::from_fn(|k| 1.0 / values[k].max(1e-9 * largest));
        // A⁻¹·S·A⁻ᵀ in the basis of the eigenvectors.
        let apply = |matrix: &[[f64; 7]; 7], k: usize, l: usize| -> f64 {
            (0..7).map(|i| (0..7).map(|j| vectors[k][i] * matrix[i][j] * vectors[l][j]).sum::<f64>()).sum()
        };
        let turned: [[f64; 7]; 7] = std::array::from_fn(|k| {
            std::array::from_fn(|l| lost * inverse[k] * apply(&outer, k, l) * inverse[l])
        });
        let unit: [f64; 7] = std::array::from_fn(|k| if (3..6).contains(&k) { 1.0 } else { 1.0 / measures.lever });
        // The eigenvectors in the coordinates of the fixed cloud.
        let back = self.turns[1].inverse().rotation();
        let vectors = vectors.map(|[a, b, c, d, e, f, g]| {
            let ([a, b, c], [d, e, f]) = (rotate(&back, [a, b, c]), rotate(&back, [d, e, f]));
            [a, b, c, d, e, f, g]
        });
        let matrix = std::array::from_fn(|i| {
            std::array::from_fn(|j| {
                let sum: f64 = (0..7)
                    .map(|k| (0..7).map(|l| vectors[k][i] * turned[k][l] * vectors[l][j]).sum::<f64>())
                    .sum();
                sum * unit[i] * unit[j]
            })
        });
        Some(Covariance { matrix, center: rotate(&back, measures.about), lever: measures.lever, blocks: count })
    }
}
