//! Arguments, manifests and documents that make no sense.

use std::fs;

use anyhow::{Result, ensure};

use super::{
    Torture,
    damage::damaged,
    program::{ended_well, text},
};

/// Words of commands, options, values and nonsense.
const WORDS: [&str; 58] = [
    "solve",
    "register",
    "refine",
    "batch",
    "bench",
    "simulate",
    "convert",
    "page",
    "help",
    "completions",
    "batch-pair",
    "m0.csv",
    "pairs.csv",
    "scan.xyz",
    "nowhere",
    ".",
    "/dev/null",
    "-",
    "--",
    "",
    "=",
    "💥",
    "\u{202e}x",
    "--help",
    "--json",
    "--quiet",
    "--verbose",
    "--threads",
    "--scale",
    "unknown",
    "1",
    "0",
    "-1",
    "1e400",
    "NaN",
    "0.5..2",
    "..",
    "99999999999999999999",
    "20000",
    "--threshold",
    "--time-limit",
    "0.2",
    "--voxel",
    "--method",
    "paper",
    "ransac",
    "--output",
    "out.txt",
    "--page",
    "p.html",
    "--candidates",
    "--seed",
    "--points",
    "40",
    "--outliers",
    "--shape",
    "knot",
    "--format",
];

/// Random lists of arguments: any status but that of a crash.
pub(super) fn arguments(torture: &mut Torture) -> Result<()> {
    let place = torture.directory("arguments")?;
    torture.batch(&place, 1, "40")?;
    fs::write(place.join("scan.xyz"), "0 0 0\n1 0 0\n0 1 0\n0 0 1\n1 1 1\n")?;
    while torture.has_time() {
        let command = WORDS[torture.random.below(11)];
        let rest = torture.random.below(7);
        let mut arguments = vec![command];
        arguments.extend((0..rest).map(|_| *torture.random.of(&WORDS)));
        // Searches without an end in sight are not the point.
        if matches!(command, "bench") {
            arguments.extend(["--time-limit", "0.1", "--runs", "1"]);
        }
        let result = ended_well(&torture.output(&place, &arguments)?);
        torture.count("arguments", result.map_err(|cause| format!("{arguments:?}: {cause}")), &[])?;
    }
    Ok(())
}

/// Mutated manifests and documents: any status but that of a crash.
pub(super) fn texts(torture: &mut Torture) -> Result<()> {
    let place = torture.directory("texts")?;
    torture.batch(&place, 2, "40")?;
    let solved = torture.output(&place, &["solve", "m0.csv", "--json"])?;
    ensure!(!solved.stdout.is_empty(), "{}", text(&solved));
    let manifest = "pair_id,pairs,scale,threshold,method,time_limit,seed\na,m0.csv,1,0.1,default,9,3\n\"b\",m1.csv,unknown,,,,\nc,m1.csv,0.5..2,,,,\n";
    while torture.has_time() {
        let document = damaged(&solved.stdout, &mut torture.random);
        let file = place.join("document.json");
        fs::write(&file, document)?;
        let page = torture.output(&place, &["page", "document.json", "--output", "page.html"])?;
        torture.count("documents", ended_well(&page), &[&file])?;

        let file = place.join("manifest.csv");
        fs::write(&file, damaged(manifest.as_bytes(), &mut torture.random))?;
        let _ = fs::remove_dir_all(place.join("out"));
        let batch = torture.output(
            &place,
            &["batch", "manifest.csv", "--output", "out", "--threads", "1", "--time-limit", "5"],
        )?;
        torture.count("manifests", ended_well(&batch), &[&file])?;
    }
    Ok(())
}
