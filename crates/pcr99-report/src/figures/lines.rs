//! Success and time by number of matches and by outlier ratio, with the limit of the evidence.

use pcr99_lab::monte_carlo::{Estimator, ScaleMode, Size};
use pcr99_page::numbers::{grouped, power_of_ten};
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
    evidence_limit::Setting,
    palette::{Style, style},
    tables::percent,
};

/// A figure with two rows, success and time, and one column for each scale mode.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LineFigure {
    pub(crate) title: String,
    pub(crate) x_name: &'static str,
    /// Places on the horizontal axis, with labels.
    pub(crate) marks: Vec<(f64, String)>,
    pub(crate) columns: Vec<Column>,
}

/// Column of one scale mode.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Column {
    pub(crate) name: String,
    pub(crate) series: Vec<Series>,
}

/// One line of a figure.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Series {
    pub(crate) name: String,
    pub(crate) style: Style,
    pub(crate) points: Vec<Point>,
    /// Place of the limit of the evidence, when it is within the figure.
    pub(crate) limit: Option<f64>,
}

/// Result of the runs at one place.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Point {
    pub(crate) x: f64,
    /// Fraction of runs that were solved.
    pub(crate) solved: f64,
    /// Median time in milliseconds.
    pub(crate) milliseconds: f64,
}

/// Minimum number of points of a line. Shorter lines show no trend.
const LEAST_POINTS: usize = 4;

/// Smallest outlier ratio in the figure by outlier ratio. Below it, success is not limited by the evidence.
const HARD: f64 = 0.99;

/// The limit, when it is between the first and the last point.
fn within(limit: Option<f64>, points: &[Point]) -> Option<f64> {
    let (first, last) = (points.first()?.x, points.last()?.x);
    limit.filter(|limit| (first..=last).contains(limit))
}

/// Figure by number of matches, with a line for each outlier ratio; `None` when no line has enough points.
pub(crate) fn growth(summary: &Summary, noise: f64) -> Option<LineFigure> {
    let figure = of(
        summary,
        |size| size.outlier_ratio,
        |ratio| format!("{} outliers", percent(ratio)),
        |size| Some((size.points as f64).log10()),
        |scale, ratio| Setting { scale, noise }.least_points(ratio).map(|n| (n as f64).log10()),
    )?;
    let (low, high) = figure.range();
    let marks =
        (low.floor() as i32..=high.ceil() as i32).map(|power| (f64::from(power), power_of_ten(power)));
    Some(LineFigure {
        title: "Success and time by number of matches".to_owned(),
        x_name: "matches",
        marks: marks.filter(|(x, _)| (low - 1e-9..=high + 1e-9).contains(x)).collect(),
        ..figure
    })
}

/// Figure by outlier ratio from 99 % on, with a line for each number of matches; `None` when no line has enough points.
pub(crate) fn limit(summary: &Summary, noise: f64) -> Option<LineFigure> {
    let place = |ratio: f64| -(1.0 - ratio).log10();
    let figure = of(
        summary,
        |size| size.points as f64,
        |points| format!("{} matches", grouped(points as usize)),
        |size| (size.outlier_ratio >= HARD).then(|| place(size.outlier_ratio)),
        |scale, points| Setting { scale, noise }.highest_ratio(points as usize).map(place),
    )?;
    let (low, high) = figure.range();
    let marks = [0.99, 0.992, 0.995, 0.997, 0.998, 0.999, 0.9995, 0.9999];
    let marks = marks.into_iter().map(|ratio| (place(ratio), percent(ratio)));
    Some(LineFigure {
        title: "Success and time by outlier ratio".to_owned(),
        x_name: "outlier ratio",
        marks: marks.filter(|(x, _)| (low - 1e-9..=high + 1e-9).contains(x)).collect(),
        ..figure
    })
}

/// Figure whose lines join the cells with the same value of `line`, each cell at the place `x`.
fn of(
    summary: &Summary,
    line: impl Fn(&Size) -> f64,
    name: impl Fn(f64) -> String,
    x: impl Fn(&Size) -> Option<f64>,
    limit: impl Fn(ScaleMode, f64) -> Option<f64>,
) -> Option<LineFigure> {
    let mut lines: Vec<f64> = summary.sizes().iter().filter(|size| x(size).is_some()).map(&line).collect();
    lines.sort_by(f64::total_cmp);
    lines.dedup();
    // All columns have the same lines, hence the same colours.
    let enough = |value: &f64| {
        summary.sizes().iter().filter(|size| line(size) == *value && x(size).is_some()).count()
            >= LEAST_POINTS
    };
    lines.retain(enough);
    let mut columns = Vec::new();
    for scale in ScaleMode::ALL {
        let methods: Vec<Estimator> =
            summary.estimators(scale).into_iter().filter(|c| *c != Estimator::TrueInliers).collect();
        let mut series = Vec::new();
        for (row, &estimator) in methods.iter().enumerate() {
            for (place, &value) in lines.iter().enumerate() {
                let point = |cell: &Cell| {
                    let milliseconds = 1e3 * cell.seconds()?.median;
                    let solved = cell.solved() as f64 / cell.runs as f64;
                    Some(Point { x: x(&cell.size())?, solved, milliseconds })
                };
                let own = summary.cells.iter().filter(|cell| {
                    cell.scale == scale && cell.method == estimator.name() && line(&cell.size()) == value
                });
                let mut points: Vec<Point> = own.filter_map(point).collect();
                points.sort_by(|a, b| a.x.total_cmp(&b.x));
                let name = match methods.len() {
                    1 => name(value),
                    _ => format!("{}, {}", estimator.title(), name(value)),
                };
                let limit = within(limit(scale, value), &points);
                series.push(Series { name, style: style(row * lines.len() + place), points, limit });
            }
        }
        if series.iter().any(|series| !series.points.is_empty()) {
            columns.push(Column { name: format!("{} scale", scale.name()), series });
        }
    }
    (!columns.is_empty()).then(|| LineFigure { title: String::new(), x_name: "", marks: Vec::new(), columns })
}

impl LineFigure {
    /// Smallest and largest place on the horizontal axis.
    pub(crate) fn range(&self) -> (f64, f64) {
        let points = self.columns.iter().flat_map(|column| &column.series).flat_map(|series| &series.points);
        points.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), p| (low.min(p.x), high.max(p.x)))
    }

    /// Distinct names, with their styles.
    pub(crate) fn legend(&self) -> Vec<(&str, Style)> {
        let mut legend: Vec<(&str, Style)> = Vec::new();
        for series in self.columns.iter().flat_map(|column| &column.series) {
            if !legend.iter().any(|(name, _)| *name == series.name) {
                legend.push((&series.name, series.style));
            }
        }
        legend
    }

    /// The figure as an SVG document.
    pub(crate) fn to_svg(&self) -> String {
        let (left, gap, panel_width, panel_height) = (70.0, 70.0, 460.0, 230.0);
        let (columns, legend) = (self.columns.len() as f64, self.legend());
        let width = (left + columns * (panel_width + gap)).max(700.0);
        let per_line = ((width - left) / 170.0) as usize;
        let top = 44.0 + 20.0 * legend.len().div_ceil(per_line) as f64 + 36.0;
        let height = top + 2.0 * panel_height + 62.0 + 60.0;
        let (low, high) = self.range();
        let spread = (high - low).max(1e-9);
        // 3 % of room at both ends.
        let place = |x: f64| 0.03 + 0.94 * (x - low) / spread;
        let times = self.columns.iter().flat_map(|column| &column.series).flat_map(|series| &series.points);
        let time_axis = Axis::around(times.map(|point| point.milliseconds));
        svg([width as u32, height as u32], &self.title, |canvas| {
            text(canvas, &self.title, (left as i32, 12), 17, HPos::Left, VPos::Top)?;
            for (k, (name, style)) in legend.iter().enumerate() {
                let (x, y) = (left + 170.0 * (k % per_line) as f64, 44.0 + 20.0 * (k / per_line) as f64);
                swatch(canvas, name, *style, (x as i32, y as i32 + 8))?;
            }
            for (k, column) in self.columns.iter().enumerate() {
                let panel = |row: usize, axis| Panel {
                    canvas,
                    left: left + k as f64 * (panel_width + gap),
                    top: top + row as f64 * (panel_height + 62.0),
                    width: panel_width,
                    height: panel_height,
                    axis,
                };
                let (success, time) = (panel(0, Axis::Share), panel(1, time_axis));
                success.draw_axis(&format!("{}: solved", column.name))?;
                time.draw_axis(&format!("{}: median CPU time, milliseconds", column.name))?;
                for (x, label) in &self.marks {
                    success.draw_below(place(*x), label, true)?;
                    time.draw_below(place(*x), label, true)?;
                }
                for series in &column.series {
                    let (r, g, b) = series.style.rgb;
                    let color = RGBColor(r, g, b);
                    if let Some(limit) = series.limit {
                        dashed(&success, place(limit), color)?;
                        dashed(&time, place(limit), color)?;
                    }
                    draw_line(&success, series, color, |point| (place(point.x), point.solved))?;
                    draw_line(&time, series, color, |point| (place(point.x), point.milliseconds))?;
                }
            }
            let words = format!(
                "{}. Solved: registered with a rotation error of at most 10°. Dashed: predicted limit of the evidence",
                self.x_name
            );
            text(
                canvas,
                &words,
                ((width / 2.0) as i32, height as i32 - 10),
                SMALL,
                HPos::Center,
                VPos::Bottom,
            )
        })
    }
}

pub(super) fn swatch(
    canvas: &Canvas<'_>,
    name: &str,
    style: Style,
    (x, y): (i32, i32),
) -> Result<(), Failed> {
    let (r, g, b) = style.rgb;
    let color = RGBColor(r, g, b);
    canvas.draw(&PathElement::new([(x, y), (x + 22, y)], color.stroke_width(2)))?;
    mark(canvas, (x + 11, y), color, style.filled)?;
    text(canvas, name, (x + 28, y), SMALL, HPos::Left, VPos::Center)
}

pub(super) fn mark(canvas: &Canvas<'_>, at: (i32, i32), color: RGBColor, filled: bool) -> Result<(), Failed> {
    if filled {
        return Ok(canvas.draw(&Circle::new(at, 4, color.filled()))?);
    }
    canvas.draw(&Circle::new(at, 4, WHITE.filled()))?;
    Ok(canvas.draw(&Circle::new(at, 4, color.stroke_width(2)))?)
}

fn draw_line(
    panel: &Panel<'_, '_>,
    series: &Series,
    color: RGBColor,
    at: impl Fn(&Point) -> (f64, f64),
) -> Result<(), Failed> {
    let pixels: Vec<(i32, i32)> = series
        .points
        .iter()
        .map(|point| {
            let (place, value) = at(point);
            panel.at(place, value)
        })
        .collect();
    panel.canvas.draw(&PathElement::new(pixels.clone(), color.stroke_width(2)))?;
    pixels.into_iter().try_for_each(|pixel| mark(panel.canvas, pixel, color, series.style.filled))
}

/// Draws a dashed vertical line.
fn dashed(panel: &Panel<'_, '_>, place: f64, color: RGBColor) -> Result<(), Failed> {
    let (x, top) = panel.at(place, f64::MAX);
    let bottom = top + panel.height as i32;
    (top..bottom).step_by(10).try_for_each(|y| {
        let dash = [(x, y), (x, (y + 6).min(bottom))];
        Ok(panel.canvas.draw(&PathElement::new(dash, color.stroke_width(2)))?)
    })
}
