//! `pcr99 refine`: from a pose nearby to the pose, its verdict and its accuracy.

use pcr99::Similarity;

use crate::register::{assert_near_truth, numbers, place, truth};

/// A pose as text, after a small motion.
fn pose_text(further: &Similarity) -> String {
    truth().then(further).matrix().map(|row| row.map(|x| x.to_string()).join(" ")).join("\n")
}

fn near() -> Similarity {
    Similarity::from_quaternion(1.0, [1.0, 0.01, -0.005, 0.008], [0.05, -0.04, 0.03]).expect("a similarity")
}

#[test]
fn a_pose_nearby_is_refined_and_judged() {
    let place = place();
    place.write("pose.txt", pose_text(&near()));
    for kind in ["point-to-plane", "plane-to-plane", "point-to-point"] {
        let ran =
            place.run(&format!("refine a.xyz b.xyz --initial pose.txt --refine {kind} --format matrix"));
        assert_eq!((ran.status, ran.err.as_str()), (Some(0), ""), "{kind}");
        assert_near_truth(&numbers(&ran.out));
    }
    let ran = place.run("refine a.xyz b.xyz --initial pose.txt --json --time-limit 100");
    assert_eq!(ran.status, Some(0), "{}", ran.err);
    let document: serde_json::Value = serde_json::from_str(&ran.out).expect("JSON");
    assert_eq!((&document["status"], &document["doubt"]), (&"registered".into(), &serde_json::Value::Null));
    assert_eq!(document["accuracy"]["covariance"].as_array().expect("rows").len(), 6);
    let ran = place.run("refine a.xyz b.xyz --initial pose.txt --scale unknown --json");
    assert_eq!(ran.status, Some(0), "{}", ran.err);
    let document: serde_json::Value = serde_json::from_str(&ran.out).expect("JSON");
    assert_eq!(document["accuracy"]["covariance"].as_array().expect("rows").len(), 7);
    assert!((document["scale"].as_f64().expect("a number") - 1.0).abs() < 0.005);
}

#[test]
fn clouds_that_do_not_overlap_at_the_pose_say_so() {
    let place = place();
    place.write("far.txt", pose_text(&Similarity::from_translation([40.0, 0.0, 0.0])));
    let ran = place.run("refine a.xyz b.xyz --initial far.txt --json");
    assert_eq!(ran.status, Some(1), "{}", ran.err);
    let document: serde_json::Value = serde_json::from_str(&ran.out).expect("JSON");
    assert_eq!((&document["status"], &document["doubt"]), (&"not_reliable".into(), &"little_overlap".into()));
}

#[test]
fn a_plane_on_a_plane_is_refused() {
    let place = place();
    let plane = |shift: f64| -> String {
        (0..4000)
            .map(|k| {
                format!(
                    "{} {} {}\n",
                    0.1 * f64::from(k % 63) + shift,
                    0.1 * f64::from(k / 63),
                    0.001 * f64::from(k % 7)
                )
            })
            .collect()
    };
    place.write("a.xyz", plane(0.0));
    place.write("b.xyz", plane(0.03));
    place.write("same.txt", "1 0 0 0\n0 1 0 0\n0 0 1 0\n0 0 0 1\n");
    let ran = place.run("refine a.xyz b.xyz --initial same.txt");
    assert_eq!(ran.status, Some(1), "{}", ran.err);
    assert!(ran.out.starts_with("NOT RELIABLE: "), "{}", ran.out);
    assert!(ran.out.contains("can slide or turn on each other"), "{}", ran.out);
}

#[test]
fn bad_input_is_named_and_nothing_is_written() {
    let place = place();
    place.write("pose.txt", pose_text(&near()));
    place.write("short.txt", "1 0 0 0\n");
    place.write("mirrored.txt", "1 0 0 0 0 1 0 0 0 0 -1 0 0 0 0 1");
    place.write("sheared.txt", "1 0.5 0 0 0 1 0 0 0 0 1 0 0 0 0 1");
    place.write("large.txt", "2 0 0 0 0 2 0 0 0 0 2 0 0 0 0 1");
    place.write("nan.txt", "nan 0 0 0 0 1 0 0 0 0 1 0 0 0 0 1");
    let before = place.listing();
    let cases = [
        ("", "--initial <FILE>"),
        ("--initial none.txt", "cannot read `none.txt`"),
        ("--initial short.txt", "`short.txt`: 4 number(s), but a transform has 16"),
        ("--initial mirrored.txt", "the rotation of a transform is a reflection"),
        ("--initial sheared.txt", "must have orthonormal rows"),
        ("--initial large.txt", "`large.txt`: `initial` has scale 2, but `scale` is 1"),
        ("--initial nan.txt", "`nan.txt`: "),
        ("--initial pose.txt --time-limit -1", "`time_limit` must be"),
        ("--initial pose.txt --voxel 0", "`voxel` must be finite and positive, got 0"),
    ];
    for (args, message) in cases {
        let ran = place.run(&format!("refine a.xyz b.xyz {args}"));
        assert_eq!(ran.status, Some(2), "{args:?}");
        assert!(ran.err.contains(message), "{args:?}: {}", ran.err);
        assert_eq!(ran.out, "", "{args:?}");
    }
    assert_eq!(place.listing(), before);
}
