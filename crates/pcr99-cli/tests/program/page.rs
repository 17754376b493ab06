//! `--page`: what is refused before any work, what is written, and what is not.

use super::place::{Place, exact_matches, table};

fn with_matches() -> Place {
    let place = Place::new();
    place.write("m.csv", table(&exact_matches(), ",", "\n"));
    place
}

#[test]
fn a_place_that_cannot_be_written_is_refused_before_any_work() {
    let place = with_matches();
    std::fs::create_dir(place.path("there")).expect("a directory");
    // The input does not exist either, which would be found later.
    for command in
        ["solve none.csv", "register none.ply none.pcd", "demo --points 10000000", "bench --from none"]
    {
        place.run(&format!("{command} --page there")).refused(&["`there`", "is a directory"]);
        place.run(&format!("{command} --page missing/p.html")).refused(&["`missing/p.html`", "`missing`"]);
        #[cfg(target_os = "linux")]
        place.run(&format!("{command} --page /proc/p.html")).refused(&["`/proc/p.html`"]);
    }
    let same = place.run("solve m.csv --output same --page same");
    same.refused(&["--output and --page name the same file"]);
    let same = place.run("register a.ply b.ply --write-aligned x.ply --page ./x.ply");
    same.refused(&["--write-aligned and --page name the same file"]);
    assert_eq!(place.listing(), ["m.csv", "there"]);
}

#[test]
fn bad_input_leaves_no_page_and_an_old_one_as_it_was() {
    let place = Place::new();
    place.write("old.html", "old");
    place.write("m.csv", "1 2 3\n");
    place.run("solve m.csv --page old.html").refused(&["m.csv"]);
    place.run("solve m.csv --page new.html").refused(&["m.csv"]);
    assert_eq!(place.read("old.html"), "old");
    assert_eq!(place.listing(), ["m.csv", "old.html"]);
}

#[test]
fn the_page_does_not_change_what_is_printed() {
    let place = with_matches();
    let plain = place.run("solve m.csv --threshold 0.01 --format matrix").with_status(0);
    let paged = place.run("solve m.csv --threshold 0.01 --format matrix --page p.html").with_status(0);
    assert_eq!((plain.out, plain.err), (paged.out, paged.err));
    let page = place.read("p.html");
    assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n"));
    assert!(page.contains("<b>Registered:</b> 12 of 12 matches agree"), "the verdict");
    assert!(page.contains("pcr99 solve m.csv --threshold 0.01 --format matrix --page p.html"), "the command");
    assert!(page.contains(concat!("pcr99 ", env!("CARGO_PKG_VERSION"))), "the version");
    // The page itself, without the library.
    assert!(page.len() < 5_500_000, "{} bytes", page.len());
}

/// Two clouds with holes, one of them far from the origin: thinned, still small, and said so.
#[test]
fn large_clouds_are_thinned() {
    let place = Place::new();
    let mut cloud = String::new();
    for k in 0..100_000 {
        let (u, v) = (f64::from(k % 317) / 317.0, f64::from(k / 317) / 316.0);
        let height = 0.2 * (7.0 * u).sin() * (5.0 * v + 1.0).cos() + 0.1 * (13.0 * u * v).sin();
        cloud += &format!("{} {} {height}\n", 500_000.0 + 10.0 * u, 4_000_000.0 + 10.0 * v);
    }
    place.write("a.xyz", format!("nan nan nan\n{cloud}"));
    place.write("b.xyz", cloud);
    let ran = place.run("register a.xyz b.xyz --page p.html");
    assert!(ran.status.is_some_and(|status| status < 2), "{ran:?}");
    let page = place.read("p.html");
    assert!(page.len() < 15_000_000, "{} bytes", page.len());
    assert!(page.contains("30\u{202f}000 of 100\u{202f}000 source points"), "what is drawn");
    let (_, data) = page.split_once("<script type=\"application/json\">").expect("data");
    let (data, _) = data.split_once("</script>").expect("an end");
    let data: serde_json::Value = serde_json::from_str(data).expect("JSON, which has no NaN");
    assert_eq!(data["source"].as_array().map(Vec::len), Some(90_000));
    // Drawn from a round number nearby, in few digits.
    let far = data["target"]
        .as_array()
        .expect("numbers")
        .iter()
        .filter(|x| x.as_f64().is_none_or(|x| x.abs() > 20.0));
    assert_eq!(far.count(), 0);
}

#[test]
fn demo_and_bench_write_theirs() {
    let place = Place::new();
    place.run("demo --shape cube --points 100 --outliers 0.5 --page demo.html").with_status(0);
    let page = place.read("demo.html");
    assert_eq!(page.matches("<section class=\"view\"").count(), 2);
    assert!(page.contains("rotation error"));
    place
        .run("bench --shape cube --methods default --ratios 0.5 --points 50 --runs 1 --output b --page bench.html")
        .with_status(0);
    assert_eq!(place.read("bench.html"), place.read("b/figures.html"));
}

/// A page from a saved document is the page of the run, but for the command.
#[test]
fn a_page_from_a_saved_document() {
    let place = with_matches();
    place.run("solve m.csv --threshold 0.01 --json --output r.json --page run.html").with_status(0);
    let ran = place.run("page r.json --output saved.html").with_status(0);
    assert_eq!((ran.out.as_str(), ran.err.as_str()), ("", ""));
    let without_command = |name: &str| {
        let page = place.read(name);
        let lines: Vec<&str> = page.lines().filter(|line| !line.contains("id=\"command\"")).collect();
        lines.join("\n")
    };
    assert_eq!(without_command("saved.html"), without_command("run.html"));

    // Without its points, a page of the numbers alone is made on request only.
    std::fs::remove_file(place.path("m.csv")).expect("removed");
    place.run("page r.json --output numbers.html").refused(&["cannot read `m.csv`", "--no-points"]);
    place.run("page r.json --output numbers.html --no-points").with_status(0);
    assert!(place.read("numbers.html").contains("12 of 12 matches agree"), "the verdict");
    // Points that are others than those of the document are an error.
    place.write("m.csv", table(&exact_matches()[..9], ",", "\n"));
    place.run("page r.json --output other.html").refused(&["`r.json`"]);
    assert!(!place.listing().contains(&"other.html".to_owned()));
}

#[test]
fn a_document_that_cannot_be_read_is_named_with_its_field() {
    let place = with_matches();
    place.run("solve m.csv --json --output r.json").with_status(0);
    let text = place.read("r.json");
    for (bad, words) in [
        (text.replacen("\"schema\": 2", "\"schema\": 1", 1), "has schema 1; this version reads 2"),
        (text[..text.len() / 2].to_owned(), "truncated"),
        (text.replacen("\"reason\"", "\"because\"", 1), "`reason`"),
        (text.replacen("\"scale\": 1.0", "\"scale\": \"one\"", 1), "`scale`"),
        ("not JSON".to_owned(), "not JSON"),
    ] {
        place.write("bad.json", bad);
        place.run("page bad.json --output p.html").refused(&["`bad.json`", words]);
    }
    place.run("page none.json --output p.html").refused(&["cannot read `none.json`"]);
    assert_eq!(place.listing(), ["bad.json", "m.csv", "r.json"]);
}
