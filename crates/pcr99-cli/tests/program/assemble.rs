//! `pcr99 assemble`: scans to one map; resumed, with scans added, with bad input.

use serde_json::Value;

use super::place::Place;

/// Height of the terrain that all scans see.
fn height(x: f64, y: f64) -> f64 {
    0.5 * (1.3 * x).sin() * (0.9 * y + 0.4).cos() + 0.4 * (2.1 * x - 1.7 * y + 0.15 * x * x).sin()
}

/// Turn about z and shift of the coordinates of a scan.
fn motion(scan: usize) -> (f64, [f64; 3]) {
    (0.9 * scan as f64, [scan as f64, -2.0, 1.0])
}

/// Writes a scan of 5 × 4 metres of the terrain, in coordinates of its own.
fn write_scan(place: &Place, name: &str, scan: usize) {
    let (angle, [a, b, c]) = motion(scan);
    let mut text = String::from("x,y,z\n");
    // Another phase of the grid for each scan, so that no two have the same points.
    let phase = (0.37 * scan as f64) % 1.0;
    for i in 0..90 {
        for j in 0..70 {
            let x = 1.2 * scan as f64 + 5.0 * (f64::from(i) + phase) / 90.0;
            let y = 4.0 * (f64::from(j) + 0.5 * phase) / 70.0;
            let (u, v) = (angle.cos() * x - angle.sin() * y, angle.sin() * x + angle.cos() * y);
            text += &format!("{},{},{}\n", u + a, v + b, height(x, y) + c);
        }
    }
    place.write(name, text);
}

/// Largest distance between the places of a point of the terrain in the map, as two scans have it.
fn largest_error(document: &Value) -> f64 {
    let p = [3.0, 2.0, height(3.0, 2.0)];
    let places: Vec<[f64; 3]> = (document["scans"].as_array().expect("scans").iter().enumerate())
        .filter(|(_, scan)| scan["status"] == "placed" && scan["same_as"].is_null())
        .map(|(place, scan)| {
            let (angle, [a, b, c]) = motion(place);
            let own = [
                angle.cos() * p[0] - angle.sin() * p[1] + a,
                angle.sin() * p[0] + angle.cos() * p[1] + b,
                p[2] + c,
            ];
            let row = |k: usize| {
                let m = |l: usize| scan["transform"][k][l].as_f64().expect("a number");
                m(0) * own[0] + m(1) * own[1] + m(2) * own[2] + m(3)
            };
            [row(0), row(1), row(2)]
        })
        .collect();
    let distance =
        |a: &[f64; 3], b: &[f64; 3]| a.iter().zip(b).map(|(x, y)| (x - y) * (x - y)).sum::<f64>().sqrt();
    places.iter().flat_map(|a| places.iter().map(move |b| distance(a, b))).fold(0.0, f64::max)
}

fn words<'a>(document: &'a Value, list: &str, field: &str) -> Vec<&'a str> {
    document[list]
        .as_array()
        .expect("a list")
        .iter()
        .map(|item| item[field].as_str().unwrap_or("none"))
        .collect()
}

const RESULTS: [&str; 5] = ["poses.json", "poses.csv", "poses.tum", "poses.g2o", "edges.csv"];

#[test]
fn scans_become_one_map_and_added_scans_repeat_nothing() {
    let place = Place::new();
    (0..4).for_each(|scan| write_scan(&place, &format!("s{scan}.csv"), scan));
    place.write("empty.csv", "x,y,z\n");
    let document =
        place.json(1, "assemble s0.csv s1.csv s2.csv s3.csv empty.csv nowhere.ply --output one --threads 2");
    assert_eq!(
        words(&document, "scans", "status"),
        ["placed", "placed", "placed", "placed", "failed", "failed"]
    );
    assert!(document["scans"][5]["reason"].as_str().is_some_and(|reason| reason.contains("nowhere.ply")));
    assert_eq!(document["components"][0]["scans"], 4);
    let error = largest_error(&document);
    assert!(error < 0.02, "{error}");
    let said = document["scans"]
        .as_array()
        .expect("scans")
        .iter()
        .filter_map(|scan| scan["accuracy"]["translation"].as_f64());
    assert!(said.fold(0.0, f64::max) < 0.2);
    for (file, word) in [
        ("poses.tum", "# component 0: 4 scans"),
        ("poses.g2o", "EDGE_SE3:QUAT"),
        ("index.html", "4 of 6 scans placed"),
    ] {
        assert!(place.read(&format!("one/{file}")).contains(word), "{file}");
    }
    assert!(place.path("one/merged.ply").exists());

    // The same in two steps, on another number of threads: the same bytes, and only the pairs of the new scans.
    place.run("assemble s0.csv s1.csv s2.csv --output two --threads 1").with_status(0);
    let more =
        place.run("assemble s3.csv empty.csv nowhere.ply --output two --resume --threads 1").with_status(1);
    assert!(more.err.contains("3 new pairs"), "{more:?}");
    for file in RESULTS {
        assert_eq!(place.read(&format!("one/{file}")), place.read(&format!("two/{file}")), "{file}");
    }
    let again = place.run("assemble --output two --resume").with_status(1);
    assert!(again.err.contains("0 new pairs"), "{again:?}");

    // A scan with the same points is named, and not tried.
    std::fs::copy(place.path("s1.csv"), place.path("copy.csv")).expect("a copy");
    let same = place.run("assemble copy.csv --output two --resume").with_status(1);
    assert!(
        same.err.contains("0 new pairs") && same.out.contains("copy.csv has the points of s1.csv"),
        "{same:?}"
    );
    let document: Value = serde_json::from_str(&place.read("two/poses.json")).expect("a document");
    assert_eq!(document["scans"][6]["transform"], document["scans"][1]["transform"]);
    assert!(words(&document, "edges", "verdict").contains(&"identical"));
}

/// A point of the terrain in coordinates of a scan.
fn in_scan(scan: usize, [x, y, z]: [f64; 3]) -> [f64; 3] {
    let (angle, [a, b, c]) = motion(scan);
    [angle.cos() * x - angle.sin() * y + a, angle.sin() * x + angle.cos() * y + b, z + c]
}

/// Place of the terrain in the world.
const WORLD: [f64; 3] = [500_000.0, 4_000_000.0, 100.0];

/// Largest distance between a point in the world and where the scans have it.
fn largest_world_error(document: &Value) -> f64 {
    let p = [3.0, 2.0, height(3.0, 2.0)];
    let scans = document["scans"].as_array().expect("scans").iter().enumerate();
    scans
        .map(|(place, scan)| {
            let own = in_scan(place, p);
            let off = |k: usize| {
                let m = |l: usize| scan["transform"][k][l].as_f64().expect("a number");
                m(0) * own[0] + m(1) * own[1] + m(2) * own[2] + m(3) - WORLD[k] - p[k]
            };
            (0..3).map(|k| off(k) * off(k)).sum::<f64>().sqrt()
        })
        .fold(0.0, f64::max)
}

#[test]
fn known_places_tie_the_map_to_the_world() {
    let place = Place::new();
    (0..3).for_each(|scan| write_scan(&place, &format!("s{scan}.csv"), scan));
    let mut text = String::from("name,scan,x,y,z,X,Y,Z,sigma\n");
    for (k, [x, y]) in
        [[0.5, 0.5], [4.5, 3.0], [2.0, 3.5], [6.5, 0.4], [3.3, 1.7], [5.6, 3.6]].into_iter().enumerate()
    {
        let p = [x, y, height(x, y)];
        let [u, v, w] = in_scan(k % 3, p);
        // P3 has a slip of the pen.
        let slip = if k == 3 { 1.0 } else { 0.0 };
        text += &format!(
            "P{k},s{}.csv,{u},{v},{w},{},{},{},0.01\n",
            k % 3,
            WORLD[0] + x + slip,
            WORLD[1] + y,
            WORLD[2] + p[2]
        );
    }
    place.write("points.csv", &text);
    let document = place.json(
        0,
        "assemble s0.csv s1.csv s2.csv --output one --control points.csv --vertical 0,0,1 --tilt 0.5",
    );
    let error = largest_world_error(&document);
    assert!(error < 0.03, "{error}");
    let is_used: Vec<bool> = (document["known_places"].as_array().expect("places").iter())
        .map(|place| place["is_used"] == true)
        .collect();
    assert_eq!(is_used, [true, true, true, false, true, true]);
    assert_eq!(document["components"][0]["world"]["reason"], "5 of 6 known places agree");
    let told = |scan: &Value| scan["accuracy"]["translation"].as_f64().is_some_and(|told| told < 0.1);
    assert!(document["scans"].as_array().expect("scans").iter().all(told), "{document}");
    assert!(place.read("one/index.html").contains("Known places"));

    // Positions of the scans do the same, later and without repeating a pair.
    let mut text = String::new();
    for scan in 0..3 {
        let (angle, [a, b, c]) = motion(scan);
        let [x, y] = [-angle.cos() * a - angle.sin() * b, angle.sin() * a - angle.cos() * b];
        text += &format!("s{scan}.csv {} {} {} 0.02 0.05\n", WORLD[0] + x, WORLD[1] + y, WORLD[2] - c);
    }
    place.write("gps.txt", &text);
    let options = "--vertical 0,0,1 --tilt 0.5";
    let ran =
        place.run(&format!("assemble --output one --resume --positions gps.txt {options}")).with_status(0);
    assert!(ran.err.contains("0 new pairs") && ran.out.contains("tied to the world: 3 of 3"), "{ran:?}");
    let document: Value = serde_json::from_str(&place.read("one/poses.json")).expect("a document");
    let error = largest_world_error(&document);
    assert!(error < 0.1, "{error}");

    // Too few are said, and mistakes are named before anything runs.
    place.write("few.csv", "P1,map,0,0,0,1,2,3,0.01\nP2,s1.csv,1,0,0,2,2,3,0.01\n");
    let ran =
        place.run(&format!("assemble --output one --resume --control few.csv {options}")).with_status(1);
    assert!(ran.out.contains("NOT tied to the world: it has 2 known places, but 3 are needed"), "{ran:?}");
    for (text, said) in [
        ("P1,s9.csv,0,0,0,1,2,3,0.01\n", "`s9.csv`, which the project does not have"),
        ("P1,map,0,0,0,1,2,3\n", "line 1"),
        ("P1,map,0,0,0,1,2,3,0\n", "standard deviation is 0"),
        ("P1,map,0,0,0,1,2,3,1\nP1,map,0,0,0,1,2,3,1\n", "occurs twice"),
    ] {
        place.write("wrong.csv", text);
        place.run(&format!("assemble --output one --resume --control wrong.csv {options}")).refused(&[said]);
    }
}

#[test]
fn scans_of_other_units_are_noted() {
    let place = Place::new();
    (0..2).for_each(|scan| write_scan(&place, &format!("s{scan}.csv"), scan));
    place.write("thousand.txt", "1000 0 0 0\n0 1000 0 0\n0 0 1000 0\n0 0 0 1\n");
    place.run("apply thousand.txt s1.csv mm.csv").with_status(0);
    let ran = place.run("assemble s0.csv s1.csv mm.csv --output out --merge none").with_status(1);
    assert!(ran.out.contains("alone") && ran.out.contains("units may differ"), "{ran:?}");
    assert!(!place.path("out/merged.ply").exists());
}

#[test]
fn mistakes_are_named() {
    let place = Place::new();
    write_scan(&place, "s0.csv", 0);
    place.run("assemble --output out").refused(&["name the scans"]);
    place.run("assemble s0.csv --output out").refused(&["1 scan", "at least two"]);
    place.run("assemble s0.csv s0.csv --output other").refused(&["1 scan", "different files"]);
    place.run("assemble s0.csv s1.csv --output out").refused(&["already contains a project", "--resume"]);
    place.run("assemble s0.csv s1.csv --output out --resume --scale unknown").refused(&["same options"]);
    place.run("assemble s0.csv s1.csv --output third --scale 2").refused(&["same units"]);
    place.run("assemble s0.csv s1.csv --output third --merge some").refused(&["auto"]);
    place.run("assemble s0.csv s1.csv --output .").refused(&["not empty"]);
    let project = place.read("out/project.json");
    place.write("out/project.json", project.replace("\"project_schema\":1", "\"project_schema\":99"));
    place.run("assemble s0.csv s1.csv --output out --resume").refused(&["schema 99", "new directory"]);
    place.write("out/project.json", project);
    let scans = place.read("out/scans.jsonl");
    place.write("out/scans.jsonl", scans.replace("s0.csv", "s9.csv"));
    place.run("assemble s0.csv s1.csv --output out --resume").refused(&["scans.jsonl", "line 1", "checksum"]);
}
