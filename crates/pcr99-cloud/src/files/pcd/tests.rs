//! Files made by hand in each encoding.

use super::*;

fn read_all(bytes: &[u8]) -> Result<Cloud, String> {
    let read = |size, want| super::read(bytes, size, want).map_err(|fault| fault.in_file("t").to_string());
    let sized = read(Some(bytes.len() as u64), Want::Everything);
    let unsized_ = read(None, Want::Everything);
    assert_eq!(sized.is_ok(), unsized_.is_ok(), "with and without a known size: {sized:?} {unsized_:?}");
    if let (Ok(cloud), Ok(points)) = (&sized, read(None, Want::Points)) {
        assert_eq!(format!("{:?}", cloud.points), format!("{:?}", points.points));
        assert!(points.normals.is_none() && points.colors.is_none() && points.intensities.is_none());
    }
    sized
}

fn error(bytes: &[u8]) -> String {
    read_all(bytes).expect_err("wrong")
}

/// Two points with fields of every type around the position.
fn rich(data: &str, line_end: &str) -> Vec<u8> {
    [
        "# .PCD v0.7 - Point Cloud Data file format",
        "VERSION 0.7",
        "FIELDS Z _ normal_x normal_y normal_z x intensity y rgb id",
        "SIZE 8 1 4 4 4 4 2 4 4 8",
        "TYPE F U F F F F U I F U",
        "COUNT 1 3 1 1 1 1 1 1 1 1",
        "WIDTH 2",
        "HEIGHT 1",
        "VIEWPOINT 1.5 -2 3 1 0 0 0",
        "POINTS 2",
        &format!("DATA {data}"),
        "",
    ]
    .join(line_end)
    .into_bytes()
}

/// The fields of both points, each with its bytes.
fn values() -> [Vec<Vec<u8>>; 2] {
    let point = |z: f64, x: f32, intensity: u16, y: i32, rgb: u32| {
        vec![
            z.to_le_bytes().to_vec(),
            vec![9; 3],
            0f32.to_le_bytes().to_vec(),
            0f32.to_le_bytes().to_vec(),
            (-1f32).to_le_bytes().to_vec(),
            x.to_le_bytes().to_vec(),
            intensity.to_le_bytes().to_vec(),
            y.to_le_bytes().to_vec(),
            rgb.to_le_bytes().to_vec(),
            u64::MAX.to_le_bytes().to_vec(),
        ]
    };
    // The second colour with an alpha of 255 is a signalling NaN as a float.
    [point(0.1, 1.5, 65535, -7, 0x00_01_02_03), point(f64::NAN, f32::NAN, 0, 8, 0xff_a0_b0_c0)]
}

fn check(cloud: &Cloud) {
    assert_eq!(cloud.points[0], [1.5, -7.0, 0.1]);
    assert!(cloud.points[1][0].is_nan() && cloud.points[1][2].is_nan());
    assert_eq!(cloud.normals, Some(vec![[0.0, 0.0, -1.0]; 2]));
    assert_eq!(cloud.intensities, Some(vec![65535.0, 0.0]));
    assert_eq!(cloud.viewpoint, Some([1.5, -2.0, 3.0]));
}

/// Plain runs only, as a compressor may write what has no repetition.
fn stored(bytes: &[u8]) -> Vec<u8> {
    bytes.chunks(32).flat_map(|run| [&[run.len() as u8 - 1], run].concat()).collect()
}

fn compressed(header: &[u8], fields: &[u8]) -> Vec<u8> {
    let block = stored(fields);
    let sizes = [block.len() as u32, fields.len() as u32].map(u32::to_le_bytes).concat();
    [header, &sizes, &block].concat()
}

#[test]
fn every_encoding_gives_the_same_cloud() {
    let [first, second] = values();
    for line_end in ["\n", "\r\n"] {
        let records = [first.concat(), second.concat()].concat();
        let binary = read_all(&[rich("binary", line_end), records].concat()).expect("binary");
        let columns: Vec<u8> =
            first.iter().zip(&second).flat_map(|(a, b)| [a.clone(), b.clone()].concat()).collect();
        let packed =
            read_all(&compressed(&rich("binary_compressed", line_end), &columns)).expect("compressed");
        let lines =
            ["0.1 9 9 9 0 0 -1 1.5 65535 -7 9.2557e-41 7", "", "nan 9 9 9 0 0 -1 nan 0 8 4288721088 7", ""];
        let ascii = [rich("ascii", line_end), lines.join(line_end).into_bytes()].concat();
        let ascii = read_all(&ascii).expect("ascii");
        for cloud in [&binary, &packed, &ascii] {
            check(cloud);
        }
        assert_eq!(binary.colors, Some(vec![[1, 2, 3], [0xa0, 0xb0, 0xc0]]));
        assert_eq!(packed.colors, binary.colors);
        assert_eq!(ascii.colors, binary.colors, "a float in the first line, a whole number in the second");
    }
}

fn simple(points: &str, data: &str) -> Vec<u8> {
    format!("VERSION .7\nFIELDS x y z\nSIZE 4 4 4\nTYPE F F F\nWIDTH {points}\nHEIGHT 1\nPOINTS {points}\nDATA {data}\n")
        .into_bytes()
}

/// Without `COUNT`, `VIEWPOINT` and the comment, as old files are; and the viewpoint that says nothing.
#[test]
fn short_headers() {
    let cloud = read_all(&[simple("1", "ascii"), b"1 2 3".to_vec()].concat()).expect("one point");
    assert_eq!(cloud, Cloud::new(vec![[1.0, 2.0, 3.0]]));
    let header = String::from_utf8(rich("ascii", "\n")).expect("text").replace("1.5 -2 3 1", "0 0 0 1");
    let lines = "0.1 9 9 9 0 0 -1 1.5 65535 -7 0 7\n".repeat(2);
    assert_eq!(read_all((header + &lines).as_bytes()).expect("two").viewpoint, None);
    let unsigned = "FIELDS x y z rgba r g b\nSIZE 4 4 4 4 1 1 1\nTYPE F F F U U U U\nWIDTH 1\nDATA ascii\n1 2 3 66051 7 8 9\n";
    assert_eq!(read_all(unsigned.as_bytes()).expect("one").colors, Some(vec![[7, 8, 9]]));
    let packed = "FIELDS x y z rgba\nSIZE 4 4 4 4\nTYPE F F F U\nWIDTH 1\nDATA ascii\n1 2 3 66051\n";
    assert_eq!(read_all(packed.as_bytes()).expect("one").colors, Some(vec![[1, 2, 3]]));
}

/// The header alone must neither reserve memory nor take time.
#[test]
fn absurd_counts_end_with_the_file() {
    for count in ["99999999999", "18446744073709551615"] {
        let header = simple(count, "binary");
        assert_eq!(
            error(&[header.clone(), vec![0; 13]].concat()),
            format!(
                "t, byte {}: the file ends after 1 of {count} points; it is truncated or its header is wrong",
                header.len() + 13
            )
        );
        assert!(error(&[simple(count, "ascii"), b"1 2 3\n".to_vec()].concat()).contains("after 1 of"));
        let header = simple(count, "binary_compressed");
        let sizes = [u32::MAX.to_le_bytes(), u32::MAX.to_le_bytes()].concat();
        assert!(error(&[header, sizes].concat()).contains("not that of the points"));
    }
    let short =
        [simple("300000000", "binary_compressed"), [50u32, 3_600_000_000].map(u32::to_le_bytes).concat()];
    assert!(error(&short.concat()).contains("too short"));
    let wide = "FIELDS x y z h\nSIZE 4 4 4 8\nTYPE F F F F\nCOUNT 1 1 1 99999999999\nWIDTH 1\nDATA binary\n";
    assert!(error(wide.as_bytes()).contains("too many values"));
}

#[test]
fn headers_are_checked() {
    let line = |number: u32, line: &str, what: &str| {
        format!("t, line {number}: `{line}` is not a line of a PCD header ({what}); export the file again")
    };
    let xyz = "FIELDS x y z\nSIZE 4 4 4\nTYPE F F F\n";
    for (text, message) in [
        (
            String::new(),
            "t, byte 0: the header has no line `DATA`; the file is truncated or no PCD file".to_owned(),
        ),
        ("hello\n".into(), line(1, "hello", "unknown keyword")),
        ("SIZE four\n".into(), line(1, "SIZE four", "a whole number is needed")),
        ("WIDTH 1 2\n".into(), line(1, "WIDTH 1 2", "one number is needed")),
        ("TYPE float\n".into(), line(1, "TYPE float", "a type is one of F, I and U")),
        (
            "VIEWPOINT 0 0 0\n".into(),
            line(1, "VIEWPOINT 0 0 0", "seven numbers are needed: place and quaternion"),
        ),
        ("DATA text\n".into(), line(1, "DATA text", "data are `ascii`, `binary` or `binary_compressed`")),
        ("DATA ascii\n".into(), "t: the header has no line `FIELDS`; export the file again".into()),
        (format!("{xyz}DATA ascii\n"), "t: the header has no line `POINTS`; export the file again".into()),
        (
            format!("{xyz}COUNT 1 1\nDATA ascii\n"),
            "t: the header lists 3 fields but has 2 entries in its line `COUNT`; export the file again"
                .into(),
        ),
        (
            format!("{xyz}WIDTH 2\nHEIGHT 3\nPOINTS 5\nDATA ascii\n"),
            "t: the header has 5 points but a grid of 2 × 3; export the file again".into(),
        ),
        (
            "FIELDS x y\nSIZE 4 4\nTYPE F F\nWIDTH 1\nDATA ascii\n".into(),
            "t: points have no field `z`; the fields found are `x`, `y`; export the file with x, y and z"
                .into(),
        ),
        (
            format!("{xyz}COUNT 1 2 1\nWIDTH 1\nDATA ascii\n"),
            "t: the field `y` has 2 values per point, not one; export the file again".into(),
        ),
    ] {
        assert_eq!(error(text.as_bytes()), message, "{text:?}");
    }
    assert!(error(b"FIELDS x\nSIZE 3\nTYPE F\nWIDTH 1\nDATA ascii\n").contains("no such type of values"));
    assert!(error("# c\n".repeat(1 << 19).as_bytes()).contains("no line `DATA`"));
}

#[test]
fn values_are_checked() {
    let ascii = |body: &str| error(&[simple("2", "ascii"), body.as_bytes().to_vec()].concat());
    let count = |line, few| {
        format!(
            "t, line {line}: the line has too {few} values for the fields `x`, `y`, `z` of a point; put one point on \
             each line"
        )
    };
    assert_eq!(ascii("1 2 3\n4 5\n6\n"), count(10, "few"));
    assert_eq!(ascii("1 2 3 4\n"), count(9, "many"));
    assert_eq!(
        ascii("1 2 z\n"),
        "t, line 9: `z` is not a number; correct the value or export the file again"
    );
    assert!(ascii(&"1".repeat(1 << 21)).contains("the line is too long for a point"));
    let header = simple("1", "binary_compressed");
    let damaged = [header.as_slice(), &[2u32, 12].map(u32::to_le_bytes).concat(), &[5, 5]].concat();
    assert_eq!(
        error(&damaged),
        format!(
            "t, byte {}: the compressed points are damaged (they end inside a run); copy or export the file again",
            header.len() + 8
        )
    );
}
