//! The default method: what it finds, how it judges it, and what must not affect the result.

mod common;

use std::time::Duration;

use common::{Problem, distance, problem, similarity};
use pcr99::{
    Correspondences, Doubt, Params, Registration, Scale, Similarity, Solver, Status, StopReason,
    random::Random,
    solve,
    stop::{self, StopRequest},
};

fn pairs(p: &Problem) -> Correspondences {
    Correspondences::new(&p.source, &p.target).unwrap()
}

fn with_threshold(threshold: f64) -> Params {
    Params::new().with_threshold(threshold).unwrap()
}

/// Asserts that an answer is right, or not registered.
fn assert_right_or_not_registered(
    found: &Registration,
    truth: &Similarity,
    points: &[[f64; 3]],
    tolerance: f64,
    what: &str,
) {
    let right = found.target_from_source.is_some_and(|model| distance(&model, truth, points) < tolerance);
    assert!(
        right || !found.is_registered(),
        "{what}: wrong and registered, {:?} {}",
        found.evidence,
        found.inliers.len()
    );
}

#[test]
fn finds_one_right_match_in_fifty() {
    let mut solver = Solver::new();
    for seed in 0..10 {
        for (scale, s) in [(Scale::one(), 1.0), (Scale::Unknown, 2.7)] {
            let p = problem(1000, 20, s, seed);
            for params in [with_threshold(0.05), Params::new()] {
                let found = solver.solve(&pairs(&p), scale, &params).unwrap();
                assert_eq!(found.status, Status::Registered, "{seed} {s} {params:?} {found:?}");
                assert!(distance(&found.target_from_source.unwrap(), &p.truth, &p.source) < 0.1);
                let right = p.inliers.iter().filter(|i| found.inliers.contains(i)).count();
                assert!(right >= 19 && found.inliers.len() <= 23, "{right} of {}", found.inliers.len());
                let evidence = found.evidence.unwrap();
                assert!(evidence.log10_nfa < -10.0 && evidence.inlier_places >= 10);
                assert_eq!(found.candidates[0].target_from_source, found.target_from_source.unwrap());
            }
        }
    }
}

/// An estimated threshold is five standard deviations of the noise of 0.01.
#[test]
fn the_threshold_found_is_that_of_the_noise() {
    for s in [1.0, 5.0] {
        let p = problem(600, 200, s, 4);
        let found = solve(&pairs(&p), Scale::Unknown, &Params::new()).unwrap();
        assert!((0.04..0.06).contains(&found.threshold), "{}", found.threshold);
        assert!((0.014..0.02).contains(&found.inlier_rmse.unwrap()), "{:?}", found.inlier_rmse);
    }
}

#[test]
fn noise_is_not_registered() {
    let mut solver = Solver::new();
    for seed in 0..30 {
        let p = problem(250, 0, 1.0, 100 + seed);
        for scale in [Scale::one(), Scale::Unknown] {
            for params in [with_threshold(0.05), Params::new()] {
                let found = solver.solve(&pairs(&p), scale, &params).unwrap();
                assert_ne!(found.status, Status::Registered, "{seed} {:?}", found.evidence);
                assert!(found.evidence.is_none_or(|evidence| evidence.log10_nfa.is_finite()));
            }
        }
    }
}

/// Where there is nothing to find, the effort bounds the search, and the stop reason says so. Otherwise the result is the same.
#[test]
fn effort_bounds_what_is_tried() {
    assert!(Params::new().with_effort(0).is_err());
    let noise = problem(400, 0, 1.0, 7);
    let little = with_threshold(0.2).with_effort(50).unwrap();
    let found = solve(&pairs(&noise), Scale::one(), &little).unwrap();
    let unbounded = solve(&pairs(&noise), Scale::one(), &with_threshold(0.2)).unwrap();
    assert_eq!(found.stopped_because, StopReason::HypothesisLimit);
    assert!(10 * found.counters.hypotheses < unbounded.counters.hypotheses, "{:?}", unbounded.counters);
    let easy = problem(400, 200, 1.0, 7);
    let found = solve(&pairs(&easy), Scale::one(), &with_threshold(0.05).with_effort(50).unwrap()).unwrap();
    let same = solve(&pairs(&easy), Scale::one(), &with_threshold(0.05)).unwrap();
    assert_eq!(found.target_from_source, same.target_from_source);
    assert_eq!(found.stopped_because, StopReason::Confident);
}

/// An effort above the default tries more pairs.
#[test]
fn effort_beyond_the_default_is_used() {
    let noise = problem(700, 0, 1.0, 7);
    let run = |params: Params| {
        let found = solve(&pairs(&noise), Scale::one(), &params).unwrap();
        (found.stopped_because, found.counters.hypotheses)
    };
    let (by_default, more) =
        (run(with_threshold(0.2)), run(with_threshold(0.2).with_effort(300_000).unwrap()));
    assert_eq!((by_default.0, more.0), (StopReason::HypothesisLimit, StopReason::Exhausted));
    assert!(more.1 > by_default.1 + 10_000, "{by_default:?} {more:?}");
}

/// Four to twenty clean matches are registered. Three give a transform that nothing confirms.
#[test]
fn few_matches() {
    for n in 3..=20 {
        for (scale, s) in [(Scale::one(), 1.0), (Scale::Unknown, 3.0)] {
            let p = problem(n, n, s, n as u64);
            for params in [with_threshold(0.05), Params::new()] {
                let found = solve(&pairs(&p), scale, &params).unwrap();
                let model =
                    found.target_from_source.unwrap_or_else(|| panic!("{n} {s} {params:?}: {found:?}"));
                if n == 3 {
                    assert_eq!(found.status, Status::NotReliable);
                    assert_eq!(found.doubt, Some(pcr99::Doubt::Chance { log10_nfa: 2_f64.log10() }));
                } else {
                    assert_eq!(found.status, Status::Registered, "{n} {s} {params:?} {found:?}");
                    assert!(distance(&model, &p.truth, &p.source) < 0.1, "{n} {s} {params:?}");
                }
            }
        }
    }
}

/// Data without noise are registered with finite numbers.
#[test]
fn exact_matches() {
    let mut random = Random::new(5);
    let truth = similarity(1.7, &mut random);
    let source: Vec<[f64; 3]> = (0..40).map(|_| std::array::from_fn(|_| random.uniform())).collect();
    let mut target: Vec<[f64; 3]> = source.iter().map(|&p| truth.apply(p)).collect();
    target[10..30].rotate_left(7);
    let exact = Correspondences::new(&source, &target).unwrap();
    for scale in [Scale::Unknown, Scale::known(1.7).unwrap(), Scale::between(1.0, 2.0).unwrap()] {
        for params in [with_threshold(0.01), with_threshold(1e-9), Params::new()] {
            let found = solve(&exact, scale, &params).unwrap();
            assert_eq!(
                (found.status, found.inliers.len()),
                (Status::Registered, 20),
                "{scale:?} {params:?} {found:?}"
            );
            assert!(distance(&found.target_from_source.unwrap(), &truth, &source) < 1e-9);
            assert!(found.evidence.unwrap().log10_nfa.is_finite());
        }
    }
    let outside = solve(&exact, Scale::between(3.0, 4.0).unwrap(), &with_threshold(0.01)).unwrap();
    assert_ne!(outside.status, Status::Registered, "the scale stays in its range");
}

/// 60 % of the matches follow one motion, 20 % another, 20 % neither. Both motions are candidates, the larger first.
#[test]
fn two_motions() {
    for seed in 0..6 {
        let mut p = problem(500, 400, 1.0, seed);
        let second = similarity(1.0, &mut Random::new(1000 + seed));
        let moved: Vec<usize> = p.inliers.iter().copied().step_by(4).collect();
        let mut random = Random::new(seed);
        for &i in &moved {
            p.target[i] = second.apply(p.source[i]).map(|x| x + 0.01 * random.gaussian());
        }
        for (scale, params) in [
            (Scale::one(), with_threshold(0.05)),
            (Scale::Unknown, with_threshold(0.05)),
            (Scale::one(), Params::new()),
        ] {
            let found = solve(&pairs(&p), scale, &params).unwrap();
            let off = |model: &Similarity, k: usize| {
                distance(&found.candidates[k].target_from_source, model, &p.source)
            };
            assert!(found.is_registered() && off(&p.truth, 0) < 0.05, "{seed} {scale:?}");
            assert!(
                found.candidates.len() >= 2 && off(&second, 1) < 0.1,
                "{seed} {scale:?} {params:?} {:?}",
                found.candidates
            );
        }
    }
}

/// 30 % of the matches form one tight cluster that agrees with itself and with nothing else.
#[test]
fn a_tight_wrong_cluster_is_no_proof() {
    for seed in 0..6 {
        for right in [0, 50] {
            let mut p = problem(400, right, 1.0, seed);
            let wrong = similarity(1.0, &mut Random::new(99 + seed));
            let mut random = Random::new(seed);
            for i in (0..400).filter(|i| p.inliers.binary_search(i).is_err()).take(120) {
                p.source[i] = std::array::from_fn(|_| 0.1 + 0.07 * random.uniform());
                p.target[i] = wrong.apply(p.source[i]).map(|x| x + 0.01 * random.gaussian());
            }
            for (scale, params) in [
                (Scale::one(), with_threshold(0.05)),
                (Scale::Unknown, with_threshold(0.05)),
                (Scale::one(), Params::new()),
            ] {
                let found = solve(&pairs(&p), scale, &params).unwrap();
                assert_right_or_not_registered(
                    &found,
                    &p.truth,
                    &p.source,
                    0.2,
                    &format!("{seed} {right} {scale:?} {params:?}"),
                );
            }
        }
    }
}

/// Degenerate shapes give right answers or none that are registered.
#[test]
fn flat_thin_and_round_shapes() {
    type Shape = fn([f64; 3]) -> [f64; 3];
    let shapes: [(&str, Shape); 4] = [
        ("plane", |[x, y, _]| [x, y, 0.0]),
        ("nearly a plane", |[x, y, z]| [x, y, 0.003 * z]),
        ("cylinder", |[x, y, _]| [0.3 * (6.3 * x).cos(), 0.3 * (6.3 * x).sin(), y]),
        ("rod", |[x, y, z]| [x, 0.05 * y, 0.05 * z]),
    ];
    for (name, shape) in shapes {
        for seed in 0..4 {
            let mut p = problem(300, 60, 1.0, seed);
            let mut random = Random::new(seed);
            p.source.iter_mut().for_each(|point| *point = shape(*point));
            for i in 0..300 {
                let from = if p.inliers.binary_search(&i).is_ok() { i } else { random.below(300) };
                p.target[i] = p.truth.apply(p.source[from]).map(|x| x + 0.01 * random.gaussian());
            }
            for scale in [Scale::one(), Scale::Unknown] {
                let found = solve(&pairs(&p), scale, &with_threshold(0.05)).unwrap();
                // Rotating a rod about its axis moves its points by no more than its thickness.
                assert_right_or_not_registered(
                    &found,
                    &p.truth,
                    &p.source,
                    0.15,
                    &format!("{name} {seed} {scale:?}"),
                );
                if name == "plane" || name == "cylinder" {
                    assert!(found.is_registered(), "{name} {seed} {scale:?} {:?}", found.evidence);
                }
            }
        }
    }
}

#[test]
fn duplicated_and_many_to_one_matches() {
    for seed in 0..4 {
        let mut p = problem(300, 40, 1.0, seed);
        let wrong: Vec<usize> = (0..300).filter(|i| p.inliers.binary_search(i).is_err()).collect();
        // A hundred copies of one wrong match, and a hundred matches with one common target.
        for &i in &wrong[1..100] {
            (p.source[i], p.target[i]) = (p.source[wrong[0]], p.target[wrong[0]]);
        }
        for &i in &wrong[100..200] {
            p.target[i] = p.target[wrong[100]];
        }
        for scale in [Scale::one(), Scale::Unknown] {
            let found = solve(&pairs(&p), scale, &with_threshold(0.05)).unwrap();
            assert!(
                found.is_registered()
                    && distance(&found.target_from_source.unwrap(), &p.truth, &p.source) < 0.1,
                "{seed} {scale:?}"
            );
        }
    }
}

/// The same input gives the same bits for any number of threads. The problem is large enough that threads are used.
#[test]
fn threads_do_not_matter() {
    let p = problem(3000, 45, 1.0, 7);
    for scale in [Scale::one(), Scale::Unknown] {
        let bits = |threads: usize| {
            let mut found = solve(&pairs(&p), scale, &with_threshold(0.05).with_threads(threads)).unwrap();
            found.seconds = pcr99::Seconds::default();
            found
        };
        let one = bits(1);
        assert!(one.is_registered());
        for threads in [0, 2, 3, 8] {
            assert_eq!(one, bits(threads), "{threads} threads");
        }
    }
}

#[test]
fn a_used_solver_is_as_good_as_new() {
    let mut used = Solver::new();
    for (n, right, seed) in [(900, 20, 1), (40, 20, 2), (500, 10, 3), (12, 12, 4), (2500, 100, 5)] {
        let p = problem(n, right, 1.0, seed);
        for scale in [Scale::Unknown, Scale::one()] {
            let mut again = used.solve(&pairs(&p), scale, &with_threshold(0.05)).unwrap();
            let fresh = solve(&pairs(&p), scale, &with_threshold(0.05)).unwrap();
            again.seconds = fresh.seconds.clone();
            assert_eq!(again, fresh);
        }
    }
}

/// With little memory, the search uses subsets and allocates nothing of size n².
#[test]
fn little_memory_is_enough() {
    let p = problem(20_000, 1000, 1.0, 3);
    for scale in [Scale::one(), Scale::Unknown] {
        let params = with_threshold(0.05).with_memory_budget(16 << 20);
        let found = solve(&pairs(&p), scale, &params).unwrap();
        assert!(found.is_registered() && found.inliers.len() >= 990, "{}", found.inliers.len());
        assert!(distance(&found.target_from_source.unwrap(), &p.truth, &p.source) < 0.01);
        assert_eq!(found.stopped_because, StopReason::Confident);
    }
}

#[test]
fn the_caller_can_stop_at_any_time() {
    let p = problem(800, 0, 1.0, 9);
    for params in [with_threshold(0.05), Params::new()] {
        let at_once = Solver::new()
            .solve_until(&pairs(&p), Scale::Unknown, &params, &stop::after(Duration::ZERO))
            .unwrap();
        assert_eq!((at_once.stopped_because, at_once.is_registered()), (StopReason::TimeLimit, false));
        let asked = std::cell::Cell::new(0);
        let later = || {
            asked.set(asked.get() + 1);
            (asked.get() > 40).then_some(StopRequest::Interrupted)
        };
        let found = Solver::new().solve_until(&pairs(&p), Scale::Unknown, &params, &later).unwrap();
        assert_eq!((found.stopped_because, found.is_registered()), (StopReason::Interrupted, false));
    }
}

/// An answer that was found, but whose rivals were not looked for, is not registered. Two motions of similar size are never registered, whenever the search is
/// ended.
#[test]
fn an_answer_without_a_search_for_rivals_is_unfinished() {
    let ended_after = |p: &Problem, checks: u32| {
        let asked = std::cell::Cell::new(0);
        let stop = || {
            asked.set(asked.get() + 1);
            (asked.get() > checks).then_some(StopRequest::TimeLimit)
        };
        Solver::new().solve_until(&pairs(p), Scale::Unknown, &with_threshold(0.05), &stop).unwrap()
    };
    let one = problem(1000, 12, 1.0, 4);
    let results: Vec<Registration> = (0..400).step_by(5).map(|checks| ended_after(&one, checks)).collect();
    let unfinished =
        |found: &&Registration| found.doubt == Some(Doubt::Unfinished { because: StopReason::TimeLimit });
    let found = results.iter().find(unfinished).expect("found before it was certain");
    assert!(distance(&found.target_from_source.unwrap(), &one.truth, &one.source) < 0.02);
    assert!(found.reason().contains("allow more time"), "{}", found.reason());

    let mut two = problem(1000, 300, 1.0, 6);
    let other = similarity(1.0, &mut Random::new(8));
    let wrong: Vec<usize> = (0..1000).filter(|i| !two.inliers.contains(i)).take(250).collect();
    for i in wrong {
        two.target[i] = other.apply(two.source[i]);
    }
    for checks in 0..60 {
        let found = ended_after(&two, checks);
        assert!(!found.is_registered(), "{checks}: {}", found.reason());
    }
}

/// Whenever the caller ends the search, that is what the result says, and where the caller does not, the result is that of a search without a limit.
#[test]
fn a_search_that_was_ended_says_so() {
    let easy = problem(300, 60, 1.0, 5);
    let hard = problem(400, 10, 1.0, 7);
    // Repeated rows are left out in a second search.
    let mut repeated = problem(300, 0, 1.0, 9);
    for i in 0..300 {
        (repeated.source[i], repeated.target[i]) = (repeated.source[i % 60], repeated.target[i % 60]);
    }
    for (p, scale) in [
        (&easy, Scale::one()),
        (&easy, Scale::Unknown),
        (&hard, Scale::one()),
        (&hard, Scale::Unknown),
        (&repeated, Scale::one()),
    ] {
        for params in [with_threshold(0.05), Params::new()] {
            let full = solve(&pairs(p), scale, &params).unwrap();
            let mut checks = 0;
            loop {
                let (asked, is_ended) = (std::cell::Cell::new(0), std::cell::Cell::new(false));
                let stop = || {
                    asked.set(asked.get() + 1);
                    let request = (asked.get() > checks).then_some(StopRequest::TimeLimit);
                    is_ended.set(is_ended.get() | request.is_some());
                    request
                };
                let found = Solver::new().solve_until(&pairs(p), scale, &params, &stop).unwrap();
                if is_ended.get() {
                    assert_eq!(found.stopped_because, StopReason::TimeLimit, "{checks}");
                } else {
                    assert_eq!((found.stopped_because, found.doubt), (full.stopped_because, full.doubt));
                    assert_eq!(found.inliers, full.inliers);
                    break;
                }
                checks += 1 + checks / 2;
            }
        }
    }
}

/// A rival is found however few candidates the caller wants.
#[test]
fn one_candidate_does_not_hide_a_rival() {
    let mut two = problem(600, 120, 1.0, 16);
    let other = similarity(1.0, &mut Random::new(18));
    let wrong: Vec<usize> = (0..600).filter(|i| !two.inliers.contains(i)).take(105).collect();
    for i in wrong {
        two.target[i] = other.apply(two.source[i]);
    }
    for params in [Params::new(), with_threshold(0.05)] {
        let found = solve(&pairs(&two), Scale::one(), &params.with_candidates(1).unwrap()).unwrap();
        assert!(!found.is_registered() && found.rival.is_some(), "{}", found.reason());
        assert_eq!(found.candidates.len(), 1);
    }
}

/// A patch of neighbouring matches that are wrong in the same way is no evidence, and neither are the scattered matches that agree with it by chance.
#[test]
fn a_wrong_patch_among_scattered_matches_is_not_registered() {
    for seed in 0..40 {
        let mut noise = problem(500, 0, 1.0, 500 + seed);
        let mut random = Random::new(seed);
        for i in 1..20 {
            for axis in 0..3 {
                noise.source[i][axis] = noise.source[0][axis] + 0.03 * random.gaussian();
                noise.target[i][axis] = noise.target[0][axis] + 0.03 * random.gaussian();
            }
        }
        let found = solve(&pairs(&noise), Scale::one(), &Params::new()).unwrap();
        assert!(!found.is_registered(), "{seed}: {}", found.reason());
    }
}

/// Good weights put right matches first, so fewer pairs are needed.
#[test]
fn weights_order_the_search() {
    let p = problem(1000, 15, 1.0, 2);
    let good: Vec<f64> =
        (0..1000).map(|i| f64::from(u8::from(p.inliers.binary_search(&i).is_ok()))).collect();
    let plain = solve(&pairs(&p), Scale::Unknown, &with_threshold(0.05)).unwrap();
    let helped =
        solve(&pairs(&p).with_weights(&good).unwrap(), Scale::Unknown, &with_threshold(0.05)).unwrap();
    assert_eq!(plain.inliers, helped.inliers);
    assert!(
        pairs(&p).with_weights(&good[1..]).is_err() && pairs(&p).with_weights(&[f64::NAN; 1000]).is_err()
    );
    assert!(
        helped.counters.hypotheses <= plain.counters.hypotheses,
        "{:?} {:?}",
        helped.counters,
        plain.counters
    );
}

#[test]
fn units_and_offsets_do_not_matter() {
    let p = problem(400, 30, 1.0, 6);
    let before = solve(&pairs(&p), Scale::Unknown, &with_threshold(0.05)).unwrap();
    for (unit, offset) in [(1e6, 0.0), (1e-6, 0.0), (1.0, 1e7), (1e-150, 0.0)] {
        let moved = |points: &[[f64; 3]]| -> Vec<[f64; 3]> {
            points.iter().map(|p| p.map(|x| unit * x + offset)).collect()
        };
        let other = Correspondences::new(&moved(&p.source), &moved(&p.target)).unwrap();
        let after = solve(&other, Scale::Unknown, &with_threshold(0.05 * unit)).unwrap();
        assert_eq!((&before.inliers, before.status), (&after.inliers, after.status), "{unit} {offset}");
        let found = solve(&other, Scale::Unknown, &Params::new()).unwrap();
        assert_eq!(found.status, Status::Registered, "{unit} {offset}");
    }
}

/// Duplicates of wrong matches confirm nothing, and neither do duplicates of three right ones.
#[test]
fn copies_of_noise_are_not_registered() {
    for seed in 0..10 {
        for (n, right) in [(20, 0), (50, 0), (3, 3)] {
            let mut p = problem(n, right, 1.0, 500 + seed);
            p.source = p.source.repeat(2);
            p.target = p.target.repeat(2);
            for scale in [Scale::one(), Scale::Unknown] {
                for params in [with_threshold(0.05), Params::new()] {
                    let found = solve(&pairs(&p), scale, &params).unwrap();
                    assert!(
                        !found.is_registered(),
                        "{seed} {n} {scale:?} {params:?} {:?} {}",
                        found.evidence,
                        found.inliers.len()
                    );
                }
            }
        }
    }
}

/// Coordinates on a grid coincide exactly by chance, which is no evidence of a tight fit.
#[test]
fn noise_on_a_grid_is_not_registered() {
    for seed in 0..5 {
        let mut p = problem(300, 0, 1.0, 700 + seed);
        let snap =
            |points: &mut Vec<[f64; 3]>| points.iter_mut().for_each(|p| *p = p.map(|x| (5.0 * x).round()));
        snap(&mut p.source);
        snap(&mut p.target);
        for scale in [Scale::one(), Scale::Unknown] {
            let found = solve(&pairs(&p), scale, &Params::new()).unwrap();
            assert!(!found.is_registered(), "{seed} {scale:?} {:?} {}", found.evidence, found.inliers.len());
        }
    }
}

/// A true scale at the end of its range is found.
#[test]
fn a_scale_at_the_bound_is_found() {
    for seed in 0..6 {
        let p = problem(500, 50, 1.0, seed);
        for (low, high) in [(1.0, 2.0), (0.5, 1.0), (0.999, 1.001)] {
            let found = solve(&pairs(&p), Scale::between(low, high).unwrap(), &with_threshold(0.05)).unwrap();
            let model = found.target_from_source.unwrap();
            assert!(
                found.is_registered() && distance(&model, &p.truth, &p.source) < 0.1,
                "{seed} {low}..{high}"
            );
            assert!((low - 1e-12..=high + 1e-12).contains(&model.scale()), "{}", model.scale());
        }
    }
}

/// Weights that favour the smaller of two motions do not hide the larger.
#[test]
fn misleading_weights_do_not_hide_the_larger_motion() {
    let mut p = problem(1000, 800, 1.0, 3);
    let second = similarity(1.0, &mut Random::new(77));
    let mut random = Random::new(5);
    let mut weights = vec![0.5; 1000];
    for (k, &i) in p.inliers.iter().enumerate() {
        weights[i] = 0.1;
        if k % 4 == 0 {
            weights[i] = 0.9;
            p.target[i] = second.apply(p.source[i]).map(|x| x + 0.01 * random.gaussian());
        }
    }
    let found =
        solve(&pairs(&p).with_weights(&weights).unwrap(), Scale::one(), &with_threshold(0.05)).unwrap();
    assert!(
        found.is_registered() && distance(&found.target_from_source.unwrap(), &p.truth, &p.source) < 0.05
    );
    assert!(found.candidates.len() >= 2);
}

/// A scanner sees most points near itself, with density ∝ 1/r². A transform with a free scale can shrink all sources into that region and
/// meet many targets by chance.
#[test]
fn noise_that_is_denser_in_the_middle_is_not_registered() {
    let mut solver = Solver::new();
    for seed in 0..10 {
        let mut random = Random::new(seed);
        let mut place = || -> [f64; 3] {
            let direction: [f64; 3] = std::array::from_fn(|_| random.gaussian());
            let length = direction.iter().map(|x| x * x).sum::<f64>().sqrt();
            let radius = 20.0 * random.uniform();
            direction.map(|x| radius * x / length)
        };
        let source: Vec<[f64; 3]> = (0..300).map(|_| place()).collect();
        let target: Vec<[f64; 3]> = (0..300).map(|_| place()).collect();
        let pairs = Correspondences::new(&source, &target).unwrap();
        for scale in [Scale::one(), Scale::Unknown] {
            for threshold in [0.5, 2.0] {
                let found = solver.solve(&pairs, scale, &with_threshold(threshold)).unwrap();
                assert!(!found.is_registered(), "{seed} {scale:?} {threshold} {:?}", found.evidence);
            }
        }
    }
}

/// Matches along a rod do not determine the rotation about it: the transform is returned but not registered.
#[test]
fn the_rotation_about_a_rod_is_doubted() {
    for seed in 0..10 {
        let mut random = Random::new(seed);
        let truth = similarity(1.0, &mut random);
        let source: Vec<[f64; 3]> = (0..200)
            .map(|_| [5.0 * random.uniform(), 0.004 * random.gaussian(), 0.004 * random.gaussian()])
            .collect();
        let target: Vec<[f64; 3]> =
            source.iter().map(|&p| truth.apply(p).map(|x| x + 0.01 * random.gaussian())).collect();
        let pairs = Correspondences::new(&source, &target).unwrap();
        let found = solve(&pairs, Scale::one(), &with_threshold(0.05)).unwrap();
        let evidence = found.evidence.unwrap();
        assert_eq!(found.status, Status::NotReliable, "{seed}: {evidence:?}");
        assert!(evidence.rotation_deviation_deg > 2.5, "{seed}: {evidence:?}");
        // A thicker rod determines its rotation.
        let thick: Vec<[f64; 3]> = source.iter().map(|p| [p[0], 50.0 * p[1], 50.0 * p[2]]).collect();
        let target: Vec<[f64; 3]> =
            thick.iter().map(|&p| truth.apply(p).map(|x| x + 0.01 * random.gaussian())).collect();
        let pairs = Correspondences::new(&thick, &target).unwrap();
        assert!(solve(&pairs, Scale::one(), &with_threshold(0.05)).unwrap().is_registered());
    }
}

/// The tightest part of a noisy consensus is not taken for all of it. A tight cluster stays one place even with a small threshold, and the
/// threshold follows the noise.
#[test]
fn the_threshold_found_is_not_too_small() {
    for seed in 0..5 {
        let mut random = Random::new(seed);
        let truth = similarity(1.0, &mut random);
        let mut place = |size: f64| -> [f64; 3] { std::array::from_fn(|_| size * random.uniform()) };
        let source: Vec<[f64; 3]> = (0..400).map(|i| place(if i < 120 { 0.07 } else { 1.0 })).collect();
        let mut target: Vec<[f64; 3]> = (0..400).map(|_| truth.apply(place(1.5))).collect();
        let mut random = Random::new(seed + 100);
        for i in 0..120 {
            target[i] = truth.apply(source[i]).map(|x| x + 0.01 * random.gaussian());
        }
        let pairs = Correspondences::new(&source, &target).unwrap();
        let found = solve(&pairs, Scale::one(), &Params::new()).unwrap();
        assert!(!found.is_registered(), "{seed}: {:?} {}", found.evidence, found.threshold);
    }
    for noise in [0.002, 0.05] {
        let mut p = problem(1000, 0, 1.0, 3);
        let mut random = Random::new(9);
        for i in 0..500 {
            p.target[i] = p.truth.apply(p.source[i]).map(|x| x + noise * random.gaussian());
        }
        let found = solve(&pairs(&p), Scale::one(), &Params::new()).unwrap();
        assert!((3.0..7.0).contains(&(found.threshold / noise)), "{noise}: {}", found.threshold);
    }
}

/// Points on a curve coincide by chance far more often than points in space.
#[test]
fn noise_on_a_curve_is_not_registered() {
    let mut solver = Solver::new();
    for seed in 0..8 {
        let mut random = Random::new(seed);
        let mut place = || -> [f64; 3] {
            let t = std::f64::consts::TAU * random.uniform();
            [t.cos(), t.sin(), 0.5 * (2.0 * t).sin()]
        };
        let source: Vec<[f64; 3]> = (0..200).map(|_| place()).collect();
        let target: Vec<[f64; 3]> = (0..200).map(|_| place()).collect();
        let pairs = Correspondences::new(&source, &target).unwrap();
        for params in [with_threshold(0.3), Params::new()] {
            let found = solver.solve(&pairs, Scale::one(), &params).unwrap();
            assert!(!found.is_registered(), "{seed} {params:?} {:?} {}", found.evidence, found.inliers.len());
        }
    }
}

/// Half of the matches follow one motion, half another. The answer is one of them and names the other as its rival.
#[test]
fn a_rival_is_named() {
    let mut p = problem(600, 0, 1.0, 5);
    let second = similarity(1.0, &mut Random::new(77));
    let mut random = Random::new(6);
    for i in 0..500 {
        let motion = if i % 2 == 0 { &p.truth } else { &second };
        p.target[i] = motion.apply(p.source[i]).map(|x| x + 0.01 * random.gaussian());
    }
    let found = solve(&pairs(&p), Scale::one(), &with_threshold(0.05)).unwrap();
    let evidence = found.evidence.unwrap();
    let evidence_ratio = evidence.rival_evidence_ratio;
    assert!(evidence_ratio > 0.8, "{evidence:?}");
    assert_eq!(found.doubt, Some(pcr99::Doubt::Ambiguous { evidence_ratio }));
    // The rival is the other motion, with its evidence.
    let rival = found.rival.unwrap();
    assert_eq!(rival.evidence_ratio, evidence_ratio);
    let answer = found.target_from_source.unwrap();
    let other = if distance(&answer, &second, &p.source) < 0.1 { &p.truth } else { &second };
    assert!(distance(&rival.target_from_source, other, &p.source) < 0.1);
    assert!(rival.inlier_count > 200 && rival.evidence.inlier_places > 10, "{rival:?}");
    // The ratio is that of the inliers beyond chance, which is close to that of the inliers.
    let inliers = rival.inlier_count as f64 / found.inliers.len() as f64;
    assert!((inliers / evidence_ratio - 1.0).abs() < 0.05, "{inliers} {evidence_ratio}");
    let percent = format!("another transform has {:.0} % of the evidence", 100.0 * evidence_ratio);
    assert!(found.reason().contains(&percent), "{}", found.reason());
}

/// A threshold far beyond the extent of the targets is reduced to a useful one.
#[test]
fn an_enormous_threshold_does_no_harm() {
    let p = problem(500, 250, 1.0, 2);
    for threshold in [1.0, 50.0] {
        let found = solve(&pairs(&p), Scale::one(), &with_threshold(threshold)).unwrap();
        assert_right_or_not_registered(&found, &p.truth, &p.source, 0.15, &format!("{threshold}"));
        assert!(found.threshold < 0.5, "{}", found.threshold);
    }
}
