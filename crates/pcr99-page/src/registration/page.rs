//! A whole page of registrations.

use std::path::Path;

use super::{ReportHead, SCRIPT, body, view::RegistrationView};
use crate::{Error, frame::Page, status::Mark};

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
    head: ReportHead,
    views: Vec<RegistrationView>,
}

impl RegistrationPage {
    /// An empty page; `program` is the name and version of the program that makes it.
    pub fn new(program: &str) -> Self {
        Self { program: program.to_owned(), command: None, head: ReportHead::default(), views: Vec::new() }
    }

    /// Adds the command that makes it.
    #[must_use]
    pub fn with_command(self, command: &str) -> Self {
        Self { command: Some(command.to_owned()), ..self }
    }

    /// Adds a head with title, project, author and date.
    #[must_use]
    pub fn with_head(self, head: ReportHead) -> Self {
        Self { head, ..self }
    }

    /// Adds a further registration.
    #[must_use]
    pub fn with_view(mut self, view: RegistrationView) -> Self {
        self.views.push(view);
        self
    }

    /// The page as HTML. The same registrations give the same bytes.
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
        let body = body(&self.head, &self.views);
        let with_plots = self.views.iter().any(|view| view.has_points);
        let (title, command) = (self.title(), self.command.as_deref());
        let program = &self.program;
        make(Page {
            title: &title,
            body: &body,
            script: SCRIPT,
            with_plots,
            with_workers: false,
            command,
            program,
        })
    }

    fn title(&self) -> String {
        if let Some(title) = &self.head.title {
            return title.clone();
        }
        let [view] = self.views.as_slice() else { return "pcr99".to_owned() };
        let status = Mark::of(view.status).title;
        match (&view.title, &view.names) {
            (Some(title), _) => format!("{title}: {status}"),
            (None, Some([source, target])) => format!("{source} → {target}: {status}"),
            (None, None) => format!("pcr99: {status}"),
        }
    }
}
