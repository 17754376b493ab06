//! Files made by hand in each encoding.

use super::*;

fn read_all(bytes: &[u8]) -> Result<Cloud, String> {
    let read = |size, want| super::read(bytes, size, want).map_err(|fault| fault.in_file("t").to_string());
    let sized = read(Some(bytes.len() as u64), Want::Everything);
    let unsized_ = read(None, Want::Everything);
    assert_eq!(sized.as_ref().err(), unsized_.as_ref().err(), "with and without a known size");
    sized
}

fn read(bytes: &[u8]) -> Result<Vec<[f64; 3]>, String> {
    let all = read_all(bytes);
    let points = super::read(bytes, None, Want::Points).map_err(|fault| fault.in_file("t").to_string());
    assert_eq!(all.as_ref().err(), points.as_ref().err(), "with and without attributes");
    all.map(|cloud| cloud.points)
}

/// Another element before the vertices, lists in both, other properties around x, y and z.
fn rich(format: &str, line_end: &str) -> Vec<u8> {
    [
        "ply",
        &format!("format {format} 1.0"),
        "comment a \u{fc} b",
        "obj_info c",
        "element face 2",
        "property list uchar int vertex_indices",
        "property float quality",
        "element nothing 9",
        "element plain 2",
        "property ushort id",
        "element vertex 2",
        "property uchar red",
        "property double Z",
        "comment",
        "property list int8 float32 w",
        "property int16 x",
        "property float y",
        "element edge 5",
        "property int a",
        "end_header",
        "",
    ]
    .join(line_end)
    .into_bytes()
}

fn binary(big: bool) -> Vec<u8> {
    let order = |bytes: &[u8]| {
        let mut bytes = bytes.to_vec();
        if big {
            bytes.reverse();
        }
        bytes
    };
    let mut body = Vec::new();
    body.extend([[3].to_vec(), vec![7; 12], order(&0.5f32.to_le_bytes())].concat()); // face
    body.extend([[0].to_vec(), order(&0.5f32.to_le_bytes())].concat());
    body.extend([10; 4]); // plain
    for (x, y, z, w) in [(1i16, 2.5f32, 3.5f64, 0), (-4, 5.0, 6.0, 2)] {
        body.extend([[200].to_vec(), order(&z.to_le_bytes()), vec![w]].concat());
        body.extend(vec![9; 4 * usize::from(w)]);
        body.extend([order(&x.to_le_bytes()), order(&y.to_le_bytes())].concat());
    }
    body
}

const RICH: [[f64; 3]; 2] = [[1.0, 2.5, 3.5], [-4.0, 5.0, 6.0]];

#[test]
fn every_encoding_gives_the_same_points() {
    for line_end in ["\n", "\r\n"] {
        let little = [rich("binary_little_endian", line_end), binary(false)].concat();
        let big = [rich("binary_big_endian", line_end), binary(true)].concat();
        assert_eq!(read(&little), Ok(RICH.to_vec()));
        assert_eq!(read(&big), Ok(RICH.to_vec()));
        let lines = [
            "3 7 7 7 0.5",
            "0 0.5",
            "10",
            "",
            "comment c",
            "10",
            "200 3.5 0 1 2.5",
            "200 6 2 9 9 -4 5e0",
            "1",
        ];
        let ascii = [rich("ascii", line_end), lines.join(line_end).into_bytes()].concat();
        assert_eq!(read(&ascii), Ok(RICH.to_vec()));
    }
}

fn simple(format: &str, count: &str) -> Vec<u8> {
    format!(
        "ply\nformat {format} 1.0\nelement vertex {count}\nproperty float x\nproperty float y\nproperty float z\nend_header\n"
    )
    .into_bytes()
}

/// More vertices than one chunk holds, and NaN as it is.
#[test]
fn many_vertices_in_chunks() {
    let mut bytes = simple("binary_little_endian", "20000");
    let value = |i: u32| if i == 7 { f32::NAN } else { i as f32 };
    (0..60000).for_each(|i| bytes.extend(value(i).to_le_bytes()));
    let points = read(&bytes).expect("all");
    assert_eq!(points.len(), 20000);
    assert!(points[2][1].is_nan());
    assert_eq!(points[19999], [59997.0, 59998.0, 59999.0]);
}

/// The header alone must neither reserve memory nor take time.
#[test]
fn absurd_counts_end_with_the_file() {
    for (count, shown) in [("99999999999", "99999999999"), ("18446744073709551615", "18446744073709551615")] {
        let header = simple("binary_little_endian", count);
        let message = format!(
            "t, byte {}: the file ends after 1 of {shown} elements `vertex`; it is truncated or its header is wrong",
            header.len() + 13
        );
        assert_eq!(read(&[header, vec![0; 13]].concat()), Err(message));
        let header = simple("ascii", count);
        let message = format!(
            "t, byte {}: the file ends after 1 of {shown} elements `vertex`; it is truncated or its header is wrong",
            header.len() + 6
        );
        assert_eq!(read(&[header, b"1 2 3\n".to_vec()].concat()), Err(message));
    }
    for format in ["ascii", "binary_big_endian"] {
        for property in ["", "property double d\n", "property list uint double d\n"] {
            let text = format!(
                "ply\nformat {format} 1.0\nelement other 18446744073709551615\n{property}element vertex 1\nproperty \
                 float x\nproperty float y\nproperty float z\nend_header\n"
            );
            let body = if format == "ascii" { b"1 2 3".to_vec() } else { vec![255; 12] };
            let result = read(&[text.into_bytes(), body].concat());
            assert_eq!(result.is_ok(), property.is_empty(), "{format} {property}");
            if let Err(error) = result {
                assert!(error.contains("of 18446744073709551615 elements `other`"), "{error}");
            }
        }
    }
}

#[test]
fn headers_are_checked() {
    let line = |number: u32, line: &str, what: &str| {
        format!("t, line {number}: `{line}` is not a line of a PLY header ({what}); export the file again")
    };
    let not_ply =
        "t: this is not a PLY file (its first line is not `ply`); give it the extension of its format";
    for (text, message) in [
        ("", not_ply.to_owned()),
        ("plyx\n", not_ply.to_owned()),
        ("ply\nformat ascii 1.0\n", "t, byte 21: the header has no `end_header`; the file is truncated or no PLY file".into()),
        ("ply\nend_header\n", "t: the header does not say its `format`; export the file again".into()),
        ("ply\nformat utf8 1.0\n", line(2, "format utf8 1.0", "unknown format")),
        ("ply\nelement vertex -1\n", line(2, "element vertex -1", "the count is not a whole number")),
        ("ply\nproperty int x\n", line(2, "property int x", "a property before any element")),
        ("ply\nelement a 1\nproperty long x\n", line(3, "property long x", "unknown type")),
        ("ply\nelement a 1\nproperty x\n", line(3, "property x", "a property is a type and a name")),
        (
            "ply\nelement a 1\nproperty list float int x\n",
            line(3, "property list float int x", "the length of a list is not of an integer type"),
        ),
        ("ply\nhello\n", line(2, "hello", "unknown keyword")),
        (
            "ply\nformat ascii 1.0\nelement face 1\nend_header\n",
            "t: there is no element `vertex`; the elements found are `face`; export the file with its points".into(),
        ),
        (
            "ply\nformat ascii 1.0\nelement vertex 1\nproperty int x\nproperty int red\nend_header\n",
            "t: vertices have no property `y`; the properties found are `x`, `red`; export the file with x, y and z".into(),
        ),
        (
            "ply\nformat ascii 1.0\nelement vertex 1\nproperty list int int x\nend_header\n",
            "t: the property `x` of vertices is a list, not a number; export the file again".into(),
        ),
    ] {
        assert_eq!(read(text.as_bytes()), Err(message), "{text:?}");
    }
    let endless = format!("ply\n{}", "comment\n".repeat(1 << 18));
    assert!(read(endless.as_bytes()).is_err_and(|e| e.contains("no `end_header`")));
}

#[test]
fn values_are_checked() {
    let ascii =
        |body: &str| read(&[simple("ascii", "2"), body.as_bytes().to_vec()].concat()).expect_err("wrong");
    let count = |line, few| {
        format!(
            "t, line {line}: the line has too {few} values for the properties `x`, `y`, `z` of a vertex; put one \
             vertex on each line"
        )
    };
    assert_eq!(ascii("1 2 3\n4 5\n6\n"), count(9, "few"));
    assert_eq!(ascii("1 2 3 4 5 6\n"), count(8, "many"));
    assert_eq!(
        ascii("1 2 z\n"),
        "t, line 8: `z` is not a number; correct the value or export the file again"
    );
    assert!(
        read(&[simple("ascii", "1"), b"1 2 \xff\n".to_vec()].concat())
            .is_err_and(|e| e.contains("is not a number"))
    );
    assert!(ascii(&"1".repeat(1 << 21)).contains("the line is too long for a vertex"));

    let list = "ply\nformat binary_little_endian 1.0\nelement vertex 1\nproperty list char int l\nproperty float \
                x\nproperty float y\nproperty float z\nend_header\n";
    let negative = read(&[list.as_bytes(), &[0xff; 20]].concat()).expect_err("-1 entries");
    assert_eq!(
        negative,
        format!(
            "t, byte {}: a list of the element `vertex` has -1 entries; the file is damaged",
            list.len() + 1
        )
    );
}

/// Normals, colours and intensities under any name, type and order.
#[test]
fn attributes_of_vertices() {
    let header = |color: &str, intensity: &str| {
        format!(
            "ply\nformat ascii 1.0\nelement vertex 2\nproperty {color} Red\nproperty float x\nproperty float y\nproperty \
             float nx\nproperty {color} green\nproperty list uchar int red\nproperty float z\nproperty double \
             ny\nproperty float nz\nproperty {color} blue\nproperty float {intensity}\nend_header\n"
        )
    };
    let body = |[r, g, b]: [&str; 3]| format!("{r} 1 2 0 {g} 0 3 0 1 {b} 0.5\n0 4 5 1 0 2 7 7 6 0 0 0 -3\n");
    for (color, values, expected) in [
        ("uchar", ["200", "100", "1"], [200, 100, 1]),
        ("ushort", ["65535", "25700", "0"], [255, 100, 0]),
        ("ushort", ["200", "100", "1"], [200, 100, 1]),
        ("float", ["1", "0.5", "0"], [255, 128, 0]),
        ("float", ["200", "100", "1"], [200, 100, 1]),
    ] {
        for intensity in ["intensity", "scalar_Intensity", "quality"] {
            let cloud = read_all((header(color, intensity) + &body(values)).as_bytes()).expect(color);
            assert_eq!(cloud.points, [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]);
            assert_eq!(cloud.normals, Some(vec![[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]));
            assert_eq!(cloud.colors, Some(vec![expected, [0, 0, 0]]), "{color}");
            assert_eq!(cloud.intensities, Some(vec![0.5, -3.0]), "{intensity}");
        }
    }
    let without = header("uchar", "time").replace("nz", "n");
    assert_eq!(
        read_all((without + &body(["1", "2", "3"])).as_bytes()).expect("colours").attributes().len(),
        1
    );
}
