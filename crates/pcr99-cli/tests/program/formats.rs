/// An `.npy` file whose header says `descr` and `shape`, whatever the data are.
pub(crate) fn npy_with(descr: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let dict = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n");
    let length = u16::try_from(dict.len()).expect("a short header").to_le_bytes();
    [b"\x93NUMPY\x01\x00", length.as_slice(), dict.as_bytes(), data].concat()
}

/// An array of `f64`.
pub(crate) fn npy<const N: usize>(rows: &[[f64; N]]) -> Vec<u8> {
    let data: Vec<u8> = rows.as_flattened().iter().flat_map(|x| x.to_le_bytes()).collect();
    npy_with("<f8", &format!("({}, {N})", rows.len()), &data)
}

/// An `.npz` file, not compressed.
pub(crate) fn npz(arrays: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let (mut bytes, mut directory) = (Vec::new(), Vec::new());
    for (name, array) in arrays {
        let name = format!("{name}.npy");
        let size = (array.len() as u32).to_le_bytes();
        // Version, flags, method, time and date; checksum, both sizes; lengths of name and of what follows it.
        let mut fields = vec![20, 0, 0, 0, 0, 0, 0, 0, 0x21, 0];
        fields.extend([crc32(array).to_le_bytes(), size, size].concat());
        fields.extend([name.len() as u8, 0, 0, 0]);
        directory.extend([b"PK\x01\x02\x14\x00", fields.as_slice(), &[0; 10]].concat());
        directory.extend((bytes.len() as u32).to_le_bytes());
        directory.extend(name.as_bytes());
        bytes.extend([b"PK\x03\x04", fields.as_slice(), name.as_bytes(), array].concat());
    }
    let count = (arrays.len() as u16).to_le_bytes();
    let (size, start) = ((directory.len() as u32).to_le_bytes(), (bytes.len() as u32).to_le_bytes());
    let end = [b"PK\x05\x06\0\0\0\0", &count[..], &count, &size, &start, &[0, 0]].concat();
    [bytes, directory, end].concat()
}

fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32, _| if crc & 1 == 1 { (crc >> 1) ^ 0xedb8_8320 } else { crc >> 1 };
    !bytes.iter().fold(!0, |crc, &byte| (0..8).fold(crc ^ u32::from(byte), step))
}

/// The header of a PLY file with vertices of three doubles.
pub(crate) fn ply_header(format: &str, vertices: &str) -> String {
    format!(
        "ply\nformat {format} 1.0\nelement vertex {vertices}\nproperty double x\nproperty double y\n\
         property double z\nend_header\n"
    )
}

pub(crate) fn ply_ascii(points: &[[f64; 3]]) -> Vec<u8> {
    let header = ply_header("ascii", &points.len().to_string());
    (header + &super::place::table(points, " ", "\n")).into_bytes()
}

pub(crate) fn ply_binary(points: &[[f64; 3]], little_endian: bool) -> Vec<u8> {
    let format = if little_endian { "binary_little_endian" } else { "binary_big_endian" };
    let bytes = |x: &f64| if little_endian { x.to_le_bytes() } else { x.to_be_bytes() };
    let header = ply_header(format, &points.len().to_string()).into_bytes();
    [header, points.as_flattened().iter().flat_map(bytes).collect()].concat()
}
