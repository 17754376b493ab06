//! Every form in which matches may come: the same numbers give the same answer.

use serde_json::Value;

use super::{
    formats::{npy, npy_with, npz, ply_ascii, ply_binary},
    place::{EXACT, Place, assert_close, exact_matches, inliers, table, timeless, transform},
};

const SOLVE: &str = "solve --threshold 0.01";

/// The answer for [`exact_matches`] as plain text.
fn expected(place: &Place) -> Value {
    place.write("plain.txt", table(&exact_matches(), " ", "\n"));
    let document = place.json(0, &format!("{SOLVE} plain.txt"));
    assert_close(transform(&document), EXACT, 1e-12);
    assert_eq!(inliers(&document), Vec::from_iter(0..12));
    timeless(document)
}

#[test]
fn text_in_every_spelling() {
    let place = Place::new();
    let expected = expected(&place);
    let rows = exact_matches();
    let commas = table(&rows, ",", "\n");
    let by_name: String =
        rows.iter().map(|[sx, sy, sz, tx, ty, tz]| format!("{tz};{ty};{tx};left;{sz};{sy};{sx}\n")).collect();
    for (what, text) in [
        ("commas", commas.clone()),
        ("comma and space", table(&rows, ", ", "\n")),
        ("tabs", table(&rows, "\t", "\n")),
        ("semicolons", table(&rows, ";", "\n")),
        ("many spaces", table(&rows, "    ", " \n")),
        ("exponents", rows.iter().map(|row| row.map(|x| format!("{x:e}")).join(" ") + "\n").collect()),
        ("carriage returns", table(&rows, ",", "\r\n")),
        ("blank lines", format!("\n\n{}\n\n", table(&rows, ",", "\n\n"))),
        ("blank lines with carriage returns", table(&rows, ",", "\r\n\r\n")),
        ("no end of the last line", commas.trim_end().to_owned()),
        ("a header", format!("sx,sy,sz,tx,ty,tz\n{commas}")),
        (
            "a header with carriage returns",
            format!("sx\tsy\tsz\ttx\tty\ttz\r\n{}", table(&rows, "\t", "\r\n")),
        ),
        ("a header with other names", format!("a,b,c,d,e,f\n{commas}")),
        ("a header in another order", format!("tz;ty;tx;camera;sz;sy;sx\n{by_name}")),
        ("comments", format!("# made by hand\n{commas}// the end\n")),
        ("a byte order mark", format!("\u{feff}{commas}")),
    ] {
        place.write("m.csv", &text);
        for ran in [
            place.run(&format!("{SOLVE} m.csv --json")),
            place.run_on(text.as_bytes(), &format!("{SOLVE} - --json")),
        ] {
            assert_eq!((ran.status, ran.err.as_str()), (Some(0), ""), "{what}");
            assert_eq!(timeless(ran.json()), expected, "{what}");
        }
    }
}

#[test]
fn arrays_and_archives() {
    let place = Place::new();
    let expected = expected(&place);
    let rows = exact_matches();
    let source: Vec<[f64; 3]> = rows.iter().map(|r| [r[0], r[1], r[2]]).collect();
    let target: Vec<[f64; 3]> = rows.iter().map(|r| [r[3], r[4], r[5]]).collect();
    let halves: Vec<u8> = rows.as_flattened().iter().flat_map(|&x| (x as f32).to_be_bytes()).collect();
    for (name, bytes) in [
        ("m.npy", npy(&rows)),
        ("f4.npy", npy_with(">f4", "(12, 6)", &halves)),
        ("m.npz", npz(&[("src", npy(&source)), ("dst", npy(&target))])),
        ("n.npz", npz(&[("target", npy(&target)), ("source", npy(&source)), ("other", npy(&[[0.0]]))])),
    ] {
        place.write(name, bytes);
        let ran = place.run(&format!("{SOLVE} {name} --json"));
        assert_eq!((ran.status, ran.err.as_str()), (Some(0), ""), "{name}");
        assert_eq!(timeless(ran.json()), expected, "{name}");
    }
}

/// Equal standard deviations change nothing; those that differ are for the default method; bad ones are named.
#[test]
fn standard_deviations_are_used_or_refused() {
    let place = Place::new();
    let expected = expected(&place);
    let with = |sigma: &dyn Fn(usize) -> f64| -> Vec<[f64; 7]> {
        let row = |(i, &[a, b, c, d, e, f]): (usize, &[f64; 6])| [a, b, c, d, e, f, sigma(i)];
        exact_matches().iter().enumerate().map(row).collect()
    };
    let write = |name: &str, rows: &[[f64; 7]]| {
        place.write(&format!("{name}.csv"), format!("sx,sy,sz,tx,ty,tz,sigma\n{}", table(rows, ",", "\n")));
        let side = |from: usize| rows.iter().map(move |row| [row[from], row[from + 1], row[from + 2]]);
        let (source, target): (Vec<[f64; 3]>, Vec<[f64; 3]>) = (side(0).collect(), side(3).collect());
        let sigma: Vec<[f64; 1]> = rows.iter().map(|row| [row[6]]).collect();
        let arrays = [("src", npy(&source)), ("dst", npy(&target)), ("sigma", npy(&sigma))];
        place.write(&format!("{name}.npz"), npz(&arrays));
    };
    write("equal", &with(&|_| 0.5));
    write("differing", &with(&|i| 0.1 + i as f64));
    write("bad", &with(&|i| 3.0 - i as f64));
    for form in ["csv", "npz"] {
        let document = place.json(0, &format!("{SOLVE} equal.{form}"));
        assert_eq!(timeless(document), expected, "{form}");
        let document = place.json(0, &format!("{SOLVE} differing.{form}"));
        assert_close(transform(&document), EXACT, 1e-12);
        assert_eq!(inliers(&document), Vec::from_iter(0..12));
        for method in ["paper", "ransac"] {
            let ran = place.run(&format!("{SOLVE} differing.{form} --method {method}"));
            ran.refused(&["equally precise", "remove the standard deviations, or use the default method"]);
        }
        let words = [&format!("`bad.{form}`"), "the standard deviation of match 3 (counted from 0) is 0"];
        place.run(&format!("{SOLVE} bad.{form}")).refused(&words);
    }
}

#[test]
fn weights_are_used_or_noted() {
    let place = Place::new();
    let expected = expected(&place);
    let paper = "solve --threshold 0.01 --method paper";
    let expected_paper = timeless(place.json(0, &format!("{paper} plain.txt")));
    let rows: Vec<[f64; 7]> =
        exact_matches().iter().map(|&[a, b, c, d, e, f]| [a, b, c, d, e, f, 0.5]).collect();
    let source: Vec<[f64; 3]> = rows.iter().map(|r| [r[0], r[1], r[2]]).collect();
    let target: Vec<[f64; 3]> = rows.iter().map(|r| [r[3], r[4], r[5]]).collect();
    let weights = npy(&[[0.5]; 12]);
    place.write("w.csv", format!("sx,sy,sz,tx,ty,tz,weight\n{}", table(&rows, ",", "\n")));
    place.write("w.txt", table(&rows, " ", "\n"));
    place.write("w.npy", npy(&rows));
    place.write("w.npz", npz(&[("src", npy(&source)), ("dst", npy(&target)), ("weights", weights)]));
    for name in ["w.csv", "w.txt", "w.npy", "w.npz"] {
        let ran = place.run(&format!("{SOLVE} {name} --json")).with_status(0);
        assert_eq!((timeless(ran.json()), ran.err.as_str()), (expected.clone(), ""), "{name}");
        let ran = place.run(&format!("{paper} {name} --json")).with_status(0);
        assert_eq!(timeless(ran.json()), expected_paper, "{name}");
        assert_eq!(ran.err, "note: method `paper` does not use the weights of the matches\n", "{name}");
        let quiet = place.run(&format!("{paper} {name} --json -q")).with_status(0);
        assert_eq!((timeless(quiet.json()), quiet.err.as_str()), (expected_paper.clone(), ""), "{name}");
    }

    // Weights that differ change the order of the search, not what is true.
    let rows: Vec<[f64; 7]> = (0..)
        .zip(rows)
        .map(|(i, row)| [&row[..6], &[f64::from(i)]].concat())
        .map(|row| row.try_into().expect("seven"))
        .collect();
    place.write("w.csv", table(&rows, ",", "\n"));
    let document = place.json(0, &format!("{SOLVE} w.csv"));
    assert_close(transform(&document), EXACT, 1e-12);
    assert_eq!(inliers(&document), Vec::from_iter(0..12));
}

/// Clouds in another order than the matches, with points that no match names, some of them without a place.
#[test]
fn index_pairs_into_clouds_of_every_format() {
    let place = Place::new();
    let expected = expected(&place);
    let rows = exact_matches();
    let nowhere = [f64::NAN, f64::NAN, f64::NAN];
    let mut source = vec![nowhere, [100.0, 200.0, 300.0]];
    source.extend(rows.iter().rev().map(|r| [r[0], r[1], r[2]]));
    let mut target: Vec<[f64; 3]> = rows.iter().map(|r| [r[3], r[4], r[5]]).collect();
    target.extend([nowhere, [-50.0, 60.0, 70.0]]);
    let pairs: Vec<[f64; 2]> = (0..12).map(|i| [f64::from(13 - i), f64::from(i)]).collect();

    place.write("a.xyz", table(&source, " ", "\r\n"));
    place.write("b.csv", format!("x,y,z\n{}", table(&target, ",", "\n")));
    place.write("a.ply", ply_ascii(&source));
    place.write("b.ply", ply_binary(&target, true));
    place.write("a_big.ply", ply_binary(&source, false));
    place.write("b.npy", npy(&target));
    place.write("i.txt", table(&pairs, " ", "\n"));
    place.write("i.csv", format!("source,target\r\n{}\r\n", table(&pairs, ",", "\r\n")));
    let whole: Vec<u8> = pairs.as_flattened().iter().flat_map(|&i| (i as i64).to_le_bytes()).collect();
    place.write("i.npy", npy_with("<i8", "(12, 2)", &whole));
    let clouds = [source, target];
    for (source, target, indices) in [
        ("a.xyz", "b.csv", "i.txt"),
        ("a.ply", "b.ply", "i.csv"),
        ("a_big.ply", "b.npy", "i.npy"),
        ("a.xyz", "b.ply", "i.npy"),
    ] {
        let args = format!("{SOLVE} --source {source} --target {target} --indices {indices} --json");
        let ran = place.run(&args);
        // Organised scans have points that are nowhere. They are told of, once for each cloud that has any.
        let note = |cloud: &str, points: &[[f64; 3]]| match points.iter().filter(|p| p[0].is_nan()).count() {
            0 => String::new(),
            1 => format!("note: `{cloud}` has 1 non-finite point; no index pair uses it\n"),
            n => format!("note: `{cloud}` has {n} non-finite points; no index pair uses them\n"),
        };
        let notes = note(source, &clouds[0]) + &note(target, &clouds[1]);
        assert_eq!((ran.status, ran.err.as_str()), (Some(0), notes.as_str()), "{args}");
        assert!(notes.contains("non-finite"));
        assert_eq!(timeless(ran.json()), expected, "{args}");
        assert_eq!(place.run(&format!("{args} --quiet")).err, "");
    }
}
