//! A transform about a local origin, for coordinates that are far from theirs.

use pcr99::{Covariance, Similarity};

/// Distance of the points from the origin of their coordinates, relative to their extent, from which a local origin is needed. A matrix that is printed with nine
/// decimals moves a point at that distance by a millionth of the extent.
const FAR: f64 = 1000.0;

/// A transform about an origin near the points: `q − o_t = s·R·(p − o_s) + t`. Coordinates such as those of UTM have millions of metres, and a rotation printed with
/// nine decimals is off by millimetres there. About a local origin, every printed digit counts.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct LocalTransform {
    /// The origin `o_s`, in source coordinates.
    pub source_origin: [f64; 3],
    /// The origin `o_t`, in target coordinates.
    pub target_origin: [f64; 3],
    /// The translation `t`. Rotation and scale are those of the transform.
    pub translation: [f64; 3],
}

impl LocalTransform {
    /// The transform about round coordinates near the centre of the covariance; `None` where the origin of the coordinates is near enough.
    pub fn of(transform: &Similarity, covariance: &Covariance) -> Option<Self> {
        let (target, source) = (covariance.center, transform.inverse().apply(covariance.center));
        let far = |p: [f64; 3]| p.iter().fold(0.0_f64, |far, x| far.max(x.abs()));
        let lever = covariance.lever;
        let is_far = far(target) > FAR * lever || far(source) * transform.scale() > FAR * lever;
        if !(is_far && lever > 0.0 && lever.is_finite()) {
            return None;
        }
        let round = |p: [f64; 3], lever: f64| {
            let step = libm::exp10(libm::ceil(libm::log10(lever)));
            p.map(|x| (x / step).round() * step + 0.0)
        };
        let (target_origin, source_origin) = (round(target, lever), round(source, lever / transform.scale()));
        // The centre is near both origins, so no digits are lost: t = (c_t − o_t) − s·R·(c_s − o_s).
        let off: [f64; 3] = std::array::from_fn(|axis| source[axis] - source_origin[axis]);
        let turned = Similarity::new_unchecked(transform.scale(), transform.rotation(), [0.0; 3]).apply(off);
        let translation = std::array::from_fn(|axis| target[axis] - target_origin[axis] - turned[axis]);
        Some(Self { source_origin, target_origin, translation })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_kept_far_from_the_origin() {
        let turn = Similarity::from_quaternion(1.0, [0.9, 0.0, 0.1, 0.3], [0.0; 3]).expect("a rotation");
        let (from, to) = ([512_345.25, 5_412_345.5, 310.75], [512_400.5, 5_412_300.25, 305.0]);
        let moved = turn.apply(from);
        let shift = std::array::from_fn(|axis| to[axis] - moved[axis]);
        let transform = turn.then(&Similarity::from_translation(shift));
        let covariance = Covariance::new(vec![vec![0.0; 6]; 6], to, 25.0, vec![]);
        let local = LocalTransform::of(&transform, &covariance).expect("far away");
        assert_eq!(local.target_origin, [512_400.0, 5_412_300.0, 300.0]);
        let p = [512_350.0, 5_412_340.0, 312.0];
        let want = transform.apply(p);
        let near: [f64; 3] = std::array::from_fn(|axis| p[axis] - local.source_origin[axis]);
        let got = turn.apply(near);
        for axis in 0..3 {
            let got = got[axis] + local.translation[axis] + local.target_origin[axis];
            assert!((got - want[axis]).abs() < 1e-8, "{got} {}", want[axis]);
        }
        let near = Covariance::new(vec![vec![0.0; 6]; 6], [3.0, 4.0, 5.0], 25.0, vec![]);
        assert_eq!(LocalTransform::of(&Similarity::from_translation([1.0, 2.0, 3.0]), &near), None);
    }
}
