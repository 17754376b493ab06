//! Keys of the cubic cells of points.

use crate::dispatch::compiled_twice;

/// Bits of a key for each axis: x has the highest, z the lowest.
pub const BITS: u32 = 21;
/// Index of the cell at the origin on each axis. Points more than this many cells away are strays.
const MIDDLE: f64 = (1 << (BITS - 1)) as f64;
/// Key of strays.
pub const STRAY: u64 = u64::MAX;

compiled_twice! {
    /// Keys of the cells of `points`, which are relative to the centre of their cloud; [`STRAY`] where a point is a million cells away.
    pub fn cell_keys(points: &[[f64; 3]], inverse_cell: f64, keys: &mut [u64]) = cell_keys_lanes
}

#[expect(clippy::inline_always, reason = "compiled a second time for AVX2")]
#[inline(always)]
fn cell_keys_lanes(points: &[[f64; 3]], inverse_cell: f64, keys: &mut [u64]) {
    for (point, key) in points.iter().zip(keys) {
        *key = cell_key(*point, inverse_cell);
    }
}

/// Key of the cell of `point`; [`STRAY`] where it is a million cells away.
#[expect(clippy::inline_always, reason = "compiled a second time for AVX2")]
#[expect(clippy::manual_clamp, reason = "`clamp` keeps NaN")]
#[expect(clippy::manual_range_contains, reason = "both tests without a branch")]
#[inline(always)]
pub fn cell_key(point: [f64; 3], inverse_cell: f64) -> u64 {
    let places = point.map(|x| x * inverse_cell + MIDDLE);
    // NaN is not inside either.
    let is_inside = places.map(|place| (place >= 1.0) & (place < 2.0 * MIDDLE));
    let cells = places.map(|place| {
        let clamped = place.max(0.0).min(2.0 * MIDDLE);
        // SAFETY: `max` turns NaN into 0, so this is a number from 0 to 2²¹. A checked conversion does not vectorise.
        let cell: i32 = unsafe { clamped.to_int_unchecked() };
        cell as u32
    });
    let key = u64::from(cells[0]) << (2 * BITS) | u64::from(cells[1]) << BITS | u64::from(cells[2]);
    if is_inside[0] & is_inside[1] & is_inside[2] { key } else { STRAY }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn keys_tell_cells_apart_and_strays_have_none() {
        assert_eq!(cell_key([0.1, 0.2, 0.3], 1.0), cell_key([0.9, 0.8, 0.7], 1.0));
        assert_ne!(cell_key([-0.1, 0.2, 0.3], 1.0), cell_key([0.1, 0.2, 0.3], 1.0));
        assert!(cell_key([-0.1, 0.2, 0.3], 1.0) < cell_key([0.1, -5.0, 0.3], 1.0), "x counts most");
        for stray in [1e9, -1e9, f64::INFINITY, f64::NEG_INFINITY, f64::NAN] {
            for axis in 0..3 {
                let mut point = [0.5; 3];
                point[axis] = stray;
                assert_eq!(cell_key(point, 1.0), STRAY);
            }
        }
        let last = (1 << 20) as f64;
        assert_ne!(cell_key([last - 0.5, 0.0, 1.5 - last], 1.0), STRAY);
        assert_eq!(cell_key([last, 0.0, 0.0], 1.0), STRAY);
        assert_eq!(cell_key([0.0, 0.5 - last, 0.0], 1.0), STRAY);
    }

    #[test]
    fn both_compilations_are_equal() {
        let mut random = Random::new(2);
        let points: Vec<[f64; 3]> =
            (0..1003).map(|_| std::array::from_fn(|_| 4e5 * random.gaussian())).collect();
        let (mut chosen, mut plain) = (vec![0; points.len()], vec![0; points.len()]);
        cell_keys(&points, 1.0, &mut chosen);
        cell_keys_lanes(&points, 1.0, &mut plain);
        assert_eq!(chosen, plain);
        assert!(chosen.contains(&STRAY) && chosen.iter().filter(|key| **key != STRAY).count() > 500);
    }
}
