//! Similarity transforms: `b = s·R·a + t`.

use crate::vector::{cross, dot, multiply, rotate, transpose};

/// A similarity transform from source to target: `b = s·R·a + t`.
///
/// ```
/// use pcr99_base::Similarity;
///
/// let quarter_turn = [[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]];
/// let target_from_source = Similarity::new(2.0, quarter_turn, [0.0, 0.0, 5.0])?;
/// assert_eq!(target_from_source.apply([1.0, 0.0, 0.0]), [0.0, 2.0, 5.0]);
/// assert_eq!(target_from_source.inverse().apply([0.0, 2.0, 5.0]), [1.0, 0.0, 0.0]);
/// # Ok::<(), pcr99_base::SimilarityError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Similarity {
    scale: f64,
    rotation: [[f64; 3]; 3],
    translation: [f64; 3],
}

/// Why numbers are no similarity transform.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SimilarityError {
    /// The scale is zero, negative, infinite or NaN.
    #[error("the scale of a transform must be finite and positive, got {0}")]
    Scale(f64),
    /// A coordinate of the translation is infinite or NaN.
    #[error("the translation of a transform must be finite, got {0:?}")]
    Translation([f64; 3]),
    /// The rows of the rotation are not orthonormal.
    #[error(
        "the rotation of a transform must have orthonormal rows: an entry of R·Rᵀ differs from the unit matrix by {0:.1e}, \
         more than {ORTHONORMAL_TOLERANCE:e}"
    )]
    NotOrthonormal(f64),
    /// The rotation has determinant −1.
    #[error(
        "the rotation of a transform is a reflection (its determinant is −1): exchange or negate an axis"
    )]
    Reflection,
    /// The quaternion of the rotation is zero or not finite.
    #[error("the quaternion of a rotation must be finite and not zero, got {0:?}")]
    Quaternion([f64; 4]),
    /// The scale is not 1, but the other type has none.
    #[error("the transform has the scale {0}, but an isometry keeps lengths")]
    NotRigid(f64),
    /// The last row of a 4×4 matrix is not `0 0 0 1`.
    #[error("the last row of a transform must be 0 0 0 1, got {0:?}")]
    LastRow([f64; 4]),
}

/// Largest accepted difference of an entry of `R·Rᵀ` from the unit matrix.
///
/// Transforms are often stored as text with four digits, which makes an error of 10⁻⁴. A shear or a scale that differs between axes is
/// usually larger than 10⁻³.
pub const ORTHONORMAL_TOLERANCE: f64 = 1e-3;

impl Similarity {
    /// The transform that changes nothing.
    pub const IDENTITY: Self = Self::from_translation([0.0; 3]);

    /// A similarity from its scale `s`, rotation `R` (row by row) and translation `t`. The rotation is taken as it is, without rounding it to the nearest
    /// exact rotation.
    ///
    /// # Errors
    /// When the scale is not finite and positive, the translation is not finite, the rows of the rotation are not orthonormal within
    /// [`ORTHONORMAL_TOLERANCE`], or the rotation is a reflection.
    pub fn new(scale: f64, rotation: [[f64; 3]; 3], translation: [f64; 3]) -> Result<Self, SimilarityError> {
        if !(scale.is_finite() && scale > 0.0) {
            return Err(SimilarityError::Scale(scale));
        }
        if !translation.iter().all(|t| t.is_finite()) {
            return Err(SimilarityError::Translation(translation));
        }
        let squares = multiply(&rotation, &transpose(&rotation));
        let difference =
            |row: usize, column: usize| squares[row][column] - f64::from(u8::from(row == column));
        let off = (0..9).map(|k| difference(k / 3, k % 3).abs());
        // `total_cmp` puts NaN above every number.
        let worst = off.max_by(f64::total_cmp).unwrap_or(f64::NAN);
        if worst.is_nan() || worst > ORTHONORMAL_TOLERANCE {
            return Err(SimilarityError::NotOrthonormal(worst));
        }
        let [x, y, z] = rotation;
        if dot(cross(x, y), z) < 0.0 {
            return Err(SimilarityError::Reflection);
        }
        Ok(Self::new_unchecked(scale, rotation, translation))
    }

    /// A similarity from parts that are known to be valid, for instance because they were computed as a rotation.
    ///
    /// Other parts give meaningless results, but no undefined behaviour. [`Similarity::new`] checks them.
    #[inline]
    pub const fn new_unchecked(scale: f64, rotation: [[f64; 3]; 3], translation: [f64; 3]) -> Self {
        Self { scale, rotation, translation }
    }

    /// A translation.
    #[inline]
    pub const fn from_translation(translation: [f64; 3]) -> Self {
        Self::new_unchecked(1.0, [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]], translation)
    }

    /// A similarity from its scale `s`, the quaternion `w + x·i + y·j + z·k` of its rotation, and translation `t`. The quaternion
    /// may have any length but zero.
    ///
    /// ```
    /// use pcr99_base::Similarity;
    ///
    /// let quarter_turn_about_z = Similarity::from_quaternion(1.0, [1.0, 0.0, 0.0, 1.0], [0.0; 3])?;
    /// let moved = quarter_turn_about_z.apply([1.0, 0.0, 0.0]);
    /// assert!(moved[0].abs() < 1e-15 && (moved[1] - 1.0).abs() < 1e-15);
    /// # Ok::<(), pcr99_base::SimilarityError>(())
    /// ```
    ///
    /// # Errors
    /// When the quaternion is zero or not finite, and as [`Similarity::new`].
    pub fn from_quaternion(
        scale: f64,
        quaternion: [f64; 4],
        translation: [f64; 3],
    ) -> Result<Self, SimilarityError> {
        let largest = quaternion.iter().fold(0.0, |m: f64, q| m.max(q.abs()));
        if !(largest > 0.0 && quaternion.iter().all(|q| q.is_finite())) {
            return Err(SimilarityError::Quaternion(quaternion));
        }
        // Very large and very small numbers are divided first, because their squares would overflow or vanish.
        let quaternion =
            if (1e-100..1e100).contains(&largest) { quaternion } else { quaternion.map(|q| q / largest) };
        Self::new(scale, rotation_of(quaternion), translation)
    }

    /// A similarity from its 4×4 matrix `[sR t; 0 1]`, row by row. The scale is the root mean square length of the rows of `sR`.
    ///
    /// ```
    /// use pcr99_base::Similarity;
    ///
    /// let twice = [[2.0, 0.0, 0.0, 1.0], [0.0, 2.0, 0.0, 0.0], [0.0, 0.0, 2.0, 0.0], [0.0, 0.0, 0.0, 1.0]];
    /// assert_eq!(Similarity::from_matrix(&twice)?.matrix(), twice);
    /// # Ok::<(), pcr99_base::SimilarityError>(())
    /// ```
    ///
    /// # Errors
    /// When the last row is not `0 0 0 1`, and as [`Similarity::new`].
    pub fn from_matrix(matrix: &[[f64; 4]; 4]) -> Result<Self, SimilarityError> {
        let [upper @ .., last] = *matrix;
        if last != [0.0, 0.0, 0.0, 1.0] {
            return Err(SimilarityError::LastRow(last));
        }
        let [x, y, z] = upper.map(|[x, y, z, _]| [x, y, z]);
        let scale = ((dot(x, x) + dot(y, y) + dot(z, z)) / 3.0).sqrt();
        if !(scale.is_finite() && scale > 0.0) {
            return Err(SimilarityError::Scale(scale));
        }
        Self::new(scale, [x, y, z].map(|row| row.map(|r| r / scale)), upper.map(|row| row[3]))
    }

    /// The scale `s`.
    #[inline]
    pub const fn scale(&self) -> f64 {
        self.scale
    }

    /// The rotation `R`, row by row.
    #[inline]
    pub const fn rotation(&self) -> [[f64; 3]; 3] {
        self.rotation
    }

    /// The translation `t`.
    #[inline]
    pub const fn translation(&self) -> [f64; 3] {
        self.translation
    }

    /// The quaternion `[w, x, y, z]` of the rotation, of length one, `w ≥ 0`.
    pub fn quaternion(&self) -> [f64; 4] {
        let r = &self.rotation;
        let trace = r[0][0] + r[1][1] + r[2][2];
        // Four times the square of each component, minus one. Dividing by the largest component avoids cancellation (Shepperd).
        let sizes = [trace, 2.0 * r[0][0] - trace, 2.0 * r[1][1] - trace, 2.0 * r[2][2] - trace];
        let largest = (1..4).fold(0, |best, k| if sizes[k] > sizes[best] { k } else { best });
        let parts = match largest {
            0 => [1.0 + trace, r[2][1] - r[1][2], r[0][2] - r[2][0], r[1][0] - r[0][1]],
            1 => [r[2][1] - r[1][2], 1.0 + sizes[1], r[1][0] + r[0][1], r[0][2] + r[2][0]],
            2 => [r[0][2] - r[2][0], r[1][0] + r[0][1], 1.0 + sizes[2], r[2][1] + r[1][2]],
            _ => [r[1][0] - r[0][1], r[0][2] + r[2][0], r[2][1] + r[1][2], 1.0 + sizes[3]],
        };
        let length = parts.iter().map(|part| part * part).sum::<f64>().sqrt();
        let sign = if parts[0] < 0.0 { -1.0 } else { 1.0 };
        parts.map(|part| sign * part / length)
    }

    /// The linear part `s·R`, row by row.
    #[inline]
    pub fn linear(&self) -> [[f64; 3]; 3] {
        self.rotation.map(|row| row.map(|r| self.scale * r))
    }

    /// The 4×4 matrix `[sR t; 0 1]`, row by row.
    #[inline]
    pub fn matrix(&self) -> [[f64; 4]; 4] {
        let [x, y, z] = self.linear();
        let [tx, ty, tz] = self.translation;
        [[x[0], x[1], x[2], tx], [y[0], y[1], y[2], ty], [z[0], z[1], z[2], tz], [0.0, 0.0, 0.0, 1.0]]
    }

    /// Moves a point: `s·R·p + t`.
    #[inline]
    pub fn apply(&self, point: [f64; 3]) -> [f64; 3] {
        let moved = rotate(&self.rotation, point);
        std::array::from_fn(|axis| self.scale * moved[axis] + self.translation[axis])
    }

    /// The transform that undoes this one.
    #[inline]
    pub fn inverse(&self) -> Self {
        let scale = 1.0 / self.scale;
        let rotation = transpose(&self.rotation);
        let translation = rotate(&rotation, self.translation).map(|t| -scale * t);
        Self { scale, rotation, translation }
    }

    /// The composition `next ∘ self`: first `self`, then `next`.
    #[inline]
    pub fn then(&self, next: &Self) -> Self {
        Self {
            scale: self.scale * next.scale,
            rotation: multiply(&next.rotation, &self.rotation),
            translation: next.apply(self.translation),
        }
    }
}

/// Rotation matrix, row by row, of the quaternion `w + x·i + y·j + z·k`, which may have any length but zero.
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
    use proptest::{array::uniform, prelude::*};

    const TURN_X: [[f64; 3]; 3] = [[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]];
    const TURN_Z: [[f64; 3]; 3] = [[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]];

    #[test]
    fn composition_applies_the_first_then_the_second() -> Result<(), SimilarityError> {
        let first = Similarity::new(2.0, TURN_X, [1.0, 2.0, 3.0])?;
        let second = Similarity::new(0.5, TURN_Z, [-4.0, 0.0, 1.0])?;
        let p = [0.25, -1.0, 8.0];
        assert_eq!(first.then(&second).apply(p), second.apply(first.apply(p)));
        Ok(())
    }

    #[test]
    fn matrix_holds_scaled_rotation_and_translation() -> Result<(), SimilarityError> {
        let m = Similarity::new(2.0, TURN_Z, [1.0, 2.0, 3.0])?.matrix();
        assert_eq!(
            m,
            [[0.0, -2.0, 0.0, 1.0], [2.0, 0.0, 0.0, 2.0], [0.0, 0.0, 2.0, 3.0], [0.0, 0.0, 0.0, 1.0]]
        );
        Ok(())
    }

    #[test]
    fn invalid_parts_are_named() {
        for scale in [0.0, -1.0, f64::INFINITY] {
            assert_eq!(Similarity::new(scale, TURN_Z, [0.0; 3]), Err(SimilarityError::Scale(scale)));
        }
        assert!(matches!(Similarity::new(f64::NAN, TURN_Z, [0.0; 3]), Err(SimilarityError::Scale(_))));
        let far = [0.0, f64::INFINITY, 0.0];
        assert_eq!(Similarity::new(1.0, TURN_Z, far), Err(SimilarityError::Translation(far)));
        let mut mirror = TURN_Z;
        mirror[2][2] = -1.0;
        assert_eq!(Similarity::new(1.0, mirror, [0.0; 3]), Err(SimilarityError::Reflection));
        let stretched = |by: f64| {
            let mut rotation = TURN_Z;
            rotation[2][2] = by;
            Similarity::new(1.0, rotation, [0.0; 3])
        };
        // The square of the length counts: 1.0004² is 8·10⁻⁴ off, 1.0006² is 1.2·10⁻³ off.
        assert!(stretched(1.0004).is_ok());
        for by in [1.0006, 0.0, f64::NAN] {
            assert!(matches!(stretched(by), Err(SimilarityError::NotOrthonormal(_))), "{by}");
        }
        let zero = [0.0; 4];
        assert_eq!(Similarity::from_quaternion(1.0, zero, [0.0; 3]), Err(SimilarityError::Quaternion(zero)));
    }

    #[test]
    fn a_matrix_that_is_no_similarity_is_refused() {
        let mut m = Similarity::IDENTITY.matrix();
        m[3] = [0.0, 0.0, 1.0, 1.0];
        assert_eq!(Similarity::from_matrix(&m), Err(SimilarityError::LastRow(m[3])));
        assert!(matches!(Similarity::from_matrix(&[[0.0; 4]; 4]), Err(SimilarityError::LastRow(_))));
        m = [[0.0; 4], [0.0; 4], [0.0; 4], [0.0, 0.0, 0.0, 1.0]];
        assert_eq!(Similarity::from_matrix(&m), Err(SimilarityError::Scale(0.0)));
    }

    proptest! {
        #[test]
        fn every_quaternion_of_any_length_gives_a_rotation(
            q in uniform::<_, 4>(-1.0..1.0_f64), unit in prop_oneof![Just(1.0), Just(1e-300), Just(1e300)], scale in 1e-3..1e3_f64,
        ) {
            prop_assume!(q.iter().any(|q| q.abs() > 1e-3));
            let model = Similarity::from_quaternion(scale, q.map(|q| q * unit), [1.0, 2.0, 3.0]).expect("not zero");
            let same = Similarity::from_matrix(&model.matrix()).expect("a similarity");
            for (a, b) in model.matrix().as_flattened().iter().zip(same.matrix().as_flattened()) {
                prop_assert!((a - b).abs() <= 1e-12 * scale);
            }
        }
    }
}
