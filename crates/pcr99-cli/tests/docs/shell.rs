//! Runs the commands of the documentation, page by page, in directories of their own.
//!
//! `sh` blocks are scripts: every command must succeed. `console` blocks are commands after `$ `, each followed by what it prints; `…` stands
//! for any text within a line, and a line of its own for any number of lines.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Output},
    sync::OnceLock,
};

use crate::markdown::{Block, Page, blocks, pages, root};

/// Languages of blocks that are run by this test, by the doctests of `pcr99` and `pcr99-cli`, or by `python/tests/test_documents.py`.
const RUN: [&str; 4] = ["sh", "console", "rust", "python"];
/// Languages of blocks that are only shown. `cargo xtask c` runs programs in C++, `cargo xtask web --check` calls in JavaScript.
const SHOWN: [&str; 7] = ["text", "csv", "json", "toml", "cmake", "cpp", "js"];
/// Blocks that are not run, each with its reason in the page: a new one needs a decision here.
const NOT_RUN: usize = 15;

#[test]
fn every_block_is_run_or_says_why_not() {
    let mut not_run = Vec::new();
    for page in documentation() {
        for block in blocks(&page.text) {
            let place = format!("{}:{}", page.name, block.line);
            let language = block.language.split(',').next().unwrap_or_default();
            if language == "rust" {
                assert!(is_doctest(&page.name), "{place}: no crate includes this page in its doctests");
            }
            assert!(RUN.contains(&language) || SHOWN.contains(&language), "{place}: language `{language}`?");
            // The lines `crate → crate` of the architecture are no commands.
            let starts = ["pcr99 ", "$ ", "cargo ", "pip "];
            let is_command = |line: &str| starts.iter().any(|c| line.starts_with(c)) && !line.contains(" → ");
            let hides_command = SHOWN.contains(&language) && block.text.lines().any(is_command);
            assert!(!hides_command, "{place}: a command in a block that is only shown");
            if let Some(reason) = block.not_run {
                assert!(reason.len() > 10, "{place}: why is it not run?");
                not_run.push(format!("{place}: {reason}"));
            }
        }
    }
    assert_eq!(not_run.len(), NOT_RUN, "blocks that are not run:\n{}", not_run.join("\n"));
}

/// Whether a crate includes the page in its documentation, so that its Rust blocks are doctests.
fn is_doctest(page: &str) -> bool {
    let (directory, include) = match page.strip_suffix("/README.md") {
        Some(directory) => (directory, "include_str!(\"../README.md\")".to_owned()),
        None => ("crates/pcr99", format!("include_str!(\"../../../{page}\")")),
    };
    let code = fs::read_to_string(root().join(directory).join("src/lib.rs"));
    code.is_ok_and(|code| code.contains(&include))
}

/// One test for each directory of pages, so that they run side by side.
#[test]
fn commands_of_the_readmes() {
    run_pages(|name| !name.starts_with("docs/"));
}

#[test]
fn commands_of_the_tutorial() {
    run_pages(|name| name.starts_with("docs/tutorial/"));
}

#[test]
fn commands_of_the_how_to_pages() {
    run_pages(|name| name.starts_with("docs/how-to/"));
}

#[test]
fn commands_of_all_other_pages() {
    let others = ["docs/tutorial/", "docs/how-to/"];
    run_pages(|name| name.starts_with("docs/") && !others.iter().any(|part| name.starts_with(part)));
}

/// Pages whose commands are run: all but those of the tests.
fn documentation() -> Vec<Page> {
    let mut pages = pages();
    pages.retain(|page| !page.name.contains("/tests/"));
    pages
}

fn run_pages(is_wanted: impl Fn(&str) -> bool) {
    for page in documentation().into_iter().filter(|page| is_wanted(&page.name)) {
        let blocks = blocks(&page.text);
        let is_run =
            |block: &&Block| block.not_run.is_none() && ["sh", "console"].contains(&block.language.as_str());
        let mut blocks = blocks.iter().filter(is_run).peekable();
        if blocks.peek().is_none() {
            continue;
        }
        let place = tempfile::tempdir().expect("a directory");
        if !page.name.starts_with("docs/tutorial/") {
            copy_samples(place.path());
        }
        for block in blocks {
            let at = format!("{}:{}", page.name, block.line);
            match block.language.as_str() {
                "sh" => assert_succeeds(&at, &block.text, &shell(&block.text, place.path())),
                _ => run_console(&at, &block.text, place.path()),
            }
        }
    }
}

fn assert_succeeds(at: &str, commands: &str, output: &Output) {
    let said = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    assert!(output.status.success(), "{at}: {}\n{commands}\n{}\n{}", output.status, said[0], said[1]);
}

/// Runs commands, with the program and a stand-in for cargo on the path.
fn shell(commands: &str, directory: &Path) -> Output {
    let path = env::var_os("PATH").unwrap_or_default();
    let path = env::join_paths([tools().to_owned()].into_iter().chain(env::split_paths(&path)));
    let mut bash = Command::new("bash");
    bash.args(["-euo", "pipefail", "-c", commands]).current_dir(directory);
    bash.env("PATH", path.expect("a path")).env("NO_COLOR", "1").env("COLUMNS", "100");
    bash.output().expect("bash runs")
}

/// Runs each command after `$ ` and compares what it prints, on both streams.
fn run_console(at: &str, text: &str, directory: &Path) {
    for step in steps(text) {
        let output = shell(&format!("exec 2>&1\n{}", step.command), directory);
        assert_succeeds(at, &step.command, &output);
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        let lines: Vec<&str> = printed.lines().map(str::trim_end).collect();
        assert!(
            is_shown(&step.expected, &lines),
            "{at}: {}\n--- the page shows\n{}\n--- printed\n{printed}",
            step.command,
            step.expected.join("\n")
        );
    }
}

struct Step {
    command: String,
    expected: Vec<String>,
}

fn steps(text: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for line in text.lines() {
        match (line.strip_prefix("$ "), steps.last_mut()) {
            (Some(command), _) => steps.push(Step { command: command.to_owned(), expected: Vec::new() }),
            (None, Some(step)) if step.command.ends_with('\\') => step.command += &format!("\n{line}"),
            (None, Some(step)) => step.expected.push(line.trim_end().to_owned()),
            (None, None) => panic!("a console block begins with `$ `, not with `{line}`"),
        }
    }
    steps
}

/// Whether lines are as the page shows them.
fn is_shown(expected: &[impl AsRef<str>], lines: &[&str]) -> bool {
    match expected.split_first() {
        None => lines.is_empty(),
        Some((first, rest)) if first.as_ref() == "…" => {
            (0..=lines.len()).any(|skipped| is_shown(rest, &lines[skipped..]))
        }
        Some((first, rest)) => lines
            .split_first()
            .is_some_and(|(line, lines)| fits(first.as_ref(), line) && is_shown(rest, lines)),
    }
}

/// Whether a line has all parts between the `…` of a pattern, in order.
fn fits(pattern: &str, line: &str) -> bool {
    match pattern.split_once('…') {
        None => pattern == line,
        Some((start, rest)) => line.strip_prefix(start).is_some_and(|line| {
            let places = line.char_indices().map(|(at, _)| at).chain([line.len()]);
            places.into_iter().any(|at| fits(rest, &line[at..]))
        }),
    }
}

/// A directory with the program, and with a stand-in for cargo that knows only how to run it and its example.
fn tools() -> &'static Path {
    static TOOLS: OnceLock<tempfile::TempDir> = OnceLock::new();
    let make = || {
        let directory = tempfile::tempdir().expect("a directory");
        let script = |name: &str, text: String| {
            use std::os::unix::fs::PermissionsExt;
            let path = directory.path().join(name);
            fs::write(&path, text).expect("a script");
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("permissions");
        };
        let program = env!("CARGO_BIN_EXE_pcr99");
        script("pcr99", format!("#!/bin/sh\nexec '{program}' \"$@\"\n"));
        let example = two_scans();
        script(
            "cargo",
            format!(
                "#!/bin/sh\n\
                 case \"$*\" in\n\
                 \"run --release -- \"*) shift 3; exec '{program}' \"$@\" ;;\n\
                 \"run --release --example two_scans -- \"*) shift 5; exec '{}' \"$@\" ;;\n\
                 *) echo \"the test of the documentation does not run cargo $*\" >&2; exit 1 ;;\n\
                 esac\n",
                example.display()
            ),
        );
        directory
    };
    TOOLS.get_or_init(make).path()
}

/// The example that writes scans: beside the program, where `cargo test` puts it. It is built here when it is missing or older than its
/// sources, as when only this test was asked for.
fn two_scans() -> PathBuf {
    let program = Path::new(env!("CARGO_BIN_EXE_pcr99"));
    let example = program.with_file_name("examples").join("two_scans");
    let changed = |path: &Path| fs::metadata(path).and_then(|data| data.modified()).ok();
    let scenes = root().join("crates/pcr99-cloud/tests/scenes");
    let sources = ["mod.rs", "families.rs", "scans.rs"].map(|name| scenes.join(name));
    let sources = sources.into_iter().chain([root().join("crates/pcr99-cli/examples/two_scans.rs")]);
    if sources.into_iter().any(|source| changed(&example) < changed(&source)) {
        let mut build = Command::new(env!("CARGO"));
        build.args(["build", "--quiet", "-p", "pcr99-cli", "--example", "two_scans"]);
        if program.components().any(|part| part.as_os_str() == "release") {
            build.arg("--release");
        }
        assert!(build.status().expect("cargo runs").success(), "the example is built");
    }
    example
}

/// Files that pages take for granted, made once: two scans, matches, and a manifest.
fn copy_samples(directory: &Path) {
    static SAMPLES: OnceLock<tempfile::TempDir> = OnceLock::new();
    let make = || {
        let samples = tempfile::tempdir().expect("a directory");
        let commands = "\
            cargo run --release --example two_scans -- .\n\
            pcr99 simulate --outliers 0.9 --output matches.csv --truth truth.json\n\
            printf 'pair_id,source,target,pairs\\nscans,scan1.ply,scan2.ply,\\nmatches,,,matches.csv\\n' > pairs.csv\n";
        assert_succeeds("samples", commands, &shell(commands, samples.path()));
        samples
    };
    for entry in fs::read_dir(SAMPLES.get_or_init(make).path()).expect("samples").flatten() {
        fs::copy(entry.path(), directory.join(entry.file_name())).expect("a copy");
    }
}

#[test]
fn output_is_compared() {
    assert!(is_shown(&["a … c", "…", "z"], &["a b c", "x", "y", "z"]));
    assert!(is_shown(&["a", "…"], &["a"]));
    assert!(!is_shown(&["a"], &["a", "b"]));
    assert!(!is_shown(&["a … c"], &["a b d"]));
    assert!(!is_shown(&["a", "b"], &["a"]));
}
