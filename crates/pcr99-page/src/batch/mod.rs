//! Many registrations at a glance: how many registered, why others did not, a table that can be sorted, links to single pages.

use std::{fmt::Write as _, path::Path};

use pcr99::Status;
use serde_json::{Map, Value};

use crate::{
    Error,
    frame::{self, Page, escaped_html},
    numbers::{duration, grouped, percent, without_numbers},
    registration::mark,
};

const SCRIPT: &str = include_str!("script.js");

/// What became of one pair.
#[derive(Debug, Clone, PartialEq)]
pub enum BatchOutcome {
    /// It ran to its end.
    Ran {
        /// How far the answer can be trusted.
        status: Status,
        /// Why it can or cannot be, in a few words.
        reason: String,
    },
    /// It could not be run, and why.
    Failed(String),
}

/// One pair of a batch. What is not known is `None`.
#[derive(Debug, Clone, PartialEq)]
pub struct BatchRow {
    /// The pair's own name.
    pub id: String,
    /// What became of it.
    pub outcome: BatchOutcome,
    /// Matches that agree.
    pub inliers: Option<usize>,
    /// log₁₀ of the number of false alarms.
    pub log10_nfa: Option<f64>,
    /// Share of the source that overlaps with the target.
    pub overlap: Option<f64>,
    /// Time it took.
    pub seconds: Option<f64>,
    /// The page of this pair, relative to that of the batch.
    pub link: Option<String>,
}

/// A page of many pairs.
///
/// ```
/// use pcr99::Status;
/// use pcr99_page::{BatchOutcome, BatchPage, BatchRow};
///
/// let row = BatchRow {
///     id: "a-b".to_owned(),
///     outcome: BatchOutcome::Ran { status: Status::Registered, reason: "consistent".to_owned() },
///     inliers: Some(310),
///     log10_nfa: Some(-120.0),
///     overlap: Some(0.6),
///     seconds: Some(0.8),
///     link: Some("pages/a-b.html".to_owned()),
/// };
/// let page = BatchPage::new("pcr99 0.1.0", vec![row]).with_command("pcr99 batch pairs.csv");
/// assert!(page.to_html().contains("1 of 1 pair registered"));
/// ```
#[derive(Debug, Clone)]
pub struct BatchPage {
    program: String,
    command: Option<String>,
    rows: Vec<BatchRow>,
}

/// One way in which pairs ended, and how many did.
#[derive(Debug, PartialEq)]
struct Group {
    /// `None` when they could not be run.
    status: Option<Status>,
    /// Without its numbers, which differ from pair to pair.
    reason: String,
    count: usize,
}

impl BatchRow {
    /// Of a line of `results.jsonl`; `seconds` is the time that the pair took.
    pub fn of_result(result: &Map<String, Value>, seconds: Option<f64>) -> Self {
        let text = |field: &str| result.get(field).and_then(Value::as_str);
        let within = |field: &str, part: &str| result.get(field)?.get(part)?.as_f64();
        let status = [Status::Registered, Status::NotReliable, Status::NoSolution];
        let status = status.into_iter().find(|status| Some(status.as_str()) == text("status"));
        let outcome = match status {
            Some(status) => {
                let own = || of_doubt(status, text("doubt"), text("stopped_because")).to_owned();
                BatchOutcome::Ran { status, reason: text("reason").map_or_else(own, str::to_owned) }
            }
            None => BatchOutcome::Failed(text("error").unwrap_or("no result").to_owned()),
        };
        Self {
            id: text("pair_id").unwrap_or_default().to_owned(),
            outcome,
            inliers: result.get("inliers").and_then(Value::as_array).map(Vec::len),
            log10_nfa: within("evidence", "log10_nfa"),
            overlap: within("overlap", "source"),
            seconds,
            link: None,
        }
    }

    fn group(&self) -> (Option<Status>, &str) {
        match &self.outcome {
            BatchOutcome::Ran { status, reason } => (Some(*status), reason),
            BatchOutcome::Failed(_) => (None, "could not be run"),
        }
    }
}

/// Good ones first.
fn order(status: Option<Status>) -> usize {
    match status {
        Some(Status::Registered) => 0,
        Some(Status::NotReliable) => 1,
        Some(Status::NoSolution) => 2,
        None => 3,
    }
}

/// Why matches came to this: their documents say it in one word.
fn of_doubt(status: Status, doubt: Option<&str>, stopped: Option<&str>) -> &'static str {
    match (status, doubt) {
        (Status::Registered, _) => "more matches agree than chance would give",
        (_, Some("chance")) => "no more matches agree than by chance",
        (_, Some("few_places")) => "the matches that agree are at too few places",
        (_, Some("loose_rotation")) => "the matches that agree leave the rotation about one axis open",
        (_, Some("rival")) => "another transform has nearly as much evidence",
        (Status::NoSolution, _) if matches!(stopped, Some("time_limit" | "interrupted")) => {
            "stopped before consistent matches were found"
        }
        (Status::NoSolution, _) => "no consistent matches were found",
        (Status::NotReliable, _) => "the matches that agree do not fix a transform",
    }
}

fn word(status: Option<Status>) -> &'static str {
    match status {
        Some(Status::Registered) => "registered",
        Some(Status::NotReliable) => "not reliable",
        Some(Status::NoSolution) => "no solution",
        None => "failed",
    }
}

impl BatchPage {
    /// Of these pairs; `program` is name and version of what made it.
    pub fn new(program: &str, rows: Vec<BatchRow>) -> Self {
        Self { program: program.to_owned(), command: None, rows }
    }

    /// With the exact command that makes the page.
    #[must_use]
    pub fn with_command(self, command: &str) -> Self {
        Self { command: Some(command.to_owned()), ..self }
    }

    /// The document. The same rows give the same bytes.
    pub fn to_html(&self) -> String {
        let registered = self.rows.iter().filter(|row| row.group().0 == Some(Status::Registered)).count();
        let all = self.rows.len();
        let noun = if all == 1 { "pair" } else { "pairs" };
        let sentence = format!("{} of {} {noun} registered", grouped(registered), grouped(all));
        let status = if registered == all { Status::Registered } else { Status::NotReliable };
        let (sign, class) = mark(status);
        let body = format!(
            "<div class=\"verdict {class}\"><span class=\"mark\" aria-hidden=\"true\">{sign}</span><h1><b>{sentence}</b></h1></div>\n{}{}{}",
            self.reasons(),
            self.table(),
            frame::footer(self.command.as_deref(), &self.program)
        );
        Page { title: &format!("pcr99 batch: {sentence}"), body: &body, script: SCRIPT, with_plots: false }
            .to_html()
    }

    /// Writes the document, whole or not at all.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), Error> {
        frame::write(path, &self.to_html())
    }

    /// How the pairs ended: by status, then the most frequent reason first.
    fn groups(&self) -> Vec<Group> {
        let mut groups: Vec<Group> = Vec::new();
        for row in &self.rows {
            let (status, reason) = row.group();
            let reason = without_numbers(reason);
            match groups.iter_mut().find(|group| group.status == status && group.reason == reason) {
                Some(group) => group.count += 1,
                None => groups.push(Group { status, reason, count: 1 }),
            }
        }
        groups.sort_by(|a, b| {
            (order(a.status), b.count, &a.reason).cmp(&(order(b.status), a.count, &b.reason))
        });
        groups
    }

    fn reasons(&self) -> String {
        let mut text = "<section>\n<h2>By reason</h2>\n<table class=\"reasons\">\n<thead><tr><th>outcome</th><th>reason</th>\
                        <th class=\"number\">pairs</th><th><span class=\"unseen\">share</span></th></tr></thead>\n<tbody>\n"
            .to_owned();
        for Group { status, reason, count } in self.groups() {
            let class = ["good", "doubtful", "bad", "bad"][order(status)];
            let _ = writeln!(
                text,
                "<tr class=\"{class}\"><td class=\"word\">{}</td><td class=\"reason\">{}</td><td class=\"number\">{}</td>\
                 <td class=\"bar\"><span style=\"width:{:.1}%\"></span></td></tr>",
                word(status),
                escaped_html(&reason),
                grouped(count),
                100.0 * count as f64 / self.rows.len() as f64
            );
        }
        text + "</tbody>\n</table>\n</section>\n"
    }

    fn table(&self) -> String {
        let heads = [
            ("pair", "text"),
            ("outcome", "number"),
            ("reason", "text"),
            ("inliers", "number"),
            ("log₁₀ false alarms", "number"),
            ("overlap", "number"),
            ("time", "number"),
        ];
        let mut text = "<section>\n<h2>Pairs</h2>\n<p class=\"filter\"><label>Find <input type=\"search\" id=\"find\" \
                        placeholder=\"pair, outcome or reason\"></label> <span id=\"found\" role=\"status\"></span></p>\n\
                        <div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"Pairs\"><table id=\"pairs\" class=\"sortable\">\n\
                        <thead><tr>"
            .to_owned();
        for (head, kind) in heads {
            let class = if kind == "number" && head != "outcome" { " class=\"number\"" } else { "" };
            let _ = write!(
                text,
                "<th{class} aria-sort=\"none\"><button type=\"button\" data-kind=\"{kind}\" aria-label=\"Sort by {head}\">{head}</button></th>"
            );
        }
        text += "</tr></thead>\n<tbody>\n";
        for row in &self.rows {
            text += &line(row);
        }
        text + "</tbody>\n</table></div>\n</section>\n"
    }
}

fn line(row: &BatchRow) -> String {
    let (status, reason) = row.group();
    let reason = match &row.outcome {
        BatchOutcome::Failed(why) => why,
        BatchOutcome::Ran { .. } => reason,
    };
    let id = escaped_html(&row.id);
    let id = match &row.link {
        Some(link) => format!("<a href=\"{}\">{id}</a>", escaped_html(&as_link(link))),
        None => id,
    };
    let number = |key: Option<f64>, shown: Option<String>| {
        let key = key.map_or(String::new(), |key| format!(" data-key=\"{key}\""));
        format!("<td class=\"number\"{key}>{}</td>", escaped_html(&shown.unwrap_or("–".to_owned())))
    };
    let class = ["good", "doubtful", "bad", "bad"][order(status)];
    format!(
        "<tr class=\"{class}\"><td>{id}</td><td class=\"word\" data-key=\"{}\">{}</td><td class=\"reason\">{}</td>{}{}{}{}</tr>\n",
        order(status),
        word(status),
        escaped_html(reason),
        number(row.inliers.map(|count| count as f64), row.inliers.map(grouped)),
        number(row.log10_nfa, row.log10_nfa.map(|x| format!("{x:.1}"))),
        number(row.overlap, row.overlap.map(percent)),
        number(row.seconds, row.seconds.map(duration)),
    )
}

/// A relative file name as an address: a name that looks like another scheme or has signs of its own must not become one.
fn as_link(name: &str) -> String {
    let mut link = String::from("./");
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' | b'~' => {
                link.push(char::from(byte))
            }
            other => {
                let _ = write!(link, "%{other:02X}");
            }
        }
    }
    link
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn row(id: &str, outcome: BatchOutcome) -> BatchRow {
        let link = Some(format!("{id}.html"));
        BatchRow {
            id: id.to_owned(),
            outcome,
            inliers: Some(12),
            log10_nfa: Some(-9.25),
            overlap: Some(0.5),
            seconds: None,
            link,
        }
    }

    fn ran(status: Status, reason: &str) -> BatchOutcome {
        BatchOutcome::Ran { status, reason: reason.to_owned() }
    }

    #[test]
    fn rows_from_lines_of_results() {
        let of = |line: Value| BatchRow::of_result(line.as_object().expect("an object"), Some(0.5));
        let clouds = of(
            json!({ "pair_id": "a", "status": "not_reliable", "doubt": "slides", "reason": "they slide", "inliers": [1, 2],
            "evidence": { "log10_nfa": -4.5 }, "overlap": { "source": 0.25, "target": 0.5 } }),
        );
        assert_eq!(clouds.outcome, ran(Status::NotReliable, "they slide"));
        assert_eq!((clouds.inliers, clouds.log10_nfa, clouds.overlap), (Some(2), Some(-4.5), Some(0.25)));
        let rival = of(json!({ "pair_id": "b", "status": "not_reliable", "doubt": "rival", "inliers": [] }));
        assert_eq!(rival.outcome, ran(Status::NotReliable, "another transform has nearly as much evidence"));
        let late = of(json!({ "pair_id": "c", "status": "no_solution", "stopped_because": "time_limit" }));
        assert_eq!(late.outcome, ran(Status::NoSolution, "stopped before consistent matches were found"));
        let failed = of(json!({ "pair_id": "d", "status": "failed", "error": "no such file" }));
        assert_eq!(failed.outcome, BatchOutcome::Failed("no such file".to_owned()));
        assert_eq!((failed.inliers, failed.seconds, failed.id), (None, Some(0.5), "d".to_owned()));
    }

    #[test]
    fn counted_by_reason_and_nothing_is_taken_for_markup() {
        let page = BatchPage::new(
            "pcr99 0",
            vec![
                row("a", ran(Status::NotReliable, "little overlap")),
                row("<script>alert(1)</script>", ran(Status::Registered, "consistent")),
                row("c", ran(Status::NotReliable, "another fits 93.5 % as well")),
                row("javascript:x", BatchOutcome::Failed("cannot read `<b>`".to_owned())),
                row("e", ran(Status::NotReliable, "another fits 88 % as well")),
            ],
        );
        let groups = page.groups();
        let groups: Vec<(&str, usize)> =
            groups.iter().map(|group| (group.reason.as_str(), group.count)).collect();
        assert_eq!(
            groups,
            [
                ("consistent", 1),
                ("another fits … % as well", 2),
                ("little overlap", 1),
                ("could not be run", 1)
            ]
        );
        let html = page.to_html();
        assert!(html.contains("1 of 5 pairs registered"));
        assert!(
            !html.contains("<script>alert") && !html.contains("<b>`") && !html.contains("href=\"javascript")
        );
        assert!(html.contains("href=\"./javascript%3Ax.html\"") && html.contains("-9.2"));
        assert!(BatchPage::new("pcr99 0", Vec::new()).to_html().contains("0 of 0 pairs registered"));
    }
}
