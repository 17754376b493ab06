//! The pages of benchmarks and batches, and of registrations that did not succeed.

use serde_json::{Value, json};

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
    browser.look([1280, 800], "dark");
    layout::check(&mut browser);
    layout::check_on_paper(&mut browser);
    browser.look([1280, 800], "light");
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
    const MARKUP: &str = "<img src=x onerror=alert(1)>";
    let Some(program) = installed() else { return };
    let place = Place::new();
    let mut manifest = "pair_id,pairs,source,target\n".to_owned();
    for seed in 0..12 {
        place.run(&format!(
            "simulate --shape knot --points {} --outliers 0.5 --seed {seed} --output m{seed}.csv",
            60 + seed % 5
        ));
        manifest += &format!("room-{seed},m{seed}.csv,,\n");
    }
    place.run("simulate --shape knot --points 60 --outliers 1 --output noise.csv");
    manifest += &format!("{MARKUP},noise.csv,,\nbroken,<b>.csv,,\nscans,,a.xyz,b.xyz\n");
    for (name, [x, y, z]) in [("a.xyz", [0.0, 0.0, 0.0]), ("b.xyz", [1.0, 2.0, 3.0])] {
        let points = (0..1600_u32).map(|k| {
            let (u, v) = (f64::from(k % 40) * 0.15, f64::from(k / 40) * 0.15);
            let w = (1.3 * u).sin() * (0.9 * v + 0.4).cos() + 0.4 * (2.1 * u - 1.7 * v).sin();
            format!("{} {} {}\n", u + x, v + y, w + z)
        });
        std::fs::write(place.path(name), points.collect::<String>()).expect("a cloud");
    }
    std::fs::write(place.path("pairs.csv"), manifest).expect("a manifest");
    place.run("batch pairs.csv --output out --page out/index.html --pair-pages 1");
    // Later, and from elsewhere: the pages of all others, the one of two clouds with the matches between them.
    place.run("batch pairs.csv --output out --resume --page batch.html --pair-pages 20");

    let mut browser = Browser::start(&program);
    for (size, scheme, name) in LOOKS {
        browser.look(size, scheme);
        browser.open(&place.path("batch.html"));
        keep_picture(&mut browser, &format!("batch-{name}"));
        layout::check(&mut browser);
    }
    browser.look([1280, 800], "light");
    assert_eq!(browser.value("document.querySelector('h1').textContent"), json!("13 of 15 pairs registered"));
    let order = "[...document.querySelectorAll('#pairs tbody tr')].map((row) => row.cells[0].textContent)";
    let documents = std::fs::read_to_string(place.path("out/results.jsonl")).expect("results");
    let documents: Vec<Value> =
        documents.lines().map(|line| serde_json::from_str(line).expect("a document")).collect();
    let sorted = |key: &dyn Fn(&Value) -> Option<f64>, down: bool| {
        // What has no value stays below; equal ones keep their order.
        let mut rows: Vec<&Value> = documents.iter().collect();
        rows.sort_by(|a, b| match (key(a), key(b)) {
            (Some(a), Some(b)) if down => b.total_cmp(&a),
            (Some(a), Some(b)) => a.total_cmp(&b),
            (a, b) => a.is_none().cmp(&b.is_none()),
        });
        Value::from_iter(rows.into_iter().map(|row| row["pair_id"].clone()))
    };
    let times = std::fs::read_to_string(place.path("out/times.csv")).expect("times");
    let seconds = |row: &Value| {
        let mut lines = times.lines().map(|line| line.split(',').collect::<Vec<_>>());
        lines.find(|cells| row["pair_id"] == cells[0])?[1].parse().ok()
    };
    let inliers = |row: &Value| row["inliers"].as_array().map(|list| list.len() as f64);
    // Problems come first: failed pairs, then those that are not registered; else the order of the manifest.
    let rank = |row: &Value| match row["status"].as_str() {
        Some("registered") => Some(2.0),
        Some("failed") => Some(0.0),
        _ => Some(1.0),
    };
    assert_eq!(browser.value(order), sorted(&rank, false), "problems first");
    browser.click("button[aria-label='Sort by time']");
    assert_eq!(browser.value(order), sorted(&seconds, false));
    browser.click("button[aria-label='Sort by time']");
    assert_eq!(browser.value(order), sorted(&seconds, true));
    browser.click("button[aria-label='Sort by inliers']");
    assert_eq!(browser.value(order), sorted(&inliers, false));
    // By name, as people count.
    browser.click("button[aria-label='Sort by pair']");
    let names = browser.value(order);
    let place_of = |name: &str| names.as_array().expect("names").iter().position(|it| it == name);
    assert!(place_of("room-2") < place_of("room-10") && place_of(MARKUP) < place_of("broken"), "{names}");
    let shown = "[...document.querySelectorAll('#pairs tbody tr')].filter((row) => !row.hidden).map((row) => row.cells[0].textContent)";
    browser.value("(() => { const find = document.getElementById('find'); find.value = 'cannot read'; find.dispatchEvent(new Event('input')); })()");
    assert_eq!(browser.value(shown), json!(["broken"]));
    assert_eq!(browser.complaints(), Vec::<String>::new());

    layout::check_on_paper(&mut browser);
    let heads = "[...document.querySelectorAll('#pairs thead th')].filter((head) => head.checkVisibility()).map((head) => head.innerText)";
    assert_eq!(browser.value(heads).as_array().map(Vec::len), Some(10));
    browser.look([1280, 800], "light");

    // To the page of a pair, and what it shows.
    let links = browser.value("[...document.querySelectorAll('#pairs a')].length");
    assert_eq!(links, json!(14), "a failed pair has none");
    browser.value(
        "[...document.querySelectorAll('#pairs a')].find((link) => link.textContent === 'scans').click()",
    );
    browser.wait_for(
        "document.title === 'scans: Registered' && document.querySelector('.view')?.dataset.ready === 'true'",
    );
    keep_picture(&mut browser, "batch-pair");
    layout::check(&mut browser);
    let matches = &documents[14]["correspondences"];
    let counted = browser.value("document.querySelector('.histogram').data[0].y.reduce((a, b) => a + b)");
    assert_eq!(&counted, matches);
    assert!(matches.as_u64() > Some(100), "{matches}");
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
    place.run("solve none.txt --json --output none.json");
    place.run("page none.json --output numbers.html --no-points");
    for (page, verdict) in
        [("not", "Not reliable: "), ("none", "No solution: "), ("numbers", "No solution: ")]
    {
        for (size, scheme, name) in LOOKS {
            browser.look(size, scheme);
            browser.open(&place.path(&format!("{page}.html")));
            keep_picture(&mut browser, &format!("{page}-{name}"));
            layout::check(&mut browser);
            let headline = browser.value("document.querySelector('h1').textContent");
            assert!(headline.as_str().is_some_and(|text| text.starts_with(verdict)), "{headline}");
            let doubt = browser.value("document.querySelector('.doubt').textContent");
            let explained = |text: &str| text.contains("What it means") && text.contains("What to do");
            assert!(doubt.as_str().is_some_and(explained), "{doubt}");
        }
    }
    browser.open(&place.path("not.html"));
    assert_eq!(browser.value("document.querySelector('.names b').textContent"), json!("<b>&'m.csv"));
    assert_eq!(
        browser.value("document.getElementById('command').textContent"),
        json!(r"pcr99 solve '<b>&'\''m.csv' --page not.html")
    );
}

/// Two transforms explain half of the matches each. The page marks the rival, and shows either.
#[test]
fn an_ambiguous_answer_and_its_rival() {
    let Some(program) = installed() else { return };
    let place = Place::new();
    let row = |i: u32| {
        let [x, y, z] = [i % 7, i * i % 31, i * i * i % 29].map(f64::from);
        let [u, v, w] = if i.is_multiple_of(2) { [x, y, z] } else { [-y, x, z + 50.0] };
        format!("{x} {y} {z} {u} {v} {w}\n")
    };
    std::fs::write(place.path("m.txt"), (0..160).map(row).collect::<String>()).expect("matches");
    place.run("solve m.txt --json --output r.json");
    let document = std::fs::read(place.path("r.json")).expect("a document");
    let document: Value = serde_json::from_slice(&document).expect("a document");
    assert_eq!(document["doubt"], "ambiguous");
    place.run("page r.json --output p.html");
    let mut browser = Browser::start(&program);
    for (size, scheme, name) in LOOKS {
        browser.look(size, scheme);
        browser.open(&place.path("p.html"));
        keep_picture(&mut browser, &format!("ambiguous-{name}"));
        layout::check(&mut browser);
    }
    let matrix =
        "document.querySelector('pre[data-row=matrix]').textContent.trim().split(/\\s+/).map(Number)";
    let numbers = |transform: &Value| -> Vec<f64> {
        let rows: Vec<Vec<f64>> = serde_json::from_value(transform.clone()).expect("a matrix");
        rows.concat()
    };
    let shows = |browser: &mut Browser, transform: &Value| {
        let shown: Vec<f64> = serde_json::from_value(browser.value(matrix)).expect("numbers");
        shown.iter().zip(numbers(transform)).all(|(a, b)| (a - b).abs() <= 5.1e-7)
    };
    assert!(shows(&mut browser, &document["transform"]));
    browser.click("input[aria-label$='rival']");
    assert!(shows(&mut browser, &document["rival"]["transform"]));
    assert_eq!(browser.complaints(), Vec::<String>::new());
}
