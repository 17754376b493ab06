//! Colours that colour-blind readers can tell apart (M. Okabe, K. Ito 2008), each filled and hollow.

use pcr99_lab::monte_carlo::Estimator;

/// Colour and fill of a method or line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Style {
    /// Red, green, blue.
    pub(crate) rgb: (u8, u8, u8),
    /// Filled, or outline only.
    pub(crate) filled: bool,
}

const COLORS: [(u8, u8, u8); 7] = [
    (0, 114, 178),   // blue
    (213, 94, 0),    // vermilion
    (0, 158, 115),   // bluish green
    (204, 121, 167), // reddish purple
    (230, 159, 0),   // orange
    (86, 180, 233),  // sky blue
    (148, 130, 0),   // a yellow dark enough for white paper
];

const REFERENCE: (u8, u8, u8) = (125, 125, 125);

/// Style of an estimator, the same in every figure.
pub(crate) fn style_of(estimator: Estimator) -> Style {
    match Estimator::all().position(|other| other == estimator) {
        None | Some(0) => Style { rgb: REFERENCE, filled: true },
        Some(place) => style(place - 1),
    }
}

/// Style of the line at a place, counted from 0.
pub(crate) fn style(place: usize) -> Style {
    Style { rgb: COLORS[place % COLORS.len()], filled: (place / COLORS.len()).is_multiple_of(2) }
}

impl Style {
    /// The colour in CSS syntax.
    pub(crate) fn css(&self, opacity: f64) -> String {
        let (r, g, b) = self.rgb;
        format!("rgba({r},{g},{b},{opacity})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn no_two_methods_look_alike() {
        let styles: HashSet<_> = Estimator::all().map(|c| (style_of(c).rgb, style_of(c).filled)).collect();
        assert_eq!(styles.len(), Estimator::all().count());
    }
}
