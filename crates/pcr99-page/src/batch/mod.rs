//! Page of a batch: how many pairs registered, why others did not, a table that can be sorted, links to single pages.

use std::path::Path;

use askama::Template;
use pcr99::Status;
use pcr99_document::{Document, DoubtCode, PairResult};

use crate::{
    Error, filters,
    frame::{Page, rendered},
    numbers::{duration, grouped, percent, rough, shown},
    status::Mark,
};

const SCRIPT: &str = include_str!("script.js");

/// Outcome of one pair.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum BatchOutcome {
    /// The pair was registered, or at least tried.
    Ran {
        /// Whether the answer is confirmed.
        status: Status,
        /// Why it is not.
        doubt: Option<DoubtCode>,
        /// One sentence that explains the status.
        reason: String,
    },
    /// The pair could not be run; the text says why.
    Failed(String),
}

/// One pair of a batch. A value that is not known is `None`.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct BatchRow {
    /// Name of the pair.
    pub id: String,
    /// Outcome of the pair.
    pub outcome: BatchOutcome,
    /// Number of inliers.
    pub inliers: Option<usize>,
    /// log₁₀ of the number of false alarms.
    pub log10_nfa: Option<f64>,
    /// Fraction of the source that overlaps with the target.
    pub overlap: Option<f64>,
    /// Root mean square residual: of the overlap for clouds, of the inliers for matches, in target units.
    pub rmse: Option<f64>,
    /// How far the transform may be off (95 %): length in target units, and angle in degrees. Known for registered pairs only.
    pub accuracy: Option<[f64; 2]>,
    /// Scale of the transform.
    pub scale: Option<f64>,
    /// Wall-clock seconds.
    pub seconds: Option<f64>,
    /// Page of this pair, relative to the page of the batch.
    pub link: Option<String>,
}

/// A page of many pairs.
///
/// ```
/// use pcr99_document::{Inputs, PairResult};
/// use pcr99_page::{BatchPage, BatchRow};
///
/// let result = PairResult::failed("a-b", Inputs::matches("m.csv"), "cannot read `m.csv`");
/// let page = BatchPage::new("pcr99 0.1.0", vec![BatchRow::of_result(&result, None)]);
/// assert!(page.with_command("pcr99 batch pairs.csv").to_html().contains("0 of 1 pair registered"));
/// ```
#[derive(Debug, Clone)]
pub struct BatchPage {
    program: String,
    command: Option<String>,
    rows: Vec<BatchRow>,
}

impl BatchOutcome {
    /// Position of the status in the order of the page: problems first.
    fn order(&self) -> usize {
        match self {
            Self::Failed(_) => 0,
            Self::Ran { status: Status::NoSolution, .. } => 1,
            Self::Ran { status: Status::NotReliable, .. } => 2,
            Self::Ran { status: Status::Registered, .. } => 3,
        }
    }

    fn class(&self) -> &'static str {
        ["bad", "bad", "doubtful", "good"][self.order()]
    }

    fn word(&self) -> &'static str {
        ["failed", "no solution", "not reliable", "registered"][self.order()]
    }

    fn doubt(&self) -> Option<DoubtCode> {
        match self {
            Self::Ran { doubt, .. } => *doubt,
            Self::Failed(_) => None,
        }
    }

    /// What pairs with the same reason have in common.
    fn group(&self) -> (usize, Option<DoubtCode>) {
        (self.order(), self.doubt())
    }

    fn code(&self) -> Option<&'static str> {
        self.doubt().map(DoubtCode::as_str)
    }

    /// What all pairs with this status and doubt have in common.
    fn meaning(&self) -> &'static str {
        match (self, self.doubt()) {
            (Self::Failed(_), _) => "The pair could not be run.",
            (Self::Ran { .. }, Some(doubt)) => doubt.meaning(),
            (Self::Ran { .. }, None) => "The data confirm the transform.",
        }
    }

    /// What is said of one pair.
    fn sentence(&self) -> &str {
        match self {
            Self::Ran { reason, .. } => reason,
            Self::Failed(why) => why,
        }
    }

    fn is_registered(&self) -> bool {
        matches!(self, Self::Ran { status: Status::Registered, .. })
    }
}

/// A cell of the table: what is shown, and the number by which rows are sorted.
struct Cell {
    key: Option<f64>,
    text: String,
}

impl BatchRow {
    /// The row of a result; `seconds` is the time that the pair took.
    pub fn of_result(result: &PairResult, seconds: Option<f64>) -> Self {
        let document = result.document();
        let outcome = match document {
            Some(document) => BatchOutcome::Ran {
                status: document.status(),
                doubt: document.doubt(),
                reason: document.reason().to_owned(),
            },
            None => BatchOutcome::Failed(result.error().unwrap_or_default().to_owned()),
        };
        Self {
            id: result.pair_id().to_owned(),
            outcome,
            inliers: document.map(|document| document.inliers().len()),
            log10_nfa: document.and_then(Document::evidence).map(|evidence| evidence.log10_nfa),
            overlap: document.and_then(Document::fit).map(|fit| fit.overlap_source),
            rmse: document.and_then(|document| match document {
                Document::Matches(matches) => matches.inlier_rmse,
                Document::Clouds(clouds) => clouds.rmse,
            }),
            // The accuracy of a wrong transform says nothing.
            accuracy: document
                .filter(|document| document.status() == Status::Registered)
                .and_then(Document::accuracy)
                .map(|accuracy| [accuracy.translation, accuracy.rotation_deg]),
            scale: document.and_then(Document::target_from_source).map(|model| model.scale()),
            seconds,
            link: None,
        }
    }

    /// The cells with numbers.
    fn cells(&self) -> [Cell; 7] {
        let cell =
            |key: Option<f64>, text: Option<String>| Cell { key, text: text.unwrap_or("–".to_owned()) };
        let evidence = |x: f64| if x.is_finite() { format!("{x:.1}") } else { "−∞".to_owned() };
        [
            cell(self.inliers.map(|count| count as f64), self.inliers.map(grouped)),
            cell(self.log10_nfa.map(|x| x.max(f64::MIN)), self.log10_nfa.map(evidence)),
            cell(self.overlap, self.overlap.map(percent)),
            cell(self.rmse, self.rmse.map(shown)),
            cell(
                self.accuracy.map(|[length, _]| length),
                self.accuracy.map(|[length, angle]| format!("{}, {}°", rough(length), rough(angle))),
            ),
            cell(self.scale, self.scale.map(shown)),
            cell(self.seconds, self.seconds.map(duration)),
        ]
    }
}

/// A head of the table.
struct Head {
    name: &'static str,
    /// How the script sorts: as `text` or as `number`.
    kind: &'static str,
    is_right: bool,
}

const HEADS: [Head; 10] = [
    Head { name: "pair", kind: "text", is_right: false },
    Head { name: "status", kind: "number", is_right: false },
    Head { name: "reason", kind: "text", is_right: false },
    Head { name: "inliers", kind: "number", is_right: true },
    Head { name: "log₁₀ false alarms", kind: "number", is_right: true },
    Head { name: "overlap", kind: "number", is_right: true },
    Head { name: "rmse", kind: "number", is_right: true },
    Head { name: "accuracy, 95 %", kind: "number", is_right: true },
    Head { name: "scale", kind: "number", is_right: true },
    Head { name: "time", kind: "number", is_right: true },
];

/// Pairs with the same status and the same doubt.
struct Group<'a> {
    /// Outcome of the first of them.
    outcome: &'a BatchOutcome,
    count: usize,
}

impl Group<'_> {
    fn count_text(&self) -> String {
        grouped(self.count)
    }

    /// Length of the bar.
    fn percent(&self, all: usize) -> String {
        format!("{:.1}", 100.0 * self.count as f64 / all as f64)
    }
}

#[derive(Template)]
#[template(path = "batch.html")]
struct Body<'a> {
    mark: Mark,
    sentence: &'a str,
    groups: Vec<Group<'a>>,
    heads: &'static [Head],
    /// Problems first, pairs with the same reason together.
    rows: Vec<&'a BatchRow>,
}

impl BatchPage {
    /// A page of these pairs; `program` is the name and version of the program that makes it.
    pub fn new(program: &str, rows: Vec<BatchRow>) -> Self {
        Self { program: program.to_owned(), command: None, rows }
    }

    /// Adds the command that makes it.
    #[must_use]
    pub fn with_command(self, command: &str) -> Self {
        Self { command: Some(command.to_owned()), ..self }
    }

    /// The page as HTML. The same rows give the same bytes.
    pub fn to_html(&self) -> String {
        self.with_page(|page| page.to_html())
    }

    /// Writes the page, completely or not at all.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), Error> {
        self.with_page(|page| page.write(path))
    }

    fn with_page<T>(&self, make: impl FnOnce(Page<'_>) -> T) -> T {
        let all = self.rows.len();
        let registered = self.rows.iter().filter(|row| row.outcome.is_registered()).count();
        let noun = if all == 1 { "pair" } else { "pairs" };
        let sentence = format!("{} of {} {noun} registered", grouped(registered), grouped(all));
        let status = if registered == all { Status::Registered } else { Status::NotReliable };
        let (mark, groups) = (Mark::of(status), self.groups());
        let rows = self.by_group(&groups);
        let body = rendered(&Body { mark, sentence: &sentence, groups, heads: &HEADS, rows });
        make(Page {
            title: &format!("pcr99 batch: {sentence}"),
            body: &body,
            script: SCRIPT,
            with_plots: false,
            with_workers: false,
            command: self.command.as_deref(),
            program: &self.program,
        })
    }

    /// The pairs in the order of their groups; those of a group stay in the order of the manifest.
    fn by_group(&self, groups: &[Group<'_>]) -> Vec<&BatchRow> {
        let mut rows: Vec<&BatchRow> = self.rows.iter().collect();
        rows.sort_by_key(|row| groups.iter().position(|group| group.outcome.group() == row.outcome.group()));
        rows
    }

    /// Pairs by status and doubt: in the order of the statuses, then the most frequent doubt first.
    fn groups(&self) -> Vec<Group<'_>> {
        let mut groups: Vec<Group<'_>> = Vec::new();
        for BatchRow { outcome, .. } in &self.rows {
            match groups.iter_mut().find(|group| group.outcome.group() == outcome.group()) {
                Some(group) => group.count += 1,
                None => groups.push(Group { outcome, count: 1 }),
            }
        }
        groups.sort_by(|a, b| {
            let key = |group: &Group<'_>| {
                (group.outcome.order(), std::cmp::Reverse(group.count), group.outcome.doubt())
            };
            key(a).cmp(&key(b))
        });
        groups
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pcr99_document::Inputs;

    fn row(id: &str, outcome: BatchOutcome) -> BatchRow {
        BatchRow {
            id: id.to_owned(),
            outcome,
            inliers: Some(12),
            log10_nfa: Some(-9.25),
            overlap: Some(0.5),
            rmse: Some(0.0123),
            accuracy: Some([0.000_84, 0.0213]),
            scale: Some(1.0),
            seconds: None,
            link: Some(format!("{id}.html")),
        }
    }

    fn ran(status: Status, doubt: Option<DoubtCode>, reason: &str) -> BatchOutcome {
        BatchOutcome::Ran { status, doubt, reason: reason.to_owned() }
    }

    #[test]
    fn rows_from_results() {
        let source: Vec<[f64; 3]> = (0..60_u32)
            .map(|i| [f64::from(i % 7), f64::from(i * i % 31), f64::from(i * i * i % 29)])
            .collect();
        let pairs = pcr99::Correspondences::new(&source, &source).expect("matches");
        let found = pcr99::solve(&pairs, pcr99::Scale::one(), &pcr99::Params::new()).expect("a search");
        let document = Document::of_matches("default", &found);
        let result = PairResult::ran("a", Inputs::matches("m.csv"), document.clone());
        let row = BatchRow::of_result(&result, Some(0.5));
        assert_eq!(row.outcome, ran(Status::Registered, None, document.reason()));
        assert_eq!((row.inliers, row.overlap, row.seconds), (Some(60), None, Some(0.5)));
        assert_eq!(row.log10_nfa, document.evidence().map(|evidence| evidence.log10_nfa));

        let failed = PairResult::failed("d", Inputs::matches("m.csv"), "no such file");
        let row = BatchRow::of_result(&failed, None);
        assert_eq!(row.outcome, BatchOutcome::Failed("no such file".to_owned()));
        assert_eq!((row.inliers, row.log10_nfa, row.id.as_str()), (None, None, "d"));
    }

    #[test]
    fn counted_by_doubt_and_nothing_is_taken_for_markup() {
        let ambiguous = Some(DoubtCode::Ambiguous);
        let page = BatchPage::new(
            "pcr99 0",
            vec![
                row("a", ran(Status::NotReliable, Some(DoubtCode::LittleOverlap), "little overlap")),
                row("<script>alert(1)</script>", ran(Status::Registered, None, "consistent")),
                row("c", ran(Status::NotReliable, ambiguous, "another fits 93.5 % as well")),
                row("javascript:x", BatchOutcome::Failed("cannot read `<b>`".to_owned())),
                row("e", ran(Status::NotReliable, ambiguous, "another fits 88 % as well")),
            ],
        );
        let groups: Vec<_> = page
            .groups()
            .iter()
            .map(|group| (group.outcome.word(), group.outcome.code(), group.count))
            .collect();
        assert_eq!(
            groups,
            [
                ("failed", None, 1),
                ("not reliable", Some("ambiguous"), 2),
                ("not reliable", Some("little_overlap"), 1),
                ("registered", None, 1)
            ]
        );
        let html = page.to_html();
        assert!(html.contains("1 of 5 pairs registered"));
        assert!(
            !html.contains("<script>alert") && !html.contains("<b>`") && !html.contains("href=\"javascript")
        );
        assert!(html.contains("href=\"./javascript%3Ax.html\"") && html.contains("-9.2"), "{html}");
        // Problems first, those with the same reason together.
        let place = |text: &str| html.find(text).unwrap_or_else(|| panic!("no {text}"));
        let order = ["cannot read", "another fits 93.5", "another fits 88", "little overlap", "consistent"]
            .map(|text| place(&format!("<td class=\"reason\">{text}")));
        assert!(order.is_sorted(), "{order:?}");
        assert!(html.contains("0.00084, 0.021°") && html.contains("0.0123"), "{html}");
        assert!(html.contains("93.5\u{a0}%"), "{html}");
        assert!(BatchPage::new("pcr99 0", Vec::new()).to_html().contains("0 of 0 pairs registered"));
    }
}
