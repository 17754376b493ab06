//! Head of a report: what the reader cannot learn from the data.

/// Title, project, author and date of a page, as they are to be printed. Each may be missing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReportHead {
    /// Title of the page, instead of one made from the names of the files.
    pub title: Option<String>,
    /// Project that the registration belongs to.
    pub project: Option<String>,
    /// Author of the report.
    pub author: Option<String>,
    /// Date of the report, as text. No date is added on its own, so that the same input gives the same page.
    pub date: Option<String>,
}

impl ReportHead {
    /// Whether nothing is given.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Name and value of all parts but the title.
    pub(super) fn lines(&self) -> Vec<(&'static str, &str)> {
        let parts = [("Project", &self.project), ("Author", &self.author), ("Date", &self.date)];
        parts.into_iter().filter_map(|(name, value)| Some((name, value.as_deref()?))).collect()
    }
}
