//! CPU time of the published method on the paper's Bunny problems, one thread: `cargo bench --bench marks --features bunny`.
//!
//! Medians over seeds, by variant and outlier ratio; `SEEDS=500` changes how many.
#![allow(clippy::print_stdout, reason = "a table is what it is for")]

use cpu_time::ThreadTime;
use pcr99::{Correspondences, Scale, paper};
use pcr99_lab::{Errors, Recipe, ScaleChoice};

fn main() {
    let seeds = std::env::var("SEEDS").ok().and_then(|s| s.parse().ok()).unwrap_or(100);
    println!("Bunny, 1000 points, σ = 0.01, δ = 0.05, {seeds} seeds, one thread");
    println!(
        "{:16} {:>8} | {:>9} {:>9} {:>9} | {:>9} {:>9} {:>5}",
        "variant", "outliers", "median ms", "p95 ms", "worst ms", "med. rot°", "worst°", ">5°"
    );
    for (name, scale, choice) in
        [("known", Scale::one(), ScaleChoice::Fixed(1.0)), ("unknown", Scale::Unknown, ScaleChoice::Random)]
    {
        for (order, sampling) in [("", paper::Sampling::Ordered), (", no S/O", paper::Sampling::random(0))] {
            for ratio in [0.5, 0.9, 0.95, 0.98, 0.99] {
                let mut solver = paper::Solver::new();
                let (mut times, mut angles) = (Vec::new(), Vec::new());
                for seed in 0..seeds {
                    let recipe =
                        Recipe::default().with_scale(choice).and_then(|r| r.with_outlier_ratio(ratio));
                    let problem = recipe.and_then(|r| r.with_seed(seed).generate()).expect("a good recipe");
                    let pairs = Correspondences::new(&problem.source, &problem.target).expect("good matches");
                    let params = paper::Params::new(0.05).expect("positive").with_sampling(sampling);
                    let start = ThreadTime::now();
                    let found = solver.solve(&pairs, scale, &params).expect("within the memory budget");
                    times.push(start.elapsed().as_secs_f64() * 1e3);
                    let model = found.target_from_source.expect("a transform");
                    angles.push(Errors::between(&model, &problem.truth).rotation_deg);
                }
                let large = angles.iter().filter(|&&angle| angle > 5.0).count();
                for sorted in [&mut times, &mut angles] {
                    sorted.sort_by(f64::total_cmp);
                }
                let at =
                    |sorted: &[f64], part: f64| sorted[((sorted.len() - 1) as f64 * part).round() as usize];
                println!(
                    "{:16} {:>7}% | {:9.3} {:9.3} {:9.3} | {:9.3} {:9.3} {:>5}",
                    format!("{name}{order}"),
                    ratio * 100.0,
                    at(&times, 0.5),
                    at(&times, 0.95),
                    at(&times, 1.0),
                    at(&angles, 0.5),
                    at(&angles, 1.0),
                    large,
                );
            }
        }
    }
}
