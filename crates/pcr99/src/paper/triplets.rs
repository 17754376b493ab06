//! The order of samples (Sec. V-B and the appendix): triplets of ranks `r_i < r_j < r_k` by their sum, then by `r_i`, then by
//! `r_j`, with the bounds of Eq. (48) and (50).
//!
//! With `r_sum` and `r_i` fixed, `r_j` ascends through an interval while `r_k = r_sum − r_i − r_j` descends. Such a [`Run`] is prescreened at
//! once.

/// All triplets with one `r_sum` and one `r_i`. Ranks count from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) r_i: usize,
    /// Smallest and largest `r_j`.
    pub(super) r_j: [usize; 2],
    /// `r_j + r_k`.
    pub(super) r_jk: usize,
}

impl Run {
    /// Number of triplets.
    pub(super) fn len(&self) -> usize {
        self.r_j[1] - self.r_j[0] + 1
    }
}

/// The non-empty runs for `n` matches in the order of Algorithm 1, lines 9–15.
pub(super) fn runs(n: usize) -> impl Iterator<Item = Run> {
    (6..=3 * n - 3).flat_map(move |r_sum| {
        // Eq. (48): max(1, r_sum − 2n + 1) ≤ r_i ≤ ⌊(r_sum − 3)/3⌋.
        let r_i_low = (r_sum + 1).saturating_sub(2 * n).max(1);
        let r_i_high = (r_sum - 3) / 3;
        (r_i_low..=r_i_high).filter_map(move |r_i| {
            // Eq. (50): max(r_i + 1, r_sum − r_i − n) ≤ r_j ≤ ⌊(r_sum − r_i − 1)/2⌋.
            let r_jk = r_sum - r_i;
            let r_j = [(r_i + 1).max(r_jk.saturating_sub(n)), (r_jk - 1) / 2];
            (r_j[0] <= r_j[1]).then_some(Run { r_i, r_j, r_jk })
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn triplets(n: usize) -> impl Iterator<Item = [usize; 3]> {
        runs(n).flat_map(|run| (run.r_j[0]..=run.r_j[1]).map(move |r_j| [run.r_i, r_j, run.r_jk - r_j]))
    }

    #[test]
    fn every_triplet_comes_once_in_the_papers_order() {
        for n in 3..=24 {
            let all: Vec<_> = triplets(n).collect();
            assert!(all.iter().all(|&[i, j, k]| 1 <= i && i < j && j < k && k <= n));
            assert_eq!(all.len(), n * (n - 1) * (n - 2) / 6);
            assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len());
            assert!(all.is_sorted_by_key(|&[i, j, k]| (i + j + k, i, j)));
        }
    }

    #[test]
    fn the_first_are_as_in_the_paper() {
        let first: Vec<_> = triplets(1000).take(6).collect();
        assert_eq!(first, [[1, 2, 3], [1, 2, 4], [1, 2, 5], [1, 3, 4], [1, 2, 6], [1, 3, 5]]);
    }
}
