//! Writes two scans of a generated scene, as the tutorial uses them:
//! `cargo run --release --example two_scans -- DIRECTORY [FAMILY] [SEED]`.
//!
//! FAMILY is one of the families of `crates/pcr99-cloud/tests/scenes`, such as `room view` (the default) or `corridor`. The files are `scan1.ply` (the source),
//! `scan2.ply` (the target) and, for scans of the same place, `truth.txt`: the 4×4 matrix that maps `scan1` onto `scan2`.

#![allow(clippy::print_stdout, reason = "says what was written")]
#![allow(unreachable_pub, reason = "shared with the tests")]

#[path = "../../pcr99-cloud/tests/scenes/mod.rs"]
mod scenes;

use std::{error::Error, fmt::Write, fs, path::Path};

use pcr99_cloud::{Cloud, write_cloud};
use scenes::{ATTACKS, FAMILIES, Scans};

/// Family without an argument: two views of a room that overlap by about half.
const FAMILY: &str = "room view";
/// Seed without an argument.
const SEED: u64 = 1;

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let directory = Path::new(args.first().ok_or("name the directory to write to")?);
    let name = args.get(1).map_or(FAMILY, String::as_str);
    let seed = args.get(2).map_or(Ok(SEED), |seed| seed.parse())?;
    let mut families = FAMILIES.iter().chain(&ATTACKS);
    let family = families.find(|(family, _)| *family == name);
    let (_, make) = family.ok_or_else(|| {
        let names: Vec<&str> = FAMILIES.iter().chain(&ATTACKS).map(|(name, _)| *name).collect();
        format!("there is no family `{name}`; the families are: {}", names.join("; "))
    })?;
    let scans: Scans = make(seed);
    fs::create_dir_all(directory)?;
    for (file, points) in [("scan1.ply", scans.source), ("scan2.ply", scans.target)] {
        let count = points.len();
        write_cloud(&directory.join(file), &Cloud::new(points))?;
        println!("{file}: {count} points");
    }
    if let Some(truth) = scans.truth {
        let mut text = String::new();
        for row in truth.matrix() {
            writeln!(text, "{}", row.map(|x| x.to_string()).join(" "))?;
        }
        fs::write(directory.join("truth.txt"), text)?;
        println!("truth.txt: the transform from scan1 to scan2");
    }
    Ok(())
}
