//! Part files: results of some pairs, written atomically.
//!
//! The first line is a header, each other line a [`Record`]; all lines have a checksum. The name contains the fingerprint of all rows, so writing
//! the same results twice gives one file.

use std::{
    collections::{BTreeMap, HashSet},
    fmt,
    fs::{self, File},
    io::{self, BufRead, BufReader, Write},
    num::NonZero,
    path::{Path, PathBuf},
};

use pcr99_base::{
    output_file::{PendingFile, is_unfinished},
    sealed,
};
use pcr99_document::{PROGRAM, PairResult, Seconds};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::{
    error::Error,
    fingerprint::Fingerprint,
    record::Record,
    stamp::{Stamp, short},
};

/// Version of the files of a batch: `batch.json` and part files. Version 2 holds documents of schema 2; since version 3, each line has a checksum.
pub(crate) const BATCH_SCHEMA: u32 = 3;

/// Version of the files of a batch, if the text is that of such a file at all. Versions before the first with checksums are recognised.
pub(crate) fn schema_without_checksum(line: &[u8]) -> Option<u32> {
    #[derive(Deserialize)]
    struct Any {
        #[serde(alias = "batch_schema")]
        schema: u32,
        #[serde(default)]
        checksum: Option<String>,
    }
    let Any { schema, checksum } = serde_json::from_slice(line).ok()?;
    (schema < BATCH_SCHEMA && checksum.is_none()).then_some(schema)
}

/// Directory of the part files, in the directory of the batch.
pub(crate) const PARTS: &str = "parts";

/// Part files open at a time while results are merged; far below the usual limit of 1024 open files.
const OPEN: usize = 64;

/// Bytes that are read at a time from a part file: about ten records.
const BUFFER: usize = 1 << 15;

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

/// Place of a record. There is one for each pair of a batch in memory, so it is small.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Location {
    part: u32,
    offset: u64,
    pub(crate) failed: bool,
    /// Hash of the state of its files.
    pub(crate) files: Option<NonZero<u64>>,
}

/// Part files of a batch, and the place of each record in them.
#[derive(Debug, Default)]
pub(crate) struct Parts {
    files: Vec<PathBuf>,
    known: HashSet<PathBuf>,
    /// A tree, because a table needs room for up to four times as many while it grows.
    records: BTreeMap<Fingerprint, Location>,
}

/// A record as a line of a part file.
pub(crate) struct Line {
    fingerprint: Fingerprint,
    failed: bool,
    files: Option<NonZero<u64>>,
    /// With the end of the line.
    text: Vec<u8>,
}

impl Line {
    pub(crate) fn of(record: &Record) -> io::Result<Self> {
        let mut text = sealed::seal(serde_json::to_string(record)?, "").into_bytes();
        text.push(b'\n');
        let (fingerprint, failed, files) = (record.fingerprint, record.is_failed(), short(&record.files));
        Ok(Self { fingerprint, failed, files, text })
    }
}

/// A part file that was just written.
pub(crate) struct NewPart<'a> {
    path: PathBuf,
    /// Length of the header in bytes.
    header: u64,
    lines: &'a [Line],
}

/// Writes the results of some pairs as one part file of the batch in `directory`; `base` is the directory of the manifest.
///
/// The results are on the disk when this returns: neither a crash nor a power failure loses them. No lock is needed, so workers may write
/// while the process that sent them holds the lock.
///
/// # Errors
/// When the file cannot be written, for instance on a full disk. Then there is no part file.
pub fn write_part(directory: &Path, base: &Path, records: &[Record]) -> Result<PathBuf, Error> {
    let lines: io::Result<Vec<Line>> = records.iter().map(Line::of).collect();
    let lines = lines.map_err(Error::io("write", directory))?;
    write_lines(directory, base, &lines).map(|part| part.path)
}

/// [`write_part`] of records that are lines already.
pub(crate) fn write_lines<'a>(
    directory: &Path,
    base: &Path,
    lines: &'a [Line],
) -> Result<NewPart<'a>, Error> {
    let name = lines.iter().fold(Fingerprint::empty(), |hash, line| hash.and(line.fingerprint));
    let path = directory.join(PARTS).join(format!("part-{name}.jsonl"));
    let header = Header {
        schema: BATCH_SCHEMA,
        program: PROGRAM.to_owned(),
        base: base.to_string_lossy().into_owned(),
        rows: lines.len(),
    };
    let write = || -> io::Result<u64> {
        let mut file = PendingFile::new(path.clone())?;
        let header = sealed::seal(serde_json::to_string(&header)?, "") + "\n";
        file.write_all(header.as_bytes())?;
        lines.iter().try_for_each(|line| file.write_all(&line.text))?;
        file.finish_durably()?;
        Ok(header.len() as u64)
    };
    let header = write().map_err(|error| Error::in_batch(directory, Error::io("write", &path)(error)))?;
    Ok(NewPart { path, header, lines })
}

/// Creates the directory of the part files.
pub(crate) fn create_parts(directory: &Path) -> Result<(), Error> {
    let parts = directory.join(PARTS);
    fs::create_dir_all(&parts).map_err(Error::io("create the directory", parts))
}

/// Whether there are part files in `directory`.
pub(crate) fn has_parts(directory: &Path) -> Result<bool, Error> {
    Ok(names(&directory.join(PARTS))?.iter().any(|name| hash_of(name).is_some()))
}

/// Fingerprint in the name of a part file; `None` for other files.
fn hash_of(name: &str) -> Option<Fingerprint> {
    name.strip_prefix("part-")?.strip_suffix(".jsonl")?.parse().ok()
}

/// Content of a part file.
#[derive(Default)]
struct Content {
    header: Option<Header>,
    /// Intact records with the offset of each in the file.
    lines: Vec<(u64, Line)>,
    /// Line from 1, and what is wrong with it; 0 stands for the whole file.
    damage: Vec<(usize, String)>,
}

impl Content {
    /// Reads a file. `keep_text` keeps the bytes of the records.
    fn read(directory: &Path, path: &Path, name: Fingerprint, keep_text: bool) -> Result<Self, Error> {
        let file = File::open(path).map_err(Error::io("read", path))?;
        let mut reader = BufReader::with_capacity(1 << 17, file);
        let mut content = Self::default();
        let (mut line, mut offset) = (Vec::new(), 0);
        for number in 1.. {
            line.clear();
            let length = reader.read_until(b'\n', &mut line).map_err(Error::io("read", path))?;
            if length == 0 {
                break;
            }
            if let Err(cause) = content.add(&line, offset, keep_text) {
                if number == 1
                    && let Some(found) = schema_without_checksum(&line)
                {
                    return Err(Error::OtherSchema { directory: directory.into(), found });
                }
                content.damage.push((number, cause));
            }
            offset += length as u64;
        }
        if let Some(header) = &content.header {
            check_version(directory, header.schema, &header.program)?;
        }
        let (found, written) = (content.lines.len(), content.header.as_ref().map_or(0, |header| header.rows));
        let hash =
            content.lines.iter().fold(Fingerprint::empty(), |hash, (_, line)| hash.and(line.fingerprint));
        if content.damage.is_empty() && (found != written || content.header.is_none()) {
            content.damage.push((0, format!("it has {found} of the {written} records that were written")));
        } else if content.damage.is_empty() && hash != name {
            content.damage.push((0, "its records are not those that its name stands for".to_owned()));
        }
        Ok(content)
    }

    fn add(&mut self, line: &[u8], offset: u64, keep_text: bool) -> Result<(), String> {
        if !line.ends_with(b"\n") {
            return Err("it ends early".to_owned());
        }
        sealed::check(line, "").map_err(|damage| damage.to_string())?;
        if offset == 0 {
            self.header = Some(serde_json::from_slice(line).map_err(|error| error.to_string())?);
            return Ok(());
        }
        let head: Head = serde_json::from_slice(line).map_err(|error| error.to_string())?;
        let (fingerprint, failed) = (head.fingerprint, head.result.status == "failed");
        let text = if keep_text { line.to_vec() } else { Vec::new() };
        self.lines.push((offset, Line { fingerprint, failed, files: short(&head.files), text }));
        Ok(())
    }
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

    /// Removes damaged records from the part files; `base` is the directory of the manifest. Returns the number of damaged lines.
    pub(crate) fn repair(directory: &Path, base: &Path) -> Result<usize, Error> {
        let parts = directory.join(PARTS);
        let mut damaged = 0;
        for name in names(&parts)? {
            let (Some(hash), path) = (hash_of(&name), parts.join(&name)) else { continue };
            let content = Content::read(directory, &path, hash, true)?;
            if content.damage.is_empty() {
                continue;
            }
            damaged += content.damage.len();
            let base = content.header.map_or(base.to_path_buf(), |header| header.base.into());
            let kept: Vec<Line> = content.lines.into_iter().map(|(_, line)| line).collect();
            let repaired =
                if kept.is_empty() { None } else { Some(write_lines(directory, &base, &kept)?.path) };
            // Where only the header was damaged, the repaired file has replaced it.
            if repaired.as_ref() != Some(&path) {
                fs::remove_file(&path).map_err(Error::io("remove", &path))?;
            }
        }
        Ok(damaged)
    }

    /// Reads part files that other processes have written since.
    pub(crate) fn update(&mut self, directory: &Path) -> Result<(), Error> {
        let parts = directory.join(PARTS);
        for name in names(&parts)? {
            let path = parts.join(&name);
            if let Some(hash) = hash_of(&name)
                && !self.known.contains(&path)
            {
                self.add(directory, path, hash)?;
            }
        }
        Ok(())
    }

    /// Adds a file that was just written.
    pub(crate) fn wrote(&mut self, NewPart { path, header, lines }: NewPart<'_>) {
        if self.known.contains(&path) {
            return;
        }
        let part = self.begin(path);
        let mut offset = header;
        for &Line { fingerprint, failed, files, ref text } in lines {
            self.records.entry(fingerprint).or_insert(Location { part, offset, failed, files });
            offset += text.len() as u64;
        }
    }

    /// Adds a file without its records; returns its number.
    fn begin(&mut self, path: PathBuf) -> u32 {
        self.known.insert(path.clone());
        self.files.push(path);
        self.files.len() as u32 - 1
    }

    fn add(&mut self, directory: &Path, path: PathBuf, name: Fingerprint) -> Result<(), Error> {
        let content = Content::read(directory, &path, name, false)?;
        if let Some((line, cause)) = content.damage.into_iter().next() {
            return Err(Error::Damaged { file: path, line, cause });
        }
        let part = self.begin(path);
        for (offset, Line { fingerprint, failed, files, .. }) in content.lines {
            // Records of the same fingerprint are equal.
            self.records.entry(fingerprint).or_insert(Location { part, offset, failed, files });
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
        let header: Header = serde_json::from_slice(&line).map_err(|error| Error::Damaged {
            file: path.clone(),
            line: 1,
            cause: error.to_string(),
        })?;
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
    open: Vec<OpenPart>,
    /// The record that was read last.
    bytes: Vec<u8>,
}

/// An open part file.
struct OpenPart {
    part: u32,
    reader: BufReader<File>,
    /// Place of the next byte.
    offset: u64,
}

/// The fields of a record that result files show.
#[derive(Deserialize)]
struct Shown<'a> {
    seconds: Seconds,
    #[serde(borrow)]
    result: &'a RawValue,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(parts: &'a Parts) -> Self {
        Self { files: &parts.files, open: Vec::new(), bytes: Vec::new() }
    }

    pub(crate) fn record(&mut self, location: Location) -> Result<Record, Error> {
        self.load(location)?;
        serde_json::from_slice(&self.bytes).map_err(|error| self.damaged(location, &error))
    }

    /// Times and result of a record, and the line of the result as it was written.
    pub(crate) fn result(&mut self, location: Location) -> Result<(Seconds, PairResult, &str), Error> {
        self.load(location)?;
        let shown: Shown<'_> =
            serde_json::from_slice(&self.bytes).map_err(|error| self.damaged(location, &error))?;
        let line = shown.result.get();
        let result = PairResult::from_json(line).map_err(|error| self.damaged(location, &error))?;
        Ok((shown.seconds, result, line))
    }

    fn damaged(&self, location: Location, cause: &dyn fmt::Display) -> Error {
        let file = self.files[location.part as usize].clone();
        // Only here is the number of the line needed.
        let before = fs::read(&file).unwrap_or_default();
        let before = &before[..(location.offset as usize).min(before.len())];
        let line = 1 + before.iter().filter(|&&byte| byte == b'\n').count();
        Error::Damaged { file, line, cause: cause.to_string() }
    }

    /// Reads the bytes of a record.
    fn load(&mut self, location: Location) -> Result<(), Error> {
        let path = &self.files[location.part as usize];
        let known = self.open.iter().position(|open| open.part == location.part);
        let mut entry = match known {
            Some(place) => self.open.remove(place),
            None => {
                if self.open.len() == OPEN {
                    self.open.remove(0);
                }
                let file = File::open(path).map_err(Error::io("read", path))?;
                OpenPart { part: location.part, reader: BufReader::with_capacity(BUFFER, file), offset: 0 }
            }
        };
        self.bytes.clear();
        // Wraps to a step backwards.
        let step = location.offset.wrapping_sub(entry.offset) as i64;
        let read = entry.reader.seek_relative(step);
        let read = read.and_then(|()| entry.reader.read_until(b'\n', &mut self.bytes));
        entry.offset = location.offset + read.map_err(Error::io("read", path))? as u64;
        self.open.push(entry);
        // The file may have been damaged since it was first read.
        sealed::check(&self.bytes, "").map_err(|damage| self.damaged(location, &damage))
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
