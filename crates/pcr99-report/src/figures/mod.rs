//! Figures. Each is data first; the SVG file and the page draw the same data.

pub(crate) mod boxes;

mod panel;

pub(crate) mod lines;

pub(crate) mod times;

use plotters::prelude::*;

/// An SVG document of the given size in pixels, on white. `title` is for readers that cannot see it.
fn svg(
    [width, height]: [u32; 2],
    title: &str,
    draw: impl FnOnce(&Canvas<'_>) -> Result<(), Failed>,
) -> String {
    let mut text = String::new();
    {
        let canvas = SVGBackend::with_string(&mut text, (width, height)).into_drawing_area();
        let drawn = canvas.fill(&WHITE).map_err(Failed::from).and_then(|()| draw(&canvas));
        // Writing to a string does not fail.
        drawn
            .and_then(|()| canvas.present().map_err(Failed::from))
            .unwrap_or_else(|Failed(why)| unreachable!("{why}"));
    }
    // Screen readers read the title.
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

/// Drawing area of an SVG document.
type Canvas<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;

/// Error of the drawing library. It does not occur when drawing into a string.
struct Failed(String);

impl<E: std::error::Error + Send + Sync> From<DrawingAreaErrorKind<E>> for Failed {
    fn from(error: DrawingAreaErrorKind<E>) -> Self {
        Self(error.to_string())
    }
}
