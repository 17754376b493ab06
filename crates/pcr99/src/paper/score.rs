//! The score of each match (Algorithm 1, lines 4–6): how well its log ratios with all others agree on one scale.
//!
//! * Known scale, Eq. (6): `S(i) = −Σ_j min(|L(i,j) − ln s|, ε)`.
//! * Unknown scale, Eq. (7): the maximum of this over the grid of `ln s` of Eq. (8)–(10).
//!
//! The sums leave out `j = i`, where `L` is undefined (decision 5). An undefined ratio costs `ε` (decision 6). The code computes the savings
//! over the worst score, `S(i) + ε·(n − 1)`, which give the same ranking.

use super::{Problem, ranking::Ranking};
use pcr99_base::{
    kernel::{
        consistent_bits::{KnownScale, consistent_bits},
        log_ratio::{half_log_ratios, log_ratios},
        savings::{Grid, best_savings, saving},
    },
    squared_distances,
};

use crate::stop::{StopCheck, StopRequest};

/// Buffers that are kept between problems.
#[derive(Debug, Default)]
pub(super) struct Workspace {
    savings: Vec<f64>,
    row: Vec<f64>,
    sums: Vec<f64>,
    bits: Vec<u64>,
    near: Vec<u32>,
    source_sq: Vec<f64>,
}

/// Largest number of log ratios between stop checks: about a millisecond.
const RATIOS_BETWEEN_CHECKS: u64 = 1 << 18;

/// Scores and ranks the matches.
pub(super) fn rank(
    problem: &Problem<'_>,
    stop: StopCheck<'_>,
    work: &mut Workspace,
) -> Result<Ranking, StopRequest> {
    let n = problem.points.len();
    let known = problem.known_scale.map(|scale| KnownScale::new(scale, problem.epsilon));
    work.savings.clear();
    work.savings.resize(n, 0.0);
    // With an unknown scale each ratio is added to all grid points within ε.
    let touched = if known.is_some() { 0 } else { (2.0 * problem.epsilon / problem.grid_step) as u64 };
    let mut since_check = RATIOS_BETWEEN_CHECKS;
    for i in 0..n {
        if since_check >= RATIOS_BETWEEN_CHECKS {
            since_check = 0;
            if let Some(request) = stop() {
                return Err(request);
            }
        }
        since_check += n as u64 * (1 + touched / 4);
        match &known {
            Some(test) => add_savings_of_row(problem, i, test, work),
            None => work.savings[i] = best_savings_of_row(problem, i, work),
        }
    }
    Ok(Ranking::by_descending(&work.savings))
}

/// Known scale: adds the savings of the pairs of match `i` with all later ones to both members. Only pairs within `ε` save anything; the
/// others need no logarithm.
fn add_savings_of_row(problem: &Problem<'_>, i: usize, test: &KnownScale, work: &mut Workspace) {
    let Workspace { savings, row, bits, near, source_sq, .. } = work;
    let n = problem.points.len();
    let first_word = (i + 1) / 64;
    bits.resize(n.div_ceil(64) - first_word, 0);
    consistent_bits(problem.points, i, first_word, test, bits);
    near.clear();
    for (word, &bits) in (first_word..).zip(bits.iter()) {
        let mut bits = bits;
        while bits != 0 {
            near.push(64 * word as u32 + bits.trailing_zeros());
            bits &= bits - 1;
        }
    }
    near.retain(|&j| j as usize > i);
    source_sq.clear();
    row.clear();
    for &j in near.iter() {
        let (source, target) = squared_distances(problem.points, i, j as usize);
        source_sq.push(source);
        row.push(target);
    }
    half_log_ratios(source_sq, row);
    for (&j, log_ratio) in near.iter().zip(row.iter()) {
        let saving = saving(*log_ratio, test.log_scale, test.epsilon);
        savings[i] += saving;
        savings[j as usize] += saving;
    }
}

/// Unknown scale: the savings of match `i` at the best grid point of `ln s`.
fn best_savings_of_row(problem: &Problem<'_>, i: usize, work: &mut Workspace) -> f64 {
    work.row.resize(problem.points.len(), 0.0);
    // The ratio of a match with itself is undefined (0/0) and saves nothing (decision 5).
    log_ratios(problem.points, i, 0, &mut work.row);
    Grid::of(&work.row, problem.grid_step)
        .map_or(0.0, |grid| best_savings(&work.row, grid, problem.epsilon, &mut work.sums))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stop;
    use pcr99_base::{Soa, kernel::log_ratio::half_log_ratio, test_points};

    fn problem(points: &Soa, known_scale: Option<f64>) -> Problem<'_> {
        Problem { points, known_scale, delta: 0.05, epsilon: 0.1, grid_step: 0.1, required: 9 }
    }

    /// Eq. (6)–(10) as the paper writes them, with decisions 5, 6 and 7.
    fn score(points: &Soa, i: usize, known_scale: Option<f64>) -> f64 {
        let ratios: Vec<f64> = (0..points.len())
            .filter(|&j| j != i)
            .map(|j| squared_distances(points, i, j))
            .map(|(source_sq, target_sq)| half_log_ratio(source_sq, target_sq))
            .collect();
        let cost = |log_scale: f64| -> f64 {
            ratios.iter().map(|l| if l.is_nan() { 0.1 } else { (l - log_scale).abs().min(0.1) }).sum()
        };
        let candidates: Vec<f64> = match known_scale {
            Some(s) => vec![libm::log(s)],
            None => {
                let defined = || ratios.iter().copied().filter(|l| !l.is_nan());
                let (p, q) =
                    (defined().fold(f64::INFINITY, f64::min), defined().fold(f64::NEG_INFINITY, f64::max));
                let steps = ((q - p) / 0.1).round().max(1.0);
                (0..=steps as usize).map(|m| p + m as f64 * ((q - p) / steps)).collect()
            }
        };
        -candidates.into_iter().map(cost).fold(f64::INFINITY, f64::min)
    }

    #[test]
    fn savings_are_the_papers_score_up_to_a_constant() {
        for (n, seed) in [(3, 1), (40, 2), (200, 3)] {
            let points = test_points::random(n, seed);
            for known_scale in [None, Some(0.7), Some(1.0)] {
                let mut work = Workspace::default();
                rank(&problem(&points, known_scale), &stop::never, &mut work).unwrap();
                for (i, saving) in work.savings.iter().enumerate() {
                    let wanted = score(&points, i, known_scale);
                    assert!(
                        (saving - 0.1 * (n - 1) as f64 - wanted).abs() < 1e-10,
                        "{n} {i} {known_scale:?}"
                    );
                }
            }
        }
    }

    /// Decision 6: the undefined ratios of a many-to-one match must not rank it first.
    #[test]
    fn coincident_points_do_not_rank_first() {
        let mut points = test_points::random(100, 9);
        for axis in 0..3 {
            // Odd matches are wrong; ten of them share one target point.
            for i in (1..20).step_by(2) {
                points.b[axis][i] = 0.5;
            }
        }
        for known_scale in [None, Some(0.7)] {
            let ranking =
                rank(&problem(&points, known_scale), &stop::never, &mut Workspace::default()).unwrap();
            let first = ranking.index_of_rank(1);
            assert_eq!(first % 2, 0, "match {first} is an outlier");
            assert!(
                (1..=30)
                    .filter(|&r| ranking.index_of_rank(r) < 20 && ranking.index_of_rank(r) % 2 == 1)
                    .count()
                    <= 2
            );
        }
    }

    #[test]
    fn all_ratios_undefined_is_the_worst_score() {
        let mut points = test_points::random(10, 9);
        // All sources are equal, so match 4 coincides with all others.
        points.a.iter_mut().for_each(|column| column.fill(0.25));
        let mut work = Workspace::default();
        let ranking = rank(&problem(&points, None), &stop::never, &mut work).unwrap();
        assert!(work.savings.iter().all(|&s| s == 0.0));
        assert_eq!(ranking.index_of_rank(1), 0, "ties by index");
    }

    /// Regression: stop checks follow the work done, not the number of rows.
    #[test]
    fn long_rows_are_asked_about_more_often() {
        let asked = |n: usize, epsilon: f64| {
            let points = test_points::random(n, 9);
            let count = std::cell::Cell::new(0);
            let never = || {
                count.set(count.get() + 1);
                None
            };
            let problem = Problem { epsilon, grid_step: 0.01, ..problem(&points, None) };
            rank(&problem, &never, &mut Workspace::default()).unwrap();
            count.get()
        };
        let (short, long, wide) = (asked(50, 0.01), asked(1000, 0.01), asked(1000, 10.0));
        assert!(short == 1 && long >= 4 && wide == 1000, "{short} {long} {wide}");
    }

    #[test]
    fn scoring_can_be_stopped() {
        let points = test_points::random(10, 9);
        let interrupted = || Some(StopRequest::Interrupted);
        assert_eq!(
            rank(&problem(&points, None), &interrupted, &mut Workspace::default()),
            Err(StopRequest::Interrupted)
        );
    }
}
