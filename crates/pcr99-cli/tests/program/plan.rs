//! A mistake gives the same message in the program, in batches and in the library.

use pcr99::Similarity;
use pcr99_plan::{
    GivenScale, GivenVertical, Method, PaperOptions, RegisterOptions, RegisterPlan, SolveOptions, SolvePlan,
};

use super::place::Place;

/// Columns of a manifest with their values.
type Cells = &'static [(&'static str, &'static str)];

/// The message of a refused command, without the name of the pair or file before it.
fn message(place: &Place, args: &str) -> String {
    let ran = place.run(args);
    ran.refused(&[]);
    let line = ran.err.trim_end().trim_start_matches("error: ");
    let before = line.find("pair `p`: ").map_or(0, |at| at + "pair `p`: ".len());
    line[before..].trim_start_matches("`pose.txt`: ").to_owned()
}

#[test]
fn mistakes_about_matches() {
    let none = SolveOptions::default();
    let ransac = SolveOptions { method: Some(Method::Ransac), threshold: Some(1.0), ..none.clone() };
    let fgr = SolveOptions { method: Some(Method::Fgr), ..ransac.clone() };
    let cases: [(&str, Cells, SolveOptions); 14] = [
        (
            "--scale 0",
            &[("scale", "0")],
            SolveOptions { scale: Some(GivenScale::Known(0.0)), ..none.clone() },
        ),
        (
            "--scale 2..1",
            &[("scale", "2..1")],
            SolveOptions { scale: Some(GivenScale::Range(2.0, 1.0)), ..none.clone() },
        ),
        ("--threshold -1", &[("threshold", "-1")], SolveOptions { threshold: Some(-1.0), ..none.clone() }),
        ("--time-limit 0", &[("time_limit", "0")], SolveOptions { time_limit: Some(0.0), ..none.clone() }),
        ("--candidates 0", &[("candidates", "0")], SolveOptions { candidates: Some(0), ..none.clone() }),
        ("--effort 0", &[("effort", "0")], SolveOptions { effort: Some(0), ..none.clone() }),
        (
            "--miss-probability 1",
            &[("miss_probability", "1")],
            SolveOptions { miss_probability: Some(1.0), ..none.clone() },
        ),
        (
            "--correlation-length -1",
            &[("correlation_length", "-1")],
            SolveOptions { correlation_length: Some(-1.0), ..none.clone() },
        ),
        (
            "--vertical source=0,0,0 target=0,0,1",
            &[("vertical", "\"source=0,0,0 target=0,0,1\"")],
            SolveOptions {
                vertical: Some(GivenVertical { source: Some([0.0; 3]), target: Some([0.0, 0.0, 1.0]) }),
                ..none.clone()
            },
        ),
        ("--tilt 3", &[("tilt", "3")], SolveOptions { tilt: Some(3.0), ..none.clone() }),
        ("--method ransac", &[("method", "ransac")], SolveOptions { threshold: None, ..ransac.clone() }),
        (
            "--method ransac --threshold 1 --effort 5",
            &[("method", "ransac"), ("threshold", "1"), ("effort", "5")],
            SolveOptions { effort: Some(5), ..ransac.clone() },
        ),
        (
            "--method ransac --threshold 1 --scale 1..2",
            &[("method", "ransac"), ("threshold", "1"), ("scale", "1..2")],
            SolveOptions { scale: Some(GivenScale::Range(1.0, 2.0)), ..ransac.clone() },
        ),
        (
            "--method fgr --threshold 1 --scale unknown",
            &[("method", "fgr"), ("threshold", "1"), ("scale", "unknown")],
            SolveOptions { scale: Some(GivenScale::Unknown), ..fgr },
        ),
    ];
    let place = Place::new();
    for (args, cells, options) in cases {
        let expected = SolvePlan::new(&options).expect_err(args).to_string();
        assert_eq!(message(&place, &format!("solve missing.csv {args}")), expected);
        let (names, values): (Vec<&str>, Vec<&str>) = cells.iter().copied().unzip();
        let manifest = format!("pair_id,pairs,{}\np,missing.csv,{}\n", names.join(","), values.join(","));
        place.write("pairs.csv", manifest);
        assert_eq!(message(&place, "batch pairs.csv --output out"), expected, "a column");
        // As a default for empty cells, too.
        place.write("pairs.csv", "pair_id,pairs\np,missing.csv\n");
        if !args.contains("--effort 5") {
            assert_eq!(
                message(&place, &format!("batch pairs.csv --output out {args}")),
                expected,
                "a default"
            );
        }
    }
    let paper = PaperOptions { epsilon: Some(0.1), ..PaperOptions::default() };
    let expected = SolvePlan::new(&SolveOptions { paper, ..none }).expect_err("a parameter").to_string();
    assert_eq!(message(&place, "solve missing.csv --epsilon 0.1"), expected);
    assert_eq!(place.listing(), ["pairs.csv"]);
}

#[test]
fn mistakes_about_clouds() {
    let none = RegisterOptions::default();
    let place = Place::new();
    place.write("pose.txt", "2 0 0 0  0 2 0 0  0 0 2 0  0 0 0 1");
    let cloud: String = (0..60).map(|k| format!("{} {} {}\n", k % 5, k * k % 7, k * k * k % 11)).collect();
    place.write("a.xyz", cloud);
    for (args, cells, options) in [
        ("--voxel -1", ("voxel", "-1"), RegisterOptions { voxel: Some(-1.0), ..none.clone() }),
        (
            "--scale -1",
            ("scale", "-1"),
            RegisterOptions { scale: Some(GivenScale::Known(-1.0)), ..none.clone() },
        ),
        ("--candidates 0", ("candidates", "0"), RegisterOptions { candidates: Some(0), ..none.clone() }),
        (
            "--vertical source=0,0,0 target=0,0,1",
            ("vertical", "\"source=0,0,0 target=0,0,1\""),
            RegisterOptions {
                vertical: Some(GivenVertical { source: Some([0.0; 3]), target: Some([0.0, 0.0, 1.0]) }),
                ..none.clone()
            },
        ),
        (
            "--time-limit nan",
            ("time_limit", "nan"),
            RegisterOptions { time_limit: Some(f64::NAN), ..none.clone() },
        ),
    ] {
        let expected = RegisterPlan::new(&options).expect_err(args).to_string();
        assert_eq!(message(&place, &format!("register a.xyz a.xyz {args}")), expected);
        place.write("pairs.csv", format!("pair_id,source,target,{}\np,a.xyz,a.xyz,{}\n", cells.0, cells.1));
        assert_eq!(message(&place, "batch pairs.csv --output out"), expected);
    }
    // The file of a pose is read when its pair runs, so that the message is in its row.
    let initial = Similarity::from_quaternion(2.0, [1.0, 0.0, 0.0, 0.0], [0.0; 3]).expect("a similarity");
    let options = RegisterOptions { initial: Some(initial), ..none };
    let expected = RegisterPlan::new(&options).expect_err("another scale").to_string();
    assert_eq!(message(&place, "register a.xyz a.xyz --initial pose.txt"), expected);
    place.write("pairs.csv", "pair_id,source,target,initial\np,a.xyz,a.xyz,pose.txt\n");
    place.run("batch pairs.csv --output out --quiet").with_status(1);
    let row = place.read("out/results.jsonl");
    assert!(row.contains(&format!("pose.txt`: {expected}\"")), "{row}");
}
