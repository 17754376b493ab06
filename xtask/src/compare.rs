//! `cargo xtask compare [--only PART] [--seeds N] [--pairs TEXT] [--runs N]`: comparison with Open3D, KISS-Matcher and small_gicp. Not part of the tests.
//!
//! - Normals and FPFH of a small generated cloud, compared with Open3D → `docs/results/open3d-agreement.json` and the reference values of a
//!   test in `pcr99-cloud`.
//! - With `PCR99_DATA`, the directory of real pairs: registrations of all pairs → `docs/results/clouds.csv` and `clouds.md`.
//! - Refinement: errors, covariances, and with `PCR99_DATA` cycles and pairs of real scans → `docs/results/accuracy.csv` and `accuracy.md`.
//!
//! PART is `features`, `pairs` or `accuracy`; without it, all three are compared.
//!
//! The Python packages for this are installed in a separate environment under the target directory.

mod accuracy;
mod table;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail, ensure};

use crate::{
    cargo,
    python::{call, environment, target_directory},
    root,
};

/// Random motions of each source without `--seeds`: enough that one lucky motion does not decide.
const SEEDS: u32 = 5;
/// Runs of each small generated problem without `--runs`: the mean of 300 squared Gaussian errors is known to 8 %.
const RUNS: u32 = 50;

const USAGE: &str =
    "usage: cargo xtask compare [--only features|pairs|accuracy] [--seeds N] [--pairs TEXT] [--runs N]";

struct Options {
    only: Option<String>,
    seeds: u32,
    pairs: Option<String>,
    runs: u32,
}

impl Options {
    fn asks_for(&self, part: &str) -> bool {
        self.only.as_ref().is_none_or(|only| only == part)
    }
}

/// Runs the comparison; `arguments` are those after `compare`.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let options = parse(arguments)?;
    let target = target_directory()?;
    let work = target.join("compare");
    fs::create_dir_all(&work).with_context(|| format!("cannot make `{}`", work.display()))?;
    let python = environment(&work, &root()?.join("xtask/compare/requirements.txt"))?;
    let data = std::env::var_os("PCR99_DATA").map(PathBuf::from);
    if options.asks_for("features") {
        agreement(&python, &work)?;
    }
    match &data {
        Some(data) if options.asks_for("pairs") => clouds(&python, &work, &target, data, &options)?,
        Some(_) => {}
        None => eprintln!("\nnote: set PCR99_DATA to the directory of the real scans to compare these too"),
    }
    if options.asks_for("accuracy") {
        refinements(&python, &work, &target, data.as_deref(), &options)?;
    }
    Ok(())
}

fn parse(arguments: &[String]) -> Result<Options> {
    let mut options = Options { only: None, seeds: SEEDS, pairs: None, runs: RUNS };
    let mut rest = arguments.iter();
    while let Some(name) = rest.next() {
        let value = rest.next().with_context(|| format!("`{name}` needs a value"));
        match name.as_str() {
            "--seeds" => {
                options.seeds = value?.parse().context("--seeds")?;
                ensure!(options.seeds > 0, "--seeds must be at least 1");
            }
            "--pairs" => options.pairs = Some(value?.clone()),
            "--runs" => {
                options.runs = value?.parse().context("--runs")?;
                ensure!(options.runs > 0, "--runs must be at least 1");
            }
            "--only" => {
                let part = value?;
                ensure!(
                    ["features", "pairs", "accuracy"].contains(&part.as_str()),
                    "no part `{part}`: {USAGE}"
                );
                options.only = Some(part.clone());
            }
            _ => bail!("unknown option `{name}`: {USAGE}"),
        }
    }
    Ok(options)
}

/// Compares normals and descriptors with Open3D.
fn agreement(python: &Path, work: &Path) -> Result<()> {
    let directory = work.join("dented_ball");
    fs::create_dir_all(&directory)?;
    let path = directory.to_str().context("the path of the target directory is not Unicode")?;
    cargo(&["run", "--quiet", "-p", "pcr99-cloud", "--example", "dented_ball", "--", path], &[])?;
    let root = root()?;
    let summary = results()?.join("open3d-agreement.json");
    let mut script = script(python, "agreement.py")?;
    script.arg("--work").arg(&directory).arg("--summary").arg(&summary);
    script.arg("--reference").arg(root.join("crates/pcr99-cloud/tests/reference/open3d.csv"));
    call(&mut script)?;
    eprintln!("{}", fs::read_to_string(&summary)?);
    Ok(())
}

/// Compares registrations of real pairs.
fn clouds(python: &Path, work: &Path, target: &Path, data: &Path, options: &Options) -> Result<()> {
    ensure!(data.join("pairs.csv").is_file(), "PCR99_DATA: `{}` has no file `pairs.csv`", data.display());
    cargo(&["build", "--release", "-p", "pcr99-cli"], &[])?;
    let csv = work.join("clouds.csv");
    let mut script = script(python, "clouds.py")?;
    script.arg("--data").arg(data).arg("--program").arg(target.join("release/pcr99"));
    script.arg("--work").arg(work).arg("--output").arg(&csv).arg("--seeds").arg(options.seeds.to_string());
    script.args(options.pairs.iter().flat_map(|text| ["--pairs", text]));
    call(&mut script)?;
    let text = fs::read_to_string(&csv)?;
    let page = table::page(&text, &versions()?)?;
    if options.pairs.is_some() {
        // Only some pairs: the committed results stay.
        eprintln!("\n{page}");
        return Ok(());
    }
    let results = results()?;
    fs::write(results.join("clouds.csv"), text)?;
    fs::write(results.join("clouds.md"), page)?;
    eprintln!("\nwritten: docs/results/clouds.md and clouds.csv");
    Ok(())
}

/// Compares refinements: errors, covariances, cycles.
fn refinements(
    python: &Path,
    work: &Path,
    target: &Path,
    data: Option<&Path>,
    options: &Options,
) -> Result<()> {
    cargo(&["build", "--release", "-p", "pcr99-cloud", "--example", "accuracy"], &[])?;
    let csv = work.join("accuracy.csv");
    let mut script = script(python, "accuracy.py")?;
    script.arg("--example").arg(target.join("release/examples/accuracy")).arg("--work").arg(work);
    script.arg("--output").arg(&csv).arg("--runs").arg(options.runs.to_string());
    if let Some(data) = data {
        script.arg("--data").arg(data);
    }
    call(&mut script)?;
    let text = fs::read_to_string(&csv)?;
    let page = accuracy::page(&text, &when_and_where()?)?;
    eprintln!("\n{page}");
    if data.is_some() {
        let results = results()?;
        fs::write(results.join("accuracy.csv"), text)?;
        fs::write(results.join("accuracy.md"), page)?;
        eprintln!("written: docs/results/accuracy.md and accuracy.csv");
    }
    Ok(())
}

/// Date and commit, what was compared, and the processor.
fn when_and_where() -> Result<String> {
    let output = |program: &str, arguments: &[&str]| -> Result<String> {
        let output = Command::new(program).args(arguments).current_dir(root()?).output();
        let output = output.with_context(|| format!("cannot start `{program}`"))?;
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let date = output("date", &["-u", "+%Y-%m-%d"])?;
    let commit = output("git", &["rev-parse", "--short", "HEAD"])?;
    Ok(format!("{date}, commit {commit}; {}", versions()?))
}

/// `docs/results`.
fn results() -> Result<PathBuf> {
    let directory = root()?.join("docs/results");
    fs::create_dir_all(&directory)?;
    Ok(directory)
}

/// What was compared: name and version of each package, and the processor.
fn versions() -> Result<String> {
    let requirements = fs::read_to_string(root()?.join("xtask/compare/requirements.txt"))?;
    let packages = requirements.lines().filter(|line| !line.starts_with('#')).map(|l| l.replace("==", " "));
    let packages = packages.collect::<Vec<_>>().join(", ");
    let information = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let processor = information.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let processor = processor.map_or("an unknown processor", |(_, name)| name.trim());
    Ok(format!("pcr99 {}, {packages}; one CPU of {processor}", env!("CARGO_PKG_VERSION")))
}

fn script(python: &Path, name: &str) -> Result<Command> {
    let mut command = Command::new(python);
    command.arg(root()?.join("xtask/compare").join(name));
    Ok(command)
}
