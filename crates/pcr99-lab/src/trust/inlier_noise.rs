//! Right matches with six kinds of noise, among wrong ones.
//!
//! All kinds have the same root mean square `σ` in each coordinate, so that their results can be compared.

use pcr99::{Similarity, random::Random};
use pcr99_base::vector::{minus, norm, plus, rotate, times};

use super::{Matches, in_unit_cube, motion, stream};
use crate::draw::{distinct_indices, gaussian_vector, in_unit_ball, rotation};

/// Kind of noise of the right targets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Normal, the same in all directions.
    Gaussian,
    /// Normal, with standard deviations of 5 : 2 : 1 along three axes in any orientation.
    Anisotropic,
    /// Normal, with a standard deviation that grows with the distance from a sensor beside the scene: about 1 : 4 over the scene.
    RangeDependent,
    /// Student's t distribution with three degrees of freedom: a few large errors.
    StudentT3,
    /// Targets rounded to a grid in any orientation.
    Quantised,
    /// Uniform in a cube.
    Uniform,
}

/// A problem with one kind of noise.
#[derive(Debug, Clone, PartialEq)]
pub struct Problem {
    /// The matches, in random order.
    pub matches: Matches,
    /// The true motion, target from source.
    pub truth: Similarity,
    /// Right matches, ascending.
    pub inliers: Vec<usize>,
}

impl Problem {
    /// Source points of the right matches.
    pub fn inlier_sources(&self) -> Vec<[f64; 3]> {
        self.inliers.iter().map(|&i| self.matches.source[i]).collect()
    }
}

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 6] = [
        Self::Gaussian,
        Self::Anisotropic,
        Self::RangeDependent,
        Self::StudentT3,
        Self::Quantised,
        Self::Uniform,
    ];

    /// Name of the kind.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gaussian => "Gaussian",
            Self::Anisotropic => "anisotropic",
            Self::RangeDependent => "range-dependent",
            Self::StudentT3 => "Student t3",
            Self::Quantised => "quantised",
            Self::Uniform => "uniform",
        }
    }

    /// A problem of `n` matches in the unit cube, of which `right` have this noise and the others have targets anywhere in a ball around
    /// the scene.
    ///
    /// # Panics
    /// When `right` is above `n`.
    pub fn problem(self, noise: f64, n: usize, right: usize, seed: u64) -> Problem {
        let mut random = stream(self.name(), seed);
        let source: Vec<[f64; 3]> = (0..n).map(|_| in_unit_cube(&mut random)).collect();
        let truth = motion(1.0, 1.0, &mut random);
        let axes = rotation(&mut random);
        let mut inliers = distinct_indices(n, right, &mut random);
        inliers.sort_unstable();
        let wrong = |random: &mut Random| plus(truth.translation(), times(0.9, in_unit_ball(random)));
        let mut target: Vec<[f64; 3]> = (0..n).map(|_| wrong(&mut random)).collect();
        for &i in &inliers {
            let error = times(noise, self.error(source[i], &axes, &mut random));
            target[i] = plus(truth.apply(source[i]), error);
        }
        if self == Self::Quantised {
            // The error of rounding to a step is uniform, with a standard deviation of step/√12.
            let step = noise * 12.0_f64.sqrt();
            target.iter_mut().for_each(|point| *point = rounded(*point, step, &axes));
        }
        Problem { matches: Matches { source, target }, truth, inliers }
    }

    /// An error with a root mean square of 1 in each coordinate, on average over the scene; none where rounding follows.
    fn error(self, source: [f64; 3], axes: &[[f64; 3]; 3], random: &mut Random) -> [f64; 3] {
        let normal = gaussian_vector(random);
        match self {
            Self::Gaussian => normal,
            Self::Anisotropic => {
                let size = 10.0_f64.sqrt(); // The mean square of 5, 2 and 1.
                rotate(axes, [5.0 / size * normal[0], 2.0 / size * normal[1], 1.0 / size * normal[2]])
            }
            Self::RangeDependent => {
                // The mean square distance in the unit cube from a point one side off its centre is 1 + 3/12.
                let range = norm(minus(source, [1.0, 0.0, 0.0]));
                times(range / 1.25_f64.sqrt(), normal)
            }
            Self::StudentT3 => {
                // A normal number divided by √(χ²₃/3) has a variance of 3.
                let chi = |random: &mut Random| norm(gaussian_vector(random));
                normal.map(|x| x / chi(random))
            }
            Self::Quantised => [0.0; 3],
            Self::Uniform => [(); 3].map(|()| 3.0_f64.sqrt() * (2.0 * random.uniform() - 1.0)),
        }
    }
}

/// The nearest point of a grid with these axes.
fn rounded(point: [f64; 3], step: f64, axes: &[[f64; 3]; 3]) -> [f64; 3] {
    let on_grid = rotate(axes, point).map(|x| step * (x / step).round());
    rotate(&pcr99_base::vector::transpose(axes), on_grid)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn errors(problem: &Problem) -> Vec<[f64; 3]> {
        let moved = |&i: &usize| problem.truth.apply(problem.matches.source[i]);
        problem.inliers.iter().map(|i| minus(problem.matches.target[*i], moved(i))).collect()
    }

    #[test]
    fn all_kinds_have_the_same_size() {
        for kind in Kind::ALL {
            let problem = kind.problem(0.01, 20_000, 10_000, 1);
            let square: f64 = errors(&problem).iter().flatten().map(|x| x * x).sum();
            let size = (square / 30_000.0).sqrt();
            // Student's t has no fourth moment, so that its sample variance settles slowly.
            let tolerance = if kind == Kind::StudentT3 { 0.2 } else { 0.04 };
            assert!((size / 0.01 - 1.0).abs() < tolerance, "{}: {size}", kind.name());
        }
    }

    /// The fourth moment tells the kinds apart: 3 for a normal distribution, 1.8 for a uniform one, more with heavy tails.
    #[test]
    fn kinds_have_their_tails() {
        let kurtosis = |kind: Kind| {
            let errors = errors(&kind.problem(0.01, 20_000, 10_000, 2));
            let moment = |power| {
                errors.iter().flatten().map(|&x: &f64| libm::pow(x.abs(), power)).sum::<f64>() / 30_000.0
            };
            moment(4.0) / (moment(2.0) * moment(2.0))
        };
        assert!((kurtosis(Kind::Gaussian) - 3.0).abs() < 0.2, "{}", kurtosis(Kind::Gaussian));
        assert!((kurtosis(Kind::Uniform) - 1.8).abs() < 0.1, "{}", kurtosis(Kind::Uniform));
        assert!(kurtosis(Kind::RangeDependent) > 3.3, "{}", kurtosis(Kind::RangeDependent));
        assert!(kurtosis(Kind::StudentT3) > 8.0, "{}", kurtosis(Kind::StudentT3));
    }

    #[test]
    fn rounded_targets_are_few() {
        let problem = Kind::Quantised.problem(0.1, 2000, 1000, 3);
        let mut targets: Vec<[i64; 3]> =
            problem.matches.target.iter().map(|p| p.map(|x| (1e6 * x).round() as i64)).collect();
        targets.sort_unstable();
        targets.dedup();
        assert!(targets.len() < 300, "{}", targets.len());
    }

    #[test]
    fn problems_follow_from_the_seed() {
        let make = |seed| Kind::Anisotropic.problem(0.01, 100, 50, seed);
        assert_eq!(make(4), make(4));
        assert_ne!(make(4), make(5));
        assert_eq!(make(4).inlier_sources().len(), 50);
    }
}
