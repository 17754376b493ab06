//! Part files: results of some pairs, written atomically.
//!
//! The first line is a header, each other line a [`Record`]. The name contains the fingerprint of all rows, so writing the same results twice
//! gives one file.

use std::{
    collections::{HashMap, HashSet},
    fs::{self, File},
    io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};

use pcr99_base::output_file::{PendingFile, is_unfinished};
use pcr99_document::PROGRAM;
use serde::{Deserialize, Serialize};

use crate::{
    error::Error,
    fingerprint::Fingerprint,
    record::Record,
    stamp::{Stamp, short},
};

/// Version of the files of a batch: `batch.json` and part files. Version 2 holds documents of schema 2.
pub(crate) const BATCH_SCHEMA: u32 = 2;

/// Directory of the part files, in the directory of the batch.
const PARTS: &str = "parts";

/// Part files open at a time while results are merged; far below the usual limit of 1024 open files.
const OPEN: usize = 64;

/// First line of a part file.
#[derive(Debug, Serialize, Deserialize)]
struct Header {
    schema: u32,
    program: String,
    /// Directory of the manifest.
    base: String,
    rows: usize,
}

/// The fields of a record that are needed to find it again.
#[derive(Deserialize)]
struct Head {
    fingerprint: Fingerprint,
    #[serde(default)]
    files: Vec<Option<Stamp>>,
    result: HeadResult,
}

#[derive(Deserialize)]
struct HeadResult {
    status: String,
}

/// Place of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Location {
    part: u32,
    offset: u64,
    length: u64,
    pub(crate) failed: bool,
    /// Hash of the state of its files.
    pub(crate) files: Option<u64>,
}

/// Part files of a batch, and the place of each record in them.
#[derive(Debug, Default)]
pub(crate) struct Parts {
    files: Vec<PathBuf>,
    known: HashSet<PathBuf>,
    records: HashMap<Fingerprint, Location>,
}

/// Writes the results of some pairs as one part file of the batch in `directory`; `base` is the directory of the manifest.
///
/// The results are on the disk when this returns: neither a crash nor a power failure loses them. No lock is needed, so workers may write
/// while the process that sent them holds the lock.
///
/// # Errors
/// When the file cannot be written, for instance on a full disk. Then there is no part file.
pub fn write_part(directory: &Path, base: &Path, records: &[Record]) -> Result<PathBuf, Error> {
    let name = records.iter().fold(Fingerprint::empty(), |hash, record| hash.and(record.fingerprint));
    let parts = directory.join(PARTS);
    fs::create_dir_all(&parts).map_err(Error::io("create the directory", &parts))?;
    let path = parts.join(format!("part-{name}.jsonl"));
    let header = Header {
        schema: BATCH_SCHEMA,
        program: PROGRAM.to_owned(),
        base: base.to_string_lossy().into_owned(),
        rows: records.len(),
    };
    let write = || -> io::Result<()> {
        let mut file = PendingFile::new(path.clone())?;
        writeln!(file, "{}", serde_json::to_string(&header)?)?;
        for record in records {
            writeln!(file, "{}", serde_json::to_string(record)?)?;
        }
        file.finish_durably()
    };
    write().map_err(Error::io("write", &path))?;
    Ok(path)
}

impl Parts {
    /// Reads the part files of a batch, and removes unfinished files of killed processes.
    pub(crate) fn read(directory: &Path) -> Result<Self, Error> {
        let parts = directory.join(PARTS);
        for place in [directory, &parts] {
            for name in names(place)?.iter().filter(|name| is_unfinished(name)) {
                let path = place.join(name);
                fs::remove_file(&path).map_err(Error::io("remove", path))?;
            }
        }
        let mut found = Self::default();
        found.update(directory)?;
        Ok(found)
    }

    /// Reads part files that other processes have written since.
    pub(crate) fn update(&mut self, directory: &Path) -> Result<(), Error> {
        let parts = directory.join(PARTS);
        for name in names(&parts)? {
            let path = parts.join(&name);
            let ours = name.strip_prefix("part-").and_then(|rest| rest.strip_suffix(".jsonl"));
            if let Some(hash) = ours.and_then(|hash| hash.parse().ok())
                && !self.known.contains(&path)
            {
                self.add(directory, path, hash)?;
            }
        }
        Ok(())
    }

    /// Adds the file that [`write_part`] has just written.
    pub(crate) fn wrote(&mut self, directory: &Path, path: PathBuf, records: &[Record]) -> Result<(), Error> {
        if !self.known.contains(&path) {
            let hash = records.iter().fold(Fingerprint::empty(), |hash, record| hash.and(record.fingerprint));
            self.add(directory, path, hash)?;
        }
        Ok(())
    }

    fn add(&mut self, directory: &Path, path: PathBuf, name: Fingerprint) -> Result<(), Error> {
        let damaged = |cause: String| Error::Damaged { file: path.clone(), cause };
        let mut reader =
            BufReader::with_capacity(1 << 17, File::open(&path).map_err(Error::io("read", &path))?);
        let mut line = Vec::new();
        let mut next = |line: &mut Vec<u8>| {
            line.clear();
            reader.read_until(b'\n', line).map_err(Error::io("read", &path))
        };
        let mut offset = next(&mut line)? as u64;
        let header: Header = serde_json::from_slice(&line).map_err(|error| damaged(error.to_string()))?;
        check_version(directory, header.schema, &header.program)?;
        let part = self.files.len() as u32;
        let (mut rows, mut hash, mut found) = (0, Fingerprint::empty(), Vec::new());
        loop {
            let length = next(&mut line)? as u64;
            if length == 0 {
                break;
            }
            let head: Head = serde_json::from_slice(&line).map_err(|error| damaged(error.to_string()))?;
            (rows, hash) = (rows + 1, hash.and(head.fingerprint));
            let failed = head.result.status == "failed";
            let files = short(&head.files);
            found.push((head.fingerprint, Location { part, offset, length, failed, files }));
            offset += length;
        }
        if rows != header.rows {
            return Err(damaged(format!("it has {rows} of the {} rows that were written", header.rows)));
        }
        if hash != name {
            return Err(damaged("its rows are not those that its name stands for".to_owned()));
        }
        self.known.insert(path.clone());
        self.files.push(path);
        for (fingerprint, location) in found {
            // Records of the same fingerprint are equal.
            self.records.entry(fingerprint).or_insert(location);
        }
        Ok(())
    }

    pub(crate) fn len(&self) -> usize {
        self.records.len()
    }

    pub(crate) fn get(&self, fingerprint: Fingerprint) -> Option<Location> {
        self.records.get(&fingerprint).copied()
    }

    /// All records, in the order of the files.
    pub(crate) fn records(&self) -> Vec<(Location, Fingerprint)> {
        let mut all: Vec<_> =
            self.records.iter().map(|(fingerprint, location)| (*location, *fingerprint)).collect();
        all.sort_unstable();
        all
    }

    /// Directory of the manifest that a record belongs to.
    pub(crate) fn base_of(&self, location: Location) -> Result<String, Error> {
        let path = &self.files[location.part as usize];
        let mut line = Vec::new();
        let file = File::open(path).map_err(Error::io("read", path))?;
        BufReader::new(file).read_until(b'\n', &mut line).map_err(Error::io("read", path))?;
        let header: Header = serde_json::from_slice(&line)
            .map_err(|error| Error::Damaged { file: path.clone(), cause: error.to_string() })?;
        Ok(header.base)
    }

    /// Removes these pairs from the part files.
    pub(crate) fn forget(&mut self, directory: &Path, gone: &HashSet<Fingerprint>) -> Result<(), Error> {
        // A pair may be in several files.
        while self.records.keys().any(|fingerprint| gone.contains(fingerprint)) {
            self.rewrite_without(directory, gone)?;
            *self = Self::read(directory)?;
        }
        Ok(())
    }

    fn rewrite_without(&self, directory: &Path, gone: &HashSet<Fingerprint>) -> Result<(), Error> {
        let mut reader = Reader::new(self);
        let all = self.records();
        let mut rewritten: Vec<(PathBuf, String, Vec<Record>)> = Vec::new();
        for group in all.chunk_by(|(a, _), (b, _)| a.part == b.part) {
            if group.iter().any(|(_, fingerprint)| gone.contains(fingerprint)) {
                let kept = group.iter().filter(|(_, fingerprint)| !gone.contains(fingerprint));
                let kept = kept.map(|(location, _)| reader.record(*location)).collect::<Result<_, _>>()?;
                let first = group[0].0;
                rewritten.push((self.files[first.part as usize].clone(), self.base_of(first)?, kept));
            }
        }
        for (old, base, kept) in rewritten {
            if !kept.is_empty() {
                write_part(directory, Path::new(&base), &kept)?;
            }
            fs::remove_file(&old).map_err(Error::io("remove", old))?;
        }
        Ok(())
    }
}

/// Reads records from any part file.
pub(crate) struct Reader<'a> {
    files: &'a [PathBuf],
    /// Open files, the most recently used last.
    open: Vec<(u32, File)>,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(parts: &'a Parts) -> Self {
        Self { files: &parts.files, open: Vec::new() }
    }

    pub(crate) fn record(&mut self, location: Location) -> Result<Record, Error> {
        let path = &self.files[location.part as usize];
        let known = self.open.iter().position(|(part, _)| *part == location.part);
        let mut entry = match known {
            Some(place) => self.open.remove(place),
            None => {
                if self.open.len() == OPEN {
                    self.open.remove(0);
                }
                (location.part, File::open(path).map_err(Error::io("read", path))?)
            }
        };
        let mut bytes = Vec::new();
        let read = entry.1.seek(SeekFrom::Start(location.offset));
        let read = read.and_then(|_| (&mut entry.1).take(location.length).read_to_end(&mut bytes));
        read.map_err(Error::io("read", path))?;
        self.open.push(entry);
        serde_json::from_slice(&bytes)
            .map_err(|error| Error::Damaged { file: path.clone(), cause: error.to_string() })
    }
}

/// Checks that the files of a batch were written by this version.
pub(crate) fn check_version(directory: &Path, schema: u32, program: &str) -> Result<(), Error> {
    let directory = || directory.to_path_buf();
    if schema != BATCH_SCHEMA {
        return Err(Error::OtherSchema { directory: directory(), found: schema });
    }
    if program != PROGRAM {
        return Err(Error::OtherVersion { directory: directory(), found: program.to_owned() });
    }
    Ok(())
}

/// Sorted file names of a directory; empty when it does not exist.
pub(crate) fn names(directory: &Path) -> Result<Vec<String>, Error> {
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(Error::io("read", directory)(error)),
    };
    let mut names = Vec::new();
    for entry in entries {
        names.push(entry.map_err(Error::io("read", directory))?.file_name().to_string_lossy().into_owned());
    }
    names.sort_unstable();
    Ok(names)
}
