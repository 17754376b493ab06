//! Eigenvalues of small symmetric matrices. Three or four rows need no linear-algebra library, and the result is the same on
//! every CPU.

/// Eigenvalues and, as columns, eigenvectors of a symmetric matrix, by cyclic Jacobi rotations.
pub(crate) fn symmetric_eigen<const N: usize>(matrix: [[f64; N]; N]) -> ([f64; N], [[f64; N]; N]) {
    // In units of the largest entry squares neither vanish nor overflow.
    let largest = matrix.iter().flatten().fold(0.0, |m: f64, x| m.max(x.abs()));
    let unit = if largest > 0.0 { largest } else { 1.0 };
    let mut a = matrix.map(|row| row.map(|x| x / unit));
    let mut vectors: [[f64; N]; N] =
        std::array::from_fn(|i| std::array::from_fn(|j| f64::from(u8::from(i == j))));
    // Convergence is quadratic: five or six sweeps. The bound only makes the end certain.
    for _ in 0..50 {
        let off: f64 = (0..N).flat_map(|i| (0..i).map(move |j| (i, j))).map(|(i, j)| a[i][j] * a[i][j]).sum();
        let diagonal: f64 = (0..N).map(|i| a[i][i] * a[i][i]).sum();
        if off <= 1e-30 * diagonal {
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
                let turn = |x: f64, y: f64| (c * x - s * y, s * x + c * y);
                for row in a.iter_mut().chain(&mut vectors) {
                    (row[p], row[q]) = turn(row[p], row[q]);
                }
                let (row_p, row_q) = (a[p], a[q]);
                for (k, (x, y)) in row_p.into_iter().zip(row_q).enumerate() {
                    (a[p][k], a[q][k]) = turn(x, y);
                }
            }
        }
    }
    (std::array::from_fn(|i| a[i][i] * unit), vectors)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::{array::uniform4, prelude::*};

    proptest! {
        #[test]
        fn eigenvectors_satisfy_their_equation(
            lower in uniform4(uniform4(-1.0..1.0_f64)), unit in prop_oneof![Just(1.0), Just(1e-200), Just(1e200)],
        ) {
            let a: [[f64; 4]; 4] =
                std::array::from_fn(|i| std::array::from_fn(|j| unit * lower[i.max(j)][i.min(j)]));
            let (values, vectors) = symmetric_eigen(a);
            for k in 0..4 {
                let length_sq: f64 = (0..4).map(|row| vectors[row][k] * vectors[row][k]).sum();
                prop_assert!((length_sq - 1.0).abs() < 1e-13);
                for row in 0..4 {
                    let left: f64 = (0..4).map(|j| a[row][j] * vectors[j][k]).sum();
                    prop_assert!((left - values[k] * vectors[row][k]).abs() < 1e-13 * unit);
                }
            }
        }
    }
}
