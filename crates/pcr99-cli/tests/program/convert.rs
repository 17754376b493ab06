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
    for first in ["a.ply", "a.pcd", "a.npy", "a.xyz", "a.csv"] {
        place.run(&format!("convert in.ply {first} --force")).with_status(0);
        for second in ["b.ply", "b.pcd", "b.npy", "b.txt", "b.CSV"] {
            let ran = place.run(&format!("convert {first} {second} --force")).with_status(0);
            assert_eq!(ran.out, "");
            let (read, missing) = read_cloud(&place.path(second)).expect(second).without_missing();
            let text = |name: &str| ["xyz", "csv", "txt", "CSV"].iter().any(|end| name.ends_with(end));
            assert_eq!(missing, usize::from(!text(first) && !text(second)), "{first} {second}");
            assert_eq!(read.points, finite.points, "{first} {second}");
            assert_eq!((read.colors, read.intensities), (finite.colors.clone(), finite.intensities.clone()));
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
        ("a.xyz b.foo", &["cannot write `b.foo`", ".ply, .pcd, .xyz, .txt, .asc, .csv, .npy"]),
        ("a.xyz b", &["cannot write `b`", "names no format"]),
        ("a.xyz b.las", &["cannot write `b.las`", "names no format"]),
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
