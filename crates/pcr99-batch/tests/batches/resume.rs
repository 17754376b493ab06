//! Interrupted and resumed batches; locks.

use std::{
    fs,
    num::NonZero,
    sync::atomic::{AtomicUsize, Ordering},
};

use pcr99_batch::{Directory, Ended, Manifest, RunOptions, Settings, run};

use crate::place::{Place, clouds_manifest, matches_manifest};

/// Runs until about this number of further pairs is made; how it ended, and how many are finished.
fn go_on(place: &Place, manifest: &Manifest, name: &str, most: usize) -> (Ended, usize) {
    let mut directory = Directory::resume(&place.path(name), manifest).expect("a directory");
    let made = AtomicUsize::new(0);
    let options =
        RunOptions { threads: NonZero::new(2), chunk: NonZero::<usize>::MIN, ..RunOptions::default() };
    let stop = || made.load(Ordering::Relaxed) >= most;
    let ended =
        run(manifest, &mut directory, &options, &stop, &mut |p| made.store(p.made, Ordering::Relaxed));
    let ended = ended.expect("results");
    if ended == Ended::Finished {
        directory.merge(manifest).expect("a table");
    }
    (ended, directory.finished())
}

fn parts(place: &Place, name: &str) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(place.path(name).join("parts")).expect("parts");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    paths
}

#[test]
fn goes_on_after_any_number_of_pairs() {
    let place = Place::new().with_matches(12, 0.7);
    let manifest = place.manifest(&matches_manifest(12));
    place.run(&manifest, "whole", 1, 0);
    let mut finished = 0;
    while finished < 12 {
        let before = finished;
        let (ended, now) = go_on(&place, &manifest, "pieces", 2);
        assert!(now > before && (ended == Ended::Finished) == (now == 12), "{before} {now}");
        finished = now;
        // What a kill leaves behind.
        fs::write(place.path("pieces/parts/.unfinished-abc.tmp"), "{\"schema\":1,").expect("a file");
        fs::write(place.path("pieces/.unfinished-def.tmp"), "pair_id,").expect("a file");
    }
    assert_eq!(place.results("pieces"), place.results("whole"));
    // Nothing was run twice, and nothing is run now.
    let records: usize = parts(&place, "pieces")
        .iter()
        .filter(|path| path.extension().is_some_and(|extension| extension == "jsonl"))
        .map(|path| fs::read_to_string(path).expect("a part").lines().count() - 1)
        .sum();
    assert_eq!(records, 12);
    assert_eq!(go_on(&place, &manifest, "pieces", 0), (Ended::Finished, 12));
    let left = fs::read_dir(place.path("pieces"))
        .expect("a directory")
        .chain(fs::read_dir(place.path("pieces/parts")).expect("a directory"));
    let names: Vec<_> = left.map(|entry| entry.expect("an entry").file_name()).collect();
    assert!(!names.iter().any(|name| name.to_string_lossy().contains("unfinished")), "{names:?}");
}

#[test]
fn rows_may_be_added_but_not_changed() {
    let place = Place::new().with_matches(4, 0.5);
    let text = matches_manifest(3);
    place.run(&place.manifest(&text), "out", 1, 0);
    let before = place.results("out");
    let message = |manifest: &Manifest| {
        let error = Directory::resume(&place.path("out"), manifest).expect_err("changed").to_string();
        assert!(error.starts_with("the manifest has changed since"), "{error}");
        error
    };
    let error = message(&place.manifest(&text.replace("m1.csv", "m2.csv")));
    assert!(error.contains("of the finished pair `p1`, `pairs` was `m1.csv` and is now `m2.csv`"), "{error}");
    let error = message(&place.manifest(&text.replace("p1,", "new,")));
    assert!(error.contains("the finished pair `p1` is no longer in it"), "{error}");
    let mut defaults = Settings::default();
    defaults.set("scale", "unknown").expect("a value");
    let error = message(&place.manifest_with(&text, &defaults));
    assert!(error.contains("of the finished pair `p0`, `scale` was empty and is now `unknown`"), "{error}");
    let elsewhere =
        Manifest::parse(text.as_bytes(), "m", "/elsewhere".into(), &Settings::default()).expect("a manifest");
    assert!(message(&elsewhere).contains("and is now `/elsewhere`"));
    assert_eq!(place.results("out"), before);

    let longer = place.manifest(&matches_manifest(4).replace("p0,m0.csv\np1,m1.csv", "p1,m1.csv\np0,m0.csv"));
    assert_eq!(go_on(&place, &longer, "out", 100), (Ended::Finished, 4));
    place.run(&longer, "anew", 1, 0);
    assert_eq!(place.results("out"), place.results("anew"));
}

#[test]
fn failed_pairs_can_be_run_again() {
    let place = Place::new().with_matches(3, 0.5);
    let manifest = place.manifest(&matches_manifest(5));
    assert_eq!(place.run(&manifest, "out", 1, 0).failed, 2);
    let place = place.with_matches(5, 0.5);
    // Not by themselves.
    assert_eq!(go_on(&place, &manifest, "out", 100), (Ended::Finished, 5));
    assert!(place.read("out/summary.json").contains("\"failed\": 2"));
    let mut directory = Directory::resume(&place.path("out"), &manifest).expect("a directory");
    assert_eq!((directory.forget_failed().expect("parts"), directory.finished()), (2, 3));
    drop(directory);
    assert_eq!(go_on(&place, &manifest, "out", 100), (Ended::Finished, 5));
    place.run(&manifest, "anew", 1, 0);
    assert_eq!(place.results("out"), place.results("anew"));
    let mut directory = Directory::resume(&place.path("out"), &manifest).expect("a directory");
    assert_eq!(directory.forget_failed().expect("parts"), 0);
}

#[test]
fn files_that_have_changed_are_noticed() {
    let place = Place::new().with_matches(3, 0.5).with_clouds(3);
    let mut text =
        clouds_manifest(3).replace("target\n", "target,pairs,initial\n").replace(".xyz\n", ".xyz,,\n");
    text =
        text.replace("1-0,c1.xyz,c0.xyz,,", "1-0,c1.xyz,c0.xyz,,pose.txt") + "m,,,m0.csv,\ngone,,,m9.csv,\n";
    place.write("pose.txt", "1 0 0 0\n0 1 0 0\n0 0 1 0\n0 0 0 1\n");
    let manifest = place.manifest(&text);
    place.run(&manifest, "out", 2, 1 << 30);
    let changed = || {
        let directory = Directory::resume(&place.path("out"), &manifest).expect("a directory");
        let rows = directory.changed(&manifest).rows;
        rows.iter().map(|row| row.pair_id.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(changed(), Vec::<String>::new());
    place.write("c2.xyz", place.read("c2.xyz") + "0 0 9\n");
    assert_eq!(changed(), ["2-0", "2-1"]);
    place.write("pose.txt", "1 0 0 0\n0 1 0 0\n0 0 1 0.5\n0 0 0 1\n");
    place.write("m9.csv", place.read("m1.csv"));
    fs::remove_file(place.path("m0.csv")).expect("a file");
    assert_eq!(changed(), ["2-0", "2-1", "1-0", "m", "gone"]);

    let mut directory = Directory::resume(&place.path("out"), &manifest).expect("a directory");
    let told = directory.changed(&manifest).to_string();
    assert_eq!(told, "files of 5 finished pairs have changed since they ran (first: `2-0`)");
    assert_eq!((directory.forget_changed(&manifest).expect("parts"), directory.finished()), (5, 0));
    drop(directory);
    assert_eq!(go_on(&place, &manifest, "out", 100), (Ended::Finished, 5));
    assert_eq!(changed(), Vec::<String>::new());
    place.run(&manifest, "anew", 1, 0);
    assert_eq!(place.results("out"), place.results("anew"));
}

#[test]
fn nothing_of_others_is_touched() {
    let place = Place::new().with_matches(2, 0.5);
    let manifest = place.manifest(&matches_manifest(2));
    let message = |result: Result<Directory, pcr99_batch::Error>| result.expect_err("refused").to_string();
    let foreign = place.path("foreign");
    fs::create_dir(&foreign).expect("a directory");
    for (name, content) in [("thesis.tex", "years"), ("batch.json", "{\"colour\": \"blue\"}")] {
        fs::write(foreign.join(name), content).expect("a file");
        for open in [Directory::create, Directory::resume] {
            assert!(
                message(open(&foreign, &manifest)).contains("is not empty and not the directory of a batch")
            );
        }
    }
    assert_eq!(fs::read_dir(&foreign).expect("a directory").count(), 2);
    assert!(
        message(Directory::create(&place.path("m0.csv"), &manifest)).contains("cannot create the directory")
    );

    let ours = place.path("ours");
    let held = Directory::create(&ours, &manifest).expect("a new directory");
    assert!(message(Directory::resume(&ours, &manifest)).contains("another process is writing"));
    drop(held);
    assert!(message(Directory::create(&ours, &manifest)).contains("already contains a batch"));
    // Where one was killed before it had begun, anybody may begin.
    fs::create_dir(place.path("begun")).expect("a directory");
    fs::write(place.path("begun/.lock"), "").expect("a file");
    fs::write(place.path("begun/.unfinished-1.tmp"), "{").expect("a file");
    assert_eq!(go_on(&place, &manifest, "begun", 100), (Ended::Finished, 2));
}

#[test]
fn damage_and_other_versions_are_noticed() {
    let place = Place::new().with_matches(2, 0.5);
    let manifest = place.manifest(&matches_manifest(2));
    place.run(&manifest, "out", 1, 0);
    let part = &parts(&place, "out")[0];
    let whole = fs::read_to_string(part).expect("a part");
    let message = |text: &str| {
        fs::write(part, text).expect("a part");
        Directory::resume(&place.path("out"), &manifest).expect_err("damaged").to_string()
    };
    let lines: Vec<&str> = whole.lines().collect();
    for (text, place, cause) in [
        (String::new(), "`", "it has 0 of the 0 records"),
        (whole[..whole.len() / 2].to_owned(), "`, line 2,", "it ends early"),
        (format!("{}\n{}\n", lines[0], lines[1]), "`", "it has 1 of the 2 records that were written"),
        (
            format!("{}\n{}\n{}\n", lines[0], lines[2], lines[1]),
            "`",
            "its records are not those that its name stands for",
        ),
        (
            whole.replace("\"fingerprint\":\"", "\"fingerprint\":\"z"),
            "`, line 2,",
            "its text does not have its checksum",
        ),
        (whole.replacen("pcr99 ", "pcr99 9", 1), "`, line 1,", "its text does not have its checksum"),
    ] {
        let error = message(&text);
        assert!(error.contains(&format!("{place} is damaged: ")) && error.contains(cause), "{error}");
        assert!(
            error.ends_with("; --resume --repair drops what is damaged and runs its pairs again"),
            "{error}"
        );
    }
    let header = |text: &str| {
        let header = text.split_once(",\"checksum\"").expect("a checksum").0.to_owned() + "}";
        format!("{}\n{}\n{}\n", pcr99_base::sealed::seal(header, ""), lines[1], lines[2])
    };
    let error = message(&header(&lines[0].replacen("\"program\":\"pcr99 ", "\"program\":\"pcr99 9", 1)));
    assert!(error.contains("is from pcr99 9") && error.contains("whose results may differ"), "{error}");
    let error = message(&header(&lines[0].replacen("{\"schema\":3,", "{\"schema\":4,", 1)));
    assert!(error.contains("has schema 4; this version reads 3"), "{error}");
    let before = place.results("out");
    fs::remove_file(part).expect("a part");
    assert_eq!(go_on(&place, &manifest, "out", 100), (Ended::Finished, 2));
    assert_eq!(place.results("out"), before);
}

/// Every byte of a part file and of `batch.json` is covered: a changed byte is named, and repaired to the same results.
#[test]
fn repair_drops_what_is_damaged_and_nothing_else() {
    let place = Place::new().with_matches(3, 0.5);
    let manifest = place.manifest(&matches_manifest(3));
    place.run(&manifest, "out", 1, 0);
    let before = place.results("out");
    let part = parts(&place, "out")[0].clone();
    let [part, header] = [part, place.path("out/batch.json")];
    let whole = fs::read(&part).expect("a part");
    let ends: Vec<usize> = (0..whole.len()).filter(|&i| whole[i] == b'\n').collect();
    for i in 0..60 {
        let mut bytes = whole.clone();
        let at = i * bytes.len() / 60;
        bytes[at] ^= 1 << (i % 7);
        fs::write(&part, bytes).expect("a part");
        let error = Directory::resume(&place.path("out"), &manifest).expect_err("damaged").to_string();
        let line = 1 + ends.iter().filter(|&&end| end < at).count();
        assert!(error.contains(&format!("{}`, line {line}, is damaged", part.display())), "{at}: {error}");
        let (directory, damaged) = Directory::repair(&place.path("out"), &manifest).expect("repaired");
        // A damaged end of a line damages two lines.
        let kept = directory.finished();
        assert!(damaged == 1 && kept >= 1, "{at}: {damaged} damaged, {kept} kept");
        drop(directory);
        assert_eq!(go_on(&place, &manifest, "out", 100), (Ended::Finished, 3));
        assert_eq!(place.results("out"), before);
        for part in parts(&place, "out") {
            fs::remove_file(part).expect("a part");
        }
        fs::write(&part, &whole).expect("a part");
    }
    let whole = fs::read(&header).expect("a header");
    for at in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        fs::write(&header, bytes).expect("a header");
        let error = Directory::resume(&place.path("out"), &manifest).expect_err("damaged").to_string();
        assert!(error.contains("batch.json` is damaged: "), "{at}: {error}");
    }
    fs::remove_file(&header).expect("removed");
    let error = Directory::resume(&place.path("out"), &manifest).expect_err("missing").to_string();
    assert!(error.contains("batch.json` is damaged: it is missing"), "{error}");
    let (directory, damaged) = Directory::repair(&place.path("out"), &manifest).expect("repaired");
    assert_eq!((damaged, directory.finished()), (1, 3));
    assert_eq!(fs::read(&header).expect("a header"), whole);
}

#[test]
fn a_removed_directory_is_not_made_again() {
    let place = Place::new().with_matches(3, 0.5);
    let manifest = place.manifest(&matches_manifest(3));
    let mut directory = Directory::create(&place.path("out"), &manifest).expect("a directory");
    fs::remove_dir_all(place.path("out")).expect("removed");
    let options = RunOptions { threads: NonZero::new(1), ..RunOptions::default() };
    let error =
        run(&manifest, &mut directory, &options, &|| false, &mut |_| {}).expect_err("gone").to_string();
    assert!(error.contains("was removed while the batch was running"), "{error}");
    assert!(!place.path("out").exists());

    let mut directory = Directory::create(&place.path("out"), &manifest).expect("a directory");
    run(&manifest, &mut directory, &options, &|| false, &mut |_| {}).expect("finished");
    fs::remove_dir_all(place.path("out")).expect("removed");
    let error = directory.merge(&manifest).expect_err("gone").to_string();
    assert!(error.contains("was removed while the batch was running"), "{error}");
    assert!(!place.path("out").exists());
}

/// Directories of earlier versions are refused before anything is read or written there.
#[test]
fn a_batch_of_schema_1_is_refused() {
    let place = Place::new().with_matches(1, 0.5);
    let manifest = place.manifest(&matches_manifest(1));
    fs::create_dir(place.path("old")).expect("a directory");
    let header = format!("{{\"batch_schema\":1,\"program\":\"{}\"}}\n", pcr99_document::PROGRAM);
    place.write("old/batch.json", &header);
    let error = Directory::resume(&place.path("old"), &manifest).expect_err("another schema").to_string();
    let words =
        "has schema 1; this version reads 3, whose records have checksums: run it again in a new directory";
    assert!(error.starts_with("the batch in `") && error.contains(words), "{error}");
    assert_eq!(place.read("old/batch.json"), header);
    assert_eq!(fs::read_dir(place.path("old")).expect("a directory").count(), 1);
}
