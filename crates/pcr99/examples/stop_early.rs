//! Stops a search after a tenth of a second and takes the best found so far: `cargo run --example stop_early`.

#![allow(clippy::print_stdout, reason = "an example prints its result")]

use std::time::Duration;

use pcr99::{Correspondences, Scale, Status, StopReason, paper, random::Random, stop};

fn main() -> Result<(), pcr99::Error> {
    // All matches are wrong.
    let mut random = Random::new(1);
    let mut cloud =
        || -> Vec<[f64; 3]> { (0..2000).map(|_| std::array::from_fn(|_| random.uniform())).collect() };
    let pairs = Correspondences::new(&cloud(), &cloud())?;

    let mut solver = paper::Solver::new();
    let params = paper::Params::new(0.001)?;
    let found =
        solver.solve_until(&pairs, Scale::Unknown, &params, &stop::after(Duration::from_millis(100)))?;

    assert_eq!(found.stopped_because, StopReason::TimeLimit);
    assert_ne!(found.status, Status::Registered);
    println!("{}: {} ({} hypotheses tested)", found.status, found.reason(), found.counters.hypotheses);
    Ok(())
}
