//! Damaged journals: what is damaged is never used.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::{
    Random, Torture, copy_all,
    program::{ended_well, text},
};

/// A damaged copy of `bytes`.
pub(super) fn damaged(bytes: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..1 + random.below(3) {
        if bytes.is_empty() {
            return bytes;
        }
        let place = random.below(bytes.len());
        let end = (place + 1 + random.below(40)).min(bytes.len());
        match random.below(9) {
            0 | 1 => bytes[place] ^= 1 << random.below(8),
            2 => bytes[place] = random.next() as u8,
            3 | 4 => {
                // The most harmful damage: a digit for a digit.
                let digits: Vec<usize> = (0..bytes.len()).filter(|&i| bytes[i].is_ascii_digit()).collect();
                if !digits.is_empty() {
                    let place = *random.of(&digits);
                    bytes[place] = b'0' + random.below(10) as u8;
                }
            }
            5 => bytes.truncate(place),
            6 => {
                bytes.drain(place..end);
            }
            7 => {
                // A block of zeros, as after a power failure.
                bytes[place..end].fill(0);
            }
            _ => {
                // A line that is there twice.
                let start = bytes[..place].iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
                let end = bytes[place..]
                    .iter()
                    .position(|&byte| byte == b'\n')
                    .map_or(bytes.len(), |at| place + at + 1);
                let line = bytes[start..end].to_vec();
                bytes.splice(start..start, line);
            }
        }
    }
    bytes
}

/// Files of a batch that a resumption reads.
fn journal_files(directory: &Path) -> Result<Vec<PathBuf>> {
    let mut files = vec![directory.join("batch.json")];
    for entry in fs::read_dir(directory.join("parts"))? {
        let path = entry?.path();
        // The parts are larger, and what they hold is what matters.
        files.extend([path.clone(), path.clone(), path]);
    }
    Ok(files)
}

fn results(directory: &Path) -> Result<Vec<Vec<u8>>> {
    let read = |name| fs::read(directory.join(name)).with_context(|| format!("no {name}"));
    ["results.csv", "results.jsonl", "summary.json"].into_iter().map(read).collect()
}

/// Directories of batches with a damaged file: resumed to the same bytes, or refused by name and repaired to the same bytes.
pub(super) fn batch_journals(torture: &mut Torture) -> Result<()> {
    let place = torture.directory("journals")?;
    torture.batch(&place, 5, "60")?;
    // Two part files: three pairs and the rest.
    let all = fs::read_to_string(place.join("pairs.csv"))?;
    let some: Vec<&str> = all.lines().take(4).collect();
    fs::write(place.join("pairs.csv"), some.join("\n") + "\n")?;
    let batch = ["batch", "pairs.csv", "--output", "whole", "--threads", "1", "--quiet"];
    torture.output(&place, &batch)?;
    fs::write(place.join("pairs.csv"), &all)?;
    let output = torture.output(&place, &[&batch[..], &["--resume"]].concat())?;
    ensure!(output.status.code() == Some(1), "{}", text(&output));
    let whole = place.join("whole");
    let expected = results(&whole)?;
    let out = place.join("out");
    while torture.has_time() {
        if out.exists() {
            fs::remove_dir_all(&out)?;
        }
        copy_all(&whole, &out)?;
        for name in ["results.csv", "results.jsonl", "summary.json"] {
            fs::remove_file(out.join(name))?;
        }
        let file = torture.random.of(&journal_files(&out)?).clone();
        let bytes = damaged(&fs::read(&file)?, &mut torture.random);
        fs::write(&file, &bytes)?;
        let kept = place.join("damaged");
        fs::write(&kept, &bytes)?;
        let batch = ["batch", "pairs.csv", "--output", "out", "--threads", "1", "--resume", "--quiet"];
        let resumed = torture.output(&place, &batch)?;
        let mut result = ended_well(&resumed);
        let name = file.file_name().context("a name")?.to_string_lossy().into_owned();
        if resumed.status.code() == Some(2) {
            let message = text(&resumed);
            if !message.contains(&name) && !message.contains("`out`") {
                result = Err(format!("the message does not name `{name}`: {message}"));
            }
            let repaired = torture.output(&place, &[&batch[..], &["--repair"]].concat())?;
            result = result.and(ended_well(&repaired));
            if repaired.status.code() == Some(2) {
                result = result.and(Err(format!("it is not repaired: {}", text(&repaired))));
            }
        }
        let found = results(&out).map_err(|error| error.to_string());
        result = result.and(found.and_then(|found| {
            if found == expected { Ok(()) } else { Err(format!("other results after damage to `{name}`")) }
        }));
        torture.count("batch journals", result, &[&kept, &out])?;
    }
    Ok(())
}

/// Records of a benchmark without their times and checksums.
fn records(directory: &Path) -> Result<BTreeSet<String>> {
    let mut found = BTreeSet::new();
    for line in fs::read_to_string(directory.join("records.jsonl"))?.lines() {
        let mut record: Value = serde_json::from_str(line)?;
        let fields = record.as_object_mut().context("a record")?;
        for name in ["cpu_seconds", "wall_seconds", "checksum"] {
            fields.remove(name);
        }
        found.insert(record.to_string());
    }
    Ok(found)
}

/// Directories of benchmarks with a damaged file.
pub(super) fn bench_journals(torture: &mut Torture) -> Result<()> {
    let place = torture.directory("benches")?;
    let bench = |output, more: &[&'static str]| {
        let first = [
            "bench",
            "--shape",
            "knot",
            "--methods",
            "default",
            "--points",
            "40",
            "--ratios",
            "0.5",
            "--runs",
            "3",
            "--quiet",
            "--output",
            output,
        ];
        [&first[..], more].concat()
    };
    let output = torture.output(&place, &bench("whole", &[]))?;
    ensure!(output.status.success(), "{}", text(&output));
    let whole = place.join("whole");
    let expected = records(&whole)?;
    let out = place.join("out");
    while torture.has_time() {
        if out.exists() {
            fs::remove_dir_all(&out)?;
        }
        fs::create_dir_all(&out)?;
        for name in ["records.jsonl", "config.json"] {
            copy_all(&whole.join(name), &out.join(name))?;
        }
        let name = *torture.random.of(&["records.jsonl", "records.jsonl", "config.json"]);
        let bytes = damaged(&fs::read(out.join(name))?, &mut torture.random);
        fs::write(out.join(name), &bytes)?;
        let kept = place.join("damaged");
        fs::write(&kept, &bytes)?;
        let resumed = torture.output(&place, &bench("out", &["--resume"]))?;
        let mut result = ended_well(&resumed);
        let mut is_refused = resumed.status.code() == Some(2);
        if is_refused {
            let message = text(&resumed);
            if !message.contains(name) && !message.contains("`out`") {
                result = Err(format!("the message does not name `{name}`: {message}"));
            }
            let repaired = torture.output(&place, &bench("out", &["--resume", "--repair"]))?;
            result = result.and(ended_well(&repaired));
            is_refused = repaired.status.code() == Some(2);
            // A configuration that is no longer one, or of another version, cannot be told from the file of another program.
            if is_refused && name == "records.jsonl" {
                result = result.and(Err(format!("it is not repaired: {}", text(&repaired))));
            }
        }
        if !is_refused {
            let found = records(&out).map_err(|error| error.to_string());
            result = result.and(found.and_then(|found| {
                if found == expected {
                    Ok(())
                } else {
                    Err(format!("other results after damage to `{name}`"))
                }
            }));
        }
        torture.count("bench journals", result, &[&kept, &out])?;
    }
    Ok(())
}
