//! The page for browsers and the npm package: compiled, put together, tested.

use std::{fs, path::PathBuf};

use anyhow::{Context, Result, ensure};

use crate::{browser, cargo, root, wasm};

const TARGET: &str = "wasm32-unknown-unknown";
/// Vector instructions, and a stack with room for the deepest recursion of the decoder of LAZ files.
const OPTIONS: &str = "-C target-feature=+simd128 -C link-arg=-zstack-size=16777216";
/// Largest size of the page in bytes. It is sent by mail and opened on phones.
const MOST_BYTES: u64 = 4_000_000;

/// `cargo xtask web`: makes the page and the package; with `--check`, also tests them where that is possible.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    match arguments {
        [] => make().map(|_| ()),
        [flag] if flag == "--check" => check(),
        [other, ..] => anyhow::bail!("`{other}` is not known: `cargo xtask web` takes only --check"),
    }
}

/// Makes and tests page and package, where the target can be had. The tests need a browser and Node.js, and say where they are missing.
pub(crate) fn check() -> Result<()> {
    if !has_target() {
        return Ok(());
    }
    let directory = make()?;
    let page = directory.join("pcr99.html");
    let size = fs::metadata(&page).with_context(|| page.display().to_string())?.len();
    ensure!(size <= MOST_BYTES, "the page has {size} bytes, more than {MOST_BYTES}");
    browser::set_up()?;
    let place = directory.to_string_lossy();
    cargo(&["test", "-p", "pcr99-cli", "--test", "browser", "web::"], &[("PCR99_WEB", &place)])
        .context("the page and the npm package")
}

/// Makes `target/web/pcr99.html` and `target/web/npm`; returns their directory.
fn make() -> Result<PathBuf> {
    ensure!(has_target(), "the page needs the target {TARGET}: `rustup target add {TARGET}`");
    let [build, directory] = [root()?.join("target/web-build"), root()?.join("target/web")];
    let compile = ["build", "--quiet", "--profile", "web", "-p", "pcr99-web", "--lib", "--target", TARGET];
    let build_place = build.to_string_lossy();
    let arguments = [&compile[..], &["--target-dir", &build_place]].concat();
    cargo(&arguments, &[("RUSTFLAGS", OPTIONS)]).context("the module for browsers")?;
    let module = build.join(TARGET).join("web/pcr99_web.wasm");
    let bundle =
        ["run", "--quiet", "-p", "pcr99-web", "--", &module.to_string_lossy(), &directory.to_string_lossy()];
    cargo(&bundle, &[]).context("the page")?;
    eprintln!("\nmade {} and {}", directory.join("pcr99.html").display(), directory.join("npm").display());
    Ok(directory)
}

/// Whether the target is there; it is installed where `rustup` can do it.
fn has_target() -> bool {
    if wasm::can_be_had(TARGET) {
        return true;
    }
    eprintln!(
        "\nnote: the page for browsers is not made: `rustup target add {TARGET}` installs what it needs"
    );
    false
}
