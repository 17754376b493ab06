//! Pairs that end the process, killed batches, and devices without room.

use std::{
    fs::{self, File},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use super::place::{Place, Ran};

/// A batch of three pairs. The second is read from a pipe that nobody writes to, so it is running until its process is killed.
fn with_endless_pair() -> Place {
    let place = Place::new();
    for seed in 0..2 {
        let simulate =
            format!("simulate --shape knot --points 200 --outliers 0.8 --seed {seed} --output m{seed}.csv");
        place.run(&simulate).with_status(0);
    }
    let made = Command::new("mkfifo").arg(place.path("endless.csv")).status().expect("mkfifo");
    assert!(made.success());
    place.write("pairs.csv", "pair_id,pairs\na,m0.csv\nb,endless.csv\nc,m1.csv\n");
    place
}

fn kill(signal: &str, process: u32) {
    let killed = Command::new("kill").args([signal, &process.to_string()]).status().expect("kill");
    assert!(killed.success());
}

/// Waits until `found` returns something.
fn wait_for<T>(what: &str, mut found: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = found() {
            return found;
        }
        assert!(start.elapsed() < Duration::from_secs(60), "no {what}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// The process that a batch has started.
fn child_of(batch: &Child) -> u32 {
    let path = format!("/proc/{0}/task/{0}/children", batch.id());
    wait_for("child", || fs::read_to_string(&path).ok()?.split_whitespace().next()?.parse().ok())
}

/// Starts a batch and waits until its second pair is running.
fn stuck(place: &Place, more: &str) -> Child {
    let args = format!("batch pairs.csv --output out --threads 1 --chunk 1 {more}");
    let child = place.command(&args).spawn().expect("the program starts");
    let notes = |name: &str| {
        let text = fs::read(place.path("out").join(name)).ok()?;
        (!text.is_empty()).then_some(())
    };
    wait_for("running pair", || notes(".running"));
    // The first pair takes some milliseconds and is written at the latest after 0.3 s.
    let parts = place.path("out/parts");
    let is_part = |entry: fs::DirEntry| !entry.file_name().to_string_lossy().starts_with('.');
    wait_for("part", || fs::read_dir(&parts).ok()?.flatten().any(is_part).then_some(()));
    child
}

#[test]
fn a_pair_that_ends_the_process_fails_when_the_batch_is_resumed() {
    let place = with_endless_pair();
    let mut first = stuck(&place, "");
    kill("-ABRT", first.id());
    first.wait().expect("it ends");
    assert!(place.path("out/.running").exists());

    // Whoever kills the batch itself blames no pair, however often.
    for _ in 0..4 {
        let mut batch =
            place.command("batch pairs.csv --output out --threads 1 --resume").spawn().expect("starts");
        let child = child_of(&batch);
        kill("-KILL", batch.id());
        batch.wait().expect("it ends");
        // The process of the pair does not outlive its batch.
        wait_for("end", || (!fs::exists(format!("/proc/{child}/fd/0")).unwrap_or(false)).then_some(()));
    }

    let batch = place.command("batch pairs.csv --output out --threads 1 --resume").spawn().expect("starts");
    let mut before = 0;
    for _ in 0..3 {
        let child = wait_for("next process", || Some(child_of(&batch)).filter(|&child| child != before));
        // It must have begun: the signal of a process that has not begun is the same.
        thread::sleep(Duration::from_millis(30));
        kill("-ABRT", child);
        before = child;
    }
    let ran = Ran::of(batch.wait_with_output().expect("it ends")).with_status(1);
    assert!(ran.out.contains("registered"), "{}", ran.out);
    let table = place.read("out/results.csv");
    let row = |id: &str| table.lines().find(|line| line.starts_with(id)).expect("a row").to_owned();
    assert!(row("a,").contains(",registered,") && row("c,").contains(",registered,"), "{table}");
    let failed = row("b,");
    assert!(
        failed.contains(",failed,")
            && failed.contains("the pair ended its process 3 times (signal 6, abort)"),
        "{failed}"
    );
    assert!(!place.path("out/.running").exists());
    // Nothing is left to do.
    let again = place.run("batch pairs.csv --output out --resume").with_status(1);
    assert!(again.err.contains("resuming after 3 of 3 pairs"), "{}", again.err);
    assert_eq!(place.read("out/results.csv"), table);
}

/// A process that is asked to stop, together with its batch, is not a failed pair.
#[test]
fn an_interrupted_suspect_is_not_blamed() {
    let place = with_endless_pair();
    let mut first = stuck(&place, "");
    kill("-KILL", first.id());
    first.wait().expect("it ends");
    let batch = place.command("batch pairs.csv --output out --threads 1 --resume").spawn().expect("starts");
    let child = child_of(&batch);
    kill("-INT", batch.id());
    Ran::of(batch.wait_with_output().expect("it ends")).with_status(130);
    wait_for("end", || (!fs::exists(format!("/proc/{child}/fd/0")).unwrap_or(false)).then_some(()));
    assert!(!place.path("out/results.csv").exists());
}

#[test]
fn a_full_device_is_an_error() {
    let place = Place::new();
    place.run("simulate --shape knot --points 200 --outliers 0.5 --output m.csv").with_status(0);
    for args in [
        "--help",
        "--version",
        "help",
        "help solve",
        "solve --help",
        "completions bash",
        "solve m.csv",
        "solve m.csv --json",
        "simulate --shape knot",
    ] {
        let full = File::options().write(true).open("/dev/full").expect("a device without room");
        let ran = place.command(args).stdout(Stdio::from(full)).output().expect("the program starts");
        let ran = Ran {
            status: ran.status.code(),
            out: String::new(),
            err: String::from_utf8_lossy(&ran.stderr).into(),
        };
        assert_eq!(ran.status, Some(2), "{args}: {}", ran.err);
        assert!(ran.err.starts_with("error: cannot write to standard output: "), "{args}: {}", ran.err);
    }
}
