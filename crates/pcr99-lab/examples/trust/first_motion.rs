//! Two motions: the larger one comes first, whatever the ratio of their noise.

use pcr99::{Registration, Scale, Solver};
use pcr99_lab::trust::{
    displacement,
    motions::{Problem, Recipe, Second},
};

use crate::lab::{Failure, Lab, Row, checked, describe, params, solve, threshold_name};

/// Noise of the larger and of the smaller group.
const NOISES: [(&str, [f64; 2]); 5] = [
    ("1:10", [0.001, 0.01]),
    ("1:3", [0.0033, 0.01]),
    ("1:1", [0.01, 0.01]),
    ("3:1", [0.01, 0.0033]),
    ("10:1", [0.01, 0.001]),
];
/// Shares of the two groups; seeds that follow each other go through them.
const SHARES: [[f64; 2]; 4] = [[0.3, 0.2], [0.1, 0.04], [0.6, 0.2], [0.1, 0.08]];

pub(crate) fn measure(lab: &mut Lab) {
    for matches in [1000, 10_000] {
        for is_given in [true, false] {
            for (ratio, noise) in NOISES {
                let what = format!("n = {matches}, noise {ratio}, {}", threshold_name(is_given));
                lab.row(&what, |lab| one_row(lab, matches, noise, is_given));
            }
        }
    }
}

fn one_row(lab: &Lab, matches: usize, noise: [f64; 2], is_given: bool) -> Row {
    let seeds = lab.seeds(50);
    let results = lab.each(&seeds, |solver, &seed| {
        let share = SHARES[(seed % 4) as usize];
        let groups = share.map(|share| (share * matches as f64).round() as usize);
        let problem = Recipe { matches, groups, noise }.generate(Second::Independent, seed);
        let threshold = is_given.then(|| 5.0 * noise[0].max(noise[1]));
        other_answers(lab, solver, &problem, threshold, seed)
    });
    let all = seeds.len() * lab.search_seeds().count();
    let (counts, failures): (Vec<usize>, Vec<Failure>) = results.into_iter().flatten().unzip();
    let other: usize = counts.iter().sum();
    Row {
        measured: format!("{other} of {all} searches have another answer first"),
        required: "0".to_owned(),
        is_met: Some(other == 0),
        failures,
    }
}

/// Number of searches with another answer than the larger motion, with the last such answer; `None` when there are none.
fn other_answers(
    lab: &Lab,
    solver: &mut Solver,
    problem: &Problem,
    threshold: Option<f64>,
    seed: u64,
) -> Option<(usize, Failure)> {
    let pairs = checked(&problem.matches);
    let (mut searches, mut last) = (Vec::new(), String::new());
    for search_seed in lab.search_seeds() {
        let found = solve(solver, &pairs, Scale::one(), &params(threshold).with_seed(search_seed));
        if !is_first_motion(problem, &found) {
            searches.push(search_seed);
            last = describe(&found);
        }
    }
    let [larger, smaller] = problem.groups.each_ref().map(Vec::len);
    let detail =
        format!("search seeds {searches:?}; {larger} and {smaller} follow a motion; last answer: {last}");
    (!searches.is_empty()).then(|| (searches.len(), Failure { name: seed.to_string(), detail }))
}

/// Whether the answer is the motion of the larger group, to five standard deviations of the larger noise.
fn is_first_motion(problem: &Problem, found: &Registration) -> bool {
    let near = 5.0 * problem.noise[0].max(problem.noise[1]);
    let answer = found.target_from_source.as_ref();
    answer.is_some_and(|answer| displacement(answer, &problem.motions[0], &problem.first_sources()) < near)
}
