//! `--output`: the bytes of standard output, whole or not at all.

use super::place::{Place, exact_matches, table};

fn place_with_matches() -> Place {
    let place = Place::new();
    place.write("m.csv", table(&exact_matches(), ",", "\n"));
    place
}

#[test]
fn a_file_holds_the_bytes_of_standard_output() {
    let place = place_with_matches();
    let solve = "solve m.csv --threshold 0.01 --format matrix";
    let out = place.run(solve).with_status(0).out;
    let ran = place.run(&format!("{solve} --output new.txt")).with_status(0);
    assert_eq!((ran.out.as_str(), ran.err.as_str()), ("", ""));
    assert_eq!(place.read("new.txt"), out);

    let made = "simulate --shape cube --points 50 --seed 9";
    let out = place.run(made).with_status(0).out;
    place.write("old.csv", "longer than what comes now\n".repeat(1000));
    place.run(&format!("{made} -o ./old.csv")).with_status(0);
    assert_eq!(place.read("old.csv"), out);
    assert_eq!(place.listing(), ["m.csv", "new.txt", "old.csv"], "nothing else is left behind");
}

#[test]
fn a_guess_is_written_too() {
    let place = Place::new();
    place.write("m.csv", table(&exact_matches()[..3], ",", "\n"));
    place.run("solve m.csv --threshold 0.01 --json --output guess.json").with_status(1);
    assert!(place.read("guess.json").contains("\"status\": \"not_reliable\""));
}

#[test]
fn a_place_that_cannot_be_written_is_refused_before_anything_is_read() {
    let place = Place::new();
    std::fs::create_dir(place.path("folder")).expect("a directory");
    for (args, words) in [
        (
            "solve missing.csv --threshold 1 --output no/such.txt",
            ["`no/such.txt`", "there is no directory `no`"],
        ),
        ("solve missing.csv --threshold 1 --output folder", ["`folder`", "it is a directory"]),
        (
            "simulate --shape missing.ply --output no/such.csv",
            ["`no/such.csv`", "there is no directory `no`"],
        ),
        ("simulate --shape missing.ply --truth folder", ["`folder`", "it is a directory"]),
    ] {
        let ran = place.run(args);
        ran.refused(&[&["cannot write"], words.as_slice()].concat());
        assert!(!ran.err.contains("missing"), "{}", ran.err);
    }
    assert_eq!(place.listing(), ["folder"]);
}

#[test]
fn matches_and_truth_go_to_different_files() {
    let place = Place::new();
    for truth in ["a.csv", "./a.csv"] {
        place
            .run(&format!("simulate --shape knot --points 10 --output a.csv --truth {truth}"))
            .refused(&["--output and --truth name the same file"]);
    }
    assert!(place.listing().is_empty());
}

#[cfg(unix)]
#[test]
fn what_a_link_points_to_is_replaced_and_keeps_its_permissions() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let place = place_with_matches();
    place.write("real.txt", "old");
    std::fs::set_permissions(place.path("real.txt"), PermissionsExt::from_mode(0o600)).expect("a mode");
    symlink("real.txt", place.path("link.txt")).expect("a link");
    place.run("solve m.csv --threshold 0.01 --output link.txt").with_status(0);
    assert!(place.path("link.txt").is_symlink());
    assert!(place.read("real.txt").starts_with("registered: "));
    let mode = place.path("real.txt").metadata().expect("a file").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}
