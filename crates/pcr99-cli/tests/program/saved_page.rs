//! `pcr99 page`: a page of a saved document.

use super::place::{Place, exact_matches, table};

/// Matches, and the document of their registration.
fn with_document() -> Place {
    let place = Place::new();
    place.write("m.csv", table(&exact_matches(), ",", "\n"));
    place.run("solve m.csv --threshold 0.01 --json --output r.json --page direct.html").with_status(0);
    place
}

/// A page without the command that made it, which differs.
fn without_command(page: &str) -> String {
    page.lines().filter(|line| !line.contains("id=\"command\"")).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_page_of_a_document_is_the_page_of_its_run() {
    let place = with_document();
    let ran = place.run("page r.json --output saved.html").with_status(0);
    assert_eq!((ran.out.as_str(), ran.err.as_str()), ("", ""));
    let (direct, saved) = (place.read("direct.html"), place.read("saved.html"));
    assert!(saved.contains("pcr99 page r.json --output saved.html"));
    assert!(without_command(&direct) == without_command(&saved), "the pages differ");
    // From standard input, too.
    let document = place.read("r.json");
    place.run_on(document.as_bytes(), "page - --output piped.html").with_status(0);
    assert!(without_command(&place.read("piped.html")) == without_command(&saved), "the pages differ");
}

#[test]
fn files_that_moved_or_changed_are_errors_that_name_the_way_out() {
    let place = with_document();
    std::fs::rename(place.path("m.csv"), place.path("moved.csv")).expect("a file is moved");
    place.run("page r.json --output p.html").refused(&["`m.csv`", "--pairs", "--no-points"]);
    place.run("page r.json --output p.html --pairs moved.csv").with_status(0);

    let mut rows = exact_matches();
    rows.pop();
    place.write("m.csv", table(&rows, ",", "\n"));
    place.run("page r.json --output q.html").refused(&["12 matches", "--pairs"]);
    let mut rows = exact_matches();
    rows[0][0] += 1.0;
    place.write("m.csv", table(&rows, ",", "\n"));
    place.run("page r.json --output q.html").refused(&["RMSE of the inliers", "changed since"]);

    place.run("page r.json --output q.html --no-points").with_status(0);
    let page = place.read("q.html");
    assert!(page.contains("nothing is drawn") && page.len() < 100_000, "{} bytes", page.len());
    assert!(page.contains("Registered:</b> 12 of 12 matches agree"), "{page}");
    place.run("page r.json --output r.json").refused(&["--output names the document"]);
}

#[test]
fn a_document_finds_the_files_beside_it() {
    let place = with_document();
    std::fs::create_dir(place.path("there")).expect("a directory");
    for name in ["m.csv", "r.json"] {
        std::fs::rename(place.path(name), place.path(&format!("there/{name}"))).expect("a file is moved");
    }
    place.run("page there/r.json --output p.html").with_status(0);
    assert!(place.read("p.html").contains("class=\"scene before\""));
}

#[test]
fn matches_from_standard_input_are_gone() {
    let place = Place::new();
    let matches = table(&exact_matches(), ",", "\n");
    place.run_on(matches.as_bytes(), "solve - --threshold 0.01 --json --output r.json").with_status(0);
    place.run("page r.json --output p.html").refused(&["standard input", "--pairs"]);
    place.write("m.csv", matches);
    place.run("page r.json --output p.html --pairs m.csv").with_status(0);
}

#[test]
fn documents_that_are_none_are_refused() {
    let place = with_document();
    let document = place.read("r.json");
    let refused = |text: &str, parts: &[&str]| {
        place.write("bad.json", text);
        place.run("page bad.json --output p.html").refused(&[&["`bad.json`"], parts].concat());
    };
    refused(&document[..document.len() / 2], &["truncated"]);
    refused(&document.replace("\"schema\": 2", "\"schema\": 1"), &["schema 1", "run the registration again"]);
    refused(&document.replace("\"threshold\": 0.01,", ""), &["missing field `threshold`"]);
    refused(
        &document.replace("\"inlier_places\":", "\"places\":"),
        &["`evidence`", "missing field `inlier_places`"],
    );
    place.run("page none.json --output p.html").refused(&["`none.json`"]);
    assert!(!place.path("p.html").exists());
}

/// Pages of clouds have no lines between them: a document does not keep the matches.
#[test]
fn clouds() {
    let place = Place::new();
    let hills = |shift: f64| -> String {
        let point = |k: u32| {
            let (u, v) = (f64::from(k % 40) * 0.15, f64::from(k / 40) * 0.15);
            let w = (1.3 * u).sin() * (0.9 * v + 0.4).cos() + 0.4 * (2.1 * u - 1.7 * v).sin();
            format!("{} {} {}\n", u + shift, v - shift, w + shift)
        };
        (0..1600).map(point).collect()
    };
    place.write("a.xyz", hills(0.0));
    place.write("b.xyz", hills(3.0));
    place.run("register a.xyz b.xyz --json --output r.json").with_status(0);
    place.run("page r.json --output p.html").with_status(0);
    let page = place.read("p.html");
    assert!(page.contains("<title>a.xyz → b.xyz: Registered</title>") && !page.contains("name=\"inliers\""));
    place.write("a.xyz", "0 0 0\n1 0 0\n");
    place.run("page r.json --output p.html").refused(&["its source had 1600 points", "--source"]);
    place.write("c.xyz", hills(0.0));
    place.run("page r.json --output p.html --source c.xyz").with_status(0);
}
