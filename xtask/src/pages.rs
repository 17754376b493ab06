//! Pictures of pages for the tutorial: screenshots by the browser that the pages are tested in.

use std::{fs, path::Path, process::Command};

use anyhow::{Context, Result, ensure};

use crate::{browser, cargo, python::target_directory, root};

/// Width and height of a picture, in pixels: the verdict and both views, without the tables below.
const SIZE: &str = "1000,760";
/// Milliseconds of the page's own time until the picture is taken; both views are drawn by then.
const PATIENCE: &str = "15000";

/// Commands of the tutorial whose pages are shown: the name of the picture, the arguments of the program, and its exit status.
const PAGES: [(&str, &str, i32); 3] = [
    ("page-matches", "solve matches.csv --scale unknown", 0),
    ("page-clouds", "register scan1.ply scan2.ply", 0),
    ("page-refused", "register other/scan1.ply other/scan2.ply", 1),
];

/// Draws `docs/pictures/page-*.png`.
pub(crate) fn draw() -> Result<()> {
    let browser = browser::find().context("pages are drawn by a browser: `apt-get install chromium`")?;
    cargo(&["build", "--release", "-p", "pcr99-cli", "--bin", "pcr99", "--example", "two_scans"], &[])?;
    let release = target_directory()?.join("release");
    let work = target_directory()?.join("pages");
    fs::create_dir_all(&work)?;
    let example = release.join("examples/two_scans");
    run(&example, &["."], &work, 0)?;
    run(&example, &["other", "room view, others"], &work, 0)?;
    let program = release.join("pcr99");
    let problem = ["simulate", "--outliers", "0.99", "--scale", "2.5", "--output", "matches.csv"];
    run(&program, &problem, &work, 0)?;
    for (name, arguments, status) in PAGES {
        let page = work.join(format!("{name}.html"));
        let mut all: Vec<&str> = arguments.split(' ').collect();
        let path = page.to_str().context("the path of the target directory is not Unicode")?;
        all.extend(["--page", path]);
        run(&program, &all, &work, status)?;
        screenshot(&browser, &page, &root()?.join("docs/pictures").join(format!("{name}.png")))?;
    }
    Ok(())
}

fn run(program: &Path, arguments: &[&str], directory: &Path, status: i32) -> Result<()> {
    let done = Command::new(program).args(arguments).current_dir(directory).status();
    let done = done.with_context(|| program.display().to_string())?;
    ensure!(done.code() == Some(status), "`{} {}`: {done}", program.display(), arguments.join(" "));
    Ok(())
}

fn screenshot(browser: &Path, page: &Path, picture: &Path) -> Result<()> {
    let mut command = Command::new(browser);
    command.args([
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--hide-scrollbars",
    ]);
    command.args(["--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist"]);
    command.arg(format!("--window-size={SIZE}")).arg(format!("--virtual-time-budget={PATIENCE}"));
    command.arg(format!("--screenshot={}", picture.display())).arg(format!("file://{}", page.display()));
    let status = command.status().with_context(|| browser.display().to_string())?;
    ensure!(status.success() && picture.is_file(), "no picture of `{}`", page.display());
    Ok(())
}
