//! `batch`: many pairs from a table; what is kept when it is stopped; what is refused.

use std::{
    fs,
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;

use super::place::{EXACT, Place, Ran, assert_close, exact_matches, table, transform};

/// Problems `m0.csv`, `m1.csv` …, easy ones.
fn problems(count: usize) -> Place {
    problems_of(count, "--points 200 --outliers 0.8")
}

fn problems_of(count: usize, kind: &str) -> Place {
    let place = Place::new();
    for seed in 0..count {
        let simulate = format!("simulate --shape knot {kind} --seed {seed} --output m{seed}.csv");
        place.run(&simulate).with_status(0);
    }
    let rows: String = (0..count).map(|k| format!("p{k},m{k}.csv\n")).collect();
    place.write("pairs.csv", format!("pair_id,pairs\n{rows}"));
    place
}

fn listing(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).into_iter().flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Pairs in part files.
fn finished(place: &Place, output: &str) -> Vec<String> {
    let directory = place.path(output).join("parts");
    let mut ids = Vec::new();
    for name in listing(&directory).iter().filter(|name| name.starts_with("part-")) {
        let text = fs::read_to_string(directory.join(name)).expect("a part");
        for line in text.lines().skip(1) {
            let record: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{name}: {error}"));
            ids.push(record["row"]["pair_id"].as_str().expect("a name").to_owned());
        }
    }
    ids
}

fn results(place: &Place, output: &str) -> [String; 3] {
    ["results.csv", "results.jsonl", "summary.json"].map(|name| place.read(&format!("{output}/{name}")))
}

/// Waits until this number of pairs is finished.
fn wait_for(place: &Place, output: &str, count: usize) {
    let start = Instant::now();
    while finished(place, output).len() < count {
        assert!(start.elapsed() < Duration::from_secs(120), "no {count} pairs");
        thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn one_command_gives_a_table() {
    let place = problems(5);
    let ran = place.run("batch pairs.csv --output out").with_status(0);
    assert_eq!(
        ran.out,
        "        5 pairs\n        5 registered\n        0 not reliable\n        0 no solution\n        0 failed\n"
    );
    assert!(
        ran.err.starts_with("wrote results.csv, results.jsonl, times.csv, summary.json to `out`; 5 pairs in"),
        "{}",
        ran.err
    );
    assert_eq!(
        listing(&place.path("out")),
        [".lock", "batch.json", "parts", "results.csv", "results.jsonl", "summary.json", "times.csv"]
    );
    // Each line is what `solve` says.
    let lines = place.read("out/results.jsonl");
    for (k, line) in lines.lines().enumerate() {
        let row: Value = serde_json::from_str(line).expect("JSON");
        let alone = place.json(0, &format!("solve m{k}.csv"));
        assert_eq!(row["pair_id"], format!("p{k}"));
        for name in ["status", "transform", "inliers", "evidence", "candidates", "counters", "program"] {
            assert_eq!(row[name], alone[name], "{name}");
        }
    }
    // Quietly, on other numbers of threads, with a document: the same.
    for threads in [1, 3] {
        let ran = place
            .run(&format!("batch pairs.csv --output t{threads} --threads {threads} --chunk 2 --json -q"))
            .with_status(0);
        let document = ran.json();
        assert_eq!(
            (&document["pairs"], &document["registered"], &document["failed"]),
            (&5.into(), &5.into(), &0.into())
        );
        assert_eq!(ran.err, "");
        assert_eq!(results(&place, &format!("t{threads}")), results(&place, "out"));
    }
    // Done is done.
    let again = place.run("batch pairs.csv --output out --resume").with_status(0);
    assert!(again.err.starts_with("resuming after 5 of 5 pairs\n"), "{}", again.err);
}

#[test]
fn what_is_wrong_with_a_pair_is_in_its_row() {
    let place = problems(1);
    fs::create_dir(place.path("sub")).expect("a directory");
    place.write("sub/exact, \"quoted\" ü.csv", table(&exact_matches(), ",", "\n"));
    let manifest = "\u{feff}pair_id,pairs,scale\r\n\
        \"<i>é, \"\"x\"\"</i>\",\"exact, \"\"quoted\"\" ü.csv\",unknown\r\n\
        up,../m0.csv,\r\n\
        gone,gone.csv,2\r\n";
    place.write("sub/pairs.csv", manifest);
    let ran = place.run("batch sub/pairs.csv --output out --seed 4").with_status(1);
    assert!(ran.out.contains("2 registered") && ran.out.contains("1 failed"), "{}", ran.out);
    let lines = place.read("out/results.jsonl");
    let rows: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(rows[0]["pair_id"], "<i>é, \"x\"</i>");
    assert_close(transform(&rows[0]), EXACT, 1e-9);
    assert_eq!(rows[2]["status"], "failed");
    assert!(rows[2]["error"].as_str().expect("a text").contains("gone.csv"), "{}", rows[2]);
    let csv = place.read("out/results.csv");
    assert!(
        csv.contains("\n\"<i>é, \"\"x\"\"</i>\",,,\"exact, \"\"quoted\"\" ü.csv\",default,registered,,\"12 of 12 matches agree; "),
        "{csv}"
    );

    // When the file is there, the pair can be run again, alone.
    fs::copy(place.path("m0.csv"), place.path("sub/gone.csv")).expect("a copy");
    let ran = place.run("batch sub/pairs.csv --output out --seed 4 --resume").with_status(1);
    let told = "note: files of the finished pair `gone` have changed since it ran; their results are kept; --retry-changed runs them again";
    assert!(ran.err.contains(told), "{}", ran.err);
    let ran = place.run("batch sub/pairs.csv --output out --seed 4 --resume --retry-failed");
    assert!(ran.err.contains("1 failed pair will run again\nresuming after 2 of 3 pairs\n"), "{}", ran.err);
    assert!(ran.out.contains("0 failed"), "{}", ran.out);

    // So can one whose file has changed.
    place.write("sub/gone.csv", &(place.read("m0.csv") + "0,0,0,9,9,9\n"));
    let ran = place.run("batch sub/pairs.csv --output out --seed 4 --resume --retry-changed");
    assert!(
        ran.err.contains("1 pair with changed files will run again\nresuming after 2 of 3 pairs\n"),
        "{}",
        ran.err
    );
    let ran = place.run("batch sub/pairs.csv --output out --seed 4 --resume --retry-changed");
    assert!(ran.err.contains("0 pairs with changed files will run again\nresuming after 3"), "{}", ran.err);
}

/// Killed at any moment, it goes on where it was, and comes to the same bytes.
#[test]
fn killed_and_resumed_it_comes_to_the_same() {
    // Long enough that it is killed in the middle.
    let place = problems_of(40, "--points 1000 --outliers 0.98");
    let status = place.run("batch pairs.csv --output whole --threads 2").status;
    let mut before = Vec::new();
    let start = |args: &str| -> Child {
        let mut command = place.command(&format!("batch pairs.csv --output killed --resume --quiet {args}"));
        command.stdout(Stdio::null()).spawn().expect("the program starts")
    };
    for (round, more) in [0, 0, 1, 5, 9, 3].into_iter().enumerate() {
        let mut child = start("--threads 2 --chunk 2");
        if more == 0 {
            // Before it has begun, or just then.
            thread::sleep(Duration::from_millis(3 * round as u64));
        } else {
            wait_for(&place, "killed", (before.len() + more).min(40));
        }
        child.kill().expect("SIGKILL");
        child.wait().expect("the program ends");
        let now = finished(&place, "killed");
        assert!(before.iter().all(|id| now.contains(id)), "a finished pair is lost");
        before = now;
    }
    let ran = place.run("batch pairs.csv --output killed --resume --threads 1");
    assert_eq!(ran.status, status);
    if before.len() < 40 {
        assert!(ran.err.contains(&format!("resuming after {} of 40 pairs", before.len())), "{}", ran.err);
    }
    let mut all = finished(&place, "killed");
    all.sort();
    all.dedup();
    assert_eq!((all.len(), finished(&place, "killed").len()), (40, 40), "each pair once");
    assert_eq!(results(&place, "killed"), results(&place, "whole"));
    let names = [listing(&place.path("killed")), listing(&place.path("killed/parts"))].concat();
    assert!(!names.iter().any(|name| name.ends_with(".tmp")), "{names:?}");
}

/// Quick pairs, then one that takes minutes.
fn with_a_slow_one() -> (Place, &'static str) {
    let place = problems(4);
    let slow = "simulate --shape knot --points 1000 --outliers 0.997 --output slow.csv";
    place.run(slow).with_status(0);
    let rows = place.read("pairs.csv");
    place.write("slow.txt", format!("{rows}slow,slow.csv\n"));
    (place, "--output out --method ransac --threshold 0.05 --threads 1 --chunk 1")
}

#[cfg(unix)]
#[test]
fn an_interrupt_keeps_what_is_finished_and_says_how_to_go_on() {
    let (place, options) = with_a_slow_one();
    let child = place.command(&format!("batch slow.txt {options}")).spawn().expect("the program starts");
    wait_for(&place, "out", 4);
    let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill");
    assert!(killed.success());
    let ran = Ran::of(child.wait_with_output().expect("the program ends")).with_status(130);
    assert_eq!(ran.out, "");
    assert!(
        ran.err.contains("interrupted after 4 of 5 pairs") && ran.err.contains("--resume"),
        "{}",
        ran.err
    );
    assert_eq!(finished(&place, "out").len(), 4);
    assert_eq!(listing(&place.path("out")), [".lock", "batch.json", "parts"]);
    // What is not finished need not be there any more.
    let ran = place.run(&format!("batch pairs.csv {options} --resume"));
    assert!(ran.err.starts_with("resuming after 4 of 4 pairs\n"), "{}", ran.err);
}

#[test]
fn two_at_once_are_refused_and_a_dead_one_does_not_matter() {
    let (place, options) = with_a_slow_one();
    let mut first = place.command(&format!("batch slow.txt {options}")).spawn().expect("the program starts");
    wait_for(&place, "out", 4);
    place
        .run(&format!("batch slow.txt {options} --resume"))
        .refused(&["another process is writing to `out`"]);
    first.kill().expect("SIGKILL");
    first.wait().expect("the program ends");
    let ran = place.run(&format!("batch pairs.csv {options} --resume"));
    assert!(ran.err.starts_with("resuming after 4 of 4 pairs\n"), "{}", ran.err);
}

#[test]
fn what_makes_no_sense_is_refused_and_nothing_is_written() {
    let place = problems(2);
    place.write("twice.csv", "pair_id,pairs\na,m0.csv\n\na,m1.csv\n");
    place.write("column.csv", "pair_id,pairs,treshold\na,m0.csv,1\n");
    place.write("value.csv", "pair_id,pairs,seed\na,m0.csv,\nb,m1.csv,many\n");
    place.write("empty.csv", "");
    place.write("latin.csv", b"pair_id,pairs\ncaf\xe9,m0.csv\n");
    fs::create_dir(place.path("mine")).expect("a directory");
    place.write("mine/notes.txt", "keep");
    for (args, words) in [
        (
            "twice.csv --output out",
            &["`twice.csv`, line 4", "`pair_id` is `a`, which line 2 already has"][..],
        ),
        ("column.csv --output out", &["`column.csv`, line 1", "`treshold`", "threshold"]),
        ("value.csv --output out", &["`value.csv`, line 3", "pair `b`", "`seed` is `many`", "whole number"]),
        ("empty.csv --output out", &["`empty.csv`", "contains no pairs"]),
        ("latin.csv --output out", &["`latin.csv`, line 2", "UTF-8"]),
        ("none.csv --output out", &["`none.csv`", "cannot be read"]),
        ("- --output out", &["a manifest must be a file"]),
        ("pairs.csv", &["--output"]),
        ("pairs.csv --output mine", &["`mine`", "not empty", "new directory"]),
        ("pairs.csv --output mine --resume", &["`mine`", "not empty"]),
        ("pairs.csv --output m0.csv", &["`m0.csv`"]),
        ("pairs.csv --output out --threads 0", &["--threads"]),
        ("pairs.csv --output out --chunk 0", &["--chunk"]),
        ("pairs.csv --output out --scale -1", &["pair `p0`: `scale` must be finite and positive, got -1"]),
        ("pairs.csv --output out --method magic", &["--method"]),
        ("pairs.csv --output out --method paper", &["line 2", "pair `p0`", "needs a `threshold`"]),
        (
            "pairs.csv --output out --voxel 1",
            &["`voxel` is an option for two clouds, but no pair has two clouds"],
        ),
        ("pairs.csv --output out --retry-failed", &["--resume"]),
    ] {
        let before = place.listing();
        place.run(&format!("batch {args}")).refused(words);
        assert_eq!(place.listing(), before, "{args}");
    }
    assert_eq!(listing(&place.path("mine")), ["notes.txt"]);

    place.run("batch pairs.csv --output out --quiet").with_status(0);
    let before = results(&place, "out");
    place.run("batch pairs.csv --output out").refused(&["`out` already contains a batch", "--resume"]);
    place.run("batch pairs.csv --output out --resume --seed 1").refused(&[
        "the manifest has changed",
        "of the finished pair `p",
        "`seed` was empty and is now `1`",
    ]);
    assert_eq!(results(&place, "out"), before);
}

#[test]
fn pages_show_the_batch_and_change_no_result() {
    let place = problems(3);
    place.run("simulate --shape knot --points 60 --outliers 1 --output bad.csv").with_status(0);
    place.write(
        "pairs.csv",
        "pair_id,pairs\np0,m0.csv\n<b>../é & x,m1.csv\nbad,bad.csv\ngone,gone.csv\np2,m2.csv\n",
    );
    place.run("batch pairs.csv --output plain").with_status(1);
    let ran = place.run("batch pairs.csv --output out --page out/index.html --pair-pages 2").with_status(1);
    assert!(ran.err.contains("summary.json and 2 pages in `pages` to `out`; "), "{}", ran.err);
    assert_eq!(results(&place, "out"), results(&place, "plain"));
    // What is not registered comes first, then the others as in the manifest.
    let pages = listing(&place.path("out/pages"));
    assert!(pages.len() == 2 && pages[0].starts_with("bad-") && pages[1].starts_with("p0-"), "{pages:?}");
    let page = place.read("out/index.html");
    assert!(page.contains("3 of 5 pairs registered") && !page.contains("<b>../"), "the verdict");
    assert!(page.contains("matches agree, but "), "a reason");
    assert!(page.contains("--page out/index.html --pair-pages 2</code>"), "the command");
    for name in &pages {
        assert!(page.contains(&format!("href=\"./pages/{name}\"")), "{name}");
    }
    assert_eq!(page.matches("<a href").count(), 2);
    let single = place.read(&format!("out/pages/{}", pages[0]));
    assert!(single.contains("<b>Not reliable:</b>") && single.contains("<b>bad</b>"), "a page of a pair");

    // More of them later, from what is kept, with links from elsewhere; what is there stays.
    fs::create_dir(place.path("a b")).expect("a directory");
    let mut more = place.command("batch pairs.csv --output out --resume --pair-pages 9 --page");
    more.arg("a b/all.html");
    let ran = Ran::of(more.output().expect("the program")).with_status(1);
    assert!(
        ran.err.starts_with("resuming after 5 of 5 pairs\n") && ran.err.contains("4 pages"),
        "{}",
        ran.err
    );
    assert_eq!(place.read(&format!("out/pages/{}", pages[0])), single);
    let page = place.read("a b/all.html");
    assert_eq!(page.matches("<a href=\"./../out/pages/").count(), 4);
    assert!(listing(&place.path("out/pages")).iter().any(|name| name.starts_with("b-x-")), "a safe name");
    assert_eq!(results(&place, "out"), results(&place, "plain"));

    // A page whose files are gone is not made, and said.
    fs::remove_file(place.path("m0.csv")).expect("removed");
    fs::remove_dir_all(place.path("out/pages")).expect("removed");
    let ran = place.run("batch pairs.csv --output out --resume --pair-pages 2").with_status(1);
    assert!(
        ran.err.contains("no page of pair `p0` is written") && ran.err.contains("and 1 page in `pages`"),
        "{}",
        ran.err
    );
}

#[test]
fn a_page_that_cannot_be_written_is_refused_before_any_work() {
    let place = problems(1);
    fs::create_dir(place.path("there")).expect("a directory");
    let before = place.listing();
    for (page, words) in [
        ("there", "is a directory"),
        ("missing/p.html", "`missing`"),
        ("out/results.csv", "which the batch itself writes"),
        ("pairs.csv", "names the manifest"),
    ] {
        place.run(&format!("batch pairs.csv --output out --page {page}")).refused(&[words]);
    }
    place.run("batch pairs.csv --output out --pair-pages -1").refused(&["--pair-pages"]);
    assert_eq!(place.listing(), before);
}
