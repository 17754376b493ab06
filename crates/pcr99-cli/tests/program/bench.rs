//! `bench`: records, tables and figures; what is kept when it is stopped; what is refused.

use std::{
    collections::BTreeMap,
    fs,
    path::Path,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;

use super::place::{Place, Ran};

/// A few seconds at most: small problems, two methods.
const SMALL: &str = "bench --shape knot --points 60 --methods default,ransac --ratios 0,0.5 --runs 3";

/// The records without their times and checksums, by what they are about.
fn records(directory: &Path) -> BTreeMap<String, Value> {
    let text = fs::read_to_string(directory.join("records.jsonl")).unwrap_or_default();
    // A line may still be in the making.
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    let mut records = BTreeMap::new();
    for line in whole.lines() {
        let mut record: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        for time in ["cpu_seconds", "wall_seconds"] {
            let seconds = record.as_object_mut().expect("an object").remove(time).expect("a time");
            assert!(seconds.as_f64().expect("a number") >= 0.0, "{line}");
        }
        // It covers the times.
        record.as_object_mut().expect("an object").remove("checksum").expect("a checksum");
        let key = ["method", "scale", "points", "outlier_ratio", "run"]
            .map(|name| record[name].to_string())
            .join(" ");
        assert!(records.insert(key, record).is_none(), "twice: {line}");
    }
    records
}

fn listing(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).expect("a directory");
    let mut names: Vec<String> =
        entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn one_command_gives_records_tables_and_figures() {
    let place = Place::new();
    let ran = place.run(&format!("{SMALL} --output out")).with_status(0);
    let directory = place.path("out");
    assert_eq!(
        listing(&directory),
        [
            "config.json",
            "figure2.svg",
            "figure3.svg",
            "figures.html",
            "records.jsonl",
            "summary.json",
            "table1.csv",
            "table1.md",
            "table2.csv",
            "table2.md",
            "times.csv",
            "times.md"
        ]
    );
    // Two methods and the reference, two ratios, two scale modes, three runs.
    let all = records(&directory);
    assert_eq!(all.len(), 3 * 2 * 2 * 3);
    for record in all.values() {
        assert!(record["rotation_deg"].as_f64().expect("a number") < 10.0, "{record}");
    }
    // All see the same problem.
    let seed = |method: &str| all[&format!("\"{method}\" \"known\" 60 0.5 2")]["seed"].clone();
    assert_eq!(seed("default"), seed("ransac"));
    assert_eq!(seed("default"), all["\"true-inliers\" \"unknown\" 60 0.5 2"]["seed"]);

    // Standard output has the tables.
    let [table1, table2] = ["out/table1.md", "out/table2.md"].map(|name| place.read(name));
    assert!(ran.out.starts_with(&table1) && ran.out.contains(&table2), "{}", ran.out);
    assert!(table1.contains("| unknown | ours | 6 | 0 | 0 | 0 | 0 | 0 | – | – |"), "{table1}");
    assert!(table2.contains("at 50 % outliers") && table2.contains("the paper's ratio, 99 %"), "{table2}");
    let summary: Value = serde_json::from_str(&place.read("out/summary.json")).expect("JSON");
    assert_eq!((&summary["records"], &summary["records_planned"]), (&36.into(), &36.into()));
    assert_eq!(summary["header"]["configuration"]["shape"], "knot");
    assert_eq!(summary["cells"].as_array().expect("cells").len(), 12);
    for name in ["figure2.svg", "figure3.svg"] {
        let svg = place.read(&format!("out/{name}"));
        assert!(svg.starts_with("<svg ") && svg.trim_end().ends_with("</svg>"), "{name}");
        assert!(svg.contains("RANSAC") && svg.contains("50 %") && svg.contains("<title>Figure"), "{name}");
    }
    let page = place.read("out/figures.html");
    let page = page.replace("<link rel=\"icon\" href=\"data:,\">", "");
    assert!(!page.contains("<script src") && !page.contains("<link"), "it needs nothing from elsewhere");

    // Drawn anew, nothing is run and nothing differs.
    let before = ["records.jsonl", "table2.csv", "figure2.svg", "figures.html"]
        .map(|name| place.read(&format!("out/{name}")));
    fs::remove_file(directory.join("figure2.svg")).expect("a file");
    let again = place.run("bench --from out").with_status(0);
    assert_eq!(again.out, ran.out);
    let after = ["records.jsonl", "table2.csv", "figure2.svg", "figures.html"]
        .map(|name| place.read(&format!("out/{name}")));
    assert!(before == after);

    // Everything done: nothing is run again.
    let ran = place.run(&format!("{SMALL} --output out --resume")).with_status(0);
    assert!(ran.err.contains("36 of 36"), "{}", ran.err);
    assert_eq!(place.read("out/records.jsonl"), before[0]);
}

/// Killed at any moment, it goes on where it was, and comes to the same.
#[test]
fn killed_and_resumed_it_comes_to_the_same() {
    let place = Place::new();
    let bench = "bench --shape knot --points 300 --methods default,paper,ransac --scale known --ratios 0.3,0.9 --runs 20 --quiet";
    place.run(&format!("{bench} --output whole")).with_status(0);
    let expected = records(&place.path("whole"));
    assert_eq!(expected.len(), 4 * 2 * 20);

    let directory = place.path("killed");
    let mut made = 0;
    for stop_after in [1, 30, 100] {
        let resume = if made > 0 { "--resume" } else { "" };
        let mut command = place.command(&format!("{bench} --output killed {resume}"));
        let mut child = command.stdout(Stdio::null()).spawn().expect("the program starts");
        let start = Instant::now();
        while records(&directory).len() < stop_after && start.elapsed() < Duration::from_secs(60) {
            thread::sleep(Duration::from_millis(1));
        }
        child.kill().expect("SIGKILL");
        child.wait().expect("the program ends");
        let there = records(&directory).len();
        assert!(there >= stop_after && there >= made, "{there} records");
        made = there;
    }
    // What a kill in the middle of a line leaves.
    let file = directory.join("records.jsonl");
    let text = fs::read_to_string(&file).expect("records");
    fs::write(&file, format!("{text}{{\"method\":\"defau")).expect("a file");

    let partial = place.run("bench --from killed");
    if made < expected.len() {
        assert!(
            partial.err.contains(&format!("the records are incomplete: {made} of 160")),
            "{}",
            partial.err
        );
        assert!(place.read("killed/figures.html").contains("Incomplete: "));
    }
    place.run(&format!("{bench} --output killed --resume")).with_status(0);
    assert_eq!(records(&directory), expected);
    assert_eq!(place.read("killed/table1.csv"), place.read("whole/table1.csv"));
    assert!(!place.read("killed/figures.html").contains("Incomplete: "));
}

#[cfg(unix)]
#[test]
fn an_interrupt_keeps_the_records_and_says_how_to_go_on() {
    let place = Place::new();
    let bench = "bench --shape knot --points 600 --methods ransac --ratios 0.99 --runs 50 --time-limit 100 --output out";
    let child = place.command(bench).spawn().expect("the program starts");
    // The reference is there at once; then RANSAC is at work, and the program listens.
    let start = Instant::now();
    while records(&place.path("out")).is_empty() && start.elapsed() < Duration::from_secs(60) {
        thread::sleep(Duration::from_millis(5));
    }
    let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill");
    assert!(killed.success());
    let ran = Ran::of(child.wait_with_output().expect("the program ends")).with_status(130);
    assert!(ran.err.contains("--resume") && ran.err.contains("of 200 records"), "{}", ran.err);
    assert_eq!(ran.out, "");
    assert!(!records(&place.path("out")).is_empty());
    assert_eq!(listing(&place.path("out")), ["config.json", "records.jsonl"]);
}

#[test]
fn several_sizes_give_the_limits() {
    let place = Place::new();
    let bench = "bench --preset limits --shape knot --points 40,80,120,200 --ratios 0.5,0.99 --runs 2 --jobs 2 --output out";
    let ran = place.run(bench).with_status(0);
    let names = listing(&place.path("out"));
    for name in ["growth.svg", "limits.csv", "limits.md", "figures.html", "summary.json"] {
        assert!(names.iter().any(|other| other == name), "{name}: {names:?}");
    }
    assert!(!names.contains(&"table1.md".to_owned()));
    assert!(ran.out.contains("| known | ours | 200 | 50 % | 100 |"), "{}", ran.out);
    assert!(place.read("out/growth.svg").contains("50 % outliers"));
    let config: Value = serde_json::from_str(&place.read("out/config.json")).expect("JSON");
    assert_eq!(config["sessions"][0]["jobs"], 2);
}

#[test]
fn what_makes_no_sense_is_refused_and_nothing_is_written() {
    let place = Place::new();
    place.write("tiny.xyz", "0 0 0\n1 0 0\n0 1 0\n0 0 1\n");
    place.write("file", "text");
    for (args, words) in [
        ("--methods alchemy", &["there is no method `alchemy`", "default, paper"][..]),
        ("--methods default,default", &["given twice"]),
        ("--ratios 1", &["below 1", "0.99"]),
        ("--ratios 0.5,99", &["below 1"]),
        ("--ratios -0.1", &["at least 0"]),
        ("--ratios nan", &["below 1"]),
        ("--ratios 0.5,0.5", &["given twice"]),
        ("--ratios half", &["expected a number"]),
        ("--runs 0", &["at least one run"]),
        ("--runs -3", &["--runs"]),
        ("--points 2", &["at least 3 points"]),
        ("--noise 0", &["the noise"]),
        ("--time-limit 0", &["--time-limit"]),
        ("--jobs 0", &["--jobs"]),
        ("--shape teapot", &["`teapot`"]),
        ("--shape tiny.xyz", &["`tiny.xyz`", "4 points"]),
        ("--scale sometimes", &["--scale"]),
        ("--from out", &["--from"]),
    ] {
        let before = place.listing();
        place.run(&format!("bench --output out {args}")).refused(words);
        assert_eq!(place.listing(), before, "{args}");
    }
    place.run("bench").refused(&["--output"]);
    place.run("bench --output file").refused(&["`file`"]);
    place.run("bench --from nowhere").refused(&["`nowhere`", "no benchmark"]);
    place.run("bench --from .").refused(&["no benchmark"]);
}

#[test]
fn directories_of_others_and_other_configurations_are_left_alone() {
    let place = Place::new();
    fs::create_dir(place.path("mine")).expect("a directory");
    place.write("mine/notes.txt", "keep");
    place.run(&format!("{SMALL} --output mine")).refused(&["`mine`", "not empty", "new directory"]);
    place.run(&format!("{SMALL} --output mine --resume")).refused(&["`mine`", "not empty"]);
    assert_eq!(listing(&place.path("mine")), ["notes.txt"]);

    place.run(&format!("{SMALL} --output out --quiet")).with_status(0);
    let files = || {
        let all = listing(&place.path("out"));
        all.into_iter()
            .map(|name| fs::read(place.path("out").join(name)).expect("a file"))
            .collect::<Vec<_>>()
    };
    let before = files();
    place.run(&format!("{SMALL} --output out")).refused(&["`out`", "--resume", "--from"]);
    for (change, setting) in [
        ("--seed 1", "`seed` is 0, not 1"),
        ("--noise 0.02", "`noise` is 0.01, not 0.02"),
        ("--scale known", "`scales`"),
        ("--outlier-center offset", "`outlier_center` is \"centred\", not \"offset\""),
        ("--time-limit 3", "`time_limit` is 10.0, not 3.0"),
    ] {
        place.run(&format!("{SMALL} {change} --output out --resume")).refused(&[
            "`out`",
            "other settings",
            setting,
        ]);
    }
    assert!(files() == before);
}

/// Where nothing can be written. (The superuser may write everywhere but here.)
#[cfg(target_os = "linux")]
#[test]
fn a_directory_that_cannot_be_written_is_refused() {
    let place = Place::new();
    place.run(&format!("{SMALL} --output /proc/pcr99-bench")).refused(&["`/proc/pcr99-bench`"]);
}
