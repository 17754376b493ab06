//! `pcr99 assess` and `pcr99 verify`: the verdict on a transform from a file.

use pcr99::{Similarity, random::Random};

use crate::{
    place::{EXACT, Place, table, transform},
    register,
};

fn matrix_text(matrix: [[f64; 4]; 4]) -> String {
    matrix.map(|row| row.map(|x| x.to_string()).join(" ")).join("\n")
}

/// Matches of which 60 follow [`EXACT`] and 40 do not.
fn matches() -> String {
    let mut random = Random::new(5);
    let mut number = || 20.0 * random.uniform() - 10.0;
    let rows: Vec<[f64; 6]> = (0..100)
        .map(|k| {
            let [x, y, z] = [number(), number(), number()];
            if k % 5 < 3 {
                [x, y, z, 5.0 - y, x - 3.0, z + 1.0]
            } else {
                [x, y, z, number(), number(), number()]
            }
        })
        .collect();
    table(&rows, ",", "\n")
}

fn place_with_matches() -> Place {
    let place = Place::new();
    place.write("m.csv", matches());
    place.write("right.txt", matrix_text(EXACT));
    place.write("wrong.txt", "1 0 0 0\n0 1 0 0\n0 0 1 0\n0 0 0 1\n");
    place
}

#[test]
fn matches_confirm_a_right_transform_and_refuse_a_wrong_one() {
    let place = place_with_matches();
    for options in ["", " --threshold 0.01", " --correlation-length 0 --threads 1"] {
        let document = place.json(0, &format!("assess m.csv right.txt{options}"));
        assert_eq!((&document["status"], &document["method"]), (&"registered".into(), &"assess".into()));
        assert_eq!(transform(&document), EXACT, "the given transform, to the bit");
        assert_eq!(document["inliers"].as_array().expect("inliers").len(), 60, "{options}");
        assert_eq!(document["inputs"]["pairs"], "m.csv");
        let document = place.json(1, &format!("assess m.csv wrong.txt{options}"));
        assert_eq!((&document["status"], &document["doubt"]), (&"not_reliable".into(), &"chance".into()));
        assert_eq!(document["transform"][0][0], 1.0);
    }
    // With a search, the note says that there is another transform; with a threshold, nothing is searched for.
    let ran = place.run("assess m.csv wrong.txt").with_status(1);
    assert!(ran.out.starts_with("NOT RELIABLE: "), "{ran:?}");
    assert!(ran.err.contains("the matches support another transform, with 60 inliers"), "{ran:?}");
    assert!(!ran.out.contains("searched"), "{ran:?}");
    assert_eq!(place.run("assess m.csv wrong.txt --threshold 0.01").err, "");
    assert_eq!(place.run("assess m.csv wrong.txt -q").err, "");
    // Documents and pages.
    place.run("solve m.csv --json --output found.json").with_status(0);
    let ran = place.run("assess m.csv found.json --page page.html --output verdict.txt").with_status(0);
    assert_eq!((ran.out.as_str(), ran.err.as_str()), ("", ""));
    assert!(place.read("verdict.txt").starts_with("registered: "));
    assert!(place.read("page.html").contains("60 of 100"));
    let ran = place.run_on(matches().as_bytes(), "assess - right.txt");
    assert_eq!(ran.status, Some(0), "{ran:?}");
}

#[test]
fn clouds_confirm_a_right_pose_and_refuse_a_wrong_one() {
    let place = register::place();
    let truth = register::truth();
    place.write("right.txt", matrix_text(truth.matrix()));
    place.write(
        "wrong.txt",
        matrix_text(truth.then(&Similarity::from_translation([40.0, 0.0, 0.0])).matrix()),
    );
    let document = place.json(0, "verify a.xyz b.xyz right.txt");
    assert_eq!((&document["status"], &document["method"]), (&"registered".into(), &"verify".into()));
    assert_eq!(transform(&document), truth.matrix(), "the given pose, to the bit");
    assert!(document["accuracy"].is_null(), "the accuracy belongs to refined poses");
    let ran = place.run("verify a.xyz b.xyz wrong.txt --page page.html --title Weir").with_status(1);
    assert!(ran.out.starts_with("NOT RELIABLE: ") && ran.out.contains("overlap"), "{ran:?}");
    assert!(ran.err.contains("the search found another pose"), "{ran:?}");
    assert!(place.read("page.html").contains("<p class=\"title\">Weir</p>"));
    // A pose that is off by a little is told by how much.
    let near = truth.then(&Similarity::from_translation([0.03, 0.0, 0.0]));
    place.write("near.txt", matrix_text(near.matrix()));
    let ran = place.run("verify a.xyz b.xyz near.txt");
    assert!(ran.status == Some(0) || ran.status == Some(1), "{ran:?}");
    let note = ran.err.lines().find(|line| line.contains("refinement moves the points by")).expect("a note");
    let length: f64 = note
        .split("by ")
        .nth(1)
        .and_then(|rest| rest.split(',').next())
        .expect("a length")
        .parse()
        .expect("a number");
    assert!((length - 0.03).abs() < 0.006, "{note}");
}

#[test]
fn bad_input_is_named() {
    let place = place_with_matches();
    place.write("short.txt", "1 0 0 0\n");
    place.write("mirrored.txt", "1 0 0 0 0 1 0 0 0 0 -1 0 0 0 0 1");
    place.write("no.json", "{\"schema\": 2}");
    place.write("a.xyz", "0 0 0\n1 0 0\n0 1 0\n0 0 1\n");
    let before = place.listing();
    let cases: [(&str, &[&str]); 12] = [
        ("assess m.csv none.txt", &["none.txt"]),
        ("assess m.csv short.txt", &["`short.txt`: 4 number(s), but a transform has 16"]),
        ("assess m.csv mirrored.txt", &["reflection"]),
        ("assess m.csv no.json", &["`no.json`"]),
        ("assess none.csv right.txt", &["none.csv"]),
        ("assess m.csv right.txt --threshold 0", &["`threshold` must be"]),
        ("assess m.csv right.txt --threads 0", &["`threads`"]),
        ("assess m.csv right.txt --correlation-length -1", &["`correlation_length`"]),
        ("assess m.csv right.txt --title T", &["add --page FILE"]),
        ("verify a.xyz a.xyz short.txt", &["`short.txt`"]),
        ("verify a.xyz a.xyz right.txt --voxel 0", &["`voxel` must be"]),
        ("verify - a.xyz right.txt", &["a cloud must be a file"]),
    ];
    for (args, words) in cases {
        place.run(args).refused(words);
    }
    assert_eq!(place.listing(), before);
}
