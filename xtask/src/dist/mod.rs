//! Files of a release: wheels, a source distribution, the program, Debian packages, a bill of materials, checksums.
//!
//! Each part is in a file of its own. Linux makes all of them; other systems make their own in the workflow `wheels`.

mod archive;
mod check;
mod materials;
mod program;
mod source;
mod wheels;

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context, Result, bail, ensure};

use crate::{
    python::{environment, target_directory},
    root,
    wasm::can_be_had,
};

/// Version of the workspace.
const VERSION: &str = env!("CARGO_PKG_VERSION");

const USAGE: &str =
    "usage: cargo xtask dist [--only wheels|program|source|materials|check] [--output DIRECTORY]";

/// Oldest version of glibc that the program and the wheels need: that of manylinux2014, which every Linux since 2014 has.
const GLIBC: &str = "2.17";

/// A processor that files are made for.
#[derive(Debug, Clone, Copy)]
struct Processor {
    /// Target of the compiler.
    target: &'static str,
    /// Name in the tags of wheels.
    wheel: &'static str,
    /// Name in Debian packages.
    debian: &'static str,
}

/// The processors that files are made for, where the standard library of Rust can be had.
const PROCESSORS: [Processor; 2] = [
    Processor { target: "x86_64-unknown-linux-gnu", wheel: "x86_64", debian: "amd64" },
    Processor { target: "aarch64-unknown-linux-gnu", wheel: "aarch64", debian: "arm64" },
];

/// Where the parts find their tools and put their files.
struct Work {
    /// Python with maturin, Zig and cargo-zigbuild.
    python: PathBuf,
    /// Intermediate files.
    scratch: PathBuf,
    /// The files of the release.
    output: PathBuf,
}

/// Makes the files of a release.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    ensure!(cfg!(target_os = "linux"), "the files of a release are made on Linux");
    let (only, output) = options(arguments)?;
    let scratch = target_directory()?.join("dist-work");
    let output = match output {
        Some(place) => std::path::absolute(place)?,
        None => target_directory()?.join("dist"),
    };
    for place in [&scratch, &output] {
        fs::create_dir_all(place).with_context(|| format!("cannot make `{}`", place.display()))?;
    }
    let python = environment(&scratch, &root()?.join("xtask/dist/requirements.txt"))?;
    let work = Work { python, scratch, output };
    let is_wanted = |part: &str| only.is_none_or(|only| only == part);
    if is_wanted("wheels") {
        wheels::build(&work)?;
    }
    if is_wanted("program") {
        program::build(&work)?;
    }
    if is_wanted("source") {
        source::build(&work)?;
    }
    if is_wanted("materials") {
        materials::write(&work)?;
    }
    if is_wanted("check") {
        check::run(&work)?;
    }
    archive::checksums(&work.output)?;
    list(&work.output)
}

/// Parts of a release that can be made alone.
const PARTS: [&str; 5] = ["wheels", "program", "source", "materials", "check"];

/// The part that is asked for, and the directory of the files.
fn options(arguments: &[String]) -> Result<(Option<&'static str>, Option<&String>)> {
    let (mut only, mut output) = (None, None);
    let mut rest = arguments.iter();
    while let Some(flag) = rest.next() {
        let value = rest.next().with_context(|| format!("`{flag}` needs a value\n{USAGE}"))?;
        match flag.as_str() {
            "--only" => {
                let part = PARTS.into_iter().find(|part| part == value);
                only = Some(part.with_context(|| format!("there is no part `{value}`\n{USAGE}"))?);
            }
            "--output" => output = Some(value),
            _ => bail!("unknown option `{flag}`\n{USAGE}"),
        }
    }
    Ok((only, output))
}

/// The processors whose standard library is there. A missing one is named.
fn processors() -> Vec<Processor> {
    let (there, missing): (Vec<_>, Vec<_>) =
        PROCESSORS.into_iter().partition(|processor| can_be_had(processor.target));
    for processor in missing {
        eprintln!(
            "note: nothing is made for {0}: `rustup target add {0}` does not succeed",
            processor.target
        );
    }
    there
}

impl Work {
    /// A program of the environment of tools.
    fn tool(&self, name: &str) -> Result<PathBuf> {
        Ok(self.python.parent().context("no directory of programs")?.join(name))
    }

    /// A command with the tools of this environment first on the path.
    fn command(&self, program: &Path) -> Result<Command> {
        let mut command = Command::new(program);
        let directory = self.python.parent().context("no directory of programs")?;
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path = std::iter::once(directory.to_path_buf()).chain(std::env::split_paths(&path));
        command.env("PATH", std::env::join_paths(path)?).current_dir(root()?).stdin(Stdio::null());
        Ok(command)
    }
}

/// Prints the files with their sizes.
fn list(output: &Path) -> Result<()> {
    eprintln!("\nfiles in `{}`:", output.display());
    for file in archive::files(output)? {
        let size = fs::metadata(&file)?.len() as f64 / 1e6;
        eprintln!("  {size:7.1} MB  {}", file.file_name().unwrap_or_default().to_string_lossy());
    }
    Ok(())
}
