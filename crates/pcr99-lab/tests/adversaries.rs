//! Matches that look like something else: each made an earlier version say something untrue.

use pcr99::{Correspondences, Params, Registration, Scale, Similarity, random::Random};
use pcr99_base::vector::{minus, norm};

/// Matches under a motion, with the noise of each coordinate.
struct Scene {
    source: Vec<[f64; 3]>,
    target: Vec<[f64; 3]>,
    truth: Similarity,
    random: Random,
}

impl Scene {
    fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let quaternion = std::array::from_fn(|_| random.gaussian());
        let shift = std::array::from_fn(|_| random.gaussian());
        let truth = Similarity::from_quaternion(1.0, quaternion, shift).expect("a motion");
        Self { source: Vec::new(), target: Vec::new(), truth, random }
    }

    /// A match that follows `motion`.
    fn follow(&mut self, point: [f64; 3], motion: &Similarity, noise: f64) {
        let target = motion.apply(point).map(|x| x + noise * self.random.gaussian());
        self.source.push(point);
        self.target.push(target);
    }

    /// A right match.
    fn right(&mut self, point: [f64; 3], noise: f64) {
        let truth = self.truth;
        self.follow(point, &truth, noise);
    }

    /// A wrong match between two points of the scene.
    fn wrong(&mut self, one: [f64; 3], other: [f64; 3]) {
        self.source.push(one);
        self.target.push(self.truth.apply(other));
    }

    fn in_cube(&mut self) -> [f64; 3] {
        std::array::from_fn(|_| 2.0 * self.random.uniform() - 1.0)
    }

    fn solve(&self, threshold: Option<f64>) -> Registration {
        let pairs = Correspondences::new(&self.source, &self.target).expect("valid matches");
        let params = threshold.map_or(Ok(Params::new()), |threshold| Params::new().with_threshold(threshold));
        pcr99::solve(&pairs, Scale::one(), &params.expect("a threshold")).expect("valid input")
    }

    /// Largest distance between where the answer and the truth move the first `right` sources.
    fn error(&self, found: &Registration, right: usize) -> f64 {
        let Some(answer) = &found.target_from_source else { return f64::INFINITY };
        let off = |a: &[f64; 3]| norm(minus(answer.apply(*a), self.truth.apply(*a)));
        self.source[..right].iter().map(off).fold(0.0, f64::max)
    }
}

/// Right matches on a line leave the rotation about it open. One wrong match beside the line that agrees by chance would determine it.
#[test]
fn one_wrong_match_does_not_determine_the_rotation() {
    for seed in 0..12 {
        let mut scene = Scene::new(seed);
        for _ in 0..200 {
            let along = 2.0 * scene.random.uniform() - 1.0;
            scene.right([along, 0.0, 0.0], 0.003);
        }
        for _ in 0..300 {
            let (one, other) = (scene.in_cube(), scene.in_cube());
            scene.wrong(one, other);
        }
        for threshold in [None, Some(0.03)] {
            let found = scene.solve(threshold);
            assert!(!found.is_registered(), "{seed} {threshold:?}: {}", found.reason());
        }
    }
}

/// Wrong matches between points of one cloud agree as often within a small radius as within a larger one. They must not widen the threshold.
#[test]
fn a_few_wrong_matches_do_not_widen_the_threshold() {
    for seed in 0..60 {
        let mut scene = Scene::new(1000 + seed);
        let points: Vec<[f64; 3]> = (0..150).map(|_| scene.in_cube()).collect();
        for point in &points[..30] {
            scene.right(*point, 1e-4);
        }
        for point in &points[30..] {
            let other = scene.random.below(points.len());
            scene.wrong(*point, points[other]);
        }
        let found = scene.solve(None);
        let error = scene.error(&found, 30);
        assert!(found.is_registered() && error < 5e-4, "{seed}: off by {error:.1e}, {}", found.reason());
    }
}

/// Two close motions of twelve and nine matches are too few for a mixture; without a threshold they look like one motion with large noise.
#[test]
fn two_small_motions_are_not_blended() {
    for seed in 0..60 {
        let mut scene = Scene::new(2000 + seed);
        let shift = Similarity::from_translation([0.04, 0.0, 0.0]);
        let second = scene.truth.then(&shift);
        for k in 0..40 {
            let point = scene.in_cube();
            match k {
                0..14 => scene.right(point, 1e-3),
                14..23 => scene.follow(point, &second, 1e-3),
                _ => {
                    let other = scene.in_cube();
                    scene.wrong(point, other);
                }
            }
        }
        let found = scene.solve(None);
        let error = scene.error(&found, 14);
        let is_named = !found.is_registered() && found.rival.is_some();
        assert!(error < 5e-3 || is_named, "{seed}: off by {error:.1e}, {}", found.reason());
    }
}

/// On a curve, the larger motion has fewer places and more chance than a smaller one beside it. It must still not lose to it unnoticed.
#[test]
fn a_smaller_motion_on_a_curve_is_not_registered() {
    for seed in 0..40 {
        let mut scene = Scene::new(3000 + seed);
        let turn =
            Similarity::from_quaternion(1.0, [1.0, 0.0, 0.06, 0.0], [0.0, 0.3, 0.0]).expect("a motion");
        let second = scene.truth.then(&turn);
        let mut on_curve = || {
            let along = 6.0 * scene.random.uniform();
            [along, 0.5 * (1.3 * along).sin(), 0.1 * (0.7 * along).cos()]
        };
        let points: Vec<[f64; 3]> = (0..600).map(|_| on_curve()).collect();
        for (k, point) in points.iter().enumerate() {
            match k {
                0..160 => scene.right(*point, 5e-3),
                160..250 => scene.follow(*point, &second, 1.5e-3),
                _ => {
                    let other = scene.random.below(points.len());
                    scene.wrong(*point, points[other]);
                }
            }
        }
        for threshold in [None, Some(0.025)] {
            let found = scene.solve(threshold);
            let error = scene.error(&found, 160);
            assert!(!found.is_registered() || error < 0.02, "{seed} {threshold:?}: off by {error:.3}");
        }
    }
}

/// All matches of a winding path are right. The path crosses few patches of the scene's size, however many matches it has.
#[test]
fn a_path_is_registered_in_any_order_of_its_rows() {
    for seed in 0..40 {
        let mut scene = Scene::new(4000 + seed);
        for k in 0..200 {
            let along = f64::from(k) / 20.0;
            scene.right([along, (0.8 * along).sin(), 0.3 * (0.5 * along).cos()], 0.01);
        }
        let found = scene.solve(None);
        assert!(found.is_registered(), "{seed}: {}", found.reason());
        scene.source.reverse();
        scene.target.reverse();
        let reversed = scene.solve(None);
        assert!(reversed.is_registered(), "{seed}, reversed: {}", reversed.reason());
    }
}

/// Where wrong matches lead from one point of a scene to another, chance agrees more often with the right transform than with any other. A smaller motion, to which that does
/// not apply, must not be registered in its place.
#[test]
fn a_smaller_motion_among_points_of_one_scene_is_not_registered() {
    for seed in 0..60 {
        let mut scene = Scene::new(6000 + seed);
        let points: Vec<[f64; 3]> = (0..150).map(|_| scene.in_cube()).collect();
        let second = Scene::new(6500 + seed).truth;
        for (k, point) in points.iter().enumerate() {
            match k {
                0..12 => scene.right(*point, 1e-3),
                12..20 => scene.follow(*point, &second, 1e-3),
                _ => {
                    let other = scene.random.below(points.len());
                    scene.wrong(*point, points[other]);
                }
            }
        }
        for threshold in [None, Some(5e-3)] {
            let found = scene.solve(threshold);
            let error = scene.error(&found, 12);
            assert!(!found.is_registered() || error < 0.02, "{seed} {threshold:?}: off by {error:.1e}");
        }
    }
}

/// Eight points of an object that stands elsewhere agree, but say nothing about the scene.
#[test]
fn an_object_that_stands_elsewhere_is_not_the_scene() {
    for seed in 0..60 {
        let mut scene = Scene::new(7000 + seed);
        let moved = Scene::new(7500 + seed).truth;
        let center = scene.in_cube();
        for _ in 0..8 {
            let offset = scene.in_cube();
            let point = std::array::from_fn(|axis| center[axis] + 0.2 * offset[axis]);
            scene.follow(point, &moved, 1e-3);
        }
        for _ in 0..150 {
            let (one, other) = (scene.in_cube(), moved.apply(scene.in_cube()));
            scene.source.push(one);
            scene.target.push(other);
        }
        let found = scene.solve(Some(5e-3));
        assert!(!found.is_registered(), "{seed}: {}", found.reason());
    }
}

/// Repeated rows and hubs, to which many matches lead, hide the evidence of the others.
#[test]
fn repeated_matches_count_once() {
    const DISTINCT: usize = 12;
    for seed in 0..20 {
        let mut scene = Scene::new(8000 + seed);
        for _ in 0..DISTINCT {
            let point = scene.in_cube();
            scene.right(point, 1e-3);
        }
        let pairs: Vec<_> = scene.source.iter().copied().zip(scene.target.iter().copied()).collect();
        let repeated = |(source, target): &([f64; 3], [f64; 3])| std::iter::repeat_n((*source, *target), 6);
        (scene.source, scene.target) = pairs.iter().flat_map(repeated).unzip();
        let found = scene.solve(Some(5e-3));
        assert!(found.is_registered() && scene.error(&found, DISTINCT) < 5e-3, "{seed}: {}", found.reason());
        assert_eq!(found.inliers.len(), 6 * DISTINCT, "{seed}: all copies are inliers");
        let hub = scene.in_cube();
        for _ in 0..300 {
            let point = scene.in_cube();
            scene.source.push(point);
            scene.target.push(hub);
        }
        let found = scene.solve(Some(5e-3));
        assert!(found.is_registered() && scene.error(&found, DISTINCT) < 5e-3, "{seed}: {}", found.reason());
    }
}

/// With an unknown scale, a match that is wrong by little may be consistent with all others within the tolerance on the scale. It must not hide the majority.
#[test]
fn a_majority_is_found_beside_near_misses() {
    for seed in 0..40 {
        let mut scene = Scene::new(9000 + seed);
        for k in 0..40 {
            let point = scene.in_cube();
            scene.right(point, if k < 22 { 1e-4 } else { 0.02 });
        }
        let pairs = Correspondences::new(&scene.source, &scene.target).expect("valid matches");
        let params = Params::new().with_threshold(5e-4).expect("a threshold");
        let found = pcr99::solve(&pairs, Scale::Unknown, &params).expect("valid input");
        assert!(found.is_registered() && scene.error(&found, 22) < 5e-4, "{seed}: {}", found.reason());
    }
}

/// Matches of mirrored points agree with a rotation where they are near a plane, and the better the larger the threshold is.
#[test]
fn mirrored_points_are_not_registered() {
    for seed in 0..60 {
        let mut scene = Scene::new(11_000 + seed);
        for _ in 0..100 {
            let point = scene.in_cube();
            scene.right(point, 2e-3);
        }
        for target in &mut scene.target {
            target[0] = -target[0];
        }
        for threshold in [None, Some(0.2)] {
            let found = scene.solve(threshold);
            assert!(!found.is_registered(), "{seed} {threshold:?}: {}", found.reason());
        }
    }
}
