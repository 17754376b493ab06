use std::{
    io::{BufRead, BufReader, Read, Write},
    os::unix::fs::FileTypeExt,
    process::{Command, Stdio},
    thread,
    time::Duration,
};

use super::place::{Place, Ran, exact_matches, inliers, table, transform};

/// Ctrl-C during a search that would take long.
#[test]
fn an_interrupt_gives_the_best_so_far() {
    let place = Place::new();
    place.run("simulate --shape knot --points 2000 --outliers 1 --output m.csv").with_status(0);
    let solve =
        "solve m.csv --method paper --threshold 0.05 --scale unknown --min-inliers 1000 --json --verbose";
    let mut child = place.command(solve).spawn().expect("the program starts");
    // It says what it is about to do once it listens to signals.
    let mut messages = BufReader::new(child.stderr.take().expect("a pipe"));
    let mut line = String::new();
    messages.read_line(&mut line).expect("a line");
    assert!(line.starts_with("2000 matches; "), "{line}");
    thread::sleep(Duration::from_millis(700));
    let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill");
    assert!(killed.success());
    let ran = Ran::of(child.wait_with_output().expect("the program ends")).with_status(130);
    let document = ran.json();
    assert_eq!(document["stopped_because"], "interrupted");
    assert_eq!(document["status"], "not_reliable");
    assert!(transform(&document).as_flattened().iter().all(|x| x.is_finite()));
    assert!(!inliers(&document).is_empty());
    assert!(document["evidence"]["log10_nfa"].as_f64().expect("a number") > -1.0);
    let mut rest = String::new();
    messages.read_to_string(&mut rest).expect("text");
    assert!(!rest.contains("error") && rest.contains("doubt `"), "{rest}");
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let place = Place::new();
    let mut child =
        place.command("simulate --shape cube --points 20000").spawn().expect("the program starts");
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut line).expect("a line");
    assert_eq!(line, "sx,sy,sz,tx,ty,tz\n");
    let ran = Ran::of(child.wait_with_output().expect("the program ends"));
    assert_eq!((ran.status, ran.err.as_str()), (Some(0), ""));

    // Closed before a word was said; the status is still that of the search.
    for (args, matches, status) in
        [("solve - --threshold 0.01", 12, 0), ("solve - --threshold 0.01 --json", 3, 1)]
    {
        let mut child = place.command(args).stdin(Stdio::piped()).spawn().expect("the program starts");
        drop(child.stdout.take());
        let matches = table(&exact_matches()[..matches], " ", "\n");
        child.stdin.take().expect("a pipe").write_all(matches.as_bytes()).expect("it reads");
        let ran = Ran::of(child.wait_with_output().expect("the program ends"));
        assert_eq!((ran.status, ran.err.as_str()), (Some(status), ""));
    }
}

#[test]
fn a_message_that_nobody_reads_does_not_change_the_status() {
    let place = Place::new();
    let mut child =
        place.command("solve - --threshold 1").stdin(Stdio::piped()).spawn().expect("the program starts");
    drop(child.stderr.take());
    child.stdin.take().expect("a pipe").write_all(b"not numbers\n").expect("it reads");
    assert_eq!(child.wait().expect("the program ends").code(), Some(2));
}

/// A named pipe (or a device) is written, not replaced by a file.
#[test]
fn output_to_a_named_pipe() {
    let place = Place::new();
    place.write("m.csv", table(&exact_matches(), ",", "\n"));
    let made = Command::new("mkfifo").arg(place.path("pipe")).status().expect("mkfifo");
    assert!(made.success());
    let solve = "solve m.csv --threshold 0.01 --format matrix";
    let child = place.command(&format!("{solve} --output pipe")).spawn().expect("the program starts");
    let path = place.path("pipe");
    let reader = thread::spawn(move || std::fs::read_to_string(path));
    let ran = Ran::of(child.wait_with_output().expect("the program ends")).with_status(0);
    assert_eq!((ran.out.as_str(), ran.err.as_str()), ("", ""));
    assert!(place.path("pipe").metadata().expect("a file").file_type().is_fifo());
    assert_eq!(reader.join().expect("a thread").expect("text"), place.run(solve).out);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error() {
    let place = Place::new();
    let full = || std::fs::File::options().write(true).open("/dev/full").expect("the device");
    for args in ["simulate --shape knot --points 10", "completions bash"] {
        let ran = Ran::of(place.command(args).stdout(full()).output().expect("a run"));
        ran.refused(&["cannot write to standard output", "No space left"]);
    }
    let ran = place.run("solve missing.csv --threshold 1 --output /proc/result.txt");
    ran.refused(&["cannot write `/proc/result.txt`"]);
    assert!(!ran.err.contains("missing.csv"), "{}", ran.err);
}

/// Nothing writes into the pipe for eleven seconds: `--progress plain` says after ten what the program is doing, also without a terminal.
#[test]
fn plain_progress_is_a_line_every_ten_seconds() {
    let place = Place::new();
    let pipe = place.path("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
    let child = place.command("solve pipe --progress plain").spawn().expect("the program starts");
    let mut end = std::fs::File::options().write(true).open(&pipe).expect("a pipe");
    thread::sleep(Duration::from_millis(11_000));
    end.write_all(table(&exact_matches(), " ", "\n").as_bytes()).expect("it reads");
    drop(end);
    let ran = Ran::of(child.wait_with_output().expect("the program ends")).with_status(0);
    assert_eq!(ran.err, "reading the matches, 10 s\n");
    assert!(ran.out.starts_with("registered: "), "{ran:?}");
    place.run("solve m.csv --progress plain -q").refused(&["--progress", "--quiet"]);
    place.run("solve m.csv --progress often").refused(&["plain"]);
}
