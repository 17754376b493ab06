//! The browser for tests of pages. On Debian and as root, Chromium is installed when it is missing.

use std::{
    path::PathBuf,
    process::{Command, Stdio},
};

use anyhow::{Result, bail};

/// Installs the browser where possible. Without one, this is a warning, or an error when `CI=true`.
pub(crate) fn set_up() -> Result<()> {
    if is_there() {
        return Ok(());
    }
    let may_install = is_root() && runs("apt-get", &["--version"]);
    if may_install {
        eprintln!("\n── installing chromium, for the tests of the pages ──");
        let install = ["install", "-y", "--no-install-recommends", "chromium"];
        // The list of packages may be missing or old.
        let installed = apt(&install) || (apt(&["update"]) && apt(&install));
        if installed && is_there() {
            return Ok(());
        }
    }
    let remedy =
        "the pages are tested in a browser: `apt-get install chromium` as root, or name one in PCR99_BROWSER";
    if std::env::var("CI").as_deref() == Ok("true") {
        bail!("{remedy}");
    }
    eprintln!("\n── skipped: {remedy} ──");
    Ok(())
}

fn is_there() -> bool {
    find().is_some()
}

/// The browser, looked for as the tests do: `PCR99_BROWSER`, or Chromium or Chrome on the path.
pub(crate) fn find() -> Option<PathBuf> {
    let named = std::env::var_os("PCR99_BROWSER").map(PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let mut found = std::env::split_paths(&path).flat_map(|place| names.map(|name| place.join(name)));
    named.or_else(|| found.find(|file| file.is_file()))
}

pub(crate) fn is_root() -> bool {
    let id = Command::new("id").arg("-u").output();
    id.is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}

pub(crate) fn apt(arguments: &[&str]) -> bool {
    let status = Command::new("apt-get").args(arguments).env("DEBIAN_FRONTEND", "noninteractive").status();
    status.is_ok_and(|status| status.success())
}

pub(crate) fn runs(program: &str, arguments: &[&str]) -> bool {
    let status = Command::new(program).args(arguments).stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}
