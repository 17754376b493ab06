//! Memory grows with the bytes of a file, not with the sizes in its header.
//!
//! Files that broke this in an earlier version are found through `PCR99_ATTACKS` (a directory with `files/*.laz`).

#![expect(unsafe_code, reason = "an allocator that counts cannot be written without it")]

mod fixtures;

use std::alloc::{GlobalAlloc, Layout, System};
use std::fs;
use std::panic;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use fixtures::{Kind, e57, las, npy, pcd, utm, with_checksums};
use pcr99_cloud::{Cloud, read_cloud};

/// The system's allocator with a record of the peak memory use.
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

/// A single test, because the allocator counts all threads.
#[test]
fn memory_is_bounded() {
    let usual = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        if !pcr99_cloud::files::panic_is_caught() {
            usual(panic);
        }
    }));
    let directory = tempfile::tempdir().expect("a temporary directory");
    let cost = |name: &str, bytes: &[u8]| {
        let path = directory.path().join(name);
        fs::write(&path, bytes).expect("a temporary file");
        let before = NOW.load(Ordering::Relaxed);
        MOST.store(before, Ordering::Relaxed);
        let ok = read_cloud(&path).is_ok();
        (ok, MOST.load(Ordering::Relaxed) - before)
    };
    let refused = |name: &str, bytes: &[u8]| {
        let (ok, cost) = cost(name, bytes);
        assert!(!ok, "{name}");
        assert!(cost < 8 << 20, "{name}: {cost} bytes");
    };
    let text = |bytes: Vec<u8>, from: &str, to: &str| {
        let at = bytes.windows(from.len()).position(|window| window == from.as_bytes()).expect(from);
        [&bytes[..at], to.as_bytes(), &bytes[at + from.len()..]].concat()
    };
    let patched = |mut bytes: Vec<u8>, at: usize, patch: &[u8]| {
        bytes[at..at + patch.len()].copy_from_slice(patch);
        bytes
    };
    let ply = |format: &str| {
        format!(
            "ply\nformat {format} 1.0\nelement vertex 1000000000000\nproperty float x\nproperty float y\nproperty float \
             z\nproperty uchar red\nproperty uchar green\nproperty uchar blue\nend_header\n1 2 3 4 5 6\n"
        )
        .into_bytes()
    };
    let rows = [([1.0, 2.0, 3.0], true, [4; 3], 0.5); 3];
    let many = |count: &'static str| {
        move |xml: String| xml.replace("recordCount=\"3\"", &format!("recordCount=\"{count}\""))
    };
    // A layer of the first chunk that claims two gigabytes: after the first point (36 bytes) and the number of points.
    let layer = |bytes: Vec<u8>| {
        let points = u32::from_le_bytes(bytes[96..100].try_into().expect("four bytes")) as usize;
        patched(bytes, points + 8 + 36 + 4, &[0, 0, 0, 128])
    };
    let trillion = 1_000_000_000_000u64.to_le_bytes();
    let hostile = [
        ("a.ply", ply("ascii")),
        ("b.ply", ply("binary_big_endian")),
        (
            "a.pcd",
            text(text(pcd("ascii"), "WIDTH 3", "WIDTH 1000000000000"), "POINTS 3", "POINTS 1000000000000"),
        ),
        (
            "b.pcd",
            text(text(pcd("binary"), "WIDTH 3", "WIDTH 1000000000000"), "POINTS 3", "POINTS 1000000000000"),
        ),
        (
            "c.pcd",
            text(text(pcd("binary_compressed"), "WIDTH 3", "WIDTH 99999999"), "POINTS 3", "POINTS 99999999"),
        ),
        ("a.npy", npy("<f8", "(1000000000000, 3)", &[0; 24])),
        ("a.las", patched(las(&utm(10), false, 3), 247, &trillion)),
        ("a.laz", patched(las(&utm(10), true, 3), 247, &trillion)),
        ("b.laz", patched(las(&utm(10), true, 3), 247, &100_000_000u64.to_le_bytes())),
        ("c.laz", layer(las(&utm(40), true, 7))),
        ("a.e57", e57(Kind::Cartesian, &[None], &rows, many("1000000000000"))),
        ("b.e57", e57(Kind::Cartesian, &[None], &rows, many("2000"))),
        ("a.pts", b"1000000000000\n1 2 3\n".to_vec()),
        ("a.xyz", vec![b'7'; 1 << 21]),
        ("a.obj", vec![b'v'; 1 << 21]),
    ];
    for (name, bytes) in hostile {
        refused(name, &bytes);
    }
    for (name, bytes) in hostile_compression() {
        refused(name, &bytes);
    }
    // Large numbers all over the files that other libraries decode.
    let files = [
        ("m.las", las(&utm(3), false, 3), false),
        ("m.laz", las(&utm(40), true, 3), false),
        ("n.laz", las(&utm(40), true, 7), false),
        ("m.e57", e57(Kind::Cartesian, &[None], &rows, |xml| xml), true),
    ];
    for (name, bytes, checksums) in files {
        for place in (94..bytes.len() - 4).step_by(bytes.len().div_ceil(200)) {
            let patch = if place % 2 == 0 { [255, 255, 255, 127] } else { [0, 0, 16, 0] };
            let damaged = patched(bytes.clone(), place, &patch);
            let (_, cost) = cost(name, &if checksums { with_checksums(damaged) } else { damaged });
            assert!(cost < 64 << 20, "{name} with {patch:?} at {place}: {cost} bytes");
        }
    }
    // Undamaged files of these formats take at most a few times their size, plus buffers.
    let count = 20_000;
    for (name, bytes) in [("l.las", las(&utm(count), false, 3)), ("l.laz", las(&utm(count), true, 3))] {
        let (ok, cost) = cost(name, &bytes);
        assert!(ok, "{name}");
        assert!(cost < (8 << 20) + 200 * count, "{name}: {cost} bytes for {} of the file", bytes.len());
    }
    // Equal points are as dense as compressed points get: 1000 per byte at most, with up to three times 41 bytes each while lists grow.
    for format in [0, 3, 7] {
        let bytes = las(&Cloud::new(vec![[1.0, 2.0, 3.0]; 300_000]), true, format);
        let (ok, cost) = cost("equal.laz", &bytes);
        assert!(ok, "equal points of format {format}");
        assert!(cost < (8 << 20) + 123 * 300_000, "format {format}: {cost} bytes for {}", bytes.len());
    }
    for name in ["laz-zero-points-abort.laz", "laz-two-records-4g.laz", "laz-one-record-4g.laz"] {
        if let Some(bytes) = attack(name) {
            refused(name, &bytes);
        }
    }
    if let Some(bytes) = attack("equal0.laz") {
        let (ok, cost) = cost("equal0.laz", &bytes);
        assert!(ok && cost < (8 << 20) + 123 * 1000 * bytes.len(), "{cost} bytes");
        assert!(cost < (8 << 20) + 123 * 4_000_000, "{cost} bytes");
    }
}

/// LAZ files whose description of the compression makes the decoder allocate gigabytes.
fn hostile_compression() -> Vec<(&'static str, Vec<u8>)> {
    let patched = |mut bytes: Vec<u8>, at: usize, patch: &[u8]| {
        bytes[at..at + patch.len()].copy_from_slice(patch);
        bytes
    };
    let number = |bytes: &[u8], at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"));
    let points_at = |bytes: &[u8]| (number(bytes, 96) & 0xffff_ffff) as usize;
    let record_of = |bytes: &[u8]| {
        let at = bytes.windows(14).position(|window| window == b"laszip encoded").expect("a record") - 2;
        (at, 54 + usize::from(u16::from_le_bytes([bytes[at + 20], bytes[at + 21]])))
    };
    // A table of 10⁹ chunks, in files that declare no points, one point, and all points.
    let chunks = |bytes: Vec<u8>, points: u64| {
        let table = number(&bytes, points_at(&bytes)) as usize;
        let bytes = patched(bytes, table + 4, &1_000_000_000u32.to_le_bytes());
        patched(patched(bytes, 107, &(points as u32).to_le_bytes()), 247, &points.to_le_bytes())
    };
    // A second record of the compression, or one of another author before it.
    let doubled = |bytes: Vec<u8>, edit: &dyn Fn(&mut Vec<u8>)| {
        let (at, length) = record_of(&bytes);
        let mut other = bytes[at..at + length].to_vec();
        edit(&mut other);
        let points = (points_at(&bytes) + other.len()) as u32;
        let records = u32::from_le_bytes(bytes[100..104].try_into().expect("4 bytes")) + 1;
        let bytes = patched(patched(bytes, 96, &points.to_le_bytes()), 100, &records.to_le_bytes());
        [&bytes[..at], &other, &bytes[at..]].concat()
    };
    let kind = |bytes: Vec<u8>, kind: u8| {
        let (at, _) = record_of(&bytes);
        patched(bytes, at + 54, &[kind])
    };
    let huge_layer = |bytes: Vec<u8>| {
        let at = points_at(&bytes) + 8 + 36 + 4;
        patched(bytes, at, &[0, 0, 0, 128])
    };
    let (old, new) = (las(&utm(40), true, 3), las(&utm(40), true, 7));
    vec![
        ("no-points.laz", chunks(old.clone(), 0)),
        ("no-points-layered.laz", chunks(new.clone(), 0)),
        ("one-point.laz", chunks(old.clone(), 1)),
        ("all-points.laz", chunks(new.clone(), 40)),
        ("two-records.laz", doubled(new.clone(), &|_| {})),
        ("two-kinds.laz", doubled(new.clone(), &|record| record[54] = 2)),
        // The decoder follows the items, which are layered, and not the kind.
        ("wrong-kind.laz", huge_layer(kind(new.clone(), 2))),
        ("no-kind.laz", kind(old, 0)),
        ("layer.laz", huge_layer(new)),
    ]
}

/// A file of the attacks; `None` without their directory.
#[expect(clippy::print_stderr, reason = "says that it is skipped")]
fn attack(name: &str) -> Option<Vec<u8>> {
    let Some(directory) = std::env::var_os("PCR99_ATTACKS").map(PathBuf::from) else {
        assert!(
            std::env::var_os("PCR99_REQUIRE_DATA").is_none_or(|v| v != "1"),
            "PCR99_REQUIRE_DATA=1 but PCR99_ATTACKS is not set"
        );
        eprintln!("skipped: set PCR99_ATTACKS to the directory of the attacks to read `{name}`");
        return None;
    };
    let path = directory.join("files").join(name);
    Some(fs::read(&path).unwrap_or_else(|error| panic!("`{}`: {error}", path.display())))
}
