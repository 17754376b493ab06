//! Normal equations of a small motion.

use pcr99_base::vector::{cross, dot, minus};

/// Normal equations of 6 unknowns, or 7 with scale.
#[derive(Debug, Clone, Copy)]
pub(super) struct Equations {
    /// Lower half of the matrix until [`symmetric`](Self::symmetric) fills in the rest.
    pub(super) matrix: [[f64; 7]; 7],
    pub(super) right: [f64; 7],
    pub(super) weight: f64,
    pub(super) pairs: usize,
    /// Weighted sum of squared residuals.
    pub(super) sum_sq: f64,
    /// Weighted sum of the moved points.
    pub(super) places: [f64; 3],
    /// Weighted sum of their squared lengths.
    pub(super) places_sq: f64,
}

impl Equations {
    pub(super) const NONE: Self = Self {
        matrix: [[0.0; 7]; 7],
        right: [0.0; 7],
        weight: 0.0,
        pairs: 0,
        sum_sq: 0.0,
        places: [0.0; 3],
        places_sq: 0.0,
    };

    /// Mean of the pairs, and their root mean square distance from it; never zero.
    pub(super) fn middle_and_spread(&self) -> ([f64; 3], f64) {
        let middle = self.places.map(|x| x / self.weight);
        let spread_sq = self.places_sq / self.weight - dot(middle, middle);
        (middle, spread_sq.max(f64::MIN_POSITIVE).sqrt())
    }

    pub(super) fn add(&mut self, p: [f64; 3], q: [f64; 3], n: [f64; 3], weight: f64) {
        let turn = cross(p, n);
        let row = [turn[0], turn[1], turn[2], n[0], n[1], n[2], dot(p, n)];
        let residual = dot(n, minus(p, q));
        for (i, x) in row.into_iter().enumerate() {
            let weighted = weight * x;
            self.right[i] -= weighted * residual;
            // Lower half only; `symmetric` fills in the rest.
            self.matrix[i].iter_mut().zip(&row[..=i]).for_each(|(sum, y)| *sum += weighted * y);
        }
        self.weight += weight;
        self.sum_sq += weight * residual * residual;
        self.places.iter_mut().zip(p).for_each(|(sum, x)| *sum += weight * x);
        self.places_sq += weight * dot(p, p);
    }

    pub(super) fn merge(mut self, other: &Self) -> Self {
        for i in 0..7 {
            self.right[i] += other.right[i];
            for j in 0..=i {
                self.matrix[i][j] += other.matrix[i][j];
            }
        }
        self.weight += other.weight;
        self.pairs += other.pairs;
        self.sum_sq += other.sum_sq;
        for axis in 0..3 {
            self.places[axis] += other.places[axis];
        }
        self.places_sq += other.places_sq;
        self
    }

    pub(super) fn symmetric(mut self) -> Self {
        for i in 0..7 {
            for j in 0..i {
                self.matrix[j][i] = self.matrix[i][j];
            }
        }
        self
    }
}
