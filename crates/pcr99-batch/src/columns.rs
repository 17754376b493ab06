//! Header of a manifest: the meaning of each column.

use std::collections::HashSet;

use crate::{
    manifest::{ManifestError, shortened},
    settings::Settings,
};

/// Columns with the name of the pair and its files.
const NAMING: [&str; 4] = ["pair_id", "source", "target", "pairs"];
/// First character of the names of columns that are the user's own.
const OWN: char = '_';

/// Positions of the known columns.
pub(crate) struct Columns {
    /// Positions of the columns in [`NAMING`].
    pub(crate) naming: [Option<usize>; NAMING.len()],
    pub(crate) options: Vec<(&'static str, usize)>,
    pub(crate) count: usize,
}

impl Columns {
    pub(crate) fn of(header: &[String]) -> Result<Self, ManifestError> {
        let mut columns = Self { naming: [None; NAMING.len()], options: Vec::new(), count: header.len() };
        let mut seen = HashSet::new();
        for (place, name) in header.iter().enumerate() {
            if !seen.insert(name.as_str()) {
                return Err(ManifestError::ColumnTwice { name: name.clone() });
            }
            if name.starts_with(OWN) {
                continue;
            }
            if let Some(which) = NAMING.iter().position(|known| known == name) {
                columns.naming[which] = Some(place);
            } else if let Some(option) = Settings::NAMES.into_iter().find(|known| known == name) {
                columns.options.push((option, place));
            } else {
                return Err(unknown(name));
            }
        }
        let missing = match columns.naming {
            [None, ..] => Some("pair_id"),
            [_, None, None, None] => Some("pairs"),
            [_, Some(_), None, _] => Some("target"),
            [_, None, Some(_), _] => Some("source"),
            _ => None,
        };
        match missing {
            None => Ok(columns),
            Some(missing) => {
                let found = shortened(&header.join(", "));
                Err(ManifestError::NoColumn { missing, found })
            }
        }
    }
}

fn unknown(name: &str) -> ManifestError {
    let known = || NAMING.into_iter().chain(Settings::NAMES);
    let alike = |text: &str| text.to_lowercase().replace([' ', '-'], "_");
    match known().find(|known| alike(name) == *known) {
        _ if name.is_empty() => ManifestError::NamelessColumn,
        Some(meant) => ManifestError::MisspeltColumn { name: shortened(name), meant },
        None => ManifestError::UnknownColumn {
            name: shortened(name),
            known: known().collect::<Vec<_>>().join(", "),
        },
    }
}
