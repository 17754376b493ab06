//! A row of the manifest: name, files and options of a pair.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use pcr99_document::Inputs;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser::SerializeMap};

use crate::{
    fingerprint::Fingerprint,
    settings::{Kind, Settings},
    stamp::StampedFile,
};

/// Files of a pair, as the manifest names them. Relative paths are relative to the manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// A file of matches.
    Matches {
        /// Path of the file.
        pairs: Arc<str>,
    },
    /// Two clouds.
    Clouds {
        /// Path of the cloud that is moved.
        source: Arc<str>,
        /// Path of the cloud that stays in place.
        target: Arc<str>,
    },
}

impl Input {
    /// Kind of the files.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Matches { .. } => Kind::Matches,
            Self::Clouds { .. } => Kind::Clouds,
        }
    }

    /// The files as a document names them.
    pub(crate) fn to_document(&self) -> Inputs {
        match self {
            Self::Matches { pairs } => Inputs::matches(pairs),
            Self::Clouds { source, target } => Inputs::clouds(source, target),
        }
    }

    /// Column and path of each file.
    pub(crate) fn cells(&self) -> Vec<(&'static str, &str)> {
        match self {
            Self::Matches { pairs } => vec![("pairs", pairs)],
            Self::Clouds { source, target } => vec![("source", source), ("target", target)],
        }
    }
}

/// A checked row of a manifest, with the defaults filled in.
///
/// In JSON this is an object of texts, one for each cell that is not empty.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Unique name of the pair.
    pub pair_id: Box<str>,
    /// Files of the pair.
    pub input: Input,
    /// Options of the pair. Rows with equal options share them.
    pub settings: Arc<Settings>,
}

impl Row {
    /// Fingerprint of the name, the files and the options; `base` is the directory of the manifest.
    pub fn fingerprint(&self, base: &Path) -> Fingerprint {
        let mut hash = Fingerprint::empty().with(&self.pair_id);
        for (column, path) in self.input.cells() {
            hash = hash.with(column).with(&resolved(base, path).to_string_lossy());
        }
        for (name, value) in self.settings.cells() {
            let value =
                if name == "initial" { resolved(base, &value).to_string_lossy().into_owned() } else { value };
            hash = hash.with(name).with(&value);
        }
        hash
    }

    /// Paths of all files: the inputs and the initial pose.
    pub(crate) fn paths(&self, base: &Path) -> impl Iterator<Item = PathBuf> {
        let inputs = self.input.cells().into_iter().map(|(_, path)| path);
        inputs.chain(self.settings.initial.as_deref()).map(|path| resolved(base, path))
    }

    /// All files with their present state.
    pub(crate) fn files(&self, base: &Path) -> Vec<StampedFile> {
        self.paths(base).map(StampedFile::now).collect()
    }

    /// Column and text of each cell that is not empty.
    pub(crate) fn cells(&self) -> Vec<(&'static str, String)> {
        let input = self.input.cells().into_iter().map(|(column, path)| (column, path.to_owned()));
        std::iter::once(("pair_id", self.pair_id.to_string()))
            .chain(input)
            .chain(self.settings.cells())
            .collect()
    }
}

/// The path of a file that a manifest in the directory `base` names `path`.
pub(crate) fn resolved(base: &Path, path: &str) -> PathBuf {
    base.join(path)
}

impl Serialize for Row {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let cells = self.cells();
        let mut map = serializer.serialize_map(Some(cells.len()))?;
        for (column, value) in &cells {
            map.serialize_entry(column, value)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Row {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let cells = std::collections::BTreeMap::<String, String>::deserialize(deserializer)?;
        let mut settings = Settings::default();
        let mut names = [None, None, None, None];
        for (column, value) in cells {
            match ["pair_id", "pairs", "source", "target"].iter().position(|name| *name == column) {
                Some(place) => names[place] = Some(value),
                None => settings.set(&column, &value).map_err(de::Error::custom)?,
            }
        }
        let (pair_id, input) = match names {
            [Some(id), Some(pairs), None, None] => (id, Input::Matches { pairs: pairs.into() }),
            [Some(id), None, Some(source), Some(target)] => {
                (id, Input::Clouds { source: source.into(), target: target.into() })
            }
            _ => {
                return Err(de::Error::custom(
                    "a row needs `pair_id`, and either `pairs` or `source` and `target`",
                ));
            }
        };
        let kind = input.kind();
        settings.check_kind(kind).map_err(de::Error::custom)?;
        settings.check(kind).map_err(de::Error::custom)?;
        Ok(Self { pair_id: pair_id.into(), input, settings: Arc::new(settings) })
    }
}
