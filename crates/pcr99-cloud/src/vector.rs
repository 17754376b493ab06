//! Small vectors and symmetric matrices: three coordinates need no linear-algebra library.

/// `u − v`.
pub(crate) fn minus(u: [f64; 3], v: [f64; 3]) -> [f64; 3] {
    [u[0] - v[0], u[1] - v[1], u[2] - v[2]]
}

/// `u · v`.
pub(crate) fn dot(u: [f64; 3], v: [f64; 3]) -> f64 {
    u[0] * v[0] + u[1] * v[1] + u[2] * v[2]
}

/// `u × v`.
pub(crate) fn cross(u: [f64; 3], v: [f64; 3]) -> [f64; 3] {
    [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]]
}

/// `‖u − v‖²`.
pub(crate) fn distance_sq(u: [f64; 3], v: [f64; 3]) -> f64 {
    let d = minus(u, v);
    dot(d, d)
}

/// `R·v`.
pub(crate) fn rotate(rotation: &[[f64; 3]; 3], v: [f64; 3]) -> [f64; 3] {
    rotation.map(|row| dot(row, v))
}

/// The lower of the two middle numbers; `None` when there are none.
pub(crate) fn lower_median(numbers: &mut [f64]) -> Option<f64> {
    let middle = numbers.len().checked_sub(1)? / 2;
    Some(*numbers.select_nth_unstable_by(middle, f64::total_cmp).1)
}

/// Eigenvalues, ascending, and their eigenvectors, one a row, of a symmetric matrix, by cyclic Jacobi rotations. In exact ties the order is
/// that of the axes.
pub(crate) fn symmetric_eigen<const N: usize>(matrix: &[[f64; N]; N]) -> ([f64; N], [[f64; N]; N]) {
    // In units of the largest entry squares neither vanish nor overflow.
    let largest = matrix.iter().flatten().fold(0.0, |m: f64, x| m.max(x.abs()));
    let unit = if largest > 0.0 { largest } else { 1.0 };
    let mut a = matrix.map(|row| row.map(|x| x / unit));
    let mut vectors: [[f64; N]; N] =
        std::array::from_fn(|i| std::array::from_fn(|j| f64::from(u8::from(i == j))));
    // Convergence is quadratic: five or six sweeps. The bound only makes the end certain.
    for _ in 0..40 {
        let off: f64 = (0..N).flat_map(|i| (0..i).map(move |j| (i, j))).map(|(i, j)| a[i][j] * a[i][j]).sum();
        if off <= 1e-30 {
            break;
        }
        for p in 0..N - 1 {
            for q in p + 1..N {
                if a[p][q] == 0.0 {
                    continue;
                }
                // tan of the angle that makes a[p][q] zero, the smaller of the two.
                let theta = (a[q][q] - a[p][p]) / (2.0 * a[p][q]);
                let t = theta.signum() / (theta.abs() + (theta * theta + 1.0).sqrt());
                let c = 1.0 / (t * t + 1.0).sqrt();
                let s = t * c;
                for row in &mut a {
                    (row[p], row[q]) = (c * row[p] - s * row[q], s * row[p] + c * row[q]);
                }
                for k in 0..N {
                    (a[p][k], a[q][k]) = (c * a[p][k] - s * a[q][k], s * a[p][k] + c * a[q][k]);
                    (vectors[p][k], vectors[q][k]) =
                        (c * vectors[p][k] - s * vectors[q][k], s * vectors[p][k] + c * vectors[q][k]);
                }
            }
        }
    }
    let mut order: [usize; N] = std::array::from_fn(|i| i);
    order.sort_by(|&i, &j| a[i][i].total_cmp(&a[j][j]));
    (order.map(|i| a[i][i] * unit), order.map(|i| vectors[i]))
}

/// Solves `A·x = b` for a symmetric positive definite `A` by Cholesky's decomposition; `None` when it is not.
pub(crate) fn solve_positive<const N: usize>(matrix: &[[f64; N]; N], b: [f64; N]) -> Option<[f64; N]> {
    let mut lower = [[0.0; N]; N];
    for i in 0..N {
        for j in 0..=i {
            let sum: f64 = (0..j).map(|k| lower[i][k] * lower[j][k]).sum();
            let rest = matrix[i][j] - sum;
            if i == j {
                if !(rest > 0.0 && rest.is_finite()) {
                    return None;
                }
                lower[i][i] = rest.sqrt();
            } else {
                lower[i][j] = rest / lower[j][j];
            }
        }
    }
    let mut y = [0.0; N];
    for i in 0..N {
        let sum: f64 = (0..i).map(|k| lower[i][k] * y[k]).sum();
        y[i] = (b[i] - sum) / lower[i][i];
    }
    let mut x = [0.0; N];
    for i in (0..N).rev() {
        let sum: f64 = (i + 1..N).map(|k| lower[k][i] * x[k]).sum();
        x[i] = (y[i] - sum) / lower[i][i];
    }
    Some(x)
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
                for (row, x) in a.iter().zip(vector) {
                    let left: f64 = row.iter().zip(vector).map(|(a, v)| a * v).sum();
                    prop_assert!((left - value * x).abs() < 1e-12 * unit);
                }
            }
        }

        #[test]
        fn a_positive_system_is_solved(rows in uniform::<_, 6>(uniform::<_, 6>(-1.0..1.0_f64)), x in uniform::<_, 6>(-1.0..1.0_f64)) {
            // BᵀB + 1 is positive definite.
            let a: [[f64; 6]; 6] = std::array::from_fn(|i| {
                std::array::from_fn(|j| rows.iter().map(|r| r[i] * r[j]).sum::<f64>() + f64::from(u8::from(i == j)))
            });
            let b = a.map(|row| row.iter().zip(&x).map(|(a, x)| a * x).sum());
            let found = solve_positive(&a, b).expect("positive definite");
            prop_assert!(found.iter().zip(&x).all(|(f, x)| (f - x).abs() < 1e-12));
        }
    }

    #[test]
    fn a_singular_system_has_no_solution() {
        assert_eq!(solve_positive(&[[1.0, 1.0], [1.0, 1.0]], [1.0, 2.0]), None);
    }
}
