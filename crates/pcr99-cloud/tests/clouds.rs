//! Clouds in files: every attribute that a format holds comes back, without loss of precision.

mod fixtures;

use std::fs;
use std::path::PathBuf;

use fixtures::{Kind, e57, las, npy, utm};
use pcr99_cloud::Attribute::{Colors, Intensities, Normals, Viewpoint};
use pcr99_cloud::{Attribute, Cloud, CloudFormat, FileError, read_cloud, read_points, write_cloud};
use proptest::{array::uniform3, collection::vec, option, prelude::*};
use tempfile::TempDir;

struct Files(TempDir);

impl Files {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary directory"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn with(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        fs::write(self.path(name), bytes).expect("a temporary file");
        self.path(name)
    }

    /// The cloud in a file of these bytes. Reading only its points gives the same points.
    fn read(&self, name: &str, bytes: impl AsRef<[u8]>) -> Cloud {
        let path = self.with(name, bytes);
        let cloud = read_cloud(&path).expect(name);
        assert_eq!(format!("{:?}", read_points(&path).expect(name)), format!("{:?}", cloud.points));
        cloud.validate().expect("equal lengths");
        cloud
    }

    fn message(&self, error: &FileError) -> String {
        error.to_string().replace(&format!("{}/", self.0.path().display()), "")
    }
}

const WRITTEN: [&str; 7] = ["a.ply", "a.PCD", "a.xyz", "a.txt", "a.asc", "a.csv", "a.npy"];

/// Every attribute survives in every format that is written. Positions far from the origin survive to the bit.
#[test]
fn what_is_written_is_read_back() {
    let files = Files::new();
    let cloud = utm(200);
    for name in WRITTEN {
        let written = write_cloud(&files.path(name), &cloud).expect(name);
        assert_eq!((written.points, written.dropped), (200, 0));
        let viewpoint = name == "a.PCD";
        let expected = [Normals, Colors, Intensities, Viewpoint];
        assert_eq!(written.kept, expected[..3 + usize::from(viewpoint)], "{name}");
        let lost: Vec<String> =
            expected[3 + usize::from(viewpoint)..].iter().map(ToString::to_string).collect();
        assert_eq!(written.lost, lost, "{name}");
        let again = read_cloud(&files.path(name)).expect(name);
        assert_eq!(again.points, cloud.points, "{name}");
        assert_eq!((&again.colors, &again.intensities), (&cloud.colors, &cloud.intensities), "{name}");
        assert_eq!(again.viewpoint.is_some(), viewpoint);
        let both = again.normals.expect("normals").into_iter().zip(cloud.normals.clone().expect("normals"));
        for (read, written) in both {
            let same = if viewpoint { written.map(|x| f64::from(x as f32)) } else { written };
            assert_eq!(read, same, "{name}");
        }
    }
    assert_eq!(read_cloud(&files.path("a.PCD")).expect("PCD").viewpoint, cloud.viewpoint);
    let mut names: Vec<_> =
        fs::read_dir(files.0.path()).expect("a directory").map(|e| e.expect("a file").file_name()).collect();
    names.sort();
    assert_eq!(names.len(), WRITTEN.len(), "nothing else is left behind: {names:?}");
}

/// Single precision stays single precision, with half the bytes.
#[test]
fn precision_is_no_more_than_needed() {
    let files = Files::new();
    let cloud = Cloud::new((0..100u8).map(|i| [f64::from(i), f64::from(0.1f32), -1.5]).collect());
    let size = |name: &str, cloud: &Cloud| {
        write_cloud(&files.path(name), cloud).expect(name);
        fs::metadata(files.path(name)).expect("a file").len()
    };
    assert!((1200..1400).contains(&size("a.ply", &cloud)));
    assert!((1200..1500).contains(&size("a.pcd", &cloud)));
    assert_eq!(size("a.npy", &cloud), 128 + 2400);
    assert!((2400..2600).contains(&size("b.ply", &utm_points())));
    assert!((2400..2700).contains(&size("b.pcd", &utm_points())));
    fn utm_points() -> Cloud {
        Cloud::new(utm(100).points)
    }
}

/// Missing points are kept in formats that hold them, and otherwise dropped with their attributes.
#[test]
fn missing_points() {
    let files = Files::new();
    let mut cloud = utm(10);
    cloud.points[3][1] = f64::NAN;
    cloud.points[7][0] = f64::INFINITY;
    for name in WRITTEN {
        let format = CloudFormat::of(&files.path(name)).expect("a format");
        let written = write_cloud(&files.path(name), &cloud).expect(name);
        let expected = if format.holds_missing() { (10, 0) } else { (8, 2) };
        assert_eq!((written.points, written.dropped), expected, "{name}");
        let again = read_cloud(&files.path(name)).expect(name);
        assert_eq!(again.count_missing(), 2 - expected.1, "{name}");
        let (kept, _) = again.without_missing();
        let (original, _) = cloud.clone().without_missing();
        assert_eq!((kept.points, kept.colors), (original.points, original.colors), "{name}");
    }
}

#[test]
fn a_cloud_that_cannot_be_written_leaves_nothing() {
    let files = Files::new();
    let cloud = utm(3);
    let message = |name: &str, cloud: &Cloud| {
        files.message(&write_cloud(&files.path(name), cloud).expect_err("no file"))
    };
    assert_eq!(
        message("a.obj", &cloud),
        "cannot write `a.obj`: its extension names no format that clouds are written in; use one of .ply, .pcd, .las, \
         .laz, .e57, .xyz, .txt, .asc, .csv, .npy"
    );
    assert!(message("a", &cloud).contains("names no format"));
    assert_eq!(
        message("a.ply", &Cloud { colors: Some(vec![]), ..cloud.clone() }),
        "cannot write `a.ply`: 0 colours for 3 points: give one for each point, or none"
    );
    assert!(message("no/a.ply", &cloud).contains("there is no directory"));
    fs::create_dir(files.path("d.ply")).expect("a directory");
    assert!(message("d.ply", &cloud).contains("it is a directory"));
    fs::remove_dir(files.path("d.ply")).expect("a directory");
    assert_eq!(fs::read_dir(files.0.path()).expect("a directory").count(), 0);
}

#[test]
fn las_and_laz() {
    let files = Files::new();
    let cloud = utm(1000);
    for (format, colors) in [(0, false), (1, false), (2, true), (3, true), (6, false), (7, true)] {
        for (name, compressed) in [("a.las", false), ("a.laz", true), ("wrong.ply", true)] {
            let read = files.read(name, las(&cloud, compressed, format));
            for (found, point) in read.points.iter().zip(&cloud.points) {
                for axis in 0..3 {
                    assert!((found[axis] - point[axis]).abs() < 1e-9, "{found:?} {point:?}");
                }
            }
            assert_eq!(read.intensities, cloud.intensities, "{name} {format}");
            assert_eq!(read.colors, cloud.colors.clone().filter(|_| colors), "{name} {format}");
        }
    }
    let plain = files.read("plain.las", las(&Cloud::new(cloud.points), false, 3));
    assert_eq!(plain.attributes(), [], "zeros are no intensities and no colours");
}

#[test]
fn e57_scans() {
    let files = Files::new();
    let rows = [
        ([1.0, 0.0, 0.0], true, [255, 128, 0], 0.5),
        ([0.0, 2.0, 5_411_932.125], true, [1, 2, 3], -7.0),
        ([3.0, 3.0, 3.0], false, [9, 9, 9], 0.0),
    ];
    let same = |xml: String| xml;
    let plain = files.read("a.e57", e57(Kind::Cartesian, &[None], &rows, same));
    assert_eq!(plain.points[..2], [[1.0, 0.0, 0.0], [0.0, 2.0, 5_411_932.125]]);
    assert!(plain.points[2].iter().all(|x| x.is_nan()), "the third is marked invalid");
    assert_eq!(plain.colors, Some(vec![[255, 128, 0], [1, 2, 3], [9, 9, 9]]));
    assert_eq!(plain.intensities, Some(vec![0.5, -7.0, 0.0]));
    assert_eq!(plain.viewpoint, None);

    // A quarter turn about z: x becomes y.
    let half = 0.5f64.sqrt();
    let pose = Some(([half, 0.0, 0.0, half], [10.0, 20.0, 30.0]));
    let moved = files.read("no-extension", e57(Kind::Cartesian, &[pose], &rows, same));
    let off = |found: [f64; 3], expected: [f64; 3]| {
        (0..3).map(|k| (found[k] - expected[k]).abs()).fold(0.0, f64::max)
    };
    assert!(off(moved.points[0], [10.0, 21.0, 30.0]) < 1e-12);
    assert_eq!(moved.viewpoint, Some([10.0, 20.0, 30.0]));
    let two = files.read("two.e57", e57(Kind::Cartesian, &[None, pose], &rows, same));
    assert_eq!((two.len(), two.viewpoint), (6, None));
    assert_eq!(two.points[0], [1.0, 0.0, 0.0]);
    assert_eq!(two.points[3], moved.points[0]);

    let quarter = std::f64::consts::FRAC_PI_2;
    let angles = [([2.0, quarter, 0.0], true, [0; 3], 0.0), ([3.0, 0.0, quarter], true, [0; 3], 0.0)];
    let spherical = files.read("s.E57", e57(Kind::Spherical, &[None], &angles, same));
    assert!(off(spherical.points[0], [0.0, 2.0, 0.0]) < 1e-12);
    assert!(off(spherical.points[1], [0.0, 0.0, 3.0]) < 1e-12);

    // A scan that declares more points than the file has bits is refused at once.
    let many = |xml: String| xml.replace("recordCount=\"3\"", "recordCount=\"999999999999\"");
    let absurd =
        read_cloud(&files.with("m.e57", e57(Kind::Cartesian, &[None], &rows, many))).expect_err("too many");
    assert!(
        files.message(&absurd).starts_with("`m.e57`: scan 0 (counted from 0) promises 999999999999 points"),
        "{absurd}"
    );
}

#[test]
fn kitti_scans() {
    let files = Files::new();
    let bytes: Vec<u8> =
        [1f32, 2.0, 3.0, 0.25, 4.0, 5.0, 6.0, 0.5].iter().flat_map(|x| x.to_le_bytes()).collect();
    let cloud = files.read("000000.bin", &bytes);
    assert_eq!(cloud.points, [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]);
    assert_eq!(cloud.intensities, Some(vec![0.25, 0.5]));
    let error = read_cloud(&files.with("b.bin", &bytes[..31])).expect_err("cut");
    assert_eq!(
        files.message(&error),
        "`b.bin`, byte 16: the file ends inside a point: a KITTI scan has 16 bytes for each (x y z intensity as 32-bit \
         floats); it is truncated or of another kind"
    );
    let error = read_cloud(&files.with("c.bin", [])).expect_err("empty");
    assert_eq!(files.message(&error), "`c.bin`: there are no points in it; at least one is needed");
}

#[test]
fn arrays_with_more_columns() {
    let files = Files::new();
    let array = |shape: &str, rows: &[f64]| {
        npy("<f8", shape, &rows.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>())
    };
    for (shape, rows, attributes) in [
        ("(1, 3)", &[1.0, 2.0, 3.0][..], &[][..]),
        ("(1, 4)", &[1.0, 2.0, 3.0, 0.5], &[Intensities]),
        ("(1, 5)", &[1.0, 2.0, 3.0, 0.5, 0.0], &[]),
        ("(1, 6)", &[1.0, 2.0, 3.0, 0.0, -1.0, 0.0], &[Normals]),
        ("(1, 6)", &[1.0, 2.0, 3.0, 0.0, 100.0, 0.0], &[Colors]),
        ("(1, 6)", &[1.0, 2.0, 3.0, 0.5, 100.0, 0.0], &[]),
    ] {
        let cloud = files.read("a.npy", array(shape, rows));
        assert_eq!(
            (cloud.points.as_slice(), cloud.attributes().as_slice()),
            (&[[1.0, 2.0, 3.0]][..], attributes)
        );
    }
}

/// A file is read in the format of its signature, whatever its extension.
#[test]
fn contents_win_over_names() {
    let files = Files::new();
    let ply = "ply\r\nformat ascii 1.0\r\nelement vertex 1\r\nproperty int x\r\nproperty int y\r\nproperty int z\r\nend_header\r\n1 2 3\r\n";
    let array = npy("|u1", "(1, 3)", &[1, 2, 3]);
    for name in
        ["a", "a.ply", "a.pcd", "a.xyz", "a.csv", "a.las", "a.npy", "a.obj", "a.bin", "a.e57", "a.dat"]
    {
        assert_eq!(files.read(name, ply).points, [[1.0, 2.0, 3.0]]);
        assert_eq!(files.read(name, &array).points, [[1.0, 2.0, 3.0]]);
        assert_eq!(files.read(name, fixtures::pcd("ascii")).len(), 3);
        assert_eq!(files.read(name, las(&utm(3), true, 1)).len(), 3);
    }
    for (name, words) in [
        ("t.ply", "not a PLY file"),
        ("t.pcd", "not a line of a PCD header"),
        ("t.las", "not a LAS or LAZ file"),
        ("t.e57", "no E57 file"),
        ("t.npy", "not a NumPy array"),
        ("t.obj", "no points in it"),
        ("t.bin", "ends inside a point"),
    ] {
        let error = read_cloud(&files.with(name, "1 2 3\n4 5 6\n")).expect_err(name);
        assert!(error.to_string().contains(words), "{error}");
    }
    assert_eq!(files.read("t.pts", "1\n1 2 3 -500 9 8 7\n").colors, Some(vec![[9, 8, 7]]));
}

/// Any cloud with any attributes.
fn clouds() -> impl Strategy<Value = Cloud> {
    let real = prop_oneof![-1e3..1e3f64, any::<f32>().prop_map(f64::from), any::<f64>()];
    (1..20usize).prop_flat_map(move |count| {
        let finite = real.clone().prop_map(|x| if x.is_finite() { x } else { 0.5 });
        let unit = prop_oneof![Just([0.0, 0.6, -0.8]), Just([1.0, 0.0, 0.0])];
        (
            vec(uniform3(real.clone()), count),
            option::of(vec(unit, count)),
            option::of(vec(any::<[u8; 3]>(), count)),
            option::of(vec(finite, count)),
        )
            .prop_map(|(points, normals, colors, intensities)| Cloud {
                points,
                normals,
                colors,
                intensities,
                viewpoint: None,
            })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// PLY and text give back the same bits; text drops missing points.
    #[test]
    fn ply_and_text_lose_nothing(cloud in clouds()) {
        let files = Files::new();
        for name in ["a.ply", "a.xyz", "a.csv"] {
            let expected = if name == "a.ply" { cloud.clone() } else { cloud.clone().without_missing().0 };
            write_cloud(&files.path(name), &cloud).expect(name);
            let read = read_cloud(&files.path(name));
            if expected.is_empty() {
                prop_assert!(read.is_err());
                continue;
            }
            prop_assert_eq!(format!("{:?}", read.expect(name)), format!("{:?}", expected));
        }
    }

    /// PCD keeps positions within a millionth of the extent, and everything else within single precision.
    #[test]
    fn pcd_keeps_what_it_promises(cloud in clouds()) {
        let files = Files::new();
        let path = files.path("a.pcd");
        write_cloud(&path, &cloud).expect("written");
        let read = read_cloud(&path).expect("read");
        prop_assert_eq!((read.len(), &read.colors), (cloud.len(), &cloud.colors));
        let (read, _) = read.without_missing();
        let (cloud, _) = cloud.without_missing();
        prop_assert_eq!(read.len(), cloud.len());
        let extent = (0..3).map(|k| {
            let all = cloud.points.iter().map(|p| p[k]);
            all.clone().fold(f64::NEG_INFINITY, f64::max) - all.fold(f64::INFINITY, f64::min)
        }).fold(0.0, f64::max);
        for (found, point) in read.points.iter().zip(&cloud.points) {
            for axis in 0..3 {
                prop_assert!((found[axis] - point[axis]).abs() <= 1e-6 * extent);
            }
        }
    }
}

/// Every cloud of the real data is read with a plausible number of points. Without the data the test prints that it is skipped.
#[test]
#[allow(clippy::print_stderr, reason = "a table for whoever runs it with --nocapture")]
fn real_clouds() {
    let Some(data) = std::env::var_os("PCR99_DATA").map(PathBuf::from) else {
        assert!(
            std::env::var_os("PCR99_REQUIRE_DATA").is_none_or(|v| v != "1"),
            "PCR99_REQUIRE_DATA=1 but PCR99_DATA is not set"
        );
        eprintln!("skipped: set PCR99_DATA to the directory of the real data to run this test");
        return;
    };
    let mut found = 0;
    for set in fs::read_dir(data.join("clouds")).expect("clouds").map(|entry| entry.expect("an entry").path())
    {
        for path in fs::read_dir(set).expect("a directory").map(|entry| entry.expect("an entry").path()) {
            let extension = path.extension().unwrap_or_default().to_string_lossy().into_owned();
            if !["ply", "pcd", "csv", "las", "laz", "e57", "xyz", "npy"].contains(&extension.as_str())
                || path.file_stem().is_some_and(|name| name == "carCloudList")
            {
                continue;
            }
            let cloud = read_cloud(&path).unwrap_or_else(|error| panic!("{error}"));
            cloud.validate().expect("equal lengths");
            let (size, bytes) = (cloud.len(), fs::metadata(&path).expect("a file").len() as usize);
            let missing = cloud.count_missing();
            let attributes: Vec<String> = cloud.attributes().iter().map(Attribute::to_string).collect();
            eprintln!("{size:8} points, {missing:6} missing, {} {attributes:?}", path.display());
            // From three bytes per point, in compressed files, to sixty-four, in text with attributes.
            assert!(size >= 400 && size <= bytes / 3 && size >= bytes / 250, "{}: {size}", path.display());
            if path.ends_with("milk_cartoon_all_small_clorox.pcd") {
                assert_eq!((size, missing), (307_200, 65_793));
            }
            found += 1;
        }
    }
    assert!(found >= 28, "{found}");
}
