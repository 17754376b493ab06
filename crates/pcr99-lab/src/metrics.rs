use pcr99::Similarity;
use pcr99_base::vector::{minus, norm};

/// Errors of an estimated similarity: the three errors that the paper plots.
///
/// Errors are never NaN. An estimate that is not finite has a rotation error of 180° and infinite translation and scale errors, so it
/// counts as a failure and sorts last.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Errors {
    /// Angle of the rotation between the two, in degrees, from 0 to 180.
    pub rotation_deg: f64,
    /// Distance between the two translations, `‖t̂ − t‖`, in target units.
    pub translation: f64,
    /// Difference of the scales, `|ŝ − s|`: absolute, not relative to `s`.
    pub scale: f64,
}

impl Errors {
    /// Errors of `estimate` against `truth`.
    pub fn between(estimate: &Similarity, truth: &Similarity) -> Self {
        Self {
            rotation_deg: rotation_error_deg(&estimate.rotation(), &truth.rotation()),
            translation: translation_error(estimate.translation(), truth.translation()),
            scale: scale_error(estimate.scale(), truth.scale()),
        }
    }
}

/// Angle between two rotations in degrees: the angle of `M = R̂ᵀ·R`.
///
/// `cos θ = (tr M − 1)/2` alone loses half of the digits near 0° and 180°, where the cosine is flat.
/// The antisymmetric part of `M` has the sine, `2 sin θ = ‖(M₃₂ − M₂₃, M₁₃ − M₃₁, M₂₁ − M₁₂)‖`, and
/// `θ = atan2(sin θ, cos θ)` is accurate at every angle and needs no clamping.
///
/// 180 when a number is not finite.
pub fn rotation_error_deg(estimate: &[[f64; 3]; 3], truth: &[[f64; 3]; 3]) -> f64 {
    let m = |i: usize, j: usize| (0..3).map(|k| estimate[k][i] * truth[k][j]).sum::<f64>();
    let twice_sine = norm([m(2, 1) - m(1, 2), m(0, 2) - m(2, 0), m(1, 0) - m(0, 1)]);
    let twice_cosine = m(0, 0) + m(1, 1) + m(2, 2) - 1.0;
    if !(twice_sine.is_finite() && twice_cosine.is_finite()) {
        return 180.0;
    }
    libm::atan2(twice_sine, twice_cosine).to_degrees()
}

/// Distance between two translations, `‖t̂ − t‖`; infinite when a number is not finite.
pub fn translation_error(estimate: [f64; 3], truth: [f64; 3]) -> f64 {
    or_infinite(norm(minus(estimate, truth)))
}

/// Difference of two scales, `|ŝ − s|`; infinite when one is not finite.
pub fn scale_error(estimate: f64, truth: f64) -> f64 {
    or_infinite((estimate - truth).abs())
}

fn or_infinite(error: f64) -> f64 {
    if error.is_nan() { f64::INFINITY } else { error }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pcr99::random::Random;
    use proptest::prelude::*;

    const IDENTITY: [[f64; 3]; 3] = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];

    fn about_z(radians: f64) -> [[f64; 3]; 3] {
        let (sine, cosine) = libm::sincos(radians);
        [[cosine, -sine, 0.0], [sine, cosine, 0.0], [0.0, 0.0, 1.0]]
    }

    #[test]
    fn known_angles() {
        for degrees in [0.0_f64, 1e-7, 0.5, 30.0, 90.0, 120.0, 179.0, 179.999_999_9, 180.0] {
            let error = rotation_error_deg(&about_z(degrees.to_radians()), &IDENTITY);
            assert!((error - degrees).abs() < 1e-13, "{error} is not {degrees}");
        }
        let half_turn = [[1.0, 0.0, 0.0], [0.0, -1.0, 0.0], [0.0, 0.0, -1.0]];
        assert_eq!(rotation_error_deg(&half_turn, &IDENTITY), 180.0);
    }

    #[test]
    fn tiny_angles_keep_their_digits() {
        let error = rotation_error_deg(&about_z(1.0 + 1e-9), &about_z(1.0)).to_radians();
        assert!((error - 1e-9).abs() < 1e-15, "{error}");
        // Where the angle is not a difference of rounded numbers, it is exact.
        let error = rotation_error_deg(&about_z(1e-9), &IDENTITY).to_radians();
        assert!((error / 1e-9 - 1.0).abs() < 1e-14, "{error}");
    }

    #[test]
    fn translation_and_scale_are_absolute() {
        let truth = Similarity::new(2.0, IDENTITY, [1.0, 2.0, 3.0]).expect("a similarity");
        let estimate = Similarity::new(1.5, about_z(0.25), [1.0, 5.0, 7.0]).expect("a similarity");
        let errors = Errors::between(&estimate, &truth);
        assert_eq!((errors.translation, errors.scale), (5.0, 0.5));
        assert!((errors.rotation_deg.to_radians() - 0.25).abs() < 1e-15);
        assert_eq!(
            Errors::between(&truth, &truth),
            Errors { rotation_deg: 0.0, translation: 0.0, scale: 0.0 }
        );
    }

    #[test]
    fn a_broken_estimate_is_the_worst_not_nan() {
        let truth = Similarity::new(1.0, IDENTITY, [0.0; 3]).expect("a similarity");
        let worst = Errors { rotation_deg: 180.0, translation: f64::INFINITY, scale: f64::INFINITY };
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let broken = Similarity::new_unchecked(bad, [[bad; 3]; 3], [bad; 3]);
            assert_eq!(Errors::between(&broken, &truth), worst);
            assert_eq!(Errors::between(&broken, &broken), worst);
        }
    }

    proptest! {
        #[test]
        fn symmetric_and_equal_to_the_clamped_arc_cosine(seed in 0..10_000_u64) {
            let mut random = Random::new(seed);
            let (p, q) = (crate::draw::rotation(&mut random), crate::draw::rotation(&mut random));
            let error = rotation_error_deg(&p, &q);
            prop_assert!((error - rotation_error_deg(&q, &p)).abs() < 1e-12);
            let trace: f64 = (0..3).map(|i| (0..3).map(|k| p[k][i] * q[k][i]).sum::<f64>()).sum();
            let clamped = libm::acos(((trace - 1.0) / 2.0).clamp(-1.0, 1.0)).to_degrees();
            prop_assert!((error - clamped).abs() < 1e-5, "{error} {clamped}");
        }

        #[test]
        fn never_nan(p in proptest::array::uniform9(any::<f64>()), q in proptest::array::uniform9(any::<f64>())) {
            let rows = |m: [f64; 9]| [[m[0], m[1], m[2]], [m[3], m[4], m[5]], [m[6], m[7], m[8]]];
            let error = rotation_error_deg(&rows(p), &rows(q));
            prop_assert!((0.0..=180.0).contains(&error), "{error}");
        }
    }
}
