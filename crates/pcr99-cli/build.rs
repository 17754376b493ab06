//! Passes commit, compiler and profile to the program; benchmarks record them in their header.

use std::{path::Path, process::Command};

fn main() {
    let manifest = std::env::var("CARGO_MANIFEST_DIR").unwrap_or_else(|_| ".".to_owned());
    let git = |arguments: &[&str]| said("git", &[&["-C", &manifest], arguments].concat());
    // These files change with every commit and checkout. The sources decide whether the build is "modified".
    for name in ["logs/HEAD", "HEAD"] {
        let path = git(&["rev-parse", "--path-format=absolute", "--git-path", name]);
        watch(path.as_deref().unwrap_or("build.rs"));
    }
    for directory in [
        "src",
        "../pcr99/src",
        "../pcr99-base/src",
        "../pcr99-baselines/src",
        "../pcr99-cloud/src",
        "../pcr99-graph/src",
        "../pcr99-lab/src",
        "../pcr99-page/src",
        "../pcr99-plan/src",
        "../pcr99-report/src",
    ] {
        watch(&format!("{manifest}/{directory}"));
    }
    if let Some(commit) = git(&["rev-parse", "--short=12", "HEAD"]) {
        let changed = git(&["status", "--porcelain", "--untracked-files=no", "--", ".."]);
        let modified = if changed.is_none_or(|changed| changed.is_empty()) { "" } else { " (modified)" };
        println!("cargo::rustc-env=PCR99_COMMIT={commit}{modified}");
    }
    let compiler = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
    if let Some(version) = said(&compiler, &["--version"]) {
        println!("cargo::rustc-env=PCR99_COMPILER={version}");
    }
    let profile = std::env::var("PROFILE").unwrap_or_default();
    println!("cargo::rustc-env=PCR99_PROFILE={profile}");
}

/// Reruns this script when a file changes. Watching a missing file would rerun it every time.
fn watch(path: &str) {
    if Path::new(path).exists() {
        println!("cargo::rerun-if-changed={path}");
    }
}

fn said(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
