//! The core on WebAssembly, a target without threads and without a clock, and its vector instructions there.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context, Result, bail, ensure};

use crate::{browser::runs, cargo, root};

/// The target of browsers; it is used where its standard library is installed.
const BROWSER: &str = "wasm32-unknown-unknown";
/// The target of programs that print, for the comparisons.
const WASI: &str = "wasm32-wasip1";
/// Compiler options of the two compilations. A module has vector instructions or not: it cannot ask at run time.
const COMPILATIONS: [(&str, &str); 2] =
    [("without vector instructions", ""), ("with simd128", "-C target-feature=+simd128")];

/// Compiles the core for WebAssembly, runs its example `solve` under Node.js, which asserts what it finds, and compares the bits of results with and
/// without vector instructions.
pub(crate) fn run() -> Result<()> {
    let has_node = has_node();
    if !has_node {
        eprintln!("\nnote: WebAssembly is compiled, but not run: there is no `node`");
    }
    if has_target(BROWSER) {
        let module = build("solve", BROWSER, "").context("the core for WebAssembly")?;
        if has_node {
            node("wasm.js", &module, true).context("the example `solve` on WebAssembly")?;
        }
    }
    if has_target(WASI) && has_node {
        compare_bits()?;
        test_kernels()?;
    }
    Ok(())
}

/// Compares the results of the example `bits` on this machine, also with fewer vector instructions, and in both compilations.
fn compare_bits() -> Result<()> {
    let here = bits_here(&[])?;
    ensure!(!here.is_empty(), "the example `bits` printed nothing");
    for name in ["PCR99_AVX512", "PCR99_AVX2"] {
        ensure!(bits_here(&[(name, "off")])? == here, "results with {name}=off differ");
    }
    for (name, options) in COMPILATIONS {
        let module = build("bits", WASI, options).with_context(|| format!("WebAssembly {name}"))?;
        let there = node("wasi.js", &module, false).with_context(|| format!("WebAssembly {name}"))?;
        if let Some((here, there)) = here.lines().zip(there.lines()).find(|(here, there)| here != there) {
            bail!("results on WebAssembly {name} differ:\n  here  {here}\n  there {there}");
        }
        ensure!(here == there, "WebAssembly {name} printed {} lines", there.lines().count());
    }
    eprintln!("\n{} results have the same bits here and on WebAssembly", here.lines().count());
    Ok(())
}

/// What the example `bits` prints on this machine.
fn bits_here(environment: &[(&str, &str)]) -> Result<String> {
    let here = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["run", "--quiet", "-p", "pcr99", "--example", "bits"])
        .envs(environment.iter().copied())
        .current_dir(root()?)
        .output()
        .context("cannot start cargo")?;
    ensure!(here.status.success(), "the example `bits`: {}", String::from_utf8_lossy(&here.stderr));
    Ok(String::from_utf8(here.stdout)?)
}

/// Runs the tests of the hot loops in both compilations.
fn test_kernels() -> Result<()> {
    let script = root()?.join("xtask/src/wasi.js");
    let runner = format!("node --no-warnings {}", script.display());
    for (name, options) in COMPILATIONS {
        let target = target_directory(options)?;
        let arguments = ["test", "--quiet", "-p", "pcr99-base", "--lib", "--target", WASI, "--target-dir"];
        let environment = [("CARGO_TARGET_WASM32_WASIP1_RUNNER", runner.as_str()), ("RUSTFLAGS", options)];
        cargo(&[&arguments[..], &[&target.to_string_lossy()]].concat(), &environment)
            .with_context(|| format!("tests on WebAssembly {name}"))?;
    }
    Ok(())
}

/// Builds an example as a program of its own, because examples are built with the test libraries, which do not support all targets.
fn build(example: &str, target: &str, options: &str) -> Result<PathBuf> {
    let place = root()?.join("target/wasm-example").join(example);
    fs::create_dir_all(place.join("src")).with_context(|| place.display().to_string())?;
    let core = root()?.join("crates/pcr99");
    let manifest = format!(
        "[package]\nname = {example:?}\nedition = \"2024\"\npublish = false\n\n[workspace]\n\n\
         [dependencies]\npcr99 = {{ path = {:?}, default-features = false }}\n\n[profile.dev]\nopt-level = 2\n",
        core.to_string_lossy()
    );
    fs::write(place.join("Cargo.toml"), manifest)?;
    fs::copy(root()?.join("Cargo.lock"), place.join("Cargo.lock"))?;
    fs::copy(core.join("examples").join(example).with_extension("rs"), place.join("src/main.rs"))?;
    let arguments = ["build", "--quiet", "--offline", "--target", target, "--manifest-path"];
    let (manifest, target_dir) = (place.join("Cargo.toml"), target_directory(options)?);
    let places: [&str; 3] = [&manifest.to_string_lossy(), "--target-dir", &target_dir.to_string_lossy()];
    cargo(&[&arguments[..], &places].concat(), &[("RUSTFLAGS", options)])?;
    Ok(target_dir.join(target).join("debug").join(example).with_extension("wasm"))
}

/// A directory for each compilation, so that one does not replace the other.
fn target_directory(options: &str) -> Result<PathBuf> {
    Ok(root()?.join(if options.is_empty() { "target/wasm" } else { "target/wasm-simd128" }))
}

/// Runs a module by a script beside this file; returns what it printed.
fn node(script: &str, module: &Path, is_shown: bool) -> Result<String> {
    eprintln!("\n── node {script} {} ──", module.display());
    let script = root()?.join("xtask/src").join(script);
    let output = Command::new("node")
        .arg("--no-warnings")
        .args([&script, module])
        .stdout(if is_shown { Stdio::inherit() } else { Stdio::piped() })
        .stderr(Stdio::inherit())
        .output()
        .context("cannot start node")?;
    ensure!(output.status.success(), "it failed");
    Ok(String::from_utf8(output.stdout)?)
}

/// Whether the standard library of a target is installed. Says what is not checked without it.
fn has_target(target: &str) -> bool {
    let is_there = is_installed(target);
    if !is_there {
        eprintln!("\nnote: {target} is not checked: `rustup target add {target}` installs it");
    }
    is_there
}

/// Whether the standard library of a target is installed, or can be installed now.
pub(crate) fn can_be_had(target: &str) -> bool {
    is_installed(target) || (runs("rustup", &["target", "add", target]) && is_installed(target))
}

/// Whether the standard library of a target is installed.
fn is_installed(target: &str) -> bool {
    let sysroot = Command::new("rustc").args(["--print", "sysroot"]).output();
    sysroot.is_ok_and(|output| {
        let sysroot = String::from_utf8_lossy(&output.stdout);
        Path::new(sysroot.trim()).join("lib/rustlib").join(target).is_dir()
    })
}

fn has_node() -> bool {
    let version = Command::new("node").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    version.is_ok_and(|status| status.success())
}
