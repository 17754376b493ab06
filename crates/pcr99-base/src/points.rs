//! Matched points as a structure of arrays.

/// Matched points, one array per coordinate: match `i` pairs source point `i` with target point `i`.
///
/// All six arrays have the same length. Loops over them need no gather instructions, so the compiler vectorises them.
///
/// Matches may differ in noise. `precision` then holds `1/s²` for each, where `s` is the standard deviation of its noise relative to that of the median
/// match. Residuals are divided by `s` and fits weight a match with `1/s²`, so all matches have the noise of the median match.
#[derive(Debug, Clone, Default)]
pub struct Soa {
    /// Source points `a`: x, y and z.
    pub a: [Vec<f64>; 3],
    /// Target points `b`: x, y and z.
    pub b: [Vec<f64>; 3],
    /// Precision `1/s²` of each match; empty when all are alike.
    pub precision: Vec<f64>,
}

impl Soa {
    /// Matches that are all equally precise.
    pub fn new(a: [Vec<f64>; 3], b: [Vec<f64>; 3]) -> Self {
        Self { a, b, precision: Vec::new() }
    }

    /// Precision of match `i`: 1 when all are alike.
    #[inline]
    pub fn precision_of(&self, i: usize) -> f64 {
        if self.precision.is_empty() { 1.0 } else { self.precision[i] }
    }

    /// Number of matches.
    #[inline]
    pub fn len(&self) -> usize {
        self.a[0].len()
    }

    /// Whether there are no matches.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Source point of match `i`.
    #[inline]
    pub fn source(&self, i: usize) -> [f64; 3] {
        [self.a[0][i], self.a[1][i], self.a[2][i]]
    }

    /// Target point of match `i`.
    #[inline]
    pub fn target(&self, i: usize) -> [f64; 3] {
        [self.b[0][i], self.b[1][i], self.b[2][i]]
    }

    /// Copies the matches of `other` with the indices `order`, in that order. The buffers of `self` are reused.
    pub fn assign_permuted(&mut self, other: &Self, order: &[u32]) {
        let columns = self.a.iter_mut().chain(&mut self.b).zip(other.a.iter().chain(&other.b));
        for (to, from) in columns {
            to.clear();
            to.extend(order.iter().map(|&i| from[i as usize]));
        }
        self.precision.clear();
        if !other.precision.is_empty() {
            self.precision.extend(order.iter().map(|&i| other.precision[i as usize]));
        }
    }
}

/// Squared distances `‖a_i − a_j‖²` and `‖b_i − b_j‖²`; symmetric in `i` and `j` to the bit.
#[inline(always)]
pub fn squared_distances(points: &Soa, i: usize, j: usize) -> (f64, f64) {
    let square = |columns: &[Vec<f64>; 3]| {
        let [x, y, z] = columns.each_ref().map(|column| column[i] - column[j]);
        x * x + y * y + z * z
    };
    (square(&points.a), square(&points.b))
}
