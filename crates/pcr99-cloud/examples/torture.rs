//! Reads mutated files of every format for a given time: `cargo run --release -p pcr99-cloud --example torture -- KEEP SECONDS SEED [SEEDS]`.
//!
//! KEEP is a directory for files that fail. SEEDS is a directory with further valid files, for example from other programs. Each valid file is
//! mutated at random and read as matches, points, indices and a cloud. A reader must return soon, with points or with an error of one line,
//! and within its promise of memory. A file that can be read as a cloud is also copied with moved points: the copy must have the moved points, or
//! there must be an error and no copy. The last line of the output is a JSON object: files tried and failed, by format.
//!
//! The file that is being read is KEEP/current.*, so that one that ends this process is not lost. `cargo xtask torture` starts this program
//! again after that.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program")]
#![allow(unreachable_pub, reason = "shared with the tests")]
#![expect(unsafe_code, reason = "an allocator that counts cannot be written without it")]

#[path = "../tests/fixtures/mod.rs"]
mod fixtures;

use std::{
    alloc::{GlobalAlloc, Layout, System},
    collections::BTreeMap,
    error::Error,
    fs, panic,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, AtomicUsize, Ordering},
    thread,
    time::{Duration, Instant},
};

use fixtures::{Kind, e57, las, npy, pcd, utm, with_checksums};
use pcr99::Similarity;
use pcr99_cloud::{
    Cloud, FileError, copy_cloud, read_cloud, read_indices, read_matches, read_points, write_cloud,
};

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

/// Memory that any file may take besides what grows with its size, in bytes: buffers and the models of the LAZ decoder.
const BUFFERS: usize = 64 << 20;
/// Memory per byte of a file that is not compressed: a point of three one-byte coordinates takes 24 bytes and its share of growing lists.
const PER_BYTE: usize = 300;
/// Memory per byte of a compressed file: 1000 points, each up to 41 bytes, in lists that may have grown threefold.
const PER_COMPRESSED_BYTE: usize = 123_000;
/// Longest time for one file on a busy machine.
const LONGEST: Duration = Duration::from_secs(30);
/// Exit status when a file took longer.
const TOO_SLOW: i32 = 3;
/// Largest file that is mutated, in bytes. Larger ones only take longer.
const LARGEST: usize = 1 << 16;

/// SplitMix64 (Steele, Lea, Flood 2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }
}

/// A valid file: extension and content.
type Seed = (String, Vec<u8>);

/// Valid files of every format.
fn seeds(more: Option<&Path>) -> Result<Vec<Seed>, Box<dyn Error>> {
    let rows = [([1.0, 2.0, 3.0], true, [4; 3], 0.5); 3];
    let turned = ([0.5, 0.5, 0.5, 0.5], [1.0, 2.0, 3.0]);
    let mut all: Vec<(&str, Vec<u8>)> = vec![
        (
            "csv",
            b"sx,sy,sz,tx,ty,tz,weight\n1,2,3,4,5,6,7\n1.5e3,-2,3,4,5,6,7\n# c\n1,2,3,4,5,6,7\n".to_vec(),
        ),
        ("csv", b"x;y;z;nx;ny;nz;intensity\n1;2;3;0;0;1;7\n4;5;6;0;1;0;8\n".to_vec()),
        ("txt", b"1 2 3 4 5 6\r\n1 2 3 4 5 6\r\n\r\n0.1 -2 3 4 5 6".to_vec()),
        ("txt", b"0 1\n2 3\n".to_vec()),
        ("pts", b"2\n1 2 3 -500 9 8 7\n4 5 6 0 1 2 3\n".to_vec()),
        ("xyz", b"# x y z nx ny nz r g b\n1 2 3 0 0 1 9 8 7\n".to_vec()),
        (
            "obj",
            b"# c\nv 1 2 3 0.5 0.5 0.5\nvn 0 0 1\nv 4 5 6 1 1 1\nvn 0 0 1\nf 1//1 2//2 -1//-1\n".to_vec(),
        ),
        ("bin", [0, 0, 128, 63].repeat(8)),
        ("npy", npy("<f8", "(4, 6)", &[0; 192])),
        ("npy", npy(">i2", "(5, 2)", &[0; 20])),
        ("npy", npy("<f4", "(3, 3)", &[7; 36])),
        ("pcd", pcd("ascii")),
        ("pcd", pcd("binary")),
        ("pcd", pcd("binary_compressed")),
        ("las", las(&utm(3), false, 3)),
        ("las", las(&utm(2), false, 6)),
        ("e57", e57(Kind::Cartesian, &[None], &rows, |xml| xml)),
        ("e57", e57(Kind::Spherical, &[None, Some(turned)], &rows, |xml| xml)),
    ];
    for format in [0, 1, 2, 3, 6, 7] {
        all.push(("laz", las(&utm(20), true, format)));
    }
    all.push(("laz", las(&Cloud::new(vec![[1.0, 2.0, 3.0]; 500]), true, 7)));
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    for name in ["stored.npz", "compressed.npz"] {
        all.push(("npz", fs::read(data.join(name))?));
    }
    let mut all: Vec<Seed> = all.into_iter().map(|(name, bytes)| (name.to_owned(), bytes)).collect();
    let place = std::env::temp_dir().join(format!("pcr99-torture-{}.ply", std::process::id()));
    write_cloud(&place, &utm(5))?;
    all.push(("ply".to_owned(), fs::read(&place)?));
    fs::remove_file(place)?;
    let vertices = "element vertex 2\nproperty double x\nproperty float y\nproperty list char short l\nproperty uchar z\nend_header\n";
    let text = format!("ply\nformat ascii 1.0\ncomment c\n{vertices}1 2 0 3\n1 2 2 8 9 3\n");
    all.push(("ply".to_owned(), text.into_bytes()));
    let vertex = [&[7; 12][..], &[1, 0, 0], &[9]].concat();
    for order in ["little", "big"] {
        let header = format!("ply\nformat binary_{order}_endian 1.0\n{vertices}");
        all.push(("ply".to_owned(), [header.into_bytes(), vertex.repeat(2)].concat()));
    }
    if let Some(directory) = more {
        let mut paths: Vec<PathBuf> = fs::read_dir(directory)?.flatten().map(|entry| entry.path()).collect();
        paths.sort();
        for path in paths {
            let bytes = fs::read(&path)?;
            if bytes.len() <= LARGEST
                && let Some(extension) = path.extension()
            {
                all.push((extension.to_string_lossy().into_owned(), bytes));
            }
        }
    }
    Ok(all)
}

/// A damaged copy of `bytes`; `other` is another file of the same format.
fn mutated(bytes: &[u8], other: &[u8], random: &mut Random) -> Vec<u8> {
    const NUMBERS: [u64; 12] = [
        0,
        1,
        0x7f,
        0xff,
        0x7fff,
        0xffff,
        1_000_000,
        0x7fff_ffff,
        0xffff_ffff,
        1 << 40,
        i64::MAX as u64,
        u64::MAX,
    ];
    let mut bytes = bytes.to_vec();
    for _ in 0..1 + random.below(4) {
        let place = random.below(bytes.len());
        let length = 1 + random.below(32);
        let end = (place + length).min(bytes.len());
        match random.below(10) {
            _ if bytes.is_empty() => bytes.push(random.next() as u8),
            0 | 1 => bytes[place] ^= 1 << random.below(8),
            2 => bytes[place] = random.next() as u8,
            3 | 4 => {
                // A number where a size may be.
                let number = NUMBERS[random.below(NUMBERS.len())].to_le_bytes();
                let width = (1 << random.below(4)).min(bytes.len() - place);
                bytes[place..place + width].copy_from_slice(&number[..width]);
            }
            5 => {
                let digits: Vec<usize> = (0..bytes.len()).filter(|&i| bytes[i].is_ascii_digit()).collect();
                if !digits.is_empty() {
                    let place = digits[random.below(digits.len())];
                    let many = random.below(20);
                    bytes.splice(place..=place, vec![b'9'; many]);
                }
            }
            6 => bytes.truncate(place),
            7 => {
                bytes.drain(place..end);
            }
            8 => {
                let copy = bytes[place..end].to_vec();
                let at = random.below(bytes.len());
                bytes.splice(at..at, copy);
            }
            _ => {
                let from = random.below(other.len());
                let to = (from + length).min(other.len());
                let copy = &other[from..to];
                let many = copy.len().min(bytes.len() - place);
                bytes[place..place + many].copy_from_slice(&copy[..many]);
            }
        }
    }
    bytes
}

/// Reads a file with all readers. The error says which promise was broken.
fn tried(path: &Path, extension: &str, size: usize) -> Result<(), String> {
    let before = NOW.load(Ordering::Relaxed);
    MOST.store(before, Ordering::Relaxed);
    let results = panic::catch_unwind(|| {
        [
            read_matches(path).map(|matches| matches.source.len()),
            read_points(path).map(|points| points.len()),
            read_indices(path).map(|pairs| pairs.len()),
            read_cloud(path).map(|cloud| if cloud.validate().is_ok() { cloud.len() } else { usize::MAX }),
        ]
    });
    let memory = MOST.load(Ordering::Relaxed).saturating_sub(before);
    let is_compressed = matches!(extension, "laz" | "npz" | "pcd" | "las");
    let allowed = BUFFERS + size * if is_compressed { PER_COMPRESSED_BYTE } else { PER_BYTE };
    if memory > allowed {
        return Err(format!("it takes {memory} bytes of memory for {size} bytes"));
    }
    for result in results.map_err(|_| "a reader panics".to_owned())? {
        match result {
            Ok(usize::MAX) => return Err("the attributes have other lengths than the points".to_owned()),
            Ok(_) => {}
            Err(error) => one_line(&error)?,
        }
    }
    copied(path, extension)
}

/// Checks that a message is one line that begins with the name of the file.
fn one_line(error: &FileError) -> Result<(), String> {
    let message = error.to_string();
    if !message.starts_with('`') || message.contains('\n') || message.len() > 1500 {
        return Err(format!("the message is not one line that names the file: {message:?}"));
    }
    Ok(())
}

/// Copies a file with moved points, and reads the copy. The error says which promise was broken.
fn copied(path: &Path, extension: &str) -> Result<(), String> {
    let Ok(original) = read_cloud(path) else { return Ok(()) };
    let pose = Similarity::from_quaternion(1.0, [0.8, 0.1, -0.5, 0.3], [12.0, -7.5, 3.0]);
    let pose = pose.map_err(|error| error.to_string())?;
    let copy = path.with_file_name("copy").with_extension(extension);
    let result = panic::catch_unwind(|| copy_cloud(path, &copy, &pose));
    let outcome = match result.map_err(|_| "copying panics".to_owned())? {
        Err(_) if copy.exists() => Err("half a copy is left".to_owned()),
        // Clouds are not written in these formats. The message names the copy.
        Err(error) if matches!(extension, "bin" | "obj" | "pts") => {
            let message = error.to_string();
            if message.contains("no format that clouds are written in") { Ok(()) } else { Err(message) }
        }
        Err(error) => one_line(&error),
        Ok(_) => read_cloud(&copy)
            .map_err(|error| format!("the copy cannot be read: {error}"))
            .and_then(|moved| compare(&original, &pose, &moved, step(&copy, extension))),
    };
    let _ = fs::remove_file(&copy);
    outcome
}

/// Largest step of the coordinates in a LAS or LAZ file, from its header. Zero for other formats.
fn step(path: &Path, extension: &str) -> f64 {
    let header =
        if matches!(extension, "las" | "laz") { fs::read(path).unwrap_or_default() } else { Vec::new() };
    let steps = header.get(131..155).unwrap_or_default().chunks_exact(8);
    steps.flat_map(<[u8; 8]>::try_from).map(f64::from_le_bytes).fold(0.0, f64::max)
}

/// Compares the points of a copy, whose coordinates have this `step`, with those that it should have.
fn compare(original: &Cloud, pose: &Similarity, copy: &Cloud, step: f64) -> Result<(), String> {
    if original.len() != copy.len() {
        return Err(format!("the copy has {} points instead of {}", copy.len(), original.len()));
    }
    let expected: Vec<[f64; 3]> = original.points.iter().map(|point| pose.apply(*point)).collect();
    let coordinates = || original.points.iter().chain(&expected).flatten();
    // Single precision is kept where it moves no point by more than a millionth of the extent.
    let reach = coordinates().filter(|x| x.is_finite()).fold(0.0_f64, |most, x| most.max(x.abs()));
    for (k, (expected, copied)) in expected.iter().zip(&copy.points).enumerate() {
        let is_off = |(a, b): (&f64, &f64)| {
            let gap = (a - b).abs();
            a.is_finite() && (gap.is_nan() || gap > 2e-6 * reach + step)
        };
        if expected.iter().zip(copied).any(is_off) {
            return Err(format!("point {k} of the copy is {copied:?} instead of {expected:?}"));
        }
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [keep, seconds, seed, more @ ..] = &arguments[..] else {
        return Err("arguments: KEEP SECONDS SEED [SEEDS]".into());
    };
    let (keep, time) = (PathBuf::from(keep), Duration::from_secs_f64(seconds.parse()?));
    let mut random = Random(seed.parse()?);
    fs::create_dir_all(&keep)?;
    panic::set_hook(Box::new(|panic| {
        if !pcr99_cloud::files::panic_is_caught() {
            eprintln!("{panic}");
        }
    }));
    let all = seeds(more.first().map(Path::new))?;
    let start = Instant::now();
    // Milliseconds since the start at which the present file was begun.
    static BEGAN: AtomicU64 = AtomicU64::new(0);
    thread::spawn(move || {
        loop {
            thread::sleep(Duration::from_secs(1));
            let began = Duration::from_millis(BEGAN.load(Ordering::Relaxed));
            if start.elapsed().saturating_sub(began) > LONGEST {
                std::process::exit(TOO_SLOW);
            }
        }
    });
    let mut counts: BTreeMap<String, [u64; 2]> = BTreeMap::new();
    while start.elapsed() < time {
        let (extension, seed) = &all[random.below(all.len())];
        let same: Vec<&Vec<u8>> =
            all.iter().filter(|(other, _)| other == extension).map(|(_, bytes)| bytes).collect();
        let mut bytes = mutated(seed, same[random.below(same.len())], &mut random);
        if extension == "e57" && random.below(4) > 0 {
            // Without this, the checksums of pages would catch nearly everything.
            bytes = with_checksums(bytes);
        }
        let path = keep.join("current").with_extension(extension);
        fs::write(&path, &bytes)?;
        BEGAN.store(start.elapsed().as_millis() as u64, Ordering::Relaxed);
        let result = tried(&path, extension, bytes.len());
        let count = counts.entry(extension.clone()).or_default();
        count[0] += 1;
        if let Err(cause) = result {
            count[1] += 1;
            let kept =
                keep.join(format!("{seed:016x}-{}", count[0], seed = random.0)).with_extension(extension);
            fs::rename(&path, &kept)?;
            eprintln!("{}: {cause}", kept.display());
        }
    }
    for extension in counts.keys() {
        let _ = fs::remove_file(keep.join("current").with_extension(extension));
    }
    let fields: Vec<String> =
        counts.iter().map(|(name, [tried, failed])| format!("\"{name}\":[{tried},{failed}]")).collect();
    println!("{{{}}}", fields.join(","));
    Ok(())
}
