//! Tables in the form of the template.

use pcr99_lab::monte_carlo::ScaleMode;

use super::tied;
use crate::tables::Table;

/// A table, or part of one, as the template shows it.
pub(super) struct TableView {
    pub(super) id: String,
    /// Element of the heading.
    pub(super) heading: &'static str,
    pub(super) title: String,
    pub(super) caption: String,
    pub(super) columns: Vec<CellView>,
    pub(super) rows: Vec<Vec<CellView>>,
}

/// A cell of a table.
pub(super) struct CellView {
    pub(super) text: String,
    pub(super) is_number: bool,
}

impl TableView {
    /// The whole table.
    pub(super) fn whole(table: &Table) -> Self {
        Self::part(table, table.name.to_owned(), "h2", 0, |_| true)
    }

    /// The rows of one scale mode, without the column that names it.
    pub(super) fn of_mode(table: &Table, scale: ScaleMode) -> Self {
        let is_of_mode = |row: &[Option<String>]| row[0].as_deref() == Some(scale.name());
        Self::part(table, format!("{}-{}", table.name, scale.name()), "h3", 1, is_of_mode)
    }

    fn part(
        table: &Table,
        id: String,
        heading: &'static str,
        first_column: usize,
        is_wanted: impl Fn(&[Option<String>]) -> bool,
    ) -> Self {
        let cell =
            |(column, text): (usize, &str)| CellView { text: tied(text), is_number: column >= Table::WORDS };
        let row = |row: &Vec<Option<String>>| {
            let cells = row.iter().map(|cell| cell.as_deref().unwrap_or("–"));
            cells.enumerate().skip(first_column).map(cell).collect()
        };
        let columns = table.columns.iter().map(String::as_str);
        Self {
            id,
            heading,
            title: tied(&table.title),
            caption: tied(&table.caption),
            columns: columns.enumerate().skip(first_column).map(cell).collect(),
            rows: table.rows.iter().filter(|row| is_wanted(row)).map(row).collect(),
        }
    }
}
