//! The pairs that are running, noted in a file of the batch.
//!
//! A pair can end the process: a lack of memory or a full stack cannot be caught. The batch would then end at the same pair on each
//! resumption. With this file, the next process knows which pairs were running and runs each in a process of its own first (`isolated`).

use std::{
    fs::{self, File},
    io::{Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};

use crate::fingerprint::Fingerprint;

/// Name of the file in the directory of the batch: a line of [`WIDTH`] bytes for each thread.
const RUNNING_FILE: &str = ".running";

/// Bytes of a line: a fingerprint and the end of the line.
const WIDTH: u64 = 33;

/// The file.
#[derive(Debug)]
pub(crate) struct Running(PathBuf);

impl Running {
    pub(crate) fn in_directory(directory: &Path) -> Self {
        Self(directory.join(RUNNING_FILE))
    }

    /// Pairs that were running when an earlier process ended without clearing the file. Damaged lines are ignored: their pairs run as all others.
    pub(crate) fn left(&self) -> Vec<Fingerprint> {
        let lines = fs::read(&self.0).unwrap_or_default();
        let pair = |line: &[u8]| str::from_utf8(line).ok()?.trim_end().parse().ok();
        lines.chunks(WIDTH as usize).filter_map(pair).collect()
    }

    /// Line number `place` of the file, for one thread.
    pub(crate) fn slot(&self, place: usize) -> Slot {
        // Without the file, nothing but the search for such pairs is lost.
        let file = File::options().write(true).create(true).truncate(false).open(&self.0).ok();
        Slot { file, at: place as u64 * WIDTH }
    }

    /// Removes the file: no pair is running.
    pub(crate) fn clear(&self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// The line of one thread.
pub(crate) struct Slot {
    file: Option<File>,
    at: u64,
}

impl Slot {
    /// Notes the pair that runs next. This takes about a microsecond: the system keeps the bytes even if the process ends at once.
    pub(crate) fn begin(&mut self, pair: Fingerprint) {
        if let Some(file) = &mut self.file {
            let _ = file
                .seek(SeekFrom::Start(self.at))
                .and_then(|_| file.write_all(format!("{pair}\n").as_bytes()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_pair_of_each_thread_is_found() {
        let place = tempfile::tempdir().expect("a directory");
        let running = Running::in_directory(place.path());
        let pair = |number| Fingerprint::empty().with_number(number);
        assert_eq!(running.left(), []);
        let (mut first, mut third) = (running.slot(0), running.slot(2));
        first.begin(pair(1));
        third.begin(pair(3));
        first.begin(pair(4));
        // The second thread has not begun: its line is empty.
        assert_eq!(running.left(), [pair(4), pair(3)]);
        running.clear();
        running.clear();
        assert_eq!(running.left(), []);
    }
}
