//! The source distribution of the Python package, with the sources of all dependencies, so that it builds without a network.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, ensure};

use super::{VERSION, Work, archive};
use crate::python::call;

/// Tells cargo to use the sources in the archive, and what `.cargo/config.toml` of the workspace tells it.
const CONFIGURATION: &str = "\
# Dependencies are in the directory `vendor` of this archive.
[source.crates-io]
replace-with = \"vendored-sources\"

[source.vendored-sources]
directory = \"vendor\"

# The Python module finds the symbols of Python when it is loaded.
[env]
PYO3_BUILD_EXTENSION_MODULE = \"1\"
";

/// Makes the source distribution.
pub(super) fn build(work: &Work) -> Result<()> {
    eprintln!("\n── source distribution ──");
    let place = work.scratch.join("source");
    if place.exists() {
        fs::remove_dir_all(&place)?;
    }
    fs::create_dir_all(&place)?;
    let mut command = work.command(&work.tool("maturin")?)?;
    command.args(["sdist", "--manifest-path", "python/Cargo.toml", "--out"]).arg(&place);
    call(&mut command).context("source distribution")?;
    let name = format!("pcr99-{VERSION}");
    let thin = place.join(format!("{name}.tar.gz"));
    call(Command::new("tar").arg("--extract").arg("--file").arg(&thin).arg("--directory").arg(&place))?;
    let directory = place.join(&name);
    without_bunny(&directory)?;
    vendor(work, &directory)?;
    archive::pack(&directory, &work.output.join(format!("{name}.tar.gz")))
}

/// Leaves out the Bunny: the archive does not contain it, because its terms do not allow it.
fn without_bunny(directory: &Path) -> Result<()> {
    ensure!(find(directory, "bunny.obj")?.is_none(), "the Bunny is in the source distribution");
    let file =
        find(directory, "pyproject.toml")?.context("the source distribution has no `pyproject.toml`")?;
    let text = fs::read_to_string(&file)?;
    let section = "[tool.maturin]\n";
    ensure!(text.contains(section), "`pyproject.toml` has no section `[tool.maturin]`");
    fs::write(&file, text.replacen(section, &format!("{section}no-default-features = true\n"), 1))?;
    Ok(())
}

/// Puts the sources of all dependencies beside the package. The lock file loses the crates that the archive does not contain, and nothing else: `--offline`
/// knows no newer versions.
fn vendor(work: &Work, directory: &Path) -> Result<()> {
    let lock = find(directory, "Cargo.lock")?.context("the source distribution has no `Cargo.lock`")?;
    let manifest = lock.with_file_name("Cargo.toml");
    ensure!(manifest.is_file(), "the source distribution has no manifest beside its `Cargo.lock`");
    let mut command = work.command(Path::new(env!("CARGO")))?;
    command.args(["vendor", "--quiet", "--offline", "--manifest-path"]).arg(&manifest);
    call(command.arg(directory.join("vendor"))).context("sources of the dependencies")?;
    fs::create_dir_all(directory.join(".cargo"))?;
    fs::write(directory.join(".cargo/config.toml"), CONFIGURATION)?;
    Ok(())
}

/// The first file of a name in a directory, nearest to its top.
fn find(directory: &Path, name: &str) -> Result<Option<PathBuf>> {
    let mut level = vec![directory.to_path_buf()];
    while !level.is_empty() {
        let mut next = Vec::new();
        for place in level {
            if place.join(name).is_file() {
                return Ok(Some(place.join(name)));
            }
            for entry in fs::read_dir(&place)? {
                let path = entry?.path();
                if path.is_dir() {
                    next.push(path);
                }
            }
        }
        next.sort();
        level = next;
    }
    Ok(None)
}
