//! The prescreening test with unknown scale, Eq. (24)–(26), for a run of samples: `i` is fixed, `j` goes up while `k` goes down.
//!
//! All three log ratios are then read in order, four samples at a time. Few samples pass, so there is one branch for four.

/// Log ratios of a run of samples: sample `x` has `L(i,j) = ij[x]`, `L(j,k) = jk[x]` and `L(k,i) = ki_reversed[len − 1 − x]`.
#[derive(Debug, Clone, Copy)]
pub struct Edges<'a> {
    /// `L(i, j)`, in the order of the samples.
    pub ij: &'a [f64],
    /// `L(j, k)`, in the order of the samples.
    pub jk: &'a [f64],
    /// `L(k, i)`, in the reverse order.
    pub ki_reversed: &'a [f64],
}

/// Appends to `hits` the samples whose three log ratios agree within `epsilon`, in ascending order.
///
/// # Panics
/// When the three slices differ in length.
pub fn similar_triangles(edges: Edges<'_>, epsilon: f64, hits: &mut Vec<u32>) {
    assert!(edges.ij.len() == edges.jk.len() && edges.ij.len() == edges.ki_reversed.len());
    #[cfg(target_arch = "x86_64")]
    if crate::dispatch::has_avx2() {
        // SAFETY: the line above checked that this CPU has AVX2.
        unsafe { similar_triangles_avx2(edges, epsilon, hits) };
        return;
    }
    similar_from(0, edges, epsilon, hits);
}

/// The definition, from sample `start` on. A comparison with NaN is false: an undefined ratio never passes.
fn similar_from(start: usize, edges: Edges<'_>, epsilon: f64, hits: &mut Vec<u32>) {
    for x in start..edges.ij.len() {
        let (ij, jk, ki) = (edges.ij[x], edges.jk[x], edges.ki_reversed[edges.ij.len() - 1 - x]);
        if [ij - jk, jk - ki, ij - ki].into_iter().all(|difference| difference.abs() <= epsilon) {
            hits.push(x as u32);
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn similar_triangles_avx2(edges: Edges<'_>, epsilon: f64, hits: &mut Vec<u32>) {
    use std::arch::x86_64::{
        __m256d, _CMP_LE_OQ, _mm256_and_pd, _mm256_andnot_pd, _mm256_cmp_pd, _mm256_movemask_pd,
        _mm256_permute4x64_pd, _mm256_set_pd, _mm256_set1_pd, _mm256_sub_pd,
    };
    let (bound, sign) = (_mm256_set1_pd(epsilon), _mm256_set1_pd(-0.0));
    let load = |v: &[f64; 4]| _mm256_set_pd(v[3], v[2], v[1], v[0]);
    let alike = |u: __m256d, v: __m256d| {
        _mm256_cmp_pd::<_CMP_LE_OQ>(_mm256_andnot_pd(sign, _mm256_sub_pd(u, v)), bound)
    };
    let ((ij, _), (jk, _)) = (edges.ij.as_chunks::<4>(), edges.jk.as_chunks::<4>());
    let (_, ki_reversed) = edges.ki_reversed.as_rchunks::<4>();
    for (block, ((ij, jk), ki)) in ij.iter().zip(jk).zip(ki_reversed.iter().rev()).enumerate() {
        let (ij, jk) = (load(ij), load(jk));
        let ki = _mm256_permute4x64_pd::<0b00_01_10_11>(load(ki));
        let all = _mm256_and_pd(_mm256_and_pd(alike(ij, jk), alike(jk, ki)), alike(ij, ki));
        let mut passed = _mm256_movemask_pd(all);
        while passed != 0 {
            hits.push(4 * block as u32 + passed.trailing_zeros());
            passed &= passed - 1;
        }
    }
    similar_from(4 * ij.len(), edges, epsilon, hits);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::{array::uniform3, collection::vec, prelude::*, sample::Index};

    proptest! {
        /// The bound sits exactly on one pair of edges, so a single wrong comparison changes the hits.
        #[test]
        fn fast_equals_reference(
            rows in vec(uniform3(prop_oneof![9 => -0.5..0.5_f64, 1 => Just(f64::NAN)]), 1..67), pick in any::<Index>(),
        ) {
            let column = |k: usize| rows.iter().map(|row| row[k]).collect::<Vec<f64>>();
            let (ij, jk, mut ki_reversed) = (column(0), column(1), column(2));
            let [u, v, _] = rows[pick.index(rows.len())];
            let epsilon = if (u - v).is_nan() { 0.3 } else { (u - v).abs() };
            ki_reversed.reverse();
            let edges = Edges { ij: &ij, jk: &jk, ki_reversed: &ki_reversed };
            let (mut fast, mut plain) = (Vec::new(), Vec::new());
            similar_triangles(edges, epsilon, &mut fast);
            similar_from(0, edges, epsilon, &mut plain);
            prop_assert_eq!(fast, plain);
        }
    }
}
