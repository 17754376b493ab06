//! Bad usage: refused before any file is looked at.

use super::place::Place;

#[track_caller]
fn refused(args: &str, words: &[&str]) {
    let place = Place::new();
    let ran = place.run(args);
    ran.refused(words);
    assert!(!ran.err.contains("cannot read"), "{}", ran.err);
    assert!(place.listing().is_empty(), "{:?}", place.listing());
}

#[test]
fn a_known_scale_is_a_positive_number() {
    for scale in ["abc", "1,5", "", "Unknown"] {
        let args = format!("solve missing.csv --scale={scale}");
        refused(
            &args,
            &[&format!("'{scale}'"), "--scale", "expected `unknown`, a positive number, or a range"],
        );
    }
    for (scale, number) in [("0", "0"), ("-1", "-1"), ("-0.0", "-0"), ("nan", "NaN"), ("inf", "inf")] {
        let message = format!("error: `scale` must be finite and positive, got {number}\n");
        refused(&format!("solve missing.csv --threshold 1 --scale {scale}"), &[&message]);
        refused(&format!("register none.ply none.ply --scale {scale}"), &[&message]);
    }
    for scale in ["0", "-1", "nan", "inf"] {
        refused(&format!("simulate --scale {scale}"), &["scale must be finite and above 0"]);
    }
    refused("simulate --scale abc", &["`scale` is `abc`", "`random`"]);
}

#[test]
fn a_range_of_scales_is_two_positive_numbers_in_order() {
    for range in ["a..b", "1..", "..2", "..", "1..=2", "1..2..3"] {
        refused(
            &format!("solve missing.csv --scale={range}"),
            &[&format!("'{range}'"), "--scale", "a range MIN..MAX"],
        );
    }
    for (range, number) in [("0..2", "0"), ("-1..2", "-1"), ("1..inf", "inf"), ("nan..2", "NaN")] {
        let message = format!("`scale` must be finite and positive, got {number}");
        refused(&format!("solve missing.csv --scale={range}"), &[&message]);
    }
    for range in ["4..0.5", "2..2"] {
        refused(
            &format!("solve missing.csv --scale {range}"),
            &[&format!("range {range} is empty"), "the first number must be the smaller one"],
        );
    }
    for method in ["paper", "paper-random"] {
        refused(
            &format!("solve missing.csv --scale 0.5..4 --method {method} --threshold 1"),
            &[&format!("method `{method}` takes no range of scales"), "`unknown`", "remove `method`"],
        );
    }
    // In order, so that the next to be looked at is the file.
    Place::new().run("solve missing.csv --scale 0.5..4").refused(&["cannot read `missing.csv`"]);
}

#[test]
fn a_threshold_is_a_positive_number() {
    for threshold in ["0", "-1", "-1e-3", "nan", "inf", "-inf"] {
        refused(
            &format!("solve missing.csv --threshold {threshold} --output new.txt"),
            &["`threshold` must be finite and positive, got "],
        );
    }
    refused("solve missing.csv --threshold abc", &["'abc'", "--threshold", "expected a number"]);
    for method in ["paper", "paper-random"] {
        refused(
            &format!("solve missing.csv --method {method}"),
            &[&format!("method `{method}` needs a `threshold`"), "in target units", "standard deviations"],
        );
    }
}

#[test]
fn other_numbers_have_their_ranges() {
    for (option, value, words) in [
        ("--threads", "0", "`threads` must be at least 1"),
        ("--threads", "-2", "whole number that is not negative"),
        ("--threads", "two", "whole number that is not negative"),
        ("--batch", "0", "`batch` must be at least 1"),
        ("--batch", "-1", "whole number that is not negative"),
        ("--hypothesis-limit", "0", "`hypothesis_limit` must be at least 1"),
        ("--min-inliers", "0", "`min_inliers` must be at least 1"),
        ("--min-inlier-fraction", "1.5", "between 0 and 1, got 1.5"),
        ("--min-inlier-fraction", "-0.5", "between 0 and 1, got -0.5"),
        ("--min-inlier-fraction", "x", "expected a number"),
        ("--epsilon", "0", "`epsilon` must be"),
        ("--grid-step", "-1", "`grid_step` must be"),
        ("--time-limit", "0", "`time_limit` must be finite and positive, got 0"),
        ("--time-limit", "-1", "`time_limit` must be finite and positive, got -1"),
        ("--time-limit", "nan", "`time_limit` must be finite and positive, got NaN"),
        ("--seed", "-1", "whole number"),
        ("--seed", "1.5", "whole number"),
        ("--memory-budget", "much", "whole number"),
    ] {
        refused(&format!("solve missing.csv --method paper --threshold 1 {option} {value}"), &[words]);
    }
    for (option, value, words) in [
        ("--candidates", "0", "`candidates` must be at least 1"),
        ("--effort", "0", "`effort` must be at least 1"),
        ("--effort", "much", "whole number that is not negative"),
        ("--miss-probability", "0.6", "`miss_probability` must be between"),
        ("--miss-probability", "0", "`miss_probability` must be"),
    ] {
        refused(&format!("solve missing.csv {option} {value}"), &[words]);
    }
    for (args, words) in [
        ("--outliers 1.5", "from 0 to 1, got 1.5: write 99 % as 0.99"),
        ("--outliers 99", "write 99 % as 0.99"),
        ("--outliers -0.1", "from 0 to 1, got -0.1"),
        ("--outliers nan", "from 0 to 1, got NaN"),
        ("--outliers most", "expected a number"),
        ("--points 2", "at least 3 points, got 2"),
        ("--points 99999999999", "at most 100000000 points, got 99999999999: ask for fewer"),
        ("--points 18446744073709551615", "at most 100000000 points"),
        ("--points -5", "expected a whole number"),
        ("--points 2.5", "expected a whole number"),
    ] {
        refused(&format!("simulate --output new.csv {args}"), &[words]);
        refused(&format!("demo {args}"), &[words]);
    }
    refused("simulate --noise -1", &["noise", "at least 0, got -1"]);
    refused("simulate --noise nan", &["noise", "at least 0, got NaN"]);
    refused("simulate --noise inf", &["noise", "finite"]);
    refused("demo --time-limit 0", &["`time_limit` must be finite and positive, got 0"]);
}

/// An option that would do nothing is not passed over in silence.
#[test]
fn options_of_the_paper_are_for_its_methods() {
    for option in [
        "--epsilon 0.2",
        "--grid-step 0.2",
        "--batch 100",
        "--min-inliers 12",
        "--min-inlier-fraction 0.1",
        "--hypothesis-limit 1000",
    ] {
        let name = option.split(' ').next().expect("a name").trim_start_matches('-').replace('-', "_");
        for method in ["", "--method default"] {
            refused(
                &format!("solve missing.csv {method} {option}"),
                &[&format!(
                    "`{name}` is a parameter of the paper's methods: remove it, or set `method` to `paper`"
                )],
            );
        }
        for method in ["paper", "paper-random"] {
            let args = format!("solve missing.csv --method {method} --threshold 1 {option}");
            Place::new().run(&args).refused(&["cannot read `missing.csv`"]);
        }
    }
    for option in ["--candidates 2", "--effort 9", "--miss-probability 0.1"] {
        let name = option.split(' ').next().expect("a name").trim_start_matches('-').replace('-', "_");
        let message = format!(
            "`{name}` is a parameter of the default method: remove it, or remove `method` (`ransac`)"
        );
        refused(&format!("solve missing.csv --method ransac --threshold 1 {option}"), &[&message]);
        Place::new().run(&format!("solve missing.csv {option}")).refused(&["cannot read `missing.csv`"]);
    }
    let shared = "--memory-budget 10 --threads 2 --seed 1 --time-limit 1";
    Place::new().run(&format!("solve missing.csv {shared}")).refused(&["cannot read `missing.csv`"]);
}

#[test]
fn unknown_words_are_named_with_what_there_is() {
    refused("solve missing.csv --threshold 1 --treshold 2", &["'--treshold'", "similar", "'--threshold'"]);
    refused("--bogus", &["'--bogus'", "Usage: pcr99"]);
    refused("slove missing.csv", &["'slove'", "similar", "'solve'"]);
    refused("solve missing.csv --method best", &["'best'", "--method", "default, paper, paper-random"]);
    refused("solve missing.csv --format yaml", &["'yaml'", "--format", "summary, json, matrix"]);
    refused("solve a.csv b.csv --threshold 1", &["'b.csv'"]);
    refused("simulate --shape teapot", &["`teapot`", "cube, sphere, knot", "nor a file"]);
    refused("simulate --outlier-center left", &["'left'", "centred, offset"]);
    refused("completions tcsh", &["'tcsh'", "bash", "zsh"]);
    refused("completions", &["<SHELL>"]);
}

#[test]
fn matches_come_from_one_place() {
    refused("solve", &["<PAIRS>", "--source <CLOUD> --target <CLOUD> --indices <FILE>"]);
    refused("solve --threshold 1", &["<PAIRS>"]);
    refused("solve --threshold 1 --source a.ply", &["--target", "--indices"]);
    refused("solve --threshold 1 --source a.ply --target b.ply", &["--indices"]);
    refused("solve --threshold 1 --indices i.txt", &["--source", "--target"]);
    refused("solve m.csv --source a.ply --target b.ply --indices i.txt", &["cannot be used with"]);
    for (option, args) in [
        ("--source", "--source - --target b.ply --indices i.txt"),
        ("--target", "--source a.ply --target - --indices i.txt"),
        ("--indices", "--source a.ply --target b.ply --indices -"),
    ] {
        refused(
            &format!("solve --threshold 1 {args}"),
            &[option, "must be a file: only PAIRS can be standard input"],
        );
    }
    refused(
        "solve m.csv --threshold 1 --json --format matrix",
        &["--json", "--format", "cannot be used with"],
    );
    refused("solve m.csv --threshold 1 --quiet --verbose", &["--verbose", "cannot be used with"]);
}
