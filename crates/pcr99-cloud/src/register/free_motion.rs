//! Motions that the clouds leave free: a cylinder turns about its axis, a sphere about its centre, a plane slides.

use std::fmt;

use pcr99::Similarity;
use pcr99_base::vector::{cross, dot, minus, norm, plus, rotate, solve_positive, times, unit};

use super::relation::{direction, led, point};
use crate::refine::Firmness;
use pcr99_base::eigen::symmetric_eigen;

/// A motion whose rotation moves a typical point by less than this fraction of what the whole motion moves it is a shift.
const SHIFT: f64 = 0.3;
/// Largest distance of the axes of three turns from their common point, as a fraction of the lever, when they are the turns of a sphere.
const COMMON_POINT: f64 = 0.1;

/// A motion after which the clouds fit as well, by any amount.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum FreeMotion {
    /// Any turn about an axis, in target coordinates.
    Turn {
        /// Direction of the axis, a unit vector.
        axis: [f64; 3],
        /// A point of the axis.
        through: [f64; 3],
    },
    /// Any rotation about a point, in target coordinates.
    Rotation {
        /// The point that stays.
        about: [f64; 3],
    },
    /// Any shift along a direction, as far as the clouds overlap.
    Shift {
        /// A unit vector, in target coordinates.
        along: [f64; 3],
    },
}

impl FreeMotion {
    /// The word used in documents: `turn`, `rotation` or `shift`.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Turn { .. } => "turn",
            Self::Rotation { .. } => "rotation",
            Self::Shift { .. } => "shift",
        }
    }

    /// The motion for people. Places are shown to a tenth of `precision`, a length in target units.
    pub fn sentence(&self, precision: f64) -> String {
        Words { motion: self, precision }.to_string()
    }

    /// The motions of these that the overlap does not hold: those below `limit`.
    pub(super) fn of(firmness: &Firmness, limit: f64) -> Vec<Self> {
        let Firmness { middle, lever, values, motions } = firmness;
        let loose: Vec<&[f64; 6]> = motions
            .iter()
            .zip(values)
            .filter(|(_, value)| **value < limit)
            .map(|(motion, _)| motion)
            .collect();
        // Combinations of the loose motions, from those that hardly rotate to those that rotate most.
        let rotation = |motion: &[f64; 6]| [motion[0], motion[1], motion[2]];
        let gram: [[f64; 6]; 6] = std::array::from_fn(|i| {
            std::array::from_fn(|j| match (loose.get(i), loose.get(j)) {
                (Some(a), Some(b)) => dot(rotation(a), rotation(b)),
                _ => 0.0,
            })
        });
        let (_, ways) = symmetric_eigen(&gram);
        let mut shifts = Vec::new();
        let mut turns = Vec::new();
        for way in ways {
            let sum = |k: usize| loose.iter().zip(way).map(|(motion, part)| part * motion[k]).sum::<f64>();
            let (turn, shift): ([f64; 3], [f64; 3]) =
                (std::array::from_fn(sum), std::array::from_fn(|k| sum(3 + k)));
            // Unit vectors beyond the loose motions combine to nothing.
            if dot(turn, turn) + dot(shift, shift) < 0.5 {
                continue;
            }
            if norm(turn) < SHIFT {
                shifts.push(Self::Shift { along: led(unit(shift)) });
            } else {
                let arm = times(lever / dot(turn, turn), cross(turn, shift));
                turns.push((led(unit(turn)), plus(*middle, arm)));
            }
        }
        if let Some(about) = common_point(&turns).filter(|&p| {
            turns.iter().all(|&(axis, through)| norm(cross(axis, minus(p, through))) < COMMON_POINT * lever)
        }) {
            shifts.insert(0, Self::Rotation { about });
            return shifts;
        }
        let turns = turns.into_iter().map(|(axis, through)| Self::Turn { axis, through });
        turns.chain(shifts).collect()
    }

    /// This motion by a part of a whole turn, or by this many lengths `unit`.
    pub(super) fn by(&self, part: f64, unit: f64) -> Vec<Similarity> {
        let angle = part * std::f64::consts::TAU;
        match *self {
            Self::Turn { axis, through } => vec![turned(axis, angle, through)],
            Self::Rotation { about } => [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
                .map(|axis| turned(axis, angle, about))
                .to_vec(),
            Self::Shift { along } => {
                [unit, -unit].map(|by| Similarity::from_translation(times(by, along))).to_vec()
            }
        }
    }

    /// What is left of a motion of the target's space once this motion has undone as much of it as it can. `center` is the place that shifts are measured at.
    pub(super) fn undone(&self, motion: &Similarity, center: [f64; 3]) -> Similarity {
        match *self {
            Self::Turn { axis, through } => {
                let [w, x, y, z] = motion.quaternion();
                let half = libm::atan2(dot([x, y, z], axis), w);
                motion.then(&turned(axis, -2.0 * half, through))
            }
            Self::Rotation { about } => {
                let rotation = Similarity::new_unchecked(1.0, motion.rotation(), [0.0; 3]).inverse();
                motion.then(&around(&rotation, about))
            }
            Self::Shift { along } => {
                let moved = minus(motion.apply(center), center);
                motion.then(&Similarity::from_translation(times(-dot(moved, along), along)))
            }
        }
    }

    /// The same motion in the coordinates to which `frame` maps these.
    pub(super) fn in_frame(&self, frame: &Similarity) -> Self {
        let turned = |v: [f64; 3]| led(rotate(&frame.rotation(), v));
        match *self {
            Self::Turn { axis, through } => Self::Turn { axis: turned(axis), through: frame.apply(through) },
            Self::Rotation { about } => Self::Rotation { about: frame.apply(about) },
            Self::Shift { along } => Self::Shift { along: turned(along) },
        }
    }
}

/// The point that is nearest to three axes; `None` for fewer.
fn common_point(axes: &[([f64; 3], [f64; 3])]) -> Option<[f64; 3]> {
    if axes.len() < 3 {
        return None;
    }
    let mut matrix = [[0.0; 3]; 3];
    let mut right = [0.0; 3];
    for (axis, through) in axes {
        for i in 0..3 {
            for j in 0..3 {
                let across = f64::from(u8::from(i == j)) - axis[i] * axis[j];
                matrix[i][j] += across;
                right[i] += across * through[j];
            }
        }
    }
    solve_positive(&matrix, right)
}

/// Rotation by an angle in radians about an axis.
pub(super) fn turned(axis: [f64; 3], angle: f64, through: [f64; 3]) -> Similarity {
    let (sine, cosine) = libm::sincos(0.5 * angle);
    let [x, y, z] = times(sine, axis);
    let rotation = pcr99_base::rotation_of([cosine, x, y, z]);
    around(&Similarity::new_unchecked(1.0, rotation, [0.0; 3]), through)
}

/// A rotation about the origin, moved to another point.
fn around(rotation: &Similarity, point: [f64; 3]) -> Similarity {
    rotation.then(&Similarity::from_translation(minus(point, rotation.apply(point))))
}

/// A motion in words.
struct Words<'a> {
    motion: &'a FreeMotion,
    precision: f64,
}

impl fmt::Display for Words<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self.motion {
            FreeMotion::Turn { axis, through } => write!(
                f,
                "any turn about the axis {} through {}",
                direction(axis),
                point(through, self.precision)
            ),
            FreeMotion::Rotation { about } => {
                write!(f, "any rotation about the point {}", point(about, self.precision))
            }
            FreeMotion::Shift { along } => write!(f, "any shift along {}", direction(along)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_near(a: [f64; 3], b: [f64; 3]) -> bool {
        norm(minus(a, b)) < 1e-12
    }

    /// A turn about a vertical axis, a rotation about a point and a shift, and how much of a motion each can undo.
    #[test]
    fn a_free_motion_undoes_itself() {
        let turn = FreeMotion::Turn { axis: [0.0, 0.0, 1.0], through: [2.0, 1.0, 0.0] };
        let rotation = FreeMotion::Rotation { about: [1.0, 2.0, 3.0] };
        let shift = FreeMotion::Shift { along: [0.0, 1.0, 0.0] };
        let center = [0.5, 0.5, 0.5];
        for (motion, part, unit) in
            [(turn, 0.3, 0.0), (turn, 0.8, 0.0), (rotation, 0.4, 0.0), (shift, 0.0, 2.5)]
        {
            for done in motion.by(part, unit) {
                let left = motion.undone(&done, center);
                assert!(is_near(left.apply([4.0, -1.0, 2.0]), [4.0, -1.0, 2.0]), "{motion:?} {left:?}");
            }
        }
        // A half turn about another axis is no turn about this one.
        let half = turned([1.0, 0.0, 0.0], 0.5 * std::f64::consts::TAU, [2.0, 1.0, 0.0]);
        let left = turn.undone(&half, center);
        assert!(!is_near(left.apply([4.0, -1.0, 2.0]), [4.0, -1.0, 2.0]));
        // Elsewhere, the axis is elsewhere.
        let quarter = turned([1.0, 0.0, 0.0], 0.25 * std::f64::consts::TAU, [0.0; 3]);
        let FreeMotion::Turn { axis, through } = turn.in_frame(&quarter) else { unreachable!() };
        assert!(is_near(axis, [0.0, 1.0, 0.0]) && is_near(through, [2.0, 0.0, 1.0]), "{axis:?} {through:?}");
    }

    /// A plane slides in two directions and turns, a tube slides and turns, a sphere rotates; the eigenvectors are mixed.
    #[test]
    fn loose_motions_are_sorted() {
        let loose = |motions: &[[f64; 6]]| {
            let mut all = [[0.0; 6]; 6];
            all[..motions.len()].copy_from_slice(motions);
            let values = std::array::from_fn(|k| if k < motions.len() { 1e-5 } else { 0.1 });
            FreeMotion::of(&Firmness { middle: [1.0, 2.0, 3.0], lever: 2.0, values, motions: all }, 1e-3)
        };
        let kinds = |motions: &[[f64; 6]]| loose(motions).iter().map(FreeMotion::kind).collect::<Vec<_>>();
        let half = 0.5_f64.sqrt();
        let plane = [
            [0.0, 0.0, half, half, 0.0, 0.0],
            [0.0, 0.0, half, -half, 0.0, 0.0],
            [0.0, 0.0, 0.0, 0.0, 1.0, 0.0],
        ];
        assert_eq!(kinds(&plane), ["turn", "shift", "shift"]);
        let tube = [[0.0, 0.0, half, 0.0, 0.0, half], [0.0, 0.0, half, 0.0, 0.0, -half]];
        assert_eq!(kinds(&tube), ["turn", "shift"]);
        // A turn about an axis beside the middle also moves it.
        let beside = loose(&[[0.0, 0.0, half, 0.0, half, 0.0]]);
        let [FreeMotion::Turn { axis, through }] = beside[..] else { panic!("{beside:?}") };
        assert!(is_near(axis, [0.0, 0.0, 1.0]) && is_near(through, [-1.0, 2.0, 3.0]), "{axis:?} {through:?}");
        let sphere = [
            [half, half, 0.0, 0.0, 0.0, 0.0],
            [half, -half, 0.0, 0.0, 0.0, 0.0],
            [0.0, 0.0, 1.0, 0.0, 0.0, 0.0],
        ];
        let [FreeMotion::Rotation { about }] = loose(&sphere)[..] else { panic!("{:?}", loose(&sphere)) };
        assert!(is_near(about, [1.0, 2.0, 3.0]), "{about:?}");
        assert!(loose(&[]).is_empty());
        let said = FreeMotion::Rotation { about }.sentence(0.1);
        assert_eq!(said, "any rotation about the point (1, 2, 3)");
        assert_eq!(
            FreeMotion::Shift { along: [0.0, half, half] }.sentence(0.1),
            "any shift along (0, 0.71, 0.71)"
        );
    }
}
