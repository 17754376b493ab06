//! What all pages share: one self-contained document, readable in light and dark, wide and narrow, that asks no network for anything.

use std::path::Path;

use pcr99_base::output_file::OutputFile;
use plotly::Plot;

use crate::Error;

const STYLE: &str = include_str!("style.css");
const COMMON: &str = include_str!("common.js");

/// The browser itself keeps the promise that nothing is loaded and nothing is sent.
const POLICY: &str = "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; img-src data: blob:; \
                      base-uri 'none'; form-action 'none'";

/// A document to be put together.
#[derive(Debug, Clone, Copy)]
pub struct Page<'a> {
    /// Plain text.
    pub title: &'a str,
    /// HTML.
    pub body: &'a str,
    /// JavaScript that follows the shared one.
    pub script: &'a str,
    /// Whether the drawing library is needed.
    pub with_plots: bool,
}

impl Page<'_> {
    /// The whole document.
    pub fn to_html(self) -> String {
        let Self { title, body, script, with_plots } = self;
        let library = if with_plots { library() } else { String::new() };
        format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light dark\">\n\
             <title>{}</title>\n<link rel=\"icon\" href=\"data:,\">\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n{body}</main>\n\
             <p id=\"said\" role=\"status\" class=\"unseen\"></p>\n{library}\n<script>\n{COMMON}{script}</script>\n</body>\n</html>\n",
            escaped_html(title)
        )
    }
}

/// The drawing library, as part of the page; without the one for formulas, of which there are none.
fn library() -> String {
    let scripts = Plot::offline_js_sources();
    let first = scripts.rfind("<script").unwrap_or(scripts.len());
    scripts[..first].trim_end().to_owned()
}

/// The command that makes the page, and the version of what made it.
pub fn footer(command: Option<&str>, program: &str) -> String {
    let command = command.map_or(String::new(), |command| {
        let command = escaped_html(command);
        format!(
            "<div class=\"command\"><code id=\"command\">{command}</code><button type=\"button\" class=\"copy\" data-text=\"{command}\" \
             aria-label=\"Copy the command\">Copy</button></div>\n"
        )
    });
    format!(
        "<footer>\n{command}<p>Made by <span id=\"program\">{}</span></p>\n</footer>\n",
        escaped_html(program)
    )
}

/// Writes a document, whole or not at all.
///
/// # Errors
/// When the file cannot be written.
pub fn write(path: &Path, html: &str) -> Result<(), Error> {
    Ok(OutputFile::new(path)?.write(|out| out.write_all(html.as_bytes()))?)
}

/// Text as it must be written in HTML.
pub fn escaped_html(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '"' => escaped += "&quot;",
            '\'' => escaped += "&#39;",
            other => escaped.push(other),
        }
    }
    // A number and its percent sign stay together.
    escaped.replace(" %", "&nbsp;%")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_safe_in_html() {
        assert_eq!(
            escaped_html("<a href=\"x\">'&'</a>"),
            "&lt;a href=&quot;x&quot;&gt;&#39;&amp;&#39;&lt;/a&gt;"
        );
    }
}
