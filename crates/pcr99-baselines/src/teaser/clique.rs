//! Maximum clique: exact, by branch and bound.
//!
//! Vertices are removed in the order of their degree; the degree at removal is the core number of a vertex, and a clique with that vertex has at most one
//! member more. Each clique is found at its member that is removed first, among the neighbours that are removed later. There, a greedy
//! colouring gives the bound: vertices with k colours contain no clique of more than k.

use pcr99::stop::{StopCheck, StopRequest};

use super::{
    cores::Cores,
    graph::{Graph, members},
};

/// Fraction of all vertices above which the core itself is taken instead of its maximum clique, as published.
const CORE_PART: f64 = 0.5;
/// Number of branches between two stop checks.
const BETWEEN_CHECKS: u64 = 64;

/// Finds large cliques; keeps its buffers.
#[derive(Debug, Default)]
pub(super) struct Cliques {
    core: Cores,
    /// Graph with the vertices in reverse order of removal.
    ordered: Graph,
    /// Largest clique so far, as places in that order.
    best: Vec<u32>,
    local: Local,
}

impl Cliques {
    /// Maximum clique of `graph`, or its core when that is most of the graph. When stopped: the largest clique so far, and the request.
    ///
    /// The time is exponential in the worst case, as for any exact method. Graphs of matches are far from it.
    pub(super) fn largest(&mut self, graph: &Graph, stop: StopCheck<'_>) -> (Vec<u32>, Option<StopRequest>) {
        if let Err(request) = self.core.peel(graph, stop) {
            return (Vec::new(), Some(request));
        }
        let n = graph.len();
        let deepest = self.core.numbers.last().copied().unwrap_or(0);
        if f64::from(deepest) > CORE_PART * n as f64 {
            // Vertices with the largest core number are removed last.
            let first = self.core.numbers.partition_point(|&number| number < deepest);
            let mut core = self.core.order[first..].to_vec();
            core.sort_unstable();
            return (core, None);
        }
        self.core.order.reverse();
        self.core.numbers.reverse();
        if let Err(request) = self.ordered.assign_permuted(graph, &self.core.order, stop) {
            return (Vec::new(), Some(request));
        }
        let request = self.greedy(stop).or_else(|| self.search(stop));
        let mut clique: Vec<u32> = self.best.iter().map(|&place| self.core.order[place as usize]).collect();
        clique.sort_unstable();
        (clique, request)
    }

    /// Greedy start: extends each vertex repeatedly by the common neighbour that is removed last.
    fn greedy(&mut self, stop: StopCheck<'_>) -> Option<StopRequest> {
        self.best.clear();
        let (mut clique, mut common) = (Vec::new(), Vec::new());
        for v in 0..self.ordered.len() {
            if (self.core.numbers[v] as usize) < self.best.len() {
                continue;
            }
            if let Some(request) = stop() {
                return Some(request);
            }
            clique.clear();
            clique.push(v as u32);
            common.clear();
            common.extend_from_slice(self.ordered.row(v));
            loop {
                let Some(u) = members(&common).next() else { break };
                clique.push(u as u32);
                common.iter_mut().zip(self.ordered.row(u)).for_each(|(c, row)| *c &= row);
            }
            if clique.len() > self.best.len() {
                std::mem::swap(&mut clique, &mut self.best);
            }
        }
        None
    }

    /// Searches the cliques of each vertex with its neighbours that are removed later.
    fn search(&mut self, stop: StopCheck<'_>) -> Option<StopRequest> {
        for v in 0..self.ordered.len() {
            let least = self.best.len();
            if (self.core.numbers[v] as usize) < least {
                continue;
            }
            // Each member of a larger clique has at least as many neighbours as the best clique has members.
            let numbers = &self.core.numbers;
            let before = members(self.ordered.row(v)).take_while(|&u| u < v);
            self.local.vertices.clear();
            self.local.vertices.extend(before.filter(|&u| numbers[u] as usize >= least).map(|u| u as u32));
            if self.local.vertices.len() < least {
                continue;
            }
            if let Some(request) = stop() {
                return Some(request);
            }
            let request = self.local.improve(&self.ordered, least, stop);
            if self.local.improved {
                self.best.clear();
                self.best.push(v as u32);
                self.best.extend(self.local.best.iter().map(|&k| self.local.vertices[k as usize]));
            }
            if request.is_some() {
                return request;
            }
        }
        None
    }
}

/// Neighbourhood of one vertex, as a separate graph.
#[derive(Debug, Default)]
struct Local {
    /// Vertices of the neighbourhood in the ordered graph.
    vertices: Vec<u32>,
    graph: Graph,
    /// Members of the current branch.
    chosen: Vec<u32>,
    /// Largest clique in local numbers, without the vertex itself.
    best: Vec<u32>,
    improved: bool,
    /// For each depth: the candidates as a row of bits, and the candidates to branch on with their colours.
    levels: Vec<Level>,
    uncoloured: Vec<u64>,
    class: Vec<u64>,
    branches: u64,
}

#[derive(Debug, Default)]
struct Level {
    candidates: Vec<u64>,
    branches: Vec<(u32, u32)>,
}

impl Local {
    /// Searches a clique of at least `least` vertices, then larger ones.
    fn improve(&mut self, whole: &Graph, least: usize, stop: StopCheck<'_>) -> Option<StopRequest> {
        let m = self.vertices.len();
        self.graph.assign_induced(whole, &self.vertices);
        self.chosen.clear();
        self.improved = false;
        let words = m.div_ceil(64);
        self.level(0).candidates.clear();
        self.levels[0].candidates.resize(words, u64::MAX);
        if !m.is_multiple_of(64) {
            self.levels[0].candidates[words - 1] = (1 << (m % 64)) - 1;
        }
        let mut largest = least - 1;
        self.branch(0, &mut largest, stop)
    }

    fn level(&mut self, depth: usize) -> &mut Level {
        if self.levels.len() <= depth {
            self.levels.resize_with(depth + 1, Level::default);
        }
        &mut self.levels[depth]
    }

    /// Extends the current clique by every candidate that may lead to more than `largest` members.
    fn branch(&mut self, depth: usize, largest: &mut usize, stop: StopCheck<'_>) -> Option<StopRequest> {
        self.branches += 1;
        if self.branches.is_multiple_of(BETWEEN_CHECKS)
            && let Some(request) = stop()
        {
            return Some(request);
        }
        self.colour(depth, largest.saturating_sub(depth));
        self.level(depth + 1);
        // In decreasing order of colours: when one candidate cannot improve, no earlier one can.
        while let Some((v, colour)) = self.levels[depth].branches.pop() {
            if depth + colour as usize <= *largest {
                return None;
            }
            self.chosen.push(v);
            let (upper, lower) = self.levels.split_at_mut(depth + 1);
            let (candidates, next) = (&mut upper[depth].candidates, &mut lower[0].candidates);
            next.clear();
            next.extend(candidates.iter().zip(self.graph.row(v as usize)).map(|(c, row)| c & row));
            candidates[v as usize / 64] &= !(1 << (v % 64));
            if next.iter().any(|&word| word != 0) {
                if let Some(request) = self.branch(depth + 1, largest, stop) {
                    return Some(request);
                }
            } else if self.chosen.len() > *largest {
                *largest = self.chosen.len();
                self.best.clone_from(&self.chosen);
                self.improved = true;
            }
            self.chosen.pop();
        }
        None
    }

    /// Colours the candidates of a depth, starting with colour 1. Lists those with a colour above `spare`, in order of colour.
    fn colour(&mut self, depth: usize, spare: usize) {
        let Level { candidates, branches } = &mut self.levels[depth];
        branches.clear();
        self.uncoloured.clear();
        self.uncoloured.extend_from_slice(candidates);
        let mut colour = 0;
        let mut first_word = 0;
        while first_word < self.uncoloured.len() {
            if self.uncoloured[first_word] == 0 {
                first_word += 1;
                continue;
            }
            colour += 1;
            self.class.clear();
            self.class.extend_from_slice(&self.uncoloured);
            for word in first_word..self.class.len() {
                while self.class[word] != 0 {
                    let v = 64 * word + self.class[word].trailing_zeros() as usize;
                    self.class[word] &= self.class[word] - 1;
                    self.uncoloured[word] &= !(1 << (v % 64));
                    // Its neighbours need another colour. Earlier words are done.
                    let row = &self.graph.row(v)[word..];
                    self.class[word..].iter_mut().zip(row).for_each(|(c, row)| *c &= !row);
                    if colour as usize > spare {
                        branches.push((v as u32, colour));
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::cores::tests::random_graph;
    use super::*;
    use pcr99::{random::Random, stop};
    use proptest::prelude::*;

    /// Comparison with all sets of at most 20 vertices.
    fn brute_force(graph: &Graph) -> usize {
        let n = graph.len();
        let rows: Vec<u32> = (0..n).map(|i| graph.row(i)[0] as u32).collect();
        let all_joined = |set: u32| (0..n).all(|i| set >> i & 1 == 0 || set & !(rows[i] | 1 << i) == 0);
        (0..1_u32 << n).filter(|&set| all_joined(set)).map(u32::count_ones).max().unwrap_or(0) as usize
    }

    fn is_clique(graph: &Graph, set: &[u32]) -> bool {
        set.iter().all(|&i| set.iter().all(|&j| i == j || graph.has(i as usize, j as usize)))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]
        #[test]
        fn as_large_as_any(n in 1_usize..14, density in 0.0..1.0_f64, seed in any::<u64>()) {
            let graph = random_graph(n, density, seed);
            let mut cliques = Cliques::default();
            let (found, request) = cliques.largest(&graph, &stop::never);
            prop_assert_eq!(request, None);
            cliques.core.peel(&graph, &stop::never).unwrap();
            if f64::from(*cliques.core.numbers.last().unwrap()) <= 0.5 * n as f64 {
                prop_assert!(is_clique(&graph, &found));
                prop_assert_eq!(found.len(), brute_force(&graph));
            } else {
                prop_assert!(found.len() >= brute_force(&graph));
            }
        }
    }

    #[test]
    fn finds_a_hidden_clique() {
        let mut graph = random_graph(300, 0.2, 7);
        let mut random = Random::new(8);
        let hidden: Vec<usize> = (0..25).map(|k| 12 * k + random.below(12)).collect();
        for &i in &hidden {
            hidden.iter().filter(|&&j| j != i).for_each(|&j| graph.join(i, j));
        }
        let (found, _) = Cliques::default().largest(&graph, &stop::never);
        assert_eq!(found, hidden.iter().map(|&i| i as u32).collect::<Vec<_>>());
    }

    /// A graph of many words where the greedy start is not optimal: complete except for a perfect matching.
    #[test]
    fn nearly_complete_graphs_are_quick() {
        let mut graph = Graph::default();
        graph.clear(700);
        for i in 0..300 {
            for j in (0..i).filter(|&j| j / 2 != i / 2) {
                graph.join(i, j);
            }
        }
        let (found, _) = Cliques::default().largest(&graph, &stop::never);
        assert!(is_clique(&graph, &found));
        assert_eq!(found.len(), 150);
    }

    #[test]
    fn a_graph_without_edges_and_a_full_one() {
        let mut graph = Graph::default();
        graph.clear(5);
        assert_eq!(Cliques::default().largest(&graph, &stop::never).0.len(), 1);
        let full = random_graph(65, 2.0, 1);
        assert_eq!(Cliques::default().largest(&full, &stop::never).0, (0..65).collect::<Vec<u32>>());
        graph.clear(0);
        assert!(Cliques::default().largest(&graph, &stop::never).0.is_empty());
    }

    /// A dense random graph would take years. When told to stop, the search returns a clique.
    #[test]
    fn stops_when_told() {
        let graph = random_graph(1000, 0.5, 3);
        let asked = std::cell::Cell::new(0);
        let after_100 = || {
            asked.set(asked.get() + 1);
            (asked.get() > 100).then_some(StopRequest::TimeLimit)
        };
        let (found, request) = Cliques::default().largest(&graph, &after_100);
        assert_eq!((request, asked.get()), (Some(StopRequest::TimeLimit), 101));
        assert!(is_clique(&graph, &found) && found.len() > 5);
    }
}
