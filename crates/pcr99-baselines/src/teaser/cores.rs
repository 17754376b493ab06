//! Core numbers: vertices are removed in the order of their degree; the degree at removal is the core number.

use pcr99::stop::{StopCheck, StopRequest};

use super::graph::{Graph, members};

/// Number of vertices between two stop checks.
const BETWEEN_CHECKS: usize = 64;

/// Order of removal and core numbers.
#[derive(Debug, Default)]
pub(super) struct Cores {
    pub(super) order: Vec<u32>,
    /// Core numbers in that order, hence ascending.
    pub(super) numbers: Vec<u32>,
}

impl Cores {
    /// Repeatedly removes a vertex of smallest degree; ties in a fixed order. The time is linear in the number of edges: vertices are sorted by degree in
    /// blocks, and a vertex that loses a neighbour is swapped with the first of its block.
    pub(super) fn peel(&mut self, graph: &Graph, stop: StopCheck<'_>) -> Result<(), StopRequest> {
        let n = graph.len();
        let degree_of = |v: usize| graph.row(v).iter().map(|word| word.count_ones()).sum::<u32>();
        let mut degrees: Vec<u32> = (0..n).map(degree_of).collect();
        // First place of the block of each degree.
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
                    // Removed vertices are not part of the block.
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
        /// Core number by definition: the largest k for which the vertex is in a set where every vertex has k neighbours.
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
