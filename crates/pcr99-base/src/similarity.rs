//! Similarity transforms: `b = s·R·a + t`.

use crate::vector::{multiply, rotate, transpose};

/// A similarity transform from source to target, `b = s·R·a + t` (Eq. 1).
///
/// ```
/// use pcr99_base::Similarity;
///
/// let quarter_turn = [[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]];
/// let target_from_source = Similarity::new(2.0, quarter_turn, [0.0, 0.0, 5.0]);
/// assert_eq!(target_from_source.apply([1.0, 0.0, 0.0]), [0.0, 2.0, 5.0]);
/// assert_eq!(target_from_source.inverse().apply([0.0, 2.0, 5.0]), [1.0, 0.0, 0.0]);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Similarity {
    scale: f64,
    rotation: [[f64; 3]; 3],
    translation: [f64; 3],
}

impl Similarity {
    /// A similarity from its scale `s`, rotation `R` (row by row) and translation `t`.
    ///
    /// The parts are taken as they are: that `s` is positive and `R` a rotation is the caller's promise.
    pub const fn new(scale: f64, rotation: [[f64; 3]; 3], translation: [f64; 3]) -> Self {
        Self { scale, rotation, translation }
    }

    /// A similarity from its scale `s`, the quaternion `w + x·i + y·j + z·k` of its rotation, and translation `t`. The quaternion
    /// need not be of length one, but must not be zero.
    ///
    /// ```
    /// use pcr99_base::Similarity;
    ///
    /// let quarter_turn_about_z = Similarity::from_quaternion(1.0, [1.0, 0.0, 0.0, 1.0], [0.0; 3]);
    /// let moved = quarter_turn_about_z.apply([1.0, 0.0, 0.0]);
    /// assert!(moved[0].abs() < 1e-15 && (moved[1] - 1.0).abs() < 1e-15);
    /// ```
    pub fn from_quaternion(scale: f64, quaternion: [f64; 4], translation: [f64; 3]) -> Self {
        Self::new(scale, rotation_of(quaternion), translation)
    }

    /// The scale `s`.
    pub const fn scale(&self) -> f64 {
        self.scale
    }

    /// The rotation `R`, row by row.
    pub const fn rotation(&self) -> [[f64; 3]; 3] {
        self.rotation
    }

    /// The translation `t`.
    pub const fn translation(&self) -> [f64; 3] {
        self.translation
    }

    /// `s·R`, row by row: the linear part.
    pub fn linear(&self) -> [[f64; 3]; 3] {
        self.rotation.map(|row| row.map(|r| self.scale * r))
    }

    /// The 4×4 matrix `[sR t; 0 1]`, row by row.
    pub fn matrix(&self) -> [[f64; 4]; 4] {
        let [x, y, z] = self.linear();
        let [tx, ty, tz] = self.translation;
        [[x[0], x[1], x[2], tx], [y[0], y[1], y[2], ty], [z[0], z[1], z[2], tz], [0.0, 0.0, 0.0, 1.0]]
    }

    /// Moves a point: `s·R·p + t`.
    pub fn apply(&self, point: [f64; 3]) -> [f64; 3] {
        let moved = rotate(&self.rotation, point);
        std::array::from_fn(|axis| self.scale * moved[axis] + self.translation[axis])
    }

    /// The transform that undoes this one.
    pub fn inverse(&self) -> Self {
        let scale = 1.0 / self.scale;
        let rotation = transpose(&self.rotation);
        let translation = rotate(&rotation, self.translation).map(|t| -scale * t);
        Self { scale, rotation, translation }
    }

    /// First `self`, then `next`: `next ∘ self`.
    pub fn then(&self, next: &Self) -> Self {
        Self {
            scale: self.scale * next.scale,
            rotation: multiply(&next.rotation, &self.rotation),
            translation: next.apply(self.translation),
        }
    }
}

/// The rotation of a quaternion of any length but zero.
pub fn rotation_of(quaternion: [f64; 4]) -> [[f64; 3]; 3] {
    let length = quaternion.iter().map(|c| c * c).sum::<f64>().sqrt();
    let [w, x, y, z] = quaternion.map(|c| c / length);
    [
        [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)],
        [2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x)],
        [2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)],
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    const TURN_X: [[f64; 3]; 3] = [[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]];
    const TURN_Z: [[f64; 3]; 3] = [[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]];

    #[test]
    fn composition_applies_the_first_then_the_second() {
        let first = Similarity::new(2.0, TURN_X, [1.0, 2.0, 3.0]);
        let second = Similarity::new(0.5, TURN_Z, [-4.0, 0.0, 1.0]);
        let p = [0.25, -1.0, 8.0];
        assert_eq!(first.then(&second).apply(p), second.apply(first.apply(p)));
    }

    #[test]
    fn matrix_holds_scaled_rotation_and_translation() {
        let m = Similarity::new(2.0, TURN_Z, [1.0, 2.0, 3.0]).matrix();
        assert_eq!(
            m,
            [[0.0, -2.0, 0.0, 1.0], [2.0, 0.0, 0.0, 2.0], [0.0, 0.0, 2.0, 3.0], [0.0, 0.0, 0.0, 1.0]]
        );
    }
}
