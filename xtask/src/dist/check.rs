//! Checks of the files: the wheel and the program are used without a Rust toolchain.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use anyhow::{Context, Result, ensure};

use super::{PROCESSORS, Processor, VERSION, Work};
use crate::{python::call, root};

/// Versions of CPython that are looked for. The oldest and the newest at hand are used.
const VERSIONS: [&str; 7] = ["3.9", "3.10", "3.11", "3.12", "3.13", "3.14", "3.15"];

/// Prints where a Python is that can make environments.
const WHERE: &str = "import sys, venv, ensurepip; print(sys.executable)";

/// Packages of the tests of the wheel, beside those that it needs itself.
const PACKAGES: [&str; 1] = ["pytest"];

/// Installs the wheel of this processor in new environments of the oldest and the newest Python at hand, runs the tests of the package there, and runs the
/// program.
pub(super) fn run(work: &Work) -> Result<()> {
    let processor = PROCESSORS.into_iter().find(|processor| processor.target.starts_with(env::consts::ARCH));
    let processor = processor.context("no files are made for this processor")?;
    program(work, processor)?;
    let found: Vec<(&str, PathBuf)> =
        VERSIONS.into_iter().filter_map(|version| Some((version, interpreter(version)?))).collect();
    let oldest =
        found.first().context("the wheel is tested with CPython 3.9 or later: none is on the path")?;
    let newest = found.last().context("no Python")?;
    wheel(work, processor, oldest)?;
    if newest.0 != oldest.0 {
        wheel(work, processor, newest)?;
    }
    Ok(())
}

/// A working Python of this version.
fn interpreter(version: &str) -> Option<PathBuf> {
    let name = format!("python{version}");
    let output =
        Command::new(&name).args(["-c", "import sys, venv, ensurepip; print(sys.executable)"]).output();
    // Version managers need the name of a version for those that are not chosen.
    let output = output.ok().filter(|output| output.status.success()).or_else(|| managed(version))?;
    Some(PathBuf::from(String::from_utf8(output.stdout).ok()?.trim()))
}

/// The Python of this version that pyenv keeps beside others.
fn managed(version: &str) -> Option<Output> {
    let listed = Command::new("pyenv").args(["versions", "--bare"]).output().ok()?;
    let listed = String::from_utf8(listed.stdout).ok()?;
    let full = listed.lines().map(str::trim).rfind(|line| line.starts_with(&format!("{version}.")))?;
    let output = Command::new("pyenv").args(["prefix", full]).output().ok()?;
    let python = Path::new(String::from_utf8(output.stdout).ok()?.trim()).join("bin/python");
    Command::new(python).args(["-c", WHERE]).output().ok().filter(|output| output.status.success())
}

/// The search path without cargo and rustc.
fn path_without_rust() -> Result<std::ffi::OsString> {
    let path = env::var_os("PATH").unwrap_or_default();
    let has_rust = |place: &PathBuf| place.join("cargo").exists() || place.join("rustc").exists();
    Ok(env::join_paths(env::split_paths(&path).filter(|place| !has_rust(place)))?)
}

/// Runs the tests of the Python package with a wheel.
fn wheel(work: &Work, processor: Processor, (version, python): &(&str, PathBuf)) -> Result<()> {
    eprintln!("\n── wheel on Python {version}, without Rust ──");
    let place = work.scratch.join(format!("check-{version}"));
    if place.exists() {
        fs::remove_dir_all(&place)?;
    }
    fs::create_dir_all(&place)?;
    let path = path_without_rust()?;
    let run = |program: &Path, arguments: &[&str]| {
        let mut command = Command::new(program);
        command.args(arguments).env("PATH", &path).env_remove("CARGO").env_remove("RUSTUP_HOME");
        command.env("PYTHONDONTWRITEBYTECODE", "1").current_dir(&place).stdin(Stdio::null());
        call(&mut command)
    };
    run(python, &["-m", "venv", "environment"])?;
    let python = place.join("environment/bin/python");
    let name = format!("pcr99-{VERSION}-cp39-abi3-manylinux_2_17_{0}.manylinux2014_{0}.whl", processor.wheel);
    let wheel = work.output.join(name);
    ensure!(wheel.is_file(), "`{}` is missing: run `cargo xtask dist --only wheels`", wheel.display());
    let install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary=:all:"];
    run(&python, &[&install[..], &[&wheel.to_string_lossy()], &PACKAGES].concat())?;
    let tests = root()?.join("python/tests");
    run(&python, &["-m", "pytest", "-p", "no:cacheprovider", &tests.to_string_lossy()])
        .with_context(|| format!("tests of the wheel on Python {version}"))
}

/// Unpacks the program and registers a generated problem.
fn program(work: &Work, processor: Processor) -> Result<()> {
    let name = format!("pcr99-{VERSION}-{}", processor.target);
    let archive = work.output.join(format!("{name}.tar.xz"));
    ensure!(archive.is_file(), "`{}` is missing: run `cargo xtask dist --only program`", archive.display());
    let place = work.scratch.join("check-program");
    if place.exists() {
        fs::remove_dir_all(&place)?;
    }
    fs::create_dir_all(&place)?;
    call(Command::new("tar").arg("--extract").arg("--file").arg(&archive).arg("--directory").arg(&place))?;
    let program = place.join(name).join("pcr99");
    let run = |arguments: &[&str]| {
        call(Command::new(&program).args(arguments).current_dir(&place).env("PATH", path_without_rust()?))
    };
    run(&["simulate", "--shape", "knot", "--outliers", "0.9", "--output", "matches.csv"])?;
    run(&["solve", "matches.csv"]).context("the packed program")
}
