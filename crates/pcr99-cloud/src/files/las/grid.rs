//! Integers of LAS coordinates: `coordinate = integer · step + offset`, and the grid of a moved cloud.

use pcr99::Similarity;

use super::LasError;
use super::header::{Header, little};

/// Part of the old step that the new one is. Points that were on the old grid are off the new one by less than a tenth of the old step, so that the inverse
/// transform brings them back exactly; the variance of the rounding grows by a hundredth.
const FINER: f64 = 0.1;

/// Part of the range of 32 bits that is used: the rounded offset is not exactly in the middle.
const USED: f64 = 0.99;

/// Steps and offsets of the three axes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Grid {
    step: [f64; 3],
    offset: [f64; 3],
}

/// Place of the steps in the header, in bytes; the offsets follow.
const STEPS: usize = 131;

impl Grid {
    /// The grid of a file.
    pub(super) fn of(header: &Header) -> Self {
        let number = |at: u64| f64::from_bits(little(&header.bytes, at, 8).unwrap_or(0));
        let triple = |first: u64| [0, 8, 16].map(|k| number(first + k));
        Self { step: triple(STEPS as u64), offset: triple(STEPS as u64 + 24) }
    }

    /// A grid with one step, whose middle is that of a box.
    pub(super) fn around([low, high]: [[f64; 3]; 2], step: f64) -> Result<Self, LasError> {
        let most = USED * step * f64::from(u32::MAX);
        let extent = (0..3).map(|k| high[k] - low[k]).fold(0.0, f64::max);
        if !(step > 0.0 && extent <= most) {
            return Err(LasError::Range { extent, step, most });
        }
        // Offsets with few digits.
        let round = step * 1e4;
        let offset = [0, 1, 2].map(|k| ((low[k] / 2.0 + high[k] / 2.0) / round).round() * round);
        Ok(Self { step: [step; 3], offset })
    }

    /// The grid for the points of this one, moved by `transform` into a box: a power of ten at most a tenth of the old step.
    pub(super) fn moved(&self, transform: &Similarity, bounds: [[f64; 3]; 2]) -> Result<Self, LasError> {
        let finest =
            self.step.iter().map(|step| step.abs()).filter(|&step| step > 0.0).fold(f64::INFINITY, f64::min);
        let [low, high] = bounds;
        Self::around(bounds, power_of_ten(finest * transform.scale() * FINER))?.told_apart([low, high])
    }

    /// This grid, if doubles tell its steps apart at these places.
    fn told_apart(self, places: [[f64; 3]; 2]) -> Result<Self, LasError> {
        let [low, high] = places;
        for ((low, high), step) in low.iter().zip(high).zip(self.step) {
            let coordinate = low.abs().max(high.abs());
            let (spacing, step) = (f64::EPSILON * coordinate, step.abs());
            // A step of zero is that of files whose points all have one coordinate.
            if step > 0.0 && spacing > step {
                return Err(LasError::Far { coordinate, spacing, step });
            }
        }
        Ok(self)
    }

    /// Steps of the axes.
    pub(super) fn steps(&self) -> [f64; 3] {
        self.step
    }

    /// The same integers, elsewhere.
    pub(super) fn shifted(&self, by: [f64; 3]) -> Result<Self, LasError> {
        let offset = [0, 1, 2].map(|k| self.offset[k] + by[k]);
        Self { offset, ..*self }.told_apart([offset; 2])
    }

    /// The point at these integers.
    pub(super) fn point(&self, integers: [i32; 3]) -> [f64; 3] {
        [0, 1, 2].map(|k| self.step[k] * f64::from(integers[k]) + self.offset[k])
    }

    /// The integers nearest to a point; `None` when they have more than 32 bits.
    pub(super) fn integers(&self, point: [f64; 3]) -> Option<[i32; 3]> {
        let nearest = [0, 1, 2].map(|k| ((point[k] - self.offset[k]) / self.step[k]).round());
        let fits = |x: &f64| (f64::from(i32::MIN)..=f64::from(i32::MAX)).contains(x);
        nearest.iter().all(fits).then(|| nearest.map(|x| x as i32))
    }

    /// Puts steps and offsets into a header.
    pub(super) fn store(&self, header: &mut [u8]) {
        for (k, number) in self.step.iter().chain(&self.offset).enumerate() {
            header[STEPS + 8 * k..][..8].copy_from_slice(&number.to_le_bytes());
        }
    }
}

/// The largest power of ten that is at most `value`, up to rounding; `value` itself outside of 10⁻³⁰⁰ to 10³⁰⁰.
pub(super) fn power_of_ten(value: f64) -> f64 {
    // Parsed, because products of tenths are not the nearest numbers to powers of ten.
    let power = |exponent: i32| format!("1e{exponent}").parse::<f64>().unwrap_or(value);
    (-300..300).rev().map(power).find(|&power| power <= value * (1.0 + 1e-9)).unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_powers_of_ten() {
        assert_eq!(power_of_ten(0.001 * 0.1), 1e-4);
        assert_eq!(power_of_ten(0.01 * 2.5 * 0.1), 1e-3);
        assert_eq!(power_of_ten(9.9), 1.0);
        assert_eq!(power_of_ten(f64::INFINITY), 1e299);
    }

    #[test]
    fn points_of_the_old_grid_come_back() {
        let old = Grid { step: [0.01; 3], offset: [448_000.0, 5_411_000.0, 0.0] };
        let pose =
            Similarity::from_quaternion(1.0, [0.9, 0.1, -0.3, 0.2], [10.0, -7.0, 3.0]).expect("a pose");
        let integers = [[123_456, -9_876, 31_999], [0, 0, 0], [90_000, 80_001, -5]];
        let moved = integers.map(|n| pose.apply(old.point(n)));
        let (mut low, mut high) = (moved[0], moved[0]);
        for p in moved {
            low = [0, 1, 2].map(|k| f64::min(low[k], p[k]));
            high = [0, 1, 2].map(|k| f64::max(high[k], p[k]));
        }
        let new = old.moved(&pose, [low, high]).expect("a grid");
        assert_eq!(new.step, [0.001; 3]);
        for (point, expected) in moved.into_iter().zip(integers) {
            let stored = new.point(new.integers(point).expect("in range"));
            assert_eq!(old.integers(pose.inverse().apply(stored)), Some(expected));
        }
    }

    #[test]
    fn places_where_doubles_are_coarser_than_the_step_are_refused() {
        let grid = Grid { step: [0.001; 3], offset: [448_000.0, 5_411_000.0, 0.0] };
        let error = grid.shifted([0.0, 1e300, 0.0]).expect_err("far");
        assert!(matches!(error, LasError::Far { coordinate: 1e300, .. }), "{error}");
        assert!(error.to_string().contains("1e300"), "{error}");
        let near = grid.shifted([1e12, -1e12, 0.0]).expect("a tenth of a millimetre is told apart");
        assert_eq!(near.offset[0], 1e12 + 448_000.0);
        let turn = Similarity::from_quaternion(1.0, [0.5; 4], [1e13, 0.0, 0.0]).expect("a pose");
        let error = grid.moved(&turn, [[1e13, 0.0, 0.0], [1e13 + 9.0, 1.0, 1.0]]).expect_err("far");
        assert!(matches!(error, LasError::Far { .. }), "{error}");
    }

    #[test]
    fn boxes_that_are_too_large_are_refused() {
        let error = Grid::around([[0.0; 3], [5000.0, 1.0, 1.0]], 1e-6).expect_err("4294 fit");
        assert!(matches!(error, LasError::Range { extent: 5000.0, .. }), "{error}");
        let grid = Grid::around([[-2000.0; 3], [2000.0; 3]], 1e-6).expect("it fits");
        assert!(grid.integers([2000.0; 3]).is_some() && grid.integers([2200.0; 3]).is_none());
    }
}
