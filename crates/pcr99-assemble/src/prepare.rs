//! Preparation: each scan is read once, and what is needed of it later is kept in the project.

use std::{
    path::{Path, PathBuf},
    sync::atomic::{AtomicUsize, Ordering},
};

use pcr99_batch::{Clouds, Interrupted, Stamp};
use pcr99_cloud::PreparedCloud;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::{
    Error,
    project::Project,
    scan::Scan,
    steps::GivenScan,
    words::{Words, words_of},
};

/// A scan of a project.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct ScanRecord {
    /// The file, as it was given.
    pub(crate) name: String,
    /// The file as an absolute path.
    pub(crate) path: String,
    /// State of the file when it was read.
    pub(crate) stamp: Option<Stamp>,
    /// What is known of it, or why it cannot be used.
    pub(crate) content: Result<Content, String>,
}

/// What is known of a scan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Content {
    /// Hash of all points.
    pub(crate) hash: String,
    pub(crate) points: usize,
    pub(crate) center: [f64; 3],
    pub(crate) radius: f64,
    /// Words of its surfaces, once they are needed.
    pub(crate) words: Option<Words>,
}

impl ScanRecord {
    /// The scan as the engine sees it; one that cannot be used has no points.
    pub(crate) fn scan(&self) -> Scan {
        match &self.content {
            Ok(Content { points, center, radius, .. }) => {
                Scan { name: self.name.clone(), center: *center, radius: *radius, points: *points }
            }
            Err(_) => Scan { name: self.name.clone(), center: [0.0; 3], radius: 0.0, points: 0 },
        }
    }

    pub(crate) fn file(&self) -> PathBuf {
        PathBuf::from(&self.path)
    }

    fn of(name: &str, path: &Path, clouds: &Clouds) -> Self {
        let content = clouds.prepared(path).map(|cloud| Content::of(name, &cloud));
        Self {
            name: name.to_owned(),
            path: path.to_string_lossy().into_owned(),
            stamp: Stamp::of(path),
            content,
        }
    }
}

impl Content {
    fn of(name: &str, cloud: &std::sync::Arc<PreparedCloud>) -> Self {
        let Scan { center, radius, points, .. } = Scan::of(name, cloud);
        Self { hash: hash(cloud), points, center, radius, words: None }
    }
}

/// Hash of the points of a cloud, 128 bits.
fn hash(cloud: &PreparedCloud) -> String {
    /// Offsets and prime of the 64-bit hash of Fowler, Noll and Vo; the second offset is the hash of one more byte.
    const OFFSETS: [u64; 2] = [0xcbf2_9ce4_8422_2325, 0xaf63_bd4c_8601_b7df];
    const PRIME: u64 = 0x0100_0000_01b3;
    let mut hashes = OFFSETS;
    let mut add = |x: f64| {
        for (k, hash) in hashes.iter_mut().enumerate() {
            *hash = (*hash ^ x.to_bits().rotate_left(29 * k as u32)).wrapping_mul(PRIME);
            // Multiplication moves information upwards only.
            *hash ^= *hash >> 31;
        }
    };
    cloud.center().into_iter().for_each(&mut add);
    cloud.points().iter().flatten().copied().for_each(add);
    format!("{:016x}{:016x}", hashes[0], hashes[1])
}

/// Reads the scans that are new or whose files have changed, and saves what is known of them. Returns `false` when it was interrupted.
pub(crate) fn prepare(
    project: &mut Project,
    scans: &[GivenScan],
    clouds: &Clouds,
    interrupted: Interrupted<'_>,
    progress: &(dyn Fn(usize, usize) + Sync),
) -> Result<bool, Error> {
    let mut wanted: Vec<(usize, String, PathBuf)> = Vec::new();
    for (place, scan) in project.scans.iter().enumerate() {
        let path = scan.file();
        if scan.content.is_err() || scan.stamp != Stamp::of(&path) {
            wanted.push((place, scan.name.clone(), path));
        }
    }
    let mut next = project.scans.len();
    for GivenScan { name, file } in scans {
        let path = std::path::absolute(file).map_err(Error::io("find", file))?;
        let text = path.to_str().ok_or_else(|| Error::NotUnicode { path: path.clone() })?;
        let is_known = project.scans.iter().any(|scan| scan.path == text)
            || wanted.iter().any(|(_, _, known)| *known == path);
        if !is_known {
            wanted.push((next, name.clone(), path));
            next += 1;
        }
    }
    let done = AtomicUsize::new(0);
    progress(0, wanted.len());
    let read = |(place, name, path): &(usize, String, PathBuf)| {
        if interrupted() {
            return None;
        }
        let record = ScanRecord::of(name, path, clouds);
        progress(1 + done.fetch_add(1, Ordering::Relaxed), wanted.len());
        Some((*place, record))
    };
    let records: Option<Vec<(usize, ScanRecord)>> = wanted.par_iter().map(read).collect();
    let Some(records) = records else { return Ok(false) };
    for (place, record) in records {
        if place < project.scans.len() {
            project.scans[place] = record;
        } else {
            project.scans.push(record);
        }
    }
    project.save_scans()?;
    Ok(true)
}

/// Describes the scans that have no words yet, and saves them. Returns `false` when it was interrupted.
pub(crate) fn describe(
    project: &mut Project,
    wanted: &[usize],
    has_known_scale: bool,
    clouds: &Clouds,
    interrupted: Interrupted<'_>,
    progress: &(dyn Fn(usize, usize) + Sync),
) -> Result<bool, Error> {
    let is_open = |scan: &&usize| matches!(&project.scans[**scan].content, Ok(Content { words: None, .. }));
    let open: Vec<usize> = wanted.iter().filter(is_open).copied().collect();
    if open.is_empty() {
        return Ok(true);
    }
    let done = AtomicUsize::new(0);
    let describe = |&scan: &usize| {
        if interrupted() {
            return None;
        }
        let cloud = clouds.prepared(&project.scans[scan].file());
        progress(1 + done.fetch_add(1, Ordering::Relaxed), open.len());
        Some(cloud.map_or_else(|_| Words::new(), |cloud| words_of(&cloud, has_known_scale)))
    };
    let found: Option<Vec<Words>> = open.par_iter().map(describe).collect();
    let Some(found) = found else { return Ok(false) };
    for (scan, words) in open.into_iter().zip(found) {
        if let Ok(content) = &mut project.scans[scan].content {
            content.words = Some(words);
        }
    }
    project.save_scans()?;
    Ok(true)
}
