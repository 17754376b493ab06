//! Control points, what is found from them, and why nothing is.

use std::fmt;

use crate::{Covariance, Similarity};

/// A point with coordinates of its own and a known place in the world.
#[derive(Debug, Clone, PartialEq)]
pub struct ControlPoint {
    /// Its name.
    pub name: String,
    /// Its coordinates in the cloud or trajectory.
    pub local: [f64; 3],
    /// Its coordinates in the world.
    pub world: [f64; 3],
    /// Standard deviation of a coordinate, of both together, in world units; `None` where it is not known.
    pub deviation: Option<f64>,
}

impl ControlPoint {
    /// A point whose standard deviation is not known.
    pub fn new(name: impl Into<String>, local: [f64; 3], world: [f64; 3]) -> Self {
        Self { name: name.into(), local, world, deviation: None }
    }

    /// The same point with a standard deviation.
    #[must_use]
    pub fn with_deviation(self, deviation: f64) -> Self {
        Self { deviation: Some(deviation), ..self }
    }
}

/// Why control points give no transform.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ControlError {
    /// There are too few.
    #[error(
        "{found} control points, but {needed} are needed{}",
        if *.needed == 3 { ": add more, or give the vertical, with which 2 are enough" } else { ": add more" }
    )]
    TooFew {
        /// Number of points.
        found: usize,
        /// Number that is needed.
        needed: usize,
    },
    /// They are on one line.
    #[error("the control points lie on one line, so the rotation about it is undetermined: add one off the line{}", if *.is_upright { " (they are above each other)" } else { ", or give the vertical" })]
    OnALine {
        /// Whether the vertical is known; the line is then vertical.
        is_upright: bool,
    },
    /// They are at one place.
    #[error("all control points are at one place: check that the right columns were read")]
    AtOnePlace,
    /// A name occurs more than once.
    #[error("the control points {} and {} (counted from 1) are both named `{name}`: rename or remove one of them", .rows[0], .rows[1])]
    RepeatedName {
        /// The name.
        name: String,
        /// Numbers of the first two, counted from 1.
        rows: [usize; 2],
    },
    /// A coordinate is NaN or infinite.
    #[error("control point `{name}` has a coordinate that is not finite: remove it")]
    NotFinite {
        /// Name of the point.
        name: String,
    },
    /// A standard deviation is not a positive number.
    #[error("the standard deviation of control point `{name}` is {value}: give a finite number above 0")]
    BadDeviation {
        /// Name of the point.
        name: String,
        /// The value given.
        value: f64,
    },
    /// Some points have a standard deviation, and others do not.
    #[error(
        "control point `{name}` has no standard deviation, but others have one: give it to all points, or to none"
    )]
    MissingDeviation {
        /// Name of the point.
        name: String,
    },
}

/// A control point after the transform was found.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ControlResidual {
    /// Its name.
    pub name: String,
    /// Its place in the world less where the transform puts it.
    pub residual: [f64; 3],
    /// Length of the residual.
    pub distance: f64,
    /// Whether it was used. The others are gross errors.
    pub is_used: bool,
}

/// The transform of control points, and how far it can be relied on.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Georeference {
    /// Maps local coordinates to the world.
    pub world_from_local: Similarity,
    /// How accurate it is, in world coordinates.
    pub covariance: Covariance,
    /// The points, in the order in which they were given.
    pub points: Vec<ControlResidual>,
    /// Root mean square residual of the used points.
    pub rmse: f64,
    /// Number of coordinates that are left over after the unknowns are determined.
    pub redundancy: usize,
    /// Smallest number of points that would have determined the transform.
    pub fewest: usize,
}

impl Georeference {
    /// Number of points that were used.
    pub fn used(&self) -> usize {
        self.points.iter().filter(|point| point.is_used).count()
    }

    /// Whether most of the points agree.
    pub fn is_supported(&self) -> bool {
        2 * self.used() > self.points.len()
    }

    /// What the points that were used can show about errors among them.
    pub fn check(&self) -> Check {
        match self.used() - self.fewest.min(self.used()) {
            0 => Check::None,
            1 => Check::Noticed,
            _ => Check::Located,
        }
    }
}

/// What control points can show about errors among them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Check {
    /// No more points than needed: a gross error of one of them would not be noticed, or could not be attributed.
    None,
    /// One more than needed: a gross error is noticed, but not always attributed to the right point.
    Noticed,
    /// Two more or more: a gross error is found.
    Located,
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "there are no more points than needed, so nothing checks them: add at least two",
            Self::Noticed => "one point more than needed: a gross error would be noticed, but not always attributed; add one more",
            Self::Located => "a gross error of one point would be found",
        })
    }
}
