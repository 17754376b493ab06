//! Public pose graphs, found through `PCR99_DATA` (a directory with `graphs/`): the known minima from no start at all, and wrong loops.

#![allow(clippy::print_stderr, reason = "says that it was skipped")]

mod common;

use std::path::PathBuf;

use common::{half_extent, is_loop, with_wrong_loops};
use pcr99_graph::{Cost, Options, PoseGraph, RotationInformation, Trust, solve};

fn directory() -> Option<PathBuf> {
    let directory = std::env::var_os("PCR99_DATA").map(|data| PathBuf::from(data).join("graphs"));
    let is_required = std::env::var_os("PCR99_REQUIRE_DATA").is_some_and(|value| value == "1");
    assert!(directory.is_some() || !is_required, "PCR99_REQUIRE_DATA=1 but PCR99_DATA is not set");
    if directory.is_none() {
        eprintln!("skipped: set PCR99_DATA to the directory of the real data to run this test");
    }
    directory
}

fn read(directory: &std::path::Path, name: &str) -> PoseGraph {
    let path = directory.join(name).with_extension("g2o");
    let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    PoseGraph::from_g2o(&bytes, RotationInformation::Radians)
        .unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Chordal minima are those of Rosen, Carlone, Bandeira and Leonard (SE-Sync, 2019), to more digits; geodesic ones are those of GTSAM 4.3 from the best start.
const MINIMA: [(&str, f64, Option<f64>); 7] = [
    ("tinyGrid3D", 18.519366, Some(9.31391)),
    ("smallGrid3D", 1025.3981, Some(517.925)),
    ("parking-garage", 1.2625244, Some(0.634192)),
    ("sphere2500", 1687.0058, Some(675.701)),
    ("torus3D", 24227.046, Some(12117.6)),
    // Its information matrices are not positive definite as a whole.
    ("cubicle", 717.12599, None),
    ("sphere_bignoise_vertex3", 2961756.5, Some(1.49417e6)),
];

#[test]
fn known_minima_are_reached_from_no_start() {
    let Some(directory) = directory() else { return };
    for (name, chordal, geodesic) in MINIMA {
        let graph = read(&directory, name);
        let mut options = Options::default();
        options.cost = Cost::Chordal;
        let found = solve(&graph, &options).expect(name);
        assert!(found.has_converged && (found.cost / chordal - 1.0).abs() < 1e-6, "{name}: {}", found.cost);
        options.cost = Cost::Geodesic;
        match geodesic {
            // GTSAM's minima are known to six digits.
            Some(expected) => {
                let found = solve(&graph, &options).expect(name);
                assert!(
                    found.has_converged && found.cost < expected * (1.0 + 5e-6),
                    "{name}: {}",
                    found.cost
                );
            }
            None => {
                let message = solve(&graph, &options).expect_err(name).to_string();
                assert!(
                    message.starts_with("line 5753: the information matrix of the edge from 1 to 2"),
                    "{message}"
                );
            }
        }
    }
}

#[test]
fn random_loops_are_rejected() {
    let Some(directory) = directory() else { return };
    for (name, percent) in [("parking-garage", 50), ("sphere2500", 30), ("torus3D", 50)] {
        let graph = read(&directory, name);
        let mut options = Options::default();
        let clean = solve(&graph, &options).expect(name);
        let (changed, is_wrong) = with_wrong_loops(&graph, percent, half_extent(&clean.poses), 1);
        let best = solve(&graph.with_edges(|k| !is_wrong[k]), &options).expect(name);
        options.robust = Some(Trust::Odometry);
        let found = solve(&changed, &options).expect(name);
        let count = |wrong: bool, used: bool| {
            let all = (0..is_wrong.len()).filter(|&k| is_loop(&graph.edges()[k]));
            all.filter(|&k| is_wrong[k] == wrong && found.is_used[k] == used).count()
        };
        assert_eq!(count(true, true), 0, "{name}: wrong edges are used");
        let (lost, right) = (count(false, false), count(false, true) + count(false, false));
        assert!(200 * lost <= right, "{name}: {lost} of {right} right edges are not used");
        // The cost of the used edges: at most that of all right ones, and hardly less.
        assert!(
            found.cost < best.cost * 1.000_001 && found.cost > 0.999 * best.cost,
            "{name}: {} {}",
            found.cost,
            best.cost
        );
    }
}
