//! CPU time and memory of a batch of many small problems: `cargo bench -p pcr99-batch --bench pairs -- [PAIRS] [THREADS]`.
//!
//! Each pair is a file of 50 matches, half of them wrong, as an array or as text; paths of the first thousand files are repeated. Files are in
//! the temporary directory. The first table has the stages of a batch, the second the steps of one pair on one thread, without journal.

#![allow(clippy::print_stdout, reason = "the table is what this program is for")]

use std::fmt::Write as _;
use std::fs;
use std::hint::black_box;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use cpu_time::ProcessTime;
use pcr99::{Correspondences, Registration, Similarity};
use pcr99_base::random::Random;
use pcr99_batch::{Directory, Manifest, RunOptions, Settings, run};
use pcr99_cloud::{Matches, read_matches, write_matches};
use pcr99_document::{Document, Inputs, PairResult};
use pcr99_plan::{SolveOptions, SolvePlan, Solvers};

/// Number of different files.
const FILES: usize = 1000;
/// Number of matches in each.
const MATCHES: usize = 50;
/// Inlier threshold; the noise of a coordinate is a third of it.
const THRESHOLD: f64 = 0.03;

fn main() {
    let mut numbers = std::env::args().skip(1).filter_map(|argument| argument.parse::<usize>().ok());
    let (pairs, threads) = (numbers.next().unwrap_or(20_000), numbers.next().unwrap_or(1));
    let place = tempfile::tempdir().expect("a temporary directory");
    let files: Vec<[PathBuf; 2]> = (0..FILES).map(|i| write(place.path(), i)).collect();

    println!("{pairs} pairs, {threads} thread(s), CPU µs per pair");
    println!(
        "{:<18} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9}",
        "", "manifest", "run", "merge", "all", "resume", "pairs/s", "peak MB"
    );
    for (name, kind, threshold) in
        [("array, threshold", 0, true), ("array", 0, false), ("text, threshold", 1, true), ("text", 1, false)]
    {
        let mut manifest = "pair_id,pairs\n".to_owned();
        for i in 0..pairs {
            let file = files[i % FILES][kind].file_name().expect("a name").to_string_lossy();
            writeln!(manifest, "pair-{i},{file}").expect("a text");
        }
        let table = place.path().join("pairs.csv");
        fs::write(&table, manifest).expect("a temporary file");
        let times = batch(place.path(), &table, threshold, threads);
        let each = |time: Duration| 1e6 * time.as_secs_f64() / pairs as f64;
        let [read, run, merge, resume, wall] = times.map(each);
        let (all, rate, memory) = (read + run + merge, 1e6 / wall, peak_memory());
        println!(
            "{name:<18} {read:>9.1} {run:>9.1} {merge:>9.1} {all:>9.1} {resume:>9.1} {rate:>9.0} {memory:>9}"
        );
    }

    println!("\n{:<18} {:>9} {:>9} {:>9} {:>9}", "", "read", "check", "search", "document");
    for (name, kind, threshold) in
        [("array, threshold", 0, true), ("array", 0, false), ("text, threshold", 1, true), ("text", 1, false)]
    {
        let [read, check, search, document] = steps(&files, kind, threshold);
        println!("{name:<18} {read:>9.1} {check:>9.1} {search:>9.1} {document:>9.1}");
    }
}

/// Writes a problem as array and as text.
fn write(directory: &Path, number: usize) -> [PathBuf; 2] {
    let mut random = Random::new(number as u64);
    let quaternion = std::array::from_fn(|_| random.gaussian());
    let truth = Similarity::from_quaternion(1.0, quaternion, [1.0, -2.0, 3.0]).expect("a rotation");
    let mut matches = Matches::default();
    for i in 0..MATCHES {
        let source: [f64; 3] = std::array::from_fn(|_| random.uniform());
        let right = truth.apply(source).map(|x| x + THRESHOLD / 3.0 * random.gaussian());
        let wrong = std::array::from_fn(|axis| truth.translation()[axis] + 2.0 * random.uniform() - 1.0);
        matches.source.push(source);
        matches.target.push(if i % 2 == 0 { right } else { wrong });
    }
    let paths = ["npy", "csv"].map(|extension| directory.join(format!("{number}.{extension}")));
    let rows = matches.source.iter().zip(&matches.target).flat_map(|(a, b)| [*a, *b]).flatten();
    let header = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': ({MATCHES}, 6), }}\n");
    let mut array =
        [b"\x93NUMPY\x01\x00", (header.len() as u16).to_le_bytes().as_slice(), header.as_bytes()].concat();
    array.extend(rows.flat_map(f64::to_le_bytes));
    fs::write(&paths[0], array).expect("a temporary file");
    let mut text = Vec::new();
    write_matches(&mut text, &matches).expect("a vector");
    fs::write(&paths[1], text).expect("a temporary file");
    paths
}

/// CPU time of reading the manifest, of all pairs, of merging, and of resuming the finished batch; wall-clock time of the first three.
fn batch(place: &Path, table: &Path, threshold: bool, threads: usize) -> [Duration; 5] {
    let output = place.join("out");
    let settings = Settings { threshold: threshold.then_some(THRESHOLD), ..Settings::default() };
    let options = RunOptions { threads: NonZero::new(threads), ..RunOptions::default() };
    let (began, clock) = (ProcessTime::now(), Instant::now());
    let manifest = Manifest::read(table, &settings).expect("a manifest");
    let read = began.elapsed();
    let mut directory = Directory::create(&output, &manifest).expect("a directory");
    run(&manifest, &mut directory, &options, &|| false, &mut |_| {}).expect("results");
    let ran = began.elapsed();
    let summary = directory.merge(&manifest).expect("results");
    assert!(summary.registered * 100 > summary.pairs * 95, "{summary}");
    let (merged, wall) = (began.elapsed(), clock.elapsed());
    drop(directory);
    let directory = Directory::resume(&output, &manifest).expect("a directory");
    assert_eq!(directory.finished(), manifest.rows().len());
    let resumed = began.elapsed();
    drop(directory);
    fs::remove_dir_all(&output).expect("the directory");
    [read, ran - read, merged - ran, resumed - merged, wall]
}

/// CPU µs per pair of reading its file, checking its matches, the search, and the line of its result.
fn steps(files: &[[PathBuf; 2]], kind: usize, threshold: bool) -> [f64; 4] {
    let plan = SolvePlan::new(&SolveOptions {
        threshold: threshold.then_some(THRESHOLD),
        ..SolveOptions::default()
    });
    let plan = plan.expect("a plan");
    let mut solvers = Solvers::new();
    let began = ProcessTime::now();
    let matches: Vec<Matches> =
        files.iter().map(|paths| read_matches(&paths[kind]).expect("matches")).collect();
    let read = began.elapsed();
    let of = |matches: &Matches| Correspondences::new(&matches.source, &matches.target).expect("matches");
    let pairs: Vec<Correspondences> = matches.iter().map(of).collect();
    let checked = began.elapsed();
    let mut solve = |pairs| plan.run(pairs, &mut solvers, &|| None).expect("a result");
    let found: Vec<Registration> = pairs.iter().map(&mut solve).collect();
    let searched = began.elapsed();
    for found in &found {
        let document = Document::of_matches(plan.method().name(), found);
        black_box(PairResult::ran("pair", Inputs::matches("file"), document).to_json());
    }
    let written = began.elapsed();
    let each = |time: Duration| 1e6 * time.as_secs_f64() / files.len() as f64;
    [read, checked - read, searched - checked, written - searched].map(each)
}

/// Largest memory of this process so far, in MB, where the system tells.
fn peak_memory() -> String {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes: Option<f64> = line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok());
    kilobytes.map_or("unknown".to_owned(), |kilobytes| format!("{:.0}", kilobytes * 1.024e-3))
}
