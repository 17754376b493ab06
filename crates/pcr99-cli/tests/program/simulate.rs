//! `simulate`: problems and their truth.

use pcr99_cloud::read_matches;
use pcr99_lab::{OutlierCenter, Recipe, ScaleChoice, Shape, Truth};
use serde_json::{Value, json};

use super::{
    formats::{ply_ascii, ply_binary},
    place::{Place, inliers, table},
};

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let place = Place::new();
    for shape in ["knot", "cube", "sphere"] {
        let of = |args: &str| {
            place.run(&format!("simulate --shape {shape} --points 50 --truth t.json {args}")).with_status(0);
            let ran = place.run(&format!("simulate --shape {shape} --points 50 {args}")).with_status(0);
            assert_eq!(ran.err, "");
            (ran.out, place.read("t.json"))
        };
        let first = of("--seed 5");
        assert_eq!(first, of("--seed 5"));
        assert_ne!(first, of("--seed 6"));
        assert_eq!(of(""), of("--seed 0"));
        assert_eq!(first.0.lines().count(), 51);
        assert_eq!(first.0.lines().next(), Some("sx,sy,sz,tx,ty,tz"));
    }
}

/// Written and read, all numbers are still those of the recipe.
#[test]
fn files_hold_the_problem_to_the_last_bit() {
    let place = Place::new();
    let args = "--shape sphere --points 80 --outliers 0.25 --outlier-center offset --noise 0.02 --scale random --seed 18446744073709551615";
    place.run(&format!("simulate {args} --output m.csv --truth t.json")).with_status(0);
    let recipe =
        Recipe::default().with_shape(Shape::Sphere).and_then(|r| r.with_points(80)).expect("a recipe");
    let recipe = recipe.with_outlier_ratio(0.25).and_then(|r| r.with_noise(0.02)).expect("a recipe");
    let recipe = recipe.with_scale(ScaleChoice::Random).expect("a recipe");
    let problem =
        recipe.with_outlier_center(OutlierCenter::Offset).with_seed(u64::MAX).generate().expect("a problem");
    let matches = read_matches(&place.path("m.csv")).expect("matches");
    assert_eq!(
        (matches.source, matches.target, matches.weights),
        (problem.source.clone(), problem.target.clone(), None)
    );
    assert_eq!(Truth::from_json(&place.read("t.json")).expect("a truth"), problem.truth_document());
}

#[test]
fn the_truth_has_the_fields_of_the_interface() {
    let place = Place::new();
    let ran = place
        .run(
            "simulate --shape knot --points 40 --outliers 0.75 --scale 2.5 --noise 0 --seed 3 --truth t.json",
        )
        .with_status(0);
    let truth: Value = serde_json::from_str(&place.read("t.json")).expect("JSON");
    for name in ["schema", "scale", "rotation", "translation", "transform", "inliers", "noise", "seed"] {
        assert!(!truth[name].is_null(), "{name}");
    }
    assert_eq!(
        [&truth["schema"], &truth["scale"], &truth["noise"], &truth["seed"]],
        [&json!(1), &json!(2.5), &json!(0.0), &json!(3)]
    );
    assert_eq!(inliers(&truth).len(), 10);
    // Without noise, the truth moves exactly the right sources onto their targets.
    let transform: [[f64; 4]; 4] = serde_json::from_value(truth["transform"].clone()).expect("4×4");
    for (i, line) in ran.out.lines().skip(1).enumerate() {
        let row: Vec<f64> = line.split(',').map(|x| x.parse().expect("a number")).collect();
        let off = (0..3)
            .map(|axis| {
                (0..3).map(|k| transform[axis][k] * row[k]).sum::<f64>() + transform[axis][3] - row[3 + axis]
            })
            .fold(0.0, |most: f64, off| most.max(off.abs()));
        assert_eq!(off < 1e-12, inliers(&truth).contains(&i), "match {i} is off by {off}");
    }
}

#[test]
fn points_of_a_file_as_the_shape() {
    let place = Place::new();
    let points: Vec<[f64; 3]> =
        (0..30).map(|i| [f64::from(i * i % 17), f64::from(i * 7 % 13), f64::from(i * 5 % 11)]).collect();
    place.write("c.xyz", table(&points, " ", "\n"));
    place.write("a.ply", ply_ascii(&points));
    place.write("b.ply", ply_binary(&points, true));
    let of = |file: &str| {
        place.run(&format!("simulate --shape {file} --points 20 --seed 1 --truth t.json")).with_status(0).out
    };
    let text = of("c.xyz");
    assert_eq!(text.lines().count(), 21);
    assert!(place.read("t.json").contains("\"shape\": \"c.xyz\""));
    assert_eq!(of("a.ply"), text);
    assert_eq!(of("b.ply"), text);

    place.write("nan.xyz", "0 0 0\n1 0 nan\n0 1 0\n");
    place.write("line.xyz", "0 0 0\n1 1 1\n2 2 2\n3 3 3\n");
    place.write("empty.ply", "");
    for (args, words) in [
        ("--shape c.xyz --points 31", ["`c.xyz`", "30 points but 31 are needed"]),
        ("--shape nan.xyz --points 3", ["`nan.xyz`", "point 1 (counted from 0)"]),
        ("--shape line.xyz --points 4", ["`line.xyz`", "on one line"]),
        ("--shape empty.ply", ["`empty.ply`", "not a PLY file"]),
        ("--shape .", ["`.`", "directory"]),
    ] {
        let before = place.listing();
        place.run(&format!("simulate --output new.csv --truth new.json {args}")).refused(&words);
        assert_eq!(place.listing(), before, "{args}");
    }
}

#[test]
fn random_scales_are_between_1_and_5() {
    let place = Place::new();
    for seed in 0..10 {
        place.run(&format!("simulate --shape cube --points 10 --scale random --seed {seed} --truth t.json"));
        let truth: Value = serde_json::from_str(&place.read("t.json")).expect("JSON");
        assert!((1.0..5.0).contains(&truth["scale"].as_f64().expect("a number")), "{truth}");
    }
}
