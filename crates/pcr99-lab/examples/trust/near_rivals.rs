//! Near rivals: a second motion that is shifted or turned a little.
//!
//! Either the answer is the larger motion alone, with an error of at most 1.5 times that of the fit on its own matches, or it is not
//! registered and the rival is named. A fit that happens to be nearly perfect counts as having the error that is expected of it.

use pcr99::{Scale, Solver, random::Random};
use pcr99_lab::trust::{
    displacement,
    motions::{Recipe, Second},
};

use crate::lab::{Failure, Lab, Row, checked, describe, params, solve, threshold_name};

/// Standard deviation of the noise; the right threshold is five times as large.
const NOISE: f64 = 0.01;
/// Noise of the smaller group, as a multiple of that of the larger one; the seeds go through them.
const NOISE_RATIOS: [f64; 3] = [1.0, 1.0, 0.1];
/// Largest error of an answer, as a multiple of that of the fit on the larger group.
const LARGEST_ERROR: f64 = 1.5;

/// Result of one problem.
enum Outcome {
    /// The larger motion alone.
    Alone,
    /// Not registered, with the rival named.
    Named,
    Failed(Failure),
}

pub(crate) fn measure(lab: &mut Lab) {
    for is_given in [true, false] {
        let suffix = threshold_name(is_given);
        for thresholds in [1.0, 1.5, 2.0, 2.5, 3.0, 4.0] {
            lab.row(&format!("shifted by {thresholds} thresholds, {suffix}"), |lab| {
                one_row(lab, Second::Shift(5.0 * NOISE * thresholds), is_given)
            });
        }
        for degrees in [5.0, 10.0, 20.0] {
            lab.row(&format!("turned by {degrees}°, {suffix}"), |lab| {
                one_row(lab, Second::Turn(degrees), is_given)
            });
        }
        lab.row(&format!("facade, one period off, {suffix}"), |lab| one_row(lab, Second::Facade, is_given));
    }
}

fn one_row(lab: &Lab, second: Second, is_given: bool) -> Row {
    let outcomes = lab.each(&lab.seeds(50), |solver, &seed| one_problem(solver, second, is_given, seed));
    let all = outcomes.len();
    let alone = outcomes.iter().filter(|outcome| matches!(outcome, Outcome::Alone)).count();
    let named = outcomes.iter().filter(|outcome| matches!(outcome, Outcome::Named)).count();
    let failed = |outcome| if let Outcome::Failed(failure) = outcome { Some(failure) } else { None };
    let failures: Vec<Failure> = outcomes.into_iter().filter_map(failed).collect();
    let row = Row::count(failures, all, "neither", 0);
    Row { measured: format!("{}; {alone} the larger alone, {named} rival named", row.measured), ..row }
}

fn one_problem(solver: &mut Solver, second: Second, is_given: bool, seed: u64) -> Outcome {
    let larger = [60, 100, 200, 400][(seed % 4) as usize];
    let share = 0.3 + 0.65 * Random::new(seed).uniform();
    let groups = [larger, (share * larger as f64).round() as usize];
    let noise = [NOISE, NOISE * NOISE_RATIOS[(seed / 4 % 3) as usize]];
    let problem = Recipe { matches: 1000, groups, noise }.generate(second, seed);
    let pairs = checked(&problem.matches);
    let found = solve(solver, &pairs, Scale::one(), &params(is_given.then_some(5.0 * NOISE)));
    let sources = problem.first_sources();
    let error_of = |answer| displacement(&answer, &problem.motions[0], &sources);
    let fit = pairs.fit(Scale::one(), &problem.groups[0]).expect("many right matches");
    let expected = NOISE * (6.0 / larger as f64).sqrt();
    let own = error_of(fit).max(expected);
    let error = found.target_from_source.map_or(f64::INFINITY, error_of);
    if error <= LARGEST_ERROR * own {
        Outcome::Alone
    } else if !found.is_registered() && found.rival.is_some() {
        Outcome::Named
    } else {
        let detail = format!(
            "{} and {} follow a motion; error {:.1} of the fit; {}",
            groups[0],
            groups[1],
            error / own,
            describe(&found)
        );
        Outcome::Failed(Failure { name: seed.to_string(), detail })
    }
}
