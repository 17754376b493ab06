//! First of the three prescreening conditions for a whole run of samples: which `j` in a row have
//! `|L(i,j) − L(i,k)| ≤ ε`, where `j` goes up while `k` goes down (`j + k` is constant in the paper's order).

/// Appends to `hits` the offsets `x` with `|up[x] − down[last − x]| ≤ epsilon`, ascending; both slices have one length.
pub(crate) fn similar_edges(up: &[f64], down: &[f64], epsilon: f64, hits: &mut Vec<u32>) {
    assert_eq!(up.len(), down.len());
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: the line above checked that this CPU has AVX2.
        unsafe { similar_edges_avx2(up, down, epsilon, hits) };
        return;
    }
    similar_edges_from(0, up, down, epsilon, hits);
}

/// The definition, from offset `start` on.
fn similar_edges_from(start: usize, up: &[f64], down: &[f64], epsilon: f64, hits: &mut Vec<u32>) {
    let pairs = up.iter().zip(down.iter().rev()).enumerate().skip(start);
    // A comparison with NaN is false: an undefined ratio never passes.
    hits.extend(pairs.filter(|(_, (u, d))| (*u - *d).abs() <= epsilon).map(|(x, _)| x as u32));
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn similar_edges_avx2(up: &[f64], down: &[f64], epsilon: f64, hits: &mut Vec<u32>) {
    use std::arch::x86_64::{
        _CMP_LE_OQ, _mm256_andnot_pd, _mm256_cmp_pd, _mm256_movemask_pd, _mm256_permute4x64_pd,
        _mm256_set_pd, _mm256_set1_pd, _mm256_sub_pd,
    };
    let (bound, sign) = (_mm256_set1_pd(epsilon), _mm256_set1_pd(-0.0));
    let (up_blocks, _) = up.as_chunks::<4>();
    let (_, down_blocks) = down.as_rchunks::<4>();
    for (block, (u, d)) in up_blocks.iter().zip(down_blocks.iter().rev()).enumerate() {
        let u = _mm256_set_pd(u[3], u[2], u[1], u[0]);
        let d = _mm256_permute4x64_pd::<0b00_01_10_11>(_mm256_set_pd(d[3], d[2], d[1], d[0]));
        let difference = _mm256_andnot_pd(sign, _mm256_sub_pd(u, d));
        let mut passed = _mm256_movemask_pd(_mm256_cmp_pd::<_CMP_LE_OQ>(difference, bound));
        while passed != 0 {
            hits.push(4 * block as u32 + passed.trailing_zeros());
            passed &= passed - 1;
        }
    }
    similar_edges_from(4 * up_blocks.len(), up, down, epsilon, hits);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::{collection::vec, prelude::*, sample::Index};

    proptest! {
        /// The bound sits exactly on one pair, so a single wrong comparison changes the hits.
        #[test]
        fn fast_equals_reference(
            row in vec(prop_oneof![9 => -1.0..1.0_f64, 1 => Just(f64::NAN)], 1..67), pick in any::<Index>(),
        ) {
            let down: Vec<f64> = row.iter().map(|x| 0.5 * x + 0.1).collect();
            let on_edge = (row[pick.index(row.len())] - down[row.len() - 1 - pick.index(row.len())]).abs();
            let epsilon = if on_edge.is_nan() { 0.3 } else { on_edge };
            let (mut fast, mut plain) = (Vec::new(), Vec::new());
            similar_edges(&row, &down, epsilon, &mut fast);
            similar_edges_from(0, &row, &down, epsilon, &mut plain);
            prop_assert_eq!(&fast, &plain);
            prop_assert!(on_edge.is_nan() || fast.contains(&(pick.index(row.len()) as u32)));
        }
    }
}
