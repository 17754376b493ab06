//! Matches that differ in noise: what their standard deviations change, and what they must not change.
#![allow(clippy::print_stdout, reason = "the documentation quotes what is measured")]

mod common;

use common::{distance, similarity};
use pcr99::{
    Correspondences, Error, Params, Positive, Registration, Scale, Seconds, Similarity, Solver, Status,
    assess, paper, random::Random, solve,
};

/// Simulated matches, the first of which are right.
struct Simulated {
    source: Vec<[f64; 3]>,
    target: Vec<[f64; 3]>,
    deviations: Vec<f64>,
    right: usize,
    truth: Similarity,
}

impl Simulated {
    /// `n` matches in a cube, of which the first `right` follow a random motion, each with its own noise; the others are pairs of random points.
    fn new(n: usize, right: usize, seed: u64, mut deviation: impl FnMut(usize, &mut Random) -> f64) -> Self {
        let mut random = Random::new(seed);
        let truth = similarity(1.0, &mut random);
        let mut simulated =
            Self { source: Vec::new(), target: Vec::new(), deviations: Vec::new(), right, truth };
        for i in 0..n {
            let mut point = || -> [f64; 3] { std::array::from_fn(|_| 2.0 * random.uniform() - 1.0) };
            let (a, any) = (point(), point());
            let sigma = deviation(i, &mut random);
            let b = truth.apply(if i < right { a } else { any });
            simulated.target.push(b.map(|x| x + if i < right { sigma * random.gaussian() } else { 0.0 }));
            simulated.source.push(a);
            simulated.deviations.push(sigma);
        }
        simulated
    }

    fn plain(&self) -> Correspondences {
        Correspondences::new(&self.source, &self.target).unwrap()
    }

    fn with_deviations(&self) -> Correspondences {
        self.plain().with_standard_deviations(&self.deviations).unwrap()
    }

    fn error(&self, found: &Registration) -> f64 {
        found.target_from_source.map_or(f64::INFINITY, |model| distance(&model, &self.truth, &self.source))
    }

    fn right_inliers(&self, found: &Registration) -> usize {
        found.inliers.iter().filter(|i| **i < self.right).count()
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Half of the matches have ten times the noise of the other half, and 90 % are wrong.
fn two_kinds(n: usize, seed: u64) -> Simulated {
    Simulated::new(n, n / 10, seed, |i, _| if i % 2 == 0 { 0.005 } else { 0.05 })
}

/// Noise that is spread evenly over two powers of ten.
fn two_decades(_: usize, random: &mut Random) -> f64 {
    0.001 * 10_f64.powf(2.0 * random.uniform())
}

/// Median error and median number of right inliers over 30 problems, without and with standard deviations. All must be registered with them.
fn compare(problem: impl Fn(u64) -> Simulated) -> [(f64, f64); 2] {
    let mut solver = Solver::new();
    let mut measure = |with: bool| {
        let (errors, right) = (0..30)
            .map(|seed| {
                let simulated = problem(seed);
                let pairs = if with { simulated.with_deviations() } else { simulated.plain() };
                let found = solver.solve(&pairs, Scale::one(), &Params::new()).unwrap();
                assert!(found.is_registered() || !with, "{seed}: {}", found.reason());
                (simulated.error(&found), simulated.right_inliers(&found) as f64)
            })
            .unzip();
        (median(errors), median(right))
    };
    [measure(false), measure(true)]
}

/// Few right matches: without standard deviations, the noisy ones spoil the fit. Many: the precise ones outvote them, and the noisy ones are lost.
/// Quoted in docs/how-to/describe-matches.md.
#[test]
fn they_make_the_answer_more_precise() {
    let [(plain, _), (told, right)] = compare(|seed| two_kinds(200, seed));
    println!("200 matches, two kinds: error {plain:.4} without, {told:.4} with standard deviations");
    assert!(told < 0.25 * plain && right == 20.0, "{plain} {told} {right}");

    let [(plain, few), (told, right)] = compare(|seed| two_kinds(1000, seed));
    println!("1000 matches, two kinds: right inliers {few} without, {right} with standard deviations");
    assert!(told < plain && few < 60.0 && right == 100.0, "{plain} {told} {few} {right}");

    let [(plain, few), (told, right)] = compare(|seed| Simulated::new(1000, 100, seed, two_decades));
    println!(
        "1000 matches, two decades: error {plain:.4} and {few} right inliers without, {told:.4} and {right} with"
    );
    assert!(told < 0.35 * plain && few < 80.0 && right >= 99.0, "{plain} {told} {few} {right}");
}

#[test]
fn an_unknown_scale_gains_as_well() {
    let scale = Scale::Unknown;
    for seed in 0..5 {
        let simulated = two_kinds(200, seed);
        let found = solve(&simulated.with_deviations(), scale, &Params::new()).unwrap();
        assert!(
            found.is_registered() && simulated.error(&found) < 0.03,
            "{seed} {}",
            simulated.error(&found)
        );
    }
}

/// All but the time is the same to the bit.
fn assert_same(one: &Registration, other: &Registration) {
    let timeless = |found: &Registration| {
        let mut found = found.clone();
        found.seconds = Seconds::default();
        found
    };
    assert_eq!(timeless(one), timeless(other));
}

#[test]
fn equal_deviations_change_nothing() {
    for seed in 0..3 {
        let simulated = two_kinds(300, seed);
        let plain = solve(&simulated.plain(), Scale::one(), &Params::new()).unwrap();
        for value in [1.0, 0.1, 1e-300, 1e300] {
            let pairs = simulated.plain().with_standard_deviations(&[value; 300]).unwrap();
            assert!(!pairs.differ_in_noise());
            assert_same(&solve(&pairs, Scale::one(), &Params::new()).unwrap(), &plain);
        }
    }
}

/// Only ratios count, and later values replace earlier ones.
#[test]
fn the_unit_of_the_deviations_does_not_matter() {
    for seed in 0..3 {
        let simulated = Simulated::new(300, 60, seed, two_decades);
        let known = solve(&simulated.with_deviations(), Scale::one(), &Params::new()).unwrap();
        for factor in [2.0, 3.7, 1e-9, 1e12] {
            let scaled: Vec<f64> = simulated.deviations.iter().map(|deviation| factor * deviation).collect();
            let others: Vec<f64> = simulated.source.iter().map(|p| p[0].abs() + 0.1).collect();
            let pairs = simulated.plain().with_standard_deviations(&others).unwrap();
            assert!(pairs.differ_in_noise());
            let pairs = pairs.with_standard_deviations(&scaled).unwrap();
            assert_same(&solve(&pairs, Scale::one(), &Params::new()).unwrap(), &known);
        }
    }
}

#[test]
fn the_order_of_the_matches_does_not_matter() {
    let simulated = Simulated::new(300, 60, 1, two_decades);
    let known = solve(&simulated.with_deviations(), Scale::one(), &Params::new()).unwrap();
    let order: Vec<usize> = (0..300).map(|i| (i * 7 + 3) % 300).collect();
    let pick = |points: &[[f64; 3]]| -> Vec<[f64; 3]> { order.iter().map(|&i| points[i]).collect() };
    let deviations: Vec<f64> = order.iter().map(|&i| simulated.deviations[i]).collect();
    let pairs = Correspondences::new(&pick(&simulated.source), &pick(&simulated.target)).unwrap();
    let found =
        solve(&pairs.with_standard_deviations(&deviations).unwrap(), Scale::one(), &Params::new()).unwrap();
    let mut inliers: Vec<usize> = found.inliers.iter().map(|&i| order[i]).collect();
    inliers.sort_unstable();
    assert_eq!(inliers, known.inliers);
    assert!((found.threshold / known.threshold - 1.0).abs() < 1e-9);
}

#[test]
fn bad_deviations_are_named() {
    let simulated = two_kinds(30, 1);
    let with = |deviations: &[f64]| simulated.plain().with_standard_deviations(deviations).map(|_| ());
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0, -1.0] {
        let mut deviations = vec![0.01; 30];
        deviations[7] = bad;
        let error = with(&deviations).unwrap_err();
        assert!(matches!(error, Error::BadStandardDeviation { index: 7, .. }), "{error:?}");
        let text = format!(
            "the standard deviation of match 7 (counted from 0) is {bad}: give a finite number above 0, or remove the match"
        );
        assert_eq!(error.to_string(), text);
    }
    for found in [0, 29, 31] {
        let error = with(&vec![1.0; found]).unwrap_err();
        assert_eq!(error, Error::StandardDeviationCount { found, matches: 30 });
        assert_eq!(
            error.to_string(),
            format!("{found} standard deviations for 30 matches: give one for each match")
        );
    }
}

#[test]
fn the_papers_method_takes_none() {
    let simulated = two_kinds(30, 1);
    let params = paper::Params::new(0.1).unwrap();
    let refused = paper::solve(&simulated.with_deviations(), Scale::one(), &params);
    assert_eq!(refused.unwrap_err(), Error::StandardDeviationsWithPaper);
    let equal = simulated.plain().with_standard_deviations(&[2.0; 30]).unwrap();
    assert!(paper::solve(&equal, Scale::one(), &params).is_ok());
}

/// Ratios far beyond what any sensor has are taken as 1000 and 1/1000. All numbers stay finite.
#[test]
fn extreme_ratios_are_bounded() {
    for (few, many) in
        [(1e-12, 1.0), (1e12, 1.0), (f64::MIN_POSITIVE, f64::MAX), (5e-324, 1e-300), (f64::MAX, 1e-300)]
    {
        for every in [2, 3, 20] {
            for seed in 0..2 {
                let simulated = two_kinds(200, seed);
                let deviations: Vec<f64> =
                    (0..200).map(|i| if i % every == 0 { few } else { many }).collect();
                let pairs = simulated.plain().with_standard_deviations(&deviations).unwrap();
                for params in [Params::new(), Params::new().with_threshold(0.1).unwrap()] {
                    for scale in [Scale::one(), Scale::Unknown] {
                        let found = solve(&pairs, scale, &params).unwrap();
                        let evidence = found.evidence.unwrap();
                        assert!(
                            evidence.log10_nfa.is_finite() && evidence.rotation_deviation_deg.is_finite()
                        );
                        assert!(found.threshold.is_finite() && found.inlier_rmse.unwrap().is_finite());
                        let model = found.target_from_source.unwrap();
                        assert!(
                            model.translation().iter().all(|x| x.is_finite()) && model.scale().is_finite()
                        );
                        let right = simulated.error(&found) < 0.3;
                        assert!(
                            right || !found.is_registered(),
                            "{few} {many} {every} {seed}: {}",
                            found.reason()
                        );
                    }
                }
            }
        }
    }
}

/// Matches without any noise agree to rounding, whatever their standard deviations say.
#[test]
fn exact_matches_are_all_inliers() {
    for decades in [2.0, 5.0] {
        let exact = Simulated::new(200, 100, 3, |_, _| 0.0);
        let mut random = Random::new(5);
        let deviations: Vec<f64> = (0..200).map(|_| 10_f64.powf(decades * random.uniform())).collect();
        let pairs = exact.plain().with_standard_deviations(&deviations).unwrap();
        let found = solve(&pairs, Scale::one(), &Params::new()).unwrap();
        assert!(found.is_registered(), "{}", found.reason());
        assert_eq!(exact.right_inliers(&found), 100);
        assert!(exact.error(&found) < 1e-12);
    }
}

/// The inliers, the threshold and the residual of an answer fit together: a match is an inlier when its residual is at most its share of the threshold.
#[test]
fn inliers_are_within_their_own_thresholds() {
    let simulated = Simulated::new(500, 100, 4, two_decades);
    let pairs = simulated.with_deviations();
    for params in [Params::new(), Params::new().with_threshold(0.05).unwrap()] {
        let found = solve(&pairs, Scale::one(), &params).unwrap();
        let model = found.target_from_source.unwrap();
        let residual = |i: usize| {
            let (p, q) = (model.apply(simulated.source[i]), simulated.target[i]);
            (0..3).map(|axis| (p[axis] - q[axis]).powi(2)).sum::<f64>().sqrt()
        };
        let lower_median = {
            let mut sorted = simulated.deviations.clone();
            sorted.sort_by(f64::total_cmp);
            sorted[249]
        };
        let limit = |i: usize| found.threshold * simulated.deviations[i] / lower_median;
        let within: Vec<usize> = (0..500).filter(|&i| residual(i) <= limit(i)).collect();
        assert_eq!(within, found.inliers);
        let sum: f64 = found.inliers.iter().map(|&i| residual(i).powi(2)).sum();
        let rmse = (sum / found.inliers.len() as f64).sqrt();
        assert!(
            (found.inlier_rmse.unwrap() / rmse - 1.0).abs() < 1e-9,
            "in target units, not relative to the noise"
        );
        let judged = assess(&pairs, &model, Positive::new("threshold", found.threshold).unwrap());
        assert_eq!((judged.status, judged.inliers), (Status::Registered, within));
    }
}

/// Nothing is registered by chance, however the noise differs.
fn assert_never_registered(n: usize, problems: u64, params: &Params, kind: fn(usize, &mut Random) -> f64) {
    let mut solver = Solver::new();
    for seed in 0..problems {
        let noise = Simulated::new(n, 0, 1000 + seed, kind);
        let found = solver.solve(&noise.with_deviations(), Scale::one(), params).unwrap();
        assert!(!found.is_registered(), "{n} {seed} {params:?}: {}", found.reason());
    }
}

#[test]
fn pure_noise_is_never_registered() {
    for params in [Params::new(), Params::new().with_threshold(0.05).unwrap()] {
        assert_never_registered(200, 100, &params, two_decades);
        // A few matches that agree with nearly everything, and a few that agree with next to nothing.
        assert_never_registered(200, 50, &params, |i, _| if i % 20 == 0 { 0.3 } else { 0.01 });
        assert_never_registered(200, 50, &params, |i, _| if i % 20 == 0 { 0.0001 } else { 0.01 });
    }
}

#[test]
fn much_pure_noise_is_never_registered() {
    assert_never_registered(1000, 40, &Params::new(), two_decades);
}

#[test]
fn much_pure_noise_is_never_registered_with_a_threshold() {
    assert_never_registered(1000, 40, &Params::new().with_threshold(0.05).unwrap(), two_decades);
}

/// The standard deviation of the rotation says how far off the rotation is, as well as it does with equal noise.
#[test]
fn the_rotation_is_as_uncertain_as_stated() {
    let mut solver = Solver::new();
    let mut ratio = |kind: fn(usize, &mut Random) -> f64, with: bool| {
        let mut squares = Vec::new();
        for seed in 0..200 {
            let simulated = Simulated::new(120, 60, seed, kind);
            let pairs = if with { simulated.with_deviations() } else { simulated.plain() };
            let found = solver.solve(&pairs, Scale::one(), &Params::new()).unwrap();
            let (model, evidence) = (found.target_from_source.unwrap(), found.evidence.unwrap());
            let (r, t) = (model.rotation(), simulated.truth.rotation());
            // Squared angle between the rotations, of which a third belongs to each axis.
            let difference: f64 =
                r.iter().flatten().zip(t.iter().flatten()).map(|(x, y)| (x - y).powi(2)).sum();
            let degrees = (0.5 * difference).sqrt().to_degrees() / 3.0_f64.sqrt();
            squares.push((degrees / evidence.rotation_deviation_deg).powi(2));
        }
        (squares.iter().sum::<f64>() / squares.len() as f64).sqrt()
    };
    let [equal, differing] = [ratio(|_, _| 0.01, false), ratio(two_decades, true)];
    println!(
        "rotation error over stated deviation: {equal:.2} with equal noise, {differing:.2} with differing noise"
    );
    // The stated deviation is that of the least determined axis, so the error is a little smaller on average.
    assert!((0.8..1.1).contains(&equal) && (0.8..1.1).contains(&differing), "{equal} {differing}");
}
