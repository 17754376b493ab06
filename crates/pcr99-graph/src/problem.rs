//! The unknowns of a graph: which vertices are held, and the sparse structure of the others.

use crate::{PoseGraph, graph::components, sparse::Structure};

/// No unknown.
pub(crate) const HELD: u32 = u32::MAX;

/// Unknowns, and the edges that are used.
#[derive(Debug)]
pub(crate) struct Problem {
    /// Number of the unknown of each vertex, or [`HELD`].
    pub(crate) unknown_of: Vec<u32>,
    /// Vertex of each unknown.
    pub(crate) vertex_of: Vec<u32>,
    /// Indices of the edges that are used.
    pub(crate) edges: Vec<u32>,
    /// For each used edge, its block in the system, or [`HELD`] when one of its vertices is held.
    pub(crate) block_of: Vec<u32>,
    /// Structure of the system.
    pub(crate) structure: Structure,
    /// Held vertices: those that the caller fixed, and one of each component without a fixed one.
    pub(crate) held: Vec<usize>,
    /// Indices of the positions that are used.
    pub(crate) positions: Vec<usize>,
}

impl Problem {
    /// The problem with the edges for which `is_used` is true. `gauge` is held in its component.
    pub(crate) fn new(graph: &PoseGraph, gauge: Option<usize>, is_used: impl Fn(usize) -> bool) -> Self {
        Self::anchored(graph, gauge, is_used, &[], Vec::new())
    }

    /// The same with some positions, which hold the components of the vertices in `anchors`.
    pub(crate) fn anchored(
        graph: &PoseGraph,
        gauge: Option<usize>,
        is_used: impl Fn(usize) -> bool,
        anchors: &[usize],
        positions: Vec<usize>,
    ) -> Self {
        let used: Vec<u32> = (0..graph.edges().len()).filter(|&k| is_used(k)).map(|k| k as u32).collect();
        let ends = |k: &u32| (graph.edges()[*k as usize].from, graph.edges()[*k as usize].to);
        let component = components(graph.len(), used.iter().map(ends));
        let mut held = graph.fixed().to_vec();
        let mut is_tied = vec![false; graph.len()];
        held.iter().chain(anchors).for_each(|&v| is_tied[component[v]] = true);
        // The vertex with most edges: errors of the others are smallest relative to it. Ties go to the first.
        let mut degree = vec![0_u32; graph.len()];
        used.iter().map(ends).for_each(|(a, b)| {
            degree[a] += 1;
            degree[b] += 1;
        });
        let mut best: Vec<usize> = vec![usize::MAX; graph.len()];
        for v in 0..graph.len() {
            let best = &mut best[component[v]];
            let is_asked = |v: usize| gauge == Some(v);
            if *best == usize::MAX || is_asked(v) || (!is_asked(*best) && degree[v] > degree[*best]) {
                *best = v;
            }
        }
        held.extend((0..graph.len()).filter(|&c| best[c] != usize::MAX && !is_tied[c]).map(|c| best[c]));
        let mut unknown_of = vec![0; graph.len()];
        held.iter().for_each(|&v| unknown_of[v] = HELD);
        let vertex_of: Vec<u32> =
            (0..graph.len()).filter(|&v| unknown_of[v] != HELD).map(|v| v as u32).collect();
        vertex_of.iter().enumerate().for_each(|(k, &v)| unknown_of[v as usize] = k as u32);
        let (mut pairs, mut block_of) = (Vec::new(), Vec::new());
        for (from, to) in used.iter().map(ends) {
            let pair = (unknown_of[from], unknown_of[to]);
            if pair.0 == HELD || pair.1 == HELD {
                block_of.push(HELD);
            } else {
                block_of.push(pairs.len() as u32);
                pairs.push(pair);
            }
        }
        let structure = Structure::new(vertex_of.len(), &pairs);
        Self { unknown_of, vertex_of, edges: used, block_of, structure, held, positions }
    }

    /// Number of pairs of the structure.
    pub(crate) fn pairs(&self) -> usize {
        self.block_of.iter().filter(|&&block| block != HELD).count()
    }
}
