//! Problems for the tests of the methods.

use pcr99::{Correspondences, Positive, Scale, stop};
use pcr99_lab::{Errors, OutlierCenter, Recipe, ScaleChoice, Shape};

use crate::{Method, Solvers};

/// `n` matches on the knot at scale 1 (σ = 0.01), and which of them are inliers.
pub(crate) fn knot_problem(n: usize, ratio: f64, seed: u64) -> (Correspondences, Vec<bool>) {
    let recipe = Recipe::default().with_shape(Shape::Knot).and_then(|r| r.with_points(n));
    let problem =
        recipe.and_then(|r| r.with_outlier_ratio(ratio)).unwrap().with_seed(seed).generate().unwrap();
    (Correspondences::new(&problem.source, &problem.target).unwrap(), problem.is_inlier)
}

/// Largest rotation error over some problems (n = 1000, σ = 0.01), in degrees; 180 without a transform. The scale is `known_scale`, or random
/// and unknown.
pub(crate) fn largest_error(method: Method, known_scale: Option<f64>, ratio: f64, problems: u64) -> f64 {
    let mut solvers = Solvers::new();
    let errors = (0..problems).map(|seed| {
        let choice = known_scale.map_or(ScaleChoice::Random, ScaleChoice::Fixed);
        let recipe = Recipe::default().with_shape(Shape::Knot).and_then(|r| r.with_points(1000));
        let recipe = recipe.and_then(|r| r.with_outlier_ratio(ratio)).and_then(|r| r.with_scale(choice));
        let problem =
            recipe.unwrap().with_outlier_center(OutlierCenter::Centred).with_seed(seed).generate().unwrap();
        let pairs = Correspondences::new(&problem.source, &problem.target).unwrap();
        let scale = known_scale.map_or(Scale::Unknown, |s| Scale::known(s).unwrap());
        let threshold = Positive::new("threshold", 0.05).unwrap();
        let found = solvers.solve(method, &pairs, scale, threshold, seed, &stop::never).unwrap();
        found.target_from_source.map_or(180.0, |model| Errors::between(&model, &problem.truth).rotation_deg)
    });
    errors.fold(0.0, f64::max)
}
