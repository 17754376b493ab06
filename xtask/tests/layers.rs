//! Dependencies between our crates go one way; `ARCHITECTURE.md` draws the same order.

use std::process::Command;

use serde_json::Value;

/// Each may use anything to its left, nothing to its right.
const ORDER: [&str; 11] = [
    "pcr99-base",
    "pcr99",
    "pcr99-cloud",
    "pcr99-document",
    "pcr99-lab",
    "pcr99-plan",
    "pcr99-batch",
    "pcr99-page",
    "pcr99-report",
    "pcr99-cli",
    "pcr99-python",
];

/// What the core may depend on: it must build anywhere, fast, and stay the same on every CPU.
const CORE_DEPENDENCIES: [&str; 4] = ["libm", "pcr99-base", "rayon", "thiserror"];

/// Dependencies of the leaf crate, with all features.
const BASE_DEPENDENCIES: [&str; 4] = ["libm", "rand_pcg", "tempfile", "thiserror"];

fn packages() -> Vec<Value> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version=1", "--no-deps", "--offline"])
        .output()
        .expect("cargo runs");
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo metadata prints JSON");
    metadata["packages"].as_array().expect("packages").clone()
}

/// Names of the dependencies that are built with the crate, tests aside.
fn dependencies(package: &Value) -> Vec<&str> {
    let all = package["dependencies"].as_array().expect("dependencies").iter();
    all.filter(|d| d["kind"] != "dev").map(|d| d["name"].as_str().expect("a name")).collect()
}

#[test]
fn every_crate_has_its_place_and_depends_only_to_the_left() {
    let packages = packages();
    let mut seen = 0;
    for package in &packages {
        let name = package["name"].as_str().expect("a name");
        if name == "xtask" {
            continue;
        }
        let place = ORDER
            .iter()
            .position(|&n| n == name)
            .unwrap_or_else(|| panic!("`{name}` has no place in the order"));
        for dependency in dependencies(package) {
            if let Some(other) = ORDER.iter().position(|&n| n == dependency) {
                assert!(other < place, "`{name}` must not depend on `{dependency}`");
            }
        }
        seen += 1;
    }
    assert_eq!(seen, ORDER.len());
}

#[test]
fn the_core_depends_on_almost_nothing() {
    let packages = packages();
    let core = packages.iter().find(|p| p["name"] == "pcr99").expect("the core crate");
    assert_eq!(dependencies(core), CORE_DEPENDENCIES);
    let base = packages.iter().find(|p| p["name"] == "pcr99-base").expect("the leaf crate");
    assert_eq!(dependencies(base), BASE_DEPENDENCIES);
}
