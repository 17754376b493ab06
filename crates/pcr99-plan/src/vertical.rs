//! The vertical as the user gave it: text or numbers.

use std::{fmt, str::FromStr};

use pcr99::{Similarity, Vertical};

use crate::{
    PlanError,
    text::{Expected, number, number_text},
};

/// The direction that is up on each side, as the user gave it, not yet checked. As text: `source=0,0,1 target=0,0,1`.
///
/// ```
/// use pcr99_plan::GivenVertical;
///
/// let given: GivenVertical = "source=0,0,1 target=0,1,0".parse()?;
/// assert_eq!(given, GivenVertical { source: Some([0.0, 0.0, 1.0]), target: Some([0.0, 1.0, 0.0]) });
/// assert_eq!(given.to_string(), "source=0,0,1 target=0,1,0");
/// assert!("0,0,1".parse::<GivenVertical>().is_err());
/// # Ok::<(), pcr99_plan::Expected>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct GivenVertical {
    /// The direction that is up in the source.
    pub source: Option<[f64; 3]>,
    /// The direction that is up in the target.
    pub target: Option<[f64; 3]>,
}

/// Angle in degrees by which an initial pose may tilt beyond the tolerance. A matrix that was written with four digits has errors of a tenth of this size.
const ROUNDED_TILT: f64 = 0.05;

impl GivenVertical {
    /// The checked vertical of two options.
    ///
    /// # Errors
    /// When one side is missing, a direction is not finite or zero, the tilt is outside its range, or there is a tilt without a vertical.
    pub(crate) fn checked(given: Option<Self>, tilt: Option<f64>) -> Result<Option<Vertical>, PlanError> {
        let Some(Self { source, target }) = given else {
            return if tilt.is_some() { Err(PlanError::TiltAlone) } else { Ok(None) };
        };
        let (source, target) = match (source, target) {
            (Some(source), Some(target)) => (source, target),
            (None, _) => return Err(PlanError::VerticalSide { missing: pcr99::Side::Source }),
            (_, None) => return Err(PlanError::VerticalSide { missing: pcr99::Side::Target }),
        };
        let vertical = Vertical::new(source, target)?;
        Ok(Some(vertical.with_tilt(tilt.unwrap_or(0.0))?))
    }
}

/// The vertical as a part of the text of a plan.
pub(crate) fn vertical_text(vertical: &Vertical) -> String {
    format!(", vertical {}, tilt {}°", GivenVertical::from(vertical), number_text(vertical.tilt_deg()))
}

/// Checks that an initial pose keeps the vertical.
pub(crate) fn check_initial(initial: &Similarity, vertical: &Vertical) -> Result<(), PlanError> {
    let (tilt, most) = (vertical.tilt_of(&initial.rotation()), vertical.tilt_deg());
    if tilt > most + ROUNDED_TILT { Err(PlanError::InitialTilt { tilt, most }) } else { Ok(()) }
}

impl FromStr for GivenVertical {
    type Err = Expected;

    fn from_str(text: &str) -> Result<Self, Expected> {
        let wrong = || Expected::new("directions of both sides such as `source=0,0,1 target=0,0,1`");
        let mut given = Self::default();
        for part in text.split_whitespace() {
            let (side, direction) = part.split_once('=').ok_or_else(wrong)?;
            let numbers: Vec<f64> =
                direction.split(',').map(number).collect::<Result<_, _>>().map_err(|_| wrong())?;
            let place = match side {
                "source" => &mut given.source,
                "target" => &mut given.target,
                _ => return Err(wrong()),
            };
            let direction = <[f64; 3]>::try_from(numbers).map_err(|_| wrong())?;
            if place.replace(direction).is_some() {
                return Err(wrong());
            }
        }
        if given == Self::default() { Err(wrong()) } else { Ok(given) }
    }
}

impl fmt::Display for GivenVertical {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sides = [("source", self.source), ("target", self.target)];
        let part = |(side, direction): (&str, Option<[f64; 3]>)| {
            direction
                .map(|[x, y, z]| format!("{side}={},{},{}", number_text(x), number_text(y), number_text(z)))
        };
        f.write_str(&sides.into_iter().filter_map(part).collect::<Vec<_>>().join(" "))
    }
}

impl From<&Vertical> for GivenVertical {
    fn from(vertical: &Vertical) -> Self {
        Self { source: Some(vertical.source()), target: Some(vertical.target()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(text: &str, tilt: Option<f64>) -> String {
        match text.parse::<GivenVertical>() {
            Ok(given) => GivenVertical::checked(Some(given), tilt).unwrap_err().to_string(),
            Err(expected) => expected.to_string(),
        }
    }

    #[test]
    fn wrong_verticals_are_refused() {
        let both = "expected directions of both sides such as `source=0,0,1 target=0,0,1`";
        for text in
            ["", "0,0,1", "source=0,0 target=0,0,1", "source=0,0,1 source=0,0,1", "up=0,0,1", "source=a,b,c"]
        {
            assert_eq!(message(text, None), both, "{text}");
        }
        assert_eq!(
            message("source=0,0,1", None),
            "`vertical` lacks the direction that is up in the target: add target=X,Y,Z, for instance target=0,0,1"
        );
        assert!(
            message("source=0,0,0 target=0,0,1", None)
                .starts_with("the vertical of the source is 0,0,0: give")
        );
        assert!(
            message("source=0,0,1 target=0,nan,1", None).starts_with("the vertical of the target is 0,NaN,1")
        );
        assert!(
            message("source=0,0,1 target=0,0,1", Some(90.0))
                .starts_with("the tilt must be at least 0 and below 90")
        );
        let alone = GivenVertical::checked(None, Some(1.0)).unwrap_err().to_string();
        assert!(alone.starts_with("`tilt` needs `vertical`"), "{alone}");
    }

    #[test]
    fn an_initial_pose_must_keep_the_vertical() {
        let vertical = Vertical::Z.with_tilt(2.0).unwrap();
        let pose = |degrees: f64| {
            let half = 0.5 * degrees.to_radians();
            Similarity::from_quaternion(1.0, [half.cos(), half.sin(), 0.0, 0.0], [0.0; 3]).unwrap()
        };
        assert_eq!(check_initial(&pose(2.01), &vertical), Ok(()));
        let refused = check_initial(&pose(30.0), &vertical).unwrap_err().to_string();
        assert!(
            refused.starts_with("`initial` tilts the vertical by 30.0°, but `tilt` allows 2°"),
            "{refused}"
        );
    }
}
