//! `pcr99 register`: from two files to a pose, a verdict and the aligned cloud.

use std::fmt::Write as _;

use pcr99::{Similarity, random::Random};

use crate::place::Place;

/// Hills with three boxes on them, as text.
fn cloud(seed: u64, low: f64, high: f64, pose: &Similarity) -> String {
    let mut random = Random::new(seed);
    let boxes = [[1.0, 2.0, 0.8, 1.1], [2.6, 0.8, 0.5, 1.6], [2.2, 2.6, 0.9, 0.7]];
    let mut text = String::new();
    for _ in 0..9000 {
        let (x, y) = (low + (high - low) * random.uniform(), 3.5 * random.uniform());
        let on = boxes.iter().find(|b| (x - b[0]).abs() < 0.5 * b[2] && (y - b[1]).abs() < 0.5 * b[2]);
        let hills = 0.4 * (1.3 * x).sin() * (1.9 * y + 0.4).cos() + 0.3 * (2.9 * x - 1.4 * y).sin();
        let mut p = [x, y, on.map_or(hills, |b| b[3])];
        if let Some(b) = on.filter(|_| random.below(2) == 0) {
            let axis = random.below(2);
            p[axis] = b[axis] + if random.below(2) == 0 { 0.5 * b[2] } else { -0.5 * b[2] };
            p[2] = b[3] * random.uniform();
        }
        let [x, y, z] = pose.apply(p.map(|x| x + 0.003 * random.gaussian()));
        let _ = writeln!(text, "{x} {y} {z}");
    }
    text
}

fn still() -> Similarity {
    Similarity::IDENTITY
}

/// Where the source of [`place`] was before it was moved.
pub(crate) fn truth() -> Similarity {
    Similarity::from_quaternion(1.0, [0.3, -0.8, 0.5, 0.2], [5.0, -3.0, 8.0]).expect("a similarity")
}

/// A place with two views, `a.xyz` moved off `b.xyz`.
pub(crate) fn place() -> Place {
    let place = Place::new();
    place.write("a.xyz", cloud(1, 0.0, 3.0, &truth().inverse()));
    place.write("b.xyz", cloud(2, 0.6, 3.5, &still()));
    place
}

pub(crate) fn numbers(text: &str) -> Vec<f64> {
    text.split_whitespace().map(|x| x.parse().expect("a number")).collect()
}

pub(crate) fn assert_near_truth(matrix: &[f64]) {
    let truth: Vec<f64> = truth().matrix().into_iter().flatten().collect();
    assert_eq!(matrix.len(), 16);
    assert!(matrix.iter().zip(&truth).all(|(x, t)| (x - t).abs() < 0.03), "{matrix:?}");
}

#[test]
fn two_clouds_give_matrix_document_and_aligned_cloud() {
    let place = place();
    let ran = place.run("register a.xyz b.xyz --format matrix --write-aligned moved.ply");
    assert_eq!((ran.status, ran.err.as_str()), (Some(0), ""));
    assert_near_truth(&numbers(&ran.out));
    // The aligned cloud is on the target: registering it again moves it hardly.
    let ran = place.run("register moved.ply b.xyz --json");
    assert_eq!(ran.status, Some(0), "{}", ran.err);
    let document: serde_json::Value = serde_json::from_str(&ran.out).expect("JSON");
    assert_eq!(document["status"], "registered");
    assert_eq!(document["schema"], 2);
    assert_eq!((&document["kind"], &document["doubt"]), (&"clouds".into(), &serde_json::Value::Null));
    assert_eq!(document["inputs"], serde_json::json!({ "source": "moved.ply", "target": "b.xyz" }));
    for (row, column) in (0..4).flat_map(|i| (0..4).map(move |j| (i, j))) {
        let x = document["transform"][row][column].as_f64().expect("a number");
        assert!((x - f64::from(u8::from(row == column))).abs() < 0.03, "{row} {column} {x}");
    }
    assert!(document["fit"]["overlap_source"].as_f64().expect("a number") > 0.7);
    assert!(document["fit"]["overlap_target"].as_f64().expect("a number") > 0.7);
    let accuracy = &document["accuracy"];
    assert_eq!(accuracy["covariance"].as_array().expect("rows").len(), 6);
    assert_eq!(accuracy["information"].as_array().expect("rows").len(), 6);
    assert_eq!(accuracy["center"].as_array().expect("a place").len(), 3);
    assert!(document["fit"]["conflict_fraction"].as_f64().expect("a number") < 0.05);
    assert_eq!(document["candidates"][0]["fit"], document["fit"]);
    assert_eq!(document["candidates"][0]["evidence"]["log10_nfa"], document["evidence"]["log10_nfa"]);
    assert_eq!(document["candidates"][0]["transform"], document["transform"]);
    assert_eq!(document["clouds"]["source"]["points"], 9000);
    assert!(document["seconds"]["features"].as_f64().expect("a number") > 0.0);
    crate::outcomes::check_stages(&document);
    assert!(document["evidence"]["log10_nfa"].as_f64().expect("a number") < -20.0);
}

#[test]
fn a_guess_and_an_unknown_scale_are_taken() {
    let place = place();
    let pose = truth().matrix().map(|row| row.map(|x| x.to_string()).join(" ")).join("\n");
    place.write("pose.txt", pose);
    let ran = place.run("register a.xyz b.xyz --initial pose.txt --format matrix");
    assert_eq!(ran.status, Some(0), "{}", ran.err);
    assert_near_truth(&numbers(&ran.out));
    let ran = place.run("register a.xyz b.xyz --scale unknown --format matrix --threads 2");
    assert_eq!(ran.status, Some(0), "{}", ran.err);
    assert_near_truth(&numbers(&ran.out));
    let ran = place.run("register a.xyz b.xyz --initial pose.txt --scale 2");
    assert_eq!(ran.status, Some(2));
    assert_eq!(
        ran.err,
        "error: `pose.txt`: `initial` has scale 1, but `scale` is 2: make them agree, or set `scale` to `unknown`\n"
    );
}

#[test]
fn what_is_not_reliable_is_written_only_when_forced() {
    let place = place();
    let plane: String =
        (0..4000).map(|k| format!("{} {} 0\n", f64::from(k % 63), f64::from(k / 63))).collect();
    place.write("plane.xyz", plane);
    let before = place.listing();
    let args = "register plane.xyz b.xyz --write-aligned moved.xyz";
    let ran = place.run(args);
    assert_eq!(ran.status, Some(1), "{}", ran.out);
    assert!(ran.out.starts_with("NOT RELIABLE: "), "{}", ran.out);
    assert!(ran.err.contains("the aligned cloud is not written"), "{}", ran.err);
    assert_eq!(place.listing(), before);
    let ran = place.run(&format!("{args} --force"));
    assert_eq!(ran.status, Some(1));
    assert_eq!(place.read("moved.xyz").lines().count(), 4000);
}

#[test]
fn points_left_out_are_counted() {
    let place = place();
    let mut holes = place.read("a.xyz");
    holes.push_str("nan nan nan\nnan 0 0\n");
    holes = format!("{}{holes}", holes.lines().next().expect("a line").to_owned() + "\n");
    place.write("holes.xyz", holes);
    let ran = place.run("register holes.xyz b.xyz --json");
    assert_eq!(ran.status, Some(0), "{}", ran.err);
    assert_eq!(ran.err, "note: `holes.xyz`: removed 2 non-finite and 1 duplicate of 9003 points\n");
    let document: serde_json::Value = serde_json::from_str(&ran.out).expect("JSON");
    assert_eq!(document["clouds"]["source"]["not_finite"], 2);
    assert_eq!(document["clouds"]["source"]["duplicates"], 1);
}

#[test]
fn bad_input_is_named_and_nothing_is_written() {
    let place = place();
    place.write("empty.xyz", "");
    place.write("two.xyz", "0 0 0\n1 1 1\n1 1 1\n");
    place.write("line.xyz", "0 0 0\n1 1 1\n2 2 2\n3 3 3\n");
    place.write("short.txt", "1 0 0 0\n");
    place.write("odd.txt", "1 0 0 0 0 1 0 0 0 0 -1 0 0 0 0 1");
    let before = place.listing();
    let cases = [
        ("empty.xyz b.xyz", "`empty.xyz`: the file is empty"),
        (
            "two.xyz b.xyz",
            "error: `two.xyz`: the cloud has 2 distinct finite point(s) of 3, but a registration needs at least 3\n",
        ),
        ("b.xyz line.xyz", "error: `line.xyz`: all 4 points are collinear"),
        ("none.xyz b.xyz", "cannot read `none.xyz`"),
        ("- b.xyz", "a cloud must be a file"),
        ("a.xyz b.xyz --initial short.txt", "`short.txt`: 4 number(s), but a transform has 16"),
        ("a.xyz b.xyz --initial odd.txt", "`odd.txt`: not [sR t; 0 1] with a rotation R"),
        ("a.xyz b.xyz --voxel -1", "`voxel` must be finite and positive, got -1"),
        ("a.xyz b.xyz --source-viewpoint 1,2", "expected three numbers separated by commas"),
        ("a.xyz b.xyz --target-viewpoint 1,nan,0", "expected three numbers separated by commas"),
        ("a.xyz b.xyz --refine magic", "invalid value 'magic'"),
        (
            "a.xyz b.xyz --write-aligned moved.doc",
            "its extension names no format that clouds are written in; use one of .ply",
        ),
        ("a.xyz b.xyz --force", "--write-aligned"),
    ];
    for (args, message) in cases {
        let ran = place.run(&format!("register {args}"));
        assert_eq!(ran.status, Some(2), "{args:?}");
        assert!(ran.err.contains(message), "{args:?}: {}", ran.err);
        assert_eq!(ran.out, "", "{args:?}");
    }
    assert_eq!(place.listing(), before);
}

#[test]
fn verbose_says_what_was_done() {
    let place = place();
    let ran = place.run("register a.xyz b.xyz --format matrix --verbose").with_status(0);
    assert_near_truth(&numbers(&ran.out));
    for words in [
        "options: scale 1, voxel from the data, refinement point-to-plane, seed 0\n",
        ": chosen from the density and extent of both clouds\n",
        "\nsource: 9000 points; target: 9000 points\n",
        "\nnormals: oriented consistently within each surface; the side is not certain\n",
        "\nround 1: mutual matches: voxel ",
        " between descriptors; ",
        "\naccuracy: ± ",
        "\nno doubt: matches, overlap and normals agree, and no other pose fits nearly as well\n",
        "\ntime: ",
    ] {
        assert!(ran.err.contains(words), "{words:?}: {}", ran.err);
    }
    assert!(!ran.err.contains("rival") && !ran.err.contains("candidate 1"), "{}", ran.err);
    let more = |threads: usize| {
        let ran = place.run(&format!("register a.xyz b.xyz --format matrix -vv --threads {threads}"));
        let lines: Vec<String> = ran.with_status(0).err.lines().map(str::to_owned).collect();
        lines[..lines.len() - 1].to_vec()
    };
    let lines = more(1);
    assert_eq!(lines, more(3), "the order of lines does not depend on threads");
    for words in [
        " between descriptors (mutual nearest neighbours)",
        "search with threshold ",
        "these matches alone: no doubt: ",
        "; no doubt; rotation ",
        ", with all 9000 and 9000 points, as ",
    ] {
        assert!(lines.iter().any(|line| line.contains(words)), "{words:?}: {lines:#?}");
    }
    let given = place.run("register a.xyz b.xyz --format matrix --verbose --voxel 0.12").with_status(0);
    assert!(given.err.contains("\nvoxel 0.12: as given\n"), "{}", given.err);

    // A plane on a plane can slide.
    let square: String =
        (0..3600).map(|k| format!("{} {} 0\n", f64::from(k % 60) / 20.0, f64::from(k / 60) / 20.0)).collect();
    place.write("square.xyz", square);
    let ran = place.run("register square.xyz square.xyz --json --verbose").with_status(1);
    let document: serde_json::Value = serde_json::from_str(&ran.out).expect("JSON");
    let code = document["doubt"].as_str().expect("a doubt");
    let sentence = document["reason"].as_str().expect("a sentence");
    assert!(ran.err.contains(&format!("\ndoubt `{code}`: {sentence}\n")), "{}", ran.err);
    assert_eq!(ran.err.contains("; it is not refuted because it explains "), !document["rival"].is_null());
}
