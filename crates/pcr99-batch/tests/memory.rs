//! A manifest of a million rows is read in seconds, and its memory is that of its texts. A batch adds the places of its results.

#![expect(unsafe_code, reason = "an allocator that counts cannot be written without it")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::fmt::Write as _;
use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use pcr99_batch::{Directory, Ended, Manifest, RunOptions, Settings, run};

/// The system's allocator, which remembers the most that was asked for.
struct Counting;

static NOW: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is handed on to the system's allocator as it is.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let now = NOW.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        MOST.fetch_max(now, Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// One test, since the allocator counts for all threads.
#[test]
fn memory_is_that_of_the_bookkeeping() {
    a_million_rows();
    let [few, many] = [5_000, 25_000].map(batch);
    // The place of a result takes 48 bytes, and a tree is two thirds full. Lists of work take 30.
    let each = many.saturating_sub(few) / 20_000;
    assert!(each < 150, "{few} bytes for 5000 pairs, {many} for 25000");
}

/// The most memory beside the manifest that a batch of `rows` pairs takes, in bytes.
fn batch(rows: usize) -> usize {
    let place = tempfile::tempdir().expect("a directory");
    // Without a file, a result is short but is kept like any other.
    let cells = (0..rows).map(|k| vec![format!("pair-{k}"), "nowhere.npy".to_owned()]);
    let base = place.path().to_path_buf();
    let manifest = Manifest::from_rows(&["pair_id", "pairs"], cells, "rows", base, &Settings::default());
    let manifest = manifest.expect("a manifest");
    let options = RunOptions { threads: NonZero::new(2), ..RunOptions::default() };
    let before = NOW.load(Ordering::Relaxed);
    MOST.store(before, Ordering::Relaxed);
    let mut directory = Directory::create(&place.path().join("out"), &manifest).expect("a directory");
    let ended = run(&manifest, &mut directory, &options, &|| false, &mut |_| {}).expect("results");
    assert_eq!(ended, Ended::Finished);
    assert_eq!(directory.merge(&manifest).expect("results").failed, rows as u64);
    MOST.load(Ordering::Relaxed) - before
}

fn a_million_rows() {
    const ROWS: usize = 1_000_000;
    let mut text = "pair_id,source,target,voxel,seed\n".to_owned();
    for k in 0..ROWS {
        let (a, b) = (k / 1000, k % 1000);
        let _ = writeln!(
            text,
            "scene-{a}-{b},/data/scans/scene/cloud-{a}.ply,/data/scans/scene/cloud-{b}.ply,0.05,{}",
            k % 3
        );
    }
    let start = Instant::now();
    let before = NOW.load(Ordering::Relaxed);
    MOST.store(before, Ordering::Relaxed);
    let manifest = Manifest::parse(text.as_bytes(), "million.csv", "/data".into(), &Settings::default())
        .expect("a manifest");
    assert_eq!(manifest.rows().len(), ROWS);
    let (kept, most) = (NOW.load(Ordering::Relaxed) - before, MOST.load(Ordering::Relaxed) - before);
    assert!(kept < 200 * ROWS, "{kept} bytes kept");
    assert!(most < 400 * ROWS, "{most} bytes at most");
    assert_eq!(manifest.order().len(), ROWS);
    // Some two seconds; ten times that on a machine with much else to do.
    assert!(start.elapsed().as_secs() < 60, "{:?}", start.elapsed());
}
