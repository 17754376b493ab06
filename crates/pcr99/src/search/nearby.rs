//! Inliers of transforms that hardly differ from each other, without a look at all matches.
//!
//! While a transform is refined, it moves less and less. A match that was more than two thresholds away is still no inlier when no source moved by more than one
//! threshold. The result is the same as that of a look at all matches, to the bit.

use pcr99_base::{
    Soa,
    kernel::consensus::{Affine, squared_residual},
};

/// Smallest number of matches for which this pays.
const FEWEST: usize = 1 << 14;
/// Largest movement of a source, in thresholds. Less than one, for rounding.
const MOST_MOVED: f64 = 0.999;

/// The matches within two thresholds of one transform.
#[derive(Debug, Default)]
pub(super) struct Nearby {
    members: Vec<u32>,
    /// The transform that they are near to; `None` before any is known.
    base: Option<Affine>,
    /// Largest absolute coordinates of the sources; `None` before they are known.
    largest: Option<[f64; 3]>,
}

impl Nearby {
    /// Forgets earlier matches.
    pub(super) fn clear(&mut self) {
        (self.base, self.largest) = (None, None);
    }

    /// Takes the matches that are near to `model`, which has these squared `residuals` at all matches.
    pub(super) fn assign(&mut self, points: &Soa, model: &Affine, residuals: &[f64], delta: f64) {
        // The noise of each match would have to be taken into account.
        if points.len() < FEWEST || !points.precision.is_empty() {
            return;
        }
        self.largest.get_or_insert_with(|| points.a.each_ref().map(|column| largest(column)));
        self.members.clear();
        let limit = 4.0 * delta * delta;
        self.members.extend((0..).zip(residuals).filter(|(_, square)| **square <= limit).map(|(i, _)| i));
        self.base = Some(*model);
    }

    /// Updates the squared residuals of the matches that are near, and sets the bits of those within `delta`. Returns false when others may be within, too.
    pub(super) fn collect(
        &self,
        points: &Soa,
        model: &Affine,
        delta: f64,
        residuals: &mut [f64],
        mask: &mut [u64],
    ) -> bool {
        let (Some(base), Some(largest)) = (&self.base, &self.largest) else { return false };
        let moved_sq: f64 = (0..3)
            .map(|row| {
                let linear = (0..3).map(|k| (model.linear[row][k] - base.linear[row][k]).abs() * largest[k]);
                (linear.sum::<f64>() + (model.translation[row] - base.translation[row]).abs()).powi(2)
            })
            .sum();
        let within = MOST_MOVED * delta;
        // Not a number is not covered either.
        let is_covered = moved_sq <= within * within;
        if is_covered {
            mask.fill(0);
            for &i in &self.members {
                let square = squared_residual(points, model, i as usize);
                residuals[i as usize] = square;
                mask[i as usize / 64] |= u64::from(square <= delta * delta) << (i % 64);
            }
        }
        is_covered
    }
}

/// Largest absolute number.
fn largest(column: &[f64]) -> f64 {
    column.iter().fold(0.0, |largest: f64, x| if x.abs() > largest { x.abs() } else { largest })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use pcr99_base::kernel::residuals::{mask_within, squared_residuals};

    #[test]
    fn inliers_are_those_among_all_matches() {
        let mut random = Random::new(3);
        let n = FEWEST + 77;
        let mut points = Soa::default();
        for _ in 0..n {
            let a: [f64; 3] = std::array::from_fn(|_| 2.0 * random.uniform() - 1.0);
            for (axis, x) in a.into_iter().enumerate() {
                points.a[axis].push(x);
                points.b[axis].push(x + 0.3 * (random.uniform() - 0.5));
            }
        }
        let turned = |by: f64| Affine {
            linear: [[1.0, -by, 0.0], [by, 1.0, 0.0], [0.0, 0.0, 1.0]],
            translation: [by, -by, 0.5 * by],
        };
        let (delta, mut covered) = (0.05, 0);
        let mut nearby = Nearby::default();
        let (mut residuals, mut all) = (vec![0.0; n], vec![0.0; n]);
        let (mut mask, mut wanted) = (vec![u64::MAX; n.div_ceil(64)], vec![0; n.div_ceil(64)]);
        assert!(!nearby.collect(&points, &turned(0.0), delta, &mut residuals, &mut mask), "nothing is known");
        squared_residuals(&points, &turned(0.0), &mut residuals);
        nearby.assign(&points, &turned(0.0), &residuals, delta);
        for by in [0.0, 0.001, 0.005, 0.01, 0.012, 0.015, 0.1] {
            if nearby.collect(&points, &turned(by), delta, &mut residuals, &mut mask) {
                squared_residuals(&points, &turned(by), &mut all);
                mask_within(&all, delta * delta, &mut wanted);
                assert_eq!(mask, wanted, "{by}");
                covered += 1;
            }
        }
        assert!((4..7).contains(&covered), "{covered}");
    }
}
