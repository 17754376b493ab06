//! Pages: where they go, checked before any work is done for them, and the command that they show.

use std::{ffi::OsString, path::Path};

use anyhow::{Result, ensure};
use pcr99_cloud::OutputFile;
use pcr99_document::PROGRAM;
use pcr99_page::{RegistrationPage, RegistrationView, ReportHead};

use crate::{
    args::{Args, PageHead},
    output::Sink,
    watch::Busy,
};

/// A file for a page, and the head of the page.
#[derive(Debug)]
pub(crate) struct PageFile {
    sink: Sink,
    head: ReportHead,
}

impl PageFile {
    /// The file of the option `page`, if it can be written and differs from `others`, which are named by their options.
    pub(crate) fn new(path: Option<&Path>, others: &[(&str, &Sink)]) -> Result<Option<Self>> {
        let Some(path) = path else { return Ok(None) };
        let sink = Sink::File(OutputFile::new(path)?);
        for (option, other) in others {
            ensure!(!sink.is_same_file(other), "{option} and --page name the same file: give each its own");
        }
        Ok(Some(Self { sink, head: ReportHead::default() }))
    }

    /// As [`new`](Self::new), with a head, which is an error without a page.
    pub(crate) fn with_head(
        path: Option<&Path>,
        others: &[(&str, &Sink)],
        head: &PageHead,
    ) -> Result<Option<Self>> {
        let head = head.head();
        ensure!(
            path.is_some() || head.is_empty(),
            "--title, --project, --author and --date are parts of the page: add --page FILE"
        );
        Ok(Self::new(path, others)?.map(|page| Self { head, ..page }))
    }

    /// Writes a page with these views.
    pub(crate) fn write(self, args: &Args, views: impl IntoIterator<Item = RegistrationView>) -> Result<()> {
        let _busy = Busy::start("writing the page".to_owned(), args.quiet);
        let page =
            RegistrationPage::new(PROGRAM).with_command(&args.command_line).with_head(self.head.clone());
        let page = views.into_iter().fold(page, RegistrationPage::with_view);
        self.write_html(&page.to_html())
    }

    /// Writes a finished page.
    pub(crate) fn write_html(self, html: &str) -> Result<()> {
        self.sink.write(|out| out.write_all(html.as_bytes()))
    }
}

/// A suggestion what to do next.
pub(crate) fn next_command(args: &Args, page: Option<&Path>) -> String {
    match page {
        Some(page) => format!("  Open `{}` in a browser to see the result in 3-D.", page.display()),
        None => format!("  To see the result in 3-D:  {} --page view.html", args.command_line),
    }
}

/// The file name, without directories.
pub(crate) fn name(path: &Path) -> String {
    path_text(Path::new(path.file_name().unwrap_or(path.as_os_str())))
}

/// A path as text.
pub(crate) fn path_text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// The command as it would be typed into a shell, with the plain name of the program.
pub(crate) fn command_line(args: &[OsString]) -> String {
    let words = args.iter().skip(1).map(|word| quoted(&word.to_string_lossy()));
    std::iter::once("pcr99".to_owned()).chain(words).collect::<Vec<_>>().join(" ")
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./:=,+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_can_be_typed_again() {
        let args = ["/usr/bin/pcr99", "solve", "it's <b>.csv", "--scale", "0.5..2", ""].map(OsString::from);
        assert_eq!(command_line(&args), r"pcr99 solve 'it'\''s <b>.csv' --scale 0.5..2 ''");
    }
}
