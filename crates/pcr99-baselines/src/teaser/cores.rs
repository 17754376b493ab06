//! Core numbers: vertices are peeled off by least degree, and the degree at which one goes is its core number.

use pcr99::stop::{StopCheck, StopRequest};

use super::graph::{Graph, members};

/// Vertices between two looks at the clock.
const BETWEEN_CHECKS: usize = 64;

/// The order of peeling with the core numbers.
#[derive(Debug, Default)]
pub(super) struct Cores {
    pub(super) order: Vec<u32>,
    /// In that order, hence ascending.
    pub(super) numbers: Vec<u32>,
}

impl Cores {
    /// Takes off a vertex of least degree, again and again; ties in a fixed order. Linear in the edges: vertices are kept sorted by
    /// degree, in blocks, and one that loses a neighbour changes places with the first of its block.
    pub(super) fn peel(&mut self, graph: &Graph, stop: StopCheck<'_>) -> Result<(), StopRequest> {
        let n = graph.len();
        let degree_of = |v: usize| graph.row(v).iter().map(|word| word.count_ones()).sum::<u32>();
        let mut degrees: Vec<u32> = (0..n).map(degree_of).collect();
        // Where the block of each degree begins.
        let mut begins = vec![0_usize; n + 1];
        degrees.iter().for_each(|&d| begins[d as usize + 1] += 1);
        (1..=n).for_each(|d| begins[d] += begins[d - 1]);
        let mut next = begins.clone();
        let mut place = vec![0; n];
        self.order.clear();
        self.order.resize(n, 0);
        for v in 0..n {
            let slot = &mut next[degrees[v] as usize];
            (self.order[*slot], place[v]) = (v as u32, *slot);
            *slot += 1;
        }
        self.numbers.clear();
        for at in 0..n {
            if at.is_multiple_of(BETWEEN_CHECKS)
                && let Some(request) = stop()
            {
                return Err(request);
            }
            let v = self.order[at] as usize;
            let degree = degrees[v];
            self.numbers.push(degree);
            for u in members(graph.row(v)) {
                if degrees[u] > degree {
                    let block = &mut begins[degrees[u] as usize];
                    // What is peeled already is no part of the block.
                    *block = (*block).max(at + 1);
                    let first = self.order[*block] as usize;
                    self.order.swap(place[u], *block);
                    (place[first], place[u]) = (place[u], *block);
                    *block += 1;
                    degrees[u] -= 1;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use pcr99::{random::Random, stop};
    use proptest::prelude::*;

    pub(in super::super) fn random_graph(n: usize, density: f64, seed: u64) -> Graph {
        let mut random = Random::new(seed);
        let mut graph = Graph::default();
        graph.clear(n);
        for i in 1..n {
            for j in 0..i {
                if random.uniform() < density {
                    graph.join(i, j);
                }
            }
        }
        graph
    }

    proptest! {
        /// The core number of a vertex: the largest k with a set around it where everyone has k neighbours.
        #[test]
        fn core_numbers(n in 1_usize..40, density in 0.0..1.0_f64, seed in any::<u64>()) {
            let graph = random_graph(n, density, seed);
            let mut cores = Cores::default();
            cores.peel(&graph, &stop::never).unwrap();
            let mut left: Vec<bool> = vec![true; n];
            let mut naive = vec![0; n];
            for k in 0..n {
                loop {
                    let degree = |v: usize| members(graph.row(v)).filter(|&u| left[u]).count();
                    let Some(v) = (0..n).find(|&v| left[v] && degree(v) < k) else { break };
                    left[v] = false;
                }
                (0..n).filter(|&v| left[v]).for_each(|v| naive[v] = k);
            }
            prop_assert!(cores.numbers.is_sorted());
            for (&v, &number) in cores.order.iter().zip(&cores.numbers) {
                prop_assert_eq!(number as usize, naive[v as usize]);
            }
        }
    }
}
