//! One registration, or a few, as one self-contained page: verdict, before and after in 3-D, residuals, candidates, transform.

/// What the script draws.
mod data;

/// From documents.
mod document;

/// How far the matches are off.
mod histogram;

/// A rotation as a quaternion and as angles.
mod rotation;

/// Fewer of many.
mod thin;

/// What is shown.
mod view;

/// The verdict in plain words.
mod words;

use std::{fmt::Write as _, path::Path};

use pcr99::Status;

use self::{
    data::Frame,
    view::{MOST_INLIERS, false_alarms},
};
use crate::{
    Error,
    frame::{self, Page, escaped_html},
    numbers::{duration, grouped, percent, shown},
};

pub use view::RegistrationView;

const SCRIPT: &str = include_str!("script.js");

/// A page of one registration, or of a few below each other.
///
/// ```
/// use pcr99::{Correspondences, Params, Scale};
/// use pcr99_page::{RegistrationPage, RegistrationView};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let source = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 3.0], [1.0, 1.0, 1.0]];
/// let target = source.map(|[x, y, z]| [x + 5.0, y, z]);
/// let found = pcr99::solve(&Correspondences::new(&source, &target)?, Scale::one(), &Params::new())?;
/// let view = RegistrationView::of_matches(&found, "default", &source, &target).with_names("a.ply", "b.ply");
/// let page = RegistrationPage::new("pcr99 0.1.0").with_command("pcr99 solve matches.csv").with_view(view);
/// assert!(page.to_html().starts_with("<!doctype html>"));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct RegistrationPage {
    program: String,
    command: Option<String>,
    views: Vec<RegistrationView>,
}

impl RegistrationPage {
    /// An empty page; `program` is name and version of what made it.
    pub fn new(program: &str) -> Self {
        Self { program: program.to_owned(), command: None, views: Vec::new() }
    }

    /// With the exact command that makes the page.
    #[must_use]
    pub fn with_command(self, command: &str) -> Self {
        Self { command: Some(command.to_owned()), ..self }
    }

    /// With a further registration.
    #[must_use]
    pub fn with_view(mut self, view: RegistrationView) -> Self {
        self.views.push(view);
        self
    }

    /// The document. The same registrations give the same bytes.
    pub fn to_html(&self) -> String {
        let mut body = String::new();
        for (place, view) in self.views.iter().enumerate() {
            body += &section(place, view);
        }
        let title = match self.views.as_slice() {
            [RegistrationView { title: Some(title), verdict, .. }] => format!("{title}: {}", verdict.word()),
            [one] => format!("{} → {}: {}", one.names[0], one.names[1], one.verdict.word()),
            _ => "pcr99".to_owned(),
        };
        Page {
            title: &title,
            body: &(body + &frame::footer(self.command.as_deref(), &self.program)),
            script: SCRIPT,
            with_plots: true,
        }
        .to_html()
    }

    /// Writes the document, whole or not at all.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), Error> {
        frame::write(path, &self.to_html())
    }
}

/// The mark beside a verdict, so that it is not told by colour alone, and its class.
pub(crate) fn mark(status: Status) -> (&'static str, &'static str) {
    match status {
        Status::Registered => ("✓", "good"),
        Status::NotReliable => ("?", "doubtful"),
        Status::NoSolution => ("✕", "bad"),
    }
}

fn section(place: usize, view: &RegistrationView) -> String {
    let frame = Frame::of(view);
    let (sign, class) = mark(view.verdict.status);
    let [source, target] = view.names.each_ref().map(|name| escaped_html(name));
    let mut text = format!("<section class=\"view\" id=\"view-{place}\">\n");
    let title =
        view.title.as_ref().map_or(String::new(), |title| format!("<b>{}</b> · ", escaped_html(title)));
    let _ = writeln!(text, "<p class=\"names\">{title}{source} → {target}</p>");
    let _ = writeln!(
        text,
        "<div class=\"verdict {class}\"><span class=\"mark\" aria-hidden=\"true\">{sign}</span><div>\n<h1><b>{}:</b> {}</h1>",
        view.verdict.word(),
        escaped_html(&view.verdict.sentence)
    );
    if let Some(advice) = view.verdict.advice {
        let _ = writeln!(text, "<p>{}</p>", escaped_html(advice));
    }
    text += "</div></div>\n<dl class=\"facts\">\n";
    for (name, value) in &view.facts {
        let _ = writeln!(text, "<div><dt>{}</dt><dd>{}</dd></div>", escaped_html(name), escaped_html(value));
    }
    text += "</dl>\n";
    text += &controls(place, view);
    let after = if view.is_registered() { "After" } else { "After the best guess" };
    let mut panels = vec![(
        "before",
        "Before",
        if view.are_matches { "the matches as given" } else { "source and target as given" },
    )];
    if !view.poses.is_empty() {
        panels.push(("after", after, "the source moved onto the target"));
    }
    text += "<div class=\"scenes\">\n";
    for (which, name, what) in panels {
        let _ = writeln!(
            text,
            "<figure><figcaption><b>{name}</b>: {what}</figcaption><div class=\"scene {which}\" tabindex=\"0\" role=\"application\" \
             aria-roledescription=\"3-D view\" aria-label=\"{name}: {what}. Arrow keys turn it, plus and minus zoom.\"></div></figure>"
        );
    }
    let _ = writeln!(
        text,
        "</div>\n<p class=\"caption\">{}<span class=\"on-screen\"> Both views turn together: drag, or use the arrow keys; the wheel \
         zooms.</span></p>",
        escaped_html(&caption(view, &frame))
    );
    if !view.poses.is_empty() {
        text += "<div class=\"cards\">\n";
        text += &transform(place, view);
        text += &residuals(view);
        text += &candidates(view);
        text += &timings(view);
        text += "</div>\n";
    } else {
        text += &format!("<div class=\"cards\">\n{}</div>\n", timings(view));
    }
    let _ = writeln!(
        text,
        "<script type=\"application/json\">{}</script>\n</section>",
        data::document(view, &frame)
    );
    text
}

/// Switches of the layers and of the candidates.
fn controls(place: usize, view: &RegistrationView) -> String {
    let mut text = "<div class=\"controls\">\n<fieldset class=\"layers\"><legend>Show</legend>\n".to_owned();
    let layers = [
        ("source", "source", true),
        ("target", "target", true),
        ("inliers", "matches that agree", view.lines.total > 0),
        ("outliers", "other matches", view.lines.total > 0),
    ];
    for (layer, name, _) in layers.into_iter().filter(|layer| layer.2) {
        let _ = writeln!(
            text,
            "<label><input type=\"checkbox\" name=\"{layer}\" checked><span class=\"swatch {layer}\" aria-hidden=\"true\"></span>{name}</label>"
        );
    }
    let _ = writeln!(
        text,
        "<label><input type=\"checkbox\" name=\"aside\"{}>side by side</label>",
        if view.are_matches { " checked" } else { "" }
    );
    text += "</fieldset>\n";
    if view.poses.len() > 1 {
        text += "<fieldset class=\"poses\"><legend>Candidate</legend>\n";
        for number in 0..view.poses.len() {
            let (checked, name) = if number == 0 {
                (" checked", if view.is_registered() { "the answer" } else { "best guess" }.to_owned())
            } else {
                ("", format!("{}", number + 1))
            };
            let label = if number == 0 { name.clone() } else { format!("candidate {name}") };
            let _ = writeln!(
                text,
                "<label><input type=\"radio\" name=\"pose-{place}\" value=\"{number}\" aria-label=\"{label}\"{checked}>{name}</label>"
            );
        }
        text += "</fieldset>\n";
    }
    text + "<button type=\"button\" class=\"reset\">Reset view</button>\n</div>\n"
}

/// What is drawn of how much.
fn caption(view: &RegistrationView, frame: &Frame) -> String {
    let mut parts = Vec::new();
    let thinned: Vec<String> = view
        .clouds
        .iter()
        .zip(["source", "target"])
        .filter(|(cloud, _)| cloud.points.len() < cloud.total)
        .map(|(cloud, name)| {
            format!("{} of {} points of the {name}", grouped(cloud.points.len()), grouped(cloud.total))
        })
        .collect();
    if !thinned.is_empty() {
        parts.push(format!("Drawn are {}, chosen evenly at random.", thinned.join(" and ")));
    }
    let [outliers, drawn] = view.lines.outliers;
    if drawn < outliers {
        parts.push(format!("Of {} other matches {} are drawn.", grouped(outliers), grouped(drawn)));
    }
    let inliers = view.lines.total - outliers;
    if inliers > MOST_INLIERS {
        parts.push(format!(
            "Of {} matches that agree {} are drawn.",
            grouped(inliers),
            grouped(MOST_INLIERS)
        ));
    }
    if let Some(apart) = frame.apart {
        parts.push(format!("Before, the clouds are {} apart, and drawn nearer.", shown(apart)));
    }
    if view.are_matches {
        parts.push("Side by side, the source is drawn beside the target and not where it is.".to_owned());
    }
    parts.join(" ")
}

fn transform(place: usize, view: &RegistrationView) -> String {
    let mut text = "<section class=\"card transform\">\n<h2>Transform</h2>\n".to_owned();
    for row in data::rows(&view.poses[0]) {
        let name = row.name.to_lowercase();
        let _ = writeln!(
            text,
            "<div class=\"row\"><h3>{} <small>{}</small></h3><button type=\"button\" class=\"copy\" data-row=\"{id}\" \
             aria-label=\"Copy {name}\">Copy</button><pre id=\"{id}-{place}\" data-row=\"{id}\" tabindex=\"0\" aria-label=\"{}\">{}</pre></div>",
            row.name,
            escaped_html(row.note),
            row.name,
            escaped_html(&row.read),
            id = row.id,
        );
    }
    text + "</section>\n"
}

fn residuals(view: &RegistrationView) -> String {
    if view.bins.is_none() {
        return String::new();
    }
    let threshold =
        view.threshold.map_or(String::new(), |t| format!(" Dashed: the threshold, {}.", shown(t)));
    format!(
        "<section class=\"card\">\n<h2>Residuals</h2>\n<div class=\"histogram\" role=\"img\" aria-label=\"Histogram of the residuals of all matches\">\
         </div>\n<p class=\"caption\">How far each match is off after the transform.{}</p>\n</section>\n",
        escaped_html(&threshold)
    )
}

fn candidates(view: &RegistrationView) -> String {
    let with_overlap = view.poses.iter().any(|pose| pose.overlap.is_some());
    let overlap_head = if with_overlap { "<th class=\"number\">overlap</th>" } else { "" };
    let mut text = format!(
        "<section class=\"card\">\n<h2>Candidates</h2>\n<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"Candidates\"><table>\n\
         <thead><tr><th>candidate</th><th class=\"number\">matches</th><th class=\"number\">false alarms</th>{overlap_head}\
         <th class=\"number\">scale</th><th class=\"number\">turned by</th></tr></thead>\n<tbody>\n"
    );
    for (number, pose) in view.poses.iter().enumerate() {
        let name = match number {
            0 if view.is_registered() => "1, the answer".to_owned(),
            0 => "1, best guess".to_owned(),
            _ => (number + 1).to_string(),
        };
        let cell = |text: Option<String>| {
            format!("<td class=\"number\">{}</td>", escaped_html(&text.unwrap_or("–".to_owned())))
        };
        let overlap =
            pose.overlap.map(|[source, target]| format!("{} / {}", percent(source), percent(target)));
        let _ = writeln!(
            text,
            "<tr><td>{name}</td>{}{}{}{}{}</tr>",
            cell(pose.inlier_count.map(grouped)),
            cell(pose.log10_nfa.map(false_alarms)),
            if with_overlap { cell(overlap) } else { String::new() },
            cell(Some(shown(pose.model.scale()))),
            cell((number > 0).then(|| format!("{:.1}°", pose.turned_deg))),
        );
    }
    let others = match view.poses.len() {
        1 => "No other transform was found that matches agree with.",
        _ => {
            "Other transforms that some matches agree with, and how far their rotations are from the answer's. Many false alarms: chance \
             alone would give as much."
        }
    };
    let _ = writeln!(text, "</tbody>\n</table></div>\n<p class=\"caption\">{others}</p>\n</section>");
    text
}

fn timings(view: &RegistrationView) -> String {
    let seconds = &view.seconds;
    let longest = seconds.stages.iter().map(|(_, s)| *s).fold(f64::MIN_POSITIVE, f64::max);
    let mut text = "<section class=\"card\">\n<h2>Time</h2>\n<table class=\"times\">\n<tbody>\n".to_owned();
    // A stage that ran several times is told once.
    let mut stages: Vec<(&str, f64)> = Vec::new();
    for (stage, time) in &seconds.stages {
        match stages.iter_mut().find(|(name, _)| name == stage) {
            Some((_, sum)) => *sum += time,
            None => stages.push((stage, *time)),
        }
    }
    let longest = stages.iter().map(|(_, s)| *s).fold(longest, f64::max);
    for (stage, time) in stages {
        let _ = writeln!(
            text,
            "<tr><th scope=\"row\">{}</th><td class=\"number\">{}</td><td class=\"bar\"><span style=\"width:{:.1}%\"></span></td></tr>",
            escaped_html(stage),
            duration(time),
            100.0 * (time / longest).clamp(0.0, 1.0)
        );
    }
    let _ = writeln!(
        text,
        "</tbody>\n<tfoot><tr><th scope=\"row\">total</th><td class=\"number\">{}</td><td></td></tr></tfoot>\n</table>\n<p class=\"caption\">{}</p>\n</section>",
        duration(seconds.total),
        escaped_html(&view.search)
    );
    text
}
