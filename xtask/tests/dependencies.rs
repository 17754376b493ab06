//! Rules for dependencies, for machines without `cargo deny`: the lists of `deny.toml` against `cargo metadata` and `cargo tree`.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
    process::Command,
};

use serde_json::Value;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace")
}

fn read(name: &str) -> String {
    fs::read_to_string(root().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn stdout(program: &str, arguments: &[&str]) -> Vec<u8> {
    let output = Command::new(program).args(arguments).current_dir(root()).output().expect(program);
    assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// All packages that are built on this machine, with all features.
fn packages() -> Vec<Value> {
    let version = String::from_utf8(stdout("rustc", &["-vV"])).expect("text");
    let host = version.lines().find_map(|line| line.strip_prefix("host: ")).expect("a host").to_owned();
    let arguments =
        ["metadata", "--format-version=1", "--offline", "--locked", "--all-features", "--filter-platform"];
    let metadata = stdout(env!("CARGO"), &[&arguments[..], &[&host]].concat());
    let metadata: Value = serde_json::from_slice(&metadata).expect("cargo metadata prints JSON");
    metadata["packages"].as_array().expect("packages").clone()
}

/// The first string of each line of a list in `deny.toml`.
fn list(name: &str) -> BTreeSet<String> {
    let text = read("deny.toml");
    let (_, rest) = text.split_once(&format!("\n{name} = [\n")).expect(name);
    let (lines, _) = rest.split_once("\n]").expect("the end of the list");
    lines.lines().map(|line| line.split('"').nth(1).expect("a string").to_owned()).collect()
}

/// Whether `licence`, an SPDX expression, can be satisfied by allowed licences. `/` is the old way to write `OR`.
fn is_allowed(licence: &str, allowed: &BTreeSet<String>) -> bool {
    let spaced = licence.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut rest = &words[..];
    any(&mut rest, allowed) && rest.is_empty()
}

/// `all OR all …`
fn any(words: &mut &[&str], allowed: &BTreeSet<String>) -> bool {
    let mut holds = all(words, allowed);
    while let ["OR", rest @ ..] = words {
        *words = rest;
        // Both sides are read, whatever the first one gives.
        holds |= all(words, allowed);
    }
    holds
}

/// `one AND one …`
fn all(words: &mut &[&str], allowed: &BTreeSet<String>) -> bool {
    let mut holds = one(words, allowed);
    while let ["AND", rest @ ..] = words {
        *words = rest;
        holds &= one(words, allowed);
    }
    holds
}

/// A name, a name with an exception, or an expression in parentheses.
fn one(words: &mut &[&str], allowed: &BTreeSet<String>) -> bool {
    match **words {
        ["(", ref rest @ ..] => {
            *words = rest;
            let holds = any(words, allowed);
            let [")", rest @ ..] = words else { return false };
            *words = rest;
            holds
        }
        [name, "WITH", exception, ref rest @ ..] => {
            *words = rest;
            allowed.contains(&format!("{name} WITH {exception}"))
        }
        [name, ref rest @ ..] => {
            *words = rest;
            allowed.contains(name)
        }
        [] => false,
    }
}

#[test]
fn licences_are_allowed() {
    let (allowed, exceptions) = (list("allow"), list("exceptions"));
    for package in packages() {
        if package["name"].as_str().is_some_and(|name| exceptions.contains(name)) {
            continue;
        }
        let licence = package["license"].as_str().unwrap_or("none");
        assert!(is_allowed(licence, &allowed), "{} has the licence `{licence}`", package["name"]);
    }
}

#[test]
fn licence_expressions_are_understood() {
    let allowed = ["MIT", "Zlib", "A WITH x"].map(str::to_owned).into();
    for good in ["MIT", "MIT/GPL", "GPL OR MIT", "MIT AND Zlib", "(GPL OR MIT) AND Zlib", "GPL OR A WITH x"] {
        assert!(is_allowed(good, &allowed), "{good}");
    }
    for bad in ["", "GPL", "MIT AND GPL", "(MIT OR Zlib) AND GPL", "A", "MIT WITH x", "(MIT", "MIT)"] {
        assert!(!is_allowed(bad, &allowed), "{bad}");
    }
}

/// Names with the versions that are built on this machine, with all features.
fn built() -> BTreeMap<String, BTreeSet<String>> {
    let arguments = ["tree", "--workspace", "--all-features", "--duplicates", "--offline", "--locked"];
    let format = ["--edges=normal,build,dev", "--prefix=none", "--depth=0", "--format={p}"];
    let tree = stdout(env!("CARGO"), &[&arguments[..], &format].concat());
    let mut found = BTreeMap::<String, BTreeSet<String>>::new();
    for line in String::from_utf8(tree).expect("text").lines() {
        // `name vVERSION`, then remarks.
        let mut words = line.split_whitespace();
        if let (Some(name), Some(version)) = (words.next(), words.next()) {
            found.entry(name.to_owned()).or_default().insert(version.trim_start_matches('v').to_owned());
        }
    }
    found
}

/// A second version of a crate costs build time and size; each has to be entered in `deny.toml` with its reason.
#[test]
fn duplicates_are_known() {
    let skipped = list("skip");
    let mut used = BTreeSet::new();
    for (name, versions) in built() {
        let entries = versions.iter().map(|version| format!("{name}@{version}"));
        let (known, unknown): (Vec<String>, Vec<String>) = entries.partition(|entry| skipped.contains(entry));
        assert!(unknown.len() <= 1, "deny.toml does not explain why there are {unknown:?}");
        if versions.len() > 1 {
            used.extend(known);
        }
    }
    assert_eq!(used, skipped, "deny.toml skips versions that are no duplicates");
}

/// Dependencies come from the default registry, never from a Git repository or another registry.
#[test]
fn sources_are_the_default_registry() {
    let all = packages();
    let mut sources: BTreeSet<&str> = all.iter().filter_map(|package| package["source"].as_str()).collect();
    // The registry of a crate that is certainly published there.
    let usual = all.iter().find(|package| package["name"] == "serde").and_then(|p| p["source"].as_str());
    assert!(sources.remove(usual.expect("serde comes from a registry")));
    assert_eq!(sources, BTreeSet::new());
    assert!(!read("Cargo.lock").contains("\"git+"));
}

fn version(text: &str) -> Vec<u32> {
    text.split('.').map(|part| part.parse().unwrap_or_else(|_| panic!("`{text}` is no version"))).collect()
}

/// No dependency needs a newer compiler than we state. Our own code is checked by the lint `clippy::incompatible_msrv`.
#[test]
fn dependencies_build_with_the_stated_compiler() {
    let all = packages();
    let ours = all.iter().find(|package| package["name"] == "pcr99").expect("the core");
    let stated = version(ours["rust_version"].as_str().expect("a stated version"));
    for package in &all {
        let Some(needed) = package["rust_version"].as_str() else { continue };
        let needed = version(needed);
        let most = needed.len().min(stated.len());
        assert!(needed[..most] <= stated[..most], "{} needs Rust {needed:?}", package["name"]);
    }
    assert!(read("Cargo.toml").contains("\nincompatible_msrv = \"deny\"\n"));
}
