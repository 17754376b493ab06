//! The list of pairs, checked completely before any work is done.

use std::{
    collections::{HashMap, HashSet},
    fmt,
    fs::File,
    io::{self, BufRead, BufReader},
    path::{Path, PathBuf},
    sync::Arc,
};

use pcr99_base::text::is_direction_mark;

use crate::{
    columns::Columns,
    csv::{Cells, CsvError, Fault, Records},
    error::Error,
    fingerprint::Fingerprint,
    row::{Input, Row},
    settings::{Kind, SettingError, Settings},
};

/// Largest number of option combinations that rows share. Beyond it, each row has its own copy: a table with that many combinations has
/// different options in every row.
const SHARED_SETTINGS: usize = 4096;

/// Other kinds of files, recognised by their first bytes.
const OTHER_KINDS: [(&[u8], &str); 2] = [
    (b"PAR1", "a Parquet file: save it as CSV, or use `pcr99.batch` in Python, which reads Parquet"),
    (b"PK\x03\x04", "a spreadsheet or an archive: save it as CSV in UTF-8"),
];

/// Place in a manifest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum At {
    /// The whole manifest.
    Whole,
    /// A line of text, counted from 1.
    Line(u64),
    /// A row of a table that is not text, counted from 0.
    Row(u64),
}

impl At {
    /// The place as a noun: "line 3".
    fn noun(self) -> String {
        match self {
            Self::Whole => "the manifest".to_owned(),
            Self::Line(line) => format!("line {line}"),
            Self::Row(row) => format!("row {row}"),
        }
    }
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

/// A mistake in a manifest.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ManifestError {
    /// The file cannot be read.
    #[error("cannot be read: {0}")]
    Io(#[source] io::Error),
    /// The text is not a table.
    #[error(transparent)]
    Csv(#[from] CsvError),
    /// The file is of another kind.
    #[error("this is {kind}")]
    OtherKind {
        /// The kind, and what to do.
        kind: &'static str,
    },
    /// The table has no rows.
    #[error(
        "it contains no pairs; it needs a header with `pair_id` and either `source` and `target` or `pairs`, and one row per pair"
    )]
    Empty,
    /// The table has too many rows.
    #[error("it has more than 4294967295 pairs; split it")]
    TooMany,
    /// A required column is missing.
    #[error(
        "column `{missing}` is missing in the header ({found}); it needs `pair_id` and either `source` and `target` or `pairs`"
    )]
    NoColumn {
        /// Name of the column.
        missing: &'static str,
        /// Columns of the header.
        found: String,
    },
    /// A column has an unknown name.
    #[error("column `{name}` is unknown; the columns are {known}; names of your own columns start with `_`")]
    UnknownColumn {
        /// Its name.
        name: String,
        /// Known columns.
        known: String,
    },
    /// A column is misspelt.
    #[error("column `{name}` is unknown; did you mean `{meant}`?")]
    MisspeltColumn {
        /// Its name.
        name: String,
        /// The similar known column.
        meant: &'static str,
    },
    /// A column has no name; pandas writes the index this way.
    #[error("a column has no name; name it or remove it (pandas: to_csv(…, index=False))")]
    NamelessColumn,
    /// Two columns have the same name.
    #[error("there are two columns `{name}`; remove one")]
    ColumnTwice {
        /// Their name.
        name: String,
    },
    /// A row has too few or too many cells.
    #[error(
        "the row has {found} cells, but the header has {expected}; put cells that contain commas in quotes"
    )]
    Cells {
        /// Cells of the row.
        found: usize,
        /// Cells of the header.
        expected: usize,
    },
    /// A pair has no name.
    #[error("`pair_id` is empty; every pair needs a unique name")]
    NoId,
    /// Two pairs have the same name.
    #[error("`pair_id` is `{id}`, which {} already has; every pair needs a unique name", .first.noun())]
    IdTwice {
        /// The name.
        id: String,
        /// Place of the first.
        first: At,
    },
    /// A row does not name the files of one pair.
    #[error("pair `{id}`: give either `source` and `target`, or `pairs`")]
    Inputs {
        /// Its name.
        id: String,
    },
    /// An option is invalid.
    #[error("pair `{id}`: {cause}")]
    Setting {
        /// Its name.
        id: String,
        /// The mistake.
        #[source]
        cause: SettingError,
    },
    /// A default applies to no row.
    #[error("`{name}` is an option for {of}, but no pair has {of}: remove it")]
    UselessDefault {
        /// The option.
        name: &'static str,
        /// Inputs that the option is for.
        of: &'static str,
    },
}

/// A checked list of pairs.
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
    /// Reads a CSV file. Relative paths in it are relative to its directory. Empty cells have the value in `defaults`.
    ///
    /// # Errors
    /// When the file cannot be read or contains a mistake; see [`ManifestError`].
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

    /// Reads CSV text. Messages call it `label`; relative paths are relative to `base`, which must be absolute.
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

    /// Checks rows from another source: `columns` are the column names, `rows` the cells. Missing cells are empty.
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

    /// Directory of relative paths.
    pub fn base(&self) -> &Path {
        &self.base
    }

    /// The pairs, in the order of the table.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }
}

/// A manifest while its rows are read.
struct Reading<'a> {
    columns: Columns,
    defaults: &'a Settings,
    rows: Vec<Row>,
    /// Place of each name.
    ids: HashMap<Fingerprint, At>,
    /// Paths, shared between rows: a cloud is in many pairs.
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
            // Spreadsheets leave empty rows at the end.
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
        for (kind, other, of) in [
            (Kind::Matches, Kind::Clouds, Kind::Clouds.name()),
            (Kind::Clouds, Kind::Matches, Kind::Matches.name()),
        ] {
            if let Some((name, _)) = self.defaults.first_not_for(kind)
                && !self.kinds.contains(&other)
            {
                return Err(ManifestError::UselessDefault { name, of });
            }
        }
        Ok(Manifest { base, rows: self.rows })
    }
}

/// A text for a message: one line of bounded length.
pub(crate) fn shortened(text: &str) -> String {
    /// Characters: about a line of a terminal.
    const MOST: usize = 80;
    let plain = |c: char| if c.is_control() || is_direction_mark(c) { '\u{fffd}' } else { c };
    let shown: String = text.chars().take(MOST).map(plain).collect();
    if text.chars().nth(MOST).is_some() { format!("{shown}…") } else { shown }
}
