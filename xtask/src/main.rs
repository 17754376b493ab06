//! Development tasks: `cargo xtask` prints the list.

mod browser;

mod c;

mod checks;

mod compare;

mod dist;

mod pages;

mod python;

mod torture;

mod wasm;

mod web;

use std::{
    path::Path,
    process::{Command, ExitCode},
    time::Instant,
};

use anyhow::{Context, Result, bail, ensure};

const USAGE: &str = "\
usage: cargo xtask TASK

tasks:
  test       sets up and runs everything that the project is tested with
  python     builds, installs and tests the Python package (part of `test`)
  c          builds, installs and tests the library for C and C++ (part of `test`)
  install-c --prefix DIRECTORY
             builds the library for C and C++, and installs it with its headers there
  dist [--only wheels|program|source|materials|check] [--output DIRECTORY]
             makes the files of a release: wheels, a source distribution, the program, Debian packages, a bill of
             materials and checksums; installs the wheel and runs its tests without a Rust toolchain
  packages   makes the packages of all published crates, without uploading them (part of `test`)
  wasm       compiles the core for WebAssembly, runs it under Node.js and compares results with and without
             vector instructions (part of `test`)
  web [--check]
             makes the page for browsers, target/web/pcr99.html, and the npm package, target/web/npm; the check, part of
             `test`, compares them with the program in a browser and in Node.js
  torture [--minutes N | --short] [--seed N]
             hostile files, damaged journals, kills, full disks and odd arguments for N minutes (default 10); the short
             form is part of `test`
  pictures   draws the pictures of the documentation again
  compare [--only features|pairs|accuracy] [--seeds N] [--pairs TEXT] [--runs N]
             compares normals and features with Open3D; with PCR99_DATA set, registrations of real clouds with
             Open3D and KISS-Matcher, for N random motions of each pair whose name contains TEXT; and errors,
             covariances and cycles of refinements with small_gicp and Open3D, for N generated problems
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let result = match arguments.first().map(String::as_str) {
        Some("test") => test(),
        Some("python") => python::test(),
        Some("c") => c::test(),
        Some("install-c") => c::install(&arguments[1..]),
        Some("dist") => dist::run(&arguments[1..]),
        Some("packages") => checks::packages(),
        Some("wasm") => wasm::run(),
        Some("web") => web::run(&arguments[1..]),
        Some("torture") => torture::run(&arguments[1..]),
        Some("pictures") => pictures(),
        Some("compare") => compare::run(&arguments[1..]),
        Some("help" | "--help" | "-h") => {
            eprint!("{USAGE}");
            Ok(())
        }
        Some(other) => Err(anyhow::anyhow!("there is no task `{other}`\n\n{USAGE}")),
        None => Err(anyhow::anyhow!("name a task\n\n{USAGE}")),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Format, lints, documentation, features, packages, tests of all kinds, the examples, and the Python package.
fn test() -> Result<()> {
    let start = Instant::now();
    cargo(&["fmt", "--all", "--check"], &[])
        .context("formatting: run `cargo fmt --all` (rustfmt comes with `rustup component add rustfmt`)")?;
    cargo(&["clippy", "--workspace", "--all-targets", "--all-features", "--", "-D", "warnings"], &[])
        .context("lints (clippy comes with `rustup component add clippy`)")?;
    cargo(&["doc", "--workspace", "--no-deps", "--all-features"], &[("RUSTDOCFLAGS", "-Dwarnings")])
        .context("documentation")?;
    checks::features()?;
    wasm::run()?;
    checks::packages()?;
    checks::dependencies()?;
    browser::set_up()?;
    cargo(&["test", "--workspace", "--all-features"], &[]).context("tests")?;
    cargo(&["test", "-p", "pcr99-lab"], &[]).context("tests without the Bunny, as published")?;
    web::check()?;
    for example in ["solve", "stop_early"] {
        let run = ["run", "--quiet", "-p", "pcr99", "--example", example];
        cargo(&run, &[]).with_context(|| format!("example `{example}`"))?;
    }
    c::test()?;
    python::test()?;
    torture::short().context("torture")?;
    eprintln!("all passed in {:.0} s", start.elapsed().as_secs_f64());
    Ok(())
}

/// Draws the pictures in `docs/pictures` from computed results.
fn pictures() -> Result<()> {
    for example in ["picture", "growth"] {
        let run =
            ["run", "--quiet", "--release", "-p", "pcr99-lab", "--features", "bunny", "--example", example];
        cargo(&[&run[..], &["--", "docs/pictures"]].concat(), &[])?;
    }
    let [table, picture] = ["docs/results/paper/times.csv", "docs/pictures/time-methods.svg"];
    let times = ["run", "--quiet", "-p", "pcr99-report", "--example", "times", "--", table, picture];
    cargo(&times, &[])?;
    success_picture()?;
    pages::draw()
}

/// Draws how success depends on the number of matches, from problems that are solved now.
fn success_picture() -> Result<()> {
    let directory = root()?.join("target/pictures");
    if directory.exists() {
        std::fs::remove_dir_all(&directory).with_context(|| directory.display().to_string())?;
    }
    std::fs::create_dir_all(root()?.join("target"))?;
    let place = directory.to_string_lossy();
    let bench = [
        "run",
        "--quiet",
        "--release",
        "--",
        "bench",
        "--preset",
        "limits",
        "--runs",
        "20",
        "--output",
        &place,
    ];
    let sizes = ["--points", "50,100,200,500,1000,2000,5000", "--ratios", "0.9,0.95,0.98,0.99"];
    cargo(&[&bench[..], &sizes].concat(), &[])?;
    let [from, to] = [directory.join("growth.svg"), root()?.join("docs/pictures/success-n.svg")];
    std::fs::copy(&from, to).with_context(|| from.display().to_string())?;
    Ok(())
}

/// The root of the workspace.
fn root() -> Result<&'static Path> {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("xtask lies in the workspace")
}

fn cargo(arguments: &[&str], environment: &[(&str, &str)]) -> Result<()> {
    eprintln!("\n── cargo {} ──", arguments.join(" "));
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status =
        Command::new(cargo).args(arguments).envs(environment.iter().copied()).current_dir(root()?).status();
    let status = status.context("cannot start cargo")?;
    ensure!(status.code().is_some(), "ended by a signal");
    if !status.success() {
        bail!("`cargo {}` failed", arguments.join(" "));
    }
    Ok(())
}
