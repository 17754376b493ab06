//! Properties of all methods.

use std::{cell::Cell, time::Duration};

use cpu_time::ThreadTime;
use pcr99::{
    Correspondences, Positive, Registration, Scale, StopReason,
    random::Random,
    stop::{self, StopCheck, StopRequest},
};
use pcr99_baselines::{Error, Method, Solvers};
use pcr99_lab::{Problem, Recipe, ScaleChoice, Shape};

const SCALES: [Scale; 2] = [Scale::one(), Scale::Unknown];

fn knot(n: usize, ratio: f64, seed: u64) -> Problem {
    let recipe = Recipe::default().with_shape(Shape::Knot).and_then(|r| r.with_points(n));
    recipe.and_then(|r| r.with_outlier_ratio(ratio)).unwrap().with_seed(seed).generate().unwrap()
}

fn solve(
    method: Method,
    source: &[[f64; 3]],
    target: &[[f64; 3]],
    scale: Scale,
    seed: u64,
    stop: StopCheck<'_>,
) -> Registration {
    let pairs = Correspondences::new(source, target).unwrap();
    let threshold = Positive::new("threshold", 0.05).unwrap();
    Solvers::new().solve(method, &pairs, scale, threshold, seed, stop).unwrap()
}

/// Each method with each kind of scale that it supports.
fn each() -> impl Iterator<Item = (Method, Scale)> {
    let both =
        SCALES.into_iter().flat_map(|scale| Method::ALL.into_iter().map(move |method| (method, scale)));
    both.filter(|(method, scale)| method.finds_scale() || *scale != Scale::Unknown)
}

fn is_finite(found: &Registration) -> bool {
    found.target_from_source.is_none_or(|model| {
        let numbers = model.rotation().into_iter().flatten().chain(model.translation());
        model.scale() > 0.0 && model.scale().is_finite() && numbers.into_iter().all(f64::is_finite)
    })
}

/// All methods register a problem with 50 % outliers, in any units.
#[test]
fn every_method_registers_an_easy_problem() {
    let problem = knot(300, 0.5, 3);
    for (method, scale) in each() {
        for unit in [1.0, 1e-9, 1e7] {
            let grown = |points: &[[f64; 3]]| -> Vec<[f64; 3]> {
                points.iter().map(|p| p.map(|x| unit * x)).collect()
            };
            let pairs = Correspondences::new(&grown(&problem.source), &grown(&problem.target)).unwrap();
            let threshold = Positive::new("threshold", 0.05 * unit).unwrap();
            let found = Solvers::new().solve(method, &pairs, scale, threshold, 1, &stop::never).unwrap();
            let error = pcr99_lab::Errors::between(&found.target_from_source.unwrap(), &problem.truth);
            assert!(error.rotation_deg < 2.0, "{method}, {scale:?}, unit {unit}: {error:?}");
            assert!(found.is_registered(), "{method}, {scale:?}, unit {unit}");
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_bits() {
    let problem = knot(400, 0.8, 5);
    // Solvers that have solved another problem before give the same result as new ones.
    let mut used = Solvers::new();
    for (method, scale) in each() {
        let (other, pairs) =
            (knot(500, 0.7, 6), Correspondences::new(&problem.source, &problem.target).unwrap());
        let threshold = Positive::new("threshold", 0.05).unwrap();
        let other = Correspondences::new(&other.source, &other.target).unwrap();
        used.solve(method, &other, scale, threshold, 9, &stop::never).unwrap();
        let again = used.solve(method, &pairs, scale, threshold, 7, &stop::never).unwrap();
        let new = solve(method, &problem.source, &problem.target, scale, 7, &stop::never);
        assert_eq!(new.target_from_source, again.target_from_source, "{method}, {scale:?}");
        assert_eq!((new.counters, new.inliers), (again.counters, again.inliers), "{method}, {scale:?}");
    }
}

/// In noise there is nothing to find. The time limit ends the search.
#[test]
fn time_limits_are_obeyed() {
    let problem = knot(1000, 1.0, 2);
    let limit = Duration::from_millis(10);
    for (method, scale) in each() {
        let start = ThreadTime::now();
        let found = solve(method, &problem.source, &problem.target, scale, 1, &stop::after(limit));
        let took = start.elapsed();
        // CPU time, with a margin for builds without full optimization.
        assert!(took < limit + Duration::from_millis(150), "{method}, {scale:?}: {took:?}");
        assert!(is_finite(&found), "{method}, {scale:?}");
    }
}

/// All methods stop when a stop check tells them to, at the first or any later check.
#[test]
fn interruption_at_any_time() {
    let problem = knot(300, 0.97, 2);
    for (method, scale) in each() {
        for asked in [0, 1, 2, 3, 5, 10, 100] {
            let calls = Cell::new(0);
            let told = || {
                calls.set(calls.get() + 1);
                (calls.get() > asked).then_some(StopRequest::Interrupted)
            };
            let found = solve(method, &problem.source, &problem.target, scale, 1, &told);
            assert!(is_finite(&found), "{method}, {scale:?}");
            assert!(calls.get() < asked + 10, "{method}, {scale:?} went on asking: {}", calls.get());
            let ended = found.stopped_because;
            assert!(
                calls.get() <= asked || ended == StopReason::Interrupted,
                "{method}, {scale:?}: {ended:?}"
            );
        }
    }
}

/// Degenerate input ends without a panic and without NaN: few matches, coincident or distant points, a line with one point beside it, a grid, exact and
/// mirrored matches.
#[test]
fn odd_input() {
    let mut random = Random::new(4);
    let mut cloud =
        |n: usize| -> Vec<[f64; 3]> { (0..n).map(|_| std::array::from_fn(|_| random.uniform())).collect() };
    let mut inputs = Vec::new();
    for n in [3, 4, 5, 6, 7, 8, 9, 12, 20] {
        let source = cloud(n);
        inputs.push((format!("{n} exact"), source.clone(), source.clone()));
        inputs.push((format!("{n} of noise"), source.clone(), cloud(n)));
        inputs.push((
            format!("{n} mirrored"),
            source.clone(),
            source.iter().map(|p| [-p[0], p[1], p[2]]).collect(),
        ));
    }
    let source = cloud(60);
    let mut copies = source.clone();
    (0..60).for_each(|i| copies[i] = source[i % 3]);
    inputs.push(("copies of three on both sides".into(), copies.clone(), copies.clone()));
    inputs.push(("copies in the target".into(), source.clone(), copies.clone()));
    inputs.push(("copies in the source".into(), copies, source.clone()));
    for size in [1e3, 1e12, 1e60, 1e150] {
        let mut far = source.clone();
        far[7] = [size, -size, size];
        inputs.push((format!("a stray at {size} in the target"), source.clone(), far.clone()));
        inputs.push((format!("a stray at {size} in the source"), far.clone(), source.clone()));
        inputs.push((format!("a stray at {size} on both sides"), far.clone(), far));
    }
    let mut line: Vec<[f64; 3]> = (0..40).map(|i| [f64::from(i), 2.0 * f64::from(i), 0.0]).collect();
    line.push([1.0, 0.0, 0.0]);
    inputs.push(("a line but for one".into(), line.clone(), line));
    let grid: Vec<[f64; 3]> = (0..125).map(|i| [i % 5, i / 5 % 5, i / 25].map(f64::from)).collect();
    inputs.push(("a grid".into(), grid.clone(), grid));
    let mut solvers = Solvers::new();
    for (name, source, target) in &inputs {
        let pairs = Correspondences::new(source, target).unwrap();
        for (method, scale) in each() {
            for threshold in [0.05, 1e-9] {
                let threshold = Positive::new("threshold", threshold).unwrap();
                let limit = Duration::from_millis(20);
                let found = solvers.solve(method, &pairs, scale, threshold, 1, &stop::after(limit)).unwrap();
                assert!(is_finite(&found), "{method}, {scale:?}, {name}: {:?}", found.target_from_source);
            }
        }
    }
}

/// Without a time limit, a search in few matches of noise ends and registers nothing.
#[test]
fn few_matches_of_noise_end() {
    let problem = knot(12, 1.0, 3);
    for (method, scale) in each() {
        let found = solve(method, &problem.source, &problem.target, scale, 1, &stop::never);
        assert!(!found.is_registered(), "{method}, {scale:?}");
    }
}

/// Exact matches are registered, also by methods whose publication compares scales.
#[test]
fn exact_matches_are_found() {
    let problem = knot(100, 0.0, 3);
    for (method, scale) in each() {
        let moved: Vec<[f64; 3]> = problem.source.iter().map(|p| [p[0] + 1.0, p[1], p[2] - 2.0]).collect();
        let found = solve(method, &problem.source, &moved, scale, 1, &stop::never);
        assert!(found.is_registered() && found.inliers.len() == 100, "{method}, {scale:?}");
    }
}

#[test]
fn what_a_method_cannot_do_is_an_error() {
    let problem = knot(20, 0.0, 1);
    let pairs = Correspondences::new(&problem.source, &problem.target).unwrap();
    let threshold = Positive::new("threshold", 0.05).unwrap();
    let ask = |method, scale| Solvers::new().solve(method, &pairs, scale, threshold, 1, &stop::never);
    for method in Method::ALL {
        assert_eq!(ask(method, Scale::Unknown).is_ok(), method.finds_scale(), "{method}");
        assert_eq!(method.name().parse(), Ok(method));
    }
    assert_eq!(ask(Method::Fgr, Scale::Unknown).unwrap_err(), Error::ScaleNeeded { method: "fgr" });
    let range = Scale::between(0.5, 2.0).unwrap();
    assert_eq!(ask(Method::Teaser, range).unwrap_err(), Error::ScaleRange);
    let deviations: Vec<f64> = (0..20).map(|i| f64::from(i) + 1.0).collect();
    let differing = pairs.clone().with_standard_deviations(&deviations).unwrap();
    for method in Method::ALL {
        let asked = Solvers::new().solve(method, &differing, Scale::one(), threshold, 1, &stop::never);
        match method {
            Method::Default => assert!(asked.is_ok()),
            Method::Paper | Method::PaperRandom => {
                assert_eq!(asked.unwrap_err(), Error::Core(pcr99::Error::StandardDeviationsWithPaper));
            }
            _ => assert_eq!(asked.unwrap_err(), Error::StandardDeviations { method: method.name() }),
        }
    }
    let problem = Recipe::default().with_shape(Shape::Knot).and_then(|r| r.with_points(50_000)).unwrap();
    let problem = problem.with_scale(ScaleChoice::Random).unwrap().generate().unwrap();
    let many = Correspondences::new(&problem.source, &problem.target).unwrap();
    let refused = Solvers::new().solve(Method::Teaser, &many, Scale::Unknown, threshold, 1, &stop::never);
    assert!(matches!(refused, Err(Error::TooManyMatches { method: "teaser", matches: 50_000, .. })));
}
