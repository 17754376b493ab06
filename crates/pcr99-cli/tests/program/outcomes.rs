//! What comes out of a search: the JSON document, the summary and the matrix, and how they go together.

use serde_json::{Value, json};

use super::place::{Place, assert_close, exact_matches, inliers, table, timeless, transform};

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

/// The fields of schema 1, in order.
const FIELDS: [&str; 17] = [
    "schema",
    "program",
    "method",
    "status",
    "transform",
    "scale",
    "rotation",
    "translation",
    "correspondences",
    "inliers",
    "threshold",
    "inlier_rmse",
    "evidence",
    "candidates",
    "stopped_because",
    "counters",
    "seconds",
];

#[track_caller]
fn check_fields(document: &Value) {
    let names: Vec<&str> = document.as_object().expect("an object").keys().map(String::as_str).collect();
    assert_eq!(names, FIELDS);
    assert_eq!(document["schema"], 1);
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
    let inliers = inliers(document);
    assert!(inliers.is_sorted_by(|a, b| a < b), "{inliers:?}");
    assert!(inliers.iter().all(|&i| (i as u64) < document["correspondences"].as_u64().expect("a count")));
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
    assert_eq!(document["candidates"][0]["inlier_count"], inliers(document).len());

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
    assert!((rmse - reported).abs() <= 1e-9 * rmse, "{rmse} {reported}");
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
        "--scale 2.5 --method paper",
        "--scale unknown --method paper-random",
    ] {
        let document = place.json(0, &format!("solve m.csv --threshold 0.05 {args}"));
        check_fields(&document);
        check_transform(&document, &rows(&place));
        assert_eq!(document["status"], "registered");
        assert_eq!(document["stopped_because"], "enough_inliers");
        assert_eq!((&document["correspondences"], &document["threshold"]), (&json!(100), &json!(0.05)));
        let scale = document["scale"].as_f64().expect("a number");
        let bound = if args.contains("unknown") { 0.05 } else { 0.0 };
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
    assert!(summary.starts_with(&format!("registered: {found} of 100 matches agree\n")), "{summary}");
    let shown: Vec<f64> = summary.lines().skip(3).take(4).flat_map(numbers).collect();
    for (a, b) in shown.iter().zip(transform(&document).as_flattened()) {
        assert!((a - b).abs() <= 0.5e-9, "{summary}");
    }
    let counters = &document["counters"];
    let searched = format!(
        "{} triplets, {} hypotheses; stopped: enough inliers",
        counters["triplets"], counters["hypotheses"]
    );
    assert!(summary.contains(&searched), "{summary}");
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

#[test]
fn too_few_that_agree_are_a_guess() {
    let place = Place::new();
    simulate(&place, "--points 60 --outliers 0.5 --seed 1");
    let solve = "solve m.csv --threshold 0.05 --min-inliers 40";
    let document = place.json(1, solve);
    check_fields(&document);
    check_transform(&document, &rows(&place));
    assert_eq!(
        (&document["status"], &document["stopped_because"]),
        (&json!("not_reliable"), &json!("exhausted"))
    );
    let found = inliers(&document).len();
    assert!((3..40).contains(&found));

    let summary = place.run(solve).with_status(1);
    assert_eq!(summary.err, "");
    assert!(summary.out.starts_with(&format!(
        "NOT RELIABLE: {found} of 60 matches agree, 40 are needed; the best guess is\n"
    )));
    assert_eq!(summary.out.lines().skip(3).take(4).flat_map(numbers).count(), 16);

    let matrix = place.run(&format!("{solve} --format matrix")).with_status(1);
    assert_eq!(numbers(&matrix.out), transform(&document).as_flattened());
    assert!(matrix.err.starts_with("warning: NOT RELIABLE"), "{}", matrix.err);
    let quiet = place.run(&format!("{solve} --format matrix --quiet")).with_status(1);
    assert_eq!((quiet.out, quiet.err.as_str()), (matrix.out, ""));
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
        summary.out.starts_with("NO SOLUTION: no three of the 3 matches are consistent"),
        "{}",
        summary.out
    );
    let matrix = place.run("solve m.csv --threshold 0.05 --format matrix").with_status(1);
    assert_eq!((matrix.out.as_str(), matrix.err.starts_with("warning: no solution")), ("", true));
}

#[test]
fn a_time_limit_ends_the_search_with_the_best_so_far() {
    let place = Place::new();
    simulate(&place, "--points 1000 --outliers 1");
    let solve = "solve m.csv --threshold 0.05 --scale unknown";
    let document = place.json(1, &format!("{solve} --time-limit 0.3"));
    check_fields(&document);
    assert_eq!(
        (&document["status"], &document["stopped_because"]),
        (&json!("not_reliable"), &json!("time_limit"))
    );
    check_transform(&document, &rows(&place));

    let document = place.json(1, &format!("{solve} --time-limit 1e-9"));
    check_fields(&document);
    assert_eq!(
        (&document["status"], &document["stopped_because"]),
        (&json!("no_solution"), &json!("time_limit"))
    );
    let summary = place.run(&format!("{solve} --time-limit 1e-9")).with_status(1).out;
    assert!(summary.starts_with("NO SOLUTION: stopped before"), "{summary}");

    simulate(&place, "--points 100 --outliers 0.5");
    assert_eq!(place.json(0, "solve m.csv --threshold 0.05 --time-limit 1e300")["status"], "registered");
}

#[test]
fn other_limits() {
    let place = Place::new();
    simulate(&place, "--points 300 --outliers 1");
    let document = place.json(1, "solve m.csv --threshold 0.05 --hypothesis-limit 100 --batch 10");
    assert_eq!(document["stopped_because"], "hypothesis_limit");
    assert_eq!(document["counters"]["hypotheses"], 100);
    place.run("solve m.csv --threshold 0.05 --memory-budget 0").refused(&[
        "300 matches need",
        "budget of 0 MiB",
        "raise the memory budget",
        "--memory-budget 1, or --method paper-random",
    ]);
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
    for word in ["100 matches", "method default", "scale 1,", "threshold 0.05", "9 inliers are enough"] {
        assert!(verbose.err.contains(word), "{word}: {}", verbose.err);
    }
}

#[test]
fn the_demonstration_finds_what_it_hid() {
    let place = Place::new();
    let ran = place.run("demo --shape knot").with_status(0);
    assert_eq!(ran.out.matches("10 of the 10 right ones among them").count(), 2, "{}", ran.out);
    assert!(ran.out.starts_with("known scale: 1000 matches on the shape `knot`, 990 of them wrong (99 %)"));
    assert!(ran.err.starts_with("Try it on your own matches:  pcr99 solve "), "{}", ran.err);
    let quiet = place.run("demo --shape knot --quiet --points 200 --outliers 0.9").with_status(0);
    assert_eq!(quiet.err, "");
    let hopeless = place.run("demo --shape knot --points 100 --outliers 1").with_status(1);
    assert!(hopeless.out.contains("not reliable: "), "{}", hopeless.out);
}
