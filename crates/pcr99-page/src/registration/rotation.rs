//! A rotation as angles.

/// Roll, pitch and yaw in degrees: `R = Rz(yaw)·Ry(pitch)·Rx(roll)`. At a pitch of ±90° only yaw ∓ roll is determined; the roll
/// is then 0.
pub(crate) fn euler_deg(r: &[[f64; 3]; 3]) -> [f64; 3] {
    let pitch = libm::asin((-r[2][0]).clamp(-1.0, 1.0));
    let [roll, yaw] = if r[2][0].abs() < 1.0 - 1e-12 {
        [libm::atan2(r[2][1], r[2][2]), libm::atan2(r[1][0], r[0][0])]
    } else {
        [0.0, libm::atan2(-r[0][1], r[1][1])]
    };
    [roll, pitch, yaw].map(f64::to_degrees)
}

/// The angle between two rotations in degrees, `2·asin(‖R − S‖ / √8)`, which is accurate for small angles, too.
pub(crate) fn angle_deg(r: &[[f64; 3]; 3], s: &[[f64; 3]; 3]) -> f64 {
    let apart: f64 = r.as_flattened().iter().zip(s.as_flattened()).map(|(a, b)| (a - b) * (a - b)).sum();
    (2.0 * libm::asin((apart / 8.0).sqrt().min(1.0))).to_degrees()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pcr99::Similarity;
    use proptest::{array::uniform4, prelude::*};

    fn rotation(q: [f64; 4]) -> [[f64; 3]; 3] {
        Similarity::from_quaternion(1.0, q, [0.0; 3]).expect("a similarity").rotation()
    }

    fn about(axis: usize, degrees: f64) -> Similarity {
        let half = 0.5 * degrees.to_radians();
        let mut q = [half.cos(), 0.0, 0.0, 0.0];
        q[axis + 1] = half.sin();
        Similarity::from_quaternion(1.0, q, [0.0; 3]).expect("a similarity")
    }

    /// First about x, then y, then z, of the fixed frame.
    fn from_euler([roll, pitch, yaw]: [f64; 3]) -> [[f64; 3]; 3] {
        about(0, roll).then(&about(1, pitch)).then(&about(2, yaw)).rotation()
    }

    #[test]
    fn known_turns() {
        let quarter_about_z = [[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]];
        let half = 0.5_f64.sqrt();
        let quaternion =
            |r: &[[f64; 3]; 3]| Similarity::new(1.0, *r, [0.0; 3]).expect("a similarity").quaternion();
        let q = quaternion(&quarter_about_z);
        assert!(q.iter().zip([half, 0.0, 0.0, half]).all(|(a, b)| (a - b).abs() < 1e-15), "{q:?}");
        assert_eq!(euler_deg(&quarter_about_z), [0.0, 0.0, 90.0]);
        let identity = rotation([1.0, 0.0, 0.0, 0.0]);
        assert_eq!(quaternion(&identity), [1.0, 0.0, 0.0, 0.0]);
        assert!((angle_deg(&identity, &quarter_about_z) - 90.0).abs() < 1e-12);
        // Half turns, where w is 0.
        for axis in 1..4 {
            let mut q = [0.0; 4];
            q[axis] = 1.0;
            assert_eq!(quaternion(&rotation(q)), q);
        }
        for pitch in [90.0, -90.0] {
            let r = from_euler([20.0, pitch, 50.0]);
            assert!(angle_deg(&r, &from_euler(euler_deg(&r))) < 1e-5, "{:?}", euler_deg(&r));
        }
    }

    proptest! {
        #[test]
        fn back_and_forth(q in uniform4(-1.0..1.0).prop_filter("not zero", |q| q.iter().any(|x: &f64| x.abs() > 0.1))) {
            let r = rotation(q);
            let found = Similarity::new(1.0, r, [0.0; 3]).expect("a similarity").quaternion();
            prop_assert!(angle_deg(&r, &rotation(found)) < 1e-9);
            prop_assert!(found[0] >= 0.0 && (found.iter().map(|x| x * x).sum::<f64>() - 1.0).abs() < 1e-12);
            prop_assert!(angle_deg(&r, &from_euler(euler_deg(&r))) < 1e-5);
        }
    }
}
