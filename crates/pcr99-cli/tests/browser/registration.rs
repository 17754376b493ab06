//! The page of a registration.

use serde_json::{Value, json};

use crate::{
    Place,
    devtools::{Browser, installed},
    keep_picture, layout,
};

/// How many pixels of a picture have nearly the colour that a layer has on the page.
fn pixels(browser: &mut Browser, picture: &str, layer: &str) -> i64 {
    let count = format!(
        r#"(async () => {{
  const image = new Image();
  image.src = "data:image/png;base64,{picture}";
  await image.decode();
  const canvas = new OffscreenCanvas(image.width, image.height).getContext("2d");
  canvas.drawImage(image, 0, 0);
  const {{ data }} = canvas.getImageData(0, 0, image.width, image.height);
  canvas.fillStyle = getComputedStyle(document.documentElement).getPropertyValue("--{layer}").trim();
  canvas.fillRect(0, 0, 1, 1);
  const [r, g, b] = canvas.getImageData(0, 0, 1, 1).data;
  let count = 0;
  for (let i = 0; i < data.length; i += 4) {{
    if (Math.abs(data[i] - r) + Math.abs(data[i + 1] - g) + Math.abs(data[i + 2] - b) < 40) count++;
  }}
  return count;
}})()"#
    );
    browser.value(&count).as_i64().expect("a count")
}

pub(crate) fn seen(browser: &mut Browser, scene: &str, layer: &str) -> i64 {
    let picture = browser.picture(Some(scene));
    pixels(browser, &picture, layer)
}

fn camera(browser: &mut Browser, scene: &str) -> Value {
    browser.value(&format!("document.querySelector('{scene}').layout.scene.camera.eye"))
}

fn numbers(text: &str) -> Vec<f64> {
    text.split_whitespace().map(|word| word.parse().unwrap_or_else(|_| panic!("{text}"))).collect()
}

/// The demo: two problems below each other, every size and scheme.
#[test]
fn the_demo_can_be_read_anywhere() {
    let Some(program) = installed() else { return };
    let place = Place::new();
    place.run("demo --shape knot --page demo.html");
    let size = std::fs::metadata(place.path("demo.html")).expect("a page").len();
    assert!(size < 15_000_000, "{size} bytes");
    let mut browser = Browser::start(&program);
    for (size, scheme, name) in [([1280, 800], "light", "demo-wide"), ([420, 850], "dark", "demo-narrow")] {
        browser.look(size, scheme);
        browser.open(&place.path("demo.html"));
        keep_picture(&mut browser, name);
        layout::check(&mut browser);
        // After, the targets of wrong matches are a fog.
        let seen_best =
            [("before", "source"), ("before", "target"), ("after", "source"), ("after", "inliers")];
        for (scene, layer) in seen_best {
            let count = seen(&mut browser, &format!("#view-1 .{scene}"), layer);
            assert!(count > 15, "{name}: {scene} shows {count} pixels of the {layer}");
        }
    }
    // The scheme may change while the page is open.
    browser.look([1280, 800], "dark");
    browser.settle();
    keep_picture(&mut browser, "demo-wide-dark");
    assert!(seen(&mut browser, "#view-0 .before", "target") > 200);
    layout::check(&mut browser);
}

/// Switches, linked cameras, candidates, and the copy button, on one problem.
#[test]
fn switches_switch_and_numbers_are_those_of_the_document() {
    let Some(program) = installed() else { return };
    let place = Place::new();
    place.run("simulate --shape knot --points 500 --outliers 0.9 --scale random --output m.csv");
    let document = place.run("solve m.csv --scale unknown --page page.html --json").stdout;
    let document: Value = serde_json::from_slice(&document).expect("a document");
    let mut browser = Browser::start(&program);
    browser.look([1280, 800], "light");
    browser.open(&place.path("page.html"));

    // Each layer can be seen, and is not when it is switched off.
    for layer in ["inliers", "target", "source"] {
        let before = seen(&mut browser, ".before", layer);
        assert!(before > 100, "{layer}: {before} pixels");
        browser.click(&format!(".layers input[name={layer}]"));
        let hidden = seen(&mut browser, ".before", layer);
        assert!(hidden < before / 10, "{layer}: {hidden} of {before} pixels are left");
        browser.click(&format!(".layers input[name={layer}]"));
        let again = seen(&mut browser, ".before", layer);
        assert!(2 * again > before, "{layer}: {again} of {before} pixels came back");
    }

    // Both cameras turn when one is dragged, and by keys.
    let home = camera(&mut browser, ".before");
    browser.drag(".before", [80.0, 40.0]);
    let turned = camera(&mut browser, ".before");
    assert_ne!(turned, home);
    assert_eq!(camera(&mut browser, ".after"), turned);
    browser.value("document.querySelector('.after').focus()");
    browser.press("ArrowLeft");
    let pressed = camera(&mut browser, ".after");
    assert_ne!(pressed, turned);
    assert_eq!(camera(&mut browser, ".before"), pressed);
    browser.click(".reset");
    assert_eq!((camera(&mut browser, ".before"), camera(&mut browser, ".after")), (home.clone(), home));

    // The verdict, the facts and the transform.
    let text = |browser: &mut Browser, selector: &str| {
        let text = browser.value(&format!("document.querySelector('{selector}').textContent"));
        text.as_str().unwrap_or_else(|| panic!("{selector}")).to_owned()
    };
    let inliers = document["inliers"].as_array().expect("inliers").len();
    assert!(text(&mut browser, "h1").starts_with(&format!("Registered: {inliers} of 500 matches agree; ")));
    let shown = numbers(&text(&mut browser, "pre[data-row=matrix]"));
    let transform: Vec<f64> = document["transform"]
        .as_array()
        .expect("rows")
        .iter()
        .flat_map(|row| serde_json::from_value::<Vec<f64>>(row.clone()).expect("numbers"))
        .collect();
    assert_eq!(shown.len(), 16);
    assert!(shown.iter().zip(&transform).all(|(a, b)| (a - b).abs() <= 5.1e-7), "{shown:?}");
    let scale = numbers(&text(&mut browser, "pre[data-row=scale]"))[0];
    assert!((scale - document["scale"].as_f64().expect("a scale")).abs() < 1e-6);
    let counted = browser.value("document.querySelector('.histogram').data[0].y.reduce((a, b) => a + b)");
    assert_eq!(counted, json!(500));

    // The copy button copies, all digits of it.
    browser.call(
        "Browser.grantPermissions",
        json!({ "permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"] }),
    );
    browser.click("button[data-row=matrix]");
    browser.wait_for("document.querySelector('button[data-row=matrix]').textContent === 'Copied'");
    let copied = browser.value("navigator.clipboard.readText()");
    assert_eq!(numbers(copied.as_str().expect("text")), transform);

    // Printed, and on the screen again.
    layout::check_on_paper(&mut browser);
    browser.look([1280, 800], "light");
    layout::check(&mut browser);
    let complaints = browser.complaints();
    assert!(complaints.is_empty(), "{complaints:#?}");
}
