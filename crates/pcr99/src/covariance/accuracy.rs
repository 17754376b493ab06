//! The accuracy of a transform in one sentence.

use std::fmt;

use super::{Covariance, FreeDirection};

/// Standard deviations on either side that hold 95 % of a Gaussian distribution.
const NINETY_FIVE: f64 = 1.96;
/// Cosine of 10°: a direction this close to a coordinate axis is named by it.
const ALONG_AXIS: f64 = 0.985;
/// Ratio of the largest to the smallest deviation from which a direction is named as the weakest.
const CLEARLY_WEAKER: f64 = 1.5;

/// How far the transform may be off: in 95 of 100 cases no farther, along the direction that is determined least.
///
/// As text: `± 0.0008 and ± 0.02° (95 %), weakest along x; scale ± 0.03 %`. Lengths are in target units.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Accuracy {
    /// Translation of the centre of the overlap, in target units.
    pub translation: f64,
    /// Direction in which the translation is determined least.
    pub weakest: [f64; 3],
    /// Whether it is determined clearly less than others.
    pub is_one_weaker: bool,
    /// Rotation, in degrees.
    pub rotation_deg: f64,
    /// Scale, relative; `None` where it was known.
    pub scale: Option<f64>,
    /// Directions that the data do not determine.
    pub free: Vec<FreeDirection>,
}

impl Accuracy {
    pub(super) fn of(covariance: &Covariance) -> Self {
        let (translation, weakest) = covariance.loosest_translation();
        let (rotation, _) = covariance.loosest_rotation();
        let trace: f64 = (3..6).map(|k| covariance.matrix[k][k]).sum();
        // Mean of the other two variances.
        let others = (0.5 * (trace - translation * translation)).max(0.0).sqrt();
        Self {
            translation: NINETY_FIVE * translation,
            weakest,
            is_one_weaker: translation > CLEARLY_WEAKER * others,
            rotation_deg: (NINETY_FIVE * rotation).to_degrees().min(180.0),
            scale: covariance.scale_deviation().map(|deviation| NINETY_FIVE * deviation),
            free: covariance.free.clone(),
        }
    }
}

impl fmt::Display for Accuracy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "± {} and ± {}° (95 %)", Rounded(self.translation), Rounded(self.rotation_deg))?;
        if self.is_one_weaker {
            write!(f, ", weakest along {}", Direction(self.weakest))?;
        }
        if let Some(scale) = self.scale {
            write!(f, "; scale ± {} %", Rounded(100.0 * scale))?;
        }
        for (place, free) in self.free.iter().enumerate() {
            write!(f, "{} {free}", if place == 0 { "; not determined:" } else { "," })?;
        }
        Ok(())
    }
}

/// A number with two significant digits, as people write it.
struct Rounded(f64);

impl fmt::Display for Rounded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let x = self.0;
        let digits = if x > 0.0 { libm::floor(libm::log10(x)) } else { 0.0 };
        match digits as i32 {
            _ if x == 0.0 => f.write_str("0"),
            digits @ -6..=1 => write!(f, "{x:.*}", (1 - digits) as usize),
            2..=5 => write!(f, "{x:.0}"),
            _ => write!(f, "{x:.1e}"),
        }
    }
}

/// A direction, by the name of the axis that it is near.
struct Direction([f64; 3]);

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let axis = ["x", "y", "z"].into_iter().zip(self.0).find(|(_, x)| x.abs() > ALONG_AXIS);
        // Both signs are one direction.
        let sign = if self.0.iter().find(|x| x.abs() > 1e-3).is_some_and(|x| *x < 0.0) { -1.0 } else { 1.0 };
        let [x, y, z] = self.0.map(|x| sign * x + 0.0);
        match axis {
            Some((name, _)) => f.write_str(name),
            None => write!(f, "({x:.2}, {y:.2}, {z:.2})"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sentence(deviations: &[f64], free: Vec<FreeDirection>) -> String {
        let matrix = (0..deviations.len())
            .map(|i| {
                (0..deviations.len()).map(|j| if i == j { deviations[i].powi(2) } else { 0.0 }).collect()
            })
            .collect();
        Covariance::new(matrix, [0.0; 3], 1.0, free).accuracy().to_string()
    }

    #[test]
    fn people_get_a_sentence() {
        let turn = 0.01_f64.to_radians();
        let said = sentence(&[turn, turn, turn, 4e-4, 1e-4, 1e-4], vec![]);
        assert_eq!(said, "± 0.00078 and ± 0.020° (95 %), weakest along x");
        let said = sentence(&[turn, turn, turn, 0.04, 0.04, 0.04, 1.5e-4], vec![]);
        assert_eq!(said, "± 0.078 and ± 0.020° (95 %); scale ± 0.029 %");
        let said =
            sentence(&[turn, turn, turn, 0.04, 9.0, 0.04], vec![FreeDirection::Sliding([0.0, 1.0, 0.0])]);
        assert_eq!(
            said,
            "± 18 and ± 0.020° (95 %), weakest along y; not determined: sliding along (0.00, 1.00, 0.00)"
        );
        assert_eq!(sentence(&[0.0; 6], vec![]), "± 0 and ± 0° (95 %)");
        assert_eq!(Rounded(123_456.0).to_string(), "123456");
        assert_eq!(Rounded(3.2e-9).to_string(), "3.2e-9");
        assert_eq!(Direction([-0.8, 0.6, 0.0]).to_string(), "(0.80, -0.60, 0.00)");
    }
}
