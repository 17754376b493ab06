//! Cleaning: non-finite and duplicate points are removed.

use std::borrow::Cow;

use rayon::prelude::*;

use crate::grid::hash_of;

/// Number of points of one task.
const CHUNK: usize = 1 << 13;
/// Number of points that are compared with each other at a time: their table fits into the first cache.
const BUCKET: usize = 2048;

/// The points that remain, in their original order.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Cleaned {
    /// Finite points, no two equal.
    pub points: Vec<[f64; 3]>,
    /// Index of each of them in the cloud as given.
    pub indices: Vec<u32>,
    /// Number of removed points with a NaN or infinite coordinate.
    pub not_finite: usize,
    /// Number of removed points with the coordinates of an earlier point.
    pub duplicates: usize,
}

impl Cleaned {
    /// Removes non-finite and duplicate points.
    ///
    /// Points after the first 2³² − 2 are ignored.
    pub fn of(points: &[[f64; 3]]) -> Self {
        let faults = Faults::of(points);
        let indices = faults.remaining(points).collect();
        let (not_finite, duplicates) = (faults.not_finite, faults.duplicates.len());
        Self { points: faults.remove_from(Cow::Borrowed(points)), indices, not_finite, duplicates }
    }
}

/// What is wrong with the points of a cloud.
#[derive(Debug)]
pub(crate) struct Faults {
    /// Number of points with a NaN or infinite coordinate.
    pub(crate) not_finite: usize,
    /// Indices of the points that equal an earlier point, ascending.
    pub(crate) duplicates: Vec<u32>,
    /// Whether a coordinate is −0.
    has_negative_zero: bool,
}

/// Largest number of points that are used.
const MOST: usize = u32::MAX as usize - 1;

impl Faults {
    pub(crate) fn of(points: &[[f64; 3]]) -> Self {
        let points = &points[..points.len().min(MOST)];
        // Equal points have equal hashes and meet in one bucket.
        let bits = points.len().div_ceil(BUCKET).next_power_of_two().trailing_zeros();
        let chunks: Vec<Buckets> = points
            .par_chunks(CHUNK)
            .enumerate()
            .map(|(k, chunk)| Buckets::of(chunk, k * CHUNK, bits))
            .collect();
        let not_finite = points.len() - chunks.iter().map(|chunk| chunk.entries.len()).sum::<usize>();
        let mut duplicates: Vec<u32> =
            (0..1 << bits).into_par_iter().flat_map_iter(|k| duplicates(points, &chunks, k)).collect();
        duplicates.sort_unstable();
        let has_negative_zero = chunks.iter().any(|chunk| chunk.has_negative_zero);
        Self { not_finite, duplicates, has_negative_zero }
    }

    /// Indices of the points without faults, ascending.
    pub(crate) fn remaining(&self, points: &[[f64; 3]]) -> impl Iterator<Item = u32> {
        let mut duplicates = self.duplicates.iter().copied().peekable();
        let is_kept = move |(index, point): &(u32, &[f64; 3])| {
            duplicates.next_if_eq(index).is_none() && point.iter().all(|x| x.is_finite())
        };
        (0..).zip(points.iter().take(MOST)).filter(is_kept).map(|(index, _)| index)
    }

    /// The points without faults; −0 becomes 0. A list that is owned is not copied.
    pub(crate) fn remove_from(&self, points: Cow<'_, [[f64; 3]]>) -> Vec<[f64; 3]> {
        let mut points = points.into_owned();
        points.truncate(MOST);
        if self.not_finite + self.duplicates.len() > 0 {
            let mut duplicates = self.duplicates.iter().copied().peekable();
            let mut index = 0..;
            points.retain(|point| {
                let is_duplicate = index.next().is_some_and(|index| duplicates.next_if_eq(&index).is_some());
                !is_duplicate && point.iter().all(|x| x.is_finite())
            });
        }
        if self.has_negative_zero {
            points.par_iter_mut().for_each(|point| *point = point.map(|x| x + 0.0));
        }
        points
    }
}

/// The finite points of a chunk, sorted into buckets by the first bits of their hashes. Within a bucket they keep their order.
struct Buckets {
    /// Start of each bucket, and the end of the last.
    starts: Vec<u32>,
    entries: Vec<Entry>,
    has_negative_zero: bool,
}

#[derive(Debug, Clone, Copy, Default)]
struct Entry {
    /// The last bits of the hash.
    hash: u32,
    index: u32,
}

impl Buckets {
    /// Sorts a chunk whose first point has the index `first` into 2^`bits` buckets.
    fn of(chunk: &[[f64; 3]], first: usize, bits: u32) -> Self {
        let bucket_of = |hash: u64| (hash >> 32) as usize & ((1 << bits) - 1);
        let is_finite = |point: &[f64; 3]| point.iter().all(|x| x.is_finite());
        // −0 equals 0.
        let hash = |point: &[f64; 3]| hash_of(point.map(|x| (x + 0.0).to_bits()));
        let hashes: Vec<u64> = chunk.iter().map(hash).collect();
        let is_negative_zero = |x: &f64| x.to_bits() == (-0.0_f64).to_bits();
        let has_negative_zero =
            chunk.as_flattened().iter().fold(false, |found, x| found | is_negative_zero(x));
        let mut starts = vec![0_u32; (1 << bits) + 1];
        let finite = || chunk.iter().zip(&hashes).enumerate().filter(|(_, (point, _))| is_finite(point));
        finite().for_each(|(_, (_, &hash))| starts[bucket_of(hash) + 1] += 1);
        for k in 1..starts.len() {
            starts[k] += starts[k - 1];
        }
        let mut next = starts.clone();
        let mut entries = vec![Entry::default(); starts[1 << bits] as usize];
        for (k, (_, &hash)) in finite() {
            let place = &mut next[bucket_of(hash)];
            entries[*place as usize] = Entry { hash: hash as u32, index: (first + k) as u32 };
            *place += 1;
        }
        Self { starts, entries, has_negative_zero }
    }

    fn bucket(&self, k: usize) -> &[Entry] {
        &self.entries[self.starts[k] as usize..self.starts[k + 1] as usize]
    }
}

/// Indices of the points of a bucket that equal an earlier point.
fn duplicates(points: &[[f64; 3]], chunks: &[Buckets], bucket: usize) -> Vec<u32> {
    const FREE: u32 = u32::MAX;
    let count: usize = chunks.iter().map(|chunk| chunk.bucket(bucket).len()).sum();
    let slots = (2 * count).next_power_of_two().max(2);
    let mut table = vec![Entry { hash: 0, index: FREE }; slots];
    let mut duplicates = Vec::new();
    for &entry in chunks.iter().flat_map(|chunk| chunk.bucket(bucket)) {
        let mut slot = entry.hash as usize & (slots - 1);
        loop {
            let there = table[slot];
            if there.index == FREE {
                table[slot] = entry;
                break;
            }
            if there.hash == entry.hash && points[there.index as usize] == points[entry.index as usize] {
                duplicates.push(entry.index);
                break;
            }
            slot = (slot + 1) & (slots - 1);
        }
    }
    duplicates
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_a_place_or_not_new_is_counted() {
        let nan = f64::NAN;
        let raw = [[1.0, 2.0, 3.0], [nan, 0.0, 0.0], [0.0, -0.0, 0.0], [1.0, 2.0, 3.0], [0.0, 0.0, 0.0]];
        let cleaned = Cleaned::of(&raw);
        assert_eq!(cleaned.points, [[1.0, 2.0, 3.0], [0.0; 3]]);
        assert_eq!(cleaned.indices, [0, 2]);
        assert_eq!((cleaned.not_finite, cleaned.duplicates), (1, 2));
        assert_eq!(Cleaned::of(&[]).points.len(), 0);
    }

    #[test]
    fn every_kind_of_point_is_found_among_many() {
        // More than one chunk; every third point repeats one far before it, and some are not finite.
        let raw: Vec<[f64; 3]> = (0..100_000)
            .map(|i| match i % 3 {
                0 if i > 60_000 => [f64::from(i - 60_000), 1.0, 2.0],
                1 if i % 1000 == 1 => [1.0, f64::INFINITY, 2.0],
                _ => [f64::from(i), 1.0, 2.0],
            })
            .collect();
        let cleaned = Cleaned::of(&raw);
        let mut seen = std::collections::HashSet::new();
        let is_new = |&i: &u32| {
            let point = raw[i as usize];
            point[1] == 1.0 && seen.insert(point[0] as i64)
        };
        let expected: Vec<u32> = (0..100_000).filter(is_new).collect();
        assert_eq!(cleaned.indices, expected);
        assert_eq!(cleaned.not_finite, raw.iter().filter(|p| p[1] != 1.0).count());
        assert_eq!(cleaned.duplicates, 100_000 - expected.len() - cleaned.not_finite);
        let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a pool");
        assert_eq!(one.install(|| Cleaned::of(&raw)), cleaned);
    }

    #[test]
    fn a_list_that_is_given_away_is_cleaned_in_place() {
        let whole = vec![[1.0, -0.0, 2.0], [3.0, 0.5, 1.0]];
        let at = whole.as_ptr();
        let cleaned = Faults::of(&whole).remove_from(Cow::Owned(whole));
        assert_eq!((cleaned.as_ptr(), cleaned[0][1].to_bits()), (at, 0));
        let raw = vec![[0.0; 3], [f64::NAN; 3], [-0.0, 0.0, 0.0], [4.0, 5.0, 6.0]];
        assert_eq!(Faults::of(&raw).remove_from(Cow::Owned(raw.clone())), Cleaned::of(&raw).points);
    }

    #[test]
    fn many_points_keep_their_order() {
        let raw: Vec<[f64; 3]> = (0..5000).map(|i| [f64::from(i % 2500), 0.5, -1.0]).collect();
        let cleaned = Cleaned::of(&raw);
        assert_eq!((cleaned.points.len(), cleaned.duplicates), (2500, 2500));
        assert!(cleaned.points.iter().enumerate().all(|(i, p)| p[0] == i as f64));
    }
}
