//! The paper's tables beside its own numbers, and ours, as Markdown, CSV and HTML.

use std::{collections::HashMap, fmt::Write as _};

use pcr99_lab::monte_carlo::{Estimator, Outcome, Record, ScaleMode, Size};

use pcr99_page::frame::escaped_html;

use crate::{Summary, evidence_limit::Setting, published, statistics::median};

/// A table; empty cells have no value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// Name of its files, without the ending.
    pub name: &'static str,
    /// What it is.
    pub title: String,
    /// What one has to know to read it.
    pub caption: String,
    /// Heads of the columns; the first [`Table::WORDS`] hold words, the others numbers.
    pub columns: Vec<String>,
    /// Rows of as many cells.
    pub rows: Vec<Vec<Option<String>>>,
}

impl Table {
    /// How many columns hold words.
    pub const WORDS: usize = 2;

    /// With a heading and the caption below.
    pub fn to_markdown(&self) -> String {
        let escaped = |text: &str| text.replace('|', "\\|");
        let line = |cells: &mut dyn Iterator<Item = String>| {
            format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "))
        };
        let mut text = format!("## {}\n\n", self.title);
        text += &line(&mut self.columns.iter().map(|column| escaped(column)));
        let rule = (0..self.columns.len()).map(|column| if column < Self::WORDS { "---" } else { "---:" });
        text += &line(&mut rule.map(str::to_owned));
        for row in &self.rows {
            text += &line(&mut row.iter().map(|cell| cell.as_deref().map_or("–".to_owned(), escaped)));
        }
        let _ = write!(text, "\n{}\n", self.caption);
        text
    }

    /// Heads and rows only; quoted where needed (RFC 4180, but with plain line ends).
    pub fn to_csv(&self) -> String {
        let quoted = |text: &str| {
            if text.contains([',', '"', '\n', '\r']) {
                format!("\"{}\"", text.replace('"', "\"\""))
            } else {
                text.to_owned()
            }
        };
        let line = |cells: Vec<String>| cells.join(",") + "\n";
        let mut text = line(self.columns.iter().map(|column| quoted(column)).collect());
        for row in &self.rows {
            text += &line(row.iter().map(|cell| cell.as_deref().map_or(String::new(), quoted)).collect());
        }
        text
    }

    /// With heading and caption, for a page.
    pub(crate) fn to_html(&self) -> String {
        self.some_to_html("", "h2", 0, &|_| true)
    }

    /// The rows of one scale mode, which the page says elsewhere.
    pub(crate) fn of_mode_to_html(&self, scale: ScaleMode) -> String {
        self.some_to_html(&format!("-{}", scale.name()), "h3", 1, &|row| {
            row[0].as_deref() == Some(scale.name())
        })
    }

    fn some_to_html(
        &self,
        suffix: &str,
        heading: &str,
        first: usize,
        wanted: &dyn Fn(&[Option<String>]) -> bool,
    ) -> String {
        let cell = |tag: &str, column: usize, text: &str| {
            let class = if column < Self::WORDS { "" } else { " class=\"number\"" };
            format!("<{tag}{class}>{}</{tag}>", escaped_html(text))
        };
        let columns = self.columns.iter().enumerate().skip(first);
        let head: String = columns.map(|(column, text)| cell("th", column, text)).collect();
        let mut rows = String::new();
        for row in self.rows.iter().filter(|row| wanted(row)) {
            let cells = row.iter().enumerate().skip(first);
            let cells: String =
                cells.map(|(column, text)| cell("td", column, text.as_deref().unwrap_or("–"))).collect();
            let _ = writeln!(rows, "<tr>{cells}</tr>");
        }
        let title = escaped_html(&self.title);
        format!(
            "<section id=\"{}{suffix}\">\n<{heading}>{title}</{heading}>\n<div class=\"wide\" tabindex=\"0\" role=\"region\" \
             aria-label=\"{title}\"><table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}</tbody>\n\
             </table></div>\n<p class=\"caption\">{}</p>\n</section>\n",
            self.name,
            escaped_html(&self.caption)
        )
    }
}

fn some(value: impl ToString) -> Option<String> {
    Some(value.to_string())
}

/// Table I: large errors, over all outlier ratios.
pub fn large_errors(summary: &Summary) -> Table {
    let columns = [
        "scale",
        "method",
        "runs",
        "R error > 5°",
        "R error > 10°",
        "not registered",
        "registered, but > 10°",
        "time limit reached",
        "paper: > 5° of 5500",
        "paper: > 10° of 5500",
    ];
    let mut rows = Vec::new();
    for scale in ScaleMode::ALL {
        for estimator in summary.estimators(scale) {
            let own =
                || summary.cells.iter().filter(|cell| cell.scale == scale && cell.method == estimator.name());
            let sum = |count: &dyn Fn(&crate::Cell) -> usize| some(own().map(count).sum::<usize>());
            let published = published::large_errors(scale, estimator.name());
            rows.push(vec![
                some(scale.name()),
                some(estimator.title()),
                sum(&|cell| cell.runs),
                sum(&|cell| cell.above_5_deg),
                sum(&|cell| cell.above_10_deg),
                sum(&|cell| cell.runs - cell.registered),
                sum(&|cell| cell.registered_above_10_deg),
                sum(&|cell| cell.time_limit_reached),
                published.and_then(|(above_5, _)| some(above_5)),
                published.and_then(|(_, above_10)| some(above_10)),
            ]);
        }
    }
    Table {
        name: "table1",
        title: "Table I: how often errors are large".to_owned(),
        caption: format!(
            "Runs with a rotation error above 5° and above 10°, over the outlier ratios {}. A run without a transform counts as both. \
             \"Registered\" is the verdict of the evidence, the same for every method. A fit on the true inliers is the reference: no \
             method does better on average. The paper's numbers are of {} runs, in MATLAB.",
            listed(&ratios(summary)),
            published::RUNS
        ),
        columns: columns.map(str::to_owned).to_vec(),
        rows,
    }
}

/// Table II: how much faster PCR-99, and ours, are at 99 % outliers, or at the highest ratio that there is.
pub fn speedups(summary: &Summary, records: &[Record]) -> Table {
    let sizes = summary.sizes();
    let at_99 = sizes.iter().find(|size| size.outlier_ratio == published::SPEEDUP_RATIO);
    let size = at_99.or(sizes.last()).copied().unwrap_or(Size { points: 0, outlier_ratio: 0.0 });
    let seconds = Times::of(records, size);
    let mut rows = Vec::new();
    for scale in ScaleMode::ALL {
        for estimator in summary.estimators(scale) {
            if estimator == Estimator::TrueInliers {
                continue;
            }
            let cell = summary.cell(scale, size, estimator);
            let time = cell.and_then(|cell| cell.seconds());
            let against = |reference: Estimator| {
                (estimator != reference)
                    .then(|| seconds.speedup(scale, estimator, reference).map(shown_factor))
                    .flatten()
            };
            rows.push(vec![
                some(scale.name()),
                some(estimator.title()),
                time.map(|time| milliseconds(time.median)),
                time.map(|time| milliseconds(time.p95)),
                cell.map(|cell| format!("{} of {}", cell.above_10_deg, cell.runs)),
                against(Estimator::PAPER),
                at_99.and_then(|_| published::speedup(scale, estimator.name())).map(str::to_owned),
                against(Estimator::DEFAULT),
            ]);
        }
    }
    let at = percent(size.outlier_ratio);
    let note = if at_99.is_none() { " There are no runs at 99 %, the ratio of the paper." } else { "" };
    Table {
        name: "table2",
        title: format!("Table II: median speed-up at {at} wrong matches"),
        caption: format!(
            "How many times the time of PCR-99, and of ours, each method takes: the median over problems of the quotient on the same \
             problem. Below 1 the method itself is faster, which is worth something only where its errors are not large. CPU time, one thread, all methods compiled; the paper's numbers are from MATLAB.{note}"
        ),
        columns: [
            "scale",
            "method",
            "median, ms",
            "95 %, ms",
            "R error > 10°",
            "speed-up of PCR-99",
            "paper: speed-up of PCR-99",
            "speed-up of ours",
        ]
        .map(str::to_owned)
        .to_vec(),
        rows,
    }
}

/// Median time of every method at every outlier ratio.
pub fn times(summary: &Summary) -> Table {
    let sizes = summary.sizes();
    let mut columns = vec!["scale".to_owned(), "method".to_owned()];
    columns.extend(sizes.iter().map(|size| percent(size.outlier_ratio)));
    let mut rows = Vec::new();
    for scale in ScaleMode::ALL {
        for estimator in summary.estimators(scale) {
            if estimator == Estimator::TrueInliers {
                continue;
            }
            let mut row = vec![some(scale.name()), some(estimator.title())];
            row.extend(sizes.iter().map(|&size| {
                let time = summary.cell(scale, size, estimator).and_then(|cell| cell.seconds());
                time.map(|time| milliseconds(time.median))
            }));
            rows.push(row);
        }
    }
    Table {
        name: "times",
        title: "Median time against the share of wrong matches".to_owned(),
        caption: "CPU milliseconds, one thread.".to_owned(),
        columns,
        rows,
    }
}

/// How far a method reaches: one row for each number of matches and share of wrong ones.
pub fn reach(summary: &Summary, noise: f64) -> Table {
    let columns = [
        "scale",
        "method",
        "matches",
        "wrong",
        "right matches",
        "limit of the evidence",
        "runs",
        "solved",
        "registered, but > 10°",
        "median, ms",
        "95 %, ms",
    ];
    let row = |cell: &crate::Cell| {
        let estimator = Estimator::of_name(&cell.method).filter(|other| *other != Estimator::TrueInliers)?;
        let limit = Setting { scale: cell.scale, noise }.least_inliers(cell.points);
        let time = cell.seconds();
        let wrong = (cell.outlier_ratio * cell.points as f64).round() as usize;
        Some(vec![
            some(cell.scale.name()),
            some(estimator.title()),
            some(cell.points),
            some(percent(cell.outlier_ratio)),
            some(cell.points - wrong),
            limit.and_then(some),
            some(cell.runs),
            some(cell.solved()),
            some(cell.registered_above_10_deg),
            time.map(|time| milliseconds(time.median)),
            time.map(|time| milliseconds(time.p95)),
        ])
    };
    Table {
        name: "limits",
        title: "How far it reaches".to_owned(),
        caption: "Solved is registered with a rotation error of at most 10°. The limit of the evidence is the least number of right \
                  matches that can be told from chance. CPU milliseconds, one thread."
            .to_owned(),
        columns: columns.map(str::to_owned).to_vec(),
        rows: summary.cells.iter().filter_map(row).collect(),
    }
}

/// Times of all methods on the same problems.
struct Times<'a>(HashMap<(ScaleMode, &'a str, u64), f64>);

impl<'a> Times<'a> {
    fn of(records: &'a [Record], size: Size) -> Self {
        let ran = |record: &&Record| record.size() == size && record.status != Outcome::Failed;
        let of_size = records.iter().filter(ran);
        Self(of_size.map(|r| ((r.scale, r.method.as_str(), r.run), r.seconds())).collect())
    }

    /// The median over the problems that both have run on.
    fn speedup(&self, scale: ScaleMode, slow: Estimator, fast: Estimator) -> Option<f64> {
        let own = self.0.iter().filter(|((mode, name, _), _)| *mode == scale && *name == slow.name());
        let quotient = |(key, seconds): (&(ScaleMode, &str, u64), &f64)| {
            let other = self.0.get(&(scale, fast.name(), key.2))?;
            (*other > 0.0).then(|| seconds / other)
        };
        median(own.filter_map(quotient))
    }
}

/// The different outlier ratios, ascending.
pub(crate) fn ratios(summary: &Summary) -> Vec<f64> {
    let mut ratios: Vec<f64> = summary.cells.iter().map(|cell| cell.outlier_ratio).collect();
    ratios.sort_by(f64::total_cmp);
    ratios.dedup();
    ratios
}

fn listed(ratios: &[f64]) -> String {
    ratios.iter().map(|&ratio| percent(ratio)).collect::<Vec<_>>().join(", ")
}

/// A share in percent, without more digits than it has.
pub(crate) fn percent(ratio: f64) -> String {
    let text = format!("{:.6}", 100.0 * ratio);
    format!("{} %", text.trim_end_matches('0').trim_end_matches('.'))
}

/// Seconds in milliseconds, three significant digits.
fn milliseconds(seconds: f64) -> String {
    significant(1e3 * seconds, 3)
}

/// A quotient, two significant digits and more where it is large.
fn shown_factor(factor: f64) -> String {
    significant(factor, 2)
}

/// At least so many significant digits, never an exponent.
fn significant(value: f64, digits: i32) -> String {
    if value == 0.0 || !value.is_finite() {
        return value.to_string();
    }
    let before_point = value.abs().log10().floor() as i32 + 1;
    format!("{value:.*}", usize::try_from((digits - before_point).clamp(0, 9)).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_readable() {
        assert_eq!([0.0, 0.5, 0.99, 0.9995].map(percent), ["0 %", "50 %", "99 %", "99.95 %"]);
        assert_eq!(
            [0.0123456, 0.5, 1.26, 12.6, 126.4].map(shown_factor),
            ["0.012", "0.50", "1.3", "13", "126"]
        );
        assert_eq!([1.234e-6, 0.0999, 2.0].map(milliseconds), ["0.00123", "99.9", "2000"]);
    }
}
