use std::path::{Path, PathBuf};

use pcr99_base::output_file::OutputFile;
use pcr99_lab::monte_carlo::{Header, ScaleMode, Stored};
use serde::Serialize;

use crate::{
    Cell, Error, Summary,
    figures::{
        boxes::BoxFigure,
        lines::{self, LineFigure},
    },
    page,
    tables::{self, Table},
};

/// Tables and figures of a benchmark.
#[derive(Debug, Clone)]
pub struct Report {
    pub(crate) header: Header,
    /// Number of records, and number of records when the benchmark is complete.
    pub(crate) progress: (u64, u64),
    summary: Summary,
    tables: Vec<Table>,
    pub(crate) figures: Vec<Figure>,
}

/// Version of the format of `summary.json`.
const SUMMARY_SCHEMA: u32 = 1;

/// The file `summary.json`.
#[derive(Debug, Serialize)]
struct SummaryDocument<'a> {
    schema: u32,
    /// Number of records in this summary.
    records: u64,
    /// Number of records of the complete benchmark.
    records_planned: u64,
    header: &'a Header,
    cells: &'a [Cell],
}

/// A figure with the name of its file.
#[derive(Debug, Clone)]
pub(crate) struct Figure {
    pub(crate) name: &'static str,
    pub(crate) drawing: Drawing,
}

/// Content of a figure.
#[derive(Debug, Clone)]
pub(crate) enum Drawing {
    Boxes(BoxFigure),
    Lines(LineFigure),
}

impl Drawing {
    fn to_svg(&self) -> String {
        match self {
            Self::Boxes(figure) => figure.to_svg(),
            Self::Lines(figure) => figure.to_svg(),
        }
    }

    pub(crate) fn title(&self) -> &str {
        match self {
            Self::Boxes(figure) => &figure.title,
            Self::Lines(figure) => &figure.title,
        }
    }
}

impl Report {
    /// A report on the stored records. The benchmark need not be complete.
    ///
    /// # Errors
    /// When there are no records.
    pub fn new(stored: &Stored) -> Result<Self, Error> {
        let Stored { header, records } = stored;
        if records.is_empty() {
            return Err(Error::NoRecords);
        }
        let summary = Summary::of(records);
        let (noise, from) = (header.configuration.noise, header.configuration.timed_from);
        let (tables, figures) = if summary.points().len() > 1 {
            let drawn =
                [("growth", lines::growth(&summary, noise)), ("limit", lines::limit(&summary, noise))];
            let figures = drawn.into_iter().filter_map(|(name, figure)| {
                figure.map(|figure| Figure { name, drawing: Drawing::Lines(figure) })
            });
            (vec![tables::reach(&summary, noise, from)], figures.collect())
        } else {
            let figures = [
                ("figure2", ScaleMode::Unknown, "Figure 2: problems with unknown scale"),
                ("figure3", ScaleMode::Known, "Figure 3: problems with known scale"),
            ];
            let figures = figures.into_iter().filter_map(|(name, scale, title)| {
                let figure = BoxFigure::of(&summary, scale, title.to_owned())?;
                Some(Figure { name, drawing: Drawing::Boxes(figure) })
            });
            let tables = vec![
                tables::large_errors(&summary),
                tables::speedups(&summary, records, from),
                tables::times(&summary, from),
            ];
            (tables, figures.collect())
        };
        let progress = (records.len() as u64, header.configuration.records());
        Ok(Self { header: header.clone(), progress, summary, tables, figures })
    }

    /// The numbers behind tables and figures.
    pub fn summary(&self) -> &Summary {
        &self.summary
    }

    /// The tables.
    pub fn tables(&self) -> &[Table] {
        &self.tables
    }

    /// Writes all files of the report into a directory, each completely or not at all, and returns their paths.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn write(&self, directory: &Path) -> Result<Vec<PathBuf>, Error> {
        let mut documents = vec![("summary.json".to_owned(), self.summary_json())];
        for table in &self.tables {
            documents.push((format!("{}.md", table.name), table.to_markdown()));
            documents.push((format!("{}.csv", table.name), table.to_csv()));
        }
        for figure in &self.figures {
            documents.push((format!("{}.svg", figure.name), figure.drawing.to_svg()));
        }
        documents.push(("figures.html".to_owned(), self.to_html()));
        documents
            .into_iter()
            .map(|(name, text)| {
                let path = directory.join(name);
                OutputFile::new(&path)?.write(|out| out.write_all(text.as_bytes()))?;
                Ok(path)
            })
            .collect()
    }

    /// The interactive page.
    pub fn to_html(&self) -> String {
        page::bench::html(self)
    }

    fn summary_json(&self) -> String {
        let (records, records_planned) = self.progress;
        let document = SummaryDocument {
            schema: SUMMARY_SCHEMA,
            records,
            records_planned,
            header: &self.header,
            cells: &self.summary.cells,
        };
        // Keys are texts and numbers are plain, so that there is nothing to fail.
        let text = serde_json::to_string_pretty(&document).unwrap_or_else(|error| unreachable!("{error}"));
        text + "\n"
    }
}
