//! Generated graphs with known poses: global start, wrong edges, scales, covariances.

mod common;

use common::{Errors, Sample, half_extent, is_loop, ring, sphere, torus, with_wrong_loops};
use pcr99_base::{Similarity, vector::norm};
use pcr99_graph::{Cost, Error, Kind, Options, PoseGraph, Start, Trust, isotropic, solve};

fn options(cost: Cost) -> Options {
    let mut options = Options::default();
    options.cost = cost;
    options
}

/// Poses relative to that of the first vertex.
fn relative(poses: &[Similarity]) -> Vec<Similarity> {
    poses.iter().map(|pose| pose.then(&poses[0].inverse())).collect()
}

#[test]
fn exact_edges_give_the_true_poses_from_no_start() {
    for Sample { graph, truth } in [
        sphere(12, 20, Errors(0.0, 0.0, 0.0), 1),
        torus(20, 12, Errors(0.0, 0.0, 0.0), 2),
        ring(Kind::Rigid, 25, Errors(0.0, 0.0, 0.0), 3),
        ring(Kind::Similarity, 25, Errors(0.0, 0.0, 0.0), 4),
    ] {
        let solution = solve(&graph, &options(Cost::Geodesic)).expect("a solution");
        assert!(solution.has_converged && solution.cost < 1e-15, "{}", solution.cost);
        for (found, truth) in relative(&solution.poses).iter().zip(relative(&truth)) {
            for (a, b) in found.matrix().as_flattened().iter().zip(truth.matrix().as_flattened()) {
                assert!((a - b).abs() < 1e-8, "{a} {b}");
            }
        }
    }
}

/// The minimum from no start is that from the true poses, for both costs, and close to what the noise makes expected.
#[test]
fn noisy_graphs_reach_the_minimum_next_to_the_truth() {
    for Sample { graph, truth } in
        [sphere(20, 30, Errors(0.1, 0.1, 0.0), 5), torus(30, 20, Errors(0.15, 0.2, 0.0), 6)]
    {
        for cost in [Cost::Geodesic, Cost::Chordal] {
            let found = solve(&graph, &options(cost)).expect("a solution");
            let mut from_truth = options(cost);
            from_truth.start = Start::Poses;
            let best =
                solve(&graph.clone().with_poses(&truth).expect("poses"), &from_truth).expect("a solution");
            assert!(
                found.has_converged && best.has_converged,
                "{cost:?} {} {} {} {}",
                found.iterations,
                found.cost,
                best.iterations,
                best.cost
            );
            assert!(
                (found.cost - best.cost).abs() < 1e-7 * best.cost,
                "{cost:?}: {} {}",
                found.cost,
                best.cost
            );
            let freedom = 6.0 * (graph.edges().len() - graph.len() + 1) as f64;
            let expected = if cost == Cost::Geodesic { 0.5 * freedom } else { freedom };
            assert!((found.cost / expected - 1.0).abs() < 0.1, "{cost:?}: {} {expected}", found.cost);
        }
    }
}

#[test]
fn wrong_loops_are_rejected() {
    for (Sample { graph, truth }, percent) in
        [(sphere(20, 25, Errors(0.02, 0.05, 0.0), 7), 30), (torus(25, 20, Errors(0.03, 0.1, 0.0), 8), 50)]
    {
        let (changed, is_wrong) = with_wrong_loops(&graph, percent, half_extent(&truth), 9);
        for cost in [Cost::Geodesic, Cost::Chordal] {
            let mut robust = options(cost);
            robust.robust = Some(Trust::Odometry);
            let found = solve(&changed, &robust).expect("a solution");
            let kept = (0..is_wrong.len()).filter(|&k| is_wrong[k] && found.is_used[k]).count();
            let lost = (0..is_wrong.len()).filter(|&k| !is_wrong[k] && !found.is_used[k]).count();
            assert_eq!((kept, lost), (0, 0), "{cost:?}");
            let best = solve(&graph.with_edges(|k| !is_wrong[k]), &options(cost)).expect("a solution");
            assert!((found.cost - best.cost).abs() < 1e-6 * best.cost);
        }
    }
}

/// Information that is 100 times too large or too small does not matter.
#[test]
fn wrong_information_is_noticed() {
    for factor in [0.01, 100.0] {
        let Sample { graph, truth } = sphere(16, 20, Errors(0.02, 0.05, 0.0), 10);
        let mut scaled = graph.with_edges(|_| false);
        for edge in graph.edges() {
            let information = edge.information.map(|row| row.map(|x| factor * x));
            scaled.add_edge(edge.from, edge.to, edge.from_to, information).expect("an edge");
        }
        let (changed, is_wrong) = with_wrong_loops(&scaled, 30, half_extent(&truth), 11);
        let mut robust = options(Cost::Geodesic);
        robust.robust = Some(Trust::Odometry);
        let found = solve(&changed, &robust).expect("a solution");
        assert!((0..is_wrong.len()).all(|k| found.is_used[k] != is_wrong[k]), "{factor}");
    }
}

/// Without trust in odometry, wrong odometry is found, too.
#[test]
fn wrong_odometry_is_found_without_trust() {
    let Sample { graph, .. } = sphere(16, 20, Errors(0.02, 0.05, 0.0), 12);
    let mut changed = graph.with_edges(|_| false);
    let is_wrong = |k: usize| k == 100;
    for (k, edge) in graph.edges().iter().enumerate() {
        let pose = if is_wrong(k) {
            Similarity::from_quaternion(1.0, [0.1, 0.9, 0.3, -0.2], [7.0, 1.0, 2.0]).expect("a pose")
        } else {
            edge.from_to
        };
        changed.add_edge(edge.from, edge.to, pose, edge.information).expect("an edge");
    }
    assert!(!is_loop(&changed.edges()[100]));
    let mut robust = options(Cost::Geodesic);
    robust.robust = Some(Trust::Nothing);
    let found = solve(&changed, &robust).expect("a solution");
    assert!((0..graph.edges().len()).all(|k| found.is_used[k] != is_wrong(k)));
}

/// A single loop at the end of a ring is right where drift explains its error, and wrong where it does not.
#[test]
fn a_single_loop_is_judged_by_the_drift() {
    let Sample { graph, .. } = ring(Kind::Rigid, 40, Errors(0.01, 0.02, 0.0), 13);
    let mut robust = options(Cost::Geodesic);
    robust.robust = Some(Trust::Odometry);
    let found = solve(&graph, &robust).expect("a solution");
    assert!(found.is_used.iter().all(|used| *used));
    let (changed, is_wrong) = with_wrong_loops(&graph, 100, 5.0, 14);
    let found = solve(&changed, &robust).expect("a solution");
    assert!((0..40).all(|k| found.is_used[k] != is_wrong[k]));
}

/// Thirty scans whose scale drifts by 2 % per step, closed: all scales are right within 1 %.
#[test]
fn scales_of_a_closed_ring_do_not_drift() {
    let Sample { graph, truth } = ring(Kind::Similarity, 30, Errors(0.002, 0.005, 0.02), 15);
    let errors = |poses: &[Similarity]| -> f64 {
        let ratios = relative(poses)
            .into_iter()
            .zip(relative(&truth))
            .map(|(a, b)| (a.scale() / b.scale() - 1.0).abs());
        ratios.fold(0.0, f64::max)
    };
    let open = solve(&graph.with_edges(|k| k != 29), &options(Cost::Geodesic)).expect("a solution");
    let closed = solve(&graph, &options(Cost::Geodesic)).expect("a solution");
    assert!(errors(&open.poses) > 0.05, "{}", errors(&open.poses));
    // Each scale is that of the noise of single edges; the drift itself is gone.
    assert!(
        (closed.poses[29].scale() / closed.poses[0].scale() / truth[29].scale() * truth[0].scale() - 1.0)
            .abs()
            < 0.03
    );
    // A drift that is the same in every step is removed altogether.
    let exact = ring(Kind::Similarity, 30, Errors(0.0, 0.0, 0.0), 16);
    let mut drifting = exact.graph.with_edges(|_| false);
    for edge in exact.graph.edges() {
        let (rotation, translation) = (edge.from_to.rotation(), edge.from_to.translation());
        let pose = Similarity::new(1.02 * edge.from_to.scale(), rotation, translation).expect("a pose");
        drifting.add_edge(edge.from, edge.to, pose, edge.information).expect("an edge");
    }
    let closed = solve(&drifting, &options(Cost::Geodesic)).expect("a solution");
    let truth = exact.truth;
    let ratios = relative(&closed.poses)
        .into_iter()
        .zip(relative(&truth))
        .map(|(a, b)| (a.scale() / b.scale() - 1.0).abs());
    assert!(ratios.fold(0.0, f64::max) < 0.01);
    assert_eq!(solve(&drifting, &options(Cost::Chordal)), Err(Error::ChordalSimilarity));
}

/// Squared errors in units of the covariance have the mean 1 per unknown.
#[test]
fn covariances_are_those_of_the_errors() {
    for (kind, unknowns) in [(Kind::Rigid, 6), (Kind::Similarity, 7)] {
        let (mut sum, mut count) = (0.0, 0);
        for seed in 0..40 {
            let scale = if kind == Kind::Similarity { 0.01 } else { 0.0 };
            let Sample { graph, truth } = ring(kind, 12, Errors(0.01, 0.02, scale), 100 + seed);
            let mut given = options(Cost::Geodesic);
            given.gauge = Some(0);
            let solution = solve(&graph, &given).expect("a solution");
            let covariances = solution.covariances(&graph, &given).expect("covariances");
            assert_eq!(solution.held, [0]);
            assert_eq!(covariances[0], [[0.0; 7]; 7]);
            for vertex in [3, 6, 11] {
                let truth = relative(&truth)[vertex];
                let found = relative(&solution.poses)[vertex];
                // truth = found · error.
                let error = truth.then(&found.inverse());
                let [w, x, y, z] = error.quaternion();
                let angle = 2.0 * norm([x, y, z]).atan2(w);
                let turn = [x, y, z].map(|v| v * if angle > 0.0 { angle / norm([x, y, z]) } else { 0.0 });
                let shift = error.translation();
                let e = [turn[0], turn[1], turn[2], shift[0], shift[1], shift[2], error.scale().ln()];
                let variance = |k: usize| covariances[vertex][k][k];
                sum += (0..unknowns).map(|k| e[k] * e[k] / variance(k)).sum::<f64>();
                count += unknowns;
            }
        }
        let mean = sum / count as f64;
        assert!((mean - 1.0).abs() < 0.12, "{kind:?}: {mean}");
    }
}

#[test]
fn components_are_solved_side_by_side_and_fixed_vertices_stay() {
    let step = Similarity::from_translation([1.0, 0.0, 0.0]);
    let mut graph = PoseGraph::new(Kind::Rigid);
    for id in [5, 6, 7, 50, 60] {
        graph.add_vertex(id, Some(Similarity::from_translation([id as f64, 9.0, 9.0]))).expect("a vertex");
    }
    let information = isotropic(0.1, 0.1, 1.0);
    for (a, b) in [(0, 1), (1, 2), (3, 4)] {
        graph.add_edge(a, b, step, information).expect("an edge");
    }
    graph.fix(2).expect("a vertex with a pose");
    let found = solve(&graph, &options(Cost::Chordal)).expect("a solution");
    assert_eq!(found.components, [0, 0, 0, 1, 1]);
    assert_eq!(found.held, [2, 3]);
    assert_eq!(found.poses[2].translation(), [7.0, 9.0, 9.0]);
    assert!((found.poses[0].translation()[0] - 5.0).abs() < 1e-12);
    assert!((found.poses[4].translation()[0] - 51.0).abs() < 1e-12);
    // A vertex alone, and no vertex.
    let mut alone = PoseGraph::new(Kind::Rigid);
    assert_eq!(solve(&alone, &options(Cost::Geodesic)), Err(Error::Empty));
    alone.add_vertex(1, None).expect("a vertex");
    for robust in [None, Some(Trust::Odometry), Some(Trust::Nothing)] {
        let mut given = options(Cost::Geodesic);
        given.robust = robust;
        assert_eq!(solve(&alone, &given).expect("a solution").poses, [Similarity::IDENTITY]);
    }
    let mut given = options(Cost::Geodesic);
    given.start = Start::Poses;
    assert_eq!(solve(&alone, &given), Err(Error::NoPose(1)));
    given.gauge = Some(3);
    assert_eq!(solve(&alone, &given), Err(Error::MissingVertex(3)));
    given.tolerance = f64::NAN;
    given.gauge = None;
    assert!(solve(&alone, &given).unwrap_err().to_string().starts_with("`tolerance` must be finite"));
}

/// Edges of the same graph in any units and at any place give the same poses.
#[test]
fn units_do_not_matter() {
    let Sample { graph, .. } = sphere(10, 12, Errors(0.05, 0.1, 0.0), 17);
    let plain = solve(&graph, &options(Cost::Geodesic)).expect("a solution");
    for unit in [1e-6, 1e6] {
        let mut scaled = graph.with_edges(|_| false);
        for edge in graph.edges() {
            let pose =
                Similarity::new(1.0, edge.from_to.rotation(), edge.from_to.translation().map(|x| unit * x));
            let mut information = edge.information;
            for (i, row) in information.iter_mut().enumerate() {
                for (j, x) in row.iter_mut().enumerate() {
                    let powers = [i, j].iter().filter(|&&k| (3..6).contains(&k)).count();
                    *x /= unit.powi(powers as i32);
                }
            }
            scaled.add_edge(edge.from, edge.to, pose.expect("a pose"), information).expect("an edge");
        }
        let found = solve(&scaled, &options(Cost::Geodesic)).expect("a solution");
        assert!((found.cost - plain.cost).abs() < 1e-6 * plain.cost, "{unit}: {} {}", found.cost, plain.cost);
    }
}
