//! Figures in Plotly's form.

use pcr99_page::frame::script_json;
use plotly::{
    Configuration, Layout, Plot, Scatter, Trace,
    color::NamedColor,
    common::{DashType, Line, Marker, MarkerSymbol, Mode, Title},
    configuration::DisplayModeBar,
    layout::{Axis, AxisType, BoxMode, CategoryOrder, HoverMode, Margin},
};
use serde::Serialize;

use crate::{
    figures::{
        boxes::{BoxFigure, FILL, FLOOR, Metric},
        lines::{Column, LineFigure, Point, Series},
    },
    palette::{Style, style_of},
    statistics::Spread,
};

/// Box plots with given quantiles. The types of the crate `plotly` cannot express them.
#[derive(Debug, Clone, Serialize)]
struct Boxes {
    r#type: &'static str,
    name: &'static str,
    legendgroup: &'static str,
    showlegend: bool,
    offsetgroup: &'static str,
    xaxis: &'static str,
    yaxis: String,
    x: Vec<String>,
    lowerfence: Vec<f64>,
    q1: Vec<f64>,
    median: Vec<f64>,
    q3: Vec<f64>,
    upperfence: Vec<f64>,
    /// Worst value of each box, drawn when it is beyond the whisker.
    y: Vec<[f64; 1]>,
    boxpoints: &'static str,
    jitter: f64,
    pointpos: f64,
    fillcolor: String,
    line: BoxLine,
    marker: BoxMarker,
}

#[derive(Debug, Clone, Serialize)]
struct BoxLine {
    color: String,
    width: f64,
}

#[derive(Debug, Clone, Serialize)]
struct BoxMarker {
    color: String,
    size: f64,
}

impl Trace for Boxes {
    fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// Height of a panel in pixels: two fit on a laptop screen.
const PANEL: usize = 260;
/// Height of the axis below the panels, in pixels.
const BELOW: usize = 60;

/// A plot as the template shows it.
pub(super) struct PlotView {
    pub(super) id: String,
    /// Name for readers that cannot see the plot.
    pub(super) name: String,
    /// Height in pixels.
    pub(super) height: usize,
    /// Traces and layout as JSON, safe in a `script` element.
    pub(super) json: String,
}

/// A plot with one column of panels.
pub(super) fn boxes(id: &str, figure: &BoxFigure) -> PlotView {
    let mut plot = Plot::new();
    for (row, metric) in figure.panels.iter().enumerate() {
        for (place, &estimator) in figure.estimators.iter().enumerate() {
            let spreads = &metric.spreads[place];
            if spreads.iter().all(Option::is_none) {
                continue;
            }
            let known: Vec<(&String, &Spread)> =
                figure.groups.iter().zip(spreads).filter_map(|(g, s)| s.as_ref().map(|s| (g, s))).collect();
            let of =
                |value: &dyn Fn(&Spread) -> f64| known.iter().map(|(_, s)| value(s).max(FLOOR)).collect();
            let style = style_of(estimator);
            plot.add_trace(Box::new(Boxes {
                r#type: "box",
                name: estimator.title(),
                legendgroup: estimator.title(),
                showlegend: row == 0,
                offsetgroup: estimator.name(),
                xaxis: "x",
                yaxis: axis_name(row),
                x: known.iter().map(|(group, _)| (*group).clone()).collect(),
                lowerfence: of(&|s| s.p5),
                q1: of(&|s| s.q1),
                median: of(&|s| s.median),
                q3: of(&|s| s.q3),
                upperfence: of(&|s| s.p95),
                y: known.iter().map(|(_, s)| [s.max.max(FLOOR)]).collect(),
                boxpoints: "outliers",
                jitter: 0.0,
                pointpos: 0.0,
                fillcolor: style.css(if style.filled { FILL } else { 0.0 }),
                line: BoxLine { color: style.css(1.0), width: 1.5 },
                marker: BoxMarker { color: style.css(1.0), size: 3.0 },
            }));
        }
    }
    let names: Vec<String> = figure.panels.iter().map(|Metric { name, .. }| (*name).to_owned()).collect();
    let x_axis = Axis::new()
        .type_(AxisType::Category)
        .category_order(CategoryOrder::Array)
        .category_array(figure.groups.clone())
        .title(Title::with_text("outlier ratio"));
    let layout = layout(x_axis, &names, |_, axis| log_axis(axis)).box_mode(BoxMode::Group);
    finished(id.to_owned(), figure.title.clone(), plot, layout, figure.panels.len())
}

/// One plot for each scale mode.
pub(super) fn lines(id: &str, figure: &LineFigure) -> Vec<PlotView> {
    let (low, high) = figure.range();
    let room = 0.03 * (high - low);
    let x_axis = || {
        Axis::new()
            .range(vec![low - room, high + room])
            .tick_values(figure.marks.iter().map(|(x, _)| *x).collect())
            .tick_text(figure.marks.iter().map(|(_, label)| label.clone()).collect())
            .title(Title::with_text(figure.x_name))
    };
    let plot = |(k, column): (usize, &Column)| {
        let mut plot = Plot::new();
        let times = column.series.iter().flat_map(|series| &series.points).map(|point| point.milliseconds);
        let times = Spread::of(times).map_or([1e-3, 1.0], |spread| [spread.min, spread.max]);
        for series in &column.series {
            for row in 0..2 {
                let value = |point: &Point| if row == 0 { 100.0 * point.solved } else { point.milliseconds };
                add_line(&mut plot, series, row, value, if row == 0 { [0.0, 100.0] } else { times });
            }
        }
        let names = [format!("{}: solved, %", column.name), format!("{}: median ms", column.name)];
        let layout = layout(x_axis(), &names, |row, axis| match row {
            0 => axis.range(vec![-4.0, 104.0]),
            _ => log_axis(axis),
        });
        finished(format!("{id}-{k}"), format!("{}, {}", figure.title, column.name), plot, layout, 2)
    };
    figure.columns.iter().enumerate().map(plot).collect()
}

fn add_line(plot: &mut Plot, series: &Series, row: usize, value: impl Fn(&Point) -> f64, ends: [f64; 2]) {
    let Style { filled, .. } = series.style;
    let color = series.style.css(1.0);
    let symbol = if filled { MarkerSymbol::Circle } else { MarkerSymbol::CircleOpen };
    let points = &series.points;
    let line = Scatter::new(points.iter().map(|p| p.x).collect(), points.iter().map(value).collect())
        .mode(Mode::LinesMarkers)
        .name(&series.name)
        .legend_group(&series.name)
        .show_legend(row == 0)
        .y_axis(axis_name(row))
        .line(Line::new().color(color.clone()).width(2.0))
        .marker(Marker::new().color(color.clone()).symbol(symbol).size(7));
    plot.add_trace(line);
    if let Some(limit) = series.limit {
        let limit = Scatter::new(vec![limit, limit], ends.to_vec())
            .mode(Mode::Lines)
            .name(format!("{}: limit of the evidence", series.name))
            .legend_group(&series.name)
            .show_legend(false)
            .y_axis(axis_name(row))
            .line(Line::new().color(color).width(2.0).dash(DashType::Dash));
        plot.add_trace(limit);
    }
}

/// `y`, `y2`, `y3` …
fn axis_name(row: usize) -> String {
    if row == 0 { "y".to_owned() } else { format!("y{}", row + 1) }
}

fn log_axis(axis: Axis) -> Axis {
    axis.type_(AxisType::Log).dtick(1.0).exponent_format(plotly::common::ExponentFormat::Power)
}

/// Panels one below the other, with a common horizontal axis.
fn layout(x_axis: Axis, names: &[String], make: impl Fn(usize, Axis) -> Axis) -> Layout {
    let rows = names.len();
    let each = 1.0 / rows as f64;
    let mut layout = Layout::new()
        .x_axis(x_axis.anchor(axis_name(rows - 1)).show_line(true))
        .paper_background_color(NamedColor::Transparent)
        .plot_background_color(NamedColor::Transparent)
        .hover_mode(HoverMode::Closest)
        // The page has its own switches, which work with a keyboard.
        .show_legend(false)
        .margin(Margin::new().left(64).right(12).top(10).bottom(50));
    for (row, name) in names.iter().enumerate() {
        let top = 1.0 - row as f64 * each;
        let axis = Axis::new()
            .title(Title::with_text(name))
            .domain(&[top - 0.88 * each, top])
            .zero_line(false)
            .auto_margin(true);
        let axis = make(row, axis);
        layout = match row {
            0 => layout.y_axis(axis),
            1 => layout.y_axis2(axis),
            2 => layout.y_axis3(axis),
            _ => layout.y_axis4(axis),
        };
    }
    layout
}

/// A plot of `rows` panels.
fn finished(id: String, name: String, mut plot: Plot, layout: Layout, rows: usize) -> PlotView {
    plot.set_layout(layout);
    plot.set_configuration(Configuration::new().display_logo(false).display_mode_bar(DisplayModeBar::Hover));
    PlotView { id, name, height: BELOW + rows * PANEL, json: script_json(&plot.to_json()) }
}
