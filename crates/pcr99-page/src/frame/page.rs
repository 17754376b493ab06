//! A whole page.

use std::path::Path;

use askama::Template;
use pcr99_base::{output_file::OutputFile, text::without_direction_marks};
use plotly::Plot;

use super::rendered;
use crate::Error;

const STYLE: &str = include_str!("style.css");
const COMMON: &str = include_str!("common.js");

/// Makes the browser itself enforce that nothing is loaded and nothing is sent. The drawing library compiles functions, hence
/// `unsafe-eval`.
const POLICY: &str = "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; img-src data: blob:; \
                      base-uri 'none'; form-action 'none'";

/// Parts of a page.
#[derive(Debug, Clone, Copy)]
pub struct Page<'a> {
    /// Title, as plain text.
    pub title: &'a str,
    /// Content, as HTML in which all texts are escaped already.
    pub body: &'a str,
    /// JavaScript that follows the shared one.
    pub script: &'a str,
    /// Whether the page contains the drawing library.
    pub with_plots: bool,
    /// Whether the page may start workers, from its own text.
    pub with_workers: bool,
    /// Command that makes the page, shown at its end.
    pub command: Option<&'a str>,
    /// Name and version of the program that made the page.
    pub program: &'a str,
}

#[derive(Template)]
#[template(path = "page.html")]
struct PageTemplate<'a> {
    title: &'a str,
    policy: &'a str,
    style: &'static str,
    body: &'a str,
    command: Option<&'a str>,
    program: &'a str,
    library: String,
    common: &'static str,
    script: &'a str,
}

impl Page<'_> {
    /// The whole page. The same parts give the same bytes.
    pub fn to_html(self) -> String {
        let Page { title, body, script, with_plots, with_workers, command, program } = self;
        let library = if with_plots { library() } else { String::new() };
        let workers = if with_workers { "; worker-src blob:" } else { "" };
        let policy = format!("{POLICY}{workers}");
        // Names of files and pairs must not turn the text around them.
        let [title, body, program] = [title, body, program].map(without_direction_marks);
        let command = command.map(without_direction_marks);
        rendered(&PageTemplate {
            title: &title,
            policy: &policy,
            style: STYLE,
            body: &body,
            command: command.as_deref(),
            program: &program,
            library,
            common: COMMON,
            script,
        })
    }

    /// Writes the page, completely or not at all.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write(self, path: &Path) -> Result<(), Error> {
        Ok(OutputFile::new(path)?.write(|out| out.write_all(self.to_html().as_bytes()))?)
    }
}

/// The drawing library as part of the page, without the library for formulas, which no page has.
fn library() -> String {
    let scripts = Plot::offline_js_sources();
    let first = scripts.rfind("<script").unwrap_or(scripts.len());
    scripts[..first].trim_end().to_owned()
}

/// The drawing library as a script, for a page that stores it in another way.
pub fn library_script() -> String {
    let element = library();
    let script = element.split_once('>').map_or("", |(_, rest)| rest);
    script.strip_suffix("</script>").unwrap_or(script).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_do_not_turn_the_text_around_them() {
        let page = Page {
            title: "a\u{202e}b",
            body: "<p>\u{2067}x</p>",
            script: "",
            with_plots: false,
            with_workers: false,
            command: Some("pcr99 solve 'a\u{202e}vsc.exe'"),
            program: "pcr99",
        };
        let html = page.to_html();
        assert!(!html.contains(pcr99_base::text::is_direction_mark));
        for shown in ["<title>a⟨U+202E⟩b", "<p>⟨U+2067⟩x</p>", "a⟨U+202E⟩vsc.exe"] {
            assert!(html.contains(shown), "{shown}");
        }
    }

    #[test]
    fn title_command_and_program_are_escaped() {
        let page = Page {
            title: "</title><b>",
            body: "<p>body</p>\n",
            script: "",
            with_plots: false,
            with_workers: false,
            command: Some("pcr99 solve '\"<b>.csv'"),
            program: "pcr99 <0>",
        };
        let html = page.to_html();
        assert!(
            html.contains("<p>body</p>") && !html.contains("</title><b>") && !html.contains("\"<b>.csv"),
            "{html}"
        );
        assert!(html.contains("pcr99 &#60;0&#62;"), "{html}");
    }
}
