//! `batch --write-aligned`: the source clouds of registered pairs, moved onto their targets.

use std::fs;

use crate::{
    place::Place,
    register::{self, numbers},
};

/// Three pairs: a registered one of text, the same as a PLY file, and one with a missing file.
fn place() -> Place {
    let place = register::place();
    place.run("convert a.xyz a.ply").with_status(0);
    place.write(
        "pairs.csv",
        "pair_id,source,target\nroom/1,a.xyz,b.xyz\nroom 2,a.ply,b.xyz\ngone,none.ply,b.xyz\n",
    );
    place
}

fn listing(place: &Place, directory: &str) -> Vec<String> {
    let entries = fs::read_dir(place.path(directory)).expect("a directory");
    let mut names: Vec<String> =
        entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn registered_pairs_are_written_and_missing_files_are_made_again() {
    let place = place();
    let ran = place.run("batch pairs.csv --output out --write-aligned out/aligned").with_status(1);
    assert!(ran.err.contains("2 aligned clouds to `out/aligned`"), "{ran:?}");
    assert_eq!(listing(&place, "out/aligned"), ["room-1.xyz", "room-2.ply"]);
    // What `register --write-aligned` writes.
    place.run("register a.xyz b.xyz --write-aligned alone.xyz").with_status(0);
    let written = place.read("out/aligned/room-1.xyz");
    let alone = place.read("alone.xyz");
    assert_eq!(numbers(&written), numbers(&alone));
    // A file that is missing is made again; one that is there stays as it is.
    fs::remove_file(place.path("out/aligned/room-1.xyz")).expect("a file");
    place.write("out/aligned/room-2.ply", "kept");
    place.run("batch pairs.csv --output out --write-aligned out/aligned --resume").with_status(1);
    assert_eq!(place.read("out/aligned/room-1.xyz"), written);
    assert_eq!(place.read("out/aligned/room-2.ply"), "kept");
    // A pair that runs again gets a new file.
    let text = place.read("a.xyz");
    place.write("a.xyz", text.lines().skip(1).map(|line| format!("{line}\n")).collect::<String>());
    place
        .run("batch pairs.csv --output out --write-aligned out/aligned --resume --retry-changed")
        .with_status(1);
    assert_eq!(place.read("out/aligned/room-1.xyz").lines().count(), text.lines().count() - 1);
    assert_eq!(place.read("out/aligned/room-2.ply"), "kept");
}

#[test]
fn no_file_of_the_user_is_replaced() {
    let place = place();
    fs::create_dir(place.path("mine")).expect("a directory");
    place.write("mine/room-1.xyz", "mine");
    let before = place.listing();
    let refused = |args: &str, words: &[&str]| {
        place.run(&format!("batch pairs.csv --output out {args}")).refused(words)
    };
    refused("--write-aligned mine", &["`mine` is not empty"]);
    refused("--write-aligned out", &["where the batch itself writes", "out/aligned"]);
    refused("--write-aligned out/parts", &["where the batch itself writes"]);
    refused("--write-aligned a.xyz", &["a.xyz"]);
    assert_eq!(place.listing(), before);
    assert_eq!(place.read("mine/room-1.xyz"), "mine");
    // The directory of the scans is refused on resumption, too.
    fs::create_dir(place.path("scans")).expect("a directory");
    place.write("scans/1.xyz", place.read("a.xyz"));
    place.write("two.csv", "pair_id,source,target\n1,scans/1.xyz,b.xyz\n");
    place.run("batch two.csv --output two").with_status(0);
    place
        .run("batch two.csv --output two --resume --write-aligned scans")
        .refused(&["`scans/1.xyz` of pair `1`"]);
    assert_eq!(listing(&place, "scans"), ["1.xyz"]);
    // Two names that differ in special characters only get different files.
    place.write("like.csv", "pair_id,source,target\na/b,a.xyz,b.xyz\na b,a.ply,b.xyz\nA-B,a.ply,b.xyz\n");
    place.run("batch like.csv --output like --write-aligned moved").with_status(0);
    assert_eq!(listing(&place, "moved").len(), 3);
}
