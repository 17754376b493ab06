//! Panels with axes.

use pcr99_page::numbers::power_of_ten;
use plotters::{
    prelude::*,
    style::text_anchor::{HPos, Pos, VPos},
};

use super::{Canvas, Failed};

const INK: RGBColor = RGBColor(36, 41, 47);
const GRID: RGBColor = RGBColor(216, 222, 228);
/// Height of small text, in pixels.
pub(super) const SMALL: u32 = 13;

/// Vertical axis of a panel.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Axis {
    /// Logarithmic, between these values.
    Log(f64, f64),
    /// Linear from 0 to 1, labelled in percent.
    Share,
}

impl Axis {
    /// Logarithmic axis around the positive values, between round numbers (1, 2 or 5 times a power of ten), at least one decade long. Without
    /// values: from 1 to 10.
    pub(crate) fn around(values: impl IntoIterator<Item = f64>) -> Self {
        let positive = values.into_iter().filter(|value| *value > 0.0 && value.is_finite());
        let (low, high) = positive.fold((f64::INFINITY, 0.0_f64), |(low, high), v| (low.min(v), high.max(v)));
        if low > high {
            return Self::Log(1.0, 10.0);
        }
        let round = |power: i32| [1.0, 2.0, 5.0].map(|digit| digit * 10_f64.powi(power));
        let powers = low.log10().floor() as i32 - 1..=high.log10().ceil() as i32;
        let steps: Vec<f64> = powers.flat_map(round).collect();
        // 3 % of room, so that a box does not touch the frame.
        let below = steps.iter().rev().find(|step| **step <= 0.97 * low);
        let above = steps.iter().find(|step| **step >= 1.03 * high);
        let (low, high) = (below.copied().unwrap_or(0.5 * low), above.copied().unwrap_or(2.0 * high));
        if high / low >= 10.0 { Self::Log(low, high) } else { Self::Log(low / 2.0, high * 2.0) }
    }

    /// Relative height of a value: 0 at the lower end, 1 at the upper end, clamped.
    fn place(self, value: f64) -> f64 {
        let place = match self {
            Self::Log(low, high) => {
                let at = if value > 0.0 { value } else { low };
                (at / low).log10() / (high / low).log10()
            }
            Self::Share => value,
        };
        place.clamp(0.0, 1.0)
    }

    /// Values of the grid lines, with labels.
    fn marks(self) -> Vec<(f64, String)> {
        match self {
            Self::Log(low, high) => {
                let (first, last) =
                    ((low.log10() - 1e-9).ceil() as i32, (high.log10() + 1e-9).floor() as i32);
                let step = if last - first > 8 { 2 } else { 1 };
                let mark = |power| (10_f64.powi(power), power_of_ten(power));
                (first..=last).step_by(step).map(mark).collect()
            }
            Self::Share => [0.0, 0.25, 0.5, 0.75, 1.0].map(|x| (x, format!("{:.0} %", 100.0 * x))).to_vec(),
        }
    }
}

/// A panel of a figure: its rectangle in pixels and its vertical axis. The horizontal axis goes from 0 to 1.
pub(super) struct Panel<'a, 'b> {
    pub(super) canvas: &'a Canvas<'b>,
    pub(super) left: f64,
    pub(super) top: f64,
    pub(super) width: f64,
    pub(super) height: f64,
    pub(super) axis: Axis,
}

impl Panel<'_, '_> {
    /// Pixel of a horizontal place from 0 to 1 and a value.
    pub(super) fn at(&self, place: f64, value: f64) -> (i32, i32) {
        let x = self.left + place * self.width;
        let y = self.top + (1.0 - self.axis.place(value)) * self.height;
        (x.round() as i32, y.round() as i32)
    }

    fn corner(&self, right: bool, bottom: bool) -> (i32, i32) {
        let x = self.left + if right { self.width } else { 0.0 };
        let y = self.top + if bottom { self.height } else { 0.0 };
        (x.round() as i32, y.round() as i32)
    }

    /// Draws the frame, the grid lines with their labels, and `name` above.
    pub(super) fn draw_axis(&self, name: &str) -> Result<(), Failed> {
        for (value, label) in self.axis.marks() {
            let (left, right) = (self.at(0.0, value), self.at(1.0, value));
            self.canvas.draw(&PathElement::new([left, right], GRID))?;
            text(self.canvas, &label, (left.0 - 6, left.1), SMALL, HPos::Right, VPos::Center)?;
        }
        let (top_left, bottom_right) = (self.corner(false, false), self.corner(true, true));
        self.canvas.draw(&Rectangle::new([top_left, bottom_right], INK.mix(0.6)))?;
        text(self.canvas, name, (top_left.0, top_left.1 - 6), SMALL + 1, HPos::Left, VPos::Bottom)
    }

    /// Writes `label` below a place from 0 to 1; draws a vertical grid line there when `line` is set.
    pub(super) fn draw_below(&self, place: f64, label: &str, line: bool) -> Result<(), Failed> {
        let x = (self.left + place * self.width).round() as i32;
        let (top, bottom) = (self.corner(false, false).1, self.corner(false, true).1);
        if line {
            self.canvas.draw(&PathElement::new([(x, top), (x, bottom)], GRID))?;
        }
        text(self.canvas, label, (x, bottom + 5), SMALL, HPos::Center, VPos::Top)
    }
}

/// Draws text with its anchor at a pixel.
pub(super) fn text(
    canvas: &Canvas<'_>,
    words: &str,
    at: (i32, i32),
    size: u32,
    horizontal: HPos,
    vertical: VPos,
) -> Result<(), Failed> {
    let style =
        TextStyle::from(("sans-serif", size).into_font()).color(&INK).pos(Pos::new(horizontal, vertical));
    Ok(canvas.draw(&Text::new(words.to_owned(), at, style))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_numbers_around_values() {
        assert_eq!(Axis::around([0.023, 180.0, 0.0, f64::NAN]), Axis::Log(0.02, 200.0));
        assert_eq!(Axis::around([]), Axis::Log(1.0, 10.0));
        let Axis::Log(low, high) = Axis::around([1.0]) else { panic!() };
        assert!(low < 1.0 && high > 1.0 && high / low >= 10.0, "{low} {high}");
        let axis = Axis::Log(0.01, 100.0);
        assert!((axis.place(1.0) - 0.5).abs() < 1e-12);
        assert_eq!((axis.place(0.0), axis.place(1e-9), axis.place(1e9)), (0.0, 0.0, 1.0));
        let marks: Vec<String> = Axis::Log(0.02, 200.0).marks().into_iter().map(|(_, label)| label).collect();
        assert_eq!(marks, ["0.1", "1", "10", "100"]);
    }
}
