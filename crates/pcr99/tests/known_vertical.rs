//! A known vertical: what it gains, and what it promises.

use pcr99::{
    Correspondences, Doubt, Params, Registration, Scale, Similarity, Vertical, covariance, random::Random,
    solve,
};
use pcr99_base::vector::{multiply, rotate, transpose};

/// A problem of wrong matches with a few right ones, whose truth turns about the vertical.
struct Problem {
    source: Vec<[f64; 3]>,
    target: Vec<[f64; 3]>,
    truth: Similarity,
    vertical: Vertical,
}

struct Recipe {
    matches: usize,
    right: usize,
    noise: f64,
    scale: f64,
    /// Angle between the verticals in degrees.
    tilt: f64,
}

fn gaussian(random: &mut Random) -> [f64; 3] {
    std::array::from_fn(|_| random.gaussian())
}

fn turn_about(axis: [f64; 3], degrees: f64) -> [[f64; 3]; 3] {
    let half = 0.5 * degrees.to_radians();
    let length = axis.iter().map(|x| x * x).sum::<f64>().sqrt();
    let [x, y, z] = axis.map(|x| x / length * half.sin());
    Similarity::from_quaternion(1.0, [half.cos(), x, y, z], [0.0; 3]).unwrap().rotation()
}

/// The protocol of the paper, with a cube of points: right matches have Gaussian noise, and wrong ones are in a ball of the diameter of the cube.
fn problem(recipe: &Recipe, seed: u64) -> Problem {
    let mut random = Random::new(seed);
    let up_source = gaussian(&mut random);
    let up_target = gaussian(&mut random);
    let vertical = Vertical::new(up_source, up_target).unwrap();
    let [from, to] = vertical.uprights();
    let yaw = turn_about([0.0, 0.0, 1.0], 360.0 * random.uniform());
    let side = gaussian(&mut random);
    let tilted = multiply(&turn_about([side[0], side[1], 0.0], recipe.tilt), &yaw);
    let rotation = multiply(&multiply(&transpose(&to), &tilted), &from);
    let shift = gaussian(&mut random);
    let truth = Similarity::new(recipe.scale, rotation, shift).unwrap();
    let source: Vec<[f64; 3]> =
        (0..recipe.matches).map(|_| std::array::from_fn(|_| random.uniform() - 0.5)).collect();
    let mut target: Vec<[f64; 3]> = source
        .iter()
        .map(|a| {
            let b = truth.apply(*a);
            let e = gaussian(&mut random);
            std::array::from_fn(|k| b[k] + recipe.noise * e[k])
        })
        .collect();
    for b in &mut target[recipe.right..] {
        let inside = loop {
            let p: [f64; 3] = std::array::from_fn(|_| 2.0 * random.uniform() - 1.0);
            if p.iter().map(|x| x * x).sum::<f64>() <= 1.0 {
                break p;
            }
        };
        *b = std::array::from_fn(|k| shift[k] + recipe.scale * 0.75_f64.sqrt() * inside[k]);
    }
    Problem { source, target, truth, vertical }
}

impl Problem {
    fn pairs(&self) -> Correspondences {
        Correspondences::new(&self.source, &self.target).unwrap()
    }

    fn is_right(&self, found: &Registration, within: f64) -> bool {
        found.target_from_source.is_some_and(|found| {
            self.source.iter().step_by(40).all(|a| {
                let (p, q) = (found.apply(*a), self.truth.apply(*a));
                (0..3).map(|k| (p[k] - q[k]).powi(2)).sum::<f64>().sqrt() < within * self.truth.scale()
            })
        })
    }
}

/// Right and registered; registered although wrong.
fn count(
    recipe: &Recipe,
    seeds: std::ops::Range<u64>,
    tilt: Option<f64>,
    threshold: Option<f64>,
) -> (usize, usize) {
    let scale = if recipe.scale == 1.0 { Scale::one() } else { Scale::Unknown };
    let mut params = Params::new();
    if let Some(threshold) = threshold {
        params = params.with_threshold(threshold).unwrap();
    }
    let (mut right, mut wrong) = (0, 0);
    for seed in seeds {
        let problem = problem(recipe, seed);
        let mut pairs = problem.pairs();
        if let Some(tilt) = tilt {
            pairs = pairs.with_vertical(problem.vertical.with_tilt(tilt).unwrap());
        }
        let found = solve(&pairs, scale, &params).unwrap();
        if found.is_registered() {
            let is_right = problem.is_right(&found, 0.1);
            right += usize::from(is_right);
            wrong += usize::from(!is_right);
        }
    }
    (right, wrong)
}

/// Five right matches among a thousand: without the vertical chance explains them.
#[test]
fn five_right_matches_of_a_thousand_are_enough() {
    let recipe = Recipe { matches: 1000, right: 5, noise: 0.004, scale: 1.0, tilt: 0.0 };
    let (right, wrong) = count(&recipe, 7000..7030, Some(0.0), Some(0.02));
    assert!(right >= 28 && wrong == 0, "{right} right, {wrong} wrong");
    let (right, _) = count(&recipe, 7000..7010, None, Some(0.02));
    assert!(right == 0, "{right} right without the vertical");
}

#[test]
fn the_threshold_and_the_scale_need_not_be_known() {
    let recipe = Recipe { matches: 500, right: 12, noise: 0.005, scale: 1.0, tilt: 0.0 };
    let (right, wrong) = count(&recipe, 7100..7120, Some(0.0), None);
    assert!(right >= 19 && wrong == 0, "{right} right, {wrong} wrong");
    let recipe = Recipe { scale: 2.5, ..recipe };
    let (right, wrong) = count(&recipe, 7200..7220, Some(0.0), Some(0.06));
    assert!(right >= 19 && wrong == 0, "{right} right, {wrong} wrong");
}

/// Matches that are all wrong are refused, as often as without the vertical.
#[test]
fn wrong_matches_are_refused() {
    for (tilt, scale) in [(0.0, 1.0), (3.0, 1.0), (20.0, 1.0), (0.0, 2.0), (3.0, 2.0)] {
        let recipe = Recipe { matches: 200, right: 0, noise: 0.01, scale, tilt: 0.0 };
        for threshold in [Some(0.05), None] {
            let (right, wrong) = count(&recipe, 7300..7315, Some(tilt), threshold);
            assert!(right + wrong <= 1, "tilt {tilt}, scale {scale}: {wrong} of 15");
        }
    }
}

/// The pose tilts by no more than it may. Verticals that are off by less are no obstacle.
#[test]
fn the_tilt_is_bounded() {
    for (tilt, bound, expected) in [(0.0, 0.0, 19), (1.5, 2.0, 19), (2.0, 2.0, 19), (6.0, 2.0, 0)] {
        let recipe = Recipe { matches: 400, right: 20, noise: 0.004, scale: 1.0, tilt };
        let mut right = 0;
        for seed in 7400..7420 {
            let problem = problem(&recipe, seed);
            let vertical = problem.vertical.with_tilt(bound).unwrap();
            let pairs = problem.pairs().with_vertical(vertical);
            let params = Params::new().with_threshold(0.02).unwrap();
            let found = solve(&pairs, Scale::one(), &params).unwrap();
            for candidate in &found.candidates {
                let tilt = vertical.tilt_of(&candidate.target_from_source.rotation());
                assert!(tilt <= bound * (1.0 + 1e-6) + 1e-9, "{tilt} beyond {bound}");
            }
            right += usize::from(found.is_registered() && problem.is_right(&found, 0.03));
        }
        assert!(
            if expected == 0 { right <= 2 } else { right >= expected },
            "tilt {tilt} of {bound}: {right}"
        );
    }
}

/// The covariance has no tilt where the verticals are exact, and no more than they allow else. Repeated problems have the deviations that it says.
#[test]
fn the_covariance_knows_the_vertical() {
    let recipe = Recipe { matches: 60, right: 50, noise: 0.01, scale: 1.0, tilt: 0.0 };
    let (mut ratio, mut count) = (0.0, 0.0);
    for seed in 7500..7560 {
        let problem = problem(&recipe, seed);
        let pairs = problem.pairs().with_vertical(problem.vertical);
        let found = solve(&pairs, Scale::one(), &Params::new().with_threshold(0.05).unwrap()).unwrap();
        let known = covariance(&pairs, &found, Scale::one()).expect("a covariance");
        let rotation = found.target_from_source.unwrap().rotation();
        let up = problem.vertical.target();
        let length = up.iter().map(|x| x * x).sum::<f64>().sqrt();
        let up = up.map(|x| x / length);
        let about = |axis: [f64; 3]| -> f64 {
            (0..3).map(|i| (0..3).map(|j| axis[i] * known.matrix[i][j] * axis[j]).sum::<f64>()).sum()
        };
        let across = [up[1], -up[0], 0.0];
        assert!(about(across).abs() < 1e-15, "{}", about(across));
        // The error of the turn about the vertical.
        let off = multiply(&problem.truth.rotation(), &transpose(&rotation));
        let error = 0.5
            * (0..3)
                .map(|k| up[k] * (off[(k + 2) % 3][(k + 1) % 3] - off[(k + 1) % 3][(k + 2) % 3]))
                .sum::<f64>();
        ratio += error * error / about(up);
        count += 1.0;

        let loose = problem.vertical.with_tilt(0.1).unwrap();
        let pairs = problem.pairs().with_vertical(loose);
        let found = solve(&pairs, Scale::one(), &Params::new().with_threshold(0.05).unwrap()).unwrap();
        let loose = covariance(&pairs, &found, Scale::one()).expect("a covariance");
        let of_tilt: f64 =
            (0..3).map(|i| (0..3).map(|j| across[i] * loose.matrix[i][j] * across[j]).sum::<f64>()).sum();
        let most = (0.05_f64.to_radians()).powi(2) * across.iter().map(|x| x * x).sum::<f64>();
        assert!(of_tilt > 0.0 && of_tilt <= most * 1.000_001, "{of_tilt} {most}");
    }
    let ratio: f64 = ratio / count;
    assert!((0.5..1.8).contains(&ratio), "{ratio}");
}

/// Exact verticals are mapped onto each other exactly, in any unit and far from the origin.
#[test]
fn exact_verticals_are_mapped_exactly_anywhere() {
    for (unit, offset) in [(1.0, 0.0), (1e-6, 0.0), (1.0, 5e6), (1e4, 4e5)] {
        let recipe = Recipe { matches: 300, right: 60, noise: 0.002, scale: 1.0, tilt: 0.0 };
        let problem = problem(&recipe, 7600);
        let place = |points: &[[f64; 3]]| -> Vec<[f64; 3]> {
            points.iter().map(|p| p.map(|x| offset + unit * x)).collect()
        };
        let pairs = Correspondences::new(&place(&problem.source), &place(&problem.target)).unwrap();
        let found = solve(&pairs.with_vertical(problem.vertical), Scale::one(), &Params::new()).unwrap();
        assert!(found.is_registered(), "{unit} {offset}: {:?}", found.doubt);
        let rotation = found.target_from_source.unwrap().rotation();
        let unit_of = |v: [f64; 3]| {
            let length = v.iter().map(|x| x * x).sum::<f64>().sqrt();
            v.map(|x| x / length)
        };
        let (moved, up) =
            (rotate(&rotation, unit_of(problem.vertical.source())), unit_of(problem.vertical.target()));
        assert!((0..3).all(|k| (moved[k] - up[k]).abs() < 1e-14), "{moved:?} {up:?}");
    }
}

/// Where the z axis is up on both sides, nothing is turned, and the fit of right matches is the same as without, up to the tilt.
#[test]
fn a_vertical_changes_neither_frame_nor_repeats() {
    let recipe = Recipe { matches: 200, right: 100, noise: 0.002, scale: 1.0, tilt: 0.0 };
    let mut problem = problem(&recipe, 7700);
    // A third of the matches twice.
    for k in 0..70 {
        problem.source.push(problem.source[k]);
        problem.target.push(problem.target[k]);
    }
    let params = Params::new().with_threshold(0.01).unwrap();
    let with = solve(&problem.pairs().with_vertical(problem.vertical), Scale::one(), &params).unwrap();
    let without = solve(&problem.pairs(), Scale::one(), &params).unwrap();
    assert!(with.is_registered() && without.is_registered());
    let (p, q) = (with.target_from_source.unwrap(), without.target_from_source.unwrap());
    let a = problem.source[0];
    assert!((0..3).all(|k| (p.apply(a)[k] - q.apply(a)[k]).abs() < 0.004));
    assert!(with.evidence.unwrap().log10_nfa < without.evidence.unwrap().log10_nfa);
}

#[test]
fn other_methods_refuse_a_vertical() {
    let recipe = Recipe { matches: 30, right: 20, noise: 0.002, scale: 1.0, tilt: 0.0 };
    let problem = problem(&recipe, 7800);
    let pairs = problem.pairs().with_vertical(problem.vertical);
    let refused = pcr99::paper::solve(&pairs, Scale::one(), &pcr99::paper::Params::new(0.05).unwrap());
    assert_eq!(refused.unwrap_err(), pcr99::Error::VerticalWithPaper);
}

/// A transform from elsewhere that tilts more than it may is judged as one without a vertical.
#[test]
fn a_tilted_transform_has_no_evidence_from_the_vertical() {
    let recipe = Recipe { matches: 400, right: 7, noise: 0.004, scale: 1.0, tilt: 0.0 };
    let problem = problem(&recipe, 7900);
    let threshold = pcr99::Positive::new("threshold", 0.02).unwrap();
    let judged = |vertical: Vertical| {
        let pairs = problem.pairs().with_vertical(vertical);
        pcr99::assess(&pairs, &problem.truth, threshold).evidence.unwrap().log10_nfa
    };
    let right = judged(problem.vertical);
    let [x, y, z] = problem.vertical.source();
    let other = judged(Vertical::new([x + 1.0, y - 1.0, z + 0.3], problem.vertical.target()).unwrap());
    let without = pcr99::assess(&problem.pairs(), &problem.truth, threshold).evidence.unwrap().log10_nfa;
    assert!(right < without - 2.0 && (other - without).abs() < 0.5, "{right} {other} {without}");
    assert!(!matches!(
        pcr99::assess(&problem.pairs().with_vertical(problem.vertical), &problem.truth, threshold).doubt,
        Some(Doubt::Chance { .. })
    ));
}
