//! How a status looks on a page.

use pcr99::Status;

/// Sign, colour class and title of a status. The sign tells the status without its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(crate) sign: &'static str,
    pub(crate) class: &'static str,
    pub(crate) title: &'static str,
}

impl Mark {
    pub(crate) fn of(status: Status) -> Self {
        match status {
            Status::Registered => Self { sign: "✓", class: "good", title: "Registered" },
            Status::NotReliable => Self { sign: "?", class: "doubtful", title: "Not reliable" },
            Status::NoSolution => Self { sign: "✕", class: "bad", title: "No solution" },
        }
    }
}
