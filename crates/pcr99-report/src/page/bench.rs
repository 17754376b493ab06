//! Page of a benchmark: one self-contained file with the tables, and figures to zoom, hover and switch.

use askama::Template;
use pcr99_lab::monte_carlo::{Estimator, ScaleMode, Session};
use pcr99_page::{
    frame::Page,
    numbers::{duration, grouped},
};

use super::{
    plots::{self, PlotView},
    table_view::TableView,
    tied,
};
use crate::{
    Summary,
    figures::boxes::FILL,
    palette::{Style, style_of},
    report::{Drawing, Figure, Report},
    tables::{percent, ratios},
};

const SCRIPT: &str = include_str!("bench.js");

/// Content of the page; the frame around it is that of all pages.
#[derive(Template)]
#[template(path = "bench.html")]
struct BenchTemplate {
    headline: Option<String>,
    records: u64,
    planned: u64,
    about: Vec<(&'static str, String)>,
    figures: Vec<FigureView>,
    /// Tables that are not beside a figure.
    tables: Vec<TableView>,
}

/// A figure with its switches, and the tables beside it.
struct FigureView {
    name: &'static str,
    title: String,
    caption: String,
    switches: Vec<Switch>,
    plots: Vec<PlotView>,
    tables: Vec<TableView>,
}

/// A switch for one name in a figure, in its colours as CSS.
struct Switch {
    name: String,
    fill: String,
    line: String,
}

/// The whole page.
pub(crate) fn html(report: &Report) -> String {
    let figures: Vec<FigureView> = report.figures.iter().map(|figure| figure_view(report, figure)).collect();
    let are_beside = figures.iter().any(|figure| !figure.tables.is_empty());
    let tables = if are_beside { &[] } else { report.tables() };
    let (records, planned) = report.progress;
    let content = BenchTemplate {
        headline: headline(report.summary()).map(|text| tied(&text)),
        records,
        planned,
        about: about(report),
        figures,
        tables: tables.iter().map(TableView::whole).collect(),
    };
    // Writing to a string does not fail, and the template has no filter that could.
    let body = content.render().unwrap_or_else(|error| unreachable!("a template: {error}"));
    Page {
        title: "pcr99 bench",
        body: &body,
        script: SCRIPT,
        with_plots: true,
        with_workers: false,
        command: None,
        program: &program(report),
    }
    .to_html()
}

fn figure_view(report: &Report, figure: &Figure) -> FigureView {
    let (plots, names, tables) = match &figure.drawing {
        Drawing::Boxes(drawing) => {
            let names = drawing.estimators.iter().map(|&c| (c.title(), style_of(c))).collect();
            let tables = report.tables().iter().map(|table| TableView::of_mode(table, drawing.scale));
            (vec![plots::boxes(figure.name, drawing)], names, tables.collect())
        }
        Drawing::Lines(drawing) => (plots::lines(figure.name, drawing), drawing.legend(), Vec::new()),
    };
    FigureView {
        name: figure.name,
        title: tied(figure.drawing.title()),
        caption: tied(caption(&figure.drawing)),
        switches: names.into_iter().map(|(name, style)| switch(name, style)).collect(),
        plots,
        tables,
    }
}

fn switch(name: &str, style: Style) -> Switch {
    let fill = style.css(if style.filled { FILL } else { 0.0 });
    Switch { name: name.to_owned(), fill, line: style.css(1.0) }
}

/// The fastest method in each scale mode among those without large errors at the highest outlier ratio. `None` with only one method, or
/// with several numbers of matches.
fn headline(summary: &Summary) -> Option<String> {
    let size = summary.sizes().into_iter().max_by(|a, b| a.outlier_ratio.total_cmp(&b.outlier_ratio))?;
    let fastest = |scale: ScaleMode| {
        let estimators = summary.estimators(scale).into_iter().filter(|c| *c != Estimator::TrueInliers);
        let cells =
            estimators.filter_map(|estimator| Some((estimator, summary.cell(scale, size, estimator)?)));
        let good = cells.filter(|(_, cell)| cell.above_10_deg == 0);
        let timed = good.filter_map(|(estimator, cell)| Some((estimator, cell.seconds()?.median)));
        let (estimator, seconds) = timed.min_by(|a, b| a.1.total_cmp(&b.1))?;
        Some(format!("{} with {} scale ({})", estimator.title(), scale.name(), duration(seconds)))
    };
    let several = ScaleMode::ALL.iter().any(|&scale| summary.estimators(scale).len() > 2);
    let found: Vec<String> = ScaleMode::ALL.into_iter().filter_map(fastest).collect();
    (several && summary.points().len() == 1 && !found.is_empty()).then(|| {
        format!(
            "fastest methods without a rotation error above 10° at {} outliers: {}",
            percent(size.outlier_ratio),
            found.join(", ")
        )
    })
}

fn caption(drawing: &Drawing) -> &'static str {
    match drawing {
        Drawing::Boxes(_) => {
            "Errors and times against the outlier ratio, on logarithmic axes. Box: quartiles and median; whiskers: 5 % and 95 %; dot: worst \
             run. Runs without a transform have no error and are counted in Table I."
        }
        Drawing::Lines(_) => {
            "A problem is solved when it is registered with a rotation error of at most 10°. Dashed: the predicted limit of the evidence, beyond \
             which inliers cannot be told from chance."
        }
    }
}

/// Name and version of the program that made the latest records.
fn program(report: &Report) -> String {
    report.header.sessions.last().map_or("pcr99".to_owned(), |session| session.program.clone())
}

/// Settings and machines of the benchmark.
fn about(report: &Report) -> Vec<(&'static str, String)> {
    let configuration = &report.header.configuration;
    let listed = |items: &mut dyn Iterator<Item = String>| items.collect::<Vec<_>>().join(", ");
    let points = report.summary().points();
    let rows = [
        ("matches", listed(&mut points.iter().map(|&points| grouped(points)))),
        ("outliers", listed(&mut ratios(report.summary()).into_iter().map(percent))),
        ("runs of each", configuration.runs.to_string()),
        ("methods", listed(&mut configuration.methods.iter().map(|method| method.title().to_owned()))),
        ("shape", configuration.shape.clone()),
        ("noise, threshold", format!("σ = {}, δ = {}", configuration.noise, report.header.threshold)),
        ("outlier positions", format!("in a ball, {}", configuration.outlier_center.name())),
        ("time limit", format!("{} s", configuration.time_limit)),
        ("times", format!("CPU time on one thread, {}", configuration.timed_from.words())),
        ("seed", configuration.seed.to_string()),
    ];
    let sessions = report.header.sessions.iter().map(|session| ("made with", made_with(session)));
    rows.into_iter().chain(sessions).map(|(name, value)| (name, tied(&value))).collect()
}

fn made_with(session: &Session) -> String {
    let Session { program, commit, compiler, optimised, machine, jobs } = session;
    let mut parts = vec![program.clone()];
    parts.extend(commit.as_ref().map(|commit| format!("commit {commit}")));
    parts.extend(compiler.clone());
    if !optimised {
        parts.push("built without full optimisation".to_owned());
    }
    let cores = machine.cores.map_or(String::new(), |cores| format!(", {cores} threads"));
    parts.push(format!("{}{cores}", machine.cpu.as_deref().unwrap_or("unknown CPU")));
    parts.push(format!("{} {}", machine.system, machine.architecture));
    if *jobs > 1 {
        parts.push(format!("{jobs} runs at the same time, which makes times less exact"));
    }
    parts.join("; ")
}
