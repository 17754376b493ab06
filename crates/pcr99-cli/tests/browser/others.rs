//! The pages of benchmarks and batches, and of registrations that did not succeed.

use pcr99::Status;
use pcr99_report::{BatchOutcome, BatchPage, BatchRow};
use serde_json::json;

use crate::{
    Place,
    devtools::{Browser, installed},
    keep_picture, layout,
};

const LOOKS: [([u32; 2], &str, &str); 2] = [([1280, 800], "light", "wide"), ([420, 850], "dark", "narrow")];

#[test]
fn a_benchmark() {
    let Some(program) = installed() else { return };
    let place = Place::new();
    place.run(
        "bench --shape knot --methods default,paper,ransac --ratios 0.5,0.9 --points 60 --runs 3 --output b --page b.html",
    );
    let mut browser = Browser::start(&program);
    for (size, scheme, name) in LOOKS {
        browser.look(size, scheme);
        browser.open(&place.path("b.html"));
        keep_picture(&mut browser, &format!("bench-{name}"));
        layout::check(&mut browser);
    }
    // A switch hides one method in all panels of its figure, and the buttons all of them.
    let hidden = "document.querySelector('.drawing').data.filter((trace) => trace.visible === false).map((trace) => trace.name)";
    assert_eq!(browser.value(hidden), json!([]));
    browser.click(".layers input[name=RANSAC]");
    let names = browser.value(hidden);
    let names = names.as_array().expect("names");
    assert!(names.len() >= 3 && names.iter().all(|name| name == "RANSAC"), "{names:?}");
    browser.click("[data-every='']");
    assert_eq!(
        browser.value("document.querySelector('.drawing').data.some((trace) => trace.visible)"),
        json!(false)
    );
    // The numbers of the table are those of the file.
    let table = std::fs::read_to_string(place.path("b/times.csv")).expect("a table");
    let known: Vec<&str> = table
        .lines()
        .find(|line| line.starts_with("known,ours,"))
        .expect("a row")
        .split(',')
        .skip(1)
        .collect();
    let row = "[...document.querySelectorAll('#times-known tbody tr')].map((row) => [...row.cells].map((cell) => cell.textContent))[0]";
    assert_eq!(browser.value(row), json!(known));
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

#[test]
fn a_batch() {
    let Some(program) = installed() else { return };
    let place = Place::new();
    let row = |id: &str, status: Option<Status>, reason: &str, inliers: usize, seconds: f64| BatchRow {
        id: id.to_owned(),
        outcome: match status {
            Some(status) => BatchOutcome::Ran { status, reason: reason.to_owned() },
            None => BatchOutcome::Failed(reason.to_owned()),
        },
        inliers: status.map(|_| inliers),
        log10_nfa: status.map(|_| -0.3 * inliers as f64),
        overlap: status.map(|_| 0.5),
        seconds: Some(seconds),
        link: status.map(|_| format!("{id}.html")),
    };
    let mut rows: Vec<BatchRow> = (0..30)
        .map(|k| {
            row(
                &format!("room-{k}"),
                Some(Status::Registered),
                "matches, overlap and normals agree",
                100 + k,
                0.1 + k as f64,
            )
        })
        .collect();
    rows.push(row(
        "<img src=x onerror=alert(1)>",
        Some(Status::NotReliable),
        "only 3 % of the smaller cloud overlaps",
        9,
        0.05,
    ));
    rows.push(row("broken", None, "cannot read `<b>`: no such file", 0, 0.001));
    let page = BatchPage::new("pcr99 0", rows).with_command("pcr99 batch pairs.csv");
    page.write(&place.path("batch.html")).expect("a page");
    std::fs::write(place.path("room-7.html"), "<title>seven</title>").expect("a page");

    let mut browser = Browser::start(&program);
    for (size, scheme, name) in LOOKS {
        browser.look(size, scheme);
        browser.open(&place.path("batch.html"));
        keep_picture(&mut browser, &format!("batch-{name}"));
        layout::check(&mut browser);
    }
    browser.look([1280, 800], "light");
    let first = "document.querySelector('#pairs tbody tr').cells[0].textContent";
    assert_eq!(browser.value("document.querySelector('h1').textContent"), json!("30 of 32 pairs registered"));
    assert_eq!(browser.value(first), json!("room-0"));
    // By time, up and down; by name as people count.
    browser.click("button[aria-label='Sort by time']");
    assert_eq!(browser.value(first), json!("broken"));
    browser.click("button[aria-label='Sort by time']");
    assert_eq!(browser.value(first), json!("room-29"));
    browser.click("button[aria-label='Sort by inliers']");
    assert_eq!(browser.value(first), json!("<img src=x onerror=alert(1)>"));
    let last = "[...document.querySelectorAll('#pairs tbody tr')].at(-1).cells[0].textContent";
    assert_eq!(browser.value(last), json!("broken"), "what has no value stays below");
    browser.click("button[aria-label='Sort by pair']");
    let second = "[...document.querySelectorAll('#pairs tbody tr')].slice(-1)[0].cells[0].textContent";
    assert_eq!(browser.value(second), json!("room-29"));
    browser.value("(() => { const find = document.getElementById('find'); find.value = 'overlaps'; find.dispatchEvent(new Event('input')); })()");
    assert_eq!(
        browser
            .value("[...document.querySelectorAll('#pairs tbody tr')].filter((row) => !row.hidden).length"),
        json!(1)
    );
    assert_eq!(browser.complaints(), Vec::<String>::new());
    browser.value("document.querySelector(\"a[href='./room-7.html']\").click()");
    browser.wait_for("document.title === 'seven'");
}

/// Markup in the name of a file, an answer that is not reliable, and none at all.
#[test]
fn without_success() {
    let Some(program) = installed() else { return };
    let place = Place::new();
    place.run("simulate --shape knot --points 60 --outliers 1 --output <b>&'m.csv");
    place.run("solve <b>&'m.csv --page not.html");
    std::fs::write(place.path("none.txt"), "0 0 0 0 0 0\n1 0 0 5 0 0\n0 1 0 0 90 0\n0 0 2 7 7 700\n")
        .expect("matches");
    place.run("solve none.txt --page none.html");
    let mut browser = Browser::start(&program);
    for (page, verdict) in [("not", "Not reliable: "), ("none", "No")] {
        for (size, scheme, name) in LOOKS {
            browser.look(size, scheme);
            browser.open(&place.path(&format!("{page}.html")));
            keep_picture(&mut browser, &format!("{page}-{name}"));
            layout::check(&mut browser);
            let headline = browser.value("document.querySelector('h1').textContent");
            assert!(headline.as_str().is_some_and(|text| text.starts_with(verdict)), "{headline}");
        }
    }
    browser.open(&place.path("not.html"));
    assert_eq!(browser.value("document.querySelector('.names b').textContent"), json!("<b>&'m.csv"));
    assert_eq!(
        browser.value("document.getElementById('command').textContent"),
        json!(r"pcr99 solve '<b>&'\''m.csv' --page not.html")
    );
}
