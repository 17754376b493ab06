//! The log-ratio matrix (Algorithm 1, lines 1–3), over one triangle and in rank order.
//!
//! The score reads `L` row by row and needs no matrix. The prescreening test reads it in rank order, and of the last ranks
//! only when everything else failed. So the matrix is kept once, in rank order, its rows made when first reached.

use crate::kernel::{Soa, log_ratio::log_ratios};

/// `L(i, j)` for ranks `i < j`, as far as it has been needed.
#[derive(Debug, Default)]
pub(super) struct LogRatios {
    n: usize,
    rows: usize,
    values: Vec<f64>,
}

impl LogRatios {
    /// How many bytes the whole triangle takes.
    pub(super) fn memory_needed(n: usize) -> u128 {
        let n = n as u128;
        n * (n - 1) / 2 * size_of::<f64>() as u128
    }

    /// Forgets everything and prepares for `n` matches. The memory is only asked for here; the system provides it when it is
    /// first written to.
    pub(super) fn reset(&mut self, n: usize) {
        self.n = n;
        self.rows = 0;
        self.values.clear();
        self.values.reserve_exact(n * (n - 1) / 2);
    }

    /// Makes sure that the first `rows` rows are there.
    pub(super) fn ensure_rows(&mut self, ranked: &Soa, rows: usize) {
        while self.rows < rows {
            let row = self.rows;
            let start = self.values.len();
            self.values.resize(start + (self.n - row - 1), 0.0);
            log_ratios(ranked, row, row + 1, &mut self.values[start..]);
            self.rows += 1;
        }
    }

    /// Row `i`: `L(i, j)` for `j` in `columns`, all above `i`.
    pub(super) fn row(&self, i: usize, columns: std::ops::Range<usize>) -> &[f64] {
        let start = self.start(i);
        &self.values[start + columns.start - i - 1..start + columns.end - i - 1]
    }

    /// `L(i, j)` for `i < j`.
    pub(super) fn at(&self, i: usize, j: usize) -> f64 {
        self.values[self.start(i) + j - i - 1]
    }

    /// Where row `i` starts: after rows of `n − 1`, `n − 2`, … values.
    fn start(&self, i: usize) -> usize {
        i * (2 * self.n - i - 1) / 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::{log_ratio::half_log_ratio, squared_distances, test_points};

    #[test]
    fn every_entry_is_in_its_place() {
        let points = test_points::random(23, 5);
        let mut ratios = LogRatios::default();
        for n in [23, 3, 17] {
            ratios.reset(n);
            ratios.ensure_rows(&points_of(&points, n), 2);
            assert_eq!(ratios.values.len(), (n - 1) + (n - 2), "only what was asked for");
            ratios.ensure_rows(&points_of(&points, n), n - 1);
            for i in 0..n {
                for j in i + 1..n {
                    let (source_sq, target_sq) = squared_distances(&points, i, j);
                    let wanted = half_log_ratio(source_sq, target_sq);
                    assert_eq!(ratios.at(i, j).to_bits(), wanted.to_bits());
                    assert_eq!(ratios.row(i, j..n)[0].to_bits(), wanted.to_bits());
                }
            }
            assert_eq!(ratios.values.len() as u128 * 8, LogRatios::memory_needed(n));
        }
    }

    fn points_of(points: &Soa, n: usize) -> Soa {
        let mut first = Soa::default();
        first.assign_permuted(points, &(0..n as u32).collect::<Vec<_>>());
        first
    }
}
