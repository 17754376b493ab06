//! Frame of a page: one self-contained HTML file, readable in light and dark, wide and narrow, that loads nothing.

#[cfg(feature = "pages")]
mod page;

use askama::Template;

#[cfg(feature = "pages")]
pub use page::{Page, library_script};

/// The text of a template.
pub(crate) fn rendered(template: &impl Template) -> String {
    // Writing to a string fails only when a filter does, and ours do not.
    template.render().unwrap_or_else(|error| unreachable!("a template: {error}"))
}

/// JSON that can be put into a `script` element: no tag can begin in it.
pub fn script_json(json: &str) -> String {
    json.replace('<', "\\u003c")
}

/// Text as it is written in HTML, with a number and its percent sign on one line.
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
