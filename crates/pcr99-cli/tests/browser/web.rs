//! The page that computes in the browser, and the npm package, beside the program. `cargo xtask web --check` makes both and sets `PCR99_WEB`;
//! without it these tests are skipped.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::{
    Place,
    devtools::{Browser, installed},
    keep_picture, layout,
};

/// How long a run may take: the machine may be slow and busy, and 3-D is drawn without a graphics card.
const PATIENCE: Duration = Duration::from_secs(600);

/// Directory with the page and the package.
fn made() -> Option<PathBuf> {
    let made = std::env::var_os("PCR99_WEB").map(PathBuf::from);
    if made.is_none() {
        eprintln!("skipped: `cargo xtask web --check` makes the page and tests it");
    }
    made
}

/// Hills with noise, seen twice: the source turned by a quarter and moved.
fn write_scans(place: &Place, points: u32) {
    let mut state = 1_u64;
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    let mut scan = |name: &str, moved: &dyn Fn([f64; 3]) -> [f64; 3]| {
        let mut text = String::new();
        for _ in 0..points {
            let (x, y) = (6.0 * random(), 6.0 * random());
            let z =
                (x * 1.3).sin() * (y * 0.9 + 0.4).cos() + 0.4 * (2.1 * x - 1.7 * y).sin() + 0.01 * random();
            let [x, y, z] = moved([x, y, z]);
            text += &format!("{x:.6} {y:.6} {z:.6}\n");
        }
        fs::write(place.path(name), text).expect("a file");
    };
    scan("target.xyz", &|p| p);
    scan("source.xyz", &|[x, y, z]| [7.0 - y, x, z - 2.0]);
}

/// A document without its times.
fn without_times(json: &[u8]) -> Value {
    let mut document: Value = serde_json::from_slice(json).expect("a document");
    assert!(document["seconds"]["total"].is_number(), "{document}");
    document.as_object_mut().expect("an object").remove("seconds");
    document
}

/// A document with all numbers as doubles, because JavaScript writes 1 for 1.0.
fn as_doubles(value: Value) -> Value {
    match value {
        Value::Number(number) => json!(number.as_f64()),
        Value::Array(list) => list.into_iter().map(as_doubles).collect(),
        Value::Object(fields) => fields.into_iter().map(|(name, value)| (name, as_doubles(value))).collect(),
        other => other,
    }
}

impl Browser {
    /// Chooses a file in an input, as the dialog of the browser does.
    #[track_caller]
    fn choose(&mut self, slot: &str, file: &Path) {
        let root = self.call("DOM.getDocument", json!({}))["root"]["nodeId"].clone();
        let selector = format!(".drop[data-slot={slot}] input");
        let found = self.call("DOM.querySelector", json!({ "nodeId": root, "selector": selector }));
        let files = json!({ "nodeId": found["nodeId"], "files": [file] });
        self.call("DOM.setFileInputFiles", files);
        self.settle();
    }

    /// Opens the page.
    #[track_caller]
    fn open_app(&mut self, made: &Path) {
        self.open(&made.join("pcr99.html"));
        self.wait_for("document.body.dataset.ready === 'true'");
    }

    /// Starts and waits until there is a result or an error.
    #[track_caller]
    fn run_app(&mut self) {
        self.click("#run");
        let end = Instant::now() + PATIENCE;
        let ended = "!document.getElementById('cancel').checkVisibility() \
                     && [...document.querySelectorAll('section.view')].every((view) => view.dataset.ready)";
        while self.value(ended) != json!(true) {
            assert!(Instant::now() < end, "the run does not end");
            thread::sleep(Duration::from_millis(100));
        }
        self.settle();
    }

    fn text(&mut self, selector: &str) -> String {
        let text = self.value(&format!("document.querySelector({}).textContent", json!(selector)));
        text.as_str().unwrap_or_default().to_owned()
    }

    /// Clicks, and reads the file that is downloaded.
    #[track_caller]
    fn download(&mut self, selector: &str, directory: &Path) -> Vec<u8> {
        fs::create_dir_all(directory).expect("a directory");
        self.call("Browser.setDownloadBehavior", json!({ "behavior": "allow", "downloadPath": directory }));
        self.click(selector);
        let end = Instant::now() + Duration::from_secs(60);
        loop {
            let entries =
                fs::read_dir(directory).expect("a directory").map(|entry| entry.expect("a file").path());
            let files: Vec<PathBuf> =
                entries.filter(|path| path.extension().is_none_or(|e| e != "crdownload")).collect();
            if let [file] = files.as_slice() {
                let bytes = fs::read(file).expect("a file");
                if !bytes.is_empty() {
                    fs::remove_file(file).expect("a file");
                    return bytes;
                }
            }
            assert!(Instant::now() < end, "nothing was downloaded");
            thread::sleep(Duration::from_millis(50));
        }
    }
}

/// Two clouds and a file of matches: documents and aligned clouds are those of the program, on any screen.
#[test]
fn the_page_gives_what_the_program_gives() {
    let (Some(made), Some(program)) = (made(), installed()) else { return };
    let place = Place::new();
    write_scans(&place, 4000);
    for format in ["ply", "laz"] {
        place.run(&format!("convert source.xyz source.{format}"));
    }
    place.run("convert target.xyz target.pcd");
    place.run("simulate --shape knot --points 600 --outliers 0.95 --scale random --output m.csv");
    let mut browser = Browser::start(&program);
    browser.look([1280, 800], "light");
    browser.open_app(&made);
    layout::check(&mut browser);
    keep_picture(&mut browser, "web-empty");

    for source in ["source.laz", "source.ply"] {
        browser.choose("source", &place.path(source));
        browser.choose("target", &place.path("target.pcd"));
        browser.run_app();
        let aligned = format!("aligned-{source}");
        let expected =
            place.run(&format!("register {source} target.pcd --json --write-aligned {aligned}")).stdout;
        let document = browser.download("#json", &place.path("downloads"));
        assert_eq!(without_times(&document), without_times(&expected));
        assert!(browser.text(".verdict h1").starts_with("Registered"));
        let written = browser.download("#aligned", &place.path("downloads"));
        assert!(written == fs::read(place.path(&aligned)).expect("a file"), "{source}: other bytes");
        assert_eq!(browser.text("#same"), format!("pcr99 register {source} target.pcd"));
    }
    for (size, scheme, name) in [([1280, 800], "light", "web-wide"), ([420, 850], "dark", "web-narrow")] {
        browser.look(size, scheme);
        browser.settle();
        keep_picture(&mut browser, name);
        layout::check(&mut browser);
    }

    browser.look([1280, 800], "dark");
    browser.click("input[value=matches]");
    browser.choose("matches", &place.path("m.csv"));
    browser.click("#options summary");
    browser.value("const scale = document.querySelector('[name=scale]'); scale.value = 'unknown'; scale.dispatchEvent(new Event('change', { bubbles: true }))");
    browser.run_app();
    let document = browser.download("#json", &place.path("downloads"));
    let expected = place.run("solve m.csv --scale unknown --json").stdout;
    assert_eq!(without_times(&document), without_times(&expected));
    assert_eq!(browser.text("#same"), "pcr99 solve m.csv --scale unknown");
    keep_picture(&mut browser, "web-matches");
    layout::check(&mut browser);
    let complaints = browser.complaints();
    assert!(complaints.is_empty(), "{complaints:#?}");
}

/// Bad files and options are errors with the text of the program, and the page goes on.
#[test]
fn mistakes_have_the_words_of_the_program() {
    let (Some(made), Some(program)) = (made(), installed()) else { return };
    let place = Place::new();
    write_scans(&place, 3000);
    place.run("convert source.xyz whole.las");
    place.run("convert source.xyz whole.laz");
    let cut = |name: &str, keep: usize| {
        let bytes = fs::read(place.path(&format!("whole.{name}"))).expect("a file");
        fs::write(place.path(&format!("cut.{name}")), &bytes[..bytes.len() * keep / 10]).expect("a file");
    };
    cut("las", 6);
    cut("laz", 6);
    fs::write(place.path("words.xyz"), "1 2 3\n4 five 6\n").expect("a file");
    fs::write(place.path("empty.ply"), "").expect("a file");
    fs::write(place.path("line.xyz"), (0..99).map(|i| format!("{i} 0 0\n")).collect::<String>())
        .expect("a file");
    fs::write(place.path("few.csv"), "0 0 0 1 1 1\n").expect("a file");
    let mut browser = Browser::start(&program);
    browser.look([420, 850], "light");
    browser.open_app(&made);
    let said = |browser: &mut Browser| browser.text("#problem").trim_start_matches("Error: ").to_owned();
    let error_of = |args: &str| {
        let output = Command::new(env!("CARGO_BIN_EXE_pcr99"))
            .args(args.split(' '))
            .current_dir(place.path(""))
            .output();
        let text = String::from_utf8(output.expect("a program").stderr).expect("text");
        let line =
            text.lines().find_map(|line| line.strip_prefix("error: ")).unwrap_or_else(|| panic!("{text}"));
        line.to_owned()
    };
    for bad in ["words.xyz", "empty.ply", "line.xyz", "cut.las", "cut.laz"] {
        browser.choose("source", &place.path(bad));
        browser.choose("target", &place.path("target.xyz"));
        browser.run_app();
        assert_eq!(said(&mut browser), error_of(&format!("register {bad} target.xyz")));
    }
    keep_picture(&mut browser, "web-error");
    layout::check(&mut browser);
    // A plane slides on itself: the answer has its reason, and no aligned cloud is offered as such.
    let square = |k: u32| format!("{} {} 0\n", f64::from(k % 60) / 20.0, f64::from(k / 60) / 20.0);
    fs::write(place.path("square.xyz"), (0..3600).map(square).collect::<String>()).expect("a file");
    browser.choose("source", &place.path("square.xyz"));
    browser.choose("target", &place.path("square.xyz"));
    browser.run_app();
    let verdict = browser.text("#sections");
    assert!(verdict.contains("Not reliable") || verdict.contains("No solution"), "{verdict}");
    assert_ne!(browser.text("#aligned"), "Download the aligned cloud");
    browser.click("input[value=matches]");
    browser.choose("matches", &place.path("few.csv"));
    browser.run_app();
    assert_eq!(said(&mut browser), error_of("solve few.csv"));
}

/// The page answers while it computes, and a cancelled run leaves it ready for the next one.
#[test]
fn a_run_can_be_cancelled() {
    let (Some(made), Some(program)) = (made(), installed()) else { return };
    let place = Place::new();
    write_scans(&place, 60_000);
    let mut browser = Browser::start(&program);
    browser.look([1280, 800], "light");
    browser.open_app(&made);
    browser.choose("source", &place.path("source.xyz"));
    browser.choose("target", &place.path("target.xyz"));
    browser.click("#run");
    browser.wait_for("document.getElementById('progress').textContent.startsWith('Searching')");
    // Frames are drawn meanwhile.
    browser.settle();
    browser.click("#cancel");
    browser.wait_for("!document.getElementById('run').disabled");
    assert_eq!(browser.text("#progress"), "");
    assert_eq!(browser.value("document.getElementById('problem').hidden"), json!(true));
    write_scans(&place, 3000);
    browser.choose("source", &place.path("source.xyz"));
    browser.choose("target", &place.path("target.xyz"));
    browser.run_app();
    assert!(browser.text("#sections").contains("Registered"));
}

/// Every format, arrays, options and mistakes in Node.js.
#[test]
fn the_npm_package_gives_what_the_program_gives() {
    let Some(made) = made() else { return };
    if Command::new("node").arg("--version").output().is_err() {
        eprintln!("skipped: there is no `node`");
        return;
    }
    let plain = |json: &[u8]| as_doubles(without_times(json));
    // Not shown when they differ: they are long.
    let same = |what: &str, found: &[u8], expected: &[u8]| {
        assert!(plain(found) == plain(expected), "{what}: another document")
    };
    let place = Place::new();
    write_scans(&place, 3000);
    let formats = ["ply", "pcd", "las", "laz", "e57", "npy", "csv"];
    formats.iter().for_each(|format| drop(place.run(&format!("convert source.xyz source.{format}"))));
    let vertices = fs::read_to_string(place.path("source.xyz")).expect("a file");
    let vertices: String = vertices.lines().map(|line| format!("v {line}\n")).collect();
    fs::write(place.path("source.obj"), vertices).expect("a file");
    place.run("simulate --shape knot --points 400 --outliers 0.9 --output m.csv");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/browser/npm.mjs");
    let node = |request: Value| {
        let mut command = Command::new("node");
        command.arg(&script).arg(made.join("npm/index.js")).arg(request.to_string());
        let output = command.current_dir(place.path("")).output().expect("node");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    };
    for format in formats.iter().chain(&["obj", "xyz"]) {
        let given =
            json!({ "register": [format!("source.{format}"), "target.xyz"], "options": { "seed": 3 } });
        let written = if *format == "obj" { "ply" } else { *format };
        let options = format!("--seed 3 --json --write-aligned aligned.{written}");
        let expected = place.run(&format!("register source.{format} target.xyz {options}")).stdout;
        same(format, &node(given), &expected);
        let bytes = |name: &str| fs::read(place.path(&format!("{name}.{written}"))).expect("a file");
        assert!(bytes("npm-source") == bytes("aligned"), "{format}: other bytes");
    }
    let expected = plain(&place.run("solve m.csv --scale 0.5..2 --json").stdout);
    let file = json!({ "solve": "m.csv", "options": { "scale": [0.5, 2.0] } });
    assert!(plain(&node(file)) == expected, "another document");
    // Arrays have no file names; all else is the same.
    let mut arrays = plain(&node(json!({ "arrays": "m.csv", "options": { "scale": "0.5..2" } })));
    assert_eq!(arrays["inputs"], Value::Null);
    arrays["inputs"] = expected["inputs"].clone();
    assert!(arrays == expected, "another document");
    let mistakes: Value = serde_json::from_slice(&node(json!({ "mistakes": true }))).expect("a list");
    assert_eq!(
        mistakes,
        json!([
            "`source[1]`: expected 3 numbers",
            "`threshold` must be finite and positive, got -1",
            "unknown field `treshold`",
            "2 source points but 1 target points: row i of one must match row i of the other",
            "`threshold` is NaN",
        ])
    );
}
