//! The Python environment of the tests, under the target directory, with pinned packages.
//!
//! `cargo xtask test` installs the package `pcr99` there, as a user would, and tests it.

use std::{
    env,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context, Result, ensure};

use crate::root;

/// Advice where Python is missing.
const REMEDY: &str =
    "Python 3.9 or later and its module `venv` are needed (Debian, Ubuntu: `apt install python3-venv`)";

/// Builds, installs and tests the package. Without Python, this is a warning, or an error when `CI=true`.
pub(crate) fn test() -> Result<()> {
    let work = target_directory()?.join("python");
    fs::create_dir_all(&work).with_context(|| format!("cannot make `{}`", work.display()))?;
    if let Err(error) = make_sure_of_python() {
        if env::var_os("CI").is_some_and(|ci| ci == "true") {
            return Err(error);
        }
        eprintln!("\nwarning: the Python package is NOT tested: {error:#}");
        return Ok(());
    }
    let package = root()?.join("python");
    let python = environment(&work, &package.join("requirements.txt"))?;
    // Not in the directory of the package: Python would import the sources there instead of the installed package.
    let run = |arguments: &[&str], path: &Path| {
        eprintln!("\n── python {} {} ──", arguments.join(" "), path.display());
        let mut command = Command::new(&python);
        command.args(arguments).arg(path).current_dir(&work).env("PATH", search_path(&python)?);
        command.env("PYTHONDONTWRITEBYTECODE", "1").env("PIP_DISABLE_PIP_VERSION_CHECK", "1");
        call(&mut command)
    };
    let install =
        ["-m", "pip", "install", "--quiet", "--no-build-isolation", "--no-deps", "--force-reinstall"];
    run(&install, &package).context("`pip install ./python`")?;
    let types = ["-m", "mypy", "--cache-dir=mypy-cache", "--strict", "--package"];
    run(&types, Path::new("pcr99")).context("types of the Python package")?;
    run(&["-m", "mypy.stubtest"], Path::new("pcr99")).context("types of the compiled module")?;
    run(&["-m", "pytest", "-p", "no:cacheprovider"], &package.join("tests"))
        .context("tests of the Python package")
}

/// The directory that cargo builds in.
pub(crate) fn target_directory() -> Result<PathBuf> {
    Ok(PathBuf::from(metadata()?["target_directory"].as_str().context("no target directory")?))
}

/// What cargo says of the workspace, without dependencies.
pub(crate) fn metadata() -> Result<serde_json::Value> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version=1", "--no-deps", "--offline"])
        .current_dir(root()?)
        .stderr(Stdio::inherit())
        .output()
        .context("cannot start cargo")?;
    serde_json::from_slice(&output.stdout).context("`cargo metadata` failed")
}

/// The Python interpreter of an environment with the pinned packages of `requirements`. The environment is made when it is missing or when
/// the packages have changed.
pub(crate) fn environment(work: &Path, requirements: &Path) -> Result<PathBuf> {
    let (directory, done) = (work.join("python"), work.join("requirements.installed"));
    let python = directory.join("bin/python");
    let text = fs::read_to_string(requirements)?;
    let runs = || quiet(Command::new(&python).args(["-m", "pip", "--version"]));
    if fs::read_to_string(&done).is_ok_and(|installed| installed == text) && runs() {
        return Ok(python);
    }
    call(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&directory))
        .with_context(|| format!("cannot make a Python environment: {REMEDY}"))?;
    call(Command::new(&python).args(["-m", "pip", "install", "--quiet", "--requirement"]).arg(requirements))
        .context(
            "cannot install the pinned packages: they need the network and a Python that they support",
        )?;
    fs::write(&done, text)?;
    Ok(python)
}

/// Checks that environments can be made. Installs the missing Debian package when run as root.
fn make_sure_of_python() -> Result<()> {
    let works = || {
        let recent = "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 9))";
        quiet(Command::new("python3").args(["-c", recent]))
    };
    if works() {
        return Ok(());
    }
    ensure!(is_root() && quiet(Command::new("apt-get").arg("--version")), REMEDY);
    eprintln!("\n── apt-get install python3-venv ──");
    let apt = |arguments: &[&str]| {
        let mut command = Command::new("apt-get");
        call(command.arg("-qq").args(arguments).env("DEBIAN_FRONTEND", "noninteractive")).context(REMEDY)
    };
    apt(&["update"])?;
    apt(&["install", "--yes", "--no-install-recommends", "python3-venv"])?;
    ensure!(works(), REMEDY);
    Ok(())
}

fn is_root() -> bool {
    let output = Command::new("id").arg("-u").stderr(Stdio::null()).output();
    output.is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}

/// The search path for a build: programs of the environment first, cargo last.
fn search_path(python: &Path) -> Result<OsString> {
    let path = env::var_os("PATH").unwrap_or_default();
    let directory = |program: &Path| program.parent().map(Path::to_path_buf);
    let (first, last) = (directory(python), directory(Path::new(env!("CARGO"))));
    Ok(env::join_paths(first.into_iter().chain(env::split_paths(&path)).chain(last))?)
}

/// Runs a command to its end.
pub(crate) fn call(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("cannot start {:?}", command.get_program()))?;
    ensure!(status.success(), "{command:?} failed");
    Ok(())
}

/// Whether a command can be started and succeeds.
fn quiet(command: &mut Command) -> bool {
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}
