//! State of a file when it was read, to detect later changes.

use std::{
    fs,
    num::NonZero,
    path::{Path, PathBuf},
    time::UNIX_EPOCH,
};

use serde::{Deserialize, Serialize};

use crate::fingerprint::Fingerprint;

/// Size and modification time of a file. A copy that keeps the time cannot be told from the original.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Stamp {
    bytes: u64,
    /// Modification time in nanoseconds since 1970; 0 where the file system has none.
    modified: u64,
}

impl Stamp {
    /// Present state of a file; `None` when it does not exist or cannot be accessed.
    pub fn of(path: &Path) -> Option<Self> {
        let metadata = fs::metadata(path).ok()?;
        let modified = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        let modified = modified.and_then(|time| u64::try_from(time.as_nanos()).ok()).unwrap_or(0);
        Some(Self { bytes: metadata.len(), modified })
    }
}

/// A file of a pair, with its state at some time.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct StampedFile {
    pub(crate) path: PathBuf,
    pub(crate) stamp: Option<Stamp>,
}

impl StampedFile {
    pub(crate) fn now(path: PathBuf) -> Self {
        Self { stamp: Stamp::of(&path), path }
    }
}

/// Hash of the state of all files of a pair; `None` without files. 64 bits suffice to detect changes among a million pairs.
pub(crate) fn short(stamps: &[Option<Stamp>]) -> Option<NonZero<u64>> {
    let numbers = |stamp: &Option<Stamp>| stamp.map_or([u64::MAX; 2], |stamp| [stamp.bytes, stamp.modified]);
    let all = stamps.iter().flat_map(numbers).fold(Fingerprint::empty(), Fingerprint::with_number);
    // Zero, which no hash is in practice, would count as unknown.
    NonZero::new(all.low()).filter(|_| !stamps.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_changes_has_another_stamp() {
        let place = tempfile::tempdir().expect("a directory");
        let path = place.path().join("a.txt");
        assert_eq!(Stamp::of(&path), None);
        fs::write(&path, "1 2 3\n").expect("a file");
        let one = Stamp::of(&path);
        assert!(one.is_some() && one == Stamp::of(&path));
        // A file of the same size, but later.
        let file = fs::File::options().write(true).open(&path).expect("the file");
        file.set_modified(UNIX_EPOCH + std::time::Duration::from_nanos(1_700_000_000_000_000_001))
            .expect("a time");
        let later = Stamp::of(&path);
        assert_ne!(later, one);
        fs::write(&path, "1 2 3 4\n").expect("a file");
        let all = [None, one, later, Stamp::of(&path)];
        for (i, a) in all.iter().enumerate() {
            for b in &all[..i] {
                assert_ne!(short(&[*a]), short(&[*b]));
                assert_ne!(short(&[*a, *b]), short(&[*b, *a]));
            }
        }
        assert_eq!(short(&[]), None);
    }
}
