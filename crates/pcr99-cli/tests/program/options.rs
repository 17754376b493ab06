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
    for scale in ["0", "-1", "-0.0", "nan", "inf", "abc", "1,5", "", "Unknown"] {
        let args = format!("solve missing.csv --scale={scale}");
        refused(&args, &[&format!("'{scale}'"), "--scale", "expected `unknown`, a positive number, or "]);
    }
    refused("solve missing.csv --threshold 1 --scale -1", &["'-1'", "positive number"]);
    for scale in ["0", "-1", "nan", "inf"] {
        refused(&format!("simulate --scale {scale}"), &["scale must be finite and above 0"]);
    }
    refused("simulate --scale abc", &["--scale", "`abc`", "`random`"]);
}

#[test]
fn a_range_of_scales_is_two_positive_numbers_in_order() {
    for range in ["a..b", "1..", "..2", "..", "0..2", "-1..2", "1..inf", "nan..2", "1..=2", "1..2..3"] {
        refused(
            &format!("solve missing.csv --scale={range}"),
            &[&format!("'{range}'"), "--scale", "two of them as MIN..MAX"],
        );
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
            &[&format!("method `{method}` takes no range for --scale"), "`unknown`", "leave out --method"],
        );
    }
    // In order, so that the next to be looked at is the file.
    Place::new().run("solve missing.csv --scale 0.5..4").refused(&["cannot read `missing.csv`"]);
}

#[test]
fn a_threshold_is_a_positive_number() {
    for threshold in ["0", "-1", "-1e-3", "nan", "inf", "-inf", "abc"] {
        refused(
            &format!("solve missing.csv --threshold {threshold} --output new.txt"),
            &[&format!("'{threshold}'"), "--threshold", "expected a positive number"],
        );
    }
    for method in ["paper", "paper-random"] {
        refused(
            &format!("solve missing.csv --method {method}"),
            &[&format!("method `{method}` needs --threshold"), "in target units", "standard deviations"],
        );
    }
}

#[test]
fn other_numbers_have_their_ranges() {
    for (option, value, words) in [
        ("--threads", "0", "whole number of at least 1"),
        ("--threads", "-2", "whole number of at least 1"),
        ("--threads", "two", "whole number of at least 1"),
        ("--batch", "0", "whole number of at least 1"),
        ("--batch", "-1", "whole number of at least 1"),
        ("--hypothesis-limit", "0", "whole number of at least 1"),
        ("--min-inliers", "0", "whole number of at least 1"),
        ("--min-inlier-fraction", "1.5", "between 0 and 1, got 1.5"),
        ("--min-inlier-fraction", "-0.5", "between 0 and 1, got -0.5"),
        ("--min-inlier-fraction", "x", "expected a number"),
        ("--epsilon", "0", "positive number"),
        ("--grid-step", "-1", "positive number"),
        ("--time-limit", "0", "positive number"),
        ("--time-limit", "-1", "positive number"),
        ("--time-limit", "nan", "positive number"),
        ("--seed", "-1", "whole number"),
        ("--seed", "1.5", "whole number"),
        ("--memory-budget", "much", "whole number"),
    ] {
        refused(
            &format!("solve missing.csv --method paper --threshold 1 {option} {value}"),
            &[option, words],
        );
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
    refused("demo --time-limit 0", &["--time-limit", "positive number"]);
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
        let name = option.split(' ').next().expect("a name");
        for method in ["", "--method default"] {
            refused(
                &format!("solve missing.csv {method} {option}"),
                &[name, "parameter of the paper's methods", "leave it out", "--method paper"],
            );
        }
        for method in ["paper", "paper-random"] {
            let args = format!("solve missing.csv --method {method} --threshold 1 {option}");
            Place::new().run(&args).refused(&["cannot read `missing.csv`"]);
        }
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
            &[option, "must name a file: only matches can come from standard input"],
        );
    }
    refused(
        "solve m.csv --threshold 1 --json --format matrix",
        &["--json", "--format", "cannot be used with"],
    );
    refused("solve m.csv --threshold 1 --quiet --verbose", &["--verbose", "cannot be used with"]);
}
