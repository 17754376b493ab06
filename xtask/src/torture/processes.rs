//! Kills, full disks, and two processes on one directory.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
    thread,
    time::Duration,
};

use anyhow::{Context, Result, ensure};

use super::{
    Torture,
    program::{ended_well, text},
};

fn bytes_of(directory: &Path) -> Result<Vec<Vec<u8>>, String> {
    let read = |name| fs::read(directory.join(name)).map_err(|error| format!("{name}: {error}"));
    ["results.csv", "results.jsonl", "summary.json"].into_iter().map(read).collect()
}

/// Whether a directory holds a temporary file.
fn has_unfinished(directory: &Path) -> bool {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.into_iter().any(|entry| entry.file_name().to_string_lossy().starts_with(".unfinished-"))
}

/// Batches that are killed at random moments, until they finish: the bytes are those of one that was not.
pub(super) fn kills(torture: &mut Torture) -> Result<()> {
    let place = torture.directory("kills")?;
    torture.batch(&place, 40, "400")?;
    let output = torture.output(&place, &["batch", "pairs.csv", "--output", "whole", "--quiet"])?;
    ensure!(output.status.code() == Some(1), "{}", text(&output));
    let expected = bytes_of(&place.join("whole")).map_err(anyhow::Error::msg)?;
    let out = place.join("out");
    while torture.has_time() {
        if out.exists() {
            fs::remove_dir_all(&out)?;
        }
        let mut killed = 0;
        let result = loop {
            let threads = *torture.random.of(&["1", "2", "3"]);
            let batch = [
                "batch",
                "pairs.csv",
                "--output",
                "out",
                "--resume",
                "--quiet",
                "--chunk",
                "1",
                "--threads",
                threads,
            ];
            let mut child = torture.command(&place, &batch).spawn().context("cannot start the program")?;
            // The whole batch takes about a second; the first kills come early.
            thread::sleep(Duration::from_micros(torture.random.below(20_000 + 20_000 * killed) as u64));
            child.kill()?;
            let output = child.wait_with_output()?;
            match output.status.code() {
                // Killed, as intended.
                None => killed += 1,
                Some(1) => break Ok(()),
                _ => {
                    break Err(format!(
                        "after {killed} kills, it ended with {}: {}",
                        output.status,
                        text(&output)
                    ));
                }
            }
        };
        let same = bytes_of(&out).and_then(|found| {
            if found != expected {
                return Err(format!("other bytes after {killed} kills"));
            }
            let is_clean = !has_unfinished(&out)
                && !has_unfinished(&out.join("parts"))
                && !out.join(".running").exists();
            if is_clean { Ok(()) } else { Err("temporary files are left".to_owned()) }
        });
        torture.table.add("kills", killed as u64, 0);
        torture.count("killed and resumed batches", result.and(same), &[&out])?;
    }
    Ok(())
}

/// A command with a limit on the size of files, which then cannot be written.
#[cfg(unix)]
fn limited(
    torture: &Torture,
    place: &Path,
    kilobytes: usize,
    arguments: &[&str],
) -> Result<std::process::Output> {
    // Without the trap, the system would end the process instead of refusing to write.
    let script = format!("trap '' XFSZ; ulimit -f {kilobytes}; exec \"$0\" \"$@\"");
    let mut command = Command::new("bash");
    command.args(["-c", &script]).arg(&torture.program).args(arguments).current_dir(place);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.output().context("cannot start bash")
}

/// Outputs that do not fit: an error, the old file as it was, and no half file.
#[cfg(unix)]
pub(super) fn full_disks(torture: &mut Torture) -> Result<()> {
    let place = torture.directory("full")?;
    torture.batch(&place, 2, "3000")?;
    let row = |i: u32| format!("{},{},{},{}\n", i * 7919 % 9001, i * 104_729 % 8017, i % 97, i);
    fs::write(place.join("cloud.csv"), format!("x,y,z,label\n{}", (0..3000).map(row).collect::<String>()))?;
    fs::write(place.join("pose.txt"), "0 -1 0 5\n1 0 0 6\n0 0 1 7\n0 0 0 1\n")?;
    let to_full = [
        "--help",
        "--version",
        "solve m0.csv",
        "solve m0.csv --json",
        "simulate --shape knot",
        "completions zsh",
        "help",
    ];
    for arguments in to_full {
        if !Path::new("/dev/full").exists() {
            break;
        }
        let arguments: Vec<&str> = arguments.split(' ').collect();
        let full = fs::File::options().write(true).open("/dev/full")?;
        let output = torture.command(&place, &arguments).stdout(full).output()?;
        let result = ended_well(&output).and_then(|()| match output.status.code() {
            Some(2) => Ok(()),
            code => Err(format!("{arguments:?} to a full device ended with {code:?}")),
        });
        torture.count("full disks", result, &[])?;
    }
    loop {
        let cases: [(&[&str], &str); 7] = [
            (&["apply", "pose.txt", "cloud.csv", "out.laz", "--force"], "out.laz"),
            (&["apply", "pose.txt", "cloud.csv", "out.e57", "--force"], "out.e57"),
            (&["solve", "m0.csv", "--page", "out.html"], "out.html"),
            (&["simulate", "--shape", "knot", "--points", "9000", "--output", "out.csv"], "out.csv"),
            (&["solve", "m0.csv", "--json", "--output", "out.json"], "out.json"),
            (&["batch", "pairs.csv", "--output", "out"], "out/results.csv"),
            (
                &[
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
                    "2",
                    "--output",
                    "out",
                ],
                "out/table1.csv",
            ),
        ];
        let (arguments, name) = *torture.random.of(&cases);
        let _ = fs::remove_dir_all(place.join("out"));
        let is_file = !name.contains('/');
        if is_file {
            fs::write(place.join(name), "old")?;
        }
        let output = limited(torture, &place, torture.random.0 as usize % 24, arguments)?;
        let mut result = ended_well(&output);
        let found = fs::read(place.join(name));
        if output.status.code() == Some(2) {
            match found {
                Ok(bytes) if is_file && bytes != b"old" => result = Err(format!("half of `{name}` is left")),
                _ => {}
            }
        }
        if has_unfinished(&place) {
            result = result.and(Err("a temporary file is left".to_owned()));
        }
        torture.count("full disks", result, &[&place])?;
        if !torture.has_time() {
            return Ok(());
        }
    }
}

/// Without limits on the size of files, there is nothing to try.
#[cfg(not(unix))]
pub(super) fn full_disks(_: &mut Torture) -> Result<()> {
    Ok(())
}

/// Two batches in one directory: each works or says that the other does, and the results are the same.
pub(super) fn two_processes(torture: &mut Torture) -> Result<()> {
    let place = torture.directory("two")?;
    torture.batch(&place, 8, "200")?;
    let batch = ["batch", "pairs.csv", "--output", "whole", "--quiet"];
    torture.output(&place, &batch)?;
    let expected = bytes_of(&place.join("whole")).map_err(anyhow::Error::msg)?;
    loop {
        let out = place.join("out");
        if out.exists() {
            fs::remove_dir_all(&out)?;
        }
        let batch = [
            "batch",
            "pairs.csv",
            "--output",
            "out",
            "--resume",
            "--quiet",
            "--chunk",
            "1",
            "--threads",
            "1",
        ];
        let first = torture.command(&place, &batch).spawn()?;
        thread::sleep(Duration::from_micros(torture.random.below(30_000) as u64));
        let second = torture.command(&place, &batch).spawn()?;
        let [first, second] = [first.wait_with_output()?, second.wait_with_output()?];
        let mut result = Ok(());
        let mut worked = 0;
        for output in [&first, &second] {
            result = result.and(ended_well(output));
            match output.status.code() {
                Some(1) => worked += 1,
                _ if text(output).contains("another process is writing") => {}
                _ => result = result.and(Err(format!("it ended with {}: {}", output.status, text(output)))),
            }
        }
        if worked == 0 {
            result = result.and(Err("neither worked".to_owned()));
        }
        let same = bytes_of(&out)
            .and_then(|found| if found == expected { Ok(()) } else { Err("other bytes".to_owned()) });
        torture.count("two processes", result.and(same), &[&out])?;
        if !torture.has_time() {
            return Ok(());
        }
    }
}
