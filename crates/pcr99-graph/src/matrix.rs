//! Small symmetric positive matrices.

use crate::lie::Matrix3;
use pcr99_base::vector::{multiply, solve_positive, transpose};

/// The inverse of a symmetric positive definite matrix, `None` where it is not.
pub(crate) fn inverse<const N: usize>(m: &[[f64; N]; N]) -> Option<[[f64; N]; N]> {
    // In units in which the diagonal is 1.
    let unit: [f64; N] = std::array::from_fn(|i| 1.0 / m[i][i].sqrt());
    let scaled: [[f64; N]; N] = std::array::from_fn(|i| std::array::from_fn(|j| m[i][j] * unit[i] * unit[j]));
    let mut columns = [[0.0; N]; N];
    for (j, column) in columns.iter_mut().enumerate() {
        *column = solve_positive(&scaled, std::array::from_fn(|i| f64::from(u8::from(i == j))))?;
    }
    let inverse: [[f64; N]; N] =
        std::array::from_fn(|i| std::array::from_fn(|j| columns[i.max(j)][i.min(j)] * unit[i] * unit[j]));
    inverse.as_flattened().iter().all(|x| x.is_finite()).then_some(inverse)
}

/// Logarithm of the determinant of a covariance, and the square of `x` in units of it; `None` where it is not positive definite. The lower triangle is read.
pub(crate) fn gaussian<const N: usize>(covariance: &[[f64; N]; N], x: &[f64; N]) -> Option<(f64, f64)> {
    let mut l = *covariance;
    let mut y = *x;
    let (mut determinant, mut square) = (1.0, 0.0);
    let mut logarithm = 0.0;
    for j in 0..N {
        let pivot = l[j][j];
        if !(pivot > 0.0 && pivot.is_finite()) {
            return None;
        }
        determinant *= pivot;
        if !(1e-100..1e100).contains(&determinant) {
            logarithm += libm::log(determinant);
            determinant = 1.0;
        }
        square += y[j] * y[j] / pivot;
        for i in j + 1..N {
            let factor = l[i][j] / pivot;
            y[i] -= factor * y[j];
            let column: [f64; N] = std::array::from_fn(|k| l[k][j]);
            (j + 1..=i).for_each(|k| l[i][k] -= factor * column[k]);
        }
    }
    Some((logarithm + libm::log(determinant), square))
}

/// `A·M·Aᵀ`.
pub(crate) fn sandwich(a: &Matrix3, m: &Matrix3) -> Matrix3 {
    multiply(&multiply(a, m), &transpose(a))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn squares_and_determinants_are_those_of_the_matrix() {
        let m = [[4.0, 1.0, 0.5], [1.0, 3.0, -0.2], [0.5, -0.2, 1e-3 + 0.3]];
        let x = [1.0, -2.0, 0.7];
        let inverse = inverse(&m).unwrap();
        let expected: f64 = (0..3).map(|i| (0..3).map(|j| x[i] * inverse[i][j] * x[j]).sum::<f64>()).sum();
        let determinant = 4.0 * (3.0 * 0.301 - 0.04) - (0.301 + 0.1) + 0.5 * (-0.2 - 1.5);
        let (logarithm, square) = gaussian(&m, &x).unwrap();
        assert!((square - expected).abs() < 1e-12);
        assert!((logarithm - libm::log(determinant)).abs() < 1e-12);
        assert_eq!(gaussian(&[[1.0, 2.0], [2.0, 1.0]], &[1.0, 1.0]), None);
        assert_eq!(super::inverse(&[[1.0, 2.0], [2.0, 1.0]]), None);
        assert_eq!(gaussian(&[[f64::NAN]], &[1.0]), None);
    }
}
