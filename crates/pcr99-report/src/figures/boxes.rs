//! Box plots of errors and times by outlier ratio, on logarithmic axes: the paper's Figures 2 and 3.

use pcr99_lab::monte_carlo::{Estimator, ScaleMode};
use plotters::{
    prelude::*,
    style::text_anchor::{HPos, VPos},
};

use super::{
    Canvas, Failed,
    panel::{Axis, Panel, SMALL, text},
    svg,
};
use crate::{
    Cell, Summary,
    palette::{Style, style_of},
    statistics::Spread,
    tables::percent,
};

/// Box plots of all methods in one scale mode.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct BoxFigure {
    pub(crate) title: String,
    pub(crate) scale: ScaleMode,
    /// Labels of the groups on the horizontal axis, such as `99 %`.
    pub(crate) groups: Vec<String>,
    pub(crate) estimators: Vec<Estimator>,
    pub(crate) panels: Vec<Metric>,
}

/// One panel: the spread of one metric.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Metric {
    pub(crate) name: &'static str,
    /// Spreads by estimator, then by group.
    pub(crate) spreads: Vec<Vec<Option<Spread>>>,
}

/// Opacity of a filled box. Its median line stays visible.
pub(crate) const FILL: f64 = 0.5;

/// Smallest value on a logarithmic axis. Errors of exactly zero are drawn here.
pub(crate) const FLOOR: f64 = 1e-12;

impl BoxFigure {
    /// Figure of a scale mode; `None` without records.
    pub(crate) fn of(summary: &Summary, scale: ScaleMode, title: String) -> Option<Self> {
        let (sizes, estimators) = (summary.sizes(), summary.estimators(scale));
        if estimators.is_empty() {
            return None;
        }
        let metric = |name, value: &dyn Fn(&Cell) -> Option<Spread>, with_reference: bool| {
            let of = |&estimator: &Estimator| {
                let shown = with_reference || estimator != Estimator::TrueInliers;
                let cell = |&size| summary.cell(scale, size, estimator).filter(|_| shown).and_then(value);
                sizes.iter().map(cell).collect()
            };
            Metric { name, spreads: estimators.iter().map(of).collect() }
        };
        let mut panels = vec![
            metric("rotation error, degrees", &|cell| cell.rotation_deg, true),
            metric("translation error, target units", &|cell| cell.translation, true),
        ];
        if scale == ScaleMode::Unknown {
            panels.push(metric("scale error", &|cell| cell.scale_error, true));
        }
        panels.push(metric("CPU time, milliseconds", &|cell| cell.seconds().map(in_milliseconds), false));
        let groups = sizes.iter().map(|size| percent(size.outlier_ratio)).collect();
        Some(Self { title, scale, groups, estimators, panels })
    }

    /// The figure as an SVG document.
    pub(crate) fn to_svg(&self) -> String {
        let (left, right, panel_height, gap) = (64.0, 16.0, 230.0, 54.0);
        // Ten pixels for each box, so that boxes can be told apart.
        let slots = self.groups.len() * (self.estimators.len() + 2);
        let width = (slots as f64 * 10.0).clamp(1000.0, 1800.0);
        let legend = Legend::of(&self.estimators, width - left - right);
        let top = 44.0 + legend.height() + 26.0;
        let height = top + self.panels.len() as f64 * (panel_height + gap);
        svg([width as u32, height as u32], &self.title, |canvas| {
            text(canvas, &self.title, (left as i32, 12), 17, HPos::Left, VPos::Top)?;
            legend.draw(canvas, left, 44.0)?;
            for (row, metric) in self.panels.iter().enumerate() {
                let drawn = metric.spreads.iter().flatten().flatten();
                let panel = Panel {
                    canvas,
                    left,
                    top: top + row as f64 * (panel_height + gap),
                    width: width - left - right,
                    height: panel_height,
                    axis: Axis::around(drawn.flat_map(|s| [s.p5.max(FLOOR), s.max.max(FLOOR)])),
                };
                panel.draw_axis(metric.name)?;
                self.draw_boxes(&panel, metric)?;
            }
            let below = (left + (width - left - right) / 2.0, height - 8.0);
            let words = "outlier ratio. Box: quartiles and median; whiskers: 5 % and 95 %; dot: worst run";
            text(canvas, words, (below.0 as i32, below.1 as i32), SMALL, HPos::Center, VPos::Bottom)
        })
    }

    fn draw_boxes(&self, panel: &Panel<'_, '_>, metric: &Metric) -> Result<(), Failed> {
        let groups = self.groups.len() as f64;
        for (group, label) in self.groups.iter().enumerate() {
            if group > 0 {
                let x = group as f64 / groups;
                let line = [panel.at(x, 0.0), panel.at(x, f64::MAX)];
                panel.canvas.draw(&PathElement::new(line, RGBColor(216, 222, 228)))?;
            }
            panel.draw_below((group as f64 + 0.5) / groups, label, false)?;
        }
        // One box of room between groups.
        let slot = 1.0 / (groups * (self.estimators.len() as f64 + 1.0));
        for (place, (estimator, spreads)) in self.estimators.iter().zip(&metric.spreads).enumerate() {
            for (group, spread) in spreads.iter().enumerate() {
                if let Some(spread) = spread {
                    let center = group as f64 / groups + slot * (place as f64 + 1.0);
                    draw_box(panel, center, 0.38 * slot, spread, style_of(*estimator))?;
                }
            }
        }
        Ok(())
    }
}

fn in_milliseconds(seconds: Spread) -> Spread {
    let Spread { count, min, p5, q1, median, q3, p95, max } = seconds;
    let [min, p5, q1, median, q3, p95, max] = [min, p5, q1, median, q3, p95, max].map(|s| 1e3 * s);
    Spread { count, min, p5, q1, median, q3, p95, max }
}

fn draw_box(panel: &Panel<'_, '_>, x: f64, half: f64, spread: &Spread, style: Style) -> Result<(), Failed> {
    let (r, g, b) = style.rgb;
    let color = RGBColor(r, g, b);
    let at = |place: f64, value: f64| panel.at(place, value.max(FLOOR));
    let canvas = panel.canvas;
    canvas.draw(&PathElement::new([at(x, spread.p5), at(x, spread.p95)], color))?;
    let corners = [at(x - half, spread.q3), at(x + half, spread.q1)];
    canvas.draw(&Rectangle::new(corners, WHITE.filled()))?;
    if style.filled {
        canvas.draw(&Rectangle::new(corners, color.mix(FILL).filled()))?;
    }
    canvas.draw(&Rectangle::new(corners, color.stroke_width(1)))?;
    let median = [at(x - half, spread.median), at(x + half, spread.median)];
    canvas.draw(&PathElement::new(median, color.stroke_width(3)))?;
    if spread.max > spread.p95 {
        canvas.draw(&Circle::new(at(x, spread.max), 2, color.filled()))?;
    }
    Ok(())
}

/// Names with their colours, in one or more lines.
struct Legend {
    /// Estimators with their line and distance from the left in pixels.
    entries: Vec<(Estimator, usize, f64)>,
}

/// Height of a line, in pixels.
const LINE: f64 = 20.0;

impl Legend {
    fn of(estimators: &[Estimator], width: f64) -> Self {
        let (mut line, mut x) = (0, 0.0);
        let mut entries = Vec::new();
        for &estimator in estimators {
            let needed = 26.0 + 6.9 * estimator.title().chars().count() as f64 + 14.0;
            if x + needed > width {
                (line, x) = (line + 1, 0.0);
            }
            entries.push((estimator, line, x));
            x += needed;
        }
        Self { entries }
    }

    fn height(&self) -> f64 {
        self.entries.last().map_or(0.0, |(_, line, _)| (*line as f64 + 1.0) * LINE)
    }

    fn draw(&self, canvas: &Canvas<'_>, left: f64, top: f64) -> Result<(), Failed> {
        for &(estimator, line, x) in &self.entries {
            let style = style_of(estimator);
            let (r, g, b) = style.rgb;
            let color = RGBColor(r, g, b);
            let (x, y) = ((left + x) as i32, (top + line as f64 * LINE) as i32);
            let corners = [(x, y + 2), (x + 18, y + 14)];
            if style.filled {
                canvas.draw(&Rectangle::new(corners, color.mix(FILL).filled()))?;
            }
            canvas.draw(&Rectangle::new(corners, color.stroke_width(2)))?;
            text(canvas, estimator.title(), (x + 24, y + 8), SMALL, HPos::Left, VPos::Center)?;
        }
        Ok(())
    }
}
