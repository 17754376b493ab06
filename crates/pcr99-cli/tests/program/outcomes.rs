//! What comes out of a search: the JSON document, the summary and the matrix, and how they go together.

use pcr99_lab::{Recipe, Shape};
use serde_json::{Value, json};

use super::{
    formats::npy,
    place::{EXACT, Place, assert_close, exact_matches, inliers, table, timeless, transform},
};

/// Makes a problem on the knot.
fn simulate(place: &Place, args: &str) {
    place.run(&format!("simulate --shape knot --output m.csv --truth truth.json {args}")).with_status(0);
}

fn truth(place: &Place) -> Value {
    serde_json::from_str(&place.read("truth.json")).expect("JSON")
}

/// Numbers of a matrix as printed.
fn numbers(text: &str) -> Vec<f64> {
    text.split_whitespace().map(|word| word.parse().unwrap_or_else(|_| panic!("{word}"))).collect()
}

/// The fields of schema 2, in order.
const FIELDS: [&str; 23] = [
    "schema",
    "program",
    "kind",
    "inputs",
    "method",
    "status",
    "doubt",
    "reason",
    "transform",
    "scale",
    "rotation",
    "translation",
    "correspondences",
    "inliers",
    "threshold",
    "inlier_rmse",
    "accuracy",
    "evidence",
    "candidates",
    "rival",
    "stopped_because",
    "counters",
    "seconds",
];

#[track_caller]
fn check_fields(document: &Value) {
    let names: Vec<&str> = document.as_object().expect("an object").keys().map(String::as_str).collect();
    assert_eq!(names, FIELDS);
    assert_eq!(document["schema"], 2);
    assert_eq!(document["kind"], "matches");
    let is_registered = document["status"] == "registered";
    assert_eq!(document["doubt"].is_null(), is_registered, "{document:#}");
    assert!(document["reason"].as_str().is_some_and(|reason| reason.len() > 20), "{document:#}");
    assert_eq!(document["program"], concat!("pcr99 ", env!("CARGO_PKG_VERSION")));
    for counter in ["pairs", "hypotheses", "triplets"] {
        assert!(document["counters"][counter].is_u64(), "{counter}");
    }
    let seconds: Vec<f64> = document["seconds"]
        .as_object()
        .expect("seconds")
        .values()
        .map(|s| s.as_f64().expect("a number"))
        .collect();
    assert!(document["seconds"]["total"].is_f64() && seconds.iter().all(|s| (0.0..600.0).contains(s)));
    check_stages(document);
    let inliers = inliers(document);
    assert!(inliers.is_sorted_by(|a, b| a < b), "{inliers:?}");
    assert!(inliers.iter().all(|&i| (i as u64) < document["correspondences"].as_u64().expect("a count")));
}

/// Files are read and matches are prepared before the search, and the total holds all stages.
#[track_caller]
pub(crate) fn check_stages(document: &Value) {
    let seconds = document["seconds"].as_object().expect("seconds");
    let names: Vec<&str> = seconds.keys().map(String::as_str).collect();
    assert_eq!(names[..3], ["total", "reading", "preparing"], "{names:?}");
    let stages: f64 = seconds.values().skip(1).map(|time| time.as_f64().expect("a time")).sum();
    let total = seconds["total"].as_f64().expect("a time");
    assert!(names.len() > 3 && 0.9 * total <= stages + 1e-3 && stages <= 1.001 * total, "{seconds:?}");
}

/// Checks the document of a found transform against itself and the matches.
#[track_caller]
fn check_transform(document: &Value, rows: &[[f64; 6]]) {
    let field = |name: &str| document[name].clone();
    let scale: f64 = serde_json::from_value(field("scale")).expect("a number");
    let rotation: [[f64; 3]; 3] = serde_json::from_value(field("rotation")).expect("3×3");
    let translation: [f64; 3] = serde_json::from_value(field("translation")).expect("3");
    let matrix = transform(document);
    for axis in 0..3 {
        let row = rotation[axis].map(|r| scale * r);
        assert_eq!(matrix[axis], [row[0], row[1], row[2], translation[axis]], "[sR t]");
    }
    assert_eq!(matrix[3], [0.0, 0.0, 0.0, 1.0]);
    let gram: [[f64; 3]; 3] = std::array::from_fn(|i| {
        std::array::from_fn(|j| (0..3).map(|k| rotation[i][k] * rotation[j][k]).sum())
    });
    assert_close(gram, [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]], 1e-12);
    assert_eq!(document["candidates"][0]["transform"], document["transform"]);
    check_evidence(document);

    let squares: Vec<f64> = inliers(document)
        .iter()
        .map(|&i| {
            let [a, b] = [&rows[i][..3], &rows[i][3..]];
            let moved = |axis: usize| (0..3).map(|k| matrix[axis][k] * a[k]).sum::<f64>() + translation[axis];
            (0..3).map(|axis| (moved(axis) - b[axis]).powi(2)).sum()
        })
        .collect();
    let rmse = (squares.iter().sum::<f64>() / squares.len() as f64).sqrt();
    let reported = document["inlier_rmse"].as_f64().expect("a number");
    // Where all is exact, the rounding of the coordinates is left.
    assert!((rmse - reported).abs() <= 1e-9 * rmse + 1e-14, "{rmse} {reported}");
}

/// The status follows from the evidence, whatever the method, and the answer is the first of the candidates.
#[track_caller]
fn check_evidence(document: &Value) {
    let evidence = &document["evidence"];
    let log10_nfa = evidence["log10_nfa"].as_f64().expect("a number");
    let apart = evidence["inlier_places"].as_u64().expect("a count") as usize;
    let agree = inliers(document).len();
    assert!((1..=agree).contains(&apart), "{evidence}");
    let [deviation, rival] = ["rotation_deviation_deg", "rival_evidence_ratio"]
        .map(|name| evidence[name].as_f64().expect("a number"));
    let scattered = apart >= 11 || (apart >= 4 && 2 * apart > agree);
    let reliable = log10_nfa <= -1.0 && scattered && deviation <= 2.5 && rival <= 0.5;
    assert_eq!(document["status"], if reliable { "registered" } else { "not_reliable" }, "{evidence}");

    let candidates = document["candidates"].as_array().expect("a list");
    assert!((1..=5).contains(&candidates.len()), "{}", candidates.len());
    assert_eq!(candidates[0]["transform"], document["transform"]);
    assert_eq!(candidates[0]["inlier_count"], agree);
    assert_eq!(candidates[0]["evidence"]["log10_nfa"], evidence["log10_nfa"]);
    for candidate in candidates {
        assert!(transform(candidate).as_flattened().iter().all(|x| x.is_finite()));
        assert!(candidate["inlier_count"].as_u64().expect("a count") >= 3, "{candidate}");
        assert!(candidate["evidence"]["log10_nfa"].as_f64().expect("a number").is_finite(), "{candidate}");
    }
    let counters = &document["counters"];
    let looked_at = if document["method"] == "default" { "pairs" } else { "triplets" };
    assert!(counters[looked_at].as_u64() > Some(0), "{counters}");
}

fn rows(place: &Place) -> Vec<[f64; 6]> {
    let row = |line: &str| -> Vec<f64> { line.split(',').map(|x| x.parse().expect("a number")).collect() };
    place.read("m.csv").lines().skip(1).map(|line| row(line).try_into().expect("six")).collect()
}

#[test]
fn the_document_is_that_of_the_interface() {
    let place = Place::new();
    simulate(&place, "--points 100 --outliers 0.5 --seed 1 --scale 2.5");
    for args in [
        "--scale 2.5",
        "--scale unknown",
        "--scale 0.5..4",
        "--scale 2.5 --method paper",
        "--scale unknown --method paper-random",
    ] {
        let document = place.json(0, &format!("solve m.csv --threshold 0.05 {args}"));
        check_fields(&document);
        check_transform(&document, &rows(&place));
        assert_eq!(document["status"], "registered");
        let paper = args.contains("paper");
        assert_eq!(document["stopped_because"], if paper { "enough_inliers" } else { "confident" });
        assert_eq!(document["method"], args.split("--method ").nth(1).unwrap_or("default"));
        assert_eq!((&document["correspondences"], &document["threshold"]), (&json!(100), &json!(0.05)));
        let scale = document["scale"].as_f64().expect("a number");
        let bound = if args.contains("--scale 2.5") { 0.0 } else { 0.05 };
        assert!((scale - 2.5).abs() <= bound, "{scale}");
    }
}

#[test]
fn the_right_matches_are_found() {
    let place = Place::new();
    for (seed, scale, option) in [(1, "1", "1"), (2, "random", "unknown"), (3, "3.5", "3.5")] {
        simulate(&place, &format!("--points 100 --outliers 0.5 --seed {seed} --scale {scale}"));
        let document = place.json(0, &format!("solve m.csv --threshold 0.05 --scale {option}"));
        assert_eq!(inliers(&document), inliers(&truth(&place)), "seed {seed}");
        assert_close(transform(&document), transform(&truth(&place)), 0.05);
    }
}

#[test]
fn a_pipe_from_simulate_to_solve() {
    let place = Place::new();
    let made = place.run("simulate --shape knot --points 200 --outliers 0.9 --seed 4").with_status(0);
    let piped = place.run_on(made.out.as_bytes(), "solve - --threshold 0.05 --json").with_status(0);
    simulate(&place, "--points 200 --outliers 0.9 --seed 4");
    assert_eq!(place.read("m.csv"), made.out);
    assert_eq!(timeless(piped.json()), timeless(place.json(0, "solve m.csv --threshold 0.05")));
    assert_eq!(inliers(&piped.json()), inliers(&truth(&place)));
}

#[test]
fn summary_matrix_and_document_agree() {
    let place = Place::new();
    simulate(&place, "--points 100 --outliers 0.5 --seed 5");
    let solve = "solve m.csv --threshold 0.05 --scale unknown";
    let document = place.json(0, solve);
    assert_eq!(timeless(place.run(&format!("{solve} --format json")).json()), timeless(document.clone()));

    let matrix = place.run(&format!("{solve} --format matrix")).with_status(0);
    assert_eq!(matrix.err, "");
    assert_eq!(matrix.out.lines().count(), 4);
    assert_eq!(numbers(&matrix.out), transform(&document).as_flattened(), "to the last bit");

    let summary = place.run(solve).with_status(0).out;
    let found = inliers(&document).len();
    let verdict =
        format!("registered: {found} of 100 matches agree; by chance this happens less than once in 10^");
    assert!(summary.starts_with(&verdict), "{summary}");
    let shown: Vec<f64> = summary.lines().skip(3).take(4).flat_map(numbers).collect();
    for (a, b) in shown.iter().zip(transform(&document).as_flattened()) {
        assert!((a - b).abs() <= 0.5e-9, "{summary}");
    }
    let counters = &document["counters"];
    let searched = format!(
        "{} pairs, {} hypothes{}s; stopped: confident",
        counters["pairs"],
        counters["hypotheses"],
        if counters["hypotheses"] == 1 { "i" } else { "e" }
    );
    assert!(summary.contains(&searched), "{summary}");
    let evidence = &document["evidence"];
    let shown = format!(
        "10^{:.1} false alarms expected; inliers at {} distinct places\n",
        evidence["log10_nfa"].as_f64().expect("a number"),
        evidence["inlier_places"]
    );
    assert!(summary.contains(&shown), "{summary}");
    assert!(summary.contains("method       default") && !summary.contains("RELIABLE"), "{summary}");
}

/// Units in which the entries are tiny or huge: a fixed number of decimals would lose their digits.
#[test]
fn a_matrix_reads_back_whatever_the_units() {
    let place = Place::new();
    for (source_unit, target_unit) in [(1.0, 1e-12), (1e9, 1e-9), (1e-6, 1e14), (1e-30, 1.0)] {
        let in_units = |[a, b, c, d, e, f]: [f64; 6]| {
            let (a, b) = ([a, b, c].map(|x| x * source_unit), [d, e, f].map(|x| x * target_unit));
            [a[0], a[1], a[2], b[0], b[1], b[2]]
        };
        let mut rows: Vec<[f64; 6]> = exact_matches().into_iter().map(in_units).collect();
        rows.push(in_units([20.0, 10.0, -10.0, 30.0, -40.0, 70.0]));
        place.write("m.csv", table(&rows, ",", "\n"));
        let solve = format!("solve m.csv --scale unknown --threshold {:e}", 0.01 * target_unit);
        let document = place.json(0, &solve);
        let matrix = place.run(&format!("{solve} --format matrix")).out;
        assert_eq!(numbers(&matrix), transform(&document).as_flattened());
        assert!(matrix.lines().all(|line| line.len() <= 110), "{matrix}");
        let scale = document["scale"].as_f64().expect("a number") * source_unit / target_unit;
        assert!((scale - 1.0).abs() < 1e-9, "{scale}");
        assert!(place.run(&solve).out.lines().all(|line| line.len() <= 100));
    }
}

/// Exact matches have log ratios of distances that differ by rounding only.
#[test]
fn exact_matches_with_unknown_scale() {
    let place = Place::new();
    for scale in ["1", "0.3", "3.7"] {
        simulate(&place, &format!("--points 50 --outliers 0 --noise 0 --scale {scale}"));
        let document = place.json(0, "solve m.csv --threshold 0.001 --scale unknown");
        assert_close(transform(&document), transform(&truth(&place)), 1e-12);
        assert_eq!(inliers(&document).len(), 50);
    }
}

/// The threshold that the data suggest is about five standard deviations of the noise, in target units.
#[test]
fn a_threshold_is_found() {
    let place = Place::new();
    for (noise, scale) in [(0.01, "1"), (0.002, "unknown"), (0.01, "unknown"), (0.002, "0.5..4")] {
        simulate(&place, &format!("--points 500 --outliers 0.9 --seed 2 --noise {noise}"));
        let document = place.json(0, &format!("solve m.csv --scale {scale}"));
        check_fields(&document);
        check_transform(&document, &rows(&place));
        let threshold = document["threshold"].as_f64().expect("a number");
        assert!((3.0..8.0).contains(&(threshold / noise)), "{threshold} for a noise of {noise}");
        assert_eq!(inliers(&document), inliers(&truth(&place)));
        let summary = place.run(&format!("solve m.csv --scale {scale}")).with_status(0).out;
        let shown = summary.split("(threshold ").nth(1).and_then(|rest| rest.split(')').next());
        let shown: f64 = shown.expect("a threshold").parse().expect("a number");
        assert!((shown / threshold - 1.0).abs() < 1e-3, "{summary}");
    }
}

#[test]
fn a_range_bounds_the_scale() {
    let place = Place::new();
    simulate(&place, "--points 200 --outliers 0.8 --seed 3 --scale 2.5");
    let free = place.json(0, "solve m.csv --threshold 0.05 --scale unknown");
    let bounded = place.json(0, "solve m.csv --threshold 0.05 --scale 0.5..4");
    assert_eq!(inliers(&bounded), inliers(&truth(&place)));
    assert_close(transform(&bounded), transform(&free), 1e-9);
    // The right one is outside: whatever else is found keeps to the bounds, and is no registration.
    for (range, bounds) in [("0.5..2", 0.5..=2.0), ("3..10", 3.0..=10.0)] {
        let document = place.json(1, &format!("solve m.csv --threshold 0.05 --scale {range}"));
        check_fields(&document);
        if let Some(scale) = document["scale"].as_f64() {
            check_transform(&document, &rows(&place));
            assert!(bounds.contains(&scale), "{scale}");
        }
    }
}

/// Two motions in one set of matches, the second of fewer.
#[test]
fn candidates_are_listed_best_first() {
    let place = Place::new();
    let mut all = Vec::new();
    for args in
        ["--points 60 --outliers 0 --seed 1", "--points 30 --outliers 0 --seed 2", "--points 60 --outliers 1"]
    {
        simulate(&place, args);
        all.extend(rows(&place));
    }
    let header = "sx,sy,sz,tx,ty,tz\n";
    place.write("m.csv", header.to_owned() + &table(&all, ",", "\n"));
    for threshold in ["", "--threshold 0.05"] {
        let document = place.json(0, &format!("solve m.csv {threshold}"));
        check_transform(&document, &all);
        let candidates = document["candidates"].as_array().expect("a list");
        let counts: Vec<u64> =
            candidates.iter().map(|c| c["inlier_count"].as_u64().expect("a count")).collect();
        assert!(candidates.len() >= 2 && counts[0] >= 60 && counts[1] >= 30, "{counts:?}");
        let evidence: Vec<f64> =
            candidates.iter().map(|c| c["evidence"]["log10_nfa"].as_f64().expect("a number")).collect();
        assert!(evidence.is_sorted() && evidence[1] < -1.0, "{evidence:?}");
        simulate(&place, "--points 30 --outliers 0 --seed 2");
        assert_close(transform(&candidates[1]), transform(&truth(&place)), 0.05);
        place.write("m.csv", header.to_owned() + &table(&all, ",", "\n"));
    }
}

/// All matches are wrong: what agrees does so by chance.
#[test]
fn chance_is_a_guess() {
    let place = Place::new();
    simulate(&place, "--points 100 --outliers 1 --seed 1");
    for args in [
        "",
        "--threshold 0.05",
        "--scale unknown",
        "--scale 0.5..4",
        "--threshold 0.05 --method paper",
        "--threshold 0.05 --method paper-random --hypothesis-limit 2000",
    ] {
        let solve = format!("solve m.csv {args}");
        let document = place.json(1, &solve);
        check_fields(&document);
        check_transform(&document, &rows(&place));
        assert_eq!(document["status"], "not_reliable");
        let found = inliers(&document).len();

        let summary = place.run(&solve).with_status(1);
        // With a known scale, the first thing to ask is whether it is right.
        let note = "note: the scale was taken to be 1; if it may differ, add --scale unknown\n";
        assert_eq!(summary.err, if args.contains("--scale") { "" } else { note });
        let verdict = format!("NOT RELIABLE: {found} of 100 matches agree, but ");
        assert!(summary.out.starts_with(&verdict), "{}", summary.out);
        assert!(summary.out.contains("\nbest candidate, source to target:\n"), "{}", summary.out);
        assert_eq!(summary.out.lines().skip(3).take(4).flat_map(numbers).count(), 16);

        let matrix = place.run(&format!("{solve} --format matrix")).with_status(1);
        assert_eq!(numbers(&matrix.out), transform(&document).as_flattened());
        assert!(
            matrix.err.starts_with("warning: do not use this matrix unchecked. NOT RELIABLE: "),
            "{}",
            matrix.err
        );
        let quiet = place.run(&format!("{solve} --format matrix --quiet")).with_status(1);
        assert_eq!((quiet.out, quiet.err.as_str()), (matrix.out, ""));
    }
}

/// Any three matches of equal triangles have a transform, and nothing that confirms it.
#[test]
fn three_matches_are_a_guess() {
    let place = Place::new();
    let rows = &exact_matches()[..3];
    place.write("m.csv", table(rows, ",", "\n"));
    for args in ["", "--threshold 0.01", "--scale unknown", "--threshold 0.01 --method paper"] {
        let document = place.json(1, &format!("solve m.csv {args}"));
        check_fields(&document);
        check_transform(&document, rows);
        assert_eq!(inliers(&document), [0, 1, 2]);
        assert_close(transform(&document), EXACT, 1e-9);
    }
}

/// Many matches from one small patch to another: neighbours are often wrong together.
#[test]
fn one_patch_is_a_guess() {
    let place = Place::new();
    simulate(&place, "--points 40 --outliers 1");
    let mut all = rows(&place);
    for row in exact_matches() {
        // All methods find one motion, within less than the threshold.
        let near = |k: usize| 0.1 + 0.002 * row[k];
        all.push([near(0), near(1), near(2), near(0) - 0.3, near(1) + 0.2, near(2)]);
    }
    place.write("m.csv", table(&all, ",", "\n"));
    for method in ["default", "paper"] {
        let solve = format!("solve m.csv --threshold 0.05 --method {method}");
        let document = place.json(1, &solve);
        check_transform(&document, &all);
        assert_eq!(document["status"], "not_reliable");
        // Counted once, the patch is no more than chance.
        assert_eq!(document["doubt"], "chance");
        let summary = place.run(&solve).with_status(1).out;
        assert!(summary.contains(" matches agree, but "), "{summary}");
    }
}

/// `--min-inliers` says when the search may stop; the verdict is by the evidence.
#[test]
fn more_inliers_than_there_are_can_be_asked_for() {
    let place = Place::new();
    simulate(&place, "--points 60 --outliers 0.5 --seed 1");
    let document = place.json(0, "solve m.csv --method paper --threshold 0.05 --min-inliers 40");
    check_fields(&document);
    check_transform(&document, &rows(&place));
    assert_eq!(document["stopped_because"], "exhausted");
    assert!((3..40).contains(&inliers(&document).len()));
}

/// As many matches as a large scan gives.
#[test]
fn a_large_array_is_solved() {
    let recipe =
        Recipe::default().with_shape(Shape::Cube).and_then(|r| r.with_points(200_000)).expect("a recipe");
    let problem = recipe.with_outlier_ratio(0.99).and_then(|r| r.generate()).expect("a problem");
    let rows: Vec<[f64; 6]> = problem
        .source
        .iter()
        .zip(&problem.target)
        .map(|(a, b)| [a[0], a[1], a[2], b[0], b[1], b[2]])
        .collect();
    let place = Place::new();
    place.write("m.npy", npy(&rows));
    for args in ["", "--scale unknown --threshold 0.05"] {
        let document = place.json(0, &format!("solve m.npy {args}"));
        check_fields(&document);
        check_transform(&document, &rows);
        assert_eq!(document["status"], "registered");
        assert_eq!(document["correspondences"], 200_000);
        assert_close(transform(&document), problem.truth.matrix(), 0.01);
        let found = inliers(&document);
        let recovered = problem.inliers().iter().filter(|i| found.binary_search(i).is_ok()).count();
        assert!(recovered >= 1990, "{recovered} of 2000");
        let summary = place.run(&format!("solve m.npy {args}")).with_status(0).out;
        assert!(summary.contains("distinct places"), "{summary}");
        assert!(summary.lines().all(|line| line.len() <= 110), "{summary}");
    }
}

/// Three matches with other distances on each side.
#[test]
fn no_solution_has_nulls() {
    let place = Place::new();
    place.write("m.csv", "0 0 0 0 0 0\n1 0 0 2 5 0\n0 1 0 0 0 9\n");
    let document = place.json(1, "solve m.csv --threshold 0.05");
    check_fields(&document);
    assert_eq!(document["status"], "no_solution");
    for name in ["transform", "scale", "rotation", "translation", "inlier_rmse"] {
        assert_eq!(document[name], Value::Null, "{name}");
    }
    assert_eq!((&document["inliers"], &document["candidates"]), (&json!([]), &json!([])));
    assert_eq!(
        (&document["stopped_because"], &document["counters"]["hypotheses"]),
        (&json!("exhausted"), &json!(0))
    );

    let summary = place.run("solve m.csv --threshold 0.05").with_status(1);
    assert!(
        summary.out.starts_with("NO SOLUTION: no consistent matches were found among the 3; "),
        "{}",
        summary.out
    );
    let matrix = place.run("solve m.csv --threshold 0.05 --format matrix").with_status(1);
    assert_eq!(
        (matrix.out.as_str(), matrix.err.starts_with("warning: there is no matrix to print. NO SOLUTION: ")),
        ("", true)
    );
}

#[test]
fn a_time_limit_ends_the_search_with_the_best_so_far() {
    let place = Place::new();
    simulate(&place, "--points 4000 --outliers 1");
    for solve in [
        "solve m.csv --scale unknown --threads 1",
        "solve m.csv --scale unknown --threads 1 --threshold 0.05",
        "solve m.csv --scale unknown --threshold 0.05 --method paper",
    ] {
        // On a busy machine nothing may be found so soon; then a little later.
        let found = ["0.1", "0.3", "1", "5"].into_iter().any(|limit| {
            let document = place.json(1, &format!("{solve} --time-limit {limit}"));
            check_fields(&document);
            assert_eq!(document["stopped_because"], "time_limit", "{solve} {limit}");
            let found = document["status"] == "not_reliable";
            if found {
                check_transform(&document, &rows(&place));
            } else {
                assert_eq!(document["status"], "no_solution", "{solve} {limit}");
            }
            found
        });
        assert!(found, "{solve}");
    }

    let solve = "solve m.csv --scale unknown --threshold 0.05 --method paper";
    let document = place.json(1, &format!("{solve} --time-limit 1e-9"));
    check_fields(&document);
    assert_eq!(
        (&document["status"], &document["stopped_because"]),
        (&json!("no_solution"), &json!("time_limit"))
    );
    let summary = place.run(&format!("{solve} --time-limit 1e-9")).with_status(1).out;
    assert!(summary.starts_with("NO SOLUTION: the time limit ended the search before"), "{summary}");

    simulate(&place, "--points 100 --outliers 0.5");
    assert_eq!(place.json(0, "solve m.csv --threshold 0.05 --time-limit 1e300")["status"], "registered");
}

#[test]
fn other_limits() {
    let place = Place::new();
    simulate(&place, "--points 300 --outliers 1");
    let document =
        place.json(1, "solve m.csv --method paper --threshold 0.05 --hypothesis-limit 100 --batch 10");
    assert_eq!(document["stopped_because"], "hypothesis_limit");
    assert_eq!(document["counters"]["hypotheses"], 100);
    place.run("solve m.csv --method paper --threshold 0.05 --memory-budget 0").refused(&[
        "300 matches need",
        "budget of 0 MiB",
        "raise the memory budget",
        "set `memory_budget` to 1 MiB, or `method` to `paper-random`",
    ]);
    // The default method makes do with what there is, and says that it could not rule out another transform.
    simulate(&place, "--points 300 --outliers 0.97 --seed 2");
    let document = place.json(1, "solve m.csv --memory-budget 0");
    assert_eq!(
        (&document["doubt"], &document["stopped_because"]),
        (&json!("unfinished"), &json!("exhausted"))
    );
    let document = place.json(0, "solve m.csv --memory-budget 1");
    assert_eq!(document["status"], "registered");
}

#[test]
fn the_same_answer_on_any_number_of_threads() {
    let place = Place::new();
    simulate(&place, "--points 200 --outliers 0.9 --seed 6");
    let of = |args: &str| timeless(place.json(0, &format!("solve m.csv --threshold 0.05 {args}")));
    let alone = of("--threads 1");
    assert_eq!(alone, of("--threads 3"));
    assert_eq!(alone, of(""));
    let random = of("--method paper-random --seed 7");
    assert_eq!(random, of("--method paper-random --seed 7"));
    assert_ne!(random, of("--method paper-random --seed 8"));
}

#[test]
fn verbose_speaks_on_standard_error_only() {
    let place = Place::new();
    simulate(&place, "--points 100 --outliers 0.5");
    let plain = place.run("solve m.csv --threshold 0.05 --json");
    let verbose = place.run("solve m.csv --threshold 0.05 --json --verbose").with_status(0);
    assert_eq!(timeless(verbose.json()), timeless(plain.json()));
    assert_eq!(plain.err, "");
    for (args, words) in [
        ("--threshold 0.05", ["method default", "scale 1,", "threshold 0.05", "seed 0"]),
        ("--scale 0.5..4 --seed 3", ["method default", "scale 0.5..4,", "threshold from the data", "seed 3"]),
        (
            "--threshold 0.05 --method paper --scale unknown",
            [
                "method paper",
                "scale unknown,",
                "threshold 0.05",
                "stops at 9 inliers and 0.9 % of the matches",
            ],
        ),
    ] {
        let verbose = place.run(&format!("solve m.csv --json --verbose {args}")).with_status(0);
        for word in
            [["100 matches; "].as_slice(), &words, &["\nthreshold ", "\nno doubt: ", "\ntime: "]].concat()
        {
            assert!(verbose.err.contains(word), "{word}: {}", verbose.err);
        }
        assert!(!verbose.err.contains("candidate"), "{}", verbose.err);
        let more = place.run(&format!("solve m.csv --json -vv {args}")).with_status(0);
        assert_eq!(timeless(more.json()), timeless(verbose.json()));
        assert!(more.err.contains("\ncandidate 1: "), "{}", more.err);
        let is_default = !args.contains("paper");
        assert_eq!(more.err.contains("\nsearch with threshold "), is_default, "{}", more.err);
    }
}

#[test]
fn the_demonstration_finds_what_it_hid() {
    let place = Place::new();
    let ran = place.run("demo --shape knot").with_status(0);
    assert_eq!(ran.out.matches("10 of the 10 correct matches are among them").count(), 2, "{}", ran.out);
    assert!(ran.out.starts_with("known scale: 1000 matches on the shape `knot`, 990 outliers (99 %)"));
    assert!(ran.err.starts_with("To solve your own matches:  pcr99 solve "), "{}", ran.err);
    let quiet = place.run("demo --shape knot --quiet --points 200 --outliers 0.9").with_status(0);
    assert_eq!(quiet.err, "");
    let hopeless = place.run("demo --shape knot --points 100 --outliers 1").with_status(1);
    assert_eq!(hopeless.out.matches("  NOT RELIABLE: ").count(), 2, "{}", hopeless.out);
    assert!(!hopeless.out.contains("correct matches"), "there are none: {}", hopeless.out);
    for ran in [ran, quiet, hopeless] {
        assert!(ran.out.lines().all(|line| line.chars().count() <= 120), "{}", ran.out);
    }
}
