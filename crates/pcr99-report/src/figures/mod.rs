//! Drawings, each as data first: the files and the page draw the same.

/// Box plots against the outlier ratio: the paper's Figures 2 and 3.
pub(crate) mod boxes;

/// A panel with axes, on a drawing.
mod panel;

/// Success and time against the number of matches, and against the outlier ratio.
pub(crate) mod lines;

/// Median times of all methods.
pub(crate) mod times;

use plotters::prelude::*;

/// Draws on an SVG of that size, on white; `title` is for readers that cannot see it.
fn svg(
    [width, height]: [u32; 2],
    title: &str,
    draw: impl FnOnce(&Canvas<'_>) -> Result<(), Failed>,
) -> String {
    let mut text = String::new();
    {
        let canvas = SVGBackend::with_string(&mut text, (width, height)).into_drawing_area();
        let drawn = canvas.fill(&WHITE).map_err(Failed::from).and_then(|()| draw(&canvas));
        // A string can always be written to.
        drawn
            .and_then(|()| canvas.present().map_err(Failed::from))
            .unwrap_or_else(|Failed(why)| unreachable!("{why}"));
    }
    // The scale of the picture is the reader's; the title is read out aloud.
    let size = format!("width=\"{width}\" height=\"{height}\" ");
    let named = format!("role=\"img\" font-family=\"sans-serif\" {size}");
    let text = text.replacen(&size, &named, 1);
    match text.find('>') {
        Some(end) => {
            let title = pcr99_page::frame::escaped_html(title);
            format!("{}>\n<title>{title}</title>{}", &text[..end], &text[end + 1..])
        }
        None => text,
    }
}

/// Where is drawn.
type Canvas<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;

/// Why not: never, on a string.
struct Failed(String);

impl<E: std::error::Error + Send + Sync> From<DrawingAreaErrorKind<E>> for Failed {
    fn from(error: DrawingAreaErrorKind<E>) -> Self {
        Self(error.to_string())
    }
}
