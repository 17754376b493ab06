//! Archives made by hand, byte for byte.

use std::io::Cursor;

use super::crc::crc32;
use super::*;

/// How one file is put into an archive.
struct Packed<'a> {
    name: &'a str,
    flags: u16,
    method: u16,
    crc: u32,
    uncompressed: u64,
    bytes: Vec<u8>,
    /// Whether the directory gives all numbers in 64 bits.
    wide: bool,
}

fn store<'a>(name: &'a str, bytes: &[u8]) -> Packed<'a> {
    let (crc, uncompressed) = (crc32(bytes), bytes.len() as u64);
    Packed { name, flags: 0, method: 0, crc, uncompressed, bytes: bytes.to_vec(), wide: false }
}

fn deflate<'a>(name: &'a str, bytes: &[u8]) -> Packed<'a> {
    let packed = miniz_oxide::deflate::compress_to_vec(bytes, 6);
    Packed { method: 8, bytes: packed, ..store(name, bytes) }
}

/// The archive with these files; `wide` gives it a 64-bit end record.
fn archive(files: &[Packed<'_>], wide: bool, comment: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut directory = Vec::new();
    for file in files {
        let offset = out.len() as u64;
        let name_length = (file.name.len() as u16).to_le_bytes();
        out.extend(b"PK\x03\x04");
        out.extend([0; 22]); // all that the reader must not rely on
        out.extend(name_length);
        out.extend(4u16.to_le_bytes());
        out.extend(file.name.as_bytes());
        out.extend(b"\x63\x00\x00\x00"); // an extra field of no meaning
        out.extend(&file.bytes);

        let sizes = [file.uncompressed, file.bytes.len() as u64, offset];
        let narrow = |value: u64| if file.wide { u32::MAX } else { value as u32 }.to_le_bytes();
        let mut extra = b"\x63\x00\x01\x00x".to_vec();
        if file.wide {
            extra.extend(b"\x01\x00\x18\x00");
            extra.extend(sizes.iter().flat_map(|value| value.to_le_bytes()));
        }
        directory.extend(b"PK\x01\x02\x14\x00\x14\x00");
        directory.extend(file.flags.to_le_bytes());
        directory.extend(file.method.to_le_bytes());
        directory.extend([0; 4]);
        directory.extend(file.crc.to_le_bytes());
        directory.extend(narrow(sizes[1]));
        directory.extend(narrow(sizes[0]));
        directory.extend(name_length);
        directory.extend((extra.len() as u16).to_le_bytes());
        directory.extend([2, 0, 0, 0, 0, 0, 0, 0, 0, 0]); // a comment of two bytes
        directory.extend(narrow(sizes[2]));
        directory.extend(file.name.as_bytes());
        directory.extend(extra);
        directory.extend(b"hi");
    }
    let (offset, length) = (out.len() as u64, directory.len() as u64);
    out.extend(&directory);
    if wide {
        let record = out.len() as u64;
        out.extend(b"PK\x06\x06");
        out.extend([0; 36]);
        out.extend(length.to_le_bytes());
        out.extend(offset.to_le_bytes());
        out.extend(b"PK\x06\x07\x00\x00\x00\x00");
        out.extend(record.to_le_bytes());
        out.extend(1u32.to_le_bytes());
    }
    let narrow = |value: u64| if wide { u32::MAX } else { value as u32 }.to_le_bytes();
    out.extend(b"PK\x05\x06\x00\x00\x00\x00");
    out.extend([0, 0]);
    out.extend(if wide { u16::MAX } else { files.len() as u16 }.to_le_bytes());
    out.extend(narrow(length));
    out.extend(narrow(offset));
    out.extend((comment.len() as u16).to_le_bytes());
    out.extend(comment);
    out
}

/// An archive of stored files, for tests of what is in them.
pub(crate) fn stored(files: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let files: Vec<_> = files.iter().map(|(name, bytes)| store(name, bytes)).collect();
    archive(&files, false, b"")
}

fn contents(bytes: &[u8]) -> Result<Vec<(String, Vec<u8>)>, String> {
    let read = || {
        let mut archive = Archive::open(Cursor::new(bytes))?;
        let names: Vec<_> = archive.names().map(str::to_owned).collect();
        names.into_iter().enumerate().map(|(i, name)| Ok((name, archive.read(i)?))).collect::<Result<_, _>>()
    };
    read().map_err(|fault: Fault| fault.in_file("t").to_string())
}

#[test]
fn stored_and_deflated_in_32_and_64_bits() {
    let text = b"abcabcabcabcabcabcabcabcabcabcabcabc".repeat(50);
    for wide in [false, true] {
        for comment in [&b""[..], b"a comment", b"PK\x05\x06 is not the end"] {
            let mut files = [store("a", b"12345"), deflate("b", &text), deflate("empty", b"")];
            files.iter_mut().for_each(|file| file.wide = wide);
            let expected = vec![
                ("a".to_owned(), b"12345".to_vec()),
                ("b".to_owned(), text.clone()),
                ("empty".to_owned(), vec![]),
            ];
            assert_eq!(contents(&archive(&files, wide, comment)), Ok(expected));
        }
    }
    assert_eq!(contents(&archive(&[], false, b"")), Ok(vec![]));
}

#[test]
fn damage_is_named() {
    let refused = |file: Packed<'_>| contents(&archive(&[file], false, b"")).expect_err("damaged");
    let damaged =
        |what| format!("t: `f` in the archive is damaged ({what}); write it again with numpy.savez");
    let not_zip = "t: this is not a NumPy archive, or its end is missing; write it again with numpy.savez";
    assert_eq!(contents(b""), Err(not_zip.to_owned()));
    assert_eq!(contents(b"PK\x05\x06"), Err(not_zip.to_owned()));
    let whole = archive(&[store("f", b"12345")], false, b"");
    assert_eq!(contents(&whole[..whole.len() - 1]), Err(not_zip.to_owned()));

    assert_eq!(refused(Packed { crc: 1, ..deflate("f", b"123") }), damaged("its checksum is wrong"));
    assert_eq!(
        refused(Packed { uncompressed: 4, ..store("f", b"123") }),
        damaged("its sizes contradict each other")
    );
    let bomb = Packed { uncompressed: 1 << 31, ..deflate("f", b"123") };
    assert_eq!(refused(bomb), damaged("its sizes contradict each other"));
    let longer = Packed { uncompressed: 4, ..deflate("f", b"123") };
    assert_eq!(refused(longer), damaged("it unpacks to another size than it should"));
    let shorter = Packed { uncompressed: 2, ..deflate("f", b"123") };
    assert_eq!(refused(shorter), damaged("it cannot be unpacked"));
    let noise = Packed { bytes: b"\xff\xff\xff".to_vec(), ..deflate("f", b"123") };
    assert_eq!(refused(noise), damaged("it cannot be unpacked"));

    let encrypted = Packed { flags: 1, ..store("f", b"123") };
    assert_eq!(refused(encrypted), "t: `f` in the archive is encrypted; write it again without a password");
    let method = Packed { method: 14, ..store("f", b"123") };
    assert_eq!(
        refused(method),
        "t: `f` in the archive is compressed by method 14; only stored (0) and deflated (8) can be read"
    );
}

#[test]
fn records_that_point_outside_are_refused() {
    let whole = archive(&[store("f", b"12345")], false, b"");
    let end = whole.len() - 22;
    let changed = |at: usize, bytes: &[u8]| {
        let mut copy = whole.clone();
        copy[at..at + bytes.len()].copy_from_slice(bytes);
        contents(&copy).expect_err("points outside")
    };
    let says = |byte: u64, what| {
        format!("t, byte {byte}: the archive is damaged ({what}); write it again with numpy.savez")
    };
    assert_eq!(changed(end + 16, &[0, 0, 1, 0]), says(65536, "its directory does not lie inside the file"));
    assert_eq!(changed(end + 16, &[255; 4]), says(end as u64, "its 64-bit directory cannot be found"));
    let directory = 30 + 1 + 4 + 5;
    let cut = "an entry of its directory is cut short or overwritten";
    assert_eq!(changed(directory, b"X"), says(directory as u64, cut));
    assert_eq!(changed(directory + 28, &[255]), says(directory as u64, cut));
    assert_eq!(changed(directory + 42, &[0, 0, 1]), says(65536, "a file does not lie inside it"));
    assert_eq!(changed(directory + 42, &[1]), says(1, "a file does not begin where the directory says"));
    assert_eq!(changed(26, &[255, 255]), says(0, "a file does not lie inside it"));
}
