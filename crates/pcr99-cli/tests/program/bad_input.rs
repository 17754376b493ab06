//! Bad input of every kind: status 2, a message that names the place and the remedy, and no file touched.

use super::{
    formats::{npy, npy_with, npz, ply_ascii, ply_binary, ply_header},
    place::{Place, exact_matches, table},
};

/// Refused with `words`, and neither a new nor an old output file changes. `args` is what names the input.
#[track_caller]
fn refused(place: &Place, what: &str, args: &str, input: &[u8], words: &[&str]) {
    let solve = format!("solve {args} --threshold 0.01");
    let ran = place.run_on(input, &solve);
    assert_eq!(ran.status, Some(2), "{what}: {ran:?}");
    ran.refused(words);
    place.run_on(input, &format!("{solve} --json")).refused(words);
    place.write("kept.txt", "as it was");
    let before = place.listing();
    place.run_on(input, &format!("{solve} --output new.txt")).refused(words);
    place.run_on(input, &format!("{solve} --output kept.txt")).refused(words);
    assert_eq!((place.listing(), place.read("kept.txt").as_str()), (before, "as it was"));
}

/// Bytes that are no format at all.
fn garbage() -> Vec<u8> {
    (0..4000_u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8 | 0x80).collect()
}

/// The first matches, with one value replaced.
fn with_value(row: usize, column: usize, value: f64) -> Vec<[f64; 6]> {
    let mut rows = exact_matches();
    rows[row][column] = value;
    rows
}

/// On one side the same point, or points on a line, in all matches; the other side is in order.
fn degenerate(side: usize, point: impl Fn(f64) -> [f64; 3]) -> Vec<[f64; 6]> {
    let mut rows = exact_matches();
    for (i, row) in rows.iter_mut().enumerate() {
        row[3 * side..3 * side + 3].copy_from_slice(&point(i as f64));
    }
    rows
}

fn equal(side: usize) -> Vec<[f64; 6]> {
    degenerate(side, |_| [0.1, 0.2, 0.3])
}

fn collinear(side: usize) -> Vec<[f64; 6]> {
    degenerate(side, |i| [0.1 * i, 5.0 - 0.3 * i, 7.0 + 0.7 * i])
}

fn halves(rows: &[[f64; 6]]) -> [Vec<[f64; 3]>; 2] {
    let half = |from: usize| rows.iter().map(|row| [row[from], row[from + 1], row[from + 2]]).collect();
    [half(0), half(3)]
}

#[test]
fn text_from_a_file_and_from_standard_input() {
    let good = table(&exact_matches(), " ", "\n");
    let text = |rows: &[[f64; 6]]| table(rows, " ", "\n").into_bytes();
    let cases: Vec<(&str, Vec<u8>, &[&str])> = vec![
        (
            "five columns",
            b"1 2 3 4 5\n".to_vec(),
            &["line 1", "5 column", "6 are needed (sx sy sz tx ty tz)"],
        ),
        ("eight columns", b"\n1 2 3 4 5 6 7 8\n".to_vec(), &["line 2", "8 column", "remove others"]),
        ("a longer row", format!("{good}1 2 3 4 5 6 7\n").into_bytes(), &["line 13", "7 column", "have 6"]),
        (
            "a shorter row",
            b"1,2,3,4,5,6\r\n\r\n1,2,3\r\n".to_vec(),
            &["line 3", "3 column", "complete or remove this row"],
        ),
        (
            "NaN",
            text(&with_value(1, 2, f64::NAN)),
            &["line 2, column 3", "NaN", "remove this match or correct it"],
        ),
        (
            "infinity",
            text(&with_value(4, 5, f64::INFINITY)),
            &["line 5, column 6", "inf", "not a finite number"],
        ),
        (
            "a word",
            good.replacen("7 1 2", "7 1 two", 1).into_bytes(),
            &["line 2, column 3", "`two`", "correct"],
        ),
        ("an empty field", b"1,2,3,4,5,6\n1,2,,4,5,6\n".to_vec(), &["line 2, column 3", "empty", "complete"]),
        ("a decimal comma", b"1,5;2;3;4;5;6\n".to_vec(), &["line 1", "`1,5`", "decimals with a point"]),
        ("one match", b"1 2 3 4 5 6\n".to_vec(), &["1 match", "at least 3 are needed"]),
        ("two matches", b"1 2 3 4 5 6\n2 3 4 5 6 8\n".to_vec(), &["2 matches", "at least 3 are needed"]),
        ("equal sources", text(&equal(0)), &["all source points are equal"]),
        ("equal targets", text(&equal(1)), &["all target points are equal"]),
        ("sources on a line", text(&collinear(0)), &["all source points lie on one line", "add matches"]),
        ("targets on a line", text(&collinear(1)), &["all target points lie on one line", "add matches"]),
        ("nothing", Vec::new(), &["is empty", "rows of numbers"]),
        ("blank lines", b"\n\r\n  \n".to_vec(), &["is empty", "rows of numbers"]),
        ("a header", b"sx,sy,sz,tx,ty,tz\n".to_vec(), &["no rows of numbers below the header"]),
        ("half a header", b"sx sy sz a b c\n1 2 3 4 5 6\n".to_vec(), &["line 1", "`sx`", "no `tx`"]),
        ("garbage", garbage(), &["byte 0", "not text", "UTF-8"]),
        ("garbage after text", [good.as_bytes(), &garbage()].concat(), &["byte ", "not text", "UTF-8"]),
        ("zeros", vec![0; 1000], &["byte 0", "not text"]),
        ("one long line", b"1 ".repeat(1 << 20), &["line 1", "longer than", "one row on each line"]),
        ("an array", npy(&exact_matches()), &["not a table of text", "NumPy"]),
        ("a PLY file", ply_ascii(&[[0.0; 3]]), &["not a table of text", "PLY"]),
    ];
    let place = Place::new();
    for (what, bytes, words) in cases {
        place.write("bad-matches.csv", &bytes);
        refused(&place, what, "bad-matches.csv", b"", &[words, &["`bad-matches.csv`"]].concat());
        refused(&place, what, "-", &bytes, &[words, &["standard input"]].concat());
    }
}

#[test]
fn arrays() {
    let five: Vec<[f64; 5]> = exact_matches().iter().map(|&[a, b, c, d, e, _]| [a, b, c, d, e]).collect();
    let cases: Vec<(&str, Vec<u8>, &[&str])> = vec![
        ("five columns", npy(&five), &["shape 12×5", "N×6 (sx sy sz tx ty tz)"]),
        ("6×N", npy_with("<f8", "(6, 12)", &[0; 576]), &["shape 6×12", "transposed", "(.T)"]),
        ("one axis", npy_with("<f8", "(12,)", &[0; 96]), &["shape", "N×6"]),
        (
            "NaN",
            npy(&with_value(3, 4, f64::NAN)),
            &["row 3, column 4 (counted from 0)", "NaN", "remove this match"],
        ),
        ("infinity", npy(&with_value(0, 0, -f64::INFINITY)), &["row 0, column 0", "-inf"]),
        ("two matches", npy(&exact_matches()[..2]), &["2 matches", "at least 3 are needed"]),
        ("equal sources", npy(&equal(0)), &["all source points are equal"]),
        ("targets on a line", npy(&collinear(1)), &["all target points lie on one line"]),
        ("no rows", npy(&[[0.0; 6]; 0]), &["no matches in it"]),
        ("no bytes", Vec::new(), &["not a NumPy array", "numpy.save"]),
        ("garbage", garbage(), &["not a NumPy array", "numpy.save"]),
        ("objects", npy_with("|O", "(3, 6)", &[0; 144]), &["|O", "save it as an array of floats"]),
        (
            "an absurd shape",
            npy_with("<f8", "(99999999999, 6)", &[0; 48]),
            &["ends too early", "48 are there"],
        ),
        ("a shape beyond memory", npy_with("<f8", "(18446744073709551615, 6)", &[0; 48]), &["`bad.npy`"]),
        ("an early end", npy(&exact_matches())[..300].to_vec(), &["ends too early", "truncated"]),
        ("a damaged header", npy_with("<f8", "(", &[]), &["header of the array is damaged"]),
    ];
    let place = Place::new();
    for (what, bytes, words) in cases {
        place.write("bad.npy", &bytes);
        refused(&place, what, "bad.npy", b"", &[words, &["`bad.npy`"]].concat());
    }
}

#[test]
fn archives() {
    let pair = |rows: &[[f64; 6]]| {
        let [source, target] = halves(rows);
        npz(&[("src", npy(&source)), ("dst", npy(&target))])
    };
    let [source, target] = halves(&exact_matches());
    let src = ("src", npy(&source));
    let pairs: Vec<[f64; 2]> = source.iter().map(|p| [p[0], p[1]]).collect();
    let absurd = npy_with("<f8", "(99999999999, 3)", &[0; 24]);
    let cases: Vec<(&str, Vec<u8>, &[&str])> = vec![
        ("one array", npz(std::slice::from_ref(&src)), &["no array `dst`", "numpy.savez"]),
        (
            "unequal lengths",
            npz(&[src.clone(), ("dst", npy(&target[1..]))]),
            &["12 source points but 11 target points", "row i of one must match row i of the other"],
        ),
        ("two columns", npz(&[src.clone(), ("dst", npy(&pairs))]), &["array `dst`", "shape 12×2", "N×3"]),
        (
            "too many weights",
            npz(&[src.clone(), ("dst", npy(&target)), ("weights", npy(&[[1.0]; 13]))]),
            &["array `weights`", "13 weights for 12 matches"],
        ),
        (
            "NaN",
            pair(&with_value(5, 4, f64::NAN)),
            &["array `dst`, row 5, column 1", "NaN", "remove this match"],
        ),
        ("two matches", pair(&exact_matches()[..2]), &["2 matches", "at least 3 are needed"]),
        ("equal targets", pair(&equal(1)), &["all target points are equal"]),
        ("sources on a line", pair(&collinear(0)), &["all source points lie on one line"]),
        ("no rows", pair(&[]), &["no matches in it"]),
        ("no bytes", Vec::new(), &["not a NumPy archive", "numpy.savez"]),
        ("garbage", garbage(), &["not a NumPy archive", "numpy.savez"]),
        ("an early end", pair(&exact_matches())[..500].to_vec(), &["not a NumPy archive", "end is missing"]),
        ("an absurd shape", npz(&[src.clone(), ("dst", absurd)]), &["array `dst`", "ends too early"]),
    ];
    let place = Place::new();
    for (what, bytes, words) in cases {
        place.write("bad.npz", &bytes);
        refused(&place, what, "bad.npz", b"", &[words, &["`bad.npz`"]].concat());
    }
}

#[test]
fn clouds() {
    let [source, _] = halves(&exact_matches());
    let no_z = "ply\nformat ascii 1.0\nelement vertex 1\nproperty int x\nproperty int y\nend_header\n1 2\n";
    let faces = "ply\nformat ascii 1.0\nelement face 1\nproperty list uchar int i\nend_header\n1 2\n";
    let few = ply_header("ascii", "12").into_bytes();
    let cases: Vec<(&str, Vec<u8>, &[&str])> = vec![
        ("bad.ply", garbage(), &["not a PLY file"]),
        ("bad.ply", Vec::new(), &["not a PLY file"]),
        ("bad.ply", no_z.into(), &["no property `z`", "export the file with x, y and z"]),
        ("bad.ply", faces.into(), &["no element `vertex`"]),
        ("bad.ply", ply_header("ascii", "0").into(), &["no points in it"]),
        ("bad.ply", [few.as_slice(), b"1 2 3\n1 2\n"].concat(), &["line 9", "too few values"]),
        ("bad.ply", [few.as_slice(), b"1 2 3\n1 two 3\n"].concat(), &["line 9", "`two`"]),
        ("bad.ply", [few.as_slice(), b"1 2 3\n"].concat(), &["ends after 1 of 12", "truncated"]),
        ("bad.ply", ply_binary(&source, true)[..200].to_vec(), &["of 12", "truncated"]),
        (
            "bad.ply",
            ply_header("binary_little_endian", "99999999999").into(),
            &["of 99999999999", "truncated"],
        ),
        ("bad.ply", ply_header("ascii", "99999999999").into(), &["of 99999999999", "truncated"]),
        ("bad.ply", ply_header("ascii", "-1").into(), &["line 3"]),
        ("bad.npy", garbage(), &["not a NumPy array"]),
        ("bad.npy", npy_with("<f8", "(3, 12)", &[0; 288]), &["transposed"]),
        ("bad.npy", npy_with("<f8", "(99999999999, 3)", &[0; 24]), &["ends too early"]),
        ("bad.xyz", garbage(), &["byte 0", "not text"]),
        ("bad.xyz", Vec::new(), &["is empty"]),
        ("bad.xyz", b"1 2\n".to_vec(), &["line 1", "2 column", "at least 3"]),
        ("bad.xyz", b"1 2 3\n1 2 3 4\n".to_vec(), &["line 2", "4 column"]),
    ];
    let place = Place::new();
    place.write("good.ply", ply_ascii(&source));
    place.write("i.txt", "0 0\n1 1\n2 2\n");
    for (name, bytes, words) in cases {
        place.write(name, &bytes);
        let label = format!("`{name}`");
        let words = [words, &[label.as_str()]].concat();
        refused(&place, name, &format!("--source {name} --target good.ply --indices i.txt"), b"", &words);
        refused(&place, name, &format!("--source good.ply --target {name} --indices i.txt"), b"", &words);
    }
}

#[test]
fn index_pairs() {
    let [source, mut target] = halves(&exact_matches());
    target[7][1] = f64::NAN;
    target.push([1.0, 2.0, 3.0]);
    let line: Vec<[f64; 3]> = (0..12).map(|i| [f64::from(i), 0.0, 0.0]).collect();
    let place = Place::new();
    place.write("a.ply", ply_binary(&source, true));
    place.write("b.xyz", table(&target, " ", "\n"));
    place.write("line.xyz", table(&line, " ", "\n"));
    place.write("bad.npy", npy_with("<i4", "(3, 3)", &[0; 36]));
    let cases: Vec<(&str, &[&str])> = vec![
        ("0 0\n1 1\n12 2\n", &["index pair 2", "source point 12", "there are only 12"]),
        ("0 0\n1 13\n2 2\n", &["index pair 1", "target point 13", "there are only 13"]),
        ("0 0\n1 1\n2 2\n3 3\n7 7\n", &["match 4", "target coordinate that is not finite", "remove it"]),
        ("0 0\n-1 1\n", &["line 2, column 1", "index -1 is negative", "count from 0"]),
        ("0 0\n1 1.5\n", &["line 2, column 2", "1.5 is not an index"]),
        ("0 0\n1 nan\n", &["line 2, column 2", "not an index"]),
        ("0 0 0\n", &["line 1", "3 column", "2 are needed"]),
        ("0 0\n1\n", &["line 2", "1 column"]),
        ("0\n1\n", &["line 1", "1 column", "2 are needed"]),
        ("0 0\n1 1\n", &["2 matches", "at least 3 are needed"]),
        ("5 0\n5 1\n5 2\n5 3\n", &["all source points are equal"]),
        ("", &["is empty"]),
        ("source,target\n", &["no rows of numbers below the header"]),
        ("\u{0}\u{1}", &["byte 0", "not text"]),
    ];
    for (text, words) in cases {
        place.write("i.txt", text);
        let words = [words, &["`i.txt`"]].concat();
        refused(&place, text, "--source a.ply --target b.xyz --indices i.txt", b"", &words);
    }
    place.write("i.txt", "0 0\n1 1\n2 2\n3 3\n");
    let words = ["`i.txt`", "all source points lie on one line"];
    refused(&place, "a line", "--source line.xyz --target b.xyz --indices i.txt", b"", &words);
    let words = ["`bad.npy`", "shape 3×3", "N×2"];
    refused(&place, "three columns", "--source a.ply --target b.xyz --indices bad.npy", b"", &words);
}

#[test]
fn files_that_cannot_be_read() {
    let place = Place::new();
    place.write("a.xyz", "0 0 0\n1 0 0\n0 1 0\n");
    place.write("i.txt", "0 0\n1 1\n2 2\n");
    std::fs::create_dir(place.path("folder.csv")).expect("a directory");
    for name in ["missing.csv", "missing.npy", "missing.npz", "no/such/folder.csv"] {
        let ran = place.run(&format!("solve {name} --threshold 1"));
        ran.refused(&[&format!("cannot read `{name}`: ")]);
        // The cause once, not once per layer of the program.
        assert_eq!(ran.err.matches("os error").count(), 1, "{}", ran.err);
    }
    let words = ["cannot read `folder.csv`", "it is a directory", "name a file inside it"];
    refused(&place, "a directory", "folder.csv", b"", &words);
    for (args, name) in [
        ("--source missing.ply --target a.xyz --indices i.txt", "missing.ply"),
        ("--source a.xyz --target missing.xyz --indices i.txt", "missing.xyz"),
        ("--source a.xyz --target a.xyz --indices missing.txt", "missing.txt"),
    ] {
        refused(&place, name, args, b"", &[&format!("cannot read `{name}`: ")]);
    }
}
