//! `convert`: from each format to each, and what is refused.

use pcr99_cloud::{Cloud, read_cloud, write_cloud};

use super::place::Place;

/// Three points of a scan in UTM coordinates, one of them missing, with all that is known of them.
fn cloud() -> Cloud {
    Cloud {
        points: vec![[448_262.125, 5_411_932.001, 300.0], [f64::NAN; 3], [448_263.5, 5_411_933.0, 301.7]],
        normals: Some(vec![[0.0, 0.0, 1.0], [0.0; 3], [0.6, 0.0, -0.8]]),
        colors: Some(vec![[1, 2, 3], [0; 3], [255, 0, 9]]),
        intensities: Some(vec![0.25, 0.0, 7.0]),
        viewpoint: Some([448_000.0, 5_411_000.0, 302.0]),
    }
}

#[test]
fn every_format_to_every_other() {
    let place = Place::new();
    write_cloud(&place.path("in.ply"), &cloud()).expect("a file");
    let finite = cloud().without_missing().0;
    for first in ["a.ply", "a.pcd", "a.npy", "a.xyz", "a.csv", "a.las", "a.laz", "a.e57"] {
        place.run(&format!("convert in.ply {first} --force")).with_status(0);
        for second in ["b.ply", "b.pcd", "b.npy", "b.txt", "b.CSV", "b.las", "b.laz", "b.e57"] {
            let ran = place.run(&format!("convert {first} {second} --force")).with_status(0);
            assert_eq!(ran.out, "");
            let (read, missing) = read_cloud(&place.path(second)).expect(second).without_missing();
            let drops =
                |name: &str| ["xyz", "csv", "txt", "CSV", "las", "laz"].iter().any(|end| name.ends_with(end));
            assert_eq!(missing, usize::from(!drops(first) && !drops(second)), "{first} {second}");
            // An E57 scan has its origin at the sensor.
            let off = read.points.as_flattened().iter().zip(finite.points.as_flattened());
            let off = off.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(off < 1e-8, "{first} {second}: {off}");
            let is_las = |name: &str| name.ends_with("las") || name.ends_with("laz");
            // The columns of an array have no names: colours without normals are guessed from more points than these.
            if !(is_las(first) && second.ends_with("npy")) {
                assert_eq!(read.colors, finite.colors, "{first} {second}");
            }
            if is_las(first) || is_las(second) {
                continue; // normals and intensities that are no whole numbers become extra bytes
            }
            assert_eq!(read.intensities, finite.intensities, "{first} {second}");
            let normals = read.normals.expect("normals");
            let off =
                normals.as_flattened().iter().zip(finite.normals.as_ref().expect("normals").as_flattened());
            assert!(off.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max) < 1e-7);
        }
    }
}

#[test]
fn what_was_carried_and_what_was_lost_is_said() {
    let place = Place::new();
    write_cloud(&place.path("in.pcd"), &cloud()).expect("a file");
    assert_eq!(
        place.run("convert in.pcd a.ply").with_status(0).err,
        "3 points with normals, colours and intensities written to `a.ply`\n\
         note: not stored, because the format has no field for it: viewpoint\n"
    );
    assert_eq!(
        place.run("convert in.pcd a.npy").with_status(0).err.lines().nth(1),
        Some("note: the columns are x y z nx ny nz red green blue intensity")
    );
    assert_eq!(
        place.run("convert a.ply a.xyz").with_status(0).err,
        "2 points with normals, colours and intensities written to `a.xyz`\n\
         note: removed 1 point with non-finite coordinates\n"
    );
    let ran = place.run("--quiet convert a.ply b.pcd").with_status(0);
    assert_eq!((ran.out.as_str(), ran.err.as_str()), ("", ""));
    place.write("one.xyz", "1 2 3\n");
    assert_eq!(place.run("convert one.xyz one.csv").with_status(0).err, "1 point written to `one.csv`\n");
    assert_eq!(place.read("one.csv"), "x,y,z\n1,2,3\n");
}

#[test]
fn nothing_is_replaced_or_written_by_mistake() {
    let place = Place::new();
    place.write("a.xyz", "1 2 3\n4 5 6\n");
    place.write("bad.ply", "ply\nformat ascii 1.0\n");
    place.write("old.ply", "old");
    std::fs::create_dir(place.path("d.ply")).expect("a directory");
    let before = place.listing();
    for (args, words) in [
        ("a.xyz ./a.xyz --force", &["`a.xyz` and `./a.xyz` are the same file"][..]),
        (
            "a.xyz b.foo",
            &["cannot write `b.foo`", ".ply, .pcd, .las, .laz, .e57, .xyz, .txt, .asc, .csv, .npy"],
        ),
        ("a.xyz b", &["cannot write `b`", "names no format"]),
        ("a.xyz b.obj", &["cannot write `b.obj`", "names no format"]),
        ("a.xyz old.ply", &["`old.ply` exists", "--force"]),
        ("a.xyz d.ply --force", &["`d.ply`", "it is a directory"]),
        ("a.xyz no/b.ply", &["`no/b.ply`", "there is no directory `no`"]),
        ("missing.ply b.ply", &["cannot read `missing.ply`"]),
        ("bad.ply b.ply", &["`bad.ply`, byte 21", "no `end_header`"]),
        ("bad.ply old.ply --force", &["`bad.ply`, byte 21", "no `end_header`"]),
    ] {
        place.run(&format!("convert {args}")).refused(words);
    }
    assert_eq!(place.listing(), before);
    assert_eq!(place.read("old.ply"), "old");
    place.run("convert a.xyz old.ply --force").with_status(0);
    assert_eq!(read_cloud(&place.path("old.ply")).expect("new").len(), 2);
}

const QUARTER_TURN: &str = "0 -1 0 5\n1 0 0 6\n0 0 1 7\n0 0 0 1\n";

#[test]
fn a_transform_is_applied_and_taken_back() {
    let place = Place::new();
    place.write("pose.txt", QUARTER_TURN);
    place.write("a.csv", "x,y,z,label\n1,2,3,oak\n4,5,6,elm\n7,8,0,fir\n");
    let ran = place.run("apply pose.txt a.csv b.csv").with_status(0);
    assert_eq!(
        (ran.out.as_str(), ran.err.as_str()),
        ("", "3 points with all attributes written to `b.csv`\n")
    );
    assert_eq!(place.read("b.csv"), "x,y,z,label\n3,7,10,oak\n0,10,13,elm\n-3,13,7,fir\n");
    place.run("apply pose.txt b.csv c.csv --inverse --quiet").with_status(0);
    assert_eq!(place.read("c.csv"), place.read("a.csv"));
    let ran = place.run("apply pose.txt a.csv b.laz").with_status(0);
    assert!(ran.err.contains("not stored, because the format has no field for it: `label`"), "{}", ran.err);
    assert_eq!(
        read_cloud(&place.path("b.laz")).expect("a file").points,
        [[3.0, 7.0, 10.0], [0.0, 10.0, 13.0], [-3.0, 13.0, 7.0]]
    );
    place.write("half.txt", "1 0 0 0\n");
    place.write("no.json", "{\"schema\": 2}");
    for (args, words) in [
        ("half.txt a.csv d.csv", &["`half.txt`", "a transform has 16"][..]),
        ("no.json a.csv d.csv", &["`no.json`"]),
        ("none.txt a.csv d.csv", &["cannot read `none.txt`"]),
        ("pose.txt a.csv b.csv", &["`b.csv` exists", "--force"]),
        ("pose.txt a.csv ./a.csv --force", &["are the same file"]),
        ("pose.txt a.csv d.stl", &["names no format"]),
    ] {
        let before = place.listing();
        place.run(&format!("apply {args}")).refused(words);
        assert_eq!(place.listing(), before);
    }
}

#[test]
fn a_file_is_described() {
    let place = Place::new();
    place.write("a.csv", "x,y,z,class\n0,0,0,1\n1,0,0,2\n0,2,0,2\n0,0,3,2\nnan,0,0,9\n0,0,3,4\n");
    let scaled: String = ["0 0 0", "1000 0 0", "0 2000 0", "0 0 3000"].join("\n");
    place.write("mm.xyz", scaled);
    let ran = place.run("info a.csv mm.xyz").with_status(0);
    for words in [
        "a.csv: text, 6 points, 1 without coordinates",
        "extent       1 × 2 × 3",
        "attribute    class, 1 to 9",
        "1 of 5 points have the coordinates",
        "metres and millimetres",
    ] {
        assert!(ran.out.contains(words), "{words}: {}", ran.out);
    }
    let document: serde_json::Value =
        serde_json::from_str(&place.run("info a.csv --json").with_status(0).out).expect("JSON");
    let cloud = &document["clouds"][0];
    assert_eq!((&cloud["points"], &cloud["missing"]), (&6.into(), &1.into()));
    assert_eq!(cloud["attributes"][0]["name"], "class");
    place.run("info missing.ply").refused(&["cannot read `missing.ply`"]);
}
