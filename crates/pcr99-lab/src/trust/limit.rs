//! Problems at the limit of detection: 7 to 12 right matches of 1000, scattered over the scene.

use crate::{Problem, Recipe, ScaleChoice, Shape};

/// Number of matches.
pub const MATCHES: usize = 1000;
/// Numbers of right matches, from hardly ever to nearly always detected.
pub const RIGHT: std::ops::RangeInclusive<usize> = 7..=12;
/// Standard deviation of the noise, as a share of the scene's size.
const NOISE: f64 = 0.01;

/// A problem with `right` scattered right matches. The scale is 1, or from 0.5 to 2 when it is to be found; the noise grows with it.
///
/// # Panics
/// When `right` is above [`MATCHES`].
pub fn problem(right: usize, is_scale_known: bool, seed: u64) -> Problem {
    let mut random = super::stream("limit", seed);
    // Another seed than that of problems that are made from a recipe directly.
    let seed = random.bits();
    let scale = if is_scale_known { 1.0 } else { super::log_uniform(0.5, 2.0, &mut random) };
    let recipe = Recipe::default().with_shape(Shape::Knot).and_then(|recipe| recipe.with_points(MATCHES));
    let recipe = recipe.and_then(|recipe| recipe.with_outlier_ratio(1.0 - right as f64 / MATCHES as f64));
    let recipe = recipe.and_then(|recipe| recipe.with_scale(ScaleChoice::Fixed(scale)));
    let recipe = recipe.and_then(|recipe| recipe.with_noise(NOISE * scale)).expect("a valid recipe");
    recipe.with_seed(seed).generate().expect("built-in shapes have as many points as needed")
}

#[cfg(test)]
mod tests {
    use super::*;
    use pcr99_base::vector::{minus, norm};

    #[test]
    fn right_matches_are_as_many_as_asked_and_scattered() {
        for right in RIGHT {
            for seed in 0..20 {
                let problem = problem(right, true, seed);
                let inliers = problem.inliers();
                assert_eq!((inliers.len(), problem.source.len()), (right, MATCHES));
                let apart = |i: &usize| norm(minus(problem.source[*i], problem.source[inliers[0]]));
                assert!(inliers.iter().map(apart).fold(0.0, f64::max) > 0.2);
            }
        }
    }

    #[test]
    fn the_scale_is_one_only_when_it_is_known() {
        assert_eq!(problem(9, true, 3).truth.scale(), 1.0);
        let other = problem(9, false, 3);
        assert!((0.5..2.0).contains(&other.truth.scale()) && other.truth.scale() != 1.0);
        assert_eq!(other.noise, NOISE * other.truth.scale());
        assert_ne!(problem(9, true, 3), problem(9, true, 4));
    }
}
