//! Covariance of a refined pose.
//!
//! Residuals of neighbouring patches share points and the shape of the surface, so they are not independent. The scores, which are the derivatives of the sum
//! of squares, are summed over blocks of space that are much larger than patches, and the blocks count as independent: `S = Σ g·gᵀ`. Where the borders of
//! blocks lie is arbitrary, so `S` is the mean over eight ways to form blocks of smaller ones, which makes it much less random. The derivative `A` of the
//! score by the pose is taken by differences between poses, with new planes and new weights at each. The covariance is `A⁻¹·S·A⁻ᵀ`.
//!
//! The pose was fitted to the same blocks, and follows most those that hold it alone. So `g` is not the score of a block at the fitted pose, but at the pose that
//! the other blocks would have (the jackknife).

use pcr99::{Covariance, FreeDirection, Similarity};
use pcr99_base::{
    eigen::symmetric_eigen,
    vector::{norm, solve_positive, times},
};

use super::{
    Finish,
    residuals::FINEST,
    steps::{UNHELD, WEAKLY},
    weights::Sums,
};
use crate::grid::{KeyTable, key_of, shifted_parent};
use crate::refine::Refinement;

/// Step of the differences, in units of the scatter of points about their planes.
const STEP: f64 = 0.5;
/// Smallest and largest step, in cells. A larger one takes more time, because more patches have new planes.
const STEP_RANGE: [f64; 2] = [0.005, 0.06];
/// Number of patches for the differences.
const PROBES: usize = 2500;
/// A step below this fraction of the standard deviation is small.
const SMALL: f64 = 0.3;
/// A direction is weak when its eigenvalue of `A` is below this fraction of the mean.
const WEAK: f64 = 0.1;
/// A direction is held when its eigenvalue of `A` is at least this fraction of the mean, and its standard deviation is less than half a cell: beyond, the
/// patches would have other planes. A corridor whose only relief are ten doors has a fraction of about 0.0005. Below, rounding decides.
const HELD: f64 = 1e-4;
/// Smallest eigenvalue of a direction that is held, in its own standard deviations. It is random, because patches get new planes at random.
const SURE: f64 = 3.0;
/// Smallest eigenvalue of a direction that is held weakly, in its own standard deviations. Noise tilts planes in a way that makes the slope positive: floors without relief have 0.5 to 3.3 times, with 0.0005
/// to 0.003 of the mean (seeds 20 to 23 of the test of floors).
const WEAKLY_SURE: f64 = 5.0;
/// Smallest cosine between a direction and the directions that it is one of.
const SAME: f64 = 0.98;

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
        std::array::from_fn(|k| -self.inverse[k] * product(&self.vectors[k], score))
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

/// Degrees of freedom of the variance for each block that holds a direction. The mean of eight ways to form blocks acts like Bartlett's window, which has 3/2 of
/// them along each of the two axes of a surface.
const FREEDOM: f64 = 2.25;

impl Finish<'_> {
    /// The derivative of the score at a pose between patches.
    pub(super) fn slope(&self, pose: &Similarity) -> Slope {
        let unknowns = self.unknowns();
        let [least, most] = STEP_RANGE.map(|step| step * self.cell());
        let step = (STEP * self.scatter()).clamp(least, most);
        let stride = self.pairings.iter().map(Vec::len).sum::<usize>().div_ceil(PROBES).max(1);
        // Derivatives of the scores of chunks along a motion.
        let parts = |way: &[f64; 7], stride: usize| -> Vec<[f64; 7]> {
            let ends = [step, -step]
                .map(|step| self.scores(&self.measures.moved(pose, &way.map(|x| step * x)), stride));
            let unit = stride as f64 / (2.0 * step);
            let difference = |(a, b): (&[f64; 7], &[f64; 7])| std::array::from_fn(|i| unit * (a[i] - b[i]));
            ends[0].iter().zip(&ends[1]).map(difference).collect()
        };
        let total = |parts: &[[f64; 7]]| -> [f64; 7] {
            parts.iter().fold([0.0; 7], |sum, part| std::array::from_fn(|i| sum[i] + part[i]))
        };
        let mut slope = [[0.0; 7]; 7];
        for (k, column) in slope.iter_mut().enumerate().take(unknowns) {
            *column = total(&parts(&std::array::from_fn(|i| f64::from(u8::from(i == k))), stride));
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
            let parts = parts(&vectors[k], 1);
            // Points hold in every direction, though each of them changes its partner often.
            let along: Vec<f64> = parts.iter().map(|part| product(&vectors[k], part)).collect();
            let is_weak = along.iter().sum::<f64>() < WEAKLY * mean;
            let is_sure = self.measures.kind == Refinement::PointToPoint
                || is_positive(&along, if is_weak { WEAKLY_SURE } else { SURE });
            let derivative = total(&parts);
            for (l, vector) in vectors.iter().enumerate() {
                let element = if is_sure { product(vector, &derivative) } else { 0.0 };
                better[k][l] = element;
                better[l][k] = element;
            }
        }
        let (values, turns) = symmetric_eigen(&better);
        let vectors =
            turns.map(|turn| std::array::from_fn(|i| (0..7).map(|k| turn[k] * vectors[k][i]).sum()));
        // At a wrong pose the mean may be negative.
        let inverse = values.map(|value| if value > HELD * mean.max(0.0) { 1.0 / value } else { 0.0 });
        Slope { vectors, inverse }
    }

    /// Covariance of a pose between patches, in the coordinates of the fixed cloud, and the standard deviations along the eigenvectors. `whole` is the sum of
    /// the blocks at that pose.
    pub(super) fn covariance(
        &self,
        blocks: &[(u64, Sums)],
        whole: &Sums,
        slope: &Slope,
    ) -> Option<(Covariance, [f64; 7])> {
        let unknowns = self.unknowns();
        let measures = self.measures;
        let Slope { vectors, inverse } = slope;
        let mut matrix = whole.matrix;
        let trace: f64 = (0..6).map(|k| matrix[k][k]).sum();
        (0..7).for_each(|k| matrix[k][k] += if k < unknowns { UNHELD * trace } else { trace });
        // Motions that the blocks ask for, along the eigenvectors.
        let mut turned = [[0.0; 7]; 7];
        let ways: Vec<Vec<Sums>> = (0..8).map(|shift| larger_blocks(blocks, shift)).collect();
        if ways.iter().any(|larger| larger.len() < unknowns + 2) {
            return None;
        }
        let growth = vectors.map(|vector| growth(&ways, &vector, unknowns).sqrt());
        for block in ways.iter().flatten() {
            let score = alone(&matrix, block);
            let along: [f64; 7] =
                std::array::from_fn(|k| growth[k] * inverse[k] * product(&vectors[k], &score));
            for k in 0..7 {
                for l in 0..7 {
                    turned[k][l] += along[k] * along[l] / ways.len() as f64;
                }
            }
        }
        let most = measures.lever * measures.lever;
        let cell = self.cell();
        let finest = FINEST * cell;
        let mut free = Vec::new();
        for k in 0..7 {
            let is_unknown = measures.with_scale || vectors[k][6].abs() < 0.5;
            // Residuals of an exact copy are rounding errors and must not make the pose infinitely certain.
            turned[k][k] += finest * finest;
            if is_unknown && (inverse[k] == 0.0 || turned[k][k] > (0.5 * cell) * (0.5 * cell)) {
                (0..7).for_each(|l| {
                    turned[k][l] = 0.0;
                    turned[l][k] = 0.0;
                });
                free.push(vectors[k]);
            }
        }
        let deviations = std::array::from_fn(|k| turned[k][k].sqrt());
        let free = better_directions(&matrix, free);
        let unit: [f64; 7] =
            std::array::from_fn(|k| if (3..6).contains(&k) { 1.0 } else { 1.0 / measures.lever });
        let element = |i: usize, j: usize| {
            let row = |k: usize| (0..7).map(|l| turned[k][l] * vectors[l][j]).sum::<f64>();
            let held = (0..7).map(|k| vectors[k][i] * row(k)).sum::<f64>();
            (held + free.iter().map(|way| most * way[i] * way[j]).sum::<f64>()) * unit[i] * unit[j]
        };
        let matrix =
            (0..unknowns).map(|i| (0..unknowns).map(|j| element(i.max(j), i.min(j))).collect()).collect();
        let free = free.iter().map(direction).collect();
        let inner = Covariance::new(matrix, measures.about, measures.lever, free);
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

    /// Sums over blocks of space, with their keys.
    pub(super) fn blocks(&mut self, pose: &Similarity) -> Vec<(u64, Sums)> {
        let measures = self.measures;
        let inverse = 1.0 / self.prepared.block;
        let parts = self.collect(pose, &(KeyTable::new(), Vec::new()), |(table, sums), residual| {
            let weight = measures.weight(&residual);
            if weight > 0.0 {
                add_to(table, sums, key_of(residual.at, inverse).unwrap_or(u64::MAX)).add(
                    &measures.row(&residual),
                    weight,
                    &residual,
                );
            }
        });
        let (mut table, mut blocks) = (KeyTable::new(), Vec::new());
        for (keys, sums) in &parts {
            for (&key, sum) in keys.keys().iter().zip(sums) {
                add_to(&mut table, &mut blocks, key).merge(sum);
            }
        }
        table.keys().iter().copied().zip(blocks).collect()
    }
}

/// Scalar product.
fn product(a: &[f64; 7], b: &[f64; 7]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

/// Whether the sum of independent numbers is positive by this many of its standard deviations.
fn is_positive(parts: &[f64], deviations: f64) -> bool {
    let count = parts.len() as f64;
    let sum: f64 = parts.iter().sum();
    let mean = sum / count;
    let squares: f64 = parts.iter().map(|x| (x - mean) * (x - mean)).sum();
    // The variance of the sum is that of the numbers times their number.
    count > 1.0 && sum > deviations * (squares * count / (count - 1.0)).sqrt()
}

/// Free directions, as the planes alone have them, without the chance of which patches have new planes; as given where the two differ.
fn better_directions(matrix: &[[f64; 7]; 7], free: Vec<[f64; 7]>) -> Vec<[f64; 7]> {
    let (_, vectors) = symmetric_eigen(matrix);
    let least = &vectors[..free.len()];
    let is_among =
        |way: &[f64; 7]| free.iter().map(|other| product(way, other).powi(2)).sum::<f64>() > SAME * SAME;
    if least.iter().all(is_among) { least.to_vec() } else { free }
}

/// The sums of the block with this key.
fn add_to<'a>(table: &mut KeyTable, sums: &'a mut Vec<Sums>, key: u64) -> &'a mut Sums {
    let number = table.number(key);
    if number == sums.len() {
        sums.push(Sums::NONE);
    }
    &mut sums[number]
}

/// Blocks of twice the size. Of the eight ways to form them, `shift` is one.
fn larger_blocks(blocks: &[(u64, Sums)], shift: u64) -> Vec<Sums> {
    let (mut table, mut larger) = (KeyTable::new(), Vec::new());
    for (key, sums) in blocks {
        add_to(&mut table, &mut larger, shifted_parent(*key, shift)).merge(sums);
    }
    larger
}

/// Factor of the variance along a vector. A variance that is estimated from few blocks is itself uncertain, so that squared errors in its units are larger by
/// this factor (Hotelling). Blocks count by how much of the direction they hold: where points are dense in one place, that place alone may hold it.
fn growth(ways: &[Vec<Sums>], vector: &[f64; 7], unknowns: usize) -> f64 {
    let concentration = |larger: &Vec<Sums>| {
        let (mut all, mut squares) = (0.0, 0.0);
        for Sums { matrix, .. } in larger {
            let element = |i: usize, j: usize| vector[i] * vector[j] * matrix[i.max(j)][i.min(j)];
            let held: f64 = (0..7).map(|i| (0..7).map(|j| element(i, j)).sum::<f64>()).sum();
            all += held;
            squares += held * held;
        }
        squares / (all * all)
    };
    let mean = ways.iter().map(concentration).sum::<f64>() / ways.len() as f64;
    // No block has a part along a known scale.
    if mean.is_nan() {
        return 1.0;
    }
    let freedom = FREEDOM / mean;
    freedom / (freedom - unknowns as f64 - 1.0).max(1.0)
}

/// The score of a block at the pose that the others would have. It is `M·(M − m)⁻¹·g`, where `M` and `m` are the matrices of all blocks and of this one.
fn alone(whole: &[[f64; 7]; 7], block: &Sums) -> [f64; 7] {
    // Only the lower half of the matrix of a block is filled.
    let others =
        std::array::from_fn(|i| std::array::from_fn(|j| whole[i][j] - block.matrix[i.max(j)][i.min(j)]));
    // Where the others alone hold no pose, the direction is weak and is found to be.
    solve_positive(&others, block.score)
        .map_or(block.score, |x| std::array::from_fn(|i| whole[i].iter().zip(x).map(|(a, x)| a * x).sum()))
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Blocks that hold the first direction as much as `held` says.
    fn blocks(held: impl Iterator<Item = f64>) -> Vec<Sums> {
        let block = |held| {
            let mut sums = Sums::NONE;
            sums.matrix[0][0] = held;
            sums
        };
        held.map(block).collect()
    }

    #[test]
    fn a_direction_that_few_blocks_hold_is_less_certain() {
        let along = |k: usize| std::array::from_fn(|i| f64::from(u8::from(i == k)));
        let even = [blocks((0..40).map(|_| 3.0))];
        assert!((growth(&even, &along(0), 6) - 90.0 / 83.0).abs() < 1e-12);
        // Five of the 40 blocks hold nearly everything: 11 degrees of freedom instead of 90.
        let uneven = [blocks((0..40).map(|k| if k % 8 == 0 { 1e3 } else { 1e-3 }))];
        assert!((growth(&uneven, &along(0), 6) - 11.25 / 4.25).abs() < 1e-3);
        let one = [blocks((0..40).map(|k| if k == 0 { 1.0 } else { 0.0 }))];
        assert_eq!(growth(&one, &along(0), 6), 2.25);
        // A known scale.
        assert_eq!(growth(&even, &along(6), 6), 1.0);
    }
}
