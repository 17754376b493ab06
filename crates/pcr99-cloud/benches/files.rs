//! Speed of the readers and writers of files, beside reading and writing the same bytes without looking at them:
//! `cargo bench -p pcr99-cloud --bench files`.
//!
//! Files of about 50 MB are in the temporary directory, and in the cache of the operating system. Times are CPU time, the least of
//! several rounds; each round is a process of its own, because memory that was used before is many times cheaper than new
//! memory. Each round also times `std::fs::read` (or `std::fs::write`) of the same bytes: `relative` is the speed relative to that.
//! An argument selects the rows whose name contains it.

#![allow(clippy::print_stdout, reason = "the table is what this program is for")]
#![allow(unreachable_pub, reason = "shared with the tests")]

#[path = "../tests/fixtures/mod.rs"]
mod fixtures;

use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::process::Command;

use cpu_time::ProcessTime;
use fixtures::{las, npy};
use pcr99::Correspondences;
use pcr99_base::random::Random;
use pcr99_cloud::{Cloud, Matches, OutputFile, read_cloud, read_matches, write_cloud, write_matches};

/// Number of matches in the files of matches. Files of clouds have several times as many points where points are small.
const ROWS: usize = 1_000_000;
/// Number of rounds.
const ROUNDS: usize = 7;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [mode, work, file] = arguments.as_slice()
        && mode == "once"
    {
        return once(work, Path::new(file));
    }
    let wanted = arguments.into_iter().find(|argument| !argument.starts_with('-')).unwrap_or_default();
    let directory = tempfile::tempdir().expect("a temporary directory");
    let bench = Bench { directory: directory.path(), wanted };
    println!("{:<40} {:>8} {:>8} {:>9} {:>9}", "format", "MB", "ms", "MB/s", "relative");
    matches(&bench);
    clouds(&bench);
    writing(&bench);
}

/// Does `work` on `file` and prints its CPU time in nanoseconds.
fn once(work: &str, file: &Path) {
    let time = |work: &dyn Fn()| {
        let began = ProcessTime::now();
        work();
        println!("{}", began.elapsed().as_nanos());
    };
    let copy = file.with_file_name(format!("copy-{}", file.file_name().expect("a name").display()));
    match work {
        "read" => time(&|| drop(black_box(fs::read(file).expect("the file")))),
        "matches" => time(&|| drop(black_box(read_matches(file).expect("matches")))),
        "correspondences" => time(&|| {
            let matches = read_matches(file).expect("matches");
            black_box(Correspondences::new(&matches.source, &matches.target).expect("correspondences"));
        }),
        "cloud" => time(&|| drop(black_box(read_cloud(file).expect("a cloud")))),
        "write" => {
            let bytes = fs::read(file).expect("the file");
            time(&|| fs::write(&copy, &bytes).expect("a temporary file"));
        }
        "write cloud" => {
            let cloud = read_cloud(file).expect("a cloud");
            time(&|| drop(write_cloud(&copy, &cloud).expect("a temporary file")));
        }
        "write matches" => {
            let matches = read_matches(file).expect("matches");
            time(&|| {
                let place = OutputFile::new(&copy).expect("a temporary file");
                place.write(|mut out| write_matches(&mut out, &matches)).expect("a temporary file");
            });
        }
        _ => panic!("unknown work"),
    }
}

/// The rows of the table.
struct Bench<'a> {
    directory: &'a Path,
    wanted: String,
}

impl Bench<'_> {
    /// Prints a row: `work` on a file with the bytes that `make` gives, beside plain reading or writing of the same bytes.
    fn row(&self, name: &str, work: &str, file: &str, make: impl FnOnce() -> Vec<u8>) {
        if !name.contains(&self.wanted) {
            return;
        }
        let path = self.directory.join(file);
        let bytes = make();
        fs::write(&path, &bytes).expect("a temporary file");
        let plain = if work.starts_with("write") { "write" } else { "read" };
        let program = std::env::current_exe().expect("this program");
        let mut least = [f64::INFINITY; 2];
        for _ in 0..ROUNDS {
            for (least, work) in least.iter_mut().zip([work, plain]) {
                let round =
                    Command::new(&program).arg("once").arg(work).arg(&path).output().expect("a process");
                let nanoseconds = String::from_utf8_lossy(&round.stdout).trim().parse().unwrap_or(f64::NAN);
                assert!(nanoseconds > 0.0, "{}", String::from_utf8_lossy(&round.stderr));
                *least = least.min(1e-9 * nanoseconds);
            }
        }
        let ([ours, plain], megabytes) = (least, bytes.len() as f64 / 1e6);
        println!(
            "{name:<40} {megabytes:>8.1} {:>8.1} {:>9.0} {:>9.2}",
            1e3 * ours,
            megabytes / ours,
            plain / ours
        );
        fs::remove_file(path).expect("the file");
    }
}

/// Rows of six numbers between −1 and 1.
fn numbers() -> Vec<[f64; 6]> {
    let mut random = Random::new(1);
    (0..ROWS).map(|_| std::array::from_fn(|_| 2.0 * random.uniform() - 1.0)).collect()
}

fn doubles<const N: usize>(rows: &[[f64; N]]) -> Vec<u8> {
    rows.as_flattened().iter().flat_map(|x| x.to_le_bytes()).collect()
}

fn matches(bench: &Bench<'_>) {
    let rows = numbers();
    let shape = format!("({ROWS}, 6)");
    let array = || npy("<f8", &shape, &doubles(&rows));
    bench.row("matches .npy", "matches", "m.npy", array);
    bench.row("matches .npy, and Correspondences::new", "correspondences", "m.npy", array);
    let by_columns = || {
        let columns: Vec<u8> =
            (0..6).flat_map(|c| rows.iter().flat_map(move |row| row[c].to_le_bytes())).collect();
        let bytes = npy("<f8", &shape, &columns);
        let at = bytes.windows(5).position(|window| window == b"False").expect("the order");
        [&bytes[..at], b"True ", &bytes[at + 5..]].concat()
    };
    bench.row("matches .npy, column by column", "matches", "f.npy", by_columns);
    let single = || {
        let bytes: Vec<u8> = rows.as_flattened().iter().flat_map(|&x| (x as f32).to_le_bytes()).collect();
        npy("<f4", &shape, &bytes)
    };
    bench.row("matches .npy, single precision", "matches", "s.npy", single);
    bench.row("matches .csv, all digits", "matches", "a.csv", || csv(&rows[..ROWS / 2], None));
    bench.row("matches .csv, 6 decimals", "matches", "b.csv", || csv(&rows, Some(6)));
}

/// Writes matches as text, with all digits or with this number of decimals.
fn csv(rows: &[[f64; 6]], decimals: Option<usize>) -> Vec<u8> {
    let value = |x: f64| decimals.map_or(x, |n| format!("{x:.n$}").parse().expect("a number"));
    let of = |at: usize| rows.iter().map(|row| [row[at], row[at + 1], row[at + 2]].map(value)).collect();
    let (source, target) = (of(0), of(3));
    let mut out = Vec::new();
    write_matches(&mut out, &Matches { source, target, ..Matches::default() }).expect("a vector");
    out
}

/// Points of a scan of a hundred metres, with normals, colours and intensities.
fn cloud(count: usize) -> Cloud {
    let mut random = Random::new(2);
    let points = (0..count).map(|_| std::array::from_fn(|_| f64::from((100.0 * random.uniform()) as f32)));
    Cloud {
        points: points.collect(),
        normals: Some(
            (0..count).map(|i| [[0.0, 0.6f32, -0.8], [1.0, 0.0, 0.0]][i % 2].map(f64::from)).collect(),
        ),
        colors: Some((0..count).map(|i| [i as u8, (i * 7) as u8, 255 - i as u8]).collect()),
        intensities: Some((0..count).map(|i| (i % 250) as f64).collect()),
        viewpoint: None,
    }
}

/// A cloud without attributes; coordinates of double precision if `wide`.
fn bare(count: usize, wide: bool) -> Cloud {
    let mut points = cloud(count).points;
    if wide {
        points.iter_mut().for_each(|point| *point = point.map(|x| x + 1e-9));
    }
    Cloud::new(points)
}

/// Bytes of a file called `name` with `cloud` in it.
fn written(bench: &Bench<'_>, name: &str, cloud: &Cloud) -> Vec<u8> {
    let path = bench.directory.join(name);
    write_cloud(&path, cloud).expect("a temporary file");
    fs::read(&path).expect("the file")
}

fn clouds(bench: &Bench<'_>) {
    let row = |name: &str, file: &str, make: &dyn Fn() -> Cloud| {
        bench.row(name, "cloud", file, || written(bench, file, &make()));
    };
    row("cloud .ply, single", "a.ply", &|| bare(4 * ROWS, false));
    row("cloud .ply, double", "b.ply", &|| bare(2 * ROWS, true));
    row("cloud .ply, all attributes", "c.ply", &|| cloud(3 * ROWS / 2));
    row("cloud .pcd, single", "a.pcd", &|| bare(4 * ROWS, false));
    row("cloud .pcd, all attributes", "c.pcd", &|| cloud(3 * ROWS / 2));
    bench.row("cloud .las, format 3", "cloud", "a.las", || las(&cloud(3 * ROWS / 2), false, 3));
    bench.row("cloud .las, format 6", "cloud", "b.las", || las(&cloud(3 * ROWS / 2), false, 6));
    bench.row("cloud .laz, format 3", "cloud", "a.laz", || las(&cloud(ROWS), true, 3));
    row("cloud .npy, double", "a.npy", &|| bare(2 * ROWS, true));
    row("cloud .npy, all attributes", "c.npy", &|| cloud(ROWS / 2));
    let millimetres = || {
        let of = |x: f64| (x * 1000.0).round() / 1000.0;
        Cloud::new(cloud(2 * ROWS).points.iter().map(|point| point.map(of)).collect())
    };
    row("cloud .xyz, 3 decimals", "a.xyz", &millimetres);
    row("cloud .xyz, all digits", "b.xyz", &|| bare(ROWS, true));
    row("cloud .csv, all attributes", "c.csv", &|| cloud(ROWS / 2));
    bench.row("cloud .ply, ASCII, 3 decimals", "cloud", "t.ply", || {
        let header = format!(
            "ply\nformat ascii 1.0\nelement vertex {}\nproperty float x\nproperty float y\nproperty float z\nend_header\n",
            2 * ROWS
        );
        [header.into_bytes(), written(bench, "a.xyz", &millimetres())].concat()
    });
}

fn writing(bench: &Bench<'_>) {
    let row = |name: &str, file: &str, make: &dyn Fn() -> Cloud| {
        bench.row(name, "write cloud", file, || written(bench, file, &make()));
    };
    row("write .ply, single", "a.ply", &|| bare(4 * ROWS, false));
    row("write .ply, double", "b.ply", &|| bare(2 * ROWS, true));
    row("write .ply, all attributes", "c.ply", &|| cloud(3 * ROWS / 2));
    row("write .pcd, all attributes", "c.pcd", &|| cloud(3 * ROWS / 2));
    row("write .npy, double", "a.npy", &|| bare(2 * ROWS, true));
    row("write .xyz, all digits", "b.xyz", &|| bare(ROWS, true));
    bench.row("write matches .csv, all digits", "write matches", "a.csv", || {
        csv(&numbers()[..ROWS / 2], None)
    });
}
