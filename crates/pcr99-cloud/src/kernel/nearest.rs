//! The nearest descriptor, both ways: every query against every target, in blocks that stay in the registers and the nearest cache.

use super::compiled_twice;
use crate::fpfh::{DIMENSIONS, Descriptor};

/// Targets side by side in one vector.
pub(crate) const LANES: usize = 8;
/// Queries that share one load of the targets.
pub(crate) const ROWS: usize = 4;

/// Eight targets, one row for each dimension. What fills up the last block is infinitely far.
pub(crate) type Block = [[f32; LANES]; DIMENSIONS];

/// The nearest so far: squared distance and index.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Best {
    pub(crate) distance_sq: f32,
    pub(crate) index: u32,
}

impl Best {
    pub(crate) const NONE: Self = Self { distance_sq: f32::INFINITY, index: u32::MAX };
}

/// The targets in blocks.
pub(crate) fn blocks(targets: &[Descriptor]) -> Vec<Block> {
    let block = |eight: &[Descriptor]| {
        let mut block = [[f32::INFINITY; LANES]; DIMENSIONS];
        for (lane, target) in eight.iter().enumerate() {
            for (row, x) in block.iter_mut().zip(target) {
                row[lane] = *x;
            }
        }
        block
    };
    targets.chunks(LANES).map(block).collect()
}

compiled_twice! {
    /// For each query its nearest target into `rows`; for each target its nearest query, counted from `first`, into `columns`, which holds
    /// the nearest of earlier queries and has room for whole blocks. Ties go to the lower index.
    pub(crate) fn nearest_both_ways(
        queries: &[Descriptor],
        first: u32,
        targets: &[Block],
        rows: &mut [Best],
        columns: &mut [[f32; LANES]],
        column_indices: &mut [[u32; LANES]],
    ) = nearest_lanes
}

#[expect(clippy::inline_always, reason = "compiled a second time for AVX2")]
#[inline(always)]
fn nearest_lanes(
    queries: &[Descriptor],
    first: u32,
    targets: &[Block],
    rows: &mut [Best],
    columns: &mut [[f32; LANES]],
    column_indices: &mut [[u32; LANES]],
) {
    for (group, (some, rows)) in queries.chunks(ROWS).zip(rows.chunks_mut(ROWS)).enumerate() {
        // A short last group repeats its last query, which changes nothing.
        let filled: [&Descriptor; ROWS] = std::array::from_fn(|k| &some[k.min(some.len() - 1)]);
        let index_of = |k: usize| first + (group * ROWS + k.min(some.len() - 1)) as u32;
        let mut best = [[f32::INFINITY; LANES]; ROWS];
        let mut best_block = [[u32::MAX; LANES]; ROWS];
        let with_columns = targets.iter().zip(columns.iter_mut()).zip(column_indices.iter_mut());
        for (number, ((block, column), column_index)) in with_columns.enumerate() {
            let mut sums = [[0.0_f32; LANES]; ROWS];
            for (dimension, targets) in block.iter().enumerate() {
                for (sum, query) in sums.iter_mut().zip(&filled) {
                    let q = query[dimension];
                    for (s, t) in sum.iter_mut().zip(targets) {
                        let difference = q - t;
                        *s += difference * difference;
                    }
                }
            }
            for (k, sum) in sums.iter().enumerate() {
                let index = index_of(k);
                for lane in 0..LANES {
                    let d = sum[lane];
                    let nearer = d < best[k][lane];
                    best[k][lane] = if nearer { d } else { best[k][lane] };
                    best_block[k][lane] = if nearer { number as u32 } else { best_block[k][lane] };
                    let nearer = d < column[lane];
                    column[lane] = if nearer { d } else { column[lane] };
                    column_index[lane] = if nearer { index } else { column_index[lane] };
                }
            }
        }
        for (row, (best, blocks)) in rows.iter_mut().zip(best.iter().zip(&best_block)) {
            for lane in 0..LANES {
                let index = blocks[lane].saturating_mul(LANES as u32).saturating_add(lane as u32);
                let nearer = best[lane] < row.distance_sq
                    || (best[lane] == row.distance_sq && best[lane].is_finite() && index < row.index);
                if nearer {
                    *row = Best { distance_sq: best[lane], index };
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pcr99::random::Random;
    use proptest::prelude::*;

    /// The definition, in the same order of additions.
    fn distance_sq(a: &Descriptor, b: &Descriptor) -> f32 {
        a.iter().zip(b).fold(0.0, |sum, (x, y)| sum + (x - y) * (x - y))
    }

    fn nearest(from: &Descriptor, to: &[Descriptor]) -> Best {
        let mut best = Best::NONE;
        for (index, target) in to.iter().enumerate() {
            let d = distance_sq(from, target);
            if d < best.distance_sq {
                best = Best { distance_sq: d, index: index as u32 };
            }
        }
        best
    }

    proptest! {
        /// Few different values, so that there are ties; sizes meet every remainder of the blocks.
        #[test]
        fn both_ways_equal_brute_force(n in 1_usize..40, m in 1_usize..40, seed in any::<u64>(), values in 2_usize..50) {
            let mut random = Random::new(seed);
            let mut draw = |n: usize| -> Vec<Descriptor> {
                (0..n).map(|_| std::array::from_fn(|k| if k % 8 == 0 { random.below(values) as f32 * 0.7 } else { 0.0 })).collect()
            };
            let (queries, targets) = (draw(n), draw(m));
            let packed = blocks(&targets);
            for compiled in [nearest_both_ways, nearest_lanes] {
                let mut rows = vec![Best::NONE; n];
                let mut columns = vec![[f32::INFINITY; LANES]; packed.len()];
                let mut column_indices = vec![[u32::MAX; LANES]; packed.len()];
                let half = n / 2;
                compiled(&queries[..half], 0, &packed, &mut rows[..half], &mut columns, &mut column_indices);
                compiled(&queries[half..], half as u32, &packed, &mut rows[half..], &mut columns, &mut column_indices);
                for (query, row) in queries.iter().zip(&rows) {
                    prop_assert_eq!(*row, nearest(query, &targets));
                }
                for (k, target) in targets.iter().enumerate() {
                    let found = Best { distance_sq: columns[k / LANES][k % LANES], index: column_indices[k / LANES][k % LANES] };
                    prop_assert_eq!(found, nearest(target, &queries));
                }
            }
        }
    }
}
