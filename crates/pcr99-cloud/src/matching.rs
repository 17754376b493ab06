//! Matching: exact nearest neighbours between the descriptors of two clouds, both ways.

use pcr99_base::kernel::nearest::{Nearest, Scratch, is_any_nearer, nearest};
use rayon::prelude::*;

use crate::{
    descriptor_index::{DescriptorIndex, principal_directions},
    fpfh::Descriptor,
};

/// Number of queries of one task.
const CHUNK: usize = 256;

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
        let [source, target] = indices(source, target);
        let numbers = |found: Vec<Nearest>| found.into_iter().map(|nearest| nearest.number).collect();
        let (to_target, to_source) =
            rayon::join(|| nearest_of_all(&source, &target), || nearest_of_all(&target, &source));
        Self { to_target: numbers(to_target), to_source: numbers(to_source) }
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

/// Pairs of descriptors that are mutual nearest neighbours, in the order of the source: as [`NearestBothWays::mutual`], in less time.
pub fn mutual_matches(source: &[Descriptor], target: &[Descriptor]) -> Vec<[u32; 2]> {
    if source.is_empty() || target.is_empty() {
        return Vec::new();
    }
    let [source, target] = indices(source, target);
    let to_target = nearest_of_all(&source, &target);
    // Only the nearest of the sources that chose a target can be its nearest neighbour.
    let mut chosen = vec![Nearest::NONE; target.order.len()];
    for (number, nearest) in (0..).zip(&to_target) {
        let this = &mut chosen[nearest.number as usize];
        *this = (*this).min(Nearest { number, ..*nearest });
    }
    let is_mutual = |targets: &[u32]| {
        let mut scratch = Scratch::default();
        let is_mutual = |&j: &u32| {
            let best = chosen[j as usize];
            let (descriptors, j) = (&target.descriptors, j as usize);
            best != Nearest::NONE && !is_any_nearer(&source.index, descriptors, j, best, &mut scratch)
        };
        targets.iter().copied().filter(is_mutual).map(|j| [chosen[j as usize].number, j]).collect::<Vec<_>>()
    };
    let mut pairs: Vec<[u32; 2]> = target.order.par_chunks(CHUNK).flat_map_iter(is_mutual).collect();
    pairs.sort_unstable();
    pairs
}

/// For each descriptor of several sets, the index of the nearest target; the lowest of equally near ones. Without targets the lists are empty.
pub(crate) fn nearest_targets<const N: usize>(
    sets: [&[Descriptor]; N],
    target: &[Descriptor],
) -> [Vec<u32>; N] {
    if target.is_empty() {
        return [const { Vec::new() }; N];
    }
    let directions = principal_directions([target, &[]]);
    let target = DescriptorIndex::of(target, &directions);
    sets.map(|set| {
        let found = nearest_of_all(&DescriptorIndex::of(set, &directions), &target);
        found.into_iter().map(|nearest| nearest.number).collect()
    })
}

/// Indices of two sets of descriptors, with common directions.
fn indices(source: &[Descriptor], target: &[Descriptor]) -> [DescriptorIndex; 2] {
    let directions = principal_directions([source, target]);
    let (source, target) =
        rayon::join(|| DescriptorIndex::of(source, &directions), || DescriptorIndex::of(target, &directions));
    [source, target]
}

/// For each descriptor of `from`, in their original order, the nearest of `to`.
fn nearest_of_all(from: &DescriptorIndex, to: &DescriptorIndex) -> Vec<Nearest> {
    let search = |queries: &[u32]| {
        let mut scratch = Scratch::default();
        let nearest = |&query| nearest(&to.index, &from.descriptors, query as usize, &mut scratch);
        queries.iter().map(nearest).collect::<Vec<_>>()
    };
    // In the order of the index: similar queries need the same parts of the other index.
    let parts: Vec<Vec<Nearest>> = from.order.par_chunks(CHUNK).map(search).collect();
    let mut nearest = vec![Nearest::NONE; from.order.len()];
    for (&number, found) in from.order.iter().zip(parts.into_iter().flatten()) {
        nearest[number as usize] = found;
    }
    nearest
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
        let d =
            |other: &Descriptor| (0..DIMENSIONS).fold(0.0, |s, k| s + f64::from(from[k] - other[k]).powi(2));
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
        assert!(mutual_matches(&source, &target).into_iter().eq(found.mutual()));
        assert_eq!(one.install(|| mutual_matches(&source, &target)), mutual_matches(&source, &target));
        assert_eq!(nearest_targets([&source], &target), [found.to_target]);
    }

    /// Mixtures of a few histograms with a little noise, of which an index can skip most. Numbers are multiples of 1/64, as they are compared.
    fn mixtures(n: usize, seed: u64) -> Vec<Descriptor> {
        let mut shared = Random::new(0);
        let shapes: Vec<Descriptor> =
            (0..4).map(|_| std::array::from_fn(|_| 60.0 * shared.uniform() as f32)).collect();
        let mut random = Random::new(seed);
        let mut mixture = || -> Descriptor {
            let shares: Vec<f32> = shapes.iter().map(|_| random.uniform() as f32).collect();
            std::array::from_fn(|k| {
                let sum: f32 = shapes.iter().zip(&shares).map(|(shape, share)| 0.25 * share * shape[k]).sum();
                ((sum + random.uniform() as f32) * 64.0).round() / 64.0
            })
        };
        (0..n).map(|_| mixture()).collect()
    }

    #[test]
    fn matches_of_similar_descriptors_equal_brute_force() {
        let (source, target) = (mixtures(1500, 1), mixtures(1100, 2));
        let found = NearestBothWays::between(&source, &target);
        assert!(source.iter().zip(&found.to_target).all(|(d, &j)| j == nearest(d, &target)));
        assert!(target.iter().zip(&found.to_source).all(|(d, &i)| i == nearest(d, &source)));
        assert!(mutual_matches(&source, &target).into_iter().eq(found.mutual()));
        assert!(found.mutual().count() > 100);
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
        assert_eq!(mutual_matches(&[], &random(3, 1)), Vec::<[u32; 2]>::new());
        assert_eq!(nearest_targets([&random(3, 1)], &[]), [Vec::<u32>::new()]);
    }
}
