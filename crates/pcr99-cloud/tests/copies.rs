//! Copies of files with moved points: everything else stays, and the inverse brings the points back. Conversions carry attributes by name.

use std::{
    fs,
    path::{Path, PathBuf},
};

use pcr99::Similarity;
use pcr99_cloud::{Cloud, CloudFile, Column, copy_cloud, is_copy, read_cloud, read_cloud_file};
use tempfile::TempDir;

fn pose() -> Similarity {
    Similarity::from_quaternion(1.0, [0.8, 0.1, -0.5, 0.3], [12.0, -7.5, 3.0]).expect("a pose")
}

struct Files(TempDir);

impl Files {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a directory"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn with(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        fs::write(self.path(name), bytes).expect("a file");
        self.path(name)
    }

    fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(self.0.path())
            .expect("a directory")
            .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }
}

/// Points on a millimetre grid in UTM coordinates, with attributes of several kinds.
fn scene() -> CloudFile {
    let count = 300;
    let point = |i: usize| {
        let (x, y, z) = ((i * 7919 % 90_001) as f64, (i * 104_729 % 80_021) as f64, (i * 31 % 5003) as f64);
        [(448_262_000.0 + x) / 1000.0, (5_411_932_000.0 + y) / 1000.0, (300_000.0 + z) / 1000.0]
    };
    let column = |name: &str, f: fn(usize) -> f64| Column::new(name, (0..count).map(f).collect());
    CloudFile {
        cloud: Cloud {
            normals: Some(
                (0..count).map(|i| if i % 2 == 0 { [0.0, 0.0, 1.0] } else { [0.6, 0.0, -0.8] }).collect(),
            ),
            colors: Some((0..count).map(|i| [i as u8, (i * 3) as u8, 255 - i as u8]).collect()),
            intensities: Some((0..count).map(|i| (i * 200) as f64).collect()),
            ..Cloud::new((0..count).map(point).collect())
        },
        columns: vec![
            column("classification", |i| (i % 256) as f64),
            column("return_number", |i| (1 + i % 3) as f64),
            column("number_of_returns", |_| 3.0),
            column("gps_time", |i| 1e8 + i as f64 / 7.0),
            column("point_source_id", |i| (i * 200) as f64),
            column("user_data", |i| (i % 200) as f64),
            column("height above ground", |i| i as f64 / 3.0),
        ],
        coordinate_system: Some("PROJCS[\"WGS 84 / UTM zone 32N\"]".to_owned()),
        left_out: Vec::new(),
    }
}

fn assert_close(a: &[[f64; 3]], b: &[[f64; 3]], limit: f64, name: &str) {
    assert_eq!(a.len(), b.len(), "{name}");
    let off = a.as_flattened().iter().zip(b.as_flattened()).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(off <= limit, "{name}: off by {off}");
}

/// Applies the pose and its inverse to `path` and checks all attributes; returns the moved file and the one that came back.
fn there_and_back(files: &Files, path: &Path, limit: f64) -> [PathBuf; 2] {
    let extension = path.extension().expect("an extension").to_string_lossy().into_owned();
    let [there, back] = ["there", "back"].map(|name| files.path(&format!("{name}.{extension}")));
    let name = path.display().to_string();
    assert!(is_copy(path, &there).expect(&name));
    let copied = copy_cloud(path, &there, &pose()).expect(&name);
    assert_eq!(copied.lost, Vec::<String>::new());
    copy_cloud(&there, &back, &pose().inverse()).expect(&name);
    let [original, moved, returned] = [path, &there, &back].map(|path| read_cloud_file(path).expect(&name));
    assert_eq!(copied.points as usize, original.cloud.len());
    let expected = original.cloud.clone().moved(&pose());
    assert_close(&moved.cloud.points, &expected.points, limit, &name);
    assert_close(&returned.cloud.points, &original.cloud.points, 2.0 * limit, &name);
    if let (Some(moved), Some(expected)) = (&moved.cloud.normals, &expected.normals) {
        assert_close(moved, expected, 1e-6, &name);
    }
    for file in [&moved, &returned] {
        assert_eq!(
            (&file.columns, &file.coordinate_system),
            (&original.columns, &original.coordinate_system),
            "{name}"
        );
        assert_eq!(
            (&file.cloud.colors, &file.cloud.intensities),
            (&original.cloud.colors, &original.cloud.intensities)
        );
    }
    [there, back]
}

#[test]
fn las_and_laz_keep_every_attribute_and_come_back_exactly() {
    let files = Files::new();
    let scene = scene();
    for name in ["a.las", "a.laz"] {
        let written = scene.write(&files.path(name)).expect(name);
        assert_eq!(written.lost, Vec::<String>::new(), "{name}");
        let read = read_cloud_file(&files.path(name)).expect(name);
        assert_close(&read.cloud.points, &scene.cloud.points, 1e-9, name);
        assert_eq!(
            (&read.cloud.colors, &read.cloud.intensities),
            (&scene.cloud.colors, &scene.cloud.intensities)
        );
        for column in &scene.columns {
            let same = read.columns.iter().find(|other| other.name == column.name).expect(&column.name);
            assert_eq!(same.values, column.values, "{}", column.name);
        }
        let [_, back] = there_and_back(&files, &files.path(name), 6e-5);
        // On the grid of the original, the points are the same.
        let on_grid =
            |cloud: Cloud| cloud.points.iter().map(|p| p.map(|x| (x * 1000.0).round())).collect::<Vec<_>>();
        assert_eq!(on_grid(read_cloud(&back).expect(name)), on_grid(read.cloud), "{name}");
    }
    // Compression changes nothing, and a copy that does not move is the same file.
    copy_cloud(&files.path("a.las"), &files.path("b.laz"), &Similarity::IDENTITY).expect("a copy");
    copy_cloud(&files.path("b.laz"), &files.path("c.las"), &Similarity::IDENTITY).expect("a copy");
    let bytes = |name: &str| fs::read(files.path(name)).expect(name);
    assert_eq!(bytes("c.las"), bytes("a.las"));
    copy_cloud(&files.path("a.laz"), &files.path("d.laz"), &Similarity::IDENTITY).expect("a copy");
    assert_eq!(bytes("d.laz"), bytes("a.laz"));
    // A shift moves the offset, and no integer.
    let shift = Similarity::from_translation([1000.0, 0.0, -2.0]);
    copy_cloud(&files.path("a.las"), &files.path("e.las"), &shift).expect("a copy");
    assert_eq!(bytes("e.las")[375..], bytes("a.las")[375..]);
}

#[test]
fn other_formats_keep_every_attribute() {
    let files = Files::new();
    let scene = scene();
    for (name, limit) in
        [("a.ply", 1e-8), ("a.pcd", 1e-8), ("a.csv", 1e-8), ("a.xyz", 1e-8), ("a.npy", 1e-8), ("a.e57", 1e-6)]
    {
        scene.write(&files.path(name)).expect(name);
        there_and_back(&files, &files.path(name), limit);
    }
}

#[test]
fn attributes_are_carried_from_format_to_format() {
    let files = Files::new();
    let scene = scene();
    scene.write(&files.path("a.laz")).expect("a file");
    let first = read_cloud_file(&files.path("a.laz")).expect("a file");
    for name in ["b.ply", "b.pcd", "b.csv", "b.e57"] {
        let written = first.write(&files.path(name)).expect(name);
        let system = if name == "b.e57" { vec![] } else { vec!["the coordinate system".to_owned()] };
        assert_eq!(written.lost, system, "{name}");
        let second = read_cloud_file(&files.path(name)).expect(name);
        second.write(&files.path("c.las")).expect(name);
        let third = read_cloud_file(&files.path("c.las")).expect(name);
        assert_close(&third.cloud.points, &first.cloud.points, 1e-9, name);
        for column in &first.columns {
            let is_it = |other: &&Column| other.name.replace('_', " ") == column.name.replace('_', " ");
            let same = third.columns.iter().find(is_it).unwrap_or_else(|| panic!("{name}: {}", column.name));
            assert_eq!(same.values, column.values, "{name}: {}", column.name);
        }
    }
}

#[test]
fn text_in_files_stays_as_it_is() {
    let files = Files::new();
    let shift = Similarity::from_translation([1.0, 2.0, -3.0]);
    let same = |name: &str, before: &str, after: &str| {
        copy_cloud(&files.with(name, before), &files.path(&format!("out-{name}")), &shift).expect(name);
        assert_eq!(fs::read_to_string(files.path(&format!("out-{name}"))).expect(name), after, "{name}");
    };
    same(
        "a.csv",
        "\u{feff}id; X ;Y;Z;label\r\n\r\n# a note\r\nA7; 1.50 ;2;3;red house\r\nB;-1;0;nan;\u{fc}\r\n",
        "\u{feff}id; X ;Y;Z;label\r\n\r\n# a note\r\nA7; 2.5 ;4;0;red house\r\nB;NaN;NaN;NaN;\u{fc}\r\n",
    );
    same("a.xyz", "2\n1 2 3 oak\n4  5\t6 elm", "2\n2 4 0 oak\n5  7\t3 elm");
    same(
        "a.ply",
        "ply\nformat ascii 1.0\ncomment by hand\nelement material 1\nproperty int id\nelement vertex 2\nproperty list uchar int seen\n\
         property float z\nproperty double x\nproperty int y\nelement face 1\nproperty list uchar int vertex_indices\nend_header\n17\n\
         2 8 9 1.5 0.25 3\n0  -2 7 9\n3 0 1 0\n",
        "ply\nformat ascii 1.0\ncomment by hand\nelement material 1\nproperty int id\nelement vertex 2\nproperty list uchar int seen\n\
         property double z\nproperty double x\nproperty double y\nelement face 1\nproperty list uchar int vertex_indices\nend_header\n17\n\
         2 8 9 -1.5 1.25 5\n0  -5 8 11\n3 0 1 0\n",
    );
    same(
        "a.pcd",
        "# .PCD v0.7\nVERSION 0.7\nFIELDS label x y z hist\nSIZE 4 4 4 4 4\nTYPE U F F F F\nCOUNT 1 1 1 1 2\nWIDTH 2\nHEIGHT 1\n\
         VIEWPOINT 1 1 1 1 0 0 0\nPOINTS 2\nDATA ascii\n7 1 2 3 0.1 0.2\n8 4 5 6 0.3 0.4\n",
        "# .PCD v0.7\nVERSION 0.7\nFIELDS label x y z hist\nSIZE 4 4 4 4 4\nTYPE U F F F F\nCOUNT 1 1 1 1 2\nWIDTH 2\nHEIGHT 1\n\
         VIEWPOINT 2 3 -2 1 0 0 0\nPOINTS 2\nDATA ascii\n7 2 4 0 0.1 0.2\n8 5 7 3 0.3 0.4\n",
    );
}

#[test]
fn bytes_of_binary_files_stay_as_they_are() {
    let files = Files::new();
    let shift = Similarity::from_translation([1.0, 2.0, -3.0]);
    // Big-endian vertices with a list, then faces.
    let header = "ply\nformat binary_big_endian 1.0\nelement vertex 2\nproperty float x\nproperty float y\nproperty float z\n\
                  property list uchar ushort seen\nelement face 1\nproperty list uchar int vertex_indices\nend_header\n";
    let vertex = |p: [f32; 3], list: &[u8]| [p.map(f32::to_be_bytes).as_flattened(), list].concat();
    let body = |a: [f32; 3], b: [f32; 3]| {
        [header.as_bytes(), &vertex(a, &[2, 0, 7, 0, 8]), &vertex(b, &[0]), &[1, 0, 0, 0, 9]].concat()
    };
    let path = files.with("a.ply", body([1.0, 2.0, 3.0], [4.0, 5.0, 6.0]));
    copy_cloud(&path, &files.path("b.ply"), &shift).expect("a copy");
    assert_eq!(fs::read(files.path("b.ply")).expect("a file"), body([2.0, 4.0, 0.0], [5.0, 7.0, 3.0]));
    // Far away, single precision would lose digits: the property becomes a double.
    let far = Similarity::from_translation([4e6, 0.0, 0.0]);
    copy_cloud(&path, &files.path("far.ply"), &far).expect("a copy");
    let moved = read_cloud(&files.path("far.ply")).expect("a file");
    assert_eq!(moved.points, [[4_000_001.0, 2.0, 3.0], [4_000_004.0, 5.0, 6.0]]);
}

#[test]
fn what_cannot_be_copied_is_an_error_and_leaves_no_file() {
    let files = Files::new();
    let scene = scene();
    scene.write(&files.path("a.laz")).expect("a file");
    scene.write(&files.path("a.e57")).expect("a file");
    let bytes = fs::read(files.path("a.laz")).expect("a file");
    let cut = files.with("cut.laz", &bytes[..bytes.len() / 2]);
    let mut damaged = bytes.clone();
    let middle = damaged.len() * 3 / 4;
    damaged[middle..middle + 400].fill(0xff);
    let damaged = files.with("damaged.laz", damaged);
    let mut e57 = fs::read(files.path("a.e57")).expect("a file");
    e57[1500] ^= 1;
    let wrong_page = files.with("page.e57", e57);
    let before = files.names();
    let refused = |input: &Path, output: &str, transform: &Similarity, words: &str| {
        let error = copy_cloud(input, &files.path(output), transform).expect_err(output).to_string();
        assert!(error.contains(words), "{error}");
    };
    refused(&cut, "out.laz", &pose(), "copy or export the file again");
    // Overwritten compressed bytes may still decode to as many points; then there is a whole file, otherwise none.
    match copy_cloud(&damaged, &files.path("perhaps.laz"), &pose()) {
        Ok(_) => {
            let copied = read_cloud(&files.path("perhaps.laz")).expect("a whole file");
            assert_eq!(copied.points.len(), scene.cloud.points.len());
            fs::remove_file(files.path("perhaps.laz")).expect("a file");
        }
        Err(_) => assert!(!files.path("perhaps.laz").exists()),
    }
    refused(&wrong_page, "out.e57", &pose(), "the checksum of page 1 is wrong");
    refused(&files.path("a.laz"), "out.ply", &pose(), "names another format");
    let twice = Similarity::new(2.0, pose().rotation(), [0.0; 3]).expect("a transform");
    refused(&files.path("a.e57"), "out.e57", &twice, "which have no scale");
    assert_eq!(files.names(), before);
    // A cloud that is too long for 32 bits at a tenth of its step.
    let points = (0..50).map(|i| [f64::from(i) * 7_000_000.01, f64::from(i * i), 0.01]).collect();
    let long = CloudFile { cloud: Cloud::new(points), ..CloudFile::default() };
    long.write(&files.path("long.las")).expect("a file");
    refused(&files.path("long.las"), "out.las", &pose(), "write a PLY or PCD file");
    assert!(!files.path("out.las").exists());
}

#[test]
fn one_scan_of_several_is_chosen() {
    let files = Files::new();
    let scene = scene();
    scene.write(&files.path("a.e57")).expect("a file");
    let one = read_cloud(&files.path("a.e57#0")).expect("a scan");
    assert_eq!(one, read_cloud(&files.path("a.e57")).expect("a file"));
    let error = read_cloud(&files.path("a.e57#1")).expect_err("one scan").to_string();
    assert!(error.contains("there is no scan 1: the file has 1, counted from 0"), "{error}");
}
