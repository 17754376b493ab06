//! The dependency graph of the workspace, edge by edge, and what is asked of every crate in it.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;

/// Every crate with exactly the crates of this workspace that it depends on. `ARCHITECTURE.md` has the same lines.
const EDGES: &str = "
pcr99-base → nothing
pcr99 → pcr99-base
pcr99-cloud → pcr99-base, pcr99
pcr99-baselines → pcr99-base, pcr99
pcr99-document → pcr99, pcr99-cloud
pcr99-graph → pcr99-base
pcr99-plan → pcr99-base, pcr99, pcr99-cloud, pcr99-baselines
pcr99-c → pcr99-base, pcr99, pcr99-cloud, pcr99-document, pcr99-plan
pcr99-batch → pcr99-base, pcr99, pcr99-cloud, pcr99-document, pcr99-plan
pcr99-page → pcr99-base, pcr99, pcr99-cloud, pcr99-document
pcr99-web → pcr99-base, pcr99, pcr99-cloud, pcr99-document, pcr99-page, pcr99-plan
pcr99-assemble → pcr99-base, pcr99, pcr99-cloud, pcr99-document, pcr99-graph, pcr99-plan, pcr99-batch, pcr99-page
pcr99-lab → pcr99-base, pcr99, pcr99-baselines
pcr99-report → pcr99-base, pcr99, pcr99-lab, pcr99-page
pcr99-cli → pcr99-base, pcr99, pcr99-cloud, pcr99-document, pcr99-graph, pcr99-plan, pcr99-batch, pcr99-page, pcr99-assemble, pcr99-lab, pcr99-report
pcr99-python → pcr99-base, pcr99, pcr99-cloud, pcr99-baselines, pcr99-document, pcr99-plan, pcr99-batch, pcr99-page, pcr99-assemble, pcr99-lab, pcr99-cli
";

/// Further crates of this workspace that only the tests of a crate use.
const TEST_EDGES: &str = "
pcr99-baselines → pcr99-lab
pcr99-batch → pcr99-lab
";

/// What the core may depend on. It must build fast on every machine and compute the same on every processor.
const CORE_DEPENDENCIES: [&str; 6] = ["libm", "log", "pcr99-base", "rand_pcg", "rayon", "thiserror"];

/// The laboratory. Without its feature `lab`, the program must not depend on it.
const LABORATORY: [&str; 2] = ["pcr99-lab", "pcr99-report"];

/// The only crates that may contain `unsafe`: hot loops, and the boundaries to C and JavaScript.
const UNSAFE_CRATES: [&str; 3] = ["pcr99-base", "pcr99-c", "pcr99-web"];

type Graph = BTreeMap<String, BTreeSet<String>>;

/// The edges in lines `crate → crate, crate`; `nothing` stands for no edge.
fn parse(lines: &str) -> Graph {
    let edges = lines.lines().filter_map(|line| line.split_once(" → "));
    let names = |list: &str| -> BTreeSet<String> {
        list.split(',').map(str::trim).filter(|&name| name != "nothing").map(str::to_owned).collect()
    };
    edges.map(|(name, list)| (name.trim().to_owned(), names(list))).collect()
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace")
}

/// The packages of the workspace, without `xtask` itself.
fn packages() -> Vec<Value> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version=1", "--no-deps", "--offline"])
        .current_dir(root())
        .output()
        .expect("cargo runs");
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo metadata prints JSON");
    let packages = metadata["packages"].as_array().expect("packages").iter();
    packages.filter(|package| package["name"] != "xtask").cloned().collect()
}

fn text<'a>(package: &'a Value, field: &str) -> &'a str {
    package[field].as_str().unwrap_or_default()
}

fn directory(package: &Value) -> PathBuf {
    Path::new(text(package, "manifest_path")).parent().expect("a directory").to_path_buf()
}

/// Names of the dependencies: those of the tests only, or all others.
fn dependencies(package: &Value, of_tests: bool) -> BTreeSet<&str> {
    let all = package["dependencies"].as_array().expect("dependencies").iter();
    all.filter(|d| (d["kind"] == "dev") == of_tests).map(|d| text(d, "name")).collect()
}

/// The edges between crates of the workspace.
fn graph(packages: &[Value], of_tests: bool) -> Graph {
    let ours: BTreeSet<&str> = packages.iter().map(|package| text(package, "name")).collect();
    let edges = |package| -> BTreeSet<String> {
        let normal = if of_tests { dependencies(package, false) } else { BTreeSet::new() };
        let named = dependencies(package, of_tests);
        named.into_iter().filter(|n| ours.contains(n) && !normal.contains(n)).map(str::to_owned).collect()
    };
    packages.iter().map(|package| (text(package, "name").to_owned(), edges(package))).collect()
}

/// Crates that are published: `publish = false` is an empty list of registries.
fn is_published(package: &Value) -> bool {
    package["publish"].as_array().is_none_or(|registries| !registries.is_empty())
}

#[test]
fn the_graph_has_exactly_these_edges() {
    assert_eq!(graph(&packages(), false), parse(EDGES));
}

#[test]
fn tests_add_only_these_edges() {
    let mut edges = graph(&packages(), true);
    edges.retain(|_, list| !list.is_empty());
    assert_eq!(edges, parse(TEST_EDGES));
}

#[test]
fn the_architecture_page_draws_the_same_edges() {
    let page = fs::read_to_string(root().join("ARCHITECTURE.md")).expect("ARCHITECTURE.md");
    let is_edge = |line: &&str| line.starts_with("pcr99") && line.contains(" → ");
    let lines: Vec<&str> = page.lines().filter(is_edge).collect();
    assert_eq!(lines, EDGES.trim().lines().collect::<Vec<_>>());
}

/// Each line uses only crates of the lines above it: the graph has no cycle.
#[test]
fn the_edges_are_in_order() {
    let mut above = BTreeSet::new();
    for line in EDGES.trim().lines() {
        for (name, list) in parse(line) {
            assert!(list.is_subset(&above), "`{name}` stands above a crate that it uses");
            above.insert(name);
        }
    }
}

#[test]
fn the_product_does_not_need_the_laboratory() {
    let packages = packages();
    for package in &packages {
        let all = package["dependencies"].as_array().expect("dependencies").iter();
        let is_lab = |d: &&Value| LABORATORY.contains(&text(d, "name")) && d["kind"] != "dev";
        let required = all.filter(is_lab).any(|d| d["optional"] == false);
        // Python ships `simulate` and `demo` with the product.
        let may = LABORATORY.contains(&text(package, "name")) || package["name"] == "pcr99-python";
        assert!(may || !required, "`{}` needs the laboratory", text(package, "name"));
    }
}

#[test]
fn the_core_depends_on_almost_nothing() {
    let packages = packages();
    let core = packages.iter().find(|p| p["name"] == "pcr99").expect("the core crate");
    let all = core["dependencies"].as_array().expect("dependencies").iter();
    let always = all.filter(|d| d["kind"] != "dev" && d["optional"] == false);
    let always: BTreeSet<&str> = always.map(|d| text(d, "name")).collect();
    let extra: Vec<&&str> = always.iter().filter(|name| !CORE_DEPENDENCIES.contains(name)).collect();
    assert!(extra.is_empty(), "the core must not depend on {extra:?}");
}

/// The workspace denies `unsafe_code`, every crate but three takes its lints from there, and no source file allows it again.
#[test]
fn only_three_crates_have_unsafe_code() {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).expect("the manifest of the workspace");
    assert!(manifest.contains("\nunsafe_code = \"deny\"\n"), "the workspace does not deny `unsafe_code`");
    for package in packages().iter().filter(|package| !UNSAFE_CRATES.contains(&text(package, "name"))) {
        let directory = directory(package);
        let manifest = fs::read_to_string(directory.join("Cargo.toml")).expect("a manifest");
        let inherits = manifest.contains("[lints]\nworkspace = true\n");
        assert!(inherits, "{} does not take the lints of the workspace", text(package, "name"));
        for file in rust_files(&directory.join("src")) {
            let source = fs::read_to_string(&file).expect("a source file");
            assert!(!source.contains("(unsafe_code"), "{} allows `unsafe_code`", file.display());
        }
    }
}

/// The boundary to JavaScript exports names, which counts as unsafe, but has no unsafe code.
#[test]
fn the_boundary_to_javascript_has_no_unsafe_block() {
    for file in rust_files(&root().join("crates/pcr99-web/src")) {
        let source = fs::read_to_string(&file).expect("a source file");
        for (number, line) in (1..).zip(source.lines()).filter(|(_, line)| line.contains("unsafe")) {
            let is_name =
                line.starts_with("#[unsafe(no_mangle)]") || line.starts_with("unsafe extern \"C\" {");
            assert!(is_name || line.trim_start().starts_with("//"), "{}:{number}: {line}", file.display());
        }
    }
}

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

/// What a registry shows of a crate: its page must say what it is, and its links must lead somewhere.
#[test]
fn published_crates_describe_themselves() {
    let packages = packages();
    for package in packages.iter().filter(|package| is_published(package)) {
        let name = text(package, "name");
        for field in ["description", "license", "repository", "readme", "rust_version"] {
            assert!(!text(package, field).is_empty(), "`{name}` has no {field}");
        }
        for (field, most) in [("keywords", 5), ("categories", 5)] {
            let list = package[field].as_array().map_or(0, Vec::len);
            assert!((1..=most).contains(&list), "`{name}` has {list} {field}, not 1 to {most}");
        }
        let readme = directory(package).join(text(package, "readme"));
        let page = fs::read_to_string(&readme).unwrap_or_else(|e| panic!("{}: {e}", readme.display()));
        assert!(page.starts_with("# "), "{} has no title", readme.display());
        for link in links(&page) {
            let leads = link.starts_with("https://") || link.starts_with('#');
            assert!(leads, "{}: `{link}` leads nowhere from the page of a registry", readme.display());
        }
    }
}

/// Targets of the links and pictures of a Markdown page.
fn links(page: &str) -> Vec<&str> {
    let after = page.match_indices("](").map(|(place, _)| &page[place + 2..]);
    after.filter_map(|rest| rest.split_once(')')).map(|(link, _)| link).collect()
}

#[test]
fn links_are_found() {
    let page = "See [a](https://a.b/c), [![p](docs/p.svg)](#x) and (no link).";
    assert_eq!(links(page), ["https://a.b/c", "docs/p.svg", "#x"]);
}
