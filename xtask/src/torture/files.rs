//! Mutated files, in a process of their own that reads them one after the other, and Python arrays.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Instant,
};

use anyhow::{Context, Result};
use serde_json::Value;

use super::Torture;
use crate::{python::target_directory, root};

/// Largest address space of the process, in kilobytes: the decoding stack and what the largest compressed files may take.
const ADDRESS_SPACE: u64 = 16 << 20;

/// Seconds without a new process, so that one that ends early does not cost much.
const SLICE: f64 = 60.0;

/// Mutated files of every format.
pub(super) fn files(torture: &mut Torture) -> Result<()> {
    let reader = torture.program.with_file_name("examples").join("torture");
    // In memory where possible: a disk would take most of the time.
    let memory = Path::new("/dev/shm");
    let work = if memory.is_dir() { memory } else { &torture.place };
    let keep = work.join(format!("pcr99-torture-{}", std::process::id()));
    fs::create_dir_all(&keep)?;
    let seeds = real_seeds(&torture.place);
    while torture.has_time() {
        let left = torture.deadline.saturating_duration_since(Instant::now()).as_secs_f64().min(SLICE);
        let seed = torture.random.next().to_string();
        let mut command = if cfg!(unix) {
            let mut shell = Command::new("sh");
            shell.args(["-c", &format!("ulimit -v {ADDRESS_SPACE}; exec \"$0\" \"$@\"")]).arg(&reader);
            shell
        } else {
            Command::new(&reader)
        };
        command.arg(&keep).args([left.to_string(), seed]).args(&seeds);
        let output = command
            .stdin(Stdio::null())
            .stderr(Stdio::inherit())
            .output()
            .context("cannot start the reader")?;
        let counts: Option<Value> = output
            .stdout
            .split(|&byte| byte == b'\n')
            .rev()
            .find_map(|line| serde_json::from_slice(line).ok());
        match counts.as_ref().and_then(Value::as_object) {
            Some(counts) if output.status.success() => {
                for (format, count) in counts {
                    let number = |place: usize| count[place].as_u64().unwrap_or(0);
                    torture.table.add(&format!("files, .{format}"), number(0), number(1));
                }
            }
            _ => {
                // The file that was being read is still there.
                let current = fs::read_dir(&keep)?.flatten().map(|entry| entry.path());
                let current: Vec<PathBuf> =
                    current.filter(|path| path.file_stem().is_some_and(|stem| stem == "current")).collect();
                let newest =
                    current.iter().max_by_key(|path| path.metadata().and_then(|file| file.modified()).ok());
                let evidence: Vec<&Path> = newest.map(PathBuf::as_path).into_iter().collect();
                torture.count(
                    "files that end the process",
                    Err(format!("the reader ended with {}", output.status)),
                    &evidence,
                )?;
            }
        }
    }
    // Only what failed stays.
    let failures = torture.place.join("failures/files");
    fs::create_dir_all(&failures)?;
    for entry in fs::read_dir(&keep)?.flatten() {
        if entry.path().file_stem().is_some_and(|stem| stem != "current") {
            fs::copy(entry.path(), failures.join(entry.file_name()))?;
        }
    }
    fs::remove_dir_all(&keep)?;
    Ok(())
}

/// Directory with small files from laspy, pye57 and Open3D, as far as the Python of `PCR99_TORTURE_PYTHON` or of `cargo xtask python` has these.
fn real_seeds(place: &Path) -> Option<PathBuf> {
    let seeds = place.join("seeds");
    let script = root().ok()?.join("xtask/src/torture/seeds.py");
    let made = Command::new(python()?).arg(script).arg(&seeds).status();
    made.is_ok_and(|status| status.success()).then_some(seeds)
}

/// A Python interpreter with packages.
fn python() -> Option<PathBuf> {
    if let Some(python) = env::var_os("PCR99_TORTURE_PYTHON") {
        return Some(python.into());
    }
    let python = target_directory().ok()?.join("python/python/bin/python");
    python.exists().then_some(python)
}

/// Python arrays of every odd kind, where the package is installed.
pub(super) fn arrays(torture: &mut Torture) -> Result<()> {
    let script = root()?.join("xtask/src/torture/arrays.py");
    let has_package = |python: &PathBuf| {
        let found = Command::new(python).args(["-c", "import pcr99"]).stderr(Stdio::null()).status();
        found.is_ok_and(|status| status.success())
    };
    let Some(python) = python().filter(has_package) else {
        eprintln!("note: no arrays were tried; `cargo xtask python` installs the package");
        return Ok(());
    };
    let seed = torture.random.next().to_string();
    let output = Command::new(python).arg(script).arg(seed).stderr(Stdio::inherit()).output()?;
    let counts: Option<[u64; 2]> = serde_json::from_slice(&output.stdout).ok();
    match counts {
        Some([tried, failed]) if output.status.success() => torture.table.add("arrays", tried, failed),
        _ => torture.count("arrays", Err(format!("Python ended with {}", output.status)), &[])?,
    }
    Ok(())
}
