//! The list of pairs, checked whole before any work is done.

use std::{
    collections::{HashMap, HashSet},
    fmt,
    fs::File,
    io::{self, BufRead, BufReader},
    path::{Path, PathBuf},
    sync::Arc,
};

use crate::{
    columns::Columns,
    csv::{Cells, CsvError, Fault, Records},
    error::Error,
    fingerprint::Fingerprint,
    row::{Input, Row},
    settings::{Kind, SettingError, Settings},
};

/// Combinations of options that are remembered while reading, so that rows can share them.
const SHARED_SETTINGS: usize = 4096;

/// Files that are given for CSV, by their first bytes.
const OTHER_KINDS: [(&[u8], &str); 2] = [
    (b"PAR1", "a Parquet file: the Python package takes it, pcr99.batch; for the program write it as CSV"),
    (b"PK\x03\x04", "a spreadsheet or an archive: save it as CSV in UTF-8"),
];

/// Where in a manifest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum At {
    /// All of it.
    Whole,
    /// A line of text, from 1.
    Line(u64),
    /// A row of a table that did not come as text, from 0.
    Row(u64),
}

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole => Ok(()),
            Self::Line(line) => write!(f, ", line {line}"),
            Self::Row(row) => write!(f, ", row {row} (counted from 0)"),
        }
    }
}

/// What is wrong with a manifest.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ManifestError {
    /// It cannot be read.
    #[error("cannot be read: {0}")]
    Io(#[source] io::Error),
    /// It is not a table of text.
    #[error(transparent)]
    Csv(#[from] CsvError),
    /// It is a file of another kind.
    #[error("this is {kind}")]
    OtherKind {
        /// What it is, and what to do.
        kind: &'static str,
    },
    /// There is no pair in it.
    #[error(
        "there are no pairs in it; it needs a header with `pair_id`, and `source` and `target`, or `pairs`, and a row for each pair"
    )]
    Empty,
    /// More than can be counted.
    #[error("more than 4294967295 pairs; split it")]
    TooMany,
    /// A column that must be there is not.
    #[error(
        "there is no column `{missing}` in the header ({found}); it needs `pair_id`, and `source` and `target`, or `pairs`"
    )]
    NoColumn {
        /// Its name.
        missing: &'static str,
        /// What there is.
        found: String,
    },
    /// A column that means nothing.
    #[error("there is no such column as `{name}`; columns are {known}, and your own are called `_…`")]
    UnknownColumn {
        /// Its name.
        name: String,
        /// What there can be.
        known: String,
    },
    /// A column that is nearly one of ours.
    #[error("there is no such column as `{name}`; it is called `{meant}`")]
    MisspeltColumn {
        /// Its name.
        name: String,
        /// What it should be.
        meant: &'static str,
    },
    /// A column without a name, as pandas writes it for the index.
    #[error("a column has no name; name it, or leave it out (pandas: to_csv(…, index=False))")]
    NamelessColumn,
    /// The same name twice.
    #[error("there are two columns `{name}`; remove one")]
    ColumnTwice {
        /// Their name.
        name: String,
    },
    /// Too few or too many cells.
    #[error("{found} cell(s), but the header has {expected}; put quotes around cells with commas")]
    Cells {
        /// How many there are.
        found: usize,
        /// How many there should be.
        expected: usize,
    },
    /// A pair without a name.
    #[error("`pair_id` is empty; each pair needs a name of its own")]
    NoId,
    /// Two pairs of the same name.
    #[error("pair `{id}` is there already{first}; each pair needs a name of its own")]
    IdTwice {
        /// The name.
        id: String,
        /// Where the other is.
        first: At,
    },
    /// Not the files of one pair.
    #[error("pair `{id}`: give either `source` and `target`, or `pairs`")]
    Inputs {
        /// Its name.
        id: String,
    },
    /// A wrong option.
    #[error("pair `{id}`: {cause}")]
    Setting {
        /// Its name.
        id: String,
        /// What is wrong.
        #[source]
        cause: SettingError,
    },
    /// A default that no row can use.
    #[error("`{name}` means nothing for any pair: it is an option for {of}")]
    UselessDefault {
        /// The option.
        name: &'static str,
        /// What it is for.
        of: &'static str,
    },
}

/// The pairs, in their order.
///
/// ```
/// use pcr99_batch::{Manifest, Settings};
///
/// let text = "pair_id,source,target,voxel\nkitchen-1,a.ply,b.ply,\nkitchen-2,b.ply,\"c, again.ply\",0.05\n";
/// let manifest = Manifest::parse(text.as_bytes(), "pairs.csv", "/data".into(), &Settings::default())?;
/// assert_eq!(manifest.rows().len(), 2);
/// assert_eq!(&*manifest.rows()[1].pair_id, "kitchen-2");
/// # Ok::<(), pcr99_batch::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Manifest {
    base: PathBuf,
    rows: Vec<Row>,
}

impl Manifest {
    /// Reads the CSV file at `path`; relative paths in it are relative to its directory. `defaults` are for cells that are empty.
    ///
    /// # Errors
    /// When it cannot be read, or anything in it is wrong; see [`ManifestError`].
    pub fn read(path: &Path, defaults: &Settings) -> Result<Self, Error> {
        let label = format!("`{}`", path.display());
        let failed = |cause| Error::Manifest {
            file: label.clone(),
            at: At::Whole,
            cause: ManifestError::Io(cause).into(),
        };
        let file = File::open(path).map_err(failed)?;
        let base =
            std::path::absolute(path).map_err(failed)?.parent().map_or_else(PathBuf::new, Path::to_path_buf);
        Self::parse(BufReader::with_capacity(1 << 16, file), &label, base, defaults)
    }

    /// Reads CSV text; messages call it `label`, and relative paths are relative to `base`, which must be absolute.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn parse(
        mut reader: impl BufRead,
        label: &str,
        base: PathBuf,
        defaults: &Settings,
    ) -> Result<Self, Error> {
        let told =
            |at, cause: ManifestError| Error::Manifest { file: label.to_owned(), at, cause: cause.into() };
        let csv = |(line, cause): Fault| match cause {
            CsvError::Io(cause) => told(At::Whole, ManifestError::Io(cause)),
            cause => told(At::Line(line), cause.into()),
        };
        let start = reader.fill_buf().map_err(|cause| told(At::Whole, ManifestError::Io(cause)))?;
        if let Some((_, kind)) = OTHER_KINDS.into_iter().find(|(magic, _)| start.starts_with(magic)) {
            return Err(told(At::Whole, ManifestError::OtherKind { kind }));
        }
        let Some((Cells { line, cells: header }, mut records)) = Records::new(reader).map_err(csv)? else {
            return Err(told(At::Whole, ManifestError::Empty));
        };
        let header: Vec<String> = header.iter().map(|name| name.trim().to_owned()).collect();
        let columns = Columns::of(&header).map_err(|cause| told(At::Line(line), cause))?;
        let mut reading = Reading::new(columns, defaults);
        while let Some(Cells { line, cells }) = records.next().map_err(csv)? {
            reading.add(At::Line(line), &cells).map_err(|cause| told(At::Line(line), cause))?;
        }
        reading.finish(base).map_err(|cause| told(At::Whole, cause))
    }

    /// Takes rows that come from elsewhere, with the same checks: `columns` are the names, `rows` the cells, empty where there is none.
    ///
    /// # Errors
    /// As [`read`](Self::read), with rows instead of lines.
    pub fn from_rows<S: AsRef<str>>(
        columns: &[S],
        rows: impl IntoIterator<Item = Vec<String>>,
        label: &str,
        base: PathBuf,
        defaults: &Settings,
    ) -> Result<Self, Error> {
        let told =
            |at, cause: ManifestError| Error::Manifest { file: label.to_owned(), at, cause: cause.into() };
        let header: Vec<String> = columns.iter().map(|name| name.as_ref().trim().to_owned()).collect();
        let columns = Columns::of(&header).map_err(|cause| told(At::Whole, cause))?;
        let mut reading = Reading::new(columns, defaults);
        for (row, cells) in (0..).zip(rows) {
            reading.add(At::Row(row), &cells).map_err(|cause| told(At::Row(row), cause))?;
        }
        reading.finish(base).map_err(|cause| told(At::Whole, cause))
    }

    /// The directory that relative paths are relative to.
    pub fn base(&self) -> &Path {
        &self.base
    }

    /// The pairs.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }
}

/// Rows as they come in.
struct Reading<'a> {
    columns: Columns,
    defaults: &'a Settings,
    rows: Vec<Row>,
    /// Where each name was.
    ids: HashMap<Fingerprint, At>,
    /// Clouds are named again and again.
    paths: HashSet<Arc<str>>,
    settings: HashMap<(Kind, Vec<String>), Arc<Settings>>,
    kinds: HashSet<Kind>,
}

impl<'a> Reading<'a> {
    fn new(columns: Columns, defaults: &'a Settings) -> Self {
        Self {
            columns,
            defaults,
            rows: Vec::new(),
            ids: HashMap::new(),
            paths: HashSet::new(),
            settings: HashMap::new(),
            kinds: HashSet::new(),
        }
    }

    fn add(&mut self, at: At, cells: &[String]) -> Result<(), ManifestError> {
        if cells.iter().all(String::is_empty) {
            // As spreadsheets leave them.
            return Ok(());
        }
        if cells.len() != self.columns.count {
            return Err(ManifestError::Cells { found: cells.len(), expected: self.columns.count });
        }
        let cell =
            |place: Option<usize>| place.map(|place| cells[place].as_str()).filter(|text| !text.is_empty());
        let [id, source, target, pairs] = self.columns.naming.map(cell);
        let id = id.ok_or(ManifestError::NoId)?;
        if self.rows.len() >= u32::MAX as usize {
            return Err(ManifestError::TooMany);
        }
        if let Some(first) = self.ids.insert(Fingerprint::empty().with(id), at) {
            return Err(ManifestError::IdTwice { id: shortened(id), first });
        }
        let input = match (source, target, pairs) {
            (None, None, Some(pairs)) => Input::Matches { pairs: pairs.into() },
            (Some(source), Some(target), None) => {
                Input::Clouds { source: self.path(source), target: self.path(target) }
            }
            _ => return Err(ManifestError::Inputs { id: shortened(id) }),
        };
        let kind = input.kind();
        self.kinds.insert(kind);
        let settings = self
            .settings(kind, cells)
            .map_err(|cause| ManifestError::Setting { id: shortened(id), cause })?;
        self.rows.push(Row { pair_id: id.into(), input, settings });
        Ok(())
    }

    fn path(&mut self, path: &str) -> Arc<str> {
        if let Some(known) = self.paths.get(path) {
            return Arc::clone(known);
        }
        let new: Arc<str> = path.into();
        self.paths.insert(Arc::clone(&new));
        new
    }

    fn settings(&mut self, kind: Kind, cells: &[String]) -> Result<Arc<Settings>, SettingError> {
        let key =
            (kind, self.columns.options.iter().map(|(_, place)| cells[*place].clone()).collect::<Vec<_>>());
        if let Some(known) = self.settings.get(&key) {
            return Ok(Arc::clone(known));
        }
        let mut settings = Settings::default();
        for ((option, _), text) in
            self.columns.options.iter().zip(&key.1).filter(|(_, text)| !text.is_empty())
        {
            settings.set(option, text)?;
        }
        settings.check_kind(kind)?;
        let settings = Arc::new(settings.over(self.defaults, kind));
        settings.check(kind)?;
        if self.settings.len() < SHARED_SETTINGS {
            self.settings.insert(key, Arc::clone(&settings));
        }
        Ok(settings)
    }

    fn finish(self, base: PathBuf) -> Result<Manifest, ManifestError> {
        if self.rows.is_empty() {
            return Err(ManifestError::Empty);
        }
        for (kind, other, of) in
            [(Kind::Matches, Kind::Clouds, "two clouds"), (Kind::Clouds, Kind::Matches, "matches")]
        {
            if let Some((name, _)) = self.defaults.first_not_for(kind)
                && !self.kinds.contains(&other)
            {
                return Err(ManifestError::UselessDefault { name, of });
            }
        }
        Ok(Manifest { base, rows: self.rows })
    }
}

/// Text for use in a message: on one line, of bounded length.
pub(crate) fn shortened(text: &str) -> String {
    const MOST: usize = 80;
    let plain = |c: char| if c.is_control() { '\u{fffd}' } else { c };
    let shown: String = text.chars().take(MOST).map(plain).collect();
    if text.chars().nth(MOST).is_some() { format!("{shown}…") } else { shown }
}
