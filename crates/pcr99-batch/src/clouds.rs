//! Clouds that are read and made ready once, and kept while there is room.

use std::{
    collections::HashMap,
    path::Path,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
};

use pcr99_cloud::{PreparedCloud, RawCloud, read_cloud};

use crate::stamp::StampedFile;

/// Prepared clouds by file, of bounded size: the one that was not used for longest goes first. May be shared between threads. A file that has
/// changed is read again.
///
/// What is in work is held besides: two clouds for each thread.
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
    /// Counts requests.
    clock: u64,
    /// Counts files that were read.
    read: u64,
}

#[derive(Debug, Default)]
struct Entry {
    /// Empty while somebody is at it; others wait.
    slot: Arc<OnceLock<Prepared>>,
    used: u64,
    /// As last measured; a cloud grows with the voxel sizes it is asked for.
    bytes: u64,
}

/// What an entry takes besides its cloud, and one for a file that cannot be used.
const ENTRY_BYTES: u64 = 512;

impl Clouds {
    /// Keeps clouds of so many bytes.
    pub fn new(limit: u64) -> Self {
        Self { limit, state: Mutex::default() }
    }

    /// The cloud in a file, or why it cannot be used.
    pub(crate) fn get(&self, file: &StampedFile) -> Prepared {
        let slot = {
            let mut state = self.lock();
            state.clock += 1;
            let used = state.clock;
            let entry = state.entries.entry(file.clone()).or_default();
            entry.used = used;
            Arc::clone(&entry.slot)
        };
        // Not under the lock: other clouds can be had meanwhile.
        let cloud = slot.get_or_init(|| {
            self.lock().read += 1;
            prepare(&file.path)
        });
        cloud.clone()
    }

    /// Measures the clouds among the files of a pair that is done, and lets go of others where there is too much.
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
            // Those without a size are in the making.
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
        // Freed without holding up the others.
        drop(guard);
        drop(gone);
    }

    /// How many bytes are kept, as last measured.
    pub fn bytes(&self) -> u64 {
        self.lock().bytes
    }

    /// How many files were read so far.
    pub fn files_read(&self) -> u64 {
        self.lock().read
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// With the viewpoint and the normals that the file knows.
fn prepare(path: &Path) -> Prepared {
    let cloud = read_cloud(path).map_err(|error| error.to_string())?;
    RawCloud::try_from(&cloud)
        .and_then(PreparedCloud::new)
        .map(Arc::new)
        .map_err(|error| format!("`{}`: {error}", path.display()))
}
