//! The core on WebAssembly, a target without threads and without a clock.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
};

use anyhow::{Context, Result, ensure};

use crate::{cargo, root};

/// The target; it is used where its standard library is installed.
const TARGET: &str = "wasm32-unknown-unknown";

/// Compiles the core for WebAssembly and runs its example `solve` under Node.js, which asserts what it finds.
pub(crate) fn run() -> Result<()> {
    if !has_target() {
        eprintln!("\nnote: {TARGET} is not checked: `rustup target add {TARGET}` installs it");
        return Ok(());
    }
    let module = build().context("the core for WebAssembly")?;
    if !has_node() {
        eprintln!("\nnote: the core was compiled for {TARGET}, but not run: there is no `node`");
        return Ok(());
    }
    eprintln!("\n── node wasm.js {} ──", module.display());
    let script = root()?.join("xtask/src/wasm.js");
    let status = Command::new("node").arg(script).arg(&module).status().context("cannot start node")?;
    ensure!(status.success(), "the example `solve` failed on WebAssembly");
    Ok(())
}

/// Builds the example as a program of its own, because examples are built with the test libraries, which do not support the target.
fn build() -> Result<std::path::PathBuf> {
    let place = root()?.join("target/wasm-example");
    fs::create_dir_all(place.join("src")).with_context(|| place.display().to_string())?;
    let core = root()?.join("crates/pcr99");
    let manifest = format!(
        "[package]\nname = \"wasm-example\"\nedition = \"2024\"\npublish = false\n\n[workspace]\n\n\
         [dependencies]\npcr99 = {{ path = {:?}, default-features = false }}\n\n[profile.dev]\nopt-level = 2\n",
        core.to_string_lossy()
    );
    fs::write(place.join("Cargo.toml"), manifest)?;
    fs::copy(root()?.join("Cargo.lock"), place.join("Cargo.lock"))?;
    fs::copy(core.join("examples/solve.rs"), place.join("src/main.rs"))?;
    let target = root()?.join("target/wasm");
    let arguments = ["build", "--quiet", "--offline", "--target", TARGET, "--manifest-path"];
    let (manifest, target_dir) = (place.join("Cargo.toml"), target.to_string_lossy());
    let manifest = manifest.to_string_lossy();
    cargo(&[&arguments[..], &[&manifest, "--target-dir", &target_dir]].concat(), &[])?;
    Ok(target.join(TARGET).join("debug/wasm-example.wasm"))
}

/// Whether the standard library of the target is installed.
fn has_target() -> bool {
    let sysroot = Command::new("rustc").args(["--print", "sysroot"]).output();
    sysroot.is_ok_and(|output| {
        let sysroot = String::from_utf8_lossy(&output.stdout);
        Path::new(sysroot.trim()).join("lib/rustlib").join(TARGET).is_dir()
    })
}

fn has_node() -> bool {
    let version = Command::new("node").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    version.is_ok_and(|status| status.success())
}
