//! CPU time of the default and the published method on the paper's Bunny problems, on one thread:
//! `cargo bench -p pcr99-lab --features bunny --bench marks`.
//!
//! The clock starts at arrays of points and ends with the verdict: the time to check and normalise the matches counts, and has a column of its own. The default method has a row with
//! the threshold given and one without. The published method needs the threshold.
//!
//! `SEEDS=500` changes the number of problems (100), `RATIOS=0.98,0.99` the outlier ratios, `POINTS=10000` the number of matches,
//! `SCALE=known` the scale mode; `PAPER=0` leaves out the published method, `THRESHOLD=given` or `THRESHOLD=none` one of the two rows.
//!
//! Each method solves a batch of problems, then the next one solves the same batch, as in a program with many problems. With `BATCH=1`, the methods
//! alternate, and each starts with caches full of the others' data. Memory is reused from one problem to the next.
#![allow(clippy::print_stdout, reason = "the table is the result")]

use cpu_time::ProcessTime;
use pcr99::{Correspondences, Params, Registration, Scale, Solver, paper};
use pcr99_lab::{Errors, Problem, Recipe, ScaleChoice};

fn setting<T: std::str::FromStr>(name: &str, usual: T) -> T {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(usual)
}

/// Results of one method on all problems of a row.
#[derive(Default)]
struct Column {
    /// Matches of the last problem, whose memory the next one uses.
    pairs: Option<Correspondences>,
    preparing: Vec<f64>,
    milliseconds: Vec<f64>,
    angles: Vec<f64>,
    not_registered: usize,
}

impl Column {
    /// Solves a problem, from its arrays of points on.
    fn add(&mut self, problem: &Problem, solve: impl FnOnce(&Correspondences) -> Registration) {
        let start = ProcessTime::now();
        let Problem { source, target, .. } = problem;
        let pairs = match self.pairs.take() {
            Some(earlier) => Correspondences::new_reusing(earlier, source, target),
            None => Correspondences::new(source, target),
        };
        let pairs = pairs.expect("good matches");
        let prepared = start.elapsed();
        let found = solve(&pairs);
        let solved = start.elapsed();
        self.pairs = Some(pairs);
        self.preparing.push(prepared.as_secs_f64() * 1e3);
        self.milliseconds.push(solved.as_secs_f64() * 1e3);
        let angle = |model| Errors::between(model, &problem.truth).rotation_deg;
        self.angles.push(found.target_from_source.as_ref().map_or(180.0, angle));
        self.not_registered += usize::from(!found.is_registered());
    }

    fn large_errors(&self) -> usize {
        self.angles.iter().filter(|&&angle| angle > 5.0).count()
    }
}

fn quantile(values: &[f64], part: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    if sorted.is_empty() {
        return f64::NAN; // Pure noise has no true inliers to compare with.
    }
    sorted[((sorted.len() - 1) as f64 * part).round() as usize]
}

fn main() {
    let seeds: u64 = setting("SEEDS", 100);
    let points: usize = setting("POINTS", 1000);
    let batch: usize = setting("BATCH", (1_000_000 / points).clamp(1, 1000));
    let with_paper = setting("PAPER", 1) == 1;
    let rows = ["given", "none"].map(|row| (row, setting("THRESHOLD", row.to_owned()) == row));
    let ratios: String = setting("RATIOS", "0.5,0.9,0.95,0.98,0.99".to_owned());
    println!(
        "Bunny, {points} matches, σ = 0.01, δ = 0.05, {seeds} problems a row, one thread, CPU milliseconds from raw arrays to the verdict"
    );
    println!("rotation errors in degrees, as ratios to a fit on the true inliers");
    println!(
        "{:8} {:>8} {:>9} | {:>8} {:>8} {:>8} {:>8} | {:>7} {:>7} {:>7} {:>4} {:>5} | {:>9} {:>9} {:>6} {:>4}",
        "scale",
        "outliers",
        "threshold",
        "prepare",
        "median",
        "p95",
        "worst",
        "med.rot",
        "/ true",
        "max/tr",
        ">5°",
        "unreg",
        "paper ms",
        "p95",
        "ratio",
        ">5°"
    );
    for (name, scale, choice) in
        [("known", Scale::one(), ScaleChoice::Fixed(1.0)), ("unknown", Scale::Unknown, ScaleChoice::Random)]
    {
        if !setting("SCALE", name.to_owned()).eq(name) {
            continue;
        }
        let mut solver = Solver::new();
        let mut paper_solver = paper::Solver::new();
        for ratio in ratios.split(',').map(|r| r.parse::<f64>().expect("a ratio")) {
            let (mut ours, mut paper, mut truth) =
                ([Column::default(), Column::default()], Column::default(), Vec::new());
            let make = |seed: u64| {
                let recipe = Recipe::default().with_scale(choice).and_then(|r| r.with_outlier_ratio(ratio));
                let recipe = recipe.and_then(|r| r.with_points(points)).expect("a good recipe");
                recipe.with_seed(seed).generate().expect("a good recipe")
            };
            let without = Params::new().with_threads(1);
            let params = [without.clone().with_threshold(0.05).expect("positive"), without];
            let paper_params = paper::Params::new(0.05).expect("positive");
            for first in (0..seeds).step_by(batch) {
                let problems: Vec<_> = (first..seeds.min(first + batch as u64)).map(make).collect();
                for problem in &problems {
                    let pairs = Correspondences::new(&problem.source, &problem.target).expect("good matches");
                    if let Some(fit) = pairs.fit(scale, &problem.inliers()) {
                        truth.push(Errors::between(&fit, &problem.truth).rotation_deg);
                    }
                }
                for ((ours, params), (_, wanted)) in ours.iter_mut().zip(&params).zip(rows) {
                    for problem in problems.iter().filter(|_| wanted) {
                        ours.add(problem, |pairs| solver.solve(pairs, scale, params).expect("good input"));
                    }
                }
                for problem in problems.iter().filter(|_| with_paper) {
                    paper.add(problem, |pairs| {
                        paper_solver.solve(pairs, scale, &paper_params).expect("enough memory")
                    });
                }
            }
            for (ours, (threshold, _)) in ours.iter().zip(rows).filter(|(_, (_, wanted))| *wanted) {
                let median = quantile(&ours.milliseconds, 0.5);
                print!(
                    "{name:8} {:>7.4}% {threshold:>9} | {:8.4} {median:8.3} {:8.3} {:8.3} | {:7.3} {:7.3} {:7.3} {:>4} {:>5} |",
                    ratio * 100.0,
                    quantile(&ours.preparing, 0.5),
                    quantile(&ours.milliseconds, 0.95),
                    quantile(&ours.milliseconds, 1.0),
                    quantile(&ours.angles, 0.5),
                    quantile(&ours.angles, 0.5) / quantile(&truth, 0.5),
                    quantile(&ours.angles, 1.0) / quantile(&truth, 1.0),
                    ours.large_errors(),
                    ours.not_registered,
                );
                if with_paper && threshold == "given" {
                    let (median_paper, p95) =
                        (quantile(&paper.milliseconds, 0.5), quantile(&paper.milliseconds, 0.95));
                    let times = median_paper / median;
                    print!(" {median_paper:9.3} {p95:9.3} {times:6.1} {:>4}", paper.large_errors());
                }
                println!();
            }
        }
    }
}
