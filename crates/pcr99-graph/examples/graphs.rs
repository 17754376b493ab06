//! Table of pose graphs: `cargo run --release -p pcr99-graph --example graphs -- FILE.g2o …`.
//!
//! For each file and both costs: the minimum from no start at all, with CPU seconds and memory; and with 10, 30 and 50 % of the loops replaced by random poses,
//! how many wrong edges are used, how many right ones are not, and the cost of the right ones beside their minimum.

#![allow(clippy::print_stdout, reason = "a table for whoever runs it")]

#[path = "../tests/common/mod.rs"]
mod common;

use common::{half_extent, is_loop, with_wrong_loops};
use cpu_time::ProcessTime;
use pcr99_graph::{Cost, Options, PoseGraph, RotationInformation, Solution, Start, Trust, solve};

fn timed(graph: &PoseGraph, options: &Options) -> Result<(Solution, f64), pcr99_graph::Error> {
    let start = ProcessTime::now();
    let solution = solve(graph, options)?;
    Ok((solution, start.elapsed().as_secs_f64()))
}

/// The cost of all edges of `graph` at the poses of another solution.
fn cost_at(graph: &PoseGraph, solution: &Solution, cost: Cost) -> Result<f64, pcr99_graph::Error> {
    let mut options = Options::default();
    (options.cost, options.start, options.most_iterations) = (cost, Start::Poses, 0);
    Ok(solve(&graph.clone().with_poses(&solution.poses)?, &options)?.cost)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for file in std::env::args().skip(1) {
        let graph = PoseGraph::from_g2o(&std::fs::read(&file)?, RotationInformation::Radians)?;
        println!("{file}: {} vertices, {} edges", graph.len(), graph.edges().len());
        for cost in [Cost::Chordal, Cost::Geodesic] {
            let mut options = Options::default();
            options.cost = cost;
            let (clean, seconds) = match timed(&graph, &options) {
                Ok(solved) => solved,
                Err(error) => {
                    println!("  {cost:?}: {error}");
                    continue;
                }
            };
            let megabytes = clean.factor_bytes as f64 / 1e6;
            println!(
                "  {cost:?}: {:.9e}, {} iterations, {seconds:.3} s, {megabytes:.0} MB",
                clean.cost, clean.iterations
            );
            for percent in [10, 30, 50] {
                let (changed, is_wrong) =
                    with_wrong_loops(&graph, percent, half_extent(&clean.poses), percent as u64);
                let right = graph.with_edges(|k| !is_wrong[k]);
                let best = solve(&right, &options)?.cost;
                let mut robust = options;
                robust.robust = Some(Trust::Odometry);
                let (found, seconds) = timed(&changed, &robust)?;
                let count = |wrong: bool, used: bool| {
                    let loops = (0..is_wrong.len()).filter(|&k| is_loop(&graph.edges()[k]));
                    loops.filter(|&k| is_wrong[k] == wrong && found.is_used[k] == used).count()
                };
                let excess = 100.0 * (cost_at(&right, &found, cost)? / best - 1.0);
                println!(
                    "    {percent} % wrong: {} of {} used; right: {} of {} left out; cost {excess:+.4} %; {seconds:.2} s",
                    count(true, true),
                    count(true, true) + count(true, false),
                    count(false, false),
                    count(false, true) + count(false, false),
                );
            }
        }
    }
    Ok(())
}
