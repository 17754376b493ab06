//! Checks of the workspace beyond tests: features, packages, dependencies.

use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use serde_json::Value;

use crate::{cargo, python::metadata, root};

/// Combinations of features that must compile alone; `--all-features` elsewhere would hide a missing one.
const FEATURES: [&[&str]; 6] = [
    &["-p", "pcr99", "--no-default-features"],
    &["-p", "pcr99", "--features", "nalgebra"],
    &["-p", "pcr99", "--features", "glam"],
    &["-p", "pcr99", "--features", "serde"],
    &["-p", "pcr99-c"],
    &["-p", "pcr99-cli", "--no-default-features"],
];

/// Compiles the combinations of features.
pub(crate) fn features() -> Result<()> {
    for combination in FEATURES {
        cargo(&[&["check", "--quiet"], combination].concat(), &[]).context("features")?;
    }
    Ok(())
}

/// Makes the packages of all published crates, as a release would. Nothing is uploaded.
///
/// Packages are not built again: that would take as long as all other builds. `cargo package` without `--no-verify` does it for a release.
pub(crate) fn packages() -> Result<()> {
    let metadata = metadata()?;
    let packages = metadata["packages"].as_array().context("no packages")?.iter();
    let published = packages.filter(|package| package["publish"] == Value::Null);
    let names: Vec<&str> = published.filter_map(|package| package["name"].as_str()).collect();
    let mut arguments = vec!["package", "--quiet", "--offline", "--no-verify", "--allow-dirty"];
    arguments.extend(names.into_iter().flat_map(|name| ["-p", name]));
    cargo(&arguments, &[]).context("packages")
}

/// Runs `cargo deny` where it is installed. `xtask/tests/dependencies.rs` checks licences, duplicates and sources everywhere.
pub(crate) fn dependencies() -> Result<()> {
    let is_installed = Command::new("cargo")
        .args(["deny", "--version"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .current_dir(root()?)
        .status()
        .is_ok_and(|status| status.success());
    if !is_installed {
        eprintln!(
            "\nnote: `cargo deny` is not installed; the tests of xtask check licences, duplicates and sources"
        );
        return Ok(());
    }
    // Advisories need the network, and may come up without any change here: the workflow asks for them.
    cargo(&["deny", "check", "licenses", "bans", "sources"], &[]).context("dependencies")
}
