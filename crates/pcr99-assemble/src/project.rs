//! The directory of a project: its options, its scans, and its pairs, which are a batch.
//!
//! ```text
//! project.json   version and options
//! scans.jsonl    one line per scan, with a checksum: file, state, size, content
//! pairs.csv      the pairs that were tried, as a manifest of a batch
//! pairs/         the batch of these pairs
//! ```

use std::{
    fs::{self, File, TryLockError},
    io::Write,
    path::{Path, PathBuf},
};

use pcr99_base::{
    output_file::{PendingFile, is_unfinished},
    sealed,
};
use pcr99_batch::{Manifest, Settings};
use pcr99_document::PROGRAM;
use serde::{Deserialize, Serialize};

use crate::{Error, prepare::ScanRecord};

/// Version of the files of a project.
const PROJECT_SCHEMA: u32 = 1;
const PROJECT_FILE: &str = "project.json";
const SCANS_FILE: &str = "scans.jsonl";
const PAIRS_FILE: &str = "pairs.csv";
const LOCK_FILE: &str = ".lock";
/// Directory of the batch of all pairs.
pub(crate) const PAIRS: &str = "pairs";

#[derive(Debug, Serialize, Deserialize)]
struct Header {
    project_schema: u32,
    program: String,
    /// Options that decide results, as text.
    options: String,
}

/// Directory of a project, locked until this value is dropped.
#[derive(Debug)]
pub(crate) struct Project {
    path: PathBuf,
    _lock: File,
    /// Scans, in the order in which they were added.
    pub(crate) scans: Vec<ScanRecord>,
    /// Pairs that are tried: target and source, the target being the earlier scan.
    pub(crate) pairs: Vec<[usize; 2]>,
}

impl Project {
    /// Opens or begins a project. `options` are those that decide results, as text.
    pub(crate) fn open(path: &Path, options: &str, is_resumed: bool) -> Result<Self, Error> {
        let header = read_header(path)?;
        match &header {
            Some(_) if !is_resumed => return Err(Error::Exists { directory: path.into() }),
            Some(header) => check(path, header, options)?,
            None => check_empty(path)?,
        }
        fs::create_dir_all(path).map_err(Error::io("create the directory", path))?;
        let lock = lock(path)?;
        if header.is_none() {
            let header = Header {
                project_schema: PROJECT_SCHEMA,
                program: PROGRAM.to_owned(),
                options: options.to_owned(),
            };
            write(&path.join(PROJECT_FILE), &(json(&header) + "\n"))?;
        }
        let scans = read_scans(&path.join(SCANS_FILE))?;
        let pairs = read_pairs(&path.join(PAIRS_FILE), scans.len())?;
        Ok(Self { path: path.into(), _lock: lock, scans, pairs })
    }

    /// Path of the directory.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Saves the scans.
    pub(crate) fn save_scans(&self) -> Result<(), Error> {
        let lines: Vec<String> = self.scans.iter().map(|scan| sealed::seal(json(scan), "") + "\n").collect();
        write(&self.path.join(SCANS_FILE), &lines.concat())
    }

    /// The manifest of all pairs, which is also saved.
    pub(crate) fn manifest(&self, settings: &Settings) -> Result<Manifest, Error> {
        let mut text = String::from("pair_id,source,target\n");
        let mut rows = Vec::with_capacity(self.pairs.len());
        for &[target, source] in &self.pairs {
            let row = vec![
                pair_id(target, source),
                self.scans[source].path.clone(),
                self.scans[target].path.clone(),
            ];
            let quoted = |cell: &String| format!("\"{}\"", cell.replace('"', "\"\""));
            text += &row.iter().map(quoted).collect::<Vec<_>>().join(",");
            text.push('\n');
            rows.push(row);
        }
        write(&self.path.join(PAIRS_FILE), &text)?;
        let base = std::path::absolute(&self.path).map_err(Error::io("find", &self.path))?;
        Ok(Manifest::from_rows(
            &["pair_id", "source", "target"],
            rows,
            "the pairs of the project",
            base,
            settings,
        )?)
    }
}

/// Name of a pair in the batch.
pub(crate) fn pair_id(target: usize, source: usize) -> String {
    format!("{target}-{source}")
}

fn read_header(path: &Path) -> Result<Option<Header>, Error> {
    let file = path.join(PROJECT_FILE);
    match fs::read_to_string(&file) {
        Ok(text) => serde_json::from_str(&text)
            .map(Some)
            .map_err(|cause| Error::Damaged { file, cause: cause.to_string() }),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::io("read", file)(error)),
    }
}

fn check(path: &Path, header: &Header, options: &str) -> Result<(), Error> {
    let directory = path.to_path_buf();
    if header.project_schema != PROJECT_SCHEMA || header.program != PROGRAM {
        let found = format!("{} (project schema {})", header.program, header.project_schema);
        return Err(Error::OtherVersion { directory, found });
    }
    if header.options != options {
        return Err(Error::OtherOptions { directory, then: header.options.clone(), now: options.to_owned() });
    }
    Ok(())
}

fn check_empty(path: &Path) -> Result<(), Error> {
    let entries = match fs::read_dir(path) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(Error::io("read", path)(error)),
    };
    for entry in entries {
        let name = entry.map_err(Error::io("read", path))?.file_name();
        let name = name.to_string_lossy();
        if name != LOCK_FILE && !is_unfinished(&name) {
            return Err(Error::Foreign { directory: path.into() });
        }
    }
    Ok(())
}

fn lock(path: &Path) -> Result<File, Error> {
    let file = path.join(LOCK_FILE);
    let lock = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&file)
        .map_err(Error::io("create", &file))?;
    match lock.try_lock() {
        Ok(()) => Ok(lock),
        Err(TryLockError::WouldBlock) => Err(Error::Busy { directory: path.into() }),
        Err(TryLockError::Error(error)) => Err(Error::io("lock", file)(error)),
    }
}

fn read_scans(file: &Path) -> Result<Vec<ScanRecord>, Error> {
    let text = match fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(Error::io("read", file)(error)),
    };
    let one = |(k, line): (usize, &str)| {
        let damaged =
            |cause: String| Error::Damaged { file: file.into(), cause: format!("line {}: {cause}", k + 1) };
        sealed::check(line.as_bytes(), "").map_err(|damage| damaged(damage.to_string()))?;
        serde_json::from_str(line).map_err(|error| damaged(error.to_string()))
    };
    text.lines().enumerate().map(one).collect()
}

/// The pairs, by the names in the manifest.
fn read_pairs(file: &Path, scans: usize) -> Result<Vec<[usize; 2]>, Error> {
    let text = match fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(Error::io("read", file)(error)),
    };
    let one = |(k, line): (usize, &str)| {
        let name = line.strip_prefix('"').and_then(|rest| rest.split('"').next());
        let ends = name.and_then(|name| name.split_once('-'));
        let ends = ends.and_then(|(target, source)| Some([target.parse().ok()?, source.parse().ok()?]));
        ends.filter(|[target, source]| target < source && *source < scans).ok_or_else(|| Error::Damaged {
            file: file.into(),
            cause: format!("line {}: it does not begin with two numbers of scans", k + 2),
        })
    };
    text.lines().skip(1).enumerate().map(one).collect()
}

fn json(value: &impl Serialize) -> String {
    // Texts and numbers: conversion cannot fail.
    serde_json::to_string(value).unwrap_or_default()
}

/// Writes a file completely or not at all.
pub(crate) fn write(path: &Path, text: &str) -> Result<(), Error> {
    let failed = || Error::io("write", path);
    let mut file = PendingFile::new(path.to_path_buf()).map_err(failed())?;
    file.write_all(text.as_bytes()).map_err(failed())?;
    file.finish_durably().map_err(failed())
}
