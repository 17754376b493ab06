//! One pair: its name, its inputs, its options.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser::SerializeMap};

use crate::{
    fingerprint::Fingerprint,
    settings::{Kind, Settings},
    stamp::StampedFile,
};

/// The files of a pair, as the manifest names them: relative paths are relative to the manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// A file of matches.
    Matches {
        /// Its path.
        pairs: Arc<str>,
    },
    /// Two clouds.
    Clouds {
        /// The one to move.
        source: Arc<str>,
        /// The one to move it onto.
        target: Arc<str>,
    },
}

impl Input {
    /// What they are.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Matches { .. } => Kind::Matches,
            Self::Clouds { .. } => Kind::Clouds,
        }
    }

    /// Columns and paths.
    pub(crate) fn cells(&self) -> Vec<(&'static str, &str)> {
        match self {
            Self::Matches { pairs } => vec![("pairs", pairs)],
            Self::Clouds { source, target } => vec![("source", source), ("target", target)],
        }
    }
}

/// One row of a manifest, checked, with the defaults filled in.
///
/// As JSON it is an object of texts, one for each cell that is not empty.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// What the pair is called; each row has its own.
    pub pair_id: Box<str>,
    /// Its files.
    pub input: Input,
    /// Its options. Rows with the same ones share them.
    pub settings: Arc<Settings>,
}

impl Row {
    /// What tells this pair with these options from any other; `base` is the directory of the manifest.
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

    /// Its files: those of the input, and the pose to start from.
    pub(crate) fn paths(&self, base: &Path) -> impl Iterator<Item = PathBuf> {
        let inputs = self.input.cells().into_iter().map(|(_, path)| path);
        inputs.chain(self.settings.initial.as_deref()).map(|path| resolved(base, path))
    }

    /// The same as they are now.
    pub(crate) fn files(&self, base: &Path) -> Vec<StampedFile> {
        self.paths(base).map(StampedFile::now).collect()
    }

    /// All cells that are not empty.
    pub(crate) fn cells(&self) -> Vec<(&'static str, String)> {
        let input = self.input.cells().into_iter().map(|(column, path)| (column, path.to_owned()));
        std::iter::once(("pair_id", self.pair_id.to_string()))
            .chain(input)
            .chain(self.settings.cells())
            .collect()
    }
}

/// The file that a manifest in `base` means by `path`.
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
            _ => return Err(de::Error::custom("a row has a pair_id, and either pairs or source and target")),
        };
        let kind = input.kind();
        settings.check_kind(kind).map_err(de::Error::custom)?;
        settings.check(kind).map_err(de::Error::custom)?;
        Ok(Self { pair_id: pair_id.into(), input, settings: Arc::new(settings) })
    }
}
