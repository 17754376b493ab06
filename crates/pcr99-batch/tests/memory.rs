//! A manifest of a million rows is read in seconds, and its memory is that of its texts.

#![expect(unsafe_code, reason = "an allocator that counts cannot be written without it")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::fmt::Write as _;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use pcr99_batch::{Manifest, Settings};

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
