//! Golden results of the published method: triplets visited, hypotheses formed, inliers, and the transform.
//!
//! There are two sets. `tests/golden/` is always tested. `PCR99_GOLDEN` names the directory of a larger set (`golden.csv` and problem files);
//! without it, that test is skipped with a message, or fails when `PCR99_REQUIRE_DATA=1`.

use std::{fs, path::Path};

use pcr99::{Correspondences, Scale, Similarity, paper};

struct Row {
    method: String,
    file: String,
    triplets: u64,
    hypotheses: u64,
    inliers: usize,
    model: Similarity,
}

fn rows(csv: &str) -> Vec<Row> {
    let number = |field: &str| field.parse::<f64>().unwrap_or_else(|_| panic!("not a number: {field}"));
    csv.lines()
        .skip(1)
        .map(|line| {
            let fields: Vec<&str> = line.split(',').collect();
            let [method, file] = [fields[0], fields[1]].map(String::from);
            let n: Vec<f64> = fields[2..].iter().map(|f| number(f)).collect();
            let rotation = [[n[4], n[5], n[6]], [n[7], n[8], n[9]], [n[10], n[11], n[12]]];
            let model = Similarity::new(n[3], rotation, [n[13], n[14], n[15]]).expect("a similarity");
            Row {
                method,
                file,
                triplets: n[0] as u64,
                hypotheses: n[1] as u64,
                inliers: n[2] as usize,
                model,
            }
        })
        .collect()
}

/// Reads a problem file: `n s`, three lines of `R`, one line of `t`, then lines of `ax ay az bx by bz is_inlier`.
fn problem(path: &Path) -> Correspondences {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut source = Vec::new();
    let mut target = Vec::new();
    for line in text.lines().skip(5) {
        let v: Vec<f64> = line.split_whitespace().map(|field| field.parse().expect("a number")).collect();
        source.push([v[0], v[1], v[2]]);
        target.push([v[3], v[4], v[5]]);
    }
    Correspondences::new(&source, &target).expect("a good problem")
}

/// Checks every PCR-99 row whose problem file exists, and returns their number.
fn check(directory: &Path) -> usize {
    let csv = fs::read_to_string(directory.join("golden.csv")).expect("golden.csv");
    let mut solver = paper::Solver::new();
    let mut ran = 0;
    for row in rows(&csv) {
        let path = directory.join(&row.file);
        let (scale, sampling) = match row.method.as_str() {
            "PCR99a" => (Scale::Unknown, paper::Sampling::Ordered),
            "PCR99b" => (Scale::Unknown, paper::Sampling::random(0)),
            "PCR99c" => (Scale::one(), paper::Sampling::Ordered),
            "PCR99d" => (Scale::one(), paper::Sampling::random(0)),
            _ => continue,
        };
        if !path.exists() {
            continue;
        }
        let params = paper::Params::new(0.05).expect("positive").with_sampling(sampling);
        let found = solver.solve(&problem(&path), scale, &params).expect("within the memory budget");
        let got = (found.counters.triplets, found.counters.hypotheses, found.inliers.len());
        assert_eq!(got, (row.triplets, row.hypotheses, row.inliers), "{} {}", row.method, row.file);
        let model = found.target_from_source.expect("a transform");
        let difference =
            numbers(&model).zip(numbers(&row.model)).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max);
        assert!(difference < 1e-9, "{} {}: {difference}", row.method, row.file);
        assert!(found.is_registered());
        ran += 1;
    }
    ran
}

fn numbers(model: &Similarity) -> impl Iterator<Item = f64> {
    let rotation = model.rotation().into_iter().flatten();
    std::iter::once(model.scale()).chain(rotation).chain(model.translation())
}

#[test]
fn our_own_problems() {
    assert_eq!(check(Path::new("tests/golden")), 8);
}

#[test]
#[expect(clippy::print_stderr, reason = "says that it is skipped")]
fn published_counts() {
    match std::env::var_os("PCR99_GOLDEN") {
        Some(directory) => {
            assert_eq!(check(Path::new(&directory)), 20, "rows of PCR-99 that have a problem file")
        }
        None if std::env::var_os("PCR99_REQUIRE_DATA").is_some_and(|v| v == "1") => {
            panic!("PCR99_REQUIRE_DATA=1 but PCR99_GOLDEN is not set")
        }
        None => {
            eprintln!("skipped: set PCR99_GOLDEN to the directory of the golden problems to run this test")
        }
    }
}
