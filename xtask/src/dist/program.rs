//! The program as an archive and as a Debian package, for each processor.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, ensure};

use super::{GLIBC, Processor, VERSION, Work, archive, processors};
use crate::{browser::runs, python::call, python::target_directory, root};

/// Texts that come with the program.
const TEXTS: [&str; 4] = ["README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE"];

/// Builds the program, stripped, for glibc 2.17 and later, and packs it.
pub(super) fn build(work: &Work) -> Result<()> {
    for processor in processors() {
        eprintln!("\n── program for {} ──", processor.target);
        let program = compiled(work, processor)?;
        let name = format!("pcr99-{VERSION}-{}", processor.target);
        let directory = work.scratch.join(&name);
        fresh(&directory)?;
        put(&program, &directory.join("pcr99"))?;
        for text in TEXTS {
            put(&root()?.join(text), &directory.join(text))?;
        }
        archive::pack(&directory, &work.output.join(format!("{name}.tar.xz")))?;
        if runs("dpkg-deb", &["--version"]) {
            debian(work, processor, &program)?;
        } else {
            eprintln!("note: no Debian package is made: `dpkg-deb` is not installed");
        }
    }
    Ok(())
}

/// Compiles the program, without the Bunny.
fn compiled(work: &Work, processor: Processor) -> Result<PathBuf> {
    let target = format!("{}.{GLIBC}", processor.target);
    let mut command = work.command(&work.tool("cargo-zigbuild")?)?;
    command.args(["zigbuild", "--release", "--locked", "-p", "pcr99-cli", "--no-default-features"]);
    command.args(["--features", "lab", "--target", &target]).env("CARGO_PROFILE_RELEASE_STRIP", "symbols");
    call(&mut command).with_context(|| format!("program for {}", processor.target))?;
    Ok(target_directory()?.join(processor.target).join("release/pcr99"))
}

/// Makes the Debian package: the program, its completions for Bash, and its licences.
fn debian(work: &Work, processor: Processor, program: &Path) -> Result<()> {
    let name = format!("pcr99_{VERSION}_{}", processor.debian);
    let directory = work.scratch.join(&name);
    fresh(&directory)?;
    put(program, &directory.join("usr/bin/pcr99"))?;
    let texts = directory.join("usr/share/doc/pcr99");
    for text in ["README.md", "CHANGELOG.md"] {
        put(&root()?.join(text), &texts.join(text))?;
    }
    let licences = ["LICENSE-MIT", "LICENSE-APACHE"]
        .map(|text| fs::read_to_string(root()?.join(text)).map_err(anyhow::Error::from));
    let [mit, apache] = licences;
    let copyright = format!(
        "pcr99 is under either of two licences, MIT or Apache-2.0, at your option.\n\n{}\n\n{}",
        mit?, apache?
    );
    fs::write(texts.join("copyright"), copyright)?;
    let size = fs::metadata(program)?.len().div_ceil(1024);
    let control = format!(
        "Package: pcr99\nVersion: {VERSION}\nArchitecture: {}\nMaintainer: the authors of pcr99 <pcr99@users.noreply.github.com>\n\
         Section: science\nPriority: optional\nDepends: libc6 (>= {GLIBC})\nInstalled-Size: {size}\n\
         Homepage: https://github.com/pcr99/pcr99\n\
         Description: registration of 3-D point sets from matches of which most are wrong\n \
         Finds the rigid motion or similarity between two point sets from matches of\n \
         which up to 99 % are wrong, or between two raw point clouds, with a verdict on\n \
         every answer.\n",
        processor.debian
    );
    fs::create_dir_all(directory.join("DEBIAN"))?;
    fs::write(directory.join("DEBIAN/control"), control)?;
    let mut command = Command::new("dpkg-deb");
    command.args(["--root-owner-group", "--build"]).arg(&directory);
    command.arg(work.output.join(format!("{name}.deb"))).env("SOURCE_DATE_EPOCH", archive::time()?);
    call(&mut command).context("Debian package")
}

/// Makes an empty directory.
fn fresh(directory: &Path) -> Result<()> {
    if directory.exists() {
        fs::remove_dir_all(directory).with_context(|| directory.display().to_string())?;
    }
    fs::create_dir_all(directory).with_context(|| directory.display().to_string())
}

/// Copies a file to a place whose directory is made.
fn put(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to.parent().context("a file lies in a directory")?)?;
    ensure!(from.is_file(), "`{}` is missing", from.display());
    fs::copy(from, to).with_context(|| format!("cannot copy `{}` to `{}`", from.display(), to.display()))?;
    Ok(())
}
