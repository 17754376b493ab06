//! Matching: exact nearest neighbours between the descriptors of two clouds, both ways.

use rayon::prelude::*;

use pcr99_base::kernel::nearest::{Block, Columns, FAR, LANES, Query, blocks, nearest_both_ways, query};

use crate::fpfh::Descriptor;

/// Number of tasks that share the queries: mostly more than there are cores, and few enough that the table of each, with all targets, stays
/// small.
const TASKS: usize = 16;

/// Nearest descriptors, both ways.
#[derive(Debug, Clone, PartialEq)]
pub struct NearestBothWays {
    /// For each source descriptor, the index of the nearest target descriptor.
    pub to_target: Vec<u32>,
    /// For each target descriptor, the index of the nearest source descriptor.
    pub to_source: Vec<u32>,
}

impl NearestBothWays {
    /// Compares all of `source` with all of `target`, in units of 1/64; the lowest index of equally near ones. Both lists are empty when
    /// either side is.
    pub fn between(source: &[Descriptor], target: &[Descriptor]) -> Self {
        if source.is_empty() || target.is_empty() {
            return Self { to_target: Vec::new(), to_source: Vec::new() };
        }
        let queries: Vec<Query> = source.iter().map(query).collect();
        let packed: Vec<Block> = blocks(&target.iter().map(query).collect::<Vec<_>>());
        let per_task = source.len().div_ceil(TASKS);
        let search = |(task, queries): (usize, &[Query])| {
            let mut nearest = vec![u32::MAX; queries.len()];
            let mut columns = Columns::new(packed.len());
            let first = (task * per_task) as i32;
            nearest_both_ways(queries, first, &packed, target.len(), &mut nearest, &mut columns);
            (nearest, columns)
        };
        let parts: Vec<(Vec<u32>, Columns)> = queries.par_chunks(per_task).enumerate().map(search).collect();
        let nearest_source = |k: usize| {
            let (block, lane) = (k / LANES, k % LANES);
            let (mut distance, mut index) = (FAR, -1);
            for (_, columns) in &parts {
                // Earlier tasks have lower indices, so the first of equals stays.
                if columns.distances[block][lane] < distance {
                    (distance, index) = (columns.distances[block][lane], columns.indices[block][lane]);
                }
            }
            index as u32
        };
        Self {
            to_target: parts.iter().flat_map(|part| part.0.iter().copied()).collect(),
            to_source: (0..target.len()).map(nearest_source).collect(),
        }
    }

    /// Pairs that are mutual nearest neighbours, in the order of the source.
    pub fn mutual(&self) -> impl Iterator<Item = [u32; 2]> + '_ {
        let pairs = self.to_target.iter().enumerate().map(|(i, &j)| [i as u32, j]);
        pairs.filter(|[i, j]| self.to_source.get(*j as usize) == Some(i))
    }

    /// All pairs of which one is the nearest of the other.
    pub fn one_way(&self) -> impl Iterator<Item = [u32; 2]> + '_ {
        let there = self.to_target.iter().enumerate().map(|(i, &j)| [i as u32, j]);
        let back = self.to_source.iter().enumerate().map(|(j, &i)| [i, j as u32]);
        there.chain(back).filter(|[i, j]| *i != u32::MAX && *j != u32::MAX)
    }
}

/// Matches pooled from several searches.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MatchPool {
    found: Vec<[u32; 2]>,
}

impl MatchPool {
    /// Adds pairs of indices into the two clouds.
    pub fn extend(&mut self, pairs: impl IntoIterator<Item = [u32; 2]>) {
        self.found.extend(pairs);
    }

    /// The distinct pairs in ascending order. Of more than `most`, those found most often are kept; ties are thinned evenly along the list.
    pub fn into_pairs(mut self, most: usize) -> Vec<[usize; 2]> {
        self.found.sort_unstable();
        let mut counted: Vec<([u32; 2], usize)> =
            self.found.chunk_by(|a, b| a == b).map(|same| (same[0], same.len())).collect();
        let mut least = 1;
        while counted.len() > most {
            let above = counted.iter().filter(|(_, count)| *count > least).count();
            if above > most {
                counted.retain(|(_, count)| *count > least);
                least += 1;
                continue;
            }
            let (room, ties) = (most - above, counted.len() - above);
            let mut seen = 0;
            counted.retain(|(_, count)| {
                let tie = *count <= least;
                seen += usize::from(tie);
                // Keeps a tie where the running number passes a multiple of ties/room.
                !tie || seen * room / ties > (seen - 1) * room / ties
            });
        }
        counted.into_iter().map(|(pair, _)| pair.map(|i| i as usize)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fpfh::DIMENSIONS;
    use pcr99::random::Random;

    fn random(n: usize, seed: u64) -> Vec<Descriptor> {
        let mut random = Random::new(seed);
        (0..n).map(|_| std::array::from_fn(|_| random.below(40) as f32)).collect()
    }

    fn nearest(from: &Descriptor, to: &[Descriptor]) -> u32 {
        let d = |other: &Descriptor| (0..DIMENSIONS).fold(0.0, |s: f32, k| s + (from[k] - other[k]).powi(2));
        (0..to.len()).min_by(|&i, &j| d(&to[i]).total_cmp(&d(&to[j]))).expect("some") as u32
    }

    #[test]
    fn all_tasks_together_equal_brute_force() {
        let (source, mut target) = (random(331, 1), random(203, 2));
        target[100] = target[7];
        let found = NearestBothWays::between(&source, &target);
        assert!(source.iter().zip(&found.to_target).all(|(d, &j)| j == nearest(d, &target)));
        assert!(target.iter().zip(&found.to_source).all(|(d, &i)| i == nearest(d, &source)));
        let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a pool");
        assert_eq!(one.install(|| NearestBothWays::between(&source, &target)), found);
    }

    #[test]
    fn a_shuffled_copy_is_matched_mutually() {
        let source = random(50, 3);
        let target: Vec<Descriptor> = (0..50).map(|k| source[(7 * k + 3) % 50]).collect();
        let found = NearestBothWays::between(&source, &target);
        assert_eq!(found.mutual().count(), 50);
        assert!(found.mutual().all(|[i, j]| (7 * j + 3) % 50 == i));
        let mut pool = MatchPool::default();
        pool.extend(found.mutual());
        pool.extend(found.one_way());
        assert_eq!(pool.clone().into_pairs(usize::MAX).len(), 50);
        pool.extend([[7, 7]]);
        let few = pool.into_pairs(20);
        assert_eq!(few.len(), 20, "the pair found once gives way");
        assert!(!few.contains(&[7, 7]));
    }

    #[test]
    fn nothing_matches_nothing() {
        let found = NearestBothWays::between(&random(3, 1), &[]);
        assert_eq!(found.mutual().count() + found.one_way().count(), 0);
    }
}
