//! Vectors of three numbers, 3×3 matrices and small linear systems. A linear-algebra library would be larger than the rest of the crate.

/// `u − v`.
#[inline]
pub fn minus(u: [f64; 3], v: [f64; 3]) -> [f64; 3] {
    [u[0] - v[0], u[1] - v[1], u[2] - v[2]]
}

/// `u + v`.
#[inline]
pub fn plus(u: [f64; 3], v: [f64; 3]) -> [f64; 3] {
    [u[0] + v[0], u[1] + v[1], u[2] + v[2]]
}

/// `factor·v`.
#[inline]
pub fn times(factor: f64, v: [f64; 3]) -> [f64; 3] {
    v.map(|x| factor * x)
}

/// `u · v`.
#[inline]
pub fn dot(u: [f64; 3], v: [f64; 3]) -> f64 {
    u[0] * v[0] + u[1] * v[1] + u[2] * v[2]
}

/// `u × v`.
#[inline]
pub fn cross(u: [f64; 3], v: [f64; 3]) -> [f64; 3] {
    [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]]
}

/// `‖v‖`.
#[inline]
pub fn norm(v: [f64; 3]) -> f64 {
    dot(v, v).sqrt()
}

/// `v / ‖v‖`; `v` must not be zero.
#[inline]
pub fn unit(v: [f64; 3]) -> [f64; 3] {
    times(1.0 / norm(v), v)
}

/// `‖u − v‖²`.
#[inline]
pub fn distance_sq(u: [f64; 3], v: [f64; 3]) -> f64 {
    let d = minus(u, v);
    dot(d, d)
}

/// `R·v`.
#[inline]
pub fn rotate(rotation: &[[f64; 3]; 3], v: [f64; 3]) -> [f64; 3] {
    rotation.map(|row| dot(row, v))
}

/// `Mᵀ`; for a rotation its inverse.
#[inline]
pub fn transpose(m: &[[f64; 3]; 3]) -> [[f64; 3]; 3] {
    std::array::from_fn(|row| std::array::from_fn(|column| m[column][row]))
}

/// `A·B`.
#[inline]
pub fn multiply(a: &[[f64; 3]; 3], b: &[[f64; 3]; 3]) -> [[f64; 3]; 3] {
    let columns = transpose(b);
    transpose(&columns.map(|column| rotate(a, column)))
}

/// Lower median: the middle number, or the lower of the two middle ones. `None` for no numbers. The numbers are reordered.
pub fn lower_median(numbers: &mut [f64]) -> Option<f64> {
    let middle = numbers.len().checked_sub(1)? / 2;
    Some(*numbers.select_nth_unstable_by(middle, f64::total_cmp).1)
}

/// Solution of `A·x = b` by Cholesky's decomposition. `None` unless the symmetric matrix `A` is positive definite.
pub fn solve_positive<const N: usize>(matrix: &[[f64; N]; N], b: [f64; N]) -> Option<[f64; N]> {
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
