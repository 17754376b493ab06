//! Elimination of unknowns from a dense symmetric system (partial Cholesky factorisation), the inner loop of a sparse solver.
//!
//! Matrices are stored column by column, and only their lower triangle is read. Elements above the diagonal may be overwritten.

use crate::dispatch::compiled_twice;

/// Columns that are eliminated before the rest of the matrix is updated. 24 columns of 500 rows fit into the second-level cache, and 24 is a multiple of the
/// block sizes 3, 4 and 6 of pose graphs.
const PANEL: usize = 24;

compiled_twice! {
    /// Replaces the first `pivots` columns of a symmetric matrix of `size` rows by those of its Cholesky factor `L`, and the rest by the Schur complement.
    ///
    /// Returns `false` when a pivot is not positive and finite; the matrix is then unusable.
    ///
    /// # Panics
    /// When `matrix` does not have `size`² elements or `pivots` is larger than `size`.
    pub fn eliminate(matrix: &mut [f64], size: usize, pivots: usize) -> bool = eliminate_lanes
}

compiled_twice! {
    /// Subtracts `A·Bᵀ` from `C`. `A` has `rows` rows, `B` has `columns` rows and `C` is `rows`×`columns`, each with as many rows as its stride; `A` and `B` have `inner` columns.
    ///
    /// # Panics
    /// When a slice is too short.
    pub fn subtract_product(c: (&mut [f64], usize), a: (&[f64], usize), b: (&[f64], usize), rows: usize, columns: usize, inner: usize) = subtract_product_lanes
}

#[expect(clippy::inline_always, reason = "compiled a second time for AVX2")]
#[inline(always)]
fn eliminate_lanes(matrix: &mut [f64], size: usize, pivots: usize) -> bool {
    assert!(matrix.len() == size * size && pivots <= size, "a square matrix");
    let mut first = 0;
    while first < pivots {
        let end = (first + PANEL).min(pivots);
        for column in first..end {
            let (left, right) = matrix.split_at_mut((column + 1) * size);
            let own = &mut left[column * size..];
            let pivot = own[column];
            if !(pivot > 0.0 && pivot.is_finite()) {
                return false;
            }
            let root = pivot.sqrt();
            let inverse = 1.0 / root;
            own[column] = root;
            own[column + 1..].iter_mut().for_each(|x| *x *= inverse);
            for (other, target) in (column + 1..end).zip(right.chunks_exact_mut(size)) {
                let factor = own[other];
                target[other..].iter_mut().zip(&own[other..]).for_each(|(x, l)| *x -= factor * l);
            }
        }
        // The lower triangle right of the panel, four columns at a time.
        let (panel, rest) = matrix.split_at_mut(end * size);
        let panel = &panel[first * size..];
        let inner = end - first;
        let mut column = end;
        while column < size {
            let width = (size - column).min(4);
            let target = &mut rest[(column - end) * size + column..];
            columns(
                (target, size),
                (&panel[column..], size),
                (&panel[column..], size),
                size - column,
                width,
                inner,
            );
            column += width;
        }
        first = end;
    }
    true
}

#[expect(clippy::inline_always, reason = "compiled a second time for AVX2")]
#[inline(always)]
fn subtract_product_lanes(
    c: (&mut [f64], usize),
    a: (&[f64], usize),
    b: (&[f64], usize),
    rows: usize,
    width: usize,
    inner: usize,
) {
    if rows == 0 || inner == 0 {
        return;
    }
    let mut column = 0;
    while column < width {
        let part = (width - column).min(4);
        columns((&mut c.0[column * c.1..], c.1), a, (&b.0[column..], b.1), rows, part, inner);
        column += part;
    }
}

/// Up to four columns of `C − A·Bᵀ`.
#[expect(clippy::inline_always, reason = "compiled a second time for AVX2")]
#[inline(always)]
fn columns(
    c: (&mut [f64], usize),
    a: (&[f64], usize),
    b: (&[f64], usize),
    rows: usize,
    width: usize,
    inner: usize,
) {
    match width {
        4 => strip::<4>(c, a, b, rows, inner),
        3 => strip::<3>(c, a, b, rows, inner),
        2 => strip::<2>(c, a, b, rows, inner),
        _ => strip::<1>(c, a, b, rows, inner),
    }
}

/// `W` columns of `C − A·Bᵀ`, in tiles of eight rows and a rest.
#[expect(clippy::inline_always, reason = "compiled a second time for AVX2")]
#[inline(always)]
fn strip<const W: usize>(
    c: (&mut [f64], usize),
    a: (&[f64], usize),
    b: (&[f64], usize),
    rows: usize,
    inner: usize,
) {
    let mut row = 0;
    while row + 8 <= rows {
        tile::<8, W>((&mut c.0[row..], c.1), (&a.0[row..], a.1), b, inner);
        row += 8;
    }
    if row + 4 <= rows {
        tile::<4, W>((&mut c.0[row..], c.1), (&a.0[row..], a.1), b, inner);
        row += 4;
    }
    if row + 2 <= rows {
        tile::<2, W>((&mut c.0[row..], c.1), (&a.0[row..], a.1), b, inner);
        row += 2;
    }
    if row < rows {
        tile::<1, W>((&mut c.0[row..], c.1), (&a.0[row..], a.1), b, inner);
    }
}

/// `R` rows and `W` columns of `C − A·Bᵀ`: products are added in the order of the columns of `A`, then subtracted once.
#[expect(clippy::inline_always, reason = "compiled a second time for AVX2")]
#[inline(always)]
fn tile<const R: usize, const W: usize>(
    c: (&mut [f64], usize),
    a: (&[f64], usize),
    b: (&[f64], usize),
    inner: usize,
) {
    let mut sums = [[0.0; R]; W];
    for (left, right) in a.0.chunks(a.1).zip(b.0.chunks(b.1)).take(inner) {
        let (left, right) = (&left[..R], &right[..W]);
        for w in 0..W {
            for r in 0..R {
                sums[w][r] += left[r] * right[w];
            }
        }
    }
    for (w, sums) in sums.iter().enumerate() {
        c.0[w * c.1..][..R].iter_mut().zip(sums).for_each(|(x, sum)| *x -= sum);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// A random positive definite matrix, by columns.
    fn matrix(size: usize, seed: u64) -> Vec<f64> {
        let mut random = Random::new(seed);
        let rows: Vec<Vec<f64>> =
            (0..size).map(|_| (0..size + 3).map(|_| random.gaussian()).collect()).collect();
        let element = |k: usize| rows[k / size].iter().zip(&rows[k % size]).map(|(a, b)| a * b).sum();
        (0..size * size).map(element).collect()
    }

    #[test]
    fn the_factor_and_the_complement_give_the_matrix_again() {
        for (size, pivots) in [(1, 1), (5, 2), (24, 24), (31, 7), (67, 60), (90, 49)] {
            let full = matrix(size, size as u64);
            let mut chosen = full.clone();
            let mut portable = full.clone();
            assert!(eliminate(&mut chosen, size, pivots));
            assert!(eliminate_lanes(&mut portable, size, pivots));
            for column in 0..size {
                for row in column..size {
                    let place = column * size + row;
                    assert_eq!(chosen[place].to_bits(), portable[place].to_bits());
                    let products = (0..pivots.min(column + 1))
                        .map(|k| chosen[k * size + row] * chosen[k * size + column]);
                    let rest = if column < pivots { 0.0 } else { chosen[place] };
                    let again = products.sum::<f64>() + rest;
                    assert!((again - full[place]).abs() < 1e-10 * size as f64, "{size} {row} {column}");
                }
            }
        }
    }

    /// The definition: one element after the other, products added in order.
    #[test]
    fn products_equal_plain_sums_to_the_bit() {
        let mut random = Random::new(3);
        for (rows, columns, inner) in [(1, 1, 1), (8, 4, 5), (15, 7, 24), (30, 30, 6), (3, 2, 0)] {
            let mut numbers = |count: usize| -> Vec<f64> { (0..count).map(|_| random.gaussian()).collect() };
            let (stride_a, stride_b, stride_c) = (rows + 2, columns + 1, rows + 3);
            let (a, b, c) =
                (numbers(stride_a * inner), numbers(stride_b * inner), numbers(stride_c * columns));
            let (mut chosen, mut portable) = (c.clone(), c.clone());
            subtract_product((&mut chosen, stride_c), (&a, stride_a), (&b, stride_b), rows, columns, inner);
            subtract_product_lanes(
                (&mut portable, stride_c),
                (&a, stride_a),
                (&b, stride_b),
                rows,
                columns,
                inner,
            );
            let mut plain = c;
            for column in 0..columns {
                for row in 0..rows {
                    let products = (0..inner).map(|k| a[k * stride_a + row] * b[k * stride_b + column]);
                    plain[column * stride_c + row] -= products.fold(0.0, |sum, product| sum + product);
                }
            }
            assert_eq!(chosen, plain);
            assert_eq!(portable, plain);
        }
    }

    #[test]
    fn a_matrix_that_is_not_positive_is_noticed() {
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let mut matrix = vec![4.0, 2.0, 2.0, 1.0 + bad];
            assert!(!eliminate(&mut matrix, 2, 2), "{bad}");
        }
    }
}
