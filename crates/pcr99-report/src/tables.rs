//! Tables of a benchmark, as Markdown and CSV: the paper's Tables I and II with the published numbers, times, and limits.

use std::{collections::HashMap, fmt::Write as _};

use pcr99_lab::monte_carlo::{Estimator, Outcome, Record, ScaleMode, Size, TimedFrom};

use crate::{Summary, evidence_limit::Setting, published, statistics::median};

/// A table. Cells without a value are `None`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// Name of its files, without the extension.
    pub name: &'static str,
    /// Heading.
    pub title: String,
    /// Explanation below the table.
    pub caption: String,
    /// Column names. The first [`Table::WORDS`] columns hold words, the others numbers.
    pub columns: Vec<String>,
    /// Rows, with one cell per column.
    pub rows: Vec<Vec<Option<String>>>,
}

impl Table {
    /// Number of columns that hold words: scale mode and method.
    pub const WORDS: usize = 2;

    /// The table as Markdown, with heading and caption.
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

    /// Column names and rows as CSV, quoted where needed (RFC 4180, but lines end with `\n`).
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
}

fn some(value: impl ToString) -> Option<String> {
    Some(value.to_string())
}

/// Table I: number of runs with large rotation errors, over all outlier ratios.
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
        title: "Table I: runs with large rotation errors".to_owned(),
        caption: format!(
            "Runs with a rotation error above 5° and above 10°, over the outlier ratios {}. A run without a transform counts as both. \
             \"Registered\" is the verdict of the same evidence for every method. The fit on the true inliers is the reference: no \
             method does better on average. The paper reports {} runs in MATLAB.",
            listed(&ratios(summary)),
            published::RUNS
        ),
        columns: columns.map(str::to_owned).to_vec(),
        rows,
    }
}

/// Table II: speed-up of PCR-99 and of our method at 99 % outliers, or at the highest ratio in the records.
pub fn speedups(summary: &Summary, records: &[Record], from: TimedFrom) -> Table {
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
    let note = if at_99.is_none() { " There are no runs at the paper's ratio, 99 %." } else { "" };
    Table {
        name: "table2",
        title: format!("Table II: median speed-up at {at} outliers"),
        caption: format!(
            "Speed-up of PCR-99, and of ours, over each method: the median over problems of the ratio of times on the same problem. Below 1, \
             the method is faster; that counts only where its errors are small. CPU time on one thread, {}, all methods compiled; the paper's \
             numbers are from MATLAB.{note}",
            from.words()
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
pub fn times(summary: &Summary, from: TimedFrom) -> Table {
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
        title: "Median time by outlier ratio".to_owned(),
        caption: format!("CPU milliseconds on one thread, {}.", from.words()),
        columns,
        rows,
    }
}

/// Limits of a method: one row for each number of matches and outlier ratio.
pub fn reach(summary: &Summary, noise: f64, from: TimedFrom) -> Table {
    let columns = [
        "scale",
        "method",
        "matches",
        "outliers",
        "inliers",
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
        title: "Success by number of matches and outlier ratio".to_owned(),
        caption: format!(
            "A problem is solved when it is registered with a rotation error of at most 10°. The limit of the evidence is the smallest \
             number of inliers that can be told from chance. CPU milliseconds on one thread, {}.",
            from.words()
        ),
        columns: columns.map(str::to_owned).to_vec(),
        rows: summary.cells.iter().filter_map(row).collect(),
    }
}

/// Times in seconds by scale mode, method and run.
struct Times<'a>(HashMap<(ScaleMode, &'a str, u64), f64>);

impl<'a> Times<'a> {
    fn of(records: &'a [Record], size: Size) -> Self {
        let ran = |record: &&Record| record.size() == size && record.status != Outcome::Failed;
        let of_size = records.iter().filter(ran);
        Self(of_size.map(|r| ((r.scale, r.method.as_str(), r.run), r.seconds())).collect())
    }

    /// Median ratio of times over the problems that both estimators have run on.
    fn speedup(&self, scale: ScaleMode, slow: Estimator, fast: Estimator) -> Option<f64> {
        let own = self.0.iter().filter(|((mode, name, _), _)| *mode == scale && *name == slow.name());
        let quotient = |(key, seconds): (&(ScaleMode, &str, u64), &f64)| {
            let other = self.0.get(&(scale, fast.name(), key.2))?;
            (*other > 0.0).then(|| seconds / other)
        };
        median(own.filter_map(quotient))
    }
}

/// Distinct outlier ratios, ascending.
pub(crate) fn ratios(summary: &Summary) -> Vec<f64> {
    let mut ratios: Vec<f64> = summary.cells.iter().map(|cell| cell.outlier_ratio).collect();
    ratios.sort_by(f64::total_cmp);
    ratios.dedup();
    ratios
}

fn listed(ratios: &[f64]) -> String {
    ratios.iter().map(|&ratio| percent(ratio)).collect::<Vec<_>>().join(", ")
}

/// A ratio in percent, without trailing zeros.
pub(crate) fn percent(ratio: f64) -> String {
    let text = format!("{:.6}", 100.0 * ratio);
    format!("{} %", text.trim_end_matches('0').trim_end_matches('.'))
}

/// Seconds as milliseconds, with three significant digits.
fn milliseconds(seconds: f64) -> String {
    significant(1e3 * seconds, 3)
}

/// A ratio of times, with at least two significant digits.
fn shown_factor(factor: f64) -> String {
    significant(factor, 2)
}

/// A number with at least `digits` significant digits and no exponent.
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
