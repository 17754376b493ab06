//! Strays: matches far outside of the scene change neither the verdict nor the pose.

use pcr99::{Scale, Solver, random::Random};
use pcr99_lab::trust::{
    displacement,
    inlier_noise::Kind,
    strays::{FarPoints, added},
};

use crate::lab::{Failure, Lab, Row, checked, describe, params, solve, threshold_name};

const NOISE: f64 = 0.01;
const MATCHES: usize = 1000;
/// Right matches of the problems that strays are added to; seeds that follow each other go through them.
const RIGHT: [usize; 4] = [500, 100, 30, 0];
/// Largest change of the pose, in its standard deviations.
const LARGEST_CHANGE: f64 = 0.1;

pub(crate) fn measure(lab: &mut Lab) {
    for is_given in [true, false] {
        for far in FarPoints::ALL {
            for times_farther in [50.0, 1000.0] {
                let suffix = threshold_name(is_given);
                let what = format!("{} {times_farther} times farther, {suffix}", far.name());
                lab.row(&what, |lab| {
                    let seeds = lab.seeds(50);
                    let failures = lab.each(&seeds, |solver, &seed| {
                        one_problem(solver, far, times_farther, is_given, seed)
                    });
                    let failures: Vec<Failure> = failures.into_iter().flatten().collect();
                    Row::count(failures, seeds.len(), "change verdict or pose", 0)
                });
            }
        }
    }
}

fn one_problem(
    solver: &mut Solver,
    far: FarPoints,
    times_farther: f64,
    is_given: bool,
    seed: u64,
) -> Option<Failure> {
    let right = RIGHT[(seed % 4) as usize];
    let (scale, freedoms) =
        if (seed / 4).is_multiple_of(2) { (Scale::one(), 6.0) } else { (Scale::Unknown, 7.0) };
    let problem = Kind::Gaussian.problem(NOISE, MATCHES, right, seed);
    let count = (MATCHES as f64 * (0.05 + 0.35 * Random::new(seed).uniform())) as usize;
    let params = params(is_given.then_some(5.0 * NOISE));
    let without = solve(solver, &checked(&problem.matches), scale, &params);
    let strayed = added(&problem.matches, count, far, times_farther, seed);
    let with = solve(solver, &checked(&strayed), scale, &params);
    let change = match (without.target_from_source, with.target_from_source) {
        (Some(one), Some(other)) if without.is_registered() && with.is_registered() => {
            let deviation = NOISE * (freedoms / right as f64).sqrt();
            displacement(&one, &other, &problem.inlier_sources()) / deviation
        }
        _ => 0.0,
    };
    let fails = without.is_registered() != with.is_registered() || change > LARGEST_CHANGE;
    fails.then(|| Failure {
        name: seed.to_string(),
        detail: format!(
            "{right} right, {count} strays, {scale:?}: {change:.2} standard deviations; without: {}; with: {}",
            describe(&without),
            describe(&with)
        ),
    })
}
