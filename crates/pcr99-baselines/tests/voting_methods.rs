//! Properties of DANIEL, TriVoC, VODRAC and VOCRA: the same seed gives the same bits, time limits hold, and degenerate input gives neither a panic nor NaN.

use std::time::Duration;

use cpu_time::ThreadTime;
use pcr99::{Correspondences, Positive, Registration, Scale, StopReason, random::Random, stop};
use pcr99_baselines::{Error, Method, Solvers};
use pcr99_lab::{Errors, Problem, Recipe, Shape};

const METHODS: [Method; 4] = [Method::Daniel, Method::TriVoc, Method::Vodrac, Method::Vocra];

fn knot(n: usize, ratio: f64, noise: f64, seed: u64) -> Problem {
    let recipe = Recipe::default().with_shape(Shape::Knot).and_then(|r| r.with_points(n));
    let recipe = recipe.and_then(|r| r.with_outlier_ratio(ratio)).and_then(|r| r.with_noise(noise));
    recipe.unwrap().with_seed(seed).generate().unwrap()
}

fn threshold() -> Positive {
    Positive::new("threshold", 0.05).unwrap()
}

fn solve(solvers: &mut Solvers, method: Method, source: &[[f64; 3]], target: &[[f64; 3]]) -> Registration {
    let pairs = Correspondences::new(source, target).unwrap();
    let seconds = stop::after(Duration::from_secs(5));
    let found = solvers.solve(method, &pairs, Scale::one(), threshold(), 7, &seconds).unwrap();
    if let Some(model) = found.target_from_source {
        assert!(model.matrix().as_flattened().iter().all(|x| x.is_finite()), "{method}: {model:?}");
    }
    assert_ne!(found.stopped_because, StopReason::TimeLimit, "{method}");
    found
}

#[test]
fn same_seed_same_bits_whatever_was_solved_before() {
    let (one, other) = (knot(500, 0.95, 0.01, 1), knot(300, 0.9, 0.01, 2));
    for method in METHODS {
        let mut used = Solvers::new();
        solve(&mut used, method, &other.source, &other.target);
        let [again, fresh] =
            [&mut used, &mut Solvers::new()].map(|s| solve(s, method, &one.source, &one.target));
        assert_eq!(again.target_from_source, fresh.target_from_source, "{method}");
        assert_eq!(again.counters, fresh.counters, "{method}");
        assert!(fresh.target_from_source.is_some(), "{method}");
    }
}

/// Large problems without a solution, which would take seconds to hours.
#[test]
fn a_time_limit_is_obeyed() {
    let noise = knot(20_000, 1.0, 0.01, 3);
    let pairs = Correspondences::new(&noise.source, &noise.target).unwrap();
    for method in METHODS {
        // CPU time, since the machine may be busy; the best of three, since the first run allocates.
        let mut solvers = Solvers::new();
        let late = (0..3).map(|_| {
            let start = ThreadTime::now();
            let limit = stop::after(Duration::from_millis(5));
            let found = solvers.solve(method, &pairs, Scale::one(), threshold(), 1, &limit).unwrap();
            assert_eq!(found.stopped_because, StopReason::TimeLimit, "{method}");
            start.elapsed().as_secs_f64() - 0.005
        });
        let late = late.fold(f64::INFINITY, f64::min);
        assert!(late < 0.05, "{method} was {late} s late");
    }
}

#[test]
fn an_interrupt_at_once_ends_at_once() {
    let problem = knot(1000, 0.99, 0.01, 1);
    let pairs = Correspondences::new(&problem.source, &problem.target).unwrap();
    for method in METHODS {
        let now = || Some(stop::StopRequest::Interrupted);
        let found = Solvers::new().solve(method, &pairs, Scale::one(), threshold(), 1, &now).unwrap();
        assert_eq!(
            (found.stopped_because, found.target_from_source),
            (StopReason::Interrupted, None),
            "{method}"
        );
    }
}

#[test]
fn a_scale_is_needed() {
    let problem = knot(100, 0.5, 0.01, 1);
    let pairs = Correspondences::new(&problem.source, &problem.target).unwrap();
    for method in METHODS {
        assert!(!method.finds_scale());
        for scale in [Scale::Unknown, Scale::between(0.5, 2.0).unwrap()] {
            let refused = Solvers::new().solve(method, &pairs, scale, threshold(), 1, &stop::never);
            assert_eq!(refused, Err(Error::ScaleNeeded { method: method.name() }));
        }
    }
}

#[test]
fn too_many_matches_for_a_table_are_refused() {
    let mut random = Random::new(1);
    let points: Vec<[f64; 3]> = (0..93_000).map(|_| std::array::from_fn(|_| random.uniform())).collect();
    let pairs = Correspondences::new(&points, &points).unwrap();
    for method in [Method::TriVoc, Method::Vodrac, Method::Vocra] {
        let refused =
            Solvers::new().solve(method, &pairs, Scale::one(), threshold(), 1, &stop::never).unwrap_err();
        let message = refused.to_string();
        assert!(message.contains(method.name()) && message.contains("1032 MiB"), "{message}");
    }
    // DANIEL needs no table.
    let limit = stop::after(Duration::from_millis(5));
    assert!(Solvers::new().solve(Method::Daniel, &pairs, Scale::one(), threshold(), 1, &limit).is_ok());
}

/// Exact matches, with and without motion.
#[test]
fn exact_data_are_solved() {
    let problem = knot(200, 0.3, 0.0, 4);
    let mut solvers = Solvers::new();
    for method in METHODS {
        for target in [&problem.target, &problem.source] {
            let found = solve(&mut solvers, method, &problem.source, target);
            let model = found.target_from_source.unwrap_or_else(|| panic!("{method} found nothing"));
            let off = |i: usize| {
                let moved = model.apply(problem.source[i]);
                (0..3).map(|axis| (moved[axis] - target[i][axis]).abs()).fold(0.0, f64::max)
            };
            assert!(problem.inliers().into_iter().all(|i| off(i) < 0.03), "{method}");
        }
    }
}

#[test]
fn three_matches_do_no_harm() {
    let source = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]];
    let target = [[5.0, 0.0, 0.0], [5.0, 1.0, 0.0], [4.0, 0.0, 0.0]];
    let far = [[5.0, 0.0, 0.0], [5.0, 9.0, 0.0], [4.0, 0.0, 3.0]];
    let mut solvers = Solvers::new();
    for method in METHODS {
        for target in [target, far] {
            solve(&mut solvers, method, &source, &target);
        }
        for n in 4..40 {
            let problem = knot(n, 0.5, 0.01, n as u64);
            solve(&mut solvers, method, &problem.source, &problem.target);
        }
    }
}

/// Many coincident points on one or both sides, or collinear points.
#[test]
fn coincident_points_do_no_harm() {
    let problem = knot(150, 0.8, 0.01, 5);
    let mut solvers = Solvers::new();
    for method in METHODS {
        for kind in 0..4 {
            let (mut source, mut target) = (problem.source.clone(), problem.target.clone());
            for i in 0..120 {
                match kind {
                    0 => source[i] = source[0],
                    1 => (source[i], target[i]) = (source[i % 4], target[i % 4]),
                    2 => target[i] = target[i % 2],
                    _ => (source[i], target[i]) = ([0.01 * i as f64, 0.0, 0.0], [0.0, 0.01 * i as f64, 0.0]),
                }
            }
            solve(&mut solvers, method, &source, &target);
        }
    }
}

/// A few matches with huge coordinates. On one side only, they change nothing. On both sides, they are consistent with everything up to rounding; some
/// methods then fail, but none may panic or return NaN.
#[test]
fn strays_do_no_harm() {
    let problem = knot(1000, 0.9, 0.01, 6);
    let mut solvers = Solvers::new();
    for method in METHODS {
        for (far, on_both_sides) in [1e6, 1e60, 1e140].into_iter().flat_map(|far| [(far, false), (far, true)])
        {
            let (mut source, mut target) = (problem.source.clone(), problem.target.clone());
            let wrong = (0..1000).filter(|&i| !problem.is_inlier[i]).take(9);
            for (k, i) in wrong.enumerate() {
                if on_both_sides {
                    (source[i], target[i]) = ([far; 3], [-far, far, far]);
                } else if k % 2 == 0 {
                    source[i][k / 3] *= far;
                } else {
                    target[i][k / 3] *= far;
                }
            }
            let found = solve(&mut solvers, method, &source, &target);
            if !on_both_sides {
                let model = found.target_from_source.unwrap_or_else(|| panic!("{method} found nothing"));
                let errors = Errors::between(&model, &problem.truth);
                assert!(errors.rotation_deg < 5.0, "{method}, {far:e}: {errors:?}");
            }
        }
    }
}
