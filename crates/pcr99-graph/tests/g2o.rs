//! g2o files: read back as written, and every mistake named with its line.

mod common;

use common::{Errors, ring, sphere};
use pcr99_graph::{Cost, Kind, Options, PoseGraph, RotationInformation, solve};

const QUATERNION: RotationInformation = RotationInformation::Quaternion;

/// A vertex and an edge, with places for mistakes.
const VERTEX: &str = "VERTEX_SE3:QUAT 0 1 2 3 0 0 0 1\nVERTEX_SE3:QUAT 1 0 0 0 0 0 0 1\n";
const UNIT: &str = "1 0 0 0 0 0 1 0 0 0 0 1 0 0 0 1 0 0 1 0 1";

#[test]
fn graphs_survive() {
    let rigid = sphere(4, 5, Errors(0.1, 0.1, 0.0), 1).graph;
    let similar = ring(Kind::Similarity, 6, Errors(0.1, 0.1, 0.1), 2).graph;
    for graph in [rigid, similar] {
        let poses = solve(&graph, &Options::default()).expect("a solution").poses;
        let mut graph = graph.with_poses(&poses).expect("poses");
        graph.fix(3).expect("a vertex");
        for rotations in [QUATERNION, RotationInformation::Radians] {
            let text = graph.to_g2o(rotations);
            let read = PoseGraph::from_g2o(text.as_bytes(), rotations).expect("a graph");
            assert_eq!((read.len(), read.kind(), read.fixed()), (graph.len(), graph.kind(), graph.fixed()));
            for (a, b) in read.edges().iter().zip(graph.edges()) {
                assert_eq!((a.from, a.to, a.information), (b.from, b.to, b.information));
                assert_eq!(a.from_to.translation(), b.from_to.translation());
                assert_eq!(a.from_to.scale(), b.from_to.scale());
                for (x, y) in a.from_to.quaternion().into_iter().zip(b.from_to.quaternion()) {
                    assert!((x - y).abs() < 1e-15);
                }
            }
            // A second time, the text is nearly the same: quaternions are rounded once.
            assert_eq!(read.to_g2o(rotations).lines().count(), text.lines().count());
        }
    }
}

/// The vector part of a quaternion is half of the rotation vector, so that its information is four times as large.
#[test]
fn information_of_rotations_has_two_conventions() {
    let text =
        format!("{VERTEX}EDGE_SE3:QUAT 0 1 0 0 0 0 0 0 1 1 0 0 0.5 0 0 1 0 0 0 0 1 0 0 0 4 0 0 4 0 4\n");
    let half = PoseGraph::from_g2o(text.as_bytes(), QUATERNION).expect("a graph");
    let whole = PoseGraph::from_g2o(text.as_bytes(), RotationInformation::Radians).expect("a graph");
    let [half, whole] = [half, whole].map(|graph| graph.edges()[0].information);
    assert_eq!((half[0][0], whole[0][0]), (1.0, 4.0));
    assert_eq!((half[3][3], whole[3][3]), (1.0, 1.0));
    assert_eq!((half[0][3], half[3][0], whole[0][3]), (0.25, 0.25, 0.5));
}

#[test]
fn comments_and_order_do_not_matter() {
    let text = format!("# a comment\n\nEDGE_SE3:QUAT 0 1 1 0 0 0 0 0 1 {UNIT}\r\n{VERTEX}FIX 0\n");
    let graph = PoseGraph::from_g2o(text.as_bytes(), QUATERNION).expect("a graph");
    assert_eq!((graph.len(), graph.edges().len(), graph.fixed()), (2, 1, &[0][..]));
}

fn error(text: &str) -> String {
    PoseGraph::from_g2o(text.as_bytes(), QUATERNION).expect_err("a mistake").to_string()
}

#[test]
fn mistakes_are_named_with_their_line() {
    let edge = |rest: &str| error(&format!("{VERTEX}EDGE_SE3:QUAT {rest}\n"));
    for (found, expected) in [
        (error("VERTEX_SE2 0 1 2 3\n"), "line 1: `VERTEX_SE2` is not supported: use VERTEX_SE3:QUAT"),
        (error(&format!("{VERTEX}VERTEX_SE3:QUAT 0 0 0 0 0 0 0 1")), "line 3: vertex 0 exists already"),
        (error("VERTEX_SE3:QUAT -1 0 0 0 0 0 0 1"), "line 1: `-1` is no number of a vertex"),
        (error("VERTEX_SE3:QUAT 1 0 0 0 0 0 0 x"), "line 1: `x` is no number"),
        (error("VERTEX_SE3:QUAT 1 NaN 0 0 0 0 0 1"), "line 1: the pose is not valid: the translation"),
        (error("VERTEX_SE3:QUAT 1 0 0 0 0 0 0 0"), "line 1: the pose is not valid: the quaternion"),
        (error("VERTEX_SE3:QUAT 1 0 0 0 1 2 3 4"), "line 1: the quaternion has the length 5.47"),
        (error("VERTEX_SIM3:QUAT 1 0 0 0 0 0 0 1 -2"), "line 1: the pose is not valid: the scale"),
        (
            error(&format!("{VERTEX}VERTEX_SIM3:QUAT 7 0 0 0 0 0 0 1 2")),
            "line 3: the file has vertices or edges of both",
        ),
        (error(""), "the graph has no vertices"),
        (error(&format!("{VERTEX}FIX 9")), "line 3: vertex 9 does not exist"),
        (edge(&format!("0 7 1 0 0 0 0 0 1 {UNIT}")), "line 3: vertex 7 does not exist: add a line for it"),
        (edge(&format!("1 1 1 0 0 0 0 0 1 {UNIT}")), "line 3: the edge leads from vertex 1 to itself"),
        (
            edge("0 1 1 0 0 0 0 0 1 1 0 0"),
            "line 3: `EDGE_SE3:QUAT` needs 30 numbers, but there are 12: the line may be cut off",
        ),
        (
            edge(&format!("0 1 1 0 0 0 0 0 1 {UNIT} 7")),
            "line 3: `EDGE_SE3:QUAT` needs 30 numbers, but there are 31",
        ),
        (
            edge("0 1 1 0 0 0 0 0 1 1 0 0 0 0 0 1 0 0 0 0 1 0 0 0 1 0 0 1 0 inf"),
            "line 3: the information matrix has the number inf",
        ),
        (
            edge("0 1 1 0 0 0 0 0 1 1 0 0 0 0 0 1 0 0 0 0 1 0 0 0 1 0 0 1 0 0"),
            "line 3: the information matrix is not positive definite",
        ),
        (
            edge("0 1 1 0 0 0 0 0 1 1 2 0 0 0 0 1 0 0 0 0 1 0 0 0 1 0 0 1 0 1"),
            "line 3: the information matrix is not positive definite",
        ),
    ] {
        assert!(found.starts_with(expected), "{found}");
    }
    let bytes = [b"VERTEX_SE3:QUAT 0 0 0 0 0 0 0 1\n".as_slice(), &[0xff, 0xfe, b'\n']].concat();
    let found = PoseGraph::from_g2o(&bytes, QUATERNION).expect_err("no text").to_string();
    assert!(found.starts_with("line 2: the bytes are not text"), "{found}");
}

/// Parts for rotation and translation suffice for the chordal cost; the geodesic cost needs the whole matrix.
#[test]
fn coupling_that_is_too_large_is_named_where_it_matters() {
    let text = format!("{VERTEX}EDGE_SE3:QUAT 0 1 1 0 0 0 0 0 1 1 0 0 3 0 0 1 0 0 0 0 1 0 0 0 1 0 0 1 0 1\n");
    let graph = PoseGraph::from_g2o(text.as_bytes(), QUATERNION).expect("a graph");
    let mut options = Options::default();
    let found = solve(&graph, &options).expect_err("not positive definite").to_string();
    assert!(
        found.starts_with("line 3: the information matrix of the edge from 0 to 1 is not positive definite"),
        "{found}"
    );
    assert!(found.ends_with("or use the chordal cost, which does not need the whole"), "{found}");
    options.cost = Cost::Chordal;
    assert!(solve(&graph, &options).expect("a solution").has_converged);
}
