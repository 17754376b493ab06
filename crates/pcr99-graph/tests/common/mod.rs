//! Generated graphs with known poses, and wrong edges for any graph.
#![allow(dead_code, reason = "each test uses a part")]

use pcr99_base::{Similarity, random::Random};
use pcr99_graph::{Edge, Information, Kind, PoseGraph, isotropic};

/// A graph and its true poses.
pub(crate) struct Sample {
    pub(crate) graph: PoseGraph,
    pub(crate) truth: Vec<Similarity>,
}

/// Standard deviations of the errors of edges: rotation in radians, translation, logarithm of the scale.
#[derive(Clone, Copy)]
pub(crate) struct Errors(pub(crate) f64, pub(crate) f64, pub(crate) f64);

fn quaternion(about_z: f64, about_y: f64) -> [f64; 4] {
    let ((s, c), (t, d)) = ((0.5 * about_z).sin_cos(), (0.5 * about_y).sin_cos());
    [c * d, -s * t, c * t, s * d]
}

/// A small random motion.
fn motion(random: &mut Random, Errors(rotation, translation, scale): Errors) -> Similarity {
    let mut three = |size: f64| [0; 3].map(|_| size * random.gaussian());
    let ([x, y, z], shift) = (three(0.5 * rotation), three(translation));
    let scale = if scale > 0.0 { (scale * random.gaussian()).exp() } else { 1.0 };
    Similarity::from_quaternion(scale, [1.0, x, y, z], shift).expect("a motion")
}

/// A graph with these poses and edges between these vertices, measured with errors.
fn measured(
    kind: Kind,
    truth: Vec<Similarity>,
    pairs: &[(usize, usize)],
    errors: Errors,
    seed: u64,
) -> Sample {
    let mut random = Random::new(seed);
    let mut graph = PoseGraph::new(kind);
    for id in 0..truth.len() {
        graph.add_vertex(id as u64, None).expect("a new vertex");
    }
    let deviation = |x: f64| if x > 0.0 { x } else { 1.0 };
    let information: Information = isotropic(deviation(errors.0), deviation(errors.1), deviation(errors.2));
    for &(a, b) in pairs {
        let exact = truth[b].then(&truth[a].inverse());
        graph.add_edge(a, b, motion(&mut random, errors).then(&exact), information).expect("an edge");
    }
    Sample { graph, truth }
}

/// Rings of vertices on a sphere of radius 10, connected along a spiral and to the ring before.
pub(crate) fn sphere(rings: usize, each: usize, errors: Errors, seed: u64) -> Sample {
    let at = |k: usize| {
        let (ring, place) = ((k as f64) / each as f64, (k % each) as f64);
        let (high, around) = (3.0 * (ring + 0.5) / rings as f64, std::f64::consts::TAU * place / each as f64);
        let place = [10.0 * high.sin() * around.cos(), 10.0 * high.sin() * around.sin(), 10.0 * high.cos()];
        Similarity::from_quaternion(1.0, quaternion(around, high), place).expect("a pose")
    };
    grid(rings * each, each, at, errors, seed)
}

/// The same on a torus.
pub(crate) fn torus(rings: usize, each: usize, errors: Errors, seed: u64) -> Sample {
    let at = |k: usize| {
        let turn = std::f64::consts::TAU * (k as f64) / (rings * each) as f64;
        let around = std::f64::consts::TAU * ((k % each) as f64) / each as f64;
        let radius = 10.0 + 3.0 * around.cos();
        let place = [radius * turn.cos(), radius * turn.sin(), 3.0 * around.sin()];
        Similarity::from_quaternion(1.0, quaternion(turn, around), place).expect("a pose")
    };
    grid(rings * each, each, at, errors, seed)
}

fn grid(count: usize, each: usize, at: impl Fn(usize) -> Similarity, errors: Errors, seed: u64) -> Sample {
    let truth = (0..count).map(at).collect();
    let mut pairs: Vec<(usize, usize)> = (1..count).map(|k| (k - 1, k)).collect();
    pairs.extend((each..count).map(|k| (k - each, k)));
    measured(Kind::Rigid, truth, &pairs, errors, seed)
}

/// A closed ring of vertices on a circle of radius 5; the scales of similarities grow and shrink by a factor of 2 along it.
pub(crate) fn ring(kind: Kind, count: usize, errors: Errors, seed: u64) -> Sample {
    let at = |k: usize| {
        let turn = std::f64::consts::TAU * (k as f64) / count as f64;
        let scale = if kind == Kind::Similarity { (0.7 * turn.sin()).exp() } else { 1.0 };
        let place = [5.0 * turn.cos(), 5.0 * turn.sin(), 0.0];
        Similarity::from_quaternion(scale, quaternion(turn, 0.1), place).expect("a pose")
    };
    let pairs: Vec<(usize, usize)> = (0..count).map(|k| (k, (k + 1) % count)).collect();
    measured(kind, (0..count).map(at).collect(), &pairs, errors, seed)
}

/// Whether an edge is no odometry: its vertices do not follow each other.
pub(crate) fn is_loop(edge: &Edge) -> bool {
    edge.from.abs_diff(edge.to) != 1
}

/// The graph with this percentage of its loops replaced by random poses, with translations up to `extent` along each axis; and which edges are wrong.
pub(crate) fn with_wrong_loops(
    graph: &PoseGraph,
    percent: usize,
    extent: f64,
    seed: u64,
) -> (PoseGraph, Vec<bool>) {
    let mut random = Random::new(seed);
    let mut loops: Vec<usize> = (0..graph.edges().len()).filter(|&k| is_loop(&graph.edges()[k])).collect();
    let mut is_wrong = vec![false; graph.edges().len()];
    for k in 0..loops.len() * percent / 100 {
        let other = k + random.below(loops.len() - k);
        loops.swap(k, other);
        is_wrong[loops[k]] = true;
    }
    let mut changed = graph.with_edges(|_| false);
    for (edge, is_wrong) in graph.edges().iter().zip(&is_wrong) {
        let pose = if *is_wrong {
            let place = [0; 3].map(|_| extent * (2.0 * random.uniform() - 1.0));
            Similarity::from_quaternion(1.0, [0; 4].map(|_| random.gaussian()), place).expect("a pose")
        } else {
            edge.from_to
        };
        changed.add_edge(edge.from, edge.to, pose, edge.information).expect("an edge");
    }
    (changed, is_wrong)
}

/// Half the largest extent of the poses along an axis.
pub(crate) fn half_extent(poses: &[Similarity]) -> f64 {
    let along = |axis: usize| {
        let all = poses.iter().map(|pose| pose.translation()[axis]);
        let (low, high) = all.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), x| (l.min(x), h.max(x)));
        0.5 * (high - low)
    };
    (0..3).map(along).fold(0.0, f64::max)
}
