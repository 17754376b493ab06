//! One self-contained page: the tables, and the figures to be zoomed, hovered and switched.

use std::fmt::Write as _;

use pcr99_lab::monte_carlo::{Estimator, ScaleMode, Session};

use super::plots;
use crate::{
    Summary,
    figures::boxes::FILL,
    palette::{Style, style_of},
    report::{Drawing, Report},
    tables::{percent, ratios},
};
use pcr99_page::{
    frame::{Page, escaped_html},
    numbers::{duration, grouped},
};

const SCRIPT: &str = include_str!("bench.js");

/// The whole document.
pub(crate) fn html(report: &Report) -> String {
    let mut body = String::new();
    let headline =
        headline(report.summary()).map_or(String::new(), |words| format!(": {}", escaped_html(&words)));
    let _ = writeln!(body, "<h1><b>Benchmark</b>{headline}</h1>\n{}", about(report));
    let mut by_mode = true;
    for figure in &report.figures {
        let (plots, names, tables) = match &figure.drawing {
            Drawing::Boxes(drawing) => {
                let names = drawing.estimators.iter().map(|&c| (c.title(), style_of(c))).collect();
                let tables = report.tables().iter().map(|table| table.of_mode_to_html(drawing.scale));
                (plots::boxes(figure.name, drawing), names, tables.collect())
            }
            Drawing::Lines(drawing) => {
                by_mode = false;
                (plots::lines(figure.name, drawing).concat(), drawing.legend(), String::new())
            }
        };
        let class = if tables.is_empty() { "plots" } else { "plots beside" };
        let tables =
            if tables.is_empty() { tables } else { format!("<div class=\"tables\">\n{tables}</div>\n") };
        let _ = writeln!(
            body,
            "<section class=\"figure\" id=\"{}\">\n<h2>{}</h2>\n{}<div class=\"{class}\">\n{plots}{tables}</div>\n\
             <p class=\"caption\">{}</p>\n</section>",
            figure.name,
            escaped_html(figure.drawing.title()),
            switches(&names),
            escaped_html(caption(&figure.drawing)),
        );
    }
    if !by_mode || report.figures.is_empty() {
        for table in report.tables() {
            body += &table.to_html();
        }
    }
    Page {
        title: "pcr99 bench",
        body: &body,
        script: SCRIPT,
        with_plots: true,
        command: None,
        program: &program(report),
    }
    .to_html()
}

/// Who is fastest of those that are never far off, where it is hardest; nothing to say of one method alone.
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
        let wrong = percent(size.outlier_ratio);
        format!(
            "at {wrong} wrong matches, the fastest of those never more than 10° off: {}",
            found.join(", ")
        )
    })
}

/// A switch for everything that has a name in a figure.
fn switches(names: &[(&str, Style)]) -> String {
    let mut text = "<div class=\"controls\">\n<fieldset class=\"layers\"><legend>Show</legend>\n".to_owned();
    for (name, style) in names {
        let (fill, line) = (style.css(if style.filled { FILL } else { 0.0 }), style.css(1.0));
        let name = escaped_html(name);
        let _ = writeln!(
            text,
            "<label><input type=\"checkbox\" name=\"{name}\" checked><span class=\"box\" aria-hidden=\"true\" \
             style=\"background:{fill};border-color:{line}\"></span>{name}</label>"
        );
    }
    text + "</fieldset>\n<span class=\"every\"><button type=\"button\" data-every=\"true\">All</button> \
            <button type=\"button\" data-every=\"\">None</button></span>\n</div>\n"
}

fn caption(drawing: &Drawing) -> &'static str {
    match drawing {
        Drawing::Boxes(_) => {
            "Against the share of wrong matches, logarithmic. Box: quartiles and median; whiskers: 5 % and 95 %; dot: the worst run. Runs \
             without a transform have no error: Table I counts them."
        }
        Drawing::Lines(_) => {
            "Solved is registered with a rotation error of at most 10°. Dashed: the limit that the evidence predicts; beyond it, right \
             matches cannot be told from chance."
        }
    }
}

/// Name and version of what made the records last.
fn program(report: &Report) -> String {
    report.header.sessions.last().map_or("pcr99".to_owned(), |session| session.program.clone())
}

/// What was done, where, and with what.
fn about(report: &Report) -> String {
    let configuration = &report.header.configuration;
    let (done, planned) = report.progress;
    let mut text = String::new();
    if done < planned {
        let _ = writeln!(
            text,
            "<p class=\"warning\">Not complete: {done} of {planned} records. All sizes have been met about equally often.</p>"
        );
    }
    let listed = |items: &mut dyn Iterator<Item = String>| items.collect::<Vec<_>>().join(", ");
    let points = report.summary().points();
    let rows = [
        ("matches", listed(&mut points.iter().map(|&points| grouped(points)))),
        ("wrong", listed(&mut ratios(report.summary()).into_iter().map(percent))),
        ("runs of each", configuration.runs.to_string()),
        ("methods", listed(&mut configuration.methods.iter().map(|method| method.title().to_owned()))),
        ("shape", configuration.shape.clone()),
        ("noise, threshold", format!("σ = {}, δ = {}", configuration.noise, report.header.threshold)),
        ("wrong targets", format!("in a ball, {}", configuration.outlier_center.name())),
        ("time limit", format!("{} s", configuration.time_limit)),
        ("seed", configuration.seed.to_string()),
    ];
    let sessions = report.header.sessions.iter().map(|session| ("made with", made_with(session)));
    text += "<dl class=\"about\">\n";
    for (name, value) in rows.into_iter().chain(sessions) {
        let _ = writeln!(text, "<div><dt>{}</dt><dd>{}</dd></div>", escaped_html(name), escaped_html(&value));
    }
    text + "</dl>\n"
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
        parts.push(format!("{jobs} runs side by side, which disturbs the times"));
    }
    parts.join("; ")
}
