//! Robust mean of rotations: S. H. Lee, J. Civera, "Robust single rotation averaging", arXiv 2004.00732 (2020).
//!
//! The mean is the rotation nearest to the geometric median in the space of 3×3 matrices. Weiszfeld's iteration computes the median, starting from
//! the median of each element and without distant samples.

use pcr99::random::Random;
use pcr99_base::least_squares;

use crate::blocks::Rotation;

const ITERATIONS: usize = 10;
/// Steps shorter than this end the iteration. It is also the size of the noise that moves the start off a sample, as published.
const STEP: f64 = 1e-3;
/// Distances below which samples always take part, for up to [`FEW`] samples and for more, as published.
const ALWAYS: [f64; 2] = [1.356, 0.7];
const FEW: usize = 50;

/// Rotation as a vector, row by row.
type Flat = [f64; 9];

/// Computes means; keeps its buffers.
#[derive(Debug, Default)]
pub(crate) struct RotationMean {
    /// Elements or distances, sorted.
    sorted: Vec<f64>,
    distances: Vec<f64>,
}

impl RotationMean {
    /// Mean of at least one rotation; `None` when the nearest rotation is not unique.
    pub(crate) fn of(&mut self, rotations: &[Rotation], random: &mut Random) -> Option<Rotation> {
        let mut mean: Flat = std::array::from_fn(|element| {
            self.sorted.clear();
            self.sorted.extend(rotations.iter().map(|r| r.as_flattened()[element]));
            self.sorted.sort_unstable_by(f64::total_cmp);
            let middle = self.sorted.len() / 2;
            if self.sorted.len() % 2 == 1 {
                self.sorted[middle]
            } else {
                0.5 * (self.sorted[middle - 1] + self.sorted[middle])
            }
        });
        let always = ALWAYS[usize::from(rotations.len() > FEW)];
        for _ in 0..ITERATIONS {
            self.measure(rotations, &mean);
            if self.distances.contains(&0.0) {
                mean.iter_mut().for_each(|x| *x += STEP * random.uniform());
                self.measure(rotations, &mean);
            }
            self.sorted.clone_from(&self.distances);
            let quartile = rotations.len().div_ceil(4) - 1;
            let (_, quartile, _) = self.sorted.select_nth_unstable_by(quartile, f64::total_cmp);
            let bound = quartile.max(always);
            let (mut sum, mut weights) = ([0.0; 9], 0.0);
            for (rotation, &distance) in rotations.iter().zip(&self.distances) {
                if distance <= bound {
                    // A distance of zero remains only when the noise was zero; then the sample is the median.
                    let weight = 1.0 / distance.max(1e-100);
                    weights += weight;
                    sum.iter_mut().zip(rotation.as_flattened()).for_each(|(s, x)| *s += weight * x);
                }
            }
            let next = sum.map(|s| s / weights);
            let step = distance(&next, &mean);
            mean = next;
            if step < STEP {
                break;
            }
        }
        // The nearest rotation maximizes tr(RᵀX) = tr(R·Xᵀ).
        least_squares::best_rotation(&std::array::from_fn(|row| {
            std::array::from_fn(|column| mean[3 * column + row])
        }))
    }

    fn measure(&mut self, rotations: &[Rotation], mean: &Flat) {
        self.distances.clear();
        self.distances.extend(rotations.iter().map(|r| distance(r.as_flattened(), mean)));
    }
}

/// Frobenius distance of two matrices.
pub(crate) fn distance(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(x, y)| (x - y) * (x - y)).sum::<f64>().sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocks::angle_between;
    use pcr99::Similarity;

    /// Rotation about `z`.
    fn turn(angle: f64) -> Rotation {
        let (sin, cos) = (libm::sin(angle), libm::cos(angle));
        [[cos, -sin, 0.0], [sin, cos, 0.0], [0.0, 0.0, 1.0]]
    }

    fn anything(random: &mut Random) -> Rotation {
        let quaternion = std::array::from_fn(|_| random.gaussian());
        Similarity::from_quaternion(1.0, quaternion, [0.0; 3]).expect("a similarity").rotation()
    }

    fn nearly(rotation: &Rotation, by: f64, random: &mut Random) -> Rotation {
        let small: [f64; 3] = std::array::from_fn(|_| 0.5 * by * random.gaussian());
        let nudge = Similarity::from_quaternion(1.0, [1.0, small[0], small[1], small[2]], [0.0; 3])
            .expect("a similarity");
        Similarity::new(1.0, *rotation, [0.0; 3]).expect("a similarity").then(&nudge).rotation()
    }

    #[test]
    fn of_one_it_is_itself() {
        // The noise moves the start by up to a thousandth of each element; the end is within a step of it.
        let mean = RotationMean::default().of(&[turn(0.3)], &mut Random::new(1)).unwrap();
        assert!(angle_between(&mean, &turn(0.3)) < 2e-3);
    }

    /// For rotations about one axis, the mean is the median angle.
    #[test]
    fn about_one_axis_it_is_the_median() {
        let turns = [0.1, 0.2, 0.3, 0.31, 0.9].map(turn);
        let mean = RotationMean::default().of(&turns, &mut Random::new(1)).unwrap();
        assert!(angle_between(&mean, &turn(0.3)) < 5e-3, "{}", angle_between(&mean, &turn(0.3)));
    }

    #[test]
    fn wrong_ones_do_not_matter() {
        let mut random = Random::new(7);
        for trial in 0..50 {
            let truth = anything(&mut random);
            let count = if trial % 2 == 0 { 20 } else { 120 };
            let rotations: Vec<Rotation> = (0..count)
                .map(|k| if k % 5 < 3 { nearly(&truth, 0.02, &mut random) } else { anything(&mut random) })
                .collect();
            let mean = RotationMean::default().of(&rotations, &mut random).unwrap();
            let off = angle_between(&mean, &truth);
            assert!(off < 0.05, "{count} rotations: {off}");
            // A rotation: Rᵀ·R = 1.
            for row in 0..3 {
                for column in 0..3 {
                    let product: f64 = (0..3).map(|k| mean[k][row] * mean[k][column]).sum();
                    assert!((product - f64::from(u8::from(row == column))).abs() < 1e-12);
                }
            }
        }
    }

    /// With half of the samples rotated by 180°, the result is `None` or a rotation.
    #[test]
    fn opposites_are_no_number_but_no_nonsense() {
        let half = [[-1.0, 0.0, 0.0], [0.0, -1.0, 0.0], [0.0, 0.0, 1.0]];
        if let Some(mean) = RotationMean::default().of(&[turn(0.0), half], &mut Random::new(1)) {
            assert!(mean.as_flattened().iter().all(|x| x.abs() <= 1.0 + 1e-12));
        }
    }
}
