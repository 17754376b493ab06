//! Eigenvalues of small symmetric matrices. The result is the same on every CPU.

/// Eigenvalues in ascending order, and their unit eigenvectors, one per row. Equal eigenvalues keep the order of the axes.
///
/// Cyclic Jacobi rotations. Non-finite entries give non-finite eigenvalues.
///
/// ```
/// let (values, vectors) = pcr99_base::eigen::symmetric_eigen(&[[2.0, 0.0], [0.0, 1.0]]);
/// assert_eq!((values, vectors), ([1.0, 2.0], [[0.0, 1.0], [1.0, 0.0]]));
/// ```
pub fn symmetric_eigen<const N: usize>(matrix: &[[f64; N]; N]) -> ([f64; N], [[f64; N]; N]) {
    // Entries are divided by the largest one, so that their squares neither vanish nor overflow.
    let largest = matrix.iter().flatten().fold(0.0, |m: f64, x| m.max(x.abs()));
    let unit = if largest > 0.0 { largest } else { 1.0 };
    let mut a = matrix.map(|row| row.map(|x| x / unit));
    let mut vectors: [[f64; N]; N] =
        std::array::from_fn(|i| std::array::from_fn(|j| f64::from(u8::from(i == j))));
    for _ in 0..MOST_SWEEPS {
        let off: f64 = (0..N).flat_map(|i| (0..i).map(move |j| (i, j))).map(|(i, j)| a[i][j] * a[i][j]).sum();
        let diagonal: f64 = (0..N).map(|i| a[i][i] * a[i][i]).sum();
        if off <= CONVERGED * diagonal {
            break;
        }
        for p in 0..N - 1 {
            for q in p + 1..N {
                if a[p][q] != 0.0 {
                    rotate_pair(&mut a, &mut vectors, p, q);
                }
            }
        }
    }
    let mut order: [usize; N] = std::array::from_fn(|i| i);
    order.sort_by(|&i, &j| a[i][i].total_cmp(&a[j][j]));
    (order.map(|i| a[i][i] * unit), order.map(|i| vectors[i]))
}

/// Bound on the number of sweeps. Convergence is quadratic and takes five or six; the bound only guarantees an end.
const MOST_SWEEPS: usize = 50;
/// Largest sum of squares off the diagonal, relative to that on it: the entries are then below the rounding error of the eigenvalues (10⁻¹⁵).
const CONVERGED: f64 = 1e-30;

/// Makes `a[p][q]` zero by a rotation in the plane of the axes `p` and `q`.
fn rotate_pair<const N: usize>(a: &mut [[f64; N]; N], vectors: &mut [[f64; N]; N], p: usize, q: usize) {
    // Tangent of the smaller of the two angles that do so.
    let theta = (a[q][q] - a[p][p]) / (2.0 * a[p][q]);
    let t = theta.signum() / (theta.abs() + (theta * theta + 1.0).sqrt());
    let c = 1.0 / (t * t + 1.0).sqrt();
    let s = t * c;
    let turn = |x: f64, y: f64| (c * x - s * y, s * x + c * y);
    for row in a.iter_mut() {
        (row[p], row[q]) = turn(row[p], row[q]);
    }
    for k in 0..N {
        (a[p][k], a[q][k]) = turn(a[p][k], a[q][k]);
        (vectors[p][k], vectors[q][k]) = turn(vectors[p][k], vectors[q][k]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::{array::uniform, prelude::*};

    proptest! {
        #[test]
        fn eigenvectors_satisfy_their_equation(
            lower in uniform::<_, 6>(uniform::<_, 6>(-1.0..1.0_f64)), unit in prop_oneof![Just(1.0), Just(1e-200), Just(1e200)],
        ) {
            let a: [[f64; 6]; 6] =
                std::array::from_fn(|i| std::array::from_fn(|j| unit * lower[i.max(j)][i.min(j)]));
            let (values, vectors) = symmetric_eigen(&a);
            prop_assert!(values.is_sorted());
            for (value, vector) in values.iter().zip(&vectors) {
                let length_sq: f64 = vector.iter().map(|x| x * x).sum();
                prop_assert!((length_sq - 1.0).abs() < 1e-13);
                for (row, x) in a.iter().zip(vector) {
                    let left: f64 = row.iter().zip(vector).map(|(a, v)| a * v).sum();
                    prop_assert!((left - value * x).abs() < 1e-12 * unit);
                }
            }
        }
    }

    #[test]
    fn equal_eigenvalues_keep_the_order_of_the_axes() {
        let (values, vectors) = symmetric_eigen(&[[3.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]);
        assert_eq!(values, [1.0, 1.0, 3.0]);
        assert_eq!(vectors, [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]);
    }

    #[test]
    fn a_zero_matrix_has_zero_eigenvalues() {
        assert_eq!(symmetric_eigen(&[[0.0; 3]; 3]).0, [0.0; 3]);
    }
}
