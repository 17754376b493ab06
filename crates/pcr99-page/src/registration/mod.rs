//! One registration, or a few, as one self-contained page: status, before and after in 3-D, residuals, candidates, transform.

mod axes;

mod check;

mod data;

mod distances;

mod head;

mod histogram;

#[cfg(feature = "pages")]
mod page;

mod rotation;

mod section;

mod thin;

mod view;

mod votes;

use askama::Template;
use pcr99_base::text::without_direction_marks;

use self::section::Section;
use crate::{filters, frame::rendered};

pub use head::ReportHead;
#[cfg(feature = "pages")]
pub use page::RegistrationPage;
pub use view::RegistrationView;

/// The script that draws registrations: the two 3-D views, then what is drawn beside them. It needs the shared script of [`frame`](crate::frame).
pub const SCRIPT: &str = concat!(include_str!("script.js"), include_str!("report.js"));

#[derive(Template)]
#[template(path = "registration.html")]
struct Body<'a> {
    head: &'a ReportHead,
    sections: Vec<Section<'a>>,
}

/// The sections of registrations alone, for a page that has a frame of its own. The page needs [`SCRIPT`], which must be told of new sections with
/// `pcr99.showViews(element)`.
pub fn sections(views: &[RegistrationView]) -> String {
    body(&ReportHead::default(), views)
}

/// The sections of registrations below the head of a report.
fn body(head: &ReportHead, views: &[RegistrationView]) -> String {
    let sections = views.iter().enumerate().map(|(place, view)| Section::new(place, view)).collect();
    without_direction_marks(&rendered(&Body { head, sections })).into_owned()
}

#[cfg(all(test, feature = "pages"))]
mod tests;
