//! Problems that test whether an answer can be trusted.
//!
//! A registered answer must be right. These generators make the cases in which that is hard:
//!
//! | module | problems |
//! |---|---|
//! | [`noise`] | pure noise: every match is wrong, so nothing may be registered |
//! | [`motions`] | two motions, near rivals, and a facade that is off by one period |
//! | [`inlier_noise`] | right matches with six kinds of noise |
//! | [`strays`] | matches far outside of the scene, added to a problem |
//! | [`limit`] | as few right matches as can be detected |
//!
//! Every problem follows from its family and its seed alone, to the bit. **Seeds below [`FIRST_JUDGING_SEED`] are for setting numbers** in
//! the methods; seeds from there on are for judging them. Numbers that were set with the judging seeds would make the judgement worthless.
//!
//! The example `trust` solves these problems and prints one table with what is measured and what is required.

pub mod inlier_noise;

pub mod limit;

pub mod motions;

pub mod noise;

pub mod strays;

use pcr99::{Similarity, random::Random};
use pcr99_base::vector::{minus, norm, times};

use crate::draw::{direction, rotation};

/// First seed of the problems that judge a method. Smaller seeds may be used to set its numbers.
pub const FIRST_JUDGING_SEED: u64 = 10_000;

/// Matches: row `i` of the source belongs to row `i` of the target.
#[derive(Debug, Clone, PartialEq)]
pub struct Matches {
    /// Source points.
    pub source: Vec<[f64; 3]>,
    /// Target points.
    pub target: Vec<[f64; 3]>,
}

impl Matches {
    /// Exchanges source and target.
    pub fn reversed(self) -> Self {
        Self { source: self.target, target: self.source }
    }
}

/// Random stream of the problem `seed` of a family.
fn stream(family: &str, seed: u64) -> Random {
    // FNV-1a keeps the streams of families apart.
    let hash = family.bytes().fold(0xCBF2_9CE4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3)
    });
    Random::new(hash ^ seed)
}

/// Uniform in `[low, high)`.
fn uniform(low: f64, high: f64, random: &mut Random) -> f64 {
    low + (high - low) * random.uniform()
}

/// A number between `low` and `high` with a uniform logarithm.
fn log_uniform(low: f64, high: f64, random: &mut Random) -> f64 {
    low * libm::pow(high / low, random.uniform())
}

/// Integer from `low` to `high`, both included.
fn integer(low: usize, high: usize, random: &mut Random) -> usize {
    low + random.below(high + 1 - low)
}

/// Point, uniform in the cube of side 1 around the origin.
fn in_unit_cube(random: &mut Random) -> [f64; 3] {
    std::array::from_fn(|_| random.uniform() - 0.5)
}

/// Motion with this scale, any rotation, and a translation of at most `reach`.
fn motion(scale: f64, reach: f64, random: &mut Random) -> Similarity {
    let shift = times(reach * random.uniform(), direction(random));
    Similarity::new_unchecked(scale, rotation(random), shift)
}

/// Root mean square distance between two positions of `points`: the error of `estimate` in target units.
///
/// It is one number for rotation, translation and scale. With noise of standard deviation `σ` in each coordinate, the least-squares fit of
/// `k` matches is off by `σ·√(6/k)` on average, or `σ·√(7/k)` with unknown scale.
pub fn displacement(estimate: &Similarity, truth: &Similarity, points: &[[f64; 3]]) -> f64 {
    let square = |&point: &[f64; 3]| {
        let length = norm(minus(estimate.apply(point), truth.apply(point)));
        length * length
    };
    (points.iter().map(square).sum::<f64>() / points.len().max(1) as f64).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_differ_by_family_and_seed() {
        let first = |family, seed| stream(family, seed).bits();
        assert_eq!(first("planes", 3), first("planes", 3));
        assert_ne!(first("planes", 3), first("planes", 4));
        assert_ne!(first("planes", 3), first("sphere", 3));
    }

    #[test]
    fn displacement_of_a_shift_is_its_length_and_of_a_turn_grows_with_the_points() {
        let points = [[1.0, 0.0, 0.0], [0.0, 2.0, 0.0]];
        let shift = Similarity::from_translation([0.0, 3.0, 4.0]);
        assert_eq!(displacement(&shift, &Similarity::IDENTITY, &points), 5.0);
        let half_turn = Similarity::new(1.0, [[-1.0, 0.0, 0.0], [0.0, -1.0, 0.0], [0.0, 0.0, 1.0]], [0.0; 3]);
        let moved = displacement(&half_turn.expect("a motion"), &Similarity::IDENTITY, &points);
        // The points move by 2 and by 4.
        assert!((moved - 10.0_f64.sqrt()).abs() < 1e-12, "{moved}");
    }

    #[test]
    fn draws_stay_in_their_ranges() {
        let mut random = Random::new(1);
        for _ in 0..1000 {
            assert!((3..=8).contains(&integer(3, 8, &mut random)));
            assert!((0.01..0.5).contains(&log_uniform(0.01, 0.5, &mut random)));
            assert!((-2.0..3.0).contains(&uniform(-2.0, 3.0, &mut random)));
        }
        let seen: std::collections::BTreeSet<usize> = (0..200).map(|_| integer(3, 8, &mut random)).collect();
        assert!(seen.into_iter().eq(3..=8));
    }
}
