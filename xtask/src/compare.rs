//! `cargo xtask compare [--seeds N] [--pairs TEXT]`: comparison with Open3D and KISS-Matcher. Not part of the tests.
//!
//! - Normals and FPFH of a small generated cloud, compared with Open3D → `docs/results/open3d-agreement.json` and the reference values of a
//!   test in `pcr99-cloud`.
//! - With `PCR99_DATA`, the directory of real pairs: registrations of all pairs → `docs/results/clouds.csv` and `clouds.md`.
//!
//! The Python packages for this are installed in a separate environment under the target directory.

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

struct Options {
    seeds: u32,
    pairs: Option<String>,
}

/// Runs the comparison; `arguments` are those after `compare`.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let options = parse(arguments)?;
    let target = target_directory()?;
    let work = target.join("compare");
    fs::create_dir_all(&work).with_context(|| format!("cannot make `{}`", work.display()))?;
    let python = environment(&work, &root()?.join("xtask/compare/requirements.txt"))?;
    agreement(&python, &work)?;
    match std::env::var_os("PCR99_DATA") {
        Some(data) => clouds(&python, &work, &target, Path::new(&data), &options),
        None => {
            eprintln!(
                "\nnote: set PCR99_DATA to the directory of the real pairs to compare registrations too"
            );
            Ok(())
        }
    }
}

fn parse(arguments: &[String]) -> Result<Options> {
    let mut options = Options { seeds: SEEDS, pairs: None };
    let mut rest = arguments.iter();
    while let Some(name) = rest.next() {
        let value = rest.next().with_context(|| format!("`{name}` needs a value"));
        match name.as_str() {
            "--seeds" => {
                options.seeds = value?.parse().context("--seeds")?;
                ensure!(options.seeds > 0, "--seeds must be at least 1");
            }
            "--pairs" => options.pairs = Some(value?.clone()),
            _ => bail!("unknown option `{name}`: usage: cargo xtask compare [--seeds N] [--pairs TEXT]"),
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
