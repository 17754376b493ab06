//! Directory of a batch: its lock, the finished pairs, and the result files.

use std::{
    collections::{HashMap, HashSet},
    fmt,
    fs::{self, File, TryLockError},
    io::{self, Write},
    path::{Path, PathBuf},
};

use pcr99_base::{
    output_file::{PendingFile, is_unfinished},
    sealed,
};
use pcr99_document::{PROGRAM, PairResult, Seconds};
use serde::{Deserialize, Serialize};

use crate::{
    error::Error,
    fingerprint::Fingerprint,
    manifest::{Manifest, shortened},
    parts::{
        BATCH_SCHEMA, Line, Location, PARTS, Parts, Reader, check_version, create_parts, has_parts, names,
        schema_without_checksum, write_lines,
    },
    record::Record,
    row::Row,
    running::Running,
    settings::Kind,
    stamp::{Stamp, short},
    summary::Summary,
    table,
};

/// File that marks the directory of a batch.
pub(crate) const BATCH_FILE: &str = "batch.json";
/// File that the running process locks. The system releases the lock when the process ends, even if it is killed.
const LOCK_FILE: &str = ".lock";

/// Table with one row per pair.
pub const RESULTS_CSV: &str = "results.csv";
/// Documents, one line per pair.
pub const RESULTS_JSONL: &str = "results.jsonl";
/// Wall-clock time of each pair.
pub const TIMES_CSV: &str = "times.csv";
/// Number of pairs by outcome.
pub const SUMMARY_JSON: &str = "summary.json";

/// Content of [`BATCH_FILE`].
#[derive(Debug, Serialize, Deserialize)]
struct Header {
    batch_schema: u32,
    program: String,
}

/// Directory of a batch, locked until this value is dropped.
#[derive(Debug)]
pub struct Directory {
    path: PathBuf,
    base: PathBuf,
    _lock: File,
    parts: Parts,
}

impl Directory {
    /// Begins a batch in a new or empty directory.
    ///
    /// # Errors
    /// When the directory is not empty or cannot be written.
    pub fn create(path: &Path, manifest: &Manifest) -> Result<Self, Error> {
        if read_header(path)?.is_some() {
            return Err(Error::Exists { directory: path.into() });
        }
        fs::create_dir_all(path).map_err(Error::io("create the directory", path))?;
        // A killed process may have left an empty directory for part files.
        let is_ours = |name: &str| {
            name == LOCK_FILE || is_unfinished(name) || (name == PARTS && is_empty(&path.join(name)))
        };
        if !names(path)?.iter().all(|name| is_ours(name)) {
            return Err(Error::Foreign { directory: path.into() });
        }
        let lock = lock(path)?;
        create_parts(path)?;
        write_header(path)?;
        let parts = Parts::read(path)?;
        Ok(Self { path: path.into(), base: manifest.base().into(), _lock: lock, parts })
    }

    /// Continues a batch; begins it in a new or empty directory. Rows may have been added to the manifest, but the rows of finished pairs
    /// must not have changed.
    ///
    /// # Errors
    /// When the directory is not that of a batch, another process works there, it was written by another version, rows of finished pairs
    /// have changed, or a file is damaged.
    pub fn resume(path: &Path, manifest: &Manifest) -> Result<Self, Error> {
        let Some(header) = read_header(path)? else { return Self::create(path, manifest) };
        check_version(path, header.batch_schema, &header.program)?;
        let lock = lock(path)?;
        create_parts(path)?;
        let directory =
            Self { path: path.into(), base: manifest.base().into(), _lock: lock, parts: Parts::read(path)? };
        directory.check(manifest)?;
        Ok(directory)
    }

    /// Continues a batch as [`resume`](Self::resume) does, but drops damaged records, whose pairs run again. Also returns the number of damaged lines.
    ///
    /// # Errors
    /// As [`resume`](Self::resume), except for damage.
    pub fn repair(path: &Path, manifest: &Manifest) -> Result<(Self, usize), Error> {
        let header = match read_header(path) {
            Err(Error::Damaged { .. }) => None,
            Ok(None) => return Ok((Self::create(path, manifest)?, 0)),
            header => header?,
        };
        let mut damaged = 0;
        {
            let _lock = lock(path)?;
            match header {
                Some(header) => check_version(path, header.batch_schema, &header.program)?,
                None => {
                    write_header(path)?;
                    damaged += 1;
                }
            }
            damaged += Parts::repair(path, manifest.base())?;
        }
        Ok((Self::resume(path, manifest)?, damaged))
    }

    /// Path of the directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Number of finished pairs.
    pub fn finished(&self) -> usize {
        self.parts.len()
    }

    /// Whether the pair of a row is finished.
    pub fn is_finished(&self, row: &Row) -> bool {
        self.parts.get(row.fingerprint(&self.base)).is_some()
    }

    /// Removes failed pairs from the results, so that they run again. Returns their number.
    ///
    /// # Errors
    /// When files cannot be written.
    pub fn forget_failed(&mut self) -> Result<usize, Error> {
        let all = self.parts.records();
        let failed = all.into_iter().filter(|(location, _)| location.failed);
        self.forget(failed.map(|(_, fingerprint)| fingerprint).collect())
    }

    /// Finished pairs whose files have changed since they ran. Examines every file.
    pub fn changed<'a>(&self, manifest: &'a Manifest) -> Changed<'a> {
        if self.finished() == 0 {
            return Changed { rows: Vec::new() };
        }
        // A cloud is in many pairs; it is examined once.
        let mut clouds: HashMap<PathBuf, Option<Stamp>> = HashMap::new();
        let mut now = |row: &Row, path: PathBuf| match row.input.kind() {
            Kind::Matches => Stamp::of(&path),
            Kind::Clouds => *clouds.entry(path).or_insert_with_key(|path| Stamp::of(path)),
        };
        let has_changed = |row: &&Row| {
            let then = self.parts.get(row.fingerprint(&self.base)).and_then(|location| location.files);
            then.is_some_and(|then| {
                let stamps: Vec<_> = row.paths(&self.base).map(|path| now(row, path)).collect();
                short(&stamps) != Some(then)
            })
        };
        Changed { rows: manifest.rows().iter().filter(has_changed).collect() }
    }

    /// Removes pairs whose files have changed from the results, so that they run again. Returns their number.
    ///
    /// # Errors
    /// When files cannot be written.
    pub fn forget_changed(&mut self, manifest: &Manifest) -> Result<usize, Error> {
        let changed = self.changed(manifest);
        self.forget(changed.rows.iter().map(|row| row.fingerprint(&self.base)).collect())
    }

    fn forget(&mut self, gone: HashSet<Fingerprint>) -> Result<usize, Error> {
        self.parts.forget(&self.path, &gone)?;
        Ok(gone.len())
    }

    /// Saves the results of some pairs; see [`write_part`](crate::write_part).
    ///
    /// # Errors
    /// As [`write_part`](crate::write_part).
    pub fn write_part(&mut self, records: &[Record]) -> Result<(), Error> {
        let lines: io::Result<Vec<Line>> = records.iter().map(Line::of).collect();
        self.write_lines(&lines.map_err(Error::io("write", &self.path))?)
    }

    /// [`write_part`](Self::write_part) of records that are lines already.
    pub(crate) fn write_lines(&mut self, lines: &[Line]) -> Result<(), Error> {
        let part = write_lines(&self.path, &self.base, lines)?;
        self.parts.wrote(part);
        Ok(())
    }

    /// Reads part files that other processes wrote here with [`write_part`](crate::write_part).
    ///
    /// # Errors
    /// When files cannot be read, or are damaged.
    pub fn update(&mut self) -> Result<(), Error> {
        self.parts.update(&self.path)
    }

    /// Writes the results of all pairs, in the order of the manifest: `results.csv`, `results.jsonl`, `times.csv`, `summary.json`.
    ///
    /// # Errors
    /// When a pair is not finished, or files cannot be read or written.
    pub fn merge(&self, manifest: &Manifest) -> Result<Summary, Error> {
        let locations = self.locations(manifest)?;
        self.merged(locations).map_err(|error| Error::in_batch(&self.path, error))
    }

    fn merged(&self, locations: Vec<Location>) -> Result<Summary, Error> {
        let mut reader = Reader::new(&self.parts);
        let mut files = ResultFiles::new(&self.path)?;
        let mut summary = Summary::default();
        for location in locations {
            let (seconds, result, line) = reader.result(location)?;
            summary.count_result(&result);
            files.add(&seconds, &result, line)?;
        }
        files.finish(&summary)?;
        Ok(summary)
    }

    /// Results of all pairs, in the order of the manifest.
    ///
    /// # Errors
    /// When a pair is not finished. Each item is an error when its record cannot be read.
    pub fn records<'a>(
        &'a self,
        manifest: &Manifest,
    ) -> Result<impl Iterator<Item = Result<Record, Error>> + use<'a>, Error> {
        let locations = self.locations(manifest)?;
        let mut reader = Reader::new(&self.parts);
        Ok(locations.into_iter().map(move |location| reader.record(location)))
    }

    /// Places of the records of all pairs, in the order of the manifest.
    fn locations(&self, manifest: &Manifest) -> Result<Vec<Location>, Error> {
        let rows = manifest.rows();
        let locations: Vec<Location> =
            rows.iter().filter_map(|row| self.parts.get(row.fingerprint(&self.base))).collect();
        match rows.len() - locations.len() {
            0 => Ok(locations),
            missing => Err(Error::Unfinished { missing, all: rows.len() }),
        }
    }

    /// Pairs that are running, or were when an earlier process ended.
    pub(crate) fn running(&self) -> Running {
        Running::in_directory(&self.path)
    }

    /// Result of the pair of a row, if it is finished.
    ///
    /// # Errors
    /// When the record cannot be read.
    pub fn record(&self, row: &Row) -> Result<Option<Record>, Error> {
        let location = self.parts.get(row.fingerprint(&self.base));
        location.map(|location| Reader::new(&self.parts).record(location)).transpose()
    }

    /// Checks that the rows of all finished pairs are in the manifest, unchanged.
    fn check(&self, manifest: &Manifest) -> Result<(), Error> {
        if self.parts.len() == 0 {
            return Ok(());
        }
        let rows: HashSet<Fingerprint> =
            manifest.rows().iter().map(|row| row.fingerprint(&self.base)).collect();
        let records = self.parts.records();
        let Some((location, _)) = records.iter().find(|(_, fingerprint)| !rows.contains(fingerprint)) else {
            return Ok(());
        };
        let then = Reader::new(&self.parts).record(*location)?.row;
        let id = shortened(&then.pair_id);
        let now = manifest.rows().iter().find(|row| row.pair_id == then.pair_id);
        let change = match now {
            None => format!("the finished pair `{id}` is no longer in it"),
            Some(now) => match difference(&then, now) {
                Some(difference) => format!("of the finished pair `{id}`, {difference}"),
                None => {
                    let base = self.parts.base_of(*location)?;
                    format!("its directory was `{base}` and is now `{}`", self.base.display())
                }
            },
        };
        Err(Error::Changed { directory: self.path.clone(), change })
    }
}

/// Result files while they are written. They get their names when all are complete.
struct ResultFiles {
    documents: PendingFile,
    times: PendingFile,
    table: PendingFile,
    summary: PendingFile,
}

impl ResultFiles {
    fn new(directory: &Path) -> Result<Self, Error> {
        let file = |name| {
            let path = directory.join(name);
            PendingFile::new(path.clone()).map_err(Error::io("write", path))
        };
        let mut files = Self {
            documents: file(RESULTS_JSONL)?,
            times: file(TIMES_CSV)?,
            table: file(RESULTS_CSV)?,
            summary: file(SUMMARY_JSON)?,
        };
        append(&mut files.table, &table::header())?;
        append(&mut files.times, table::TIMES_HEADER)?;
        Ok(files)
    }

    fn add(&mut self, seconds: &Seconds, result: &PairResult, line: &str) -> Result<(), Error> {
        append(&mut self.table, &table::line(result))?;
        append(&mut self.times, &table::times_line(result.pair_id(), seconds))?;
        append(&mut self.documents, line)?;
        append(&mut self.documents, "\n")
    }

    fn finish(mut self, summary: &Summary) -> Result<(), Error> {
        append(&mut self.summary, &summary.to_json())?;
        for file in [self.documents, self.times, self.table, self.summary] {
            let path = file.path().to_path_buf();
            file.finish_durably().map_err(Error::io("write", path))?;
        }
        Ok(())
    }
}

fn append(file: &mut PendingFile, text: &str) -> Result<(), Error> {
    file.write_all(text.as_bytes()).map_err(|cause| Error::io("write", file.path())(cause))
}

/// Finished pairs whose files have changed since they ran. Its text is a sentence without a full stop.
#[derive(Debug, Clone)]
pub struct Changed<'a> {
    /// Rows of the pairs, in the order of the manifest.
    pub rows: Vec<&'a Row>,
}

impl fmt::Display for Changed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let first = self.rows.first().map_or(String::new(), |row| shortened(&row.pair_id));
        match self.rows.len() {
            1 => write!(f, "files of the finished pair `{first}` have changed since it ran"),
            count => {
                write!(f, "files of {count} finished pairs have changed since they ran (first: `{first}`)")
            }
        }
    }
}

/// The first difference between two rows of the same name.
fn difference(then: &Row, now: &Row) -> Option<String> {
    let (then, now) = (then.cells(), now.cells());
    let value = |cells: &[(&str, String)], column: &str| {
        let cell = cells.iter().find(|(name, _)| *name == column);
        cell.map_or("empty".to_owned(), |(_, value)| format!("`{}`", shortened(value)))
    };
    let columns = then.iter().chain(&now).map(|(column, _)| *column);
    let mut values = columns.map(|column| (column, value(&then, column), value(&now, column)));
    let (column, then, now) = values.find(|(_, then, now)| then != now)?;
    Some(format!("`{column}` was {then} and is now {now}"))
}

/// Whether the directory is that of a batch.
pub(crate) fn is_batch(directory: &Path) -> Result<bool, Error> {
    read_header(directory).map(|header| header.is_some())
}

/// Header of a batch; `None` where there is no batch.
fn read_header(directory: &Path) -> Result<Option<Header>, Error> {
    let path = directory.join(BATCH_FILE);
    let damaged = |cause: &str| Error::Damaged { file: path.clone(), line: 0, cause: cause.to_owned() };
    let bytes = match fs::read(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => return Ok(None),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return if has_parts(directory)? { Err(damaged("it is missing")) } else { Ok(None) };
        }
        Err(error) => return Err(Error::io("read", path)(error)),
    };
    if let Some(found) = schema_without_checksum(&bytes) {
        return Err(Error::OtherSchema { directory: directory.into(), found });
    }
    let intact = sealed::check(&bytes, "").map_err(|damage| damage.to_string());
    let header = intact.and_then(|()| serde_json::from_slice(&bytes).map_err(|error| error.to_string()));
    match header {
        Ok(header) => Ok(Some(header)),
        Err(cause) if has_parts(directory)? => Err(damaged(&cause)),
        // Another program may use the same file name.
        Err(_) => Err(Error::Foreign { directory: directory.into() }),
    }
}

fn write_header(directory: &Path) -> Result<(), Error> {
    let header = Header { batch_schema: BATCH_SCHEMA, program: PROGRAM.to_owned() };
    let file = directory.join(BATCH_FILE);
    let write = || -> io::Result<()> {
        let mut file = PendingFile::new(file.clone())?;
        writeln!(file, "{}", sealed::seal(serde_json::to_string(&header)?, ""))?;
        file.finish_durably()
    };
    write().map_err(Error::io("write", &file))
}

/// Whether a path is that of an empty directory.
fn is_empty(path: &Path) -> bool {
    fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none())
}

fn lock(directory: &Path) -> Result<File, Error> {
    let path = directory.join(LOCK_FILE);
    let file = File::options().read(true).write(true).create(true).truncate(false).open(&path);
    let file = file.map_err(Error::io("write", &path))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(Error::Busy { directory: directory.into() }),
        // The file system has no locks.
        Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => Ok(file),
        Err(TryLockError::Error(error)) => Err(Error::io("lock", path)(error)),
    }
}
