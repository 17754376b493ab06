//! The log-ratio matrix (Algorithm 1, lines 1–3), in rank order.
//!
//! The score reads `L` row by row and needs no matrix. The prescreening test reads it in rank order, and rarely reaches the last ranks. The
//! matrix is therefore stored in rank order and computed as far as the search reaches. A run of samples (`i` fixed, `j` ascending, `k`
//! descending) reads `L(i, ·)` along row `i` and `L(j, k)` along the antidiagonal with constant `j + k`. Both are stored, so that all reads
//! are sequential.

use std::collections::TryReserveError;

use pcr99_base::{
    Soa,
    kernel::log_ratio::{antidiagonal_log_ratios, log_ratios},
};

/// `L(i, j)` for ranks `i < j`, counted from 0 here, computed as far as needed.
#[derive(Debug, Default)]
pub(super) struct LogRatios {
    n: usize,
    rows: Lines,
    antidiagonals: Lines,
}

/// Lines of varying length, stored one after the other.
#[derive(Debug, Default)]
struct Lines {
    values: Vec<f64>,
    starts: Vec<usize>,
}

impl Lines {
    /// Clears all lines and reserves address space. The system provides the memory when it is first written.
    fn reset(&mut self, lines: usize, values: usize) -> Result<(), TryReserveError> {
        self.values.clear();
        self.values.try_reserve_exact(values)?;
        self.starts.clear();
        self.starts.try_reserve_exact(lines)
    }

    /// Appends a line of `len` values.
    fn push(&mut self, len: usize) -> &mut [f64] {
        let start = self.values.len();
        self.starts.push(start);
        self.values.resize(start + len, 0.0);
        &mut self.values[start..]
    }

    /// A part of a line.
    fn part(&self, line: usize, range: std::ops::Range<usize>) -> &[f64] {
        let start = self.starts[line];
        &self.values[start + range.start..start + range.end]
    }
}

impl LogRatios {
    /// Memory of all rows and antidiagonals, in bytes.
    pub(super) fn memory_needed(n: usize) -> u128 {
        let n = n as u128;
        n * (n - 1) * size_of::<f64>() as u128
    }

    /// Clears everything and prepares for `n` matches; an error when the memory cannot be reserved.
    pub(super) fn reset(&mut self, n: usize) -> Result<(), TryReserveError> {
        self.n = n;
        self.rows.reset(n, n * (n - 1) / 2)?;
        self.antidiagonals.reset(2 * n, n * (n - 1) / 2)
    }

    /// Computes rows up to `i` and antidiagonals up to `sum`, where they are missing.
    pub(super) fn reach(&mut self, ranked: &Soa, i: usize, sum: usize) {
        while self.rows.starts.len() <= i {
            let row = self.rows.starts.len();
            log_ratios(ranked, row, row + 1, self.rows.push(self.n - row - 1));
        }
        while self.antidiagonals.starts.len() <= sum {
            let sum = self.antidiagonals.starts.len();
            let first = first_on_antidiagonal(self.n, sum);
            antidiagonal_log_ratios(ranked, sum, first, self.antidiagonals.push(sum.div_ceil(2) - first));
        }
    }

    /// `L(i, j)` for `j` in `columns`, all above `i`.
    pub(super) fn row(&self, i: usize, columns: std::ops::Range<usize>) -> &[f64] {
        self.rows.part(i, columns.start - i - 1..columns.end - i - 1)
    }

    /// `L(j, sum − j)` for `j` in `rows`, all below `sum − j`.
    pub(super) fn antidiagonal(&self, sum: usize, rows: std::ops::Range<usize>) -> &[f64] {
        let first = first_on_antidiagonal(self.n, sum);
        self.antidiagonals.part(sum, rows.start - first..rows.end - first)
    }
}

/// The smallest `j` with `sum − j < n`.
fn first_on_antidiagonal(n: usize, sum: usize) -> usize {
    (sum + 1).saturating_sub(n)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pcr99_base::{kernel::log_ratio::half_log_ratio, squared_distances, test_points};

    #[test]
    fn every_entry_is_in_both_its_places() {
        let all = test_points::random(23, 5);
        let mut ratios = LogRatios::default();
        for n in [23_usize, 3, 17] {
            let mut points = Soa::default();
            points.assign_permuted(&all, &(0..n as u32).collect::<Vec<_>>());
            ratios.reset(n).unwrap();
            ratios.reach(&points, 1, 0);
            assert_eq!(ratios.rows.values.len(), (n - 1) + (n - 2), "only what was asked for");
            ratios.reach(&points, n - 2, 2 * n - 3);
            for i in 0..n {
                for j in i + 1..n {
                    let (source_sq, target_sq) = squared_distances(&points, i, j);
                    let wanted = half_log_ratio(source_sq, target_sq).to_bits();
                    assert_eq!(ratios.row(i, j..n)[0].to_bits(), wanted);
                    assert_eq!(ratios.antidiagonal(i + j, i..i + 1)[0].to_bits(), wanted);
                }
            }
            assert!(ratios.reset(1 << 31).is_err(), "2⁶⁵ bytes");
            ratios.reset(n).unwrap();
            ratios.reach(&points, n - 2, 2 * n - 3);
            let held = ratios.rows.values.len() + ratios.antidiagonals.values.len();
            assert_eq!(8 * held as u128, LogRatios::memory_needed(n));
        }
    }
}
