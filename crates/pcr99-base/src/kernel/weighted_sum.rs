//! Sums of histograms, weighted by the inverse square of a distance (the second step of FPFH).

use crate::dispatch::compiled_twice;

/// Length of a row: two descriptors of 33 numbers and a flag, rounded up to a multiple of eight.
pub const WIDTH: usize = 72;

/// A row, aligned so that no vector crosses a cache line.
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(align(32))]
pub struct Row(pub [f32; WIDTH]);

impl Row {
    /// All zeros.
    pub const ZERO: Self = Self([0.0; WIDTH]);
}

compiled_twice! {
    /// Sum of the `rows` with these `indices`, each with the weight `radius_sq` / squared distance. Rows at distance zero or beyond the radius are left out.
    pub fn weighted_sum(indices: &[u32], distances_sq: &[f32], radius_sq: f32, rows: &[Row]) -> Row = weighted_sum_lanes
}

#[expect(clippy::inline_always, reason = "compiled a second time for AVX2")]
#[inline(always)]
fn weighted_sum_lanes(indices: &[u32], distances_sq: &[f32], radius_sq: f32, rows: &[Row]) -> Row {
    let mut sum = Row::ZERO;
    for (&index, &distance_sq) in indices.iter().zip(distances_sq) {
        if distance_sq > 0.0 && distance_sq <= radius_sq {
            let weight = radius_sq / distance_sq;
            sum.0.iter_mut().zip(&rows[index as usize].0).for_each(|(sum, x)| *sum += weight * x);
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn both_compilations_are_equal_to_the_bit_and_right() {
        let mut random = Random::new(7);
        let rows: Vec<Row> =
            (0..50).map(|_| Row(std::array::from_fn(|_| random.below(100) as f32))).collect();
        let indices: Vec<u32> = (0..30).map(|_| random.below(50) as u32).collect();
        let distances_sq: Vec<f32> = (0..30).map(|k| 0.05 * k as f32).collect();
        let chosen = weighted_sum(&indices, &distances_sq, 1.0, &rows);
        let portable = weighted_sum_lanes(&indices, &distances_sq, 1.0, &rows);
        assert_eq!(chosen, portable);
        // The first is at distance zero, and from 1.05 on they are too far.
        for column in 0..WIDTH {
            let term = |k: usize| f64::from(rows[indices[k] as usize].0[column]) / f64::from(distances_sq[k]);
            let expected = (1..=20).map(term).sum::<f64>();
            assert!((f64::from(chosen.0[column]) - expected).abs() < 1e-4 * expected);
        }
    }
}
