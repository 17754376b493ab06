//! Numbers, files and names that pages quote are those of the code.

use std::{fs, path::PathBuf};

use crate::markdown::{inline_code, pages, root};

/// Page, what it says, the file of the code, and the definition in it that the page quotes.
const FACTS: &[[&str; 4]] = &[
    ["explanation/search.md", "`τ = 0.7 δ`", "pcr99/src/search/mod.rs", "TAU: f64 = 0.7;"],
    [
        "explanation/search.md",
        "The first one has 64 matches",
        "pcr99/src/search/mod.rs",
        "FIRST_SUBSET: usize = 64;",
    ],
    ["explanation/search.md", "four times as many", "pcr99/src/search/mod.rs", "GROWTH: usize = 4;"],
    ["explanation/search.md", "or 512 where stars", "pcr99/src/search/mod.rs", "AFTER_STARS: usize = 512;"],
    [
        "explanation/search.md",
        "one for every 2048 matches",
        "pcr99/src/search/budget.rs",
        "MATCHES_PER_PAIR: usize = 2048;",
    ],
    [
        "explanation/search.md",
        "0.85 is relied on",
        "pcr99/src/search/star/recognition.rs",
        "RELIED_ON: f64 = 0.85;",
    ],
    [
        "explanation/search.md",
        "at most 1.5 times that of a Gaussian",
        "pcr99/src/search/threshold.rs",
        "LONGER_TAILS: f64 = 1.5;",
    ],
    [
        "explanation/search.md",
        "32 768 matches with a known",
        "pcr99/src/search/mod.rs",
        "LARGEST_KNOWN: usize = 1 << 15;",
    ],
    [
        "explanation/search.md",
        "16 384 with an unknown",
        "pcr99/src/search/mod.rs",
        "LARGEST: usize = 1 << 14;",
    ],
    ["explanation/search.md", "at most 12 matches", "pcr99/src/search/clique.rs", "LARGEST: usize = 12;"],
    ["explanation/search.md", "between 12 and 40", "pcr99/src/search/edges.rs", "FEWEST_SLICES: u8 = 12;"],
    ["explanation/search.md", "between 12 and 40", "pcr99/src/search/edges.rs", "MOST_SLICES: u8 = 40;"],
    [
        "explanation/search.md",
        "at least 0.6, a conservative",
        "pcr99/src/search/progress.rs",
        "RECOGNITION_RATE: f64 = 0.6;",
    ],
    [
        "explanation/search.md",
        "fewer than seven members",
        "pcr99/src/search/progress.rs",
        "ENOUGH_INLIERS: usize = 7;",
    ],
    ["explanation/search.md", "10⁻⁶ by default", "pcr99/src/search/params.rs", "miss_probability: 1e-6,"],
    ["how-to/choose-options.md", "10⁻⁶ by default", "pcr99/src/search/params.rs", "miss_probability: 1e-6,"],
    ["how-to/choose-options.md", "1024 by default", "pcr99/src/search/params.rs", "memory_budget: 1 << 30,"],
    [
        "explanation/search.md",
        "100 000 by default",
        "pcr99/src/search/budget.rs",
        "DEFAULT_EFFORT: u64 = 100_000;",
    ],
    [
        "explanation/search.md",
        "10 000 pairs while the threshold",
        "pcr99/src/search/budget.rs",
        "LIMITED_EFFORT: u64 = 10_000;",
    ],
    ["explanation/search.md", "10⁻³ for a", "pcr99/src/search/progress.rs", "MISSED_RIVALS: f64 = 0.001;"],
    [
        "explanation/search.md",
        "at most 24 matches",
        "pcr99/src/search/resample.rs",
        "MOST_INLIERS: usize = 24;",
    ],
    [
        "explanation/search.md",
        "above −10 is looked at",
        "pcr99/src/search/resample.rs",
        "BARELY: f64 = -10.0;",
    ],
    [
        "explanation/search.md",
        "a factor of `e⁷`",
        "pcr99/src/search/mixture.rs",
        "let least = parameters + 1.0;",
    ],
    ["explanation/search.md", "Up to 32 inliers", "pcr99/src/search/polish.rs", "FEW: usize = 32;"],
    [
        "explanation/search.md",
        "0.06, 0.02, 0.007, 0.0025 and 0.18 of the extent",
        "pcr99/src/search/threshold.rs",
        "LADDER: [f64; 5] = [0.06, 0.02, 0.007, 0.0025, 0.18];",
    ],
    ["explanation/search.md", "`δ = 5σ`", "pcr99/src/search/threshold.rs", "DEVIATIONS: f64 = 5.0;"],
    ["explanation/search.md", "above 0.3 of the extent", "pcr99/src/search/mod.rs", "WIDEST: f64 = 0.3;"],
    [
        "explanation/verdict.md",
        "`log10_nfa ≤ −2`",
        "pcr99/src/evidence/false_alarms.rs",
        "LARGEST_LOG10_NFA: f64 = -2.0;",
    ],
    [
        "explanation/verdict.md",
        "Where fewer than 24",
        "pcr99/src/evidence/correlation.rs",
        "SMALLEST_SAMPLE: usize = 24;",
    ],
    [
        "explanation/verdict.md",
        "falls to three times chance",
        "pcr99/src/evidence/correlation.rs",
        "CLEARLY: f64 = 3.0;",
    ],
    [
        "explanation/verdict.md",
        "a tenth of the extent is assumed",
        "pcr99/src/evidence/mod.rs",
        "ASSUMED_PLACE_RADIUS: f64 = 0.1;",
    ],
    ["explanation/verdict.md", "by more than 1.5", "pcr99/src/search/candidate.rs", "FAR: f64 = 1.5;"],
    [
        "explanation/verdict.md",
        "at least 11; or at least 4",
        "pcr99/src/evidence/conditions.rs",
        "ENOUGH_PLACES: usize = 11;",
    ],
    [
        "explanation/verdict.md",
        "at least 11; or at least 4",
        "pcr99/src/evidence/conditions.rs",
        "FEWEST_PLACES: usize = 4;",
    ],
    [
        "explanation/verdict.md",
        "at most 2.5°",
        "pcr99/src/evidence/conditions.rs",
        "LARGEST_ROTATION_DEVIATION: f64 = 2.5;",
    ],
    [
        "explanation/verdict.md",
        "at most 0.6 of the answer's",
        "pcr99/src/evidence/conditions.rs",
        "LARGEST_RIVAL_RATIO: f64 = 0.6;",
    ],
    ["explanation/verdict.md", "| 10 % of one |", "pcr99-cloud/src/register/judge.rs", "OVERLAP: f64 = 0.1;"],
    [
        "explanation/verdict.md",
        "| 0.004 |",
        "pcr99-cloud/src/register/judge.rs",
        "LEAST_RIGIDITY: f64 = 4e-3;",
    ],
    [
        "explanation/verdict.md",
        "| 0.35 voxels |",
        "pcr99-cloud/src/register/judge.rs",
        "RESIDUAL_VOXELS: f64 = 0.35;",
    ],
    [
        "explanation/verdict.md",
        "| 60 % |",
        "pcr99-cloud/src/register/judge.rs",
        "NORMAL_AGREEMENT: f64 = 0.6;",
    ],
    [
        "explanation/verdict.md",
        "| 6 % |",
        "pcr99-cloud/src/register/judge.rs",
        "CONFLICT_FRACTION: f64 = 0.06;",
    ],
    ["explanation/verdict.md", "| −6 |", "pcr99-cloud/src/register/judge.rs", "LOG10_NFA: f64 = -6.0;"],
    [
        "explanation/verdict.md",
        "| 3 % of the points |",
        "pcr99-cloud/src/register/judge.rs",
        "LEAST_OFF_PLANE: f64 = 0.03;",
    ],
    [
        "explanation/verdict.md",
        "| 15 % |",
        "pcr99-cloud/src/register/judge.rs",
        "FREE_SPACE_FRACTION: f64 = 0.15;",
    ],
    [
        "explanation/verdict.md",
        "less than 40 % of what",
        "pcr99-cloud/src/register/judge.rs",
        "RIVAL_EXPLAINED: f64 = 0.4;",
    ],
    [
        "explanation/verdict.md",
        "Less than a fifth as many",
        "pcr99-cloud/src/register/judge.rs",
        "RIVAL_INLIERS: f64 = 0.2;",
    ],
    [
        "explanation/verdict.md",
        "are 4 % of what",
        "pcr99-cloud/src/register/judge.rs",
        "TELLING_FRACTION: f64 = 0.04;",
    ],
    [
        "explanation/verdict.md",
        "1.25 times and 0.05 voxels",
        "pcr99-cloud/src/register/judge.rs",
        "FARTHER: f64 = 1.25;",
    ],
    [
        "explanation/verdict.md",
        "1.25 times and 0.05 voxels",
        "pcr99-cloud/src/register/judge.rs",
        "FARTHER_BY: f64 = 0.05;",
    ],
    [
        "explanation/verdict.md",
        "ten times as large",
        "pcr99-cloud/src/register/judge.rs",
        "EXTREME_RATIO: f64 = 10.0;",
    ],
    [
        "explanation/verdict.md",
        "more than 1.1 times as high",
        "pcr99-cloud/src/register/judge.rs",
        "BETTER_SCORE: f64 = 1.1;",
    ],
    ["explanation/verdict.md", "within 1.5 voxels", "pcr99-cloud/src/votes.rs", "NEAR: f64 = 1.5;"],
    ["explanation/verdict.md", "up to five voxels above", "pcr99-cloud/src/votes.rs", "FAR: f64 = 5.0;"],
    [
        "explanation/verdict.md",
        "by every 3°",
        "pcr99-cloud/src/register/turns.rs",
        "TURN_STEP: f64 = 1.0 / 120.0;",
    ],
    [
        "explanation/verdict.md",
        "by three standard deviations",
        "pcr99-cloud/src/register/ambiguity.rs",
        "WORSE: f64 = 3.0;",
    ],
    [
        "explanation/verdict.md",
        "Up to 64 poses",
        "pcr99-cloud/src/register/ambiguity.rs",
        "MOST_POSES: usize = 64;",
    ],
    ["explanation/verdict.md", "80 % of both", "pcr99-cloud/src/register/ambiguity.rs", "WHOLE: f64 = 0.8;"],
    [
        "explanation/verdict.md",
        "shifts of 6 and 12 voxels",
        "pcr99-cloud/src/register/ambiguity.rs",
        "CONFIRMED_BY: [f64; 2] = [6.0, 12.0];",
    ],
    [
        "explanation/verdict.md",
        "at least four of its points",
        "pcr99-cloud/src/register/telling_parts.rs",
        "FEWEST: usize = 4;",
    ],
    [
        "explanation/verdict.md",
        "2.5 voxels or more",
        "pcr99-cloud/src/register/telling_parts.rs",
        "OFF: f64 = 2.5;",
    ],
    [
        "explanation/verdict.md",
        "patch of six voxels",
        "pcr99-cloud/src/register/telling_parts.rs",
        "PATCH: f64 = 6.0;",
    ],
    ["explanation/registration.md", "about 5000 cells", "pcr99-cloud/src/voxel.rs", "ENOUGH: usize = 5000;"],
    [
        "explanation/registration.md",
        "fewer than 1000 cells",
        "pcr99-cloud/src/voxel.rs",
        "FEW: usize = 1000;",
    ],
    [
        "explanation/registration.md",
        "more than 40 000 points",
        "pcr99-cloud/src/register/mod.rs",
        "MOST_SAMPLED: usize = 40_000;",
    ],
    [
        "explanation/registration.md",
        "At most 20 000 pairs",
        "pcr99-cloud/src/register/search.rs",
        "MOST_TRIED: u64 = 20_000;",
    ],
    [
        "how-to/large-clouds.md",
        "40 000 sampled points",
        "pcr99-cloud/src/register/mod.rs",
        "MOST_SAMPLED: usize = 40_000;",
    ],
    [
        "how-to/troubleshooting.md",
        "less than 10 % of each",
        "pcr99-cloud/src/register/judge.rs",
        "OVERLAP: f64 = 0.1;",
    ],
];

#[test]
fn quoted_numbers_are_those_of_the_code() {
    let squeezed = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut wrong = Vec::new();
    for [page, quote, file, definition] in FACTS {
        let text = fs::read_to_string(root().join("docs").join(page)).expect(page);
        if !squeezed(&text).contains(quote) {
            wrong.push(format!("docs/{page} no longer says `{quote}`"));
        }
        let code = fs::read_to_string(root().join("crates").join(file)).unwrap_or_default();
        if !squeezed(&code).contains(definition) {
            wrong.push(format!("docs/{page} says `{quote}`, but {file} has no `{definition}`"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Troubleshooting has a row for every doubt of matches and of clouds, and for no other.
#[test]
fn troubleshooting_explains_every_doubt() {
    let page = fs::read_to_string(root().join("docs/how-to/troubleshooting.md")).expect("the page");
    let (_, page) = page.split_once("## Doubts about matches").expect("matches");
    let (matches, page) = page.split_once("## Doubts about clouds").expect("clouds");
    let (clouds, _) = page.split_once("## What it looks like").expect("the end of the tables");
    for (section, file) in [(matches, "pcr99/src/doubt.rs"), (clouds, "pcr99-cloud/src/register/doubt.rs")] {
        let mut explained: Vec<&str> = section
            .lines()
            .filter_map(|line| line.strip_prefix("| `")?.split_once('`'))
            .map(|(c, _)| c)
            .collect();
        let code = fs::read_to_string(root().join("crates").join(file)).expect(file);
        let (_, function) = code.split_once("pub const fn code(&self)").expect("the codes");
        let function = function.split_once("\n    }\n").expect("the end of the function").0;
        let arms = function.lines().filter_map(|line| line.split_once("=> \"")?.1.split_once('"'));
        let mut codes: Vec<&str> = arms.map(|(code, _)| code).collect();
        explained.sort_unstable();
        codes.sort_unstable();
        codes.dedup();
        assert!(codes.len() > 4, "{file}: {codes:?}");
        assert_eq!(explained, codes, "{file}");
    }
}

/// Files that pages name exist.
#[test]
fn named_files_exist() {
    let is_path = |code: &String| {
        let starts = ["crates/", "xtask/", "python/", "docs/"].iter().any(|start| code.starts_with(start));
        starts && !code.contains([' ', '…', '*']) && !code.contains("NAME")
    };
    let mut count = 0;
    for page in pages().iter().filter(|page| page.name != "CHANGELOG.md") {
        for path in inline_code(&page.text).into_iter().filter(is_path) {
            assert!(root().join(&path).exists(), "{}: there is no `{path}`", page.name);
            count += 1;
        }
    }
    assert!(count > 40, "{count} paths");
}

/// Files, functions and tests that the map of the paper names exist.
#[test]
fn the_paper_map_leads_to_code() {
    let crates = root().join("crates");
    let places = ["pcr99/src", "pcr99-base/src", "pcr99/tests"].map(|place| crates.join(place));
    let page = fs::read_to_string(root().join("docs/explanation/paper-map.md")).expect("the map");
    let mut missing = Vec::new();
    for code in inline_code(&page) {
        let is_word =
            |text: &str| text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
        if code.ends_with(".rs")
            && code != "problem.rs"
            && !places.iter().any(|place| place.join(&code).is_file())
        {
            missing.push(code);
        } else if let Some((module, test)) = code.split_once("::").filter(|(m, t)| is_word(m) && is_word(t)) {
            let parts = ["", "kernel/", "paper/"].map(|part| format!("{part}{module}.rs"));
            let files = places.iter().flat_map(|place| parts.iter().map(|part| place.join(part)));
            let has = |file: PathBuf| {
                fs::read_to_string(file).is_ok_and(|text| text.contains(&format!("fn {test}(")))
            };
            if !files.into_iter().any(has) {
                missing.push(code.clone());
            }
        }
    }
    assert!(missing.is_empty(), "the map of the paper names what is not there: {missing:?}");
}
