//! Cache of clouds that several pairs use.

use std::{
    cell::Cell,
    collections::HashMap,
    path::Path,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    time::{Duration, Instant},
};

use pcr99::Seconds;
use pcr99_cloud::{PreparedCloud, RawCloud, read_cloud};

use crate::stamp::StampedFile;

/// Cache of prepared clouds by file, of bounded size; the least recently used cloud is dropped first. Threads may share it. A file that has
/// changed is read again.
///
/// Clouds in use come on top of the bound: two for each thread.
#[derive(Debug)]
pub struct Clouds {
    limit: u64,
    state: Mutex<State>,
}

type Prepared = Result<Arc<PreparedCloud>, String>;

#[derive(Debug, Default)]
struct State {
    entries: HashMap<StampedFile, Entry>,
    bytes: u64,
    /// Number of requests, the time of the cache.
    clock: u64,
    /// Number of files that were read.
    read: u64,
}

#[derive(Debug, Default)]
struct Entry {
    /// Empty while a thread prepares the cloud; others wait.
    slot: Arc<OnceLock<Prepared>>,
    used: u64,
    /// Size when last measured. A cloud grows with the number of voxel sizes that it was sampled at.
    bytes: u64,
}

/// Size of an entry without its cloud, in bytes: path, table slot and error message.
const ENTRY_BYTES: u64 = 512;

impl Clouds {
    /// A cache of at most `limit` bytes.
    pub fn new(limit: u64) -> Self {
        Self { limit, state: Mutex::default() }
    }

    /// The prepared cloud of a file, or the message why it cannot be used. The time that this takes is added to `input`: that of waiting for another thread to that of
    /// reading.
    pub(crate) fn get(&self, file: &StampedFile, input: &mut Input) -> Prepared {
        let (start, preparing) = (Instant::now(), Cell::new(Duration::ZERO));
        let slot = {
            let mut state = self.lock();
            state.clock += 1;
            let used = state.clock;
            let entry = state.entries.entry(file.clone()).or_default();
            entry.used = used;
            Arc::clone(&entry.slot)
        };
        // Without the lock, so that other threads get other clouds meanwhile.
        let cloud = slot.get_or_init(|| {
            self.lock().read += 1;
            prepare(&file.path, &preparing)
        });
        input.preparing += preparing.get();
        input.reading += start.elapsed().saturating_sub(preparing.get());
        cloud.clone()
    }

    /// The prepared cloud of a file.
    ///
    /// # Errors
    /// The message why it cannot be used.
    pub fn prepared(&self, path: &Path) -> Result<Arc<PreparedCloud>, String> {
        let file = StampedFile::now(path.to_path_buf());
        let cloud = self.get(&file, &mut Input::default());
        self.settle(&[file]);
        cloud
    }

    /// Measures the clouds of a finished pair, and drops old clouds when the cache is too large.
    pub(crate) fn settle(&self, files: &[StampedFile]) {
        let mut guard = self.lock();
        let state = &mut *guard;
        for file in files {
            if let Some(entry) = state.entries.get_mut(file)
                && let Some(cloud) = entry.slot.get()
            {
                let bytes = ENTRY_BYTES + cloud.as_ref().map_or(0, |cloud| cloud.bytes() as u64);
                state.bytes = state.bytes - entry.bytes + bytes;
                entry.bytes = bytes;
            }
        }
        let mut gone = Vec::new();
        while state.bytes > self.limit {
            // Clouds without a size are being prepared.
            let measured = state.entries.iter().filter(|(_, entry)| entry.bytes > 0);
            let Some(oldest) = measured.min_by_key(|(_, entry)| entry.used).map(|(file, _)| file.clone())
            else {
                break;
            };
            if let Some(entry) = state.entries.remove(&oldest) {
                state.bytes -= entry.bytes;
                gone.push(entry);
            }
        }
        // Freed without the lock.
        drop(guard);
        drop(gone);
    }

    /// Size of the cache in bytes, as last measured.
    pub fn bytes(&self) -> u64 {
        self.lock().bytes
    }

    /// Number of files that were read so far.
    pub fn files_read(&self) -> u64 {
        self.lock().read
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Time to get the clouds of a pair.
#[derive(Debug, Default)]
pub(crate) struct Input {
    reading: Duration,
    preparing: Duration,
}

impl Input {
    pub(crate) fn seconds(&self) -> Seconds {
        let (reading, preparing) = (self.reading.as_secs_f64(), self.preparing.as_secs_f64());
        Seconds::new(reading + preparing, vec![(Seconds::READING, reading), (Seconds::PREPARING, preparing)])
    }
}

/// Reads a cloud, with the viewpoint and the normals that the file has. `preparing` gets the time after that.
fn prepare(path: &Path, preparing: &Cell<Duration>) -> Prepared {
    let cloud = read_cloud(path).map_err(|error| error.to_string())?;
    let start = Instant::now();
    let prepared = RawCloud::try_from(cloud)
        .and_then(PreparedCloud::new)
        .map(Arc::new)
        .map_err(|error| format!("`{}`: {error}", path.display()));
    preparing.set(start.elapsed());
    prepared
}
