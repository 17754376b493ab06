//! AVX-512 versions of the longest loops over edges: same operations in the same order, same bits.

use std::arch::x86_64::*;

use super::{Columns, SixtyFour};

/// One match, in all lanes.
pub(in crate::kernel) struct Match {
    a: [__m512; 3],
    b: [__m512; 3],
}

impl Match {
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(in crate::kernel) fn new(columns: &Columns, i: usize) -> Self {
        let (a, b) = columns.one(i);
        Self::of(a, b)
    }

    /// The match of source `a` and target `b`.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(in crate::kernel) fn of(a: [f32; 3], b: [f32; 3]) -> Self {
        Self { a: a.map(|x| _mm512_set1_ps(x)), b: b.map(|x| _mm512_set1_ps(x)) }
    }

    /// Squared distances to group `k` of these, in source and target.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(in crate::kernel) fn squares(&self, others: &SixtyFour<'_>, k: usize) -> (__m512, __m512) {
        (square_distances(self.a, others.a, k), square_distances(self.b, others.b, k))
    }
}

/// Squared distances of a point to group `k` of these.
#[inline]
#[target_feature(enable = "avx512f")]
fn square_distances(point: [__m512; 3], others: [&[f32; 64]; 3], k: usize) -> __m512 {
    let square = |axis: usize| {
        let sixteen: &[f32; 16] = &others[axis].as_chunks().0[k];
        // SAFETY: the pointer is that of sixteen numbers.
        let others = unsafe { _mm512_loadu_ps(sixteen.as_ptr()) };
        let difference = _mm512_sub_ps(point[axis], others);
        _mm512_mul_ps(difference, difference)
    };
    _mm512_add_ps(_mm512_add_ps(square(0), square(1)), square(2))
}

#[target_feature(enable = "avx512f")]
pub(super) fn consistent_rows(columns: &Columns, first: usize, tau_sq: f32, words: usize, rows: &mut [u64]) {
    let (tau_sq, two) = (_mm512_set1_ps(tau_sq), _mm512_set1_ps(2.0));
    for (i, row) in (first..).zip(rows.chunks_exact_mut(words)) {
        let one = Match::new(columns, i);
        for (word, bits) in row.iter_mut().enumerate().skip(i / 64) {
            let others = columns.sixty_four(word);
            *bits = (0..4).fold(0, |bits, k| {
                let (a, b) = one.squares(&others, k);
                let (sum, difference) = (_mm512_add_ps(a, b), _mm512_sub_ps(a, b));
                let bound = _mm512_mul_ps(tau_sq, _mm512_sub_ps(_mm512_mul_ps(two, sum), tau_sq));
                let near = _mm512_cmp_ps_mask::<_CMP_LE_OQ>(_mm512_mul_ps(difference, difference), bound);
                let small = _mm512_cmp_ps_mask::<_CMP_LE_OQ>(sum, tau_sq);
                bits | u64::from(near | small) << (16 * k)
            });
        }
        super::clear_before(row, i);
    }
}

/// Number of common bits, eight words at a time.
#[target_feature(enable = "avx512f,avx512vpopcntdq")]
pub(super) fn pair_supports(bits: &[u64], words: usize, pairs: &[(u32, u32)], out: &mut [u32]) {
    let row = |i: u32| bits[i as usize * words..][..words].as_chunks::<8>();
    // SAFETY: the pointer is that of eight words.
    let load = |eight: &[u64; 8]| unsafe { _mm512_loadu_si512(eight.as_ptr().cast()) };
    for (&(i, j), out) in pairs.iter().zip(out) {
        let (one, other) = (row(i), row(j));
        let mut total = _mm512_setzero_si512();
        for (one, other) in one.0.iter().zip(other.0) {
            total = _mm512_add_epi64(total, _mm512_popcnt_epi64(_mm512_and_si512(load(one), load(other))));
        }
        *out = _mm512_reduce_add_epi64(total) as u32 + super::common_lanes(one.1, other.1);
    }
}
