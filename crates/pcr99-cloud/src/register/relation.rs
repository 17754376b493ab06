//! How one pose relates to another: a turn about an axis, a shift, a change of size.

use std::fmt;

use pcr99::Similarity;
use pcr99_base::vector::{cross, dot, minus, norm, plus, times};

/// A rotation about an axis, in target coordinates.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Turn {
    /// Angle in degrees, above 0 and below 360.
    pub degrees: f64,
    /// Direction of the axis, a unit vector whose largest component is positive. The turn is counter-clockwise for a viewer whom the axis points at.
    pub axis: [f64; 3],
    /// The point of the axis that is nearest to the centre of the moved source.
    pub through: [f64; 3],
}

/// The motion that leads from one pose to another: from where the first puts the source to where the second puts it.
///
/// ```
/// use pcr99::Similarity;
/// use pcr99_cloud::register::Relation;
///
/// let half = Similarity::from_quaternion(1.0, [0.0, 0.0, 0.0, 1.0], [4.0, 0.0, 0.0])?;
/// let relation = Relation::between(&Similarity::IDENTITY, &half, [2.0, 0.0, 1.0], 1.0, 0.01);
/// assert_eq!(relation.to_string(), "turned by 180° about the axis (0, 0, 1) through (2, 0, 1)");
/// # Ok::<(), pcr99::SimilarityError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Relation {
    /// The rotation; `None` where it moves the source by less than the precision.
    pub turn: Option<Turn>,
    /// The shift of the centre of the moved source, in target units: along the axis after a turn, and zero where it is below the precision.
    pub shift: [f64; 3],
    /// The size of the source under the second pose divided by that under the first; 1 where the difference is below the precision.
    pub times: f64,
    /// Lengths below this, in target units, are not told apart.
    precision: f64,
    /// Number of decimals of the angle that can be told apart.
    angle_decimals: usize,
}

impl Relation {
    /// The motion from where `first` puts the source to where `second` puts it.
    ///
    /// `center` is the centre of the source as the first pose moves it, `lever` the distance from there of a typical point, both in target
    /// coordinates; smaller motions of such a point than `precision` are left out.
    pub fn between(
        first: &Similarity,
        second: &Similarity,
        center: [f64; 3],
        lever: f64,
        precision: f64,
    ) -> Self {
        let motion = first.inverse().then(second);
        let [w, x, y, z] = motion.quaternion();
        let sine = norm([x, y, z]);
        let scale = motion.scale();
        // Half a degree moves a typical point by this much.
        let angle_decimals = if 0.5_f64.to_radians() * lever < precision { 0 } else { 1 };
        let is_larger = (scale - 1.0).abs() * lever > precision;
        let moved = minus(motion.apply(center), center);
        let visible = |shift: [f64; 3]| if norm(shift) > precision { shift } else { [0.0; 3] };
        let times_larger = if is_larger { scale } else { 1.0 };
        // A rotation by φ moves a typical point by 2 sin(φ/2)·lever.
        if 2.0 * sine * lever <= precision {
            return Self {
                turn: None,
                shift: visible(moved),
                times: times_larger,
                precision,
                angle_decimals,
            };
        }
        let axis = times(1.0 / sine, [x, y, z]);
        let along = times(dot(moved, axis), axis);
        let across = minus(moved, along);
        // The axis goes through the point that the turn does not move: half of the way across, and beside it by half the cotangent of half the angle.
        let beside = times(w / sine, cross(axis, across));
        let through = plus(center, times(0.5, plus(across, beside)));
        let (axis, cosine) = if leads(axis) { (axis, w) } else { (times(-1.0, axis), -w) };
        let degrees = 2.0 * libm::atan2(sine, cosine).to_degrees();
        let turn = Turn { degrees, axis, through };
        Self { turn: Some(turn), shift: visible(along), times: times_larger, precision, angle_decimals }
    }
}

impl Relation {
    /// The angle of the turn in text; empty without a turn.
    pub(super) fn angle(&self) -> String {
        self.turn.map_or(String::new(), |turn| format!("{}°", number(turn.degrees, self.angle_decimals)))
    }
}

/// Whether the component with the largest size, the last of equal ones, is positive.
fn leads(axis: [f64; 3]) -> bool {
    // Rounded, so that noise does not choose among equal components.
    let size = |k: usize| (1e3 * axis[k].abs()).round();
    let largest = (0..3).fold(0, |best, k| if size(k) >= size(best) { k } else { best });
    axis[largest] > 0.0
}

/// A direction whose largest component is positive.
pub(super) fn led(axis: [f64; 3]) -> [f64; 3] {
    if leads(axis) { axis } else { times(-1.0, axis) }
}

impl fmt::Display for Relation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let length = |x: f64| number(x, decimals(self.precision));
        let shift = norm(self.shift);
        let is_shifted = shift > 0.0;
        if let Some(Turn { axis, through, .. }) = self.turn {
            let at = point(through, self.precision);
            write!(f, "turned by {} about the axis {} through {at}", self.angle(), direction(axis))?;
            if is_shifted {
                write!(f, ", and shifted by {} along it", length(dot(self.shift, axis)))?;
            }
        } else if is_shifted {
            let way = times(1.0 / shift, self.shift);
            write!(f, "shifted by {} along {}", length(shift), direction(way))?;
        } else if self.times == 1.0 {
            f.write_str("the same")?;
        }
        if self.times != 1.0 {
            let and = if self.turn.is_some() || is_shifted { ", and " } else { "" };
            write!(f, "{and}{} times as large", number(self.times, 3))?;
        }
        Ok(())
    }
}

/// Number of decimals that show a length to a tenth of the precision.
fn decimals(precision: f64) -> usize {
    (1.0 - libm::floor(libm::log10(precision))).clamp(0.0, 300.0) as usize
}

/// A number with at most this many decimals, without zeros at the end and without a sign before zero.
fn number(x: f64, decimals: usize) -> String {
    let text = format!("{x:.decimals$}");
    let text = if decimals > 0 { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

/// A unit vector in text.
pub(super) fn direction(v: [f64; 3]) -> String {
    let [x, y, z] = v.map(|x| number(x, 2));
    format!("({x}, {y}, {z})")
}

/// A place in text, to a tenth of the precision.
pub(super) fn point(p: [f64; 3], precision: f64) -> String {
    let [x, y, z] = p.map(|x| number(x, decimals(precision)));
    format!("({x}, {y}, {z})")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(motion: &Similarity, center: [f64; 3]) -> String {
        let first = Similarity::from_quaternion(1.0, [0.9, 0.1, -0.4, 0.2], [5.0, -2.0, 1.0]).expect("one");
        let second = first.then(motion);
        Relation::between(&first, &second, center, 1.5, 0.02).to_string()
    }

    /// The rotation about the z axis through a point, with a shift along it.
    fn about(degrees: f64, [x, y]: [f64; 2], up: f64, scale: f64) -> Similarity {
        let half = 0.5 * degrees.to_radians();
        let turn =
            Similarity::from_quaternion(scale, [half.cos(), 0.0, 0.0, half.sin()], [0.0; 3]).expect("one");
        let back = turn.apply([x, y, 0.0]);
        turn.then(&Similarity::from_translation([x - back[0], y - back[1], up]))
    }

    #[test]
    fn turns_name_their_axis() {
        for degrees in [2.0, 90.0, 120.0, 180.0, 270.0, 359.0] {
            let motion = about(degrees, [3.0, 4.0], 0.0, 1.0);
            let expected = format!("turned by {degrees}° about the axis (0, 0, 1) through (3, 4, 2)");
            assert_eq!(said(&motion, [2.0, 3.5, 2.0]), expected);
        }
        let screw = about(60.0, [-1.0, 0.5], 0.25, 1.0);
        let expected =
            "turned by 60° about the axis (0, 0, 1) through (-1, 0.5, 0), and shifted by 0.25 along it";
        assert_eq!(said(&screw, [0.0; 3]), expected);
        // Smaller than the precision.
        assert_eq!(
            said(&about(60.0, [-1.0, 0.5], 0.015, 1.0), [0.0; 3]),
            expected.split(',').take(5).collect::<Vec<_>>().join(",")
        );
    }

    #[test]
    fn shifts_name_their_direction_and_scales_their_factor() {
        let shift = Similarity::from_translation([0.0, 0.0, -2.5]);
        assert_eq!(said(&shift, [7.0, 0.0, 0.0]), "shifted by 2.5 along (0, 0, -1)");
        let larger = about(0.0, [1.0, 1.0], 0.0, 1.2);
        assert_eq!(said(&larger, [1.0, 1.0, 0.0]), "1.2 times as large");
        let all = about(0.0, [0.0, 0.0], 3.0, 1.2);
        assert_eq!(said(&all, [0.0; 3]), "shifted by 3 along (0, 0, 1), and 1.2 times as large");
        assert_eq!(said(&about(0.3, [0.0, 0.0], 0.0, 1.0), [0.0; 3]), "the same");
    }

    #[test]
    fn coordinates_far_from_the_origin_change_nothing() {
        let far = [431_207.3, 5_000_000.25, 12.0];
        let motion = about(90.0, [far[0] + 1.0, far[1]], 0.0, 1.0);
        assert_eq!(
            said(&motion, far),
            "turned by 90° about the axis (0, 0, 1) through (431208.3, 5000000.25, 12)"
        );
    }
}
