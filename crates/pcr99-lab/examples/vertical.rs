//! What a known vertical gains: `cargo run --release -p pcr99-lab --features bunny --example vertical -- [RUNS] [FIRST_SEED]`.
//!
//! Problems of the paper with 1000 matches of which 99.5 % are wrong. The vertical of the target is the z axis, that of the source the direction that the truth maps to it. Right is a
//! registered transform within 10° and a tenth of the extent.

#![allow(clippy::print_stdout, reason = "the table is its output")]

use std::time::Instant;

use pcr99::{Correspondences, Params, Scale, Solver, Vertical};
use pcr99_lab::{Problem, Recipe};

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let number = |place: usize, usual: u64| {
        args.get(place).map_or(usual, |text| text.parse().expect("RUNS and FIRST_SEED are numbers"))
    };
    let (runs, first) = (number(0, 100), number(1, 9000));
    println!("noise   threshold  vertical  runs  right  found  WRONG  median ms");
    for noise in [0.01, 0.0075, 0.005, 0.0025] {
        let recipe = Recipe::default().with_outlier_ratio(0.995).and_then(|recipe| recipe.with_noise(noise));
        let recipe = recipe.expect("a good recipe");
        for (has_threshold, has_vertical) in [(true, true), (false, true), (true, false)] {
            let mut params = Params::new().with_threads(1);
            if has_threshold {
                params = params.with_threshold(5.0 * noise).expect("a threshold");
            }
            let (mut right, mut found, mut wrong, mut times) = (0, 0, 0, Vec::new());
            for seed in first..first + runs {
                let problem = recipe.clone().with_seed(seed).generate().expect("a good recipe");
                let mut pairs = Correspondences::new(&problem.source, &problem.target).expect("good matches");
                if has_vertical {
                    let up = problem.truth.rotation()[2];
                    pairs = pairs.with_vertical(Vertical::new(up, [0.0, 0.0, 1.0]).expect("a direction"));
                }
                let start = Instant::now();
                let answer = Solver::new().solve(&pairs, Scale::one(), &params).expect("good input");
                times.push(1e3 * start.elapsed().as_secs_f64());
                let is_right = answer.target_from_source.is_some_and(|pose| is_near(&problem, &pose));
                found += u32::from(is_right);
                right += u32::from(is_right && answer.is_registered());
                wrong += u32::from(!is_right && answer.is_registered());
            }
            times.sort_by(f64::total_cmp);
            println!(
                "{noise:6}  {:9}  {:8}  {runs:4}  {right:5}  {found:5}  {wrong:5}  {:9.2}",
                if has_threshold { "given" } else { "found" },
                if has_vertical { "known" } else { "unknown" },
                times[times.len() / 2]
            );
        }
    }
}

/// Whether a transform moves all source points to within a tenth of the extent of where the truth does.
fn is_near(problem: &Problem, pose: &pcr99::Similarity) -> bool {
    problem.source.iter().all(|a| {
        let (p, q) = (pose.apply(*a), problem.truth.apply(*a));
        (0..3).map(|k| (p[k] - q[k]).powi(2)).sum::<f64>().sqrt() < 0.1
    })
}
