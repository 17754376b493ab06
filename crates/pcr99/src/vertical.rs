//! A known vertical: the direction that is up on both sides.

use pcr99_base::{
    Similarity,
    upright::{Tilt, to_upright},
    vector::{multiply, rotate, transpose},
};

use crate::{Covariance, Error};

/// The direction that is up in the source and in the target, for instance from an inertial sensor or a levelled tripod. A registration then has two unknowns
/// fewer: it turns about the vertical (yaw) and moves.
///
/// The verticals may have been measured with an error. [`with_tilt`](Self::with_tilt) says how far the transform may tilt the vertical of the source away from
/// that of the target. Without it, the verticals are mapped onto each other exactly.
///
/// ```
/// use pcr99::Vertical;
///
/// let vertical = Vertical::new([0.0, 0.0, 1.0], [0.0, -1.0, 0.0])?.with_tilt(2.0)?;
/// assert_eq!(vertical.tilt_deg(), 2.0);
/// let error = Vertical::new([0.0; 3], [0.0, 0.0, 1.0]).unwrap_err();
/// assert!(error.to_string().starts_with("the vertical of the source is 0,0,0"));
/// # Ok::<(), pcr99::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Vertical {
    source: [f64; 3],
    target: [f64; 3],
    tilt: Tilt,
}

impl Vertical {
    /// The z axis on both sides.
    pub const Z: Self = Self { source: [0.0, 0.0, 1.0], target: [0.0, 0.0, 1.0], tilt: Tilt::NONE };

    /// The directions that are up in the source and in the target, of any length.
    ///
    /// # Errors
    /// [`Error::BadVertical`] unless both are finite and not zero.
    pub fn new(source: [f64; 3], target: [f64; 3]) -> Result<Self, Error> {
        for (side, direction) in [(crate::Side::Source, source), (crate::Side::Target, target)] {
            if !direction.iter().all(|x| x.is_finite()) || direction == [0.0; 3] {
                return Err(Error::BadVertical { side, direction });
            }
        }
        Ok(Self { source, target, tilt: Tilt::NONE })
    }

    /// Sets the largest angle between the vertical of the target and that of the source after it was moved, in degrees. Default 0.
    ///
    /// # Errors
    /// [`Error::BadTilt`] unless it is at least 0 and below 90.
    pub fn with_tilt(self, degrees: f64) -> Result<Self, Error> {
        let tilt = Tilt::new(degrees).ok_or(Error::BadTilt { value: degrees })?;
        Ok(Self { tilt, ..self })
    }

    /// The direction that is up in the source, as it was given.
    pub const fn source(&self) -> [f64; 3] {
        self.source
    }

    /// The direction that is up in the target, as it was given.
    pub const fn target(&self) -> [f64; 3] {
        self.target
    }

    /// The largest tilt, in degrees.
    pub const fn tilt_deg(&self) -> f64 {
        self.tilt.degrees()
    }

    /// The largest tilt.
    pub const fn tilt(&self) -> Tilt {
        self.tilt
    }

    /// The same with source and target exchanged.
    #[must_use]
    pub const fn exchanged(&self) -> Self {
        Self { source: self.target, target: self.source, tilt: self.tilt }
    }

    /// The angle between the vertical of the target and that of the source after this rotation, in degrees.
    pub fn tilt_of(&self, rotation: &[[f64; 3]; 3]) -> f64 {
        let [source, target] = self.uprights();
        let moved = rotate(&target, rotate(rotation, source[2]));
        libm::atan2((moved[0] * moved[0] + moved[1] * moved[1]).sqrt(), moved[2]).to_degrees()
    }

    /// Whether a rotation keeps the vertical, up to the tilt and rounding.
    pub fn allows(&self, rotation: &[[f64; 3]; 3]) -> bool {
        let [source, target] = self.uprights();
        self.tilt.allows(&multiply(&multiply(&target, rotation), &transpose(&source)))
    }

    /// The rotation nearest to this one that keeps the vertical, up to the tilt.
    #[must_use]
    pub fn nearest(&self, rotation: &[[f64; 3]; 3]) -> [[f64; 3]; 3] {
        let [source, target] = self.uprights();
        let upright = multiply(&multiply(&target, rotation), &transpose(&source));
        let nearest =
            self.tilt.best_rotation(&transpose(&upright)).unwrap_or(Similarity::IDENTITY.rotation());
        multiply(&multiply(&transpose(&target), &nearest), &source)
    }

    /// Takes the vertical into account in a pose that was found without it, and in its covariance.
    ///
    /// A pose that tilts more than it may is moved to the most probable one that does not: a tilt is corrected together with the turn and the translation that are
    /// correlated with it. The covariance is that given the verticals, which have the standard deviation of half of the largest tilt.
    pub fn hold(&self, pose: &Similarity, covariance: &Covariance) -> (Similarity, Covariance) {
        let [source, target] = self.uprights();
        let moved = rotate(&target, rotate(&pose.rotation(), source[2]));
        // The correction of the tilt about the two horizontal axes of the target.
        let sine = (moved[0] * moved[0] + moved[1] * moved[1]).sqrt();
        let angle = libm::atan2(sine, moved[2]) - self.tilt.radians();
        let correction = if angle > 0.0 && sine > 0.0 {
            [moved[1] * angle / sine, -moved[0] * angle / sine]
        } else {
            [0.0; 2]
        };
        let (change, held) = covariance.given_tilt(&target, correction, 0.5 * self.tilt.radians());
        let pose = if correction == [0.0; 2] {
            *pose
        } else {
            let center = covariance.center;
            let [x, y, z] = [0, 1, 2].map(|k| 0.5 * change[k]);
            let turn = pcr99_base::rotation_of([1.0, x, y, z]);
            let moved = rotate(&turn, center);
            let shift = std::array::from_fn(|k| center[k] - moved[k] + change[3 + k]);
            let further = Similarity::new_unchecked(1.0 + change[6], turn, shift);
            self.upright_about(&pose.then(&further), center)
        };
        (pose, held)
    }

    /// The pose with the nearest rotation that keeps the vertical. The point of the source that is at `center` stays there.
    #[must_use]
    pub fn upright_about(&self, pose: &Similarity, center: [f64; 3]) -> Similarity {
        let nearest = self.nearest(&pose.rotation());
        let at = pose.inverse().apply(center);
        let moved = rotate(&nearest, at);
        let translation = std::array::from_fn(|k| center[k] - pose.scale() * moved[k]);
        Similarity::new_unchecked(pose.scale(), nearest, translation)
    }

    /// The rotations of the source and of the target that turn their verticals to the z axis.
    pub fn uprights(&self) -> [[[f64; 3]; 3]; 2] {
        [self.source, self.target].map(to_upright)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_directions_and_tilts_are_named() {
        let up = [0.0, 0.0, 1.0];
        for (source, target, side) in [([0.0; 3], up, "source"), (up, [0.0, f64::NAN, 1.0], "target")] {
            let error = Vertical::new(source, target).unwrap_err().to_string();
            assert!(error.contains(side) && error.contains("for instance 0,0,1"), "{error}");
        }
        for tilt in [-1.0, 90.0, f64::NAN, f64::INFINITY] {
            let error = Vertical::Z.with_tilt(tilt).unwrap_err().to_string();
            assert!(error.contains("at least 0 and below 90 degrees"), "{error}");
        }
    }

    #[test]
    fn the_tilt_of_a_rotation_is_that_between_the_verticals() {
        let vertical = Vertical::new([0.0, 1e-200, 0.0], [0.0, 0.0, 5.0]).unwrap();
        // y to z.
        let right = [[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]];
        assert_eq!(vertical.tilt_of(&right), 0.0);
        let unturned = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
        assert!((vertical.tilt_of(&unturned) - 90.0).abs() < 1e-12);
        assert_eq!(vertical.exchanged().source(), [0.0, 0.0, 5.0]);
    }
}
