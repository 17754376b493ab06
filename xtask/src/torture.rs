//! `cargo xtask torture`: hostile input and unlucky moments, for as long as told.
//!
//! | part | what is tried |
//! |---|---|
//! | files | mutated files of every format, read in one process with caps on memory and time (example `torture` of `pcr99-cloud`) |
//! | journals | damaged directories of batches and benchmarks: resumed to the same results, or refused and repaired to the same results |
//! | kills | batches that are killed at random moments and resumed, to the same bytes |
//! | arguments, manifests, documents | any exit status but those of a crash |
//! | full disks | outputs that do not fit: an error, and no half file |
//! | two processes | on one directory: one works, the other says so |
//! | determinism | 1, 2, 3 and 8 threads, with and without AVX2, to the same bytes |
//! | arrays | Python arrays of every odd kind: a result or an exception of the package |
//!
//! What fails is kept under `target/torture`.

mod damage;

mod files;

mod processes;

mod program;

mod syntax;

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail, ensure};

use crate::{cargo, python::target_directory};

/// Duration without an argument, in minutes.
const MINUTES: f64 = 10.0;
/// Duration of the short form, which is part of `cargo xtask test`, in minutes.
const SHORT: f64 = 0.5;

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

    /// One of `list`, which is not empty.
    fn of<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len())]
    }
}

/// Tried and failed cases of each kind.
#[derive(Default)]
struct Table(BTreeMap<String, [u64; 2]>);

impl Table {
    fn add(&mut self, kind: &str, tried: u64, failed: u64) {
        let count = self.0.entry(kind.to_owned()).or_default();
        *count = [count[0] + tried, count[1] + failed];
    }

    fn failed(&self) -> u64 {
        self.0.values().map(|[_, failed]| failed).sum()
    }

    fn text(&self) -> String {
        let mut text = format!("\n{:<32} {:>10} {:>8}\n", "kind", "tried", "failed");
        for (kind, [tried, failed]) in &self.0 {
            text += &format!("{kind:<32} {tried:>10} {failed:>8}\n");
        }
        text
    }
}

/// What every part needs.
struct Torture {
    /// The program.
    program: PathBuf,
    /// Directory for the work of this run; failures stay there.
    place: PathBuf,
    random: Random,
    table: Table,
    /// End of the present part.
    deadline: Instant,
}

impl Torture {
    fn has_time(&self) -> bool {
        Instant::now() < self.deadline
    }

    /// Counts a case. A failure is kept: `evidence` is copied to a directory of its own, with the cause.
    fn count(&mut self, kind: &str, result: Result<(), String>, evidence: &[&Path]) -> Result<()> {
        let Err(cause) = result else {
            self.table.add(kind, 1, 0);
            return Ok(());
        };
        self.table.add(kind, 1, 1);
        let kept = self.place.join("failures").join(format!("{kind} {:016x}", self.random.next()));
        fs::create_dir_all(&kept)?;
        fs::write(kept.join("cause.txt"), &cause)?;
        for path in evidence {
            if path.exists() {
                copy_all(path, &kept.join(path.file_name().context("a path without a name")?))?;
            }
        }
        eprintln!("{kind}: {cause}\n  kept in {}", kept.display());
        Ok(())
    }
}

/// Copies a file, or a directory with everything in it.
fn copy_all(from: &Path, to: &Path) -> Result<()> {
    if !from.is_dir() {
        fs::write(to, fs::read(from)?)?;
        return Ok(());
    }
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        copy_all(&entry.path(), &to.join(entry.file_name()))?;
    }
    Ok(())
}

/// A part with its share of the time.
type Part = (f64, fn(&mut Torture) -> Result<()>);

/// The parts. Mutated files come first in number, so they have the largest share.
const PARTS: [Part; 9] = [
    (0.40, files::files),
    (0.18, damage::batch_journals),
    (0.06, damage::bench_journals),
    (0.16, processes::kills),
    (0.06, syntax::arguments),
    (0.05, syntax::texts),
    (0.03, processes::full_disks),
    (0.02, processes::two_processes),
    (0.04, program::determinism),
];

/// Runs everything with the arguments of the command.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let (mut minutes, mut seed) = (MINUTES, None);
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let mut value = || rest.next().with_context(|| format!("`{argument}` needs a value"));
        match argument.as_str() {
            "--minutes" => minutes = value()?.parse().context("`--minutes` needs a number")?,
            "--seed" => seed = Some(value()?.parse().context("`--seed` needs a whole number")?),
            "--short" => minutes = SHORT,
            other => bail!("unknown argument `{other}`; use --minutes N, --seed N or --short"),
        }
    }
    ensure!(minutes > 0.0 && minutes < 1e5, "`--minutes` must be above 0");
    // Each run tries something else, unless it is asked for the same.
    let now =
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |time| time.as_secs());
    for_time(Duration::from_secs_f64(60.0 * minutes), seed.unwrap_or(now))
}

/// The short form, with a fixed seed.
pub(crate) fn short() -> Result<()> {
    for_time(Duration::from_secs_f64(60.0 * SHORT), 0)
}

fn for_time(time: Duration, seed: u64) -> Result<()> {
    cargo(&["build", "-p", "pcr99-cli", "--bin", "pcr99", "--example", "two_scans"], &[])?;
    cargo(&["build", "-p", "pcr99-cloud", "--example", "torture"], &[])?;
    let target = target_directory()?;
    let place = target.join("torture");
    if place.exists() {
        fs::remove_dir_all(&place)?;
    }
    fs::create_dir_all(&place)?;
    let program = target.join("debug/pcr99");
    let start = Instant::now();
    let mut torture =
        Torture { program, place, random: Random(seed), table: Table::default(), deadline: start };
    eprintln!("\n── torture for {:.0} s, seed {seed} ──", time.as_secs_f64());
    for (share, part) in PARTS {
        torture.deadline = Instant::now() + time.mul_f64(share);
        part(&mut torture)?;
    }
    files::arrays(&mut torture)?;
    let failed = torture.table.failed();
    eprint!("{}", torture.table.text());
    ensure!(
        failed == 0,
        "{failed} cases failed; they are kept in `{}`",
        torture.place.join("failures").display()
    );
    eprintln!("nothing failed in {:.0} s", start.elapsed().as_secs_f64());
    // What has not failed is not worth its disk.
    fs::remove_dir_all(&torture.place)?;
    Ok(())
}
