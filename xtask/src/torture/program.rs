//! Runs of the program, and whether they end as they may; the same result on any number of threads and without AVX2.

use std::{
    fs,
    path::Path,
    process::{Command, Output, Stdio},
};

use anyhow::{Context, Result};
use serde_json::Value;

use super::Torture;

impl Torture {
    /// The program in `directory`, not yet started.
    pub(super) fn command(&self, directory: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(arguments).current_dir(directory).env_remove("PCR99_AVX2");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs the program to its end.
    pub(super) fn output(&self, directory: &Path, arguments: &[&str]) -> Result<Output> {
        self.command(directory, arguments).output().context("cannot start the program")
    }

    /// A new, empty directory for a case.
    pub(super) fn directory(&self, name: &str) -> Result<std::path::PathBuf> {
        let path = self.place.join(name);
        if path.exists() {
            fs::remove_dir_all(&path)?;
        }
        fs::create_dir_all(&path)?;
        Ok(path)
    }

    /// Files `m0.csv` and so on with simulated matches, and a manifest of them.
    pub(super) fn batch(&self, directory: &Path, pairs: usize, points: &str) -> Result<()> {
        let mut rows = String::from("pair_id,pairs\n");
        for seed in 0..pairs {
            let (file, seed) = (format!("m{seed}.csv"), seed.to_string());
            let options = [
                "--shape",
                "knot",
                "--points",
                points,
                "--outliers",
                "0.8",
                "--seed",
                &seed,
                "--output",
                &file,
            ];
            let output = self.output(directory, &[&["simulate"], &options[..]].concat())?;
            anyhow::ensure!(output.status.success(), "{}", text(&output));
            rows += &format!("p{seed},{file}\n");
        }
        rows += "missing,nowhere.csv\n";
        fs::write(directory.join("pairs.csv"), rows)?;
        Ok(())
    }
}

/// Standard error of a run.
pub(super) fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Whether the program ended as it may: with one of its statuses, without a panic, and with a message after an error.
pub(super) fn ended_well(output: &Output) -> Result<(), String> {
    let message = text(output);
    match output.status.code() {
        Some(0 | 1 | 130) if !message.contains("panicked") => Ok(()),
        Some(2) if !message.contains("panicked") && message.contains("error: ") => Ok(()),
        _ => Err(format!("it ended with {}: {message}", output.status)),
    }
}

/// The document without times.
fn timeless(output: &Output) -> Result<Value, String> {
    ended_well(output)?;
    let mut document: Value = serde_json::from_slice(&output.stdout).map_err(|error| error.to_string())?;
    document.as_object_mut().map(|fields| fields.remove("seconds"));
    Ok(document)
}

/// The same result on 1, 2, 3 and 8 threads, with and without AVX2.
pub(super) fn determinism(torture: &mut Torture) -> Result<()> {
    let place = torture.directory("determinism")?;
    let scans = torture.program.with_file_name("examples").join("two_scans");
    for case in 0.. {
        let seed = (torture.random.next() >> 40).to_string();
        let is_cloud = case % 4 == 3;
        let first: Vec<&str> = if is_cloud {
            let made = Command::new(&scans)
                .arg(&place)
                .arg("room view")
                .arg(&seed)
                .stdout(Stdio::null())
                .status()?;
            anyhow::ensure!(made.success(), "`two_scans` failed");
            vec!["register", "scan1.ply", "scan2.ply", "--json"]
        } else {
            let (points, outliers) =
                (*torture.random.of(&["300", "1000", "3000"]), *torture.random.of(&["0.5", "0.9", "0.97"]));
            let shape = *torture.random.of(&["knot", "cube"]);
            let options = [
                "simulate",
                "--shape",
                shape,
                "--points",
                points,
                "--outliers",
                outliers,
                "--seed",
                &seed,
                "--output",
                "m.csv",
            ];
            let made = torture.output(&place, &options)?;
            anyhow::ensure!(made.status.success(), "{}", text(&made));
            let scale = *torture.random.of(&["1", "unknown"]);
            vec!["solve", "m.csv", "--json", "--scale", scale]
        };
        let mut expected = None;
        let mut result = Ok(());
        for (threads, avx2) in
            [("1", true), ("2", true), ("3", true), ("8", true), ("1", false), ("8", false)]
        {
            let mut command = torture.command(&place, &[&first[..], &["--threads", threads]].concat());
            if !avx2 {
                command.env("PCR99_AVX2", "off");
            }
            let found = timeless(&command.output()?);
            let same = match (&found, &expected) {
                (Err(cause), _) => Err(cause.clone()),
                (Ok(found), Some(expected)) if found != expected => {
                    Err(format!("{first:?}: another result with {threads} threads, AVX2 {avx2}"))
                }
                _ => Ok(()),
            };
            result = result.and(same);
            expected = expected.or(found.ok());
        }
        let kind = if is_cloud { "determinism of clouds" } else { "determinism of matches" };
        torture.count(kind, result, &[&place])?;
        if !torture.has_time() && case >= 3 {
            break;
        }
    }
    Ok(())
}
