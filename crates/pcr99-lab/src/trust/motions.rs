//! Two motions in one problem: which one comes first, and whether the other is noticed.
//!
//! The larger group of matches follows the first motion, the smaller one the second, and the rest are wrong. Sources lie in the unit cube.

use pcr99::{Similarity, random::Random};
use pcr99_base::vector::{minus, plus, times};

use super::{Matches, in_unit_cube, motion, stream, uniform};
use crate::draw::{direction, distinct_indices, gaussian_vector, in_unit_ball};

/// Period of the windows of a facade, in the units of its height of 1.
const PERIOD: f64 = 0.25;
/// Windows of a facade along its length and its height.
const WINDOWS: [usize; 2] = [8, 5];

/// Numbers of a problem with two motions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Recipe {
    /// Number of matches.
    pub matches: usize,
    /// Number of matches that follow the first and the second motion.
    pub groups: [usize; 2],
    /// Standard deviation of the noise of each coordinate, for both groups.
    pub noise: [f64; 2],
}

/// How the second motion differs from the first.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Second {
    /// It has nothing to do with the first.
    Independent,
    /// The first motion, shifted by this distance in a random direction.
    Shift(f64),
    /// The first motion, followed by a turn of this angle in degrees about the scene's centre.
    Turn(f64),
    /// One period of a facade aside. Sources, right targets and wrong targets are windows of one facade.
    Facade,
}

/// A problem with two motions.
#[derive(Debug, Clone, PartialEq)]
pub struct Problem {
    /// The matches, in random order.
    pub matches: Matches,
    /// Matches that follow the first motion, the larger group, and those that follow the second.
    pub groups: [Vec<usize>; 2],
    /// The two motions, target from source.
    pub motions: [Similarity; 2],
    /// Standard deviation of the noise of each coordinate, for both groups.
    pub noise: [f64; 2],
}

impl Problem {
    /// Source points of the larger group.
    pub fn first_sources(&self) -> Vec<[f64; 3]> {
        self.groups[0].iter().map(|&i| self.matches.source[i]).collect()
    }
}

impl Recipe {
    /// The problem with `seed`.
    ///
    /// # Panics
    /// When the groups are larger than the problem.
    pub fn generate(&self, second: Second, seed: u64) -> Problem {
        let mut random = stream("motions", seed);
        let is_facade = second == Second::Facade;
        let source: Vec<[f64; 3]> = (0..self.matches)
            .map(|_| if is_facade { on_facade(&mut random) } else { in_unit_cube(&mut random) })
            .collect();
        let first = motion(1.0, 0.3, &mut random);
        let second = second.after(&first, &mut random);
        let order = distinct_indices(self.matches, self.matches, &mut random);
        let [larger, smaller] = self.groups;
        let groups = [order[..larger].to_vec(), order[larger..larger + smaller].to_vec()];
        // Wrong targets fill a ball around the scene, or the facade.
        let wrong = |random: &mut Random| {
            let point = if is_facade { on_facade(random) } else { times(0.9, in_unit_ball(random)) };
            first.apply(point)
        };
        let mut target: Vec<[f64; 3]> = (0..self.matches).map(|_| wrong(&mut random)).collect();
        let motions = [first, second];
        for (group, (motion, noise)) in groups.iter().zip(motions.iter().zip(self.noise)) {
            for &i in group {
                target[i] = plus(motion.apply(source[i]), times(noise, gaussian_vector(&mut random)));
            }
        }
        let mut groups = groups;
        groups.iter_mut().for_each(|group| group.sort_unstable());
        Problem { matches: Matches { source, target }, groups, motions, noise: self.noise }
    }
}

impl Second {
    /// The second motion for a given first one.
    fn after(self, first: &Similarity, random: &mut Random) -> Similarity {
        match self {
            Self::Independent => motion(1.0, 0.3, random),
            Self::Shift(distance) => {
                first.then(&Similarity::from_translation(times(distance, direction(random))))
            }
            Self::Turn(degrees) => {
                let (sine, cosine) = libm::sincos(degrees.to_radians() / 2.0);
                let [x, y, z] = times(sine, direction(random));
                let turn = Similarity::from_quaternion(1.0, [cosine, x, y, z], [0.0; 3]);
                let center = first.translation();
                first
                    .then(&Similarity::from_translation(minus([0.0; 3], center)))
                    .then(&turn.expect("a unit quaternion"))
                    .then(&Similarity::from_translation(center))
            }
            Self::Facade => Similarity::from_translation([PERIOD, 0.0, 0.0]).then(first),
        }
    }
}

/// A corner of a window, up to a few millimetres of a facade of a few metres: the relief is 2 % of the height.
fn on_facade(random: &mut Random) -> [f64; 3] {
    let window = WINDOWS.map(|count| PERIOD * random.below(count) as f64);
    let corner = [(); 2].map(|()| if random.below(2) == 0 { -0.05 } else { 0.05 });
    let mut near = || 0.005 * random.gaussian();
    [
        window[0] + corner[0] + near() - 0.875,
        window[1] + corner[1] + near() - 0.5,
        uniform(-0.02, 0.02, random),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{metrics::rotation_error_deg, trust::displacement};
    use pcr99_base::vector::norm;

    const RECIPE: Recipe = Recipe { matches: 1000, groups: [300, 200], noise: [0.001, 0.01] };

    #[test]
    fn groups_follow_their_motions_with_their_noise() {
        let kinds = [Second::Independent, Second::Shift(0.1), Second::Turn(10.0), Second::Facade];
        for (seed, second) in (0..).zip(kinds) {
            let problem = RECIPE.generate(second, seed);
            assert_eq!(problem.groups.each_ref().map(Vec::len), RECIPE.groups);
            for k in 0..2 {
                let residual = |&i: &usize| {
                    let moved = problem.motions[k].apply(problem.matches.source[i]);
                    norm(minus(moved, problem.matches.target[i]))
                };
                let group = &problem.groups[k];
                let mean = group.iter().map(residual).sum::<f64>() / group.len() as f64;
                // The mean length of three normal numbers is 1.596.
                assert!((mean / (1.596 * RECIPE.noise[k]) - 1.0).abs() < 0.15, "{second:?}: {mean}");
            }
        }
    }

    #[test]
    fn the_second_motion_is_as_far_as_asked() {
        for seed in 0..20 {
            let shifted = RECIPE.generate(Second::Shift(0.1), seed);
            let [first, second] = &shifted.motions;
            assert!((displacement(first, second, &shifted.first_sources()) - 0.1).abs() < 1e-12);
            let turned = RECIPE.generate(Second::Turn(10.0), seed);
            let [first, second] = turned.motions.map(|motion| motion.rotation());
            assert!((rotation_error_deg(&first, &second) - 10.0).abs() < 1e-9);
            // The centre of the scene stays.
            let [first, second] = turned.motions.map(|motion| motion.apply([0.0; 3]));
            assert!(norm(minus(first, second)) < 1e-12);
            let facade = RECIPE.generate(Second::Facade, seed);
            let [first, second] = &facade.motions;
            assert!((displacement(first, second, &facade.first_sources()) - PERIOD).abs() < 1e-12);
        }
    }

    #[test]
    fn problems_follow_from_the_seed() {
        let make = |seed| RECIPE.generate(Second::Independent, seed);
        assert_eq!(make(4), make(4));
        assert_ne!(make(4).matches, make(5).matches);
    }

    /// Other matches are wrong: nearly none is near either motion.
    #[test]
    fn the_rest_is_wrong() {
        let problem = RECIPE.generate(Second::Independent, 9);
        let rest = (0..1000).filter(|i| !problem.groups.iter().any(|group| group.contains(i)));
        let near = |i: usize| {
            let moved = problem.motions.map(|motion| motion.apply(problem.matches.source[i]));
            moved.iter().any(|&p| norm(minus(p, problem.matches.target[i])) < 0.05)
        };
        assert!(rest.filter(|&i| near(i)).count() < 5);
    }
}
