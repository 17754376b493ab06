//! `pcr99 georeference`: control points and trajectories, from files to coordinates in the world.

use crate::place::Place;

const HEADER: &str = "name,x,y,z,X,Y,Z,sigma\n";
const LOCAL: [[f64; 3]; 6] =
    [[0.0, 0.0, 0.0], [10.0, 0.0, 1.0], [10.0, 8.0, 0.0], [0.0, 8.0, 2.0], [5.0, 4.0, 6.0], [2.0, 7.0, 3.0]];

/// A quarter turn about the vertical, and UTM coordinates.
fn world([x, y, z]: [f64; 3]) -> [f64; 3] {
    [500_000.0 - y, 4_000_000.0 + x, 100.0 + z]
}

fn table(slip: f64) -> String {
    let row = |(k, local): (usize, &[f64; 3])| {
        let [x, y, z] = *local;
        let mut to = world(*local);
        to[1] += if k == 4 { slip } else { 0.0 };
        format!("P{},{x},{y},{z},{},{},{},0.01\n", k + 1, to[0], to[1], to[2])
    };
    HEADER.to_owned() + &LOCAL.iter().enumerate().map(row).collect::<String>()
}

#[test]
fn a_cloud_is_moved_and_a_gross_error_is_named() {
    let place = Place::new();
    place.write("points.csv", table(1.0));
    place.write("scan.xyz", "1 2 3\n4 5 6\n7 8 10\n");
    let ran =
        place.run("georeference points.csv --cloud scan.xyz --write-moved world.xyz --residuals off.csv -q");
    assert_eq!((ran.status, ran.err.as_str()), (Some(0), ""));
    assert!(ran.out.contains("control points  6, 5 used, 1 left out"), "{}", ran.out);
    assert!(ran.out.contains("P5  off by 1") && ran.out.contains("GROSS ERROR, left out"), "{}", ran.out);
    assert!(ran.out.contains("a gross error of one point would be found"), "{}", ran.out);
    let moved: Vec<f64> = place.read("world.xyz").split_whitespace().map(|x| x.parse().unwrap()).collect();
    let expected: Vec<f64> =
        [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 10.0]].into_iter().flat_map(world).collect();
    assert!(moved.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-6), "{moved:?}");
    let residuals = place.read("off.csv");
    assert!(
        residuals.lines().nth(5).is_some_and(|line| line.starts_with("P5,") && line.ends_with(",no")),
        "{residuals}"
    );
    for (more, unknowns) in [("", 6), (" --vertical source=0,0,1 target=0,0,1", 6), (" --scale unknown", 7)] {
        let document = place.json(0, &format!("georeference points.csv{more}"));
        assert_eq!(document["used"], 5);
        assert_eq!(document["covariance"].as_array().expect("rows").len(), unknowns);
        assert_eq!(document["points"][4]["used"], false);
    }
    for format in ["matrix", "tum", "kitti", "g2o"] {
        let ran = place.run(&format!("georeference points.csv --format {format}"));
        assert_eq!(ran.status, Some(0), "{}", ran.err);
        assert!(
            ran.out
                .split_whitespace()
                .filter_map(|x| x.parse::<f64>().ok())
                .any(|x| (x - 500_000.0).abs() < 0.1)
        );
    }
}

#[test]
fn what_is_wrong_with_control_points_is_named() {
    let place = Place::new();
    let refused = |text: &str, more: &str| {
        place.write("points.csv", text);
        let ran = place.run(&format!("georeference points.csv {more}"));
        assert_eq!((ran.status, ran.out.as_str()), (Some(2), ""), "{text}");
        ran.err
    };
    let rows =
        |count: usize| table(0.0).lines().take(1 + count).map(|line| format!("{line}\n")).collect::<String>();
    assert!(
        refused(&rows(2), "").contains("2 control points, but 3 are needed: add more, or give the vertical")
    );
    assert!(
        refused(&rows(1), "--vertical source=0,0,1 target=0,0,1")
            .contains("1 control points, but 2 are needed")
    );
    assert!(refused("a,0,0,0,0,0,0\nb,1,0,0,1,0,0\nc,2,0,0,2,0,0\n", "").contains("lie on one line"));
    assert!(refused("a,0,0,0,0,0,0\na,1,0,0,1,0,0\nc,2,1,0,2,1,0\n", "").contains("both named `a`"));
    assert!(refused("a,0,0,0,0,0,0\nb,1,0,0,1,0\n", "").contains("line 2: 5 numbers after the name"));
    assert!(
        refused("a,0,0,0,0,0,0\nb,1,0,x,1,0,0\n", "").contains("line 2: expected a name and 6 or 7 numbers")
    );
    assert!(refused(&rows(6), "--tilt 2").contains("`tilt` needs `vertical`"));
    assert!(refused(&rows(6), "--scale -1").contains("`scale` must be finite and positive"));
    let two = place.run("georeference points.csv --vertical source=0,0,1 target=0,0,1");
    assert_eq!(two.status, Some(0));
    // Mirrored points agree with no rotation.
    let mirrored: String = (0..9)
        .map(|k: i32| {
            let (x, y, z) = (k * k % 7, k * k * k % 11, k * 5 % 9);
            format!("m{k},{x},{y},{z},{},{y},{z},0.01\n", -x)
        })
        .collect();
    place.write("points.csv", mirrored);
    place.write("scan.xyz", "1 2 3\n4 5 6\n");
    let ran = place.run("georeference points.csv --cloud scan.xyz --write-moved world.xyz");
    assert_eq!(ran.status, Some(1), "{}", ran.out);
    assert!(ran.out.contains("NOT RELIABLE") && !place.listing().contains(&"world.xyz".to_owned()));
}

#[test]
fn trajectories_are_paired_by_time() {
    let place = Place::new();
    let line = |time: f64, [x, y, z]: [f64; 3]| format!("{time} {x} {y} {z} 0 0 0 1\n");
    let way: Vec<[f64; 3]> = (0..40)
        .map(|k| {
            let k = f64::from(k);
            [k, 3.0 * (0.3 * k).sin(), 2.0 * (0.2 * k).cos()]
        })
        .collect();
    let estimate: String = way.iter().enumerate().map(|(k, p)| line(0.1 * k as f64, *p)).collect();
    // Every second pose, four milliseconds later, twice as large.
    let reference: String = way
        .iter()
        .enumerate()
        .step_by(2)
        .map(|(k, p)| line(0.1 * k as f64 + 0.004, world(p.map(|x| 2.0 * x))))
        .collect();
    place.write("estimate.txt", format!("# timestamp x y z qx qy qz qw\n{estimate}"));
    place.write("truth.txt", reference);
    let both = "georeference --trajectory estimate.txt --reference truth.txt";
    let document = place.json(0, &format!("{both} --scale unknown --write-moved moved.txt"));
    assert_eq!(document["pairs"], 20);
    assert!(document["ate"]["rmse"].as_f64().expect("a number") < 1e-6);
    assert!((document["scale"].as_f64().expect("a number") - 2.0).abs() < 1e-9);
    assert_eq!(place.read("moved.txt").lines().count(), 40);
    let rigid = place.json(0, both);
    assert!(rigid["ate"]["rmse"].as_f64().expect("a number") > 1.0);
    let refused = place.run(&format!("{both} --time-tolerance 0.001"));
    assert_eq!(refused.status, Some(2));
    assert!(refused.err.contains("raise --time-tolerance"), "{}", refused.err);
    place.write("truth.txt", "0.0 1 2 3 0 0 0 1\n0.0 1 2 4 0 0 0 1\n");
    let refused = place.run(both);
    assert!(refused.err.contains("`truth.txt`, line 2: the timestamp 0 is not after"), "{}", refused.err);
}
