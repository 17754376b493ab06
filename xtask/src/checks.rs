//! Checks of the workspace beyond tests: features, other targets, packages, dependencies.

use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use serde_json::Value;

use crate::{cargo, python::metadata, root};

/// Combinations of features that must compile alone; `--all-features` elsewhere would hide a missing one.
const FEATURES: [&[&str]; 5] = [
    &["-p", "pcr99", "--no-default-features"],
    &["-p", "pcr99", "--features", "nalgebra"],
    &["-p", "pcr99", "--features", "glam"],
    &["-p", "pcr99", "--features", "serde"],
    &["-p", "pcr99-cli", "--no-default-features"],
];

/// The target without threads and without a clock. It is checked where its standard library is installed.
const WASM: &str = "wasm32-unknown-unknown";

/// Compiles the combinations of features, and the core for WebAssembly.
pub(crate) fn features() -> Result<()> {
    for combination in FEATURES {
        cargo(&[&["check", "--quiet"], combination].concat(), &[]).context("features")?;
    }
    if has_target(WASM) {
        let check = ["check", "--quiet", "-p", "pcr99", "--no-default-features", "--target", WASM];
        cargo(&check, &[]).context("the core for WebAssembly")?;
    } else {
        eprintln!("\nnote: {WASM} is not checked: `rustup target add {WASM}` installs it");
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

/// Whether the standard library of a target is installed for the compiler in use.
fn has_target(target: &str) -> bool {
    let output = Command::new("rustc").args(["--print", "sysroot"]).stderr(Stdio::null()).output();
    let sysroot = output.ok().and_then(|output| String::from_utf8(output.stdout).ok());
    sysroot.is_some_and(|path| {
        std::path::Path::new(path.trim()).join("lib/rustlib").join(target).join("lib").is_dir()
    })
}
