//! CPU time, failures and accuracy of each method on the paper's problems.
//! `cargo run --release -p pcr99-lab --features bunny --example check_baselines -- all known 0.99 100`
//!
//! Arguments, in this order, all optional: methods separated by commas, or `all`; `known`, `unknown` or `both`; outlier ratios separated by commas; number
//! of problems; `centred` or `offset` for the position of the outliers; number of matches; time limit of each problem in seconds.

#![allow(clippy::print_stdout, reason = "the table is the result")]

use std::{error::Error, time::Duration};

use cpu_time::ProcessTime;
use pcr99::{Correspondences, Positive, Scale, StopReason, stop};
use pcr99_baselines::{Method, Solvers};
use pcr99_lab::{Errors, OutlierCenter, Recipe, ScaleChoice};

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let arg = |place: usize, usual: &str| args.get(place).map_or(usual, String::as_str).to_owned();
    let methods: Vec<Method> = match arg(0, "all").as_str() {
        "all" => Method::ALL.to_vec(),
        names => names.split(',').map(str::parse).collect::<Result<_, _>>()?,
    };
    let modes: &[bool] = match arg(1, "both").as_str() {
        "known" => &[true],
        "unknown" => &[false],
        "both" => &[true, false],
        other => return Err(format!("`{other}` is none of known, unknown, both").into()),
    };
    let ratios: Vec<f64> = arg(2, "0.99").split(',').map(str::parse).collect::<Result<_, _>>()?;
    let seeds: u64 = arg(3, "100").parse()?;
    let center = arg(4, "centred");
    let center = OutlierCenter::ALL.into_iter().find(|c| c.name() == center).ok_or("centred or offset")?;
    let points: usize = arg(5, "1000").parse()?;
    let limit = Duration::try_from_secs_f64(arg(6, "100").parse()?)?;

    println!(
        "{points} matches, sigma = 0.01, {} outliers, {seeds} problems a row, CPU milliseconds",
        center.name()
    );
    println!(
        "{:14} {:8} {:>8} | {:>9} {:>9} {:>9} | {:>4} {:>4} {:>6} {:>6} | {:>8} {:>7}",
        "method",
        "scale",
        "outliers",
        "median",
        "p95",
        "worst",
        ">5°",
        ">10°",
        "none",
        "unreg",
        "med.rot",
        "/ true"
    );
    let mut solvers = Solvers::new();
    for &known in modes {
        for &ratio in &ratios {
            let choice = if known { ScaleChoice::Fixed(1.0) } else { ScaleChoice::Random };
            let recipe =
                Recipe::default().with_points(points)?.with_outlier_ratio(ratio)?.with_scale(choice)?;
            let recipe = recipe.with_outlier_center(center);
            for &method in methods.iter().filter(|method| known || method.finds_scale()) {
                let row = row(&mut solvers, method, &recipe, known, seeds, limit)?;
                let name = if known { "known" } else { "unknown" };
                println!("{:14} {name:8} {:7.2}% | {row}", method.title(), 100.0 * ratio);
            }
        }
    }
    Ok(())
}

fn row(
    solvers: &mut Solvers,
    method: Method,
    recipe: &Recipe,
    known: bool,
    seeds: u64,
    limit: Duration,
) -> Result<String, Box<dyn Error>> {
    let scale = if known { Scale::one() } else { Scale::Unknown };
    let threshold = Positive::new("threshold", 5.0 * recipe.noise())?;
    let (mut milliseconds, mut angles, mut true_angles) = (Vec::new(), Vec::new(), Vec::new());
    let (mut none, mut not_registered, mut too_long) = (0, 0, 0);
    for seed in 0..seeds {
        let problem = recipe.clone().with_seed(seed).generate()?;
        let start = ProcessTime::now();
        let pairs = Correspondences::new(&problem.source, &problem.target)?;
        let found = solvers.solve(method, &pairs, scale, threshold, seed, &stop::after(limit))?;
        milliseconds.push(start.elapsed().as_secs_f64() * 1e3);
        let angle = |model| Errors::between(model, &problem.truth).rotation_deg;
        angles.push(found.target_from_source.as_ref().map_or(180.0, angle));
        none += usize::from(found.target_from_source.is_none());
        not_registered += usize::from(!found.is_registered());
        too_long += usize::from(found.stopped_because == StopReason::TimeLimit);
        true_angles.extend(pairs.fit(scale, &problem.inliers()).as_ref().map(angle));
    }
    let above = |bound: f64| angles.iter().filter(|&&angle| angle > bound).count();
    let median = quantile(&angles, 0.5);
    let slow = if too_long > 0 { format!(", {too_long} out of time") } else { String::new() };
    Ok(format!(
        "{:9.3} {:9.3} {:9.3} | {:4} {:4} {none:6} {not_registered:6} | {median:8.3} {:7.3}{slow}",
        quantile(&milliseconds, 0.5),
        quantile(&milliseconds, 0.95),
        quantile(&milliseconds, 1.0),
        above(5.0),
        above(10.0),
        median / quantile(&true_angles, 0.5),
    ))
}

fn quantile(values: &[f64], part: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    // Pure noise has no true inliers to compare with.
    if sorted.is_empty() { f64::NAN } else { sorted[((sorted.len() - 1) as f64 * part).round() as usize] }
}
