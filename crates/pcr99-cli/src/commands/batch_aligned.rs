//! Aligned clouds of a batch: the source of each registered pair, moved onto its target.

use std::{
    collections::{HashMap, HashSet},
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail, ensure};
use pcr99::Status;
use pcr99_batch::{Directory, Fingerprint, Input, Manifest, Record, Row};
use pcr99_cloud::CloudFormat;

use super::{
    batch_pages::{TAKEN, lies_in, plain_name},
    moved,
};
use crate::{
    args::{Args, Batch},
    watch::{self, Busy},
};

/// Extension of the aligned cloud where the format of the source cannot be written.
const FALLBACK: &str = "ply";

/// Aligned clouds of a batch. A file that is there belongs to the result that is kept: the file of a pair that runs again is removed before its new result is
/// saved.
pub(super) struct AlignedClouds {
    directory: PathBuf,
    /// File of each pair of clouds.
    files: HashMap<Fingerprint, PathBuf>,
    /// Why a stale file could not be removed.
    stale: Option<anyhow::Error>,
}

impl AlignedClouds {
    /// Creates the directory, and names the files.
    pub(super) fn begin(directory: &Path, manifest: &Manifest) -> Result<Self> {
        fs::create_dir_all(directory).with_context(|| format!("cannot create `{}`", directory.display()))?;
        check_inputs(directory, manifest)?;
        let mut names = HashSet::new();
        let all = manifest.rows().iter().map(|row| plain_name(&row.pair_id).to_lowercase());
        let twice: HashSet<String> = all.filter(|name| !names.insert(name.clone())).collect();
        let file = |row: &Row| {
            let Input::Clouds { source, .. } = &row.input else { return None };
            let fingerprint = row.fingerprint(manifest.base());
            let name = plain_name(&row.pair_id);
            // Names that differ in special characters only get the fingerprint of their pair.
            let name = match twice.contains(&name.to_lowercase()) || name.is_empty() {
                true => format!("{name}{}{fingerprint}", if name.is_empty() { "" } else { "-" }),
                false => name,
            };
            Some((fingerprint, directory.join(format!("{name}.{}", extension(source)))))
        };
        let files = manifest.rows().iter().filter_map(file).collect();
        Ok(Self { directory: directory.to_path_buf(), files, stale: None })
    }

    /// Removes the file of a pair that ran again.
    pub(super) fn see(&mut self, record: &Record) {
        let Some(path) = self.files.get(&record.fingerprint) else { return };
        match fs::remove_file(path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                let cause = anyhow::Error::new(error).context(format!("cannot remove `{}`", path.display()));
                self.stale.get_or_insert(cause);
            }
            _ => {}
        }
    }

    /// Writes the files that are not there. Returns the number of aligned clouds.
    pub(super) fn write(
        self,
        manifest: &Manifest,
        directory: &Directory,
        args: &Args,
        note: &dyn Fn(&str),
    ) -> Result<usize> {
        if let Some(error) = self.stale {
            return Err(error);
        }
        let _busy = Busy::start("writing the aligned clouds".to_owned(), args.quiet);
        let (mut written, mut failed) = (0, 0);
        for row in manifest.rows() {
            let Input::Clouds { source, .. } = &row.input else { continue };
            let Some(path) = self.files.get(&row.fingerprint(manifest.base())) else { continue };
            if watch::interrupted() {
                bail!("interrupted after {written} aligned clouds");
            }
            let Some(record) = directory.record(row)? else { continue };
            let document =
                record.result.document().filter(|document| document.status() == Status::Registered);
            let Some(pose) = document.and_then(|document| document.target_from_source()) else {
                continue;
            };
            if path.exists() {
                written += 1;
                continue;
            }
            match moved::write(&manifest.base().join(&**source), path, &pose) {
                Ok(moved) => {
                    written += 1;
                    moved.notes().iter().for_each(|line| note(&format!("`{}`: {line}", row.pair_id)));
                }
                Err(error) => {
                    failed += 1;
                    note(&format!("no aligned cloud of pair `{}`: {error:#}", row.pair_id));
                }
            }
        }
        match failed {
            0 => Ok(written),
            1 => bail!("1 aligned cloud could not be written to `{}`", self.directory.display()),
            _ => bail!("{failed} aligned clouds could not be written to `{}`", self.directory.display()),
        }
    }
}

/// Checks before any work that the directory can hold the aligned clouds.
pub(super) fn check(options: &Batch) -> Result<()> {
    let Some(directory) = &options.write_aligned else { return Ok(()) };
    let place = |path: &Path| path.canonicalize().or_else(|_| std::path::absolute(path)).ok();
    let taken = lies_in(directory, &options.output)
        && TAKEN.iter().any(|taken| directory.file_name().unwrap_or_default() == *taken);
    ensure!(
        place(directory) != place(&options.output) && !taken,
        "--write-aligned names `{}`, where the batch itself writes: name another directory, for instance `{}`",
        directory.display(),
        options.output.join("aligned").display()
    );
    if !options.resume && directory.exists() {
        let mut entries =
            fs::read_dir(directory).with_context(|| format!("cannot read `{}`", directory.display()))?;
        ensure!(
            entries.next().is_none(),
            "--write-aligned: `{}` is not empty: name a new directory, or continue a batch with --resume",
            directory.display()
        );
    }
    Ok(())
}

/// Checks that no cloud of the manifest lies in the directory, where it could be replaced.
fn check_inputs(directory: &Path, manifest: &Manifest) -> Result<()> {
    let place = directory.canonicalize().with_context(|| format!("cannot read `{}`", directory.display()))?;
    for row in manifest.rows() {
        let Input::Clouds { source, target } = &row.input else { continue };
        for path in [source, target] {
            let file = manifest.base().join(&**path);
            let parent = file.parent().and_then(|parent| parent.canonicalize().ok());
            ensure!(
                parent.is_none_or(|parent| parent != place),
                "--write-aligned names `{}`, where `{path}` of pair `{}` is: name another directory",
                directory.display(),
                row.pair_id
            );
        }
    }
    Ok(())
}

/// Extension of the aligned cloud: that of the source, if that format can be written.
fn extension(source: &str) -> String {
    // `scan.e57#2` is one scan of a file.
    let file = match source.rsplit_once('#') {
        Some((file, scan)) if !Path::new(source).exists() && scan.bytes().all(|b| b.is_ascii_digit()) => file,
        _ => source,
    };
    let known = CloudFormat::of(Path::new(file)).is_ok();
    let extension = Path::new(file).extension().and_then(|extension| extension.to_str());
    extension.filter(|_| known).map_or(FALLBACK.to_owned(), str::to_lowercase)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_format_stays_where_it_can_be_written() {
        let pairs = [
            ("a/b.LAZ", "laz"),
            ("scan.e57#2", "e57"),
            ("x.obj", "ply"),
            ("x.bin", "ply"),
            ("x", "ply"),
            ("x.pts", "ply"),
        ];
        for (source, expected) in pairs {
            assert_eq!(extension(source), expected, "{source}");
        }
    }
}
