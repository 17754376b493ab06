//! Rules of style that no lint checks.

use std::{
    fs,
    path::{Path, PathBuf},
};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace")
}

/// All Rust files below a directory.
fn rust_files(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).expect("a directory") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(rust_files(&path));
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
    found
}

/// Name of the module that a line declares, as in `pub mod name;`.
fn declared(line: &str) -> Option<&str> {
    let (before, name) = line.strip_suffix(';')?.rsplit_once("mod ")?;
    (before.is_empty() || before.starts_with("pub")).then_some(name)
}

/// File of the module `name` that is declared in `file`.
fn module_file(file: &Path, name: &str) -> Option<PathBuf> {
    let stem = file.file_stem()?.to_str()?;
    let directory = match stem {
        "lib" | "main" | "mod" => file.parent()?.to_path_buf(),
        _ => file.with_extension(""),
    };
    let places = [directory.join(format!("{name}.rs")), directory.join(name).join("mod.rs")];
    places.into_iter().find(|place| place.is_file())
}

/// A module with `//!` in its file and `///` at its declaration has both texts in the documentation, one after the other.
#[test]
fn modules_are_described_once() {
    let mut described = 0;
    for file in rust_files(&root().join("crates")) {
        let text = fs::read_to_string(&file).expect("a source file");
        let lines: Vec<&str> = text.lines().collect();
        for (at, line) in lines.iter().enumerate() {
            let Some(own) = declared(line).and_then(|name| module_file(&file, name)) else { continue };
            let above = lines[..at].iter().rev().find(|line| !line.starts_with("#["));
            let is_described_here = above.is_some_and(|line| line.starts_with("///"));
            let describes_itself = fs::read_to_string(&own).expect("a module").starts_with("//!");
            described += usize::from(describes_itself);
            assert!(
                !(is_described_here && describes_itself),
                "{}:{}: `{line}` is described here and in its own file",
                file.display(),
                at + 1
            );
        }
    }
    assert!(described > 100, "only {described} modules were found");
}

#[test]
fn declarations_are_recognized() {
    assert_eq!(declared("mod a;"), Some("a"));
    assert_eq!(declared("pub(crate) mod a;"), Some("a"));
    assert_eq!(declared("pub mod a {"), None);
    assert_eq!(declared("// mod a;"), None);
}
