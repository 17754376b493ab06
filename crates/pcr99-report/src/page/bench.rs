//! One self-contained page: the tables, and the figures to be zoomed, hovered and switched.

use std::fmt::Write as _;

use pcr99_lab::monte_carlo::Session;

use super::{Page, plots};
use crate::{
    report::{Drawing, Report},
    tables::{escaped_html, grouped, percent, ratios},
};

const SCRIPT: &str = include_str!("bench.js");

/// The whole document.
pub(crate) fn html(report: &Report) -> String {
    let mut body = String::new();
    let _ = writeln!(body, "<h1>pcr99 bench</h1>\n{}", about(report));
    for figure in &report.figures {
        let plots = match &figure.drawing {
            Drawing::Boxes(drawing) => vec![plots::boxes(figure.name, drawing)],
            Drawing::Lines(drawing) => plots::lines(figure.name, drawing),
        };
        let _ = writeln!(
            body,
            "<section id=\"{}\">\n<h2>{}</h2>\n<div class=\"plots\">\n{}</div>\n<p class=\"caption\">{}</p>\n</section>",
            figure.name,
            escaped_html(figure.drawing.title()),
            plots.concat(),
            escaped_html(caption(&figure.drawing)),
        );
    }
    for table in report.tables() {
        body += &table.to_html();
    }
    Page { title: "pcr99 bench", body: &body, script: SCRIPT, with_plots: true }.to_html()
}

fn caption(drawing: &Drawing) -> &'static str {
    match drawing {
        Drawing::Boxes(_) => {
            "Against the share of wrong matches, logarithmic. Box: quartiles and median; whiskers: 5 % and 95 %; dot: the worst run. Runs \
             without a transform have no error: Table I counts them. A click on a name hides or shows a method, a double click \
             shows it alone."
        }
        Drawing::Lines(_) => {
            "Solved is registered with a rotation error of at most 10°. Dashed: the limit that the evidence predicts; beyond it, right \
             matches cannot be told from chance. A click on a name hides or shows a line, a double click shows it alone."
        }
    }
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
    text += "<dl>\n";
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
