//! Nearest descriptors with AVX2. All functions are inlined into the two that have the instructions; nothing else may call them.

use std::arch::x86_64::{
    __m256i, _mm_loadu_si64, _mm256_add_epi32, _mm256_castsi256_ps, _mm256_cmpgt_epi32, _mm256_cvtepu8_epi32,
    _mm256_loadu_si256, _mm256_madd_epi16, _mm256_max_epi16, _mm256_movemask_ps, _mm256_set1_epi32,
    _mm256_setzero_si256, _mm256_storeu_si256, _mm256_sub_epi16, _mm256_subs_epi16,
};

use super::{
    Nearest, Scratch,
    index::{Block, Boxes, HALF, Index, LANES, Rows, STEPS},
    lanes::{Lanes, Query},
    search,
};
use crate::kernel::bit_places::BIT_PLACES;

#[target_feature(enable = "avx2,popcnt")]
pub(super) fn nearest(index: &Index, query: Query<'_>, scratch: &mut Scratch) -> Nearest {
    search::<Avx2, false>(index, query, Nearest::NONE, scratch)
}

#[target_feature(enable = "avx2,popcnt")]
pub(super) fn is_any_nearer(index: &Index, query: Query<'_>, than: Nearest, scratch: &mut Scratch) -> bool {
    search::<Avx2, true>(index, query, than, scratch) != than
}

/// A query: each pair of its numbers in all lanes.
struct Avx2 {
    coordinates: [[__m256i; HALF]; 2],
    /// The descriptor.
    fixed: [__m256i; STEPS],
}

#[expect(clippy::inline_always, reason = "part of functions with AVX2")]
#[inline(always)]
fn load(x: &[i16; 2 * LANES]) -> __m256i {
    // SAFETY: a reference to 32 bytes, which need not be aligned; the callers have AVX2.
    unsafe { _mm256_loadu_si256(std::ptr::from_ref(x).cast::<__m256i>()) }
}

#[expect(clippy::inline_always, reason = "part of functions with AVX2")]
#[inline(always)]
fn load_numbers(x: &[i32; LANES]) -> __m256i {
    // SAFETY: as above.
    unsafe { _mm256_loadu_si256(std::ptr::from_ref(x).cast::<__m256i>()) }
}

#[expect(clippy::inline_always, reason = "part of functions with AVX2")]
#[inline(always)]
fn store<T>(x: &mut [T; LANES], v: __m256i) {
    const { assert!(size_of::<T>() == 4) }
    // SAFETY: a reference to eight numbers of four bytes that may be written; the callers have AVX2.
    unsafe { _mm256_storeu_si256(std::ptr::from_mut(x).cast::<__m256i>(), v) }
}

#[expect(clippy::inline_always, reason = "part of functions with AVX2")]
#[inline(always)]
fn in_all_lanes([x, y]: [i16; 2]) -> __m256i {
    // SAFETY: the callers have AVX2.
    unsafe { _mm256_set1_epi32(i32::from(x as u16) | i32::from(y) << 16) }
}

impl<'a> Lanes<'a> for Avx2 {
    #[inline(always)]
    fn new(query: Query<'a>) -> Self {
        // Loops, because `map` of long arrays is not inlined.
        let zero = in_all_lanes([0; 2]);
        let mut this = Self { coordinates: [[zero; HALF]; 2], fixed: [zero; STEPS] };
        for step in 0..2 * HALF {
            let pair = [query.coordinates[2 * step], query.coordinates[2 * step + 1]];
            this.coordinates[step / HALF][step % HALF] = in_all_lanes(pair);
        }
        for step in 0..STEPS {
            this.fixed[step] = in_all_lanes(query.fixed[step]);
        }
        this
    }

    #[inline(always)]
    fn to_boxes(&self, boxes: &Boxes, out: &mut [i32; LANES]) {
        // SAFETY: the callers have AVX2.
        unsafe {
            let mut sums = _mm256_setzero_si256();
            for step in 0..HALF {
                let x = self.coordinates[0][step];
                let below = _mm256_subs_epi16(load(&boxes.low[step]), x);
                let above = _mm256_subs_epi16(x, load(&boxes.high[step]));
                let gap = _mm256_max_epi16(_mm256_max_epi16(below, above), _mm256_setzero_si256());
                sums = _mm256_add_epi32(sums, _mm256_madd_epi16(gap, gap));
            }
            store(out, sums);
        }
    }

    #[inline(always)]
    fn along(&self, half: usize, rows: &Rows<HALF>, sums: &mut [i32; LANES]) {
        // SAFETY: the callers have AVX2.
        unsafe {
            let mut total = load_numbers(sums);
            for (row, query) in rows.iter().zip(self.coordinates[half]) {
                let apart = _mm256_subs_epi16(load(row), query);
                total = _mm256_add_epi32(total, _mm256_madd_epi16(apart, apart));
            }
            store(sums, total);
        }
    }

    #[inline(always)]
    fn distances_sq(&self, block: &Block) -> [i32; LANES] {
        // SAFETY: the callers have AVX2.
        unsafe {
            // Two sums, so that one addition need not wait for the other.
            let mut sums = [_mm256_setzero_si256(); 2];
            for step in 0..STEPS {
                let apart = _mm256_sub_epi16(load(&block.fixed[step]), self.fixed[step]);
                sums[step % 2] = _mm256_add_epi32(sums[step % 2], _mm256_madd_epi16(apart, apart));
            }
            let mut distances_sq = [0; LANES];
            store(&mut distances_sq, _mm256_add_epi32(sums[0], sums[1]));
            distances_sq
        }
    }

    #[inline(always)]
    fn at_most(numbers: &[i32; LANES], most: i32) -> u32 {
        // SAFETY: the callers have AVX2.
        unsafe {
            let above = _mm256_cmpgt_epi32(load_numbers(numbers), _mm256_set1_epi32(most));
            !_mm256_movemask_ps(_mm256_castsi256_ps(above)) as u32 & 0xFF
        }
    }

    #[inline(always)]
    fn write(bits: u32, first: u32, list: &mut [u32; LANES]) -> usize {
        let places = &BIT_PLACES[bits as usize & 0xFF];
        // SAFETY: a reference to eight bytes is read; the callers have AVX2.
        let places = unsafe { _mm256_cvtepu8_epi32(_mm_loadu_si64(places.as_ptr())) };
        // SAFETY: the callers have AVX2.
        store(list, unsafe { _mm256_add_epi32(places, _mm256_set1_epi32(first as i32)) });
        bits.count_ones() as usize
    }
}
