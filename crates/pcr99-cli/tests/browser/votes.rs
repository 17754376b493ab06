//! Pages of two clouds that are refused or ambiguous: the votes as layers, and the poses that fit as well.

use std::fmt::Write as _;

use pcr99::random::Random;
use serde_json::{Value, json};

use crate::{
    Place,
    devtools::{Browser, installed},
    keep_picture, layout,
    registration::seen,
};

const LOOKS: [([u32; 2], &str, &str); 2] = [([1280, 800], "light", "wide"), ([420, 850], "dark", "narrow")];

/// Writes points as text.
fn write(place: &Place, name: &str, points: impl Iterator<Item = [f64; 3]>) {
    let text = points.fold(String::new(), |mut text, [x, y, z]| {
        let _ = writeln!(text, "{x} {y} {z}");
        text
    });
    std::fs::write(place.path(name), text).expect("points");
}

/// Hills, with a square of them raised.
fn hills(seed: u64, raised: f64) -> impl Iterator<Item = [f64; 3]> {
    let mut random = Random::new(seed);
    (0..30_000).map(move |_| {
        let (x, y) = (6.0 * random.uniform(), 6.0 * random.uniform());
        let up = if (3.0..5.8).contains(&x) && (0.5..3.3).contains(&y) { raised } else { 0.0 };
        [x, y, 0.5 * (0.9 * x).sin() * (1.3 * y + 0.4).cos() + 0.35 * (2.1 * x - 1.4 * y).sin() + up]
    })
}

/// The surface of a block, turned by a right angle.
fn block(seed: u64) -> impl Iterator<Item = [f64; 3]> {
    let mut random = Random::new(seed);
    let sides = [2.0, 1.2, 0.7];
    (0..20_000).map(move |_| {
        let mut p: [f64; 3] = std::array::from_fn(|k| sides[k] * random.uniform());
        // Each pair of faces as often as its area says.
        let place = (sides[1] * sides[2] + sides[0] * sides[2] + sides[0] * sides[1]) * random.uniform();
        let axis = if place < sides[1] * sides[2] {
            0
        } else if place < (sides[0] + sides[1]) * sides[2] {
            1
        } else {
            2
        };
        p[axis] = if random.below(2) == 0 { 0.0 } else { sides[axis] };
        p.map(|x| x + 0.002 * random.gaussian())
    })
}

/// Number of points of a layer in the view after registration, whether it is drawn or not.
fn points(browser: &mut Browser, layer: &str) -> i64 {
    let trace =
        format!("document.querySelector('.after').data.find((trace) => trace.name === '{layer}').x.length");
    browser.value(&trace).as_i64().expect("a count")
}

#[test]
fn votes_against_are_layers() {
    let Some(program) = installed() else { return };
    let place = Place::new();
    write(&place, "a.xyz", hills(1, 0.25));
    write(&place, "b.xyz", hills(2, 0.0));
    std::fs::write(place.path("start.txt"), "1 0 0 0\n0 1 0 0\n0 0 1 0\n0 0 0 1\n").expect("a pose");
    place.run(
        "refine a.xyz b.xyz --initial start.txt --voxel 0.08 --page found.html --json --output found.json",
    );
    place.run("page found.json --output saved.html");
    let document: Value =
        serde_json::from_slice(&std::fs::read(place.path("found.json")).expect("a document")).expect("JSON");
    assert_eq!(document["doubt"], "conflict", "{}", document["reason"]);
    let mut browser = Browser::start(&program);
    for (size, scheme, name) in LOOKS {
        browser.look(size, scheme);
        browser.open(&place.path("found.html"));
        keep_picture(&mut browser, &format!("conflict-{name}"));
        layout::check(&mut browser);
        assert!(seen(&mut browser, ".after", "against") > 30, "{name}");
    }
    browser.look([1280, 800], "light");
    browser.settle();
    // What speaks against the pose is there from the start, the rest after a click; before registration there are no votes.
    assert!(seen(&mut browser, ".before", "against") < 5);
    for (layer, is_on) in [("against", true), ("askew", true), ("for", false), ("silent", false)] {
        let checked = format!("document.querySelector('.votes input[name={layer}]').checked");
        assert_eq!(browser.value(&checked), json!(is_on), "{layer}");
    }
    for (layer, least) in [("against", 30), ("for", 100)] {
        let first = seen(&mut browser, ".after", layer);
        browser.click(&format!(".votes input[name={layer}]"));
        let second = seen(&mut browser, ".after", layer);
        let (on, off) = (first.max(second), first.min(second));
        assert!(
            on > least && off < on / 5 && (first == on) == (layer == "against"),
            "{layer}: {first}, {second}"
        );
    }
    let arrow = browser.value("document.querySelector('.after').layout.scene.annotations.length");
    assert_eq!(arrow, json!(1));
    layout::check_on_paper(&mut browser);
    // A page of the saved document counts the same votes again.
    let counts =
        |browser: &mut Browser| ["for", "askew", "against", "silent"].map(|layer| points(browser, layer));
    browser.look([1280, 800], "light");
    let first = counts(&mut browser);
    browser.open(&place.path("saved.html"));
    let again = counts(&mut browser);
    assert!(first[2] > 20 && first.iter().sum::<i64>() == again.iter().sum::<i64>(), "{first:?} {again:?}");
    assert!(first.iter().zip(again).all(|(a, b)| (a - b).abs() <= 2 + a / 20), "{first:?} {again:?}");
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

#[test]
fn poses_that_fit_as_well_are_listed() {
    let Some(program) = installed() else { return };
    let place = Place::new();
    write(&place, "a.xyz", block(3).map(|[x, y, z]| [3.0 - y, x, z]));
    write(&place, "b.xyz", block(4));
    place.run("register a.xyz b.xyz --page found.html --json --output found.json");
    let document: Value =
        serde_json::from_slice(&std::fs::read(place.path("found.json")).expect("a document")).expect("JSON");
    assert_eq!(document["doubt"], "ambiguous", "{}", document["reason"]);
    let relations: Vec<&str> = (document["poses"].as_array().expect("poses").iter())
        .filter_map(|pose| pose["relation"]["sentence"].as_str())
        .collect();
    assert_eq!(relations.len(), 3, "{}", document["reason"]);
    let mut browser = Browser::start(&program);
    for (size, scheme, name) in LOOKS {
        browser.look(size, scheme);
        browser.open(&place.path("found.html"));
        keep_picture(&mut browser, &format!("symmetric-{name}"));
        layout::check(&mut browser);
    }
    let listed = browser
        .value("[...document.querySelectorAll('.equivalent td.reason')].map((cell) => cell.textContent)");
    assert_eq!(listed, json!(relations));
    // Each of them can be looked at; the votes are those on the answer.
    let shown =
        |browser: &mut Browser| browser.value("document.querySelector('pre[data-row=matrix]').textContent");
    let (answer, drawn) = (shown(&mut browser), points(&mut browser, "for"));
    browser.click("input[aria-label='candidate 3, fits as well']");
    assert!(drawn > 100 && shown(&mut browser) != answer);
    let layers = "document.querySelector('.after').data.filter((trace) => trace.name === 'for').length";
    assert_eq!(browser.value(layers), json!(0));
    browser.look([1280, 800], "light");
    layout::check_on_paper(&mut browser);
    assert_eq!(browser.complaints(), Vec::<String>::new());
}
