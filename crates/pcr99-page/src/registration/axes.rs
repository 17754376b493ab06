//! How accurate a transform is along and about each axis of the target.

use pcr99::Status;
use pcr99_document::Document;

use crate::numbers::{rough, shown};

/// Standard deviations on either side that hold 95 % of a Gaussian distribution.
const NINETY_FIVE: f64 = 1.96;

/// The 95 % limits of a transform, in words.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct AxisAccuracy {
    /// Name of each axis, limit of the translation along it, in target units, and limit of the rotation about it.
    pub(crate) rows: [(&'static str, String, String); 3],
    /// Limit of the scale, where it was estimated.
    pub(crate) scale: Option<String>,
    /// The point of which the translation is told.
    pub(crate) center: String,
}

impl AxisAccuracy {
    /// The limits of a document; `None` when it is not registered, because the accuracy of a wrong transform says nothing.
    pub(crate) fn of(document: &Document) -> Option<Self> {
        let accuracy = document.accuracy().filter(|_| document.status() == Status::Registered)?;
        let limit = |k: usize| Some(NINETY_FIVE * accuracy.covariance.get(k)?.get(k)?.max(0.0).sqrt());
        let row = |axis: usize| -> Option<_> {
            let angle = limit(axis)?.to_degrees().min(180.0);
            Some((
                ["x", "y", "z"][axis],
                format!("± {}", rough(limit(axis + 3)?)),
                format!("± {}°", rough(angle)),
            ))
        };
        Some(Self {
            rows: [row(0)?, row(1)?, row(2)?],
            scale: limit(6).map(|scale| format!("± {} %", rough(100.0 * scale))),
            center: format!("({})", accuracy.center.map(shown).join(", ")),
        })
    }
}
