//! The stages of the published method, for benchmarks.

use super::{
    Params, Problem, align, prescreen::Prescreen, prescreen::Workspace, ranking::Ranking, refit, score,
    triplets,
};
use crate::{Correspondences, Scale, random::Random, stop};

/// Runs `stage` on a problem with the parameters of the paper's experiments.
fn with_problem<T>(pairs: &Correspondences, scale: Scale, stage: impl FnOnce(&Problem<'_>) -> T) -> T {
    let params = Params::new(0.05).expect("a positive literal");
    stage(&Problem::new(pairs, scale, &params).expect("benchmarks stay within the memory budget"))
}

pub(crate) fn score(pairs: &Correspondences, scale: Scale) -> usize {
    let rank = |problem: &Problem<'_>| score::rank(problem, &stop::never, &mut score::Workspace::default());
    with_problem(pairs, scale, rank).map_or(0, |ranking| ranking.order()[0] as usize)
}

pub(crate) fn prescreen(pairs: &Correspondences, scale: Scale, limit: usize) -> usize {
    with_problem(pairs, scale, |problem| {
        let ranking = Ranking::by_descending(&vec![0.0; pairs.len()]);
        let mut work = Workspace::default();
        let mut prescreen =
            Prescreen::new(problem, &ranking, &mut work).expect("benchmarks stay within the memory");
        let (mut seen, mut passing, mut passed) = (0, 0, Vec::new());
        for run in triplets::runs(pairs.len()) {
            prescreen.passing(&run, &mut passed);
            seen += run.len();
            passing += passed.len();
            if seen >= limit {
                break;
            }
        }
        passing
    })
}

pub(crate) fn align(pairs: &Correspondences, scale: Scale, count: usize) -> usize {
    with_problem(pairs, scale, |problem| {
        let mut random = Random::new(0);
        (0..count)
            .filter(|_| {
                let sample = random.distinct_triple(pairs.len());
                align::align_triplet(problem.points, sample, problem.known_scale).is_some()
            })
            .count()
    })
}

pub(crate) fn refit(pairs: &Correspondences, scale: Scale) -> Option<f64> {
    let all: Vec<u32> = (0..pairs.len() as u32).collect();
    with_problem(pairs, scale, |problem| refit::refit(problem.points, &all, problem.known_scale))
        .map(|m| m.scale())
}
