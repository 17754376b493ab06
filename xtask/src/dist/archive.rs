//! Archives whose bytes depend on their contents only, and checksums of files.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, ensure};

use crate::{python::call, root};

/// Name of the file of checksums.
const CHECKSUMS: &str = "SHA256SUMS";

/// Seconds since 1970 of the last commit: the time of all files in archives.
pub(super) fn time() -> Result<String> {
    let output = Command::new("git").args(["log", "-1", "--format=%ct"]).current_dir(root()?).output();
    let output = output.context("cannot start git")?;
    ensure!(output.status.success(), "git does not know the time of the last commit");
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}

/// Packs a directory beside it, compressed as the name of the archive says.
pub(super) fn pack(directory: &Path, archive: &Path) -> Result<()> {
    let parent = directory.parent().context("a directory to pack lies in another one")?;
    let name = directory.file_name().context("a directory to pack has a name")?;
    let compressor = if archive.extension().is_some_and(|e| e == "xz") { "xz -6" } else { "gzip -n" };
    let mut command = Command::new("tar");
    command.args([
        "--create",
        "--sort=name",
        "--owner=0",
        "--group=0",
        "--numeric-owner",
        "--mode=u+w,go=rX",
    ]);
    command.arg(format!("--mtime=@{}", time()?)).args(["--use-compress-program", compressor, "--file"]);
    call(command.arg(archive).arg("--directory").arg(parent).arg(name))
}

/// The files of a directory by name, without the checksums.
pub(super) fn files(directory: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(directory).with_context(|| directory.display().to_string())?;
    let mut files = Vec::new();
    for entry in entries {
        let path = entry?.path();
        if path.is_file() && path.file_name().is_some_and(|name| name != CHECKSUMS) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// Writes the checksums of all files of a directory, for `sha256sum --check`.
pub(super) fn checksums(directory: &Path) -> Result<()> {
    let files = files(directory)?;
    if files.is_empty() {
        return Ok(());
    }
    let names = files.iter().filter_map(|file| file.file_name());
    let output = Command::new("sha256sum").args(names).current_dir(directory).output();
    let output = output.context("cannot start sha256sum")?;
    ensure!(output.status.success(), "sha256sum failed");
    let file = directory.join(CHECKSUMS);
    fs::write(&file, output.stdout).with_context(|| file.display().to_string())
}
