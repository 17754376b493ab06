//! Nearest descriptor, exactly, in an index that skips most of the descriptors.
//!
//! Descriptors are in fixed point with 1/64 of a unit. One instruction then multiplies and adds two dimensions of eight descriptors, and distances are
//! exact, so neither the order of additions nor the CPU matters. Each of the three histograms of a descriptor sums to 200, so a squared distance is at most
//! 3 · 2 · (200 · 64)² < 2³⁰, and no sum overflows.
//!
//! The index holds the descriptors in an order in which neighbours are similar, eight to a block, eight blocks to a group. Each descriptor also has its coordinates
//! along sixteen orthonormal directions. A distance along some of them is a lower bound of the whole distance, so a search has these passes:
//!
//! 1. groups whose bounding box is near along the first eight directions,
//! 2. their blocks whose bounding box is near,
//! 3. of these, blocks with a descriptor that is near along the first eight directions,
//! 4. of these, blocks with a descriptor that is near along all sixteen,
//! 5. exact distances.
//!
//! What is skipped is farther than a descriptor that was compared already. So the answer is always that of a comparison with all.

#[cfg(target_arch = "x86_64")]
mod avx2;
mod index;
mod lanes;

pub use index::{
    BOXED, Coordinates, DIRECTIONS, Descriptors, Directions, Fixed, GROUP, Index, LANES, coordinates, fixed,
};

use index::Block;
use lanes::{Lanes, Plain, Query};

/// Largest amount by which a distance along the directions exceeds the true one: truncation adds at most one to each of sixteen differences, √16 together, and the
/// rounding of sums and directions adds far less than one.
const SLACK: f64 = 5.0;

/// The nearest descriptor, so far or in the end. Of equally near ones it is the one with the lowest number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Nearest {
    /// Squared distance.
    pub distance_sq: i32,
    /// Number of the descriptor.
    pub number: u32,
}

impl Nearest {
    /// No descriptor: farther than any.
    pub const NONE: Self = Self { distance_sq: i32::MAX, number: u32::MAX };
}

/// Lists of groups and blocks that remain after a pass; kept from one search to the next.
#[derive(Debug, Default)]
pub struct Scratch {
    bounds: Vec<[i32; LANES]>,
    groups: Vec<u32>,
    blocks: Vec<u32>,
    halfway: Vec<(u32, [i32; LANES])>,
    /// Block of the last descriptor found: that of a similar query is near.
    last: u32,
}

impl Scratch {
    /// Makes room for an index. Lists are written eight entries at a time.
    fn fit(&mut self, index: &Index) {
        self.bounds.resize(index.groups.len(), [0; LANES]);
        self.groups.resize(index.boxes.len() + LANES, 0);
        self.blocks.resize(index.blocks.len() + LANES, 0);
        self.halfway.resize(index.blocks.len() + 1, (0, [0; LANES]));
    }
}

/// The descriptor that is nearest to descriptor `query` of `from`; [`Nearest::NONE`] in an empty index.
pub fn nearest(index: &Index, from: &Descriptors, query: usize, scratch: &mut Scratch) -> Nearest {
    let query = Query { fixed: &from.fixed[query], coordinates: &from.coordinates[query] };
    #[cfg(target_arch = "x86_64")]
    if crate::dispatch::has_avx2() {
        // SAFETY: the line above checked that this CPU has AVX2 and POPCNT.
        return unsafe { avx2::nearest(index, query, scratch) };
    }
    search::<Plain<'_>, false>(index, query, Nearest::NONE, scratch)
}

/// Whether a descriptor is nearer to descriptor `query` of `from` than `than`.
pub fn is_any_nearer(
    index: &Index,
    from: &Descriptors,
    query: usize,
    than: Nearest,
    scratch: &mut Scratch,
) -> bool {
    let query = Query { fixed: &from.fixed[query], coordinates: &from.coordinates[query] };
    #[cfg(target_arch = "x86_64")]
    if crate::dispatch::has_avx2() {
        // SAFETY: as above.
        return unsafe { avx2::is_any_nearer(index, query, than, scratch) };
    }
    search::<Plain<'_>, true>(index, query, than, scratch) != than
}

/// Searches the index. With `ANY` it stops at the first descriptor that is nearer than `best`.
///
/// Each pass is a loop of known length without conditions in it: whether a block is near cannot be predicted.
#[expect(clippy::inline_always, reason = "compiled a second time for AVX2")]
#[inline(always)]
fn search<'a, L: Lanes<'a>, const ANY: bool>(
    index: &Index,
    query: Query<'a>,
    mut best: Nearest,
    scratch: &mut Scratch,
) -> Nearest {
    if index.blocks.is_empty() {
        return best;
    }
    scratch.fit(index);
    let Scratch { bounds, groups, blocks, halfway, last } = scratch;
    let lanes = L::new(query);
    for (boxes, out) in index.groups.iter().zip(&mut *bounds) {
        lanes.to_boxes(boxes, out);
    }
    if !ANY {
        // The nearest group first: it mostly holds the answer, or one that is nearly as near, and then little remains.
        let group = nearest_group(bounds).min(index.boxes.len() - 1);
        if let Some(block) = index.blocks.get(*last as usize) {
            best = nearest_in_block(&lanes, block, best);
        }
        best = nearest_in_group(&lanes, index, group, best, last);
    }
    let limit = limit_of(best.distance_sq);
    let mut count = 0;
    for (number, (bounds, boxes)) in bounds.iter().zip(&index.groups).enumerate() {
        let near = L::at_most(bounds, limit) & boxes.present;
        count += L::write(near, (LANES * number) as u32, room(groups, count));
    }
    let near_groups = &groups[..count];
    let mut count = 0;
    for &group in near_groups {
        let boxes = &index.boxes[group as usize];
        let mut bounds = [0; LANES];
        lanes.to_boxes(boxes, &mut bounds);
        let near = L::at_most(&bounds, limit) & boxes.present;
        count += L::write(near, LANES as u32 * group, room(blocks, count));
    }
    let mut kept = 0;
    for &block in &blocks[..count] {
        let (place, sums) = &mut halfway[kept];
        (*place, *sums) = (block, [0; LANES]);
        lanes.along(0, &index.coordinates[0][block as usize], sums);
        kept += usize::from(L::at_most(sums, limit) != 0);
    }
    count = 0;
    for (block, sums) in &mut halfway[..kept] {
        blocks[count] = *block;
        lanes.along(1, &index.coordinates[1][*block as usize], sums);
        count += usize::from(L::at_most(sums, limit) != 0);
    }
    for &block in &blocks[..count] {
        let found = nearest_in_block(&lanes, &index.blocks[block as usize], best);
        if found != best {
            *last = block;
            if ANY {
                return found;
            }
        }
        best = found;
    }
    best
}

/// Room for eight more entries of a list.
#[expect(clippy::inline_always, reason = "compiled a second time for AVX2")]
#[inline(always)]
fn room(list: &mut [u32], count: usize) -> &mut [u32; LANES] {
    list[count..].first_chunk_mut().expect("a list has room for eight entries more than can be in it")
}

/// The first group with the lowest bound.
#[expect(clippy::inline_always, reason = "compiled a second time for AVX2")]
#[inline(always)]
fn nearest_group(bounds: &[[i32; LANES]]) -> usize {
    // Lane by lane, so that it vectorises.
    let (mut least, mut places) = ([i32::MAX; LANES], [0; LANES]);
    for (place, bounds) in (0_i32..).zip(bounds) {
        for lane in 0..LANES {
            let is_less = bounds[lane] < least[lane];
            least[lane] = if is_less { bounds[lane] } else { least[lane] };
            places[lane] = if is_less { place } else { places[lane] };
        }
    }
    let lane = (1..LANES).fold(0, |best, lane| if least[lane] < least[best] { lane } else { best });
    LANES * places[lane] as usize + lane
}

/// The nearest descriptor of a group if it is nearer than `best`, otherwise `best`.
#[expect(clippy::inline_always, reason = "compiled a second time for AVX2")]
#[inline(always)]
fn nearest_in_group<'a, L: Lanes<'a>>(
    lanes: &L,
    index: &Index,
    group: usize,
    mut best: Nearest,
    last: &mut u32,
) -> Nearest {
    let blocks = LANES * group..index.blocks.len().min(LANES * (group + 1));
    let mut limit = limit_of(best.distance_sq);
    for block in blocks {
        let mut sums = [0; LANES];
        lanes.along(0, &index.coordinates[0][block], &mut sums);
        if L::at_most(&sums, limit) != 0 {
            let found = nearest_in_block(lanes, &index.blocks[block], best);
            if found != best {
                (best, *last) = (found, block as u32);
                limit = limit_of(best.distance_sq);
            }
        }
    }
    best
}

/// The nearest descriptor of a block if it is nearer than `best`, otherwise `best`.
#[expect(clippy::inline_always, reason = "compiled a second time for AVX2")]
#[inline(always)]
fn nearest_in_block<'a, L: Lanes<'a>>(lanes: &L, block: &Block, mut best: Nearest) -> Nearest {
    let distances_sq = lanes.distances_sq(block);
    let mut near = L::at_most(&distances_sq, best.distance_sq);
    while near != 0 {
        let lane = near.trailing_zeros() as usize;
        near &= near - 1;
        best = best.min(Nearest { distance_sq: distances_sq[lane], number: block.numbers[lane] });
    }
    best
}

/// The bound along the directions that corresponds to a squared distance: what is beyond it is farther than that distance.
fn limit_of(distance_sq: i32) -> i32 {
    let reach = f64::from(distance_sq.max(0)).sqrt() + SLACK;
    // Saturates.
    (reach * reach).ceil() as i32
}

#[cfg(test)]
mod tests {
    use super::{
        index::{coordinates_lanes, fixed_lanes},
        *,
    };
    use crate::kernel::pair_features::{DIMENSIONS, Descriptor};
    use crate::random::Random;
    use proptest::prelude::*;

    /// Directions along axes.
    fn axes() -> Directions {
        std::array::from_fn(|k| std::array::from_fn(|i| f32::from(u8::from(k == 2 * i))))
    }

    /// Orthonormal directions that are not along axes.
    fn turned(random: &mut Random) -> Directions {
        let mut rows: Vec<[f64; DIMENSIONS]> = Vec::new();
        while rows.len() < DIRECTIONS {
            let mut row: [f64; DIMENSIONS] = std::array::from_fn(|_| random.gaussian());
            let dot = |a: &[f64; DIMENSIONS], b: &[f64; DIMENSIONS]| -> f64 {
                a.iter().zip(b).map(|(x, y)| x * y).sum()
            };
            for other in &rows {
                let share = dot(&row, other);
                row.iter_mut().zip(other).for_each(|(x, y)| *x -= share * y);
            }
            let length = dot(&row, &row).sqrt();
            rows.push(row.map(|x| x / length));
        }
        std::array::from_fn(|k| std::array::from_fn(|i| rows[i][k] as f32))
    }

    /// Descriptors of this many different values.
    fn descriptors(n: usize, values: usize, random: &mut Random) -> Descriptors {
        let mut descriptor = || -> Descriptor {
            std::array::from_fn(|k| if k % 3 == 0 { random.below(values) as f32 * 0.7 } else { 0.0 })
        };
        Descriptors::of(&(0..n).map(|_| descriptor()).collect::<Vec<_>>(), &axes())
    }

    fn distance_sq(a: &Fixed, b: &Fixed) -> i32 {
        let pairs = a.as_flattened().iter().zip(b.as_flattened());
        pairs.map(|(x, y)| (i32::from(*x) - i32::from(*y)).pow(2)).sum()
    }

    proptest! {
        /// Few different values, so that there are ties; sizes meet every remainder of blocks and groups.
        #[test]
        fn both_versions_equal_a_comparison_with_all(n in 1_usize..1200, seed in any::<u64>(), values in 2_usize..200) {
            let mut random = Random::new(seed);
            let (all, queries) = (descriptors(n, values, &mut random), descriptors(20, values, &mut random));
            let mut order: Vec<u32> = (0..n as u32).collect();
            order.sort_by_key(|&number| all.coordinates[number as usize]);
            let (index, scratch) = (Index::of(&all, &order), &mut Scratch::default());
            for k in 0..20 {
                let query = Query { fixed: &queries.fixed[k], coordinates: &queries.coordinates[k] };
                let compared = (0..).zip(&all.fixed).map(|(number, fixed)| Nearest { distance_sq: distance_sq(query.fixed, fixed), number });
                let (first, expected) = (compared.clone().next().expect("one"), compared.min().expect("one"));
                prop_assert_eq!(nearest(&index, &queries, k, scratch), expected);
                prop_assert_eq!(search::<Plain<'_>, false>(&index, query, Nearest::NONE, scratch), expected);
                for than in [first, expected] {
                    prop_assert_eq!(is_any_nearer(&index, &queries, k, than, scratch), expected != than);
                    prop_assert_eq!(search::<Plain<'_>, true>(&index, query, than, scratch) != than, expected != than);
                }
            }
        }

        #[test]
        fn both_compilations_are_equal_and_bounds_hold(seed in any::<u64>(), most in 1.0_f64..600.0) {
            let mut random = Random::new(seed);
            let mut descriptor = || -> Descriptor { std::array::from_fn(|_| (most * random.uniform()) as f32) };
            let pair = [descriptor(), descriptor()];
            let [a, b] = pair.map(|descriptor| fixed(&descriptor));
            prop_assert_eq!([a, b], pair.map(|descriptor| fixed_lanes(&descriptor)));
            for directions in [axes(), turned(&mut random)] {
                let [x, y] = [a, b].map(|fixed| coordinates(&fixed, &directions));
                prop_assert_eq!(x, coordinates_lanes(&a, &directions));
                // Numbers up to 100 do not overflow.
                if most <= 100.0 {
                    let along: i64 = x.iter().zip(y).map(|(x, y)| (i64::from(*x) - i64::from(y)).pow(2)).sum();
                    prop_assert!(along <= i64::from(limit_of(distance_sq(&a, &b))));
                }
            }
        }
    }

    #[test]
    fn the_farthest_descriptors_do_not_overflow() {
        let one = |first: usize| -> Descriptors {
            let descriptor = std::array::from_fn(|k| if k % 11 == first { 200.0 } else { 0.0 });
            Descriptors::of(&[descriptor], &axes())
        };
        let found = nearest(&Index::of(&one(10), &[0]), &one(0), 0, &mut Scratch::default());
        assert_eq!(found, Nearest { distance_sq: 6 * (200 * 64) * (200 * 64), number: 0 });
    }

    #[test]
    fn an_empty_index_has_no_nearest() {
        let query = Descriptors::of(&[[1.0; DIMENSIONS]], &axes());
        let found = nearest(&Index::of(&Descriptors::default(), &[]), &query, 0, &mut Scratch::default());
        assert_eq!(found, Nearest::NONE);
    }
}
