//! The bill of materials: every crate that is compiled into the program and the Python package, in the format CycloneDX.

use std::{collections::BTreeSet, fs, process::Command};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::{VERSION, Work};
use crate::root;

/// Writes the bill of materials.
pub(super) fn write(work: &Work) -> Result<()> {
    let metadata = metadata()?;
    let checksums = checksums()?;
    let wanted = compiled(&metadata)?;
    let packages = metadata["packages"].as_array().context("no packages")?;
    let mut components: Vec<Value> = Vec::new();
    for package in packages {
        let id = package["id"].as_str().context("a package without an identity")?;
        if !wanted.contains(id) || package["name"] == "pcr99-cli" {
            continue;
        }
        let (name, version) = (text(package, "name")?, text(package, "version")?);
        let mut component = json!({
            "type": "library",
            "bom-ref": format!("{name}@{version}"),
            "name": name,
            "version": version,
            "purl": format!("pkg:cargo/{name}@{version}"),
        });
        if let Some(licence) = package["license"].as_str() {
            component["licenses"] = json!([{ "expression": licence.replace('/', " OR ") }]);
        }
        if let Some((_, sum)) = checksums.iter().find(|(key, _)| *key == format!("{name} {version}")) {
            component["hashes"] = json!([{ "alg": "SHA-256", "content": sum }]);
        }
        components.push(component);
    }
    components.sort_by_key(|component| component["bom-ref"].to_string());
    ensure!(components.len() > 20, "the bill of materials lists {} crates only", components.len());
    let bill = json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": { "component": { "type": "application", "name": "pcr99", "version": VERSION } },
        "components": components,
    });
    let file = work.output.join(format!("pcr99-{VERSION}.cdx.json"));
    fs::write(&file, format!("{bill:#}\n")).with_context(|| file.display().to_string())
}

/// What cargo says of the workspace and its dependencies on Linux.
fn metadata() -> Result<Value> {
    let mut command = Command::new(env!("CARGO"));
    command.args([
        "metadata",
        "--format-version=1",
        "--locked",
        "--filter-platform",
        "x86_64-unknown-linux-gnu",
    ]);
    let output = command.current_dir(root()?).output().context("cannot start cargo")?;
    ensure!(output.status.success(), "`cargo metadata`: {}", String::from_utf8_lossy(&output.stderr));
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// Identities of the packages that are compiled into the program or the Python package. Dependencies of tests and builds are left out.
fn compiled(metadata: &Value) -> Result<BTreeSet<&str>> {
    let nodes = metadata["resolve"]["nodes"].as_array().context("no dependencies")?;
    let mut open: Vec<&str> = Vec::new();
    for package in metadata["packages"].as_array().context("no packages")? {
        if package["name"] == "pcr99-cli" || package["name"] == "pcr99-python" {
            open.extend(package["id"].as_str());
        }
    }
    let mut seen = BTreeSet::new();
    while let Some(id) = open.pop() {
        if !seen.insert(id) {
            continue;
        }
        let node = nodes.iter().find(|node| node["id"] == id).context("a dependency without a node")?;
        for dependency in node["deps"].as_array().into_iter().flatten() {
            let kinds = dependency["dep_kinds"].as_array().context("a dependency without kinds")?;
            if kinds.iter().any(|kind| kind["kind"].is_null()) {
                open.extend(dependency["pkg"].as_str());
            }
        }
    }
    Ok(seen)
}

/// Checksums of `Cargo.lock`, by name and version.
fn checksums() -> Result<Vec<(String, String)>> {
    let text = fs::read_to_string(root()?.join("Cargo.lock"))?;
    let value = |block: &str, key: &str| {
        let line = block.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = \""));
        line.and_then(|rest| rest.strip_suffix('"')).map(str::to_owned)
    };
    let blocks = text.split("[[package]]").filter_map(|block| {
        let key = format!("{} {}", value(block, "name")?, value(block, "version")?);
        Some((key, value(block, "checksum")?))
    });
    Ok(blocks.collect())
}

fn text<'a>(package: &'a Value, key: &str) -> Result<&'a str> {
    package[key].as_str().with_context(|| format!("a package without `{key}`"))
}
