//! Nearest descriptors in both directions: every query against every target, in blocks that stay in the registers and the first cache.
//!
//! Descriptors are in fixed point with 1/64 of a unit. One instruction then multiplies and adds two dimensions of eight targets, and distances are
//! exact, so neither the order of additions nor the CPU matters. Each of the three histograms of a descriptor sums to 200, so a squared distance is at most
//! 3 · 2 · (200 · 64)² < 2³⁰, and no sum overflows.

use super::pair_features::{DIMENSIONS, Descriptor};

/// Number of targets in one vector register.
pub const LANES: usize = 8;
/// Number of queries that share one load of the targets.
const ROWS: usize = 4;
/// Number of steps, two dimensions each; the last one is filled with a zero.
const STEPS: usize = DIMENSIONS.div_ceil(2);
/// One unit of a descriptor in fixed point.
const UNIT: f32 = 64.0;
/// A squared distance beyond that of any two descriptors.
pub const FAR: i32 = i32::MAX;

/// A query in fixed point.
pub type Query = [[i16; 2]; STEPS];
/// Eight targets in fixed point: for each step the two dimensions of the first target, of the second, and so on.
#[derive(Debug, Clone)]
pub struct Block {
    pairs: [[i16; 2 * LANES]; STEPS],
    /// Squared length of each target.
    squares: [i32; LANES],
}

/// A descriptor in fixed point.
pub fn query(descriptor: &Descriptor) -> Query {
    let mut query = [[0; 2]; STEPS];
    for (k, x) in descriptor.iter().enumerate() {
        // Rounds to nearest, since no entry is negative.
        query[k / 2][k % 2] = (x * UNIT + 0.5) as i16;
    }
    query
}

/// Squared length of a descriptor.
fn square(query: &Query) -> i32 {
    query.iter().flatten().map(|&x| i32::from(x) * i32::from(x)).sum()
}

/// Targets in blocks of eight. The last block is filled with copies of the last target, which are never reported.
pub fn blocks(targets: &[Query]) -> Vec<Block> {
    let block = |eight: &[Query]| {
        let mut block = Block { pairs: [[0; 2 * LANES]; STEPS], squares: [0; LANES] };
        for lane in 0..LANES {
            let target = &eight[lane.min(eight.len() - 1)];
            block.squares[lane] = square(target);
            for (row, pair) in block.pairs.iter_mut().zip(target) {
                row[2 * lane..2 * lane + 2].copy_from_slice(pair);
            }
        }
        block
    };
    targets.chunks(LANES).map(block).collect()
}

/// Nearest queries of the targets so far, one entry for each target of each block.
#[derive(Debug, Clone)]
pub struct Columns {
    /// Squared distance to the nearest query.
    pub distances: Vec<[i32; LANES]>,
    /// Index of the nearest query; −1 while there is none.
    pub indices: Vec<[i32; LANES]>,
}

impl Columns {
    /// No nearest query yet, for this number of `blocks` of targets.
    pub fn new(blocks: usize) -> Self {
        Self { distances: vec![[FAR; LANES]; blocks], indices: vec![[-1; LANES]; blocks] }
    }
}

/// Nearest block of each lane so far, for a group of queries.
struct Rows {
    distances: [[i32; LANES]; ROWS],
    blocks: [[i32; LANES]; ROWS],
}

/// Finds the nearest target of each query and the nearest query of each target. Ties go to the lower index.
///
/// `nearest` receives the targets of the queries. `columns` receives the queries of the targets, counted from `first`, and may hold the results of earlier
/// queries. `count` is the number of targets.
pub fn nearest_both_ways(
    queries: &[Query],
    first: i32,
    targets: &[Block],
    count: usize,
    nearest: &mut [u32],
    columns: &mut Columns,
) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: the line above checked that this CPU has AVX2.
        return search(queries, first, targets, count, nearest, columns, |q, i, t, r, c| unsafe {
            group_avx2(q, i, t, r, c)
        });
    }
    search(queries, first, targets, count, nearest, columns, group_portable);
}

/// Runs `group` over the queries in groups of `ROWS`.
fn search(
    queries: &[Query],
    first: i32,
    targets: &[Block],
    count: usize,
    nearest: &mut [u32],
    columns: &mut Columns,
    group: impl Fn(&[&Query; ROWS], [i32; ROWS], &[Block], &mut Rows, &mut Columns),
) {
    for (number, (some, nearest)) in queries.chunks(ROWS).zip(nearest.chunks_mut(ROWS)).enumerate() {
        // A short last group repeats its last query, which changes nothing.
        let last = some.len() - 1;
        let filled: [&Query; ROWS] = std::array::from_fn(|k| &some[k.min(last)]);
        let indices = std::array::from_fn(|k| first + (number * ROWS + k.min(last)) as i32);
        let mut rows = Rows { distances: [[FAR; LANES]; ROWS], blocks: [[-1; LANES]; ROWS] };
        group(&filled, indices, targets, &mut rows, columns);
        for (k, nearest) in nearest.iter_mut().enumerate() {
            let lanes = rows.distances[k].iter().zip(&rows.blocks[k]).enumerate();
            let candidates = lanes.filter(|(_, (_, block))| **block >= 0);
            let named = candidates.map(|(lane, (d, block))| (*d, *block as usize * LANES + lane));
            // The copies in the last block stand for its last target, whose index is lower.
            *nearest = named.min().map_or(u32::MAX, |(_, index)| index.min(count - 1) as u32);
        }
    }
}

fn group_portable(
    queries: &[&Query; ROWS],
    indices: [i32; ROWS],
    targets: &[Block],
    rows: &mut Rows,
    columns: &mut Columns,
) {
    for (number, block) in targets.iter().enumerate() {
        for (k, query) in queries.iter().enumerate() {
            let mut sums = [0_i32; LANES];
            for (pair, targets) in query.iter().zip(&block.pairs) {
                for (lane, sum) in sums.iter_mut().enumerate() {
                    let [x, y] = [0, 1].map(|part| i32::from(targets[2 * lane + part] - pair[part]));
                    *sum += x * x + y * y;
                }
            }
            for (lane, sum) in sums.into_iter().enumerate() {
                if sum < rows.distances[k][lane] {
                    rows.distances[k][lane] = sum;
                    rows.blocks[k][lane] = number as i32;
                }
                if sum < columns.distances[number][lane] {
                    columns.distances[number][lane] = sum;
                    columns.indices[number][lane] = indices[k];
                }
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn group_avx2(
    queries: &[&Query; ROWS],
    indices: [i32; ROWS],
    targets: &[Block],
    rows: &mut Rows,
    columns: &mut Columns,
) {
    use std::arch::x86_64::{
        __m256i, _mm256_add_epi32, _mm256_blendv_epi8, _mm256_cmpgt_epi32, _mm256_loadu_si256,
        _mm256_madd_epi16, _mm256_set1_epi32, _mm256_storeu_si256,
    };
    // SAFETY: a reference to 32 bytes, of which unaligned ones are read.
    let load16 =
        |x: &[i16; 2 * LANES]| unsafe { _mm256_loadu_si256(std::ptr::from_ref(x).cast::<__m256i>()) };
    // SAFETY: as above.
    let load32 = |x: &[i32; LANES]| unsafe { _mm256_loadu_si256(std::ptr::from_ref(x).cast::<__m256i>()) };
    // SAFETY: a reference to 32 bytes that may be written, unaligned.
    let store32 =
        |x: &mut [i32; LANES], v| unsafe { _mm256_storeu_si256(std::ptr::from_mut(x).cast::<__m256i>(), v) };
    // |q − t|² = |q|² + |t|² − 2·q·t, with −2·q in the place of the query: at most 200 · 64 · 2 < 2¹⁵ in size. No part is negative, so that
    // the sum only falls, from less than 2³⁰ to the distance.
    let packed: [[__m256i; STEPS]; ROWS] = queries.map(|query| {
        query.map(|[x, y]| _mm256_set1_epi32(i32::from((-2 * x) as u16) | i32::from(-2 * y) << 16))
    });
    let squares = queries.map(square);
    let mut best = rows.distances.each_ref().map(load32);
    let mut best_block = rows.blocks.each_ref().map(load32);
    let columns = columns.distances.iter_mut().zip(&mut columns.indices);
    for (number, (block, (column, column_index))) in targets.iter().zip(columns).enumerate() {
        let lengths = load32(&block.squares);
        let mut sums = squares.map(|square| _mm256_add_epi32(lengths, _mm256_set1_epi32(square)));
        for (step, targets) in block.pairs.iter().enumerate() {
            let targets = load16(targets);
            for k in 0..ROWS {
                sums[k] = _mm256_add_epi32(sums[k], _mm256_madd_epi16(targets, packed[k][step]));
            }
        }
        let number = _mm256_set1_epi32(number as i32);
        let (mut nearest, mut nearest_index) = (load32(column), load32(column_index));
        for k in 0..ROWS {
            let nearer = _mm256_cmpgt_epi32(best[k], sums[k]);
            best[k] = _mm256_blendv_epi8(best[k], sums[k], nearer);
            best_block[k] = _mm256_blendv_epi8(best_block[k], number, nearer);
            let nearer = _mm256_cmpgt_epi32(nearest, sums[k]);
            nearest = _mm256_blendv_epi8(nearest, sums[k], nearer);
            nearest_index = _mm256_blendv_epi8(nearest_index, _mm256_set1_epi32(indices[k]), nearer);
        }
        store32(column, nearest);
        store32(column_index, nearest_index);
    }
    for k in 0..ROWS {
        store32(&mut rows.distances[k], best[k]);
        store32(&mut rows.blocks[k], best_block[k]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use proptest::prelude::*;

    /// The definition.
    fn nearest(from: &Query, to: &[Query]) -> u32 {
        let distance = |other: &Query| -> i64 {
            from.iter()
                .flatten()
                .zip(other.iter().flatten())
                .map(|(x, y)| (i64::from(*x) - i64::from(*y)).pow(2))
                .sum()
        };
        (0..to.len()).min_by_key(|&k| distance(&to[k])).expect("some") as u32
    }

    proptest! {
        /// Few different values, so that there are ties; sizes meet every remainder of the blocks.
        #[test]
        fn both_ways_equal_brute_force(n in 1_usize..40, m in 1_usize..40, seed in any::<u64>(), values in 2_usize..50) {
            let mut random = Random::new(seed);
            let mut draw = |n: usize| -> Vec<Query> {
                let descriptor = |_| std::array::from_fn(|k| if k % 8 == 0 { random.below(values) as f32 * 0.7 } else { 0.0 });
                (0..n).map(descriptor).map(|d| query(&d)).collect()
            };
            let (queries, targets) = (draw(n), draw(m));
            let packed = blocks(&targets);
            let half = n / 2;
            let portable = |q: &[Query], f: i32, near: &mut [u32], c: &mut Columns| search(q, f, &packed, m, near, c, group_portable);
            let chosen = |q: &[Query], f: i32, near: &mut [u32], c: &mut Columns| nearest_both_ways(q, f, &packed, m, near, c);
            for compiled in [&portable as &dyn Fn(&[Query], i32, &mut [u32], &mut Columns), &chosen] {
                let (mut near, mut columns) = (vec![0; n], Columns::new(packed.len()));
                compiled(&queries[..half], 0, &mut near[..half], &mut columns);
                compiled(&queries[half..], half as i32, &mut near[half..], &mut columns);
                for (query, near) in queries.iter().zip(&near) {
                    prop_assert_eq!(*near, nearest(query, &targets));
                }
                for (k, target) in targets.iter().enumerate() {
                    prop_assert_eq!(columns.indices[k / LANES][k % LANES] as u32, nearest(target, &queries));
                }
            }
        }
    }

    #[test]
    fn the_farthest_descriptors_do_not_overflow() {
        let one = |first: usize| -> Descriptor {
            std::array::from_fn(|k| if k % 11 == first { 200.0 } else { 0.0 })
        };
        let (queries, targets) = ([query(&one(0))], [query(&one(10))]);
        let (mut near, mut columns) = (vec![0; 1], Columns::new(1));
        nearest_both_ways(&queries, 0, &blocks(&targets), 1, &mut near, &mut columns);
        assert_eq!(columns.distances[0][0], 6 * (200 * 64) * (200 * 64));
    }
}
