//! Results are the same on any number of threads and in any order; errors of a pair are in its row.

use std::sync::Arc;

use pcr99_batch::{Chunk, Clouds, Directory, Settings, Worker, write_part};
use pcr99_document::{Document, Inputs, PairResult};
use serde_json::Value;

use crate::place::{Place, clouds_manifest, matches_manifest};

#[test]
fn threads_memory_and_order_do_not_matter() {
    let place = Place::new().with_clouds(4).with_matches(6, 0.6);
    let mut text = clouds_manifest(4)
        .replace("pair_id,source,target", "pair_id,source,target,pairs")
        .replace(".xyz\n", ".xyz,\n");
    for k in 0..6 {
        text += &format!("p{k},,,m{k}.csv\n");
    }
    let manifest = place.manifest(&text);
    let summary = place.run(&manifest, "one", 1, 1 << 30);
    assert_eq!((summary.pairs, summary.failed), (12, 0));
    assert!(summary.registered >= 9, "{summary}");
    for (name, threads, cache) in [("none kept", 1, 0), ("three", 3, 1 << 20), ("many", 40, 1 << 30)] {
        assert_eq!(place.run(&manifest, name, threads, cache), summary);
        assert_eq!(place.results(name), place.results("one"), "{name}");
    }
    // The table is in the order of the manifest.
    let ids = |text: String| {
        text.lines().skip(1).map(|line| line.split(',').next().map(str::to_owned)).collect::<Vec<_>>()
    };
    assert_eq!(ids(place.read("one/results.csv")), ids(text));
    assert_eq!(ids(place.read("one/results.csv")), ids(place.read("one/times.csv")));
}

#[test]
fn in_pieces_elsewhere_it_comes_to_the_same() {
    let place = Place::new().with_matches(9, 0.7);
    let manifest = place.manifest(&matches_manifest(9));
    place.run(&manifest, "here", 2, 0);

    let mut directory = Directory::create(&place.path("there"), &manifest).expect("a new directory");
    let mut chunks = manifest.chunks(2, &|row| directory.is_finished(row));
    assert_eq!(chunks.iter().map(|chunk| chunk.rows.len()).collect::<Vec<_>>(), [2, 2, 2, 2, 1]);
    chunks.reverse();
    for (k, chunk) in chunks.iter().enumerate() {
        // What another process would be sent, and do; the third is done twice.
        for _ in 0..if k == 3 { 2 } else { 1 } {
            let sent = serde_json::to_string(chunk).expect("JSON");
            let chunk: Chunk = serde_json::from_str(&sent).expect("own JSON");
            let records = Worker::new(Arc::new(Clouds::new(0)), 1).run_chunk(&chunk, &|| false);
            write_part(&place.path("there"), chunk.base.as_ref(), &records).expect("a part");
        }
    }
    assert!(
        directory.merge(&manifest).is_err_and(|error| error.to_string() == "9 of 9 pairs are not finished")
    );
    directory.update().expect("parts");
    assert_eq!(directory.finished(), 9);
    directory.merge(&manifest).expect("a table");
    assert_eq!(place.results("there"), place.results("here"));
}

#[test]
fn clouds_are_read_once_while_there_is_room() {
    let place = Place::new().with_clouds(4);
    let manifest = place.manifest(&clouds_manifest(4));
    let chunk = &manifest.chunks(100, &|_| false)[0];
    let run = |limit: u64| {
        let clouds = Arc::new(Clouds::new(limit));
        let records = Worker::new(Arc::clone(&clouds), 1).run_chunk(chunk, &|| false);
        let results: Vec<_> = records.into_iter().map(|record| record.result).collect();
        (results, clouds.files_read(), clouds.bytes())
    };
    let (kept, reads, bytes) = run(1 << 30);
    assert_eq!((kept.len(), reads), (6, 4));
    assert!((4 * 2500 * 24..1 << 28).contains(&bytes), "{bytes}");
    let (not_kept, reads, bytes) = run(0);
    assert_eq!((reads, bytes), (12, 0));
    assert!(kept == not_kept);
    // Room for some of them.
    let (some_kept, reads, bytes) = run(bytes_of_two(&place));
    assert!((5..12).contains(&reads) && bytes <= bytes_of_two(&place), "{reads} files, {bytes} bytes");
    assert!(kept == some_kept);
}

/// About what two clouds take.
fn bytes_of_two(place: &Place) -> u64 {
    let manifest = place.manifest("pair_id,source,target\na,c0.xyz,c1.xyz\n");
    let clouds = Arc::new(Clouds::new(u64::MAX));
    Worker::new(Arc::clone(&clouds), 1).run_chunk(&manifest.chunks(1, &|_| false)[0], &|| false);
    clouds.bytes() * 5 / 4
}

#[test]
fn what_is_wrong_with_a_pair_is_in_its_row() {
    let place = Place::new().with_matches(1, 0.5).with_clouds(2);
    place.write("nan.csv", "1 2 3 4 5 nan\n");
    place.write("two.csv", "1 2 3 4 5 6\n2 3 4 5 6 7\n");
    place.write("line.xyz", "0 0 0\n1 1 1\n2 2 2\n");
    place.write(
        "torn.ply",
        "ply\nformat binary_little_endian 1.0\nelement vertex 99\nproperty float x\nend_header\n",
    );
    place.write("odd.txt", "1 2 3");
    place.write("double.txt", "2 0 0 0 0 2 0 0 0 0 2 0 0 0 0 1");
    std::fs::create_dir(place.path("dir")).expect("a directory");
    let text = "pair_id,source,target,pairs,initial,method,threshold,memory_budget,time_limit,scale\n\
        good,,,m0.csv,,,,,,\n\
        missing,,,none.csv,,,,,,\n\
        directory,,,dir,,,,,,\n\
        nan,,,nan.csv,,,,,,\n\
        two,,,two.csv,,,,,,\n\
        no cloud,c0.xyz,none.ply,,,,,,,\n\
        line,line.xyz,c0.xyz,,,,,,,\n\
        torn,c0.xyz,torn.ply,,,,,,,\n\
        no pose,c0.xyz,c1.xyz,,none.txt,,,,,\n\
        odd pose,c0.xyz,c1.xyz,,odd.txt,,,,,\n\
        double,c0.xyz,c1.xyz,,double.txt,,,,,\n\
        memory,,,m0.csv,,paper,0.05,0,,\n\
        extreme,,,m0.csv,,,1e-300,,,1e300\n\
        no time,,,m0.csv,,,,,1e-9,\n";
    let manifest = place.manifest(text);
    let summary = place.run(&manifest, "out", 2, 1 << 30);
    assert_eq!(summary.pairs, 14);
    let rows: Vec<Value> = place
        .read("out/results.jsonl")
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let found = |id: &str| rows.iter().find(|row| row["pair_id"] == id).unwrap_or_else(|| panic!("{id}"));
    assert_eq!(found("good")["status"], "registered");
    assert_eq!(found("good").get("error"), None);
    for (id, words) in [
        ("missing", "none.csv`: No such file"),
        ("directory", "it is a directory"),
        ("nan", "nan.csv`, line 1, column 6: NaN is not a finite number"),
        ("two", "two.csv`: 2 matches: at least 3 are needed"),
        ("no cloud", "none.ply"),
        ("line", "line.xyz`: all 3 points are collinear"),
        ("torn", "torn.ply`"),
        ("no pose", "none.txt"),
        ("odd pose", "odd.txt`: 3 number(s), but a transform has 16"),
        ("double", "double.txt`: `initial` has scale 2, but `scale` is 1: make them agree"),
        ("memory", "set `memory_budget` to"),
    ] {
        let row = found(id);
        assert_eq!(row["status"], "failed", "{row}");
        let error = row["error"].as_str().expect("a text");
        assert!(error.contains(words), "{id}: {error}");
        assert!(!error.contains('\n') && row.get("transform").is_none(), "{row}");
    }
    // An outcome, whatever it is.
    assert!(
        ["failed", "no_solution", "not_reliable"].iter().any(|status| found("extreme")["status"] == *status)
    );
    assert_ne!(found("no time")["status"], "failed");
    assert_eq!(summary.failed as usize, rows.iter().filter(|row| row["status"] == "failed").count());
    // As many lines in the table, with the same words.
    assert_eq!(place.read("out/results.csv").lines().count(), 15);
    let table = place.read("out/results.csv");
    assert!(table.contains("two,,,two.csv,,failed,,,"), "{table}");
    assert!(table.contains("good,,,m0.csv,default,registered,,\"60 of 120 matches agree; "), "{table}");
}

#[test]
fn a_row_is_what_solve_and_register_say() {
    let place = Place::new().with_matches(1, 0.5).with_clouds(2);
    let mut defaults = Settings::default();
    defaults.set("seed", "3").expect("a value");
    let manifest =
        place.manifest_with("pair_id,source,target,pairs\nm,,,m0.csv\nc,c0.xyz,c1.xyz,\n", &defaults);
    place.run(&manifest, "out", 1, 0);
    let lines = place.read("out/results.jsonl");
    let rows: Vec<PairResult> =
        lines.lines().map(|line| PairResult::from_json(line).expect("a result")).collect();

    let matches = pcr99_cloud::read_matches(&place.path("m0.csv")).expect("matches");
    let pairs = pcr99::Correspondences::new(&matches.source, &matches.target).expect("matches");
    let found =
        pcr99::solve(&pairs, pcr99::Scale::one(), &pcr99::Params::new().with_seed(3)).expect("an outcome");
    let found = found.with_covariance(&pairs, pcr99::Scale::one());
    let solved = Document::of_matches("default", &found).with_inputs(Some(Inputs::matches("m0.csv")));
    let clouds = ["c0.xyz", "c1.xyz"].map(|name| {
        let points = pcr99_cloud::read_points(&place.path(name)).expect("a cloud");
        pcr99_cloud::PreparedCloud::new(pcr99_cloud::RawCloud::new(&points)).expect("a cloud")
    });
    let params = pcr99_cloud::RegisterParams::new().with_seed(3);
    let found = pcr99_cloud::register(&clouds[0], &clouds[1], &params).expect("an outcome");
    let registered = Document::of_clouds(&found).with_inputs(Some(Inputs::clouds("c0.xyz", "c1.xyz")));

    for ((row, id), document) in rows.iter().zip(["m", "c"]).zip([solved, registered]) {
        assert_eq!(row.pair_id(), id);
        // Times are in a file of their own.
        assert_eq!(row.document(), Some(&document.with_seconds(None)));
    }
    let times = place.read("out/times.csv");
    assert!(["reading", "preparing", "search"].iter().all(|stage| times.contains(stage)), "{times}");
}

/// Front ends in other languages keep them where any thread may come by.
#[test]
fn all_may_go_from_thread_to_thread() {
    fn check<T: Send + Sync + 'static>() {}
    check::<Worker>();
    check::<Clouds>();
    check::<Directory>();
    check::<pcr99_batch::Manifest>();
    check::<pcr99_batch::Record>();
    check::<pcr99_batch::Error>();
}
