//! Pure noise: every match is wrong, so no transform may be registered.
//!
//! [`Family::problem`] draws everything that a seed leaves open: the number of matches (30 to 20 000), the inner numbers of the family
//! (patch sizes, jitters, numbers of planes), whether the scale is known, and whether a threshold is given. Seeds that follow each other
//! go through the four combinations of scale and threshold. One group of four seeds in sixteen groups has large problems, because these
//! take seconds each.

mod clouds;

mod clusters;

use pcr99::{Scale, random::Random};
use pcr99_base::vector::distance_sq;

use self::clouds::Cloud;
use super::{Matches, integer, log_uniform, motion, stream};

/// Smallest number of matches of a problem.
pub const FEWEST_MATCHES: usize = 30;
/// Largest number of matches of a problem.
pub const MOST_MATCHES: usize = 20_000;
/// Number of matches from which a problem is large.
const LARGE: usize = 3000;

/// Kind of pure noise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// Sources and targets uniform in a ball or a box.
    Uniform,
    /// Sources and targets normal, with three different standard deviations.
    Gaussian,
    /// Around a sensor: as many points in each shell of the same thickness, so that the density falls with 1/r².
    Lidar,
    /// On one to five planes, some of them with a little thickness.
    Planes,
    /// On a sphere.
    Sphere,
    /// On one to four closed curves.
    Curves,
    /// A small object in front of a large plane.
    ObjectAndPlane,
    /// A dense core in a halo that is 10 to 100 times larger.
    CoreAndHalo,
    /// On a lattice, as voxel centres are, in any orientation.
    Lattice,
    /// In pairs: each wrong match has a neighbour that is wrong in the same way.
    Pairs,
    /// In patches of 3 to 8 neighbours that are wrong in the same way.
    Patches,
    /// In patches of 2 to 8 neighbours, among single matches.
    PatchesAndSingles,
    /// One to three large patches that are wrong in the same way, among scattered matches.
    LargePatch,
    /// Many sources match one target, with or without jitter, or many targets one source.
    ManyToOne,
    /// One surface on both sides, with its points in another order.
    Permutation,
    /// Rows that occur 2 to 8 times.
    RepeatedRows,
}

impl Family {
    /// All families.
    pub const ALL: [Self; 16] = [
        Self::Uniform,
        Self::Gaussian,
        Self::Lidar,
        Self::Planes,
        Self::Sphere,
        Self::Curves,
        Self::ObjectAndPlane,
        Self::CoreAndHalo,
        Self::Lattice,
        Self::Pairs,
        Self::Patches,
        Self::PatchesAndSingles,
        Self::LargePatch,
        Self::ManyToOne,
        Self::Permutation,
        Self::RepeatedRows,
    ];

    /// Name of the family.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Uniform => "uniform",
            Self::Gaussian => "Gaussian",
            Self::Lidar => "LiDAR-like",
            Self::Planes => "planes",
            Self::Sphere => "sphere",
            Self::Curves => "curves",
            Self::ObjectAndPlane => "object and plane",
            Self::CoreAndHalo => "core and halo",
            Self::Lattice => "lattice",
            Self::Pairs => "pairs",
            Self::Patches => "patches",
            Self::PatchesAndSingles => "patches and singles",
            Self::LargePatch => "large patch",
            Self::ManyToOne => "many to one",
            Self::Permutation => "permutation",
            Self::RepeatedRows => "repeated rows",
        }
    }

    /// The problem of this family with `seed`.
    pub fn problem(self, seed: u64) -> Problem {
        let mut random = stream(self.name(), seed);
        let n = number_of_matches(seed, &mut random);
        let is_scale_known = seed.is_multiple_of(2);
        let is_threshold_given = (seed / 2).is_multiple_of(2);
        let mut matches = self.matches(n, &mut random);
        let scale = if is_scale_known { 1.0 } else { log_uniform(0.2, 5.0, &mut random) };
        place(&mut matches.source, 1.0, &mut random);
        place(&mut matches.target, scale, &mut random);
        let share = log_uniform(0.002, 0.1, &mut random);
        let threshold = is_threshold_given.then(|| share * root_mean_square_radius(&matches.target));
        Problem { matches, scale: if is_scale_known { Scale::one() } else { Scale::Unknown }, threshold }
    }

    /// `n` wrong matches of this family, in the coordinates in which they are easiest to make.
    fn matches(self, n: usize, random: &mut Random) -> Matches {
        let both = |cloud: Cloud, random: &mut Random| Matches {
            source: cloud(n, random),
            target: cloud(n, random),
        };
        match self {
            Self::Uniform => both(clouds::uniform_in_solid, random),
            Self::Gaussian => both(clouds::gaussian, random),
            Self::Lidar => both(clouds::around_sensor, random),
            Self::Planes => both(clouds::on_planes, random),
            Self::Sphere => both(clouds::on_sphere, random),
            Self::Curves => both(clouds::on_curves, random),
            Self::ObjectAndPlane => both(clouds::object_and_plane, random),
            Self::CoreAndHalo => core_and_halo(n, random),
            Self::Lattice => both(clouds::on_lattice, random),
            Self::Pairs => clusters::patches(n, [2, 2], 0.0, random),
            Self::Patches => clusters::patches(n, [3, 8], 0.0, random),
            Self::PatchesAndSingles => {
                let singles = super::uniform(0.2, 0.8, random);
                clusters::patches(n, [2, 8], singles, random)
            }
            Self::LargePatch => clusters::large_patches(n, random),
            Self::ManyToOne => clusters::many_to_one(n, random),
            Self::Permutation => clusters::permutation(n, random),
            Self::RepeatedRows => clusters::repeated_rows(n, random),
        }
    }
}

/// A problem of pure noise, with what the solver is told.
#[derive(Debug, Clone)]
pub struct Problem {
    /// The wrong matches.
    pub matches: Matches,
    /// Known to be 1, or unknown.
    pub scale: Scale,
    /// Inlier threshold, in target units; `None` when it is to be found. It is 0.2 % to 10 % of the root mean square radius of the targets.
    pub threshold: Option<f64>,
}

/// Number of matches of a problem, with a uniform logarithm below or above [`LARGE`].
fn number_of_matches(seed: u64, random: &mut Random) -> usize {
    let is_large = seed / 4 % 16 == 15;
    let [least, most] = if is_large { [LARGE, MOST_MATCHES] } else { [FEWEST_MATCHES, LARGE - 1] };
    log_uniform(least as f64, most as f64 + 1.0, random) as usize
}

/// Core and halo on both sides, or on one side with the core alone on the other.
fn core_and_halo(n: usize, random: &mut Random) -> Matches {
    match integer(0, 2, random) {
        0 => Matches { source: clouds::core_and_halo(n, random), target: clouds::core_and_halo(n, random) },
        side => {
            let (core, whole) = (clouds::in_ball(n, random), clouds::core_and_halo(n, random));
            let matches = Matches { source: core, target: whole };
            if side == 1 { matches } else { matches.reversed() }
        }
    }
}

/// Moves a cloud anywhere, in any orientation, and scales it.
fn place(points: &mut [[f64; 3]], scale: f64, random: &mut Random) {
    let reach = 3.0 * scale * root_mean_square_radius(points);
    let motion = motion(scale, reach, random);
    points.iter_mut().for_each(|point| *point = motion.apply(*point));
}

/// Root mean square distance of points from their mean.
fn root_mean_square_radius(points: &[[f64; 3]]) -> f64 {
    let n = points.len() as f64;
    let mean = std::array::from_fn(|axis| points.iter().map(|p| p[axis]).sum::<f64>() / n);
    (points.iter().map(|&p| distance_sq(p, mean)).sum::<f64>() / n).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pcr99::Correspondences;

    #[test]
    fn problems_follow_from_family_and_seed() {
        for family in Family::ALL {
            let (one, same, other) = (family.problem(5), family.problem(5), family.problem(6));
            assert_eq!((&one.matches, one.threshold), (&same.matches, same.threshold), "{}", family.name());
            assert_ne!(one.matches, other.matches, "{}", family.name());
        }
    }

    #[test]
    fn every_problem_is_valid_input_of_the_promised_size() {
        let mut largest = 0;
        for family in Family::ALL {
            let mut sizes = Vec::new();
            for seed in 0..100 {
                let Problem { matches, threshold, .. } = family.problem(seed);
                let pairs = Correspondences::new(&matches.source, &matches.target);
                assert!(pairs.is_ok(), "{} {seed}: {:?}", family.name(), pairs.err());
                assert!(threshold.is_none_or(|t| t > 0.0 && t.is_finite()));
                sizes.push(matches.source.len());
            }
            assert!(sizes.iter().all(|n| (FEWEST_MATCHES..=MOST_MATCHES).contains(n)), "{sizes:?}");
            assert!(sizes.iter().any(|&n| n < 100), "{sizes:?}");
            assert_eq!(sizes.iter().filter(|&&n| n >= LARGE).count(), 4, "seeds 60 to 63");
            largest = largest.max(sizes.into_iter().max().unwrap_or(0));
        }
        assert!(largest > 15_000, "{largest}");
    }

    #[test]
    fn four_seeds_cover_scale_and_threshold() {
        let told = |seed| {
            let problem = Family::Uniform.problem(seed);
            (problem.scale == Scale::Unknown, problem.threshold.is_some())
        };
        let seen: std::collections::BTreeSet<_> = (100..104).map(told).collect();
        assert_eq!(seen.len(), 4);
    }

    #[test]
    fn names_are_distinct() {
        let names: std::collections::BTreeSet<&str> =
            Family::ALL.iter().map(|family| family.name()).collect();
        assert_eq!(names.len(), Family::ALL.len());
    }

    #[test]
    fn radius_is_that_of_the_bulk() {
        let mut corners = vec![[1.0, 1.0, 1.0], [3.0, 1.0, 1.0], [1.0, 3.0, 1.0], [3.0, 3.0, 1.0]];
        assert!((root_mean_square_radius(&corners) - 2.0_f64.sqrt()).abs() < 1e-12);
        place(&mut corners, 2.0, &mut Random::new(1));
        assert!((root_mean_square_radius(&corners) - 8.0_f64.sqrt()).abs() < 1e-12);
    }
}
