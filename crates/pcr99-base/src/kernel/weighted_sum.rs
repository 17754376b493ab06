//! Sums of histograms, weighted by the inverse square of a distance (the second step of FPFH).

use crate::dispatch::compiled_twice;

/// Length of a row: two descriptors of 33 numbers and a flag, rounded up to a multiple of eight.
pub const WIDTH: usize = 72;

compiled_twice! {
    /// Adds the `rows` with these `indices` to `sum`, each with the weight `radius_sq` / squared distance. Rows at distance zero or beyond the radius
    /// are left out.
    pub fn weighted_sum(
        indices: &[u32], distances_sq: &[f32], radius_sq: f32, rows: &[[f32; WIDTH]], sum: &mut [f32; WIDTH]
    ) = weighted_sum_lanes
}

#[expect(clippy::inline_always, reason = "compiled a second time for AVX2")]
#[inline(always)]
fn weighted_sum_lanes(
    indices: &[u32],
    distances_sq: &[f32],
    radius_sq: f32,
    rows: &[[f32; WIDTH]],
    sum: &mut [f32; WIDTH],
) {
    for (&index, &distance_sq) in indices.iter().zip(distances_sq) {
        if distance_sq > 0.0 && distance_sq <= radius_sq {
            let weight = radius_sq / distance_sq;
            sum.iter_mut().zip(&rows[index as usize]).for_each(|(sum, x)| *sum += weight * x);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn both_compilations_are_equal_to_the_bit_and_right() {
        let mut random = Random::new(7);
        let rows: Vec<[f32; WIDTH]> =
            (0..50).map(|_| std::array::from_fn(|_| random.below(100) as f32)).collect();
        let indices: Vec<u32> = (0..30).map(|_| random.below(50) as u32).collect();
        let distances_sq: Vec<f32> = (0..30).map(|k| 0.05 * k as f32).collect();
        let (mut chosen, mut portable) = ([1.0; WIDTH], [1.0; WIDTH]);
        weighted_sum(&indices, &distances_sq, 1.0, &rows, &mut chosen);
        weighted_sum_lanes(&indices, &distances_sq, 1.0, &rows, &mut portable);
        assert_eq!(chosen, portable);
        // The first is at distance zero, and from 1.05 on they are too far.
        for column in 0..WIDTH {
            let term = |k: usize| f64::from(rows[indices[k] as usize][column]) / f64::from(distances_sq[k]);
            let expected = 1.0 + (1..=20).map(term).sum::<f64>();
            assert!((f64::from(chosen[column]) - expected).abs() < 1e-4 * expected);
        }
    }
}
