//! Manifests, and the messages about mistakes in them.

use pcr99_batch::{Error, Input, Manifest, Row, Settings};
use proptest::{collection::vec, prelude::*};

fn parse(text: &str, defaults: &Settings) -> Result<Manifest, Error> {
    Manifest::parse(text.as_bytes(), "`pairs.csv`", "/data".into(), defaults)
}

fn refused(text: &str) -> String {
    parse(text, &Settings::default()).expect_err(text).to_string()
}

fn defaults(cells: &[(&str, &str)]) -> Settings {
    let mut settings = Settings::default();
    for (name, text) in cells {
        settings.set(name, text).expect("a value");
    }
    settings
}

#[test]
fn mistakes_are_named_with_their_line_before_any_work() {
    let header = "pair_id,source,target,scale\n";
    for (text, message) in [
        ("", "`pairs.csv`: it contains no pairs; it needs a header"),
        ("pair_id,pairs\n", "`pairs.csv`: it contains no pairs"),
        (
            "PAR1\u{15}\u{4}",
            "`pairs.csv`: this is a Parquet file: save it as CSV, or use `pcr99.batch` in Python",
        ),
        ("PK\u{3}\u{4}", "`pairs.csv`: this is a spreadsheet or an archive: save it as CSV"),
        (
            "id,pairs\na,b\n",
            "`pairs.csv`, line 1: column `id` is unknown; the columns are pair_id, source, target, pairs, scale",
        ),
        ("pair_id,pairs,treshold\na,b,1\n", "line 1: column `treshold` is unknown"),
        (",pair_id,pairs\n0,a,b\n", "line 1: a column has no name"),
        ("Pair ID,pairs\na,b\n", "line 1: column `Pair ID` is unknown; did you mean `pair_id`?"),
        ("pair_id,pairs,time-limit\na,b,1\n", "did you mean `time_limit`?"),
        ("pairs\na\n", "line 1: column `pair_id` is missing in the header (pairs)"),
        ("pair_id\na\n", "line 1: column `pairs` is missing"),
        ("pair_id,source\na,b\n", "line 1: column `target` is missing"),
        ("pair_id,target\na,b\n", "line 1: column `source` is missing"),
        ("pair_id,pairs,pairs\na,b,c\n", "line 1: there are two columns `pairs`"),
        (&format!("{header}a,b,c\n"), "line 2: the row has 3 cells, but the header has 4"),
        (&format!("{header}a,b,c,1\n\na,d,e,1\n"), "line 4: `pair_id` is `a`, which line 2 already has"),
        (&format!("{header},b,c,1\n"), "line 2: `pair_id` is empty"),
        (&format!("{header}a,,c,1\n"), "line 2: pair `a`: give either `source` and `target`, or `pairs`"),
        ("pair_id,source,target,pairs\na,b,c,d\n", "line 2: pair `a`: give either"),
        (
            &format!("{header}a,b,c,\nb,b,c,big\n"),
            "line 3: pair `b`: `scale` is `big`: expected `unknown`, a positive number",
        ),
        ("pair_id,pairs,method\na,b,paper\n", "line 2: pair `a`: method `paper` needs a `threshold`"),
        ("pair_id,pairs,voxel\na,b,1\n", "line 2: pair `a`: `voxel` is an option for two clouds"),
        ("pair_id,pairs\na,\"b\n", "line 2: a quote is opened but not closed"),
    ] {
        let error = refused(text);
        assert!(error.contains(message), "{error}");
    }
    let rows = [["a", "b"], ["a", "c"]].map(|row| row.map(str::to_owned).to_vec());
    let error =
        Manifest::from_rows(&["pair_id", "pairs"], rows, "the table", "/data".into(), &Settings::default());
    let error = error.expect_err("twice").to_string();
    assert!(
        error.starts_with("the table, row 1 (counted from 0): `pair_id` is `a`, which row 0 already has"),
        "{error}"
    );
    let useless =
        parse("pair_id,pairs\na,b\n", &defaults(&[("voxel", "1")])).expect_err("useless").to_string();
    assert_eq!(
        useless,
        "`pairs.csv`: `voxel` is an option for two clouds, but no pair has two clouds: remove it"
    );
    assert!(Manifest::read("/nowhere/pairs.csv".as_ref(), &Settings::default()).is_err());
}

#[test]
fn columns_of_ones_own_and_rows_of_nothing_are_left_out() {
    let plain = parse("pair_id,pairs\na,b\nc,d\n", &Settings::default()).expect("a manifest");
    let text = "_overlap,pair_id,_note,pairs\n,,,\n0.5,a,x,b\n\n,c,\"y,\n z\",d\n,,,\n";
    assert_eq!(parse(text, &Settings::default()).expect("a manifest"), plain);
    assert!(refused("_pair_id,pairs\na,b\n").contains("column `pair_id` is missing"));
    assert!(refused("_a,pair_id,_a,pairs\n1,a,2,b\n").contains("there are two columns `_a`"));
}

#[test]
fn names_may_be_anything() {
    let ids = [
        "a, b",
        "say \"hi\"",
        "<b>&amp;</b>",
        "点群 №7 ü",
        "two\nlines",
        "=1+1",
        " spaces ",
        "#7",
        "-",
        "../x",
    ];
    let quoted = |id: &str| format!("\"{}\"", id.replace('"', "\"\""));
    for (bom, end) in [("", "\n"), ("\u{feff}", "\r\n")] {
        let mut text = format!("{bom}pair_id,pairs{end}");
        for id in ids {
            text += &format!("{},{}{end}", quoted(id), quoted(&format!("dir/{id}.csv")));
        }
        let manifest = parse(&text, &Settings::default()).expect("a manifest");
        for (row, id) in manifest.rows().iter().zip(ids) {
            assert_eq!(&*row.pair_id, id);
            assert_eq!(row.input, Input::Matches { pairs: format!("dir/{id}.csv").into() });
        }
        assert_eq!(manifest.rows().len(), ids.len());
    }
}

#[test]
fn cells_go_before_defaults_and_clouds_and_matches_may_be_mixed() {
    let text = "pair_id;source;target;pairs;seed;voxel\na;x.ply;y.ply;;7;\nb;;;m.npy;;\n";
    let defaults = defaults(&[("seed", "1"), ("voxel", "0.5"), ("threshold", "0.1")]);
    let manifest = parse(text, &defaults).expect("a manifest");
    let settings = |row: usize| manifest.rows()[row].settings.cells();
    assert_eq!(settings(0), [("voxel", "0.5".to_owned()), ("seed", "7".to_owned())]);
    assert_eq!(settings(1), [("threshold", "0.1".to_owned()), ("seed", "1".to_owned())]);
}

#[test]
fn whatever_counts_is_in_the_fingerprint() {
    let row = |text: &str| {
        let manifest = parse(&format!("pair_id,source,target,seed,initial\n{text}\n"), &Settings::default());
        manifest.expect("a manifest").rows()[0].clone()
    };
    let base = std::path::Path::new("/data");
    let one = row("a,b,c,,").fingerprint(base);
    assert_eq!(one, row("a,b,c,,").fingerprint(base));
    assert_eq!(one, row("a,/data/b,c,,").fingerprint(base), "the same file");
    let others = ["z,b,c,,", "a,z,c,,", "a,b,z,,", "a,c,b,,", "a,b,c,0,", "a,b,c,,pose.txt"]
        .map(|text| row(text).fingerprint(base));
    for (place, other) in others.iter().enumerate() {
        assert!(*other != one && !others[..place].contains(other), "{place}");
    }
    assert_ne!(one, row("a,b,c,,").fingerprint("/elsewhere".as_ref()));
}

#[test]
fn pairs_that_share_clouds_are_near_each_other() {
    // All pairs of 60 clouds in an order that jumps about.
    let mut pairs: Vec<(u32, u32)> = (0..60).flat_map(|a| (0..a).map(move |b| (a, b))).collect();
    pairs.sort_by_key(|(a, b)| (a * 37 + b * 101) % 1009);
    let text = pairs
        .iter()
        .fold("pair_id,source,target\n".to_owned(), |t, (a, b)| format!("{t}{a}-{b},c{a},c{b}\n"));
    let manifest = parse(&text, &Settings::default()).expect("a manifest");
    let order = manifest.order();
    let mut sorted = order.clone();
    sorted.sort_unstable();
    assert!(sorted.into_iter().eq(0..pairs.len() as u32), "each once");
    // How often a cloud must be read when the last 20 are kept.
    let reads = |order: &mut dyn Iterator<Item = u32>| {
        let (mut kept, mut reads) = (Vec::new(), 0);
        for place in order {
            let (a, b) = pairs[place as usize];
            for cloud in [a, b] {
                let known = kept.iter().position(|k| *k == cloud);
                reads += usize::from(known.is_none());
                if let Some(place) = known {
                    kept.remove(place);
                }
                kept.push(cloud);
                if kept.len() > 20 {
                    kept.remove(0);
                }
            }
        }
        reads
    };
    let (as_written, arranged) = (reads(&mut (0..pairs.len() as u32)), reads(&mut order.into_iter()));
    assert!(arranged < 500 && as_written > 3 * arranged, "{arranged} of {as_written}");
    // What goes along a path stays as it is.
    let text = (0..50).fold("pair_id,source,target\n".to_owned(), |t, k| format!("{t}{k},c{k},c{}\n", k + 1));
    let path = parse(&text, &Settings::default()).expect("a manifest");
    assert!(path.order().into_iter().eq(0..50));
}

proptest! {
    /// As text, as rows, and as JSON.
    #[test]
    fn all_ways_give_the_same_rows(
        ids in vec("[a-z,\" \n]{0,6}", 1..9), seeds in vec(proptest::option::of(any::<u64>()), 9), files in vec("[a-c/]{1,3}\\.ply", 9),
    ) {
        let quoted = |cell: &str| format!("\"{}\"", cell.replace('"', "\"\""));
        let rows: Vec<Vec<String>> = ids.iter().enumerate().map(|(k, id)| {
            let seed = seeds[k].map_or(String::new(), |seed| seed.to_string());
            vec![format!("{id}{k}"), files[k].clone(), seed, files[8 - k].clone()]
        }).collect();
        let columns = ["pair_id", "source", "seed", "target"];
        let mut text = columns.join(",") + "\r\n";
        for row in &rows {
            text += &(row.iter().map(|cell| quoted(cell)).collect::<Vec<_>>().join(",") + "\r\n");
        }
        let parsed = parse(&text, &Settings::default()).expect("a manifest");
        let given = Manifest::from_rows(&columns, rows, "rows", "/data".into(), &Settings::default()).expect("a manifest");
        prop_assert_eq!(&parsed, &given);
        for chunk in parsed.chunks(3, &|_| false) {
            let json = serde_json::to_string(&chunk).expect("JSON");
            prop_assert_eq!(serde_json::from_str::<pcr99_batch::Chunk>(&json).expect("own JSON"), chunk);
        }
        let row: Result<Row, _> = serde_json::from_str(r#"{"pair_id":"a","pairs":"b","method":"paper"}"#);
        prop_assert!(row.is_err(), "checked like any other");
    }
}
