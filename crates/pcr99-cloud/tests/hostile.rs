//! Damaged files of every format: each reader returns soon, with points or with an error of one line. A panic or an absurd allocation fails
//! these tests; a long search makes them visibly slow.

mod fixtures;

use std::fs;
use std::panic;
use std::path::Path;
use std::sync::{LazyLock, Once};
use std::time::{Duration, Instant};

use fixtures::{Kind, e57, las, pcd, utm, with_checksums};
use pcr99_cloud::{FileError, read_cloud, read_indices, read_matches, read_points};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use tempfile::TempDir;

/// Valid files: extension and content.
static VALID: LazyLock<Vec<(&str, Vec<u8>)>> = LazyLock::new(|| {
    let header = |format: &str| {
        format!(
            "ply\nformat {format} 1.0\ncomment c\nelement face 2\nproperty list uchar int i\nelement vertex \
             3\nproperty double x\nproperty float y\nproperty list char short l\nproperty uchar z\nelement edge \
             1\nproperty int a\nend_header\n"
        )
        .into_bytes()
    };
    let face = [&[1][..], &[0; 4]].concat();
    let vertex = [&[7; 12][..], &[1, 0, 0], &[9]].concat();
    let body = [face.repeat(2), vertex.repeat(3), vec![0; 4]].concat();
    let data = |name: &str| fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name));
    vec![
        (
            "csv",
            b"sx,sy,sz,tx,ty,tz,weight\n1,2,3,4,5,6,7\n1.5e3,-2,3,4,5,6,7\n# c\n1,2,3,4,5,6,7\n".to_vec(),
        ),
        ("txt", b"1 2 3 4 5 6\r\n1 2 3 4 5 6\r\n\r\n0.1 -2 3 4 5 6".to_vec()),
        ("idx", b"a;b\n1;2\n3;4\n".to_vec()),
        ("ply", [header("ascii"), b"1 0\n1 0\n1 2 0 3\n1 2 2 8 9 3\n4 5 0 6\n0\n".to_vec()].concat()),
        ("ply", [header("binary_little_endian"), body.clone()].concat()),
        ("ply", [header("binary_big_endian"), body].concat()),
        ("npy", npy("<f8", "(4, 6)", 192)),
        ("npy", npy(">i2", "(5, 2)", 20)),
        ("npy", npy("<f8", "(3, 7)", 168)),
        ("pcd", pcd("ascii")),
        ("pcd", pcd("binary")),
        ("pcd", pcd("binary_compressed")),
        (
            "obj",
            b"# c\nv 1 2 3 0.5 0.5 0.5\nvn 0 0 1\nv 4 5 6 1 1 1\nvn 0 0 1\nf 1//1 2//2 -1//-1\n".to_vec(),
        ),
        ("bin", [0, 0, 128, 63].repeat(8)),
        ("pts", b"2\n1 2 3 -500 9 8 7\n4 5 6 0 1 2 3\n".to_vec()),
        ("xyz", b"# x y z nx ny nz r g b\n1 2 3 0 0 1 9 8 7\n".to_vec()),
        ("las", las(&utm(3), false, 3)),
        ("las", las(&utm(2), false, 6)),
        ("laz", las(&utm(40), true, 3)),
        ("laz", las(&utm(40), true, 7)),
        ("e57", e57(Kind::Cartesian, &[None], &[([1.0, 2.0, 3.0], true, [4; 3], 0.5); 3], |xml| xml)),
        ("npz", data("stored.npz").expect("a fixture")),
        ("npz", data("compressed.npz").expect("a fixture")),
    ]
});

fn npy(descr: &str, shape: &str, bytes: usize) -> Vec<u8> {
    let dict = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n");
    [b"\x93NUMPY\x01\x00", (dict.len() as u16).to_le_bytes().as_slice(), dict.as_bytes(), &vec![0; bytes]]
        .concat()
}

/// Runs all readers on `bytes` under `extension`, and returns how many of the four succeed.
fn read_all(extension: &str, bytes: &[u8]) -> usize {
    thread_local! {
        static DIRECTORY: TempDir = tempfile::tempdir().expect("a temporary directory");
    }
    let path = DIRECTORY.with(|directory| directory.path().join("f").with_extension(extension));
    fs::write(&path, bytes).expect("a temporary file");
    static QUIET: Once = Once::new();
    QUIET.call_once(|| {
        let usual = panic::take_hook();
        // The reader catches these panics. Printing each with a backtrace would take most of the time.
        panic::set_hook(Box::new(move |panic| {
            if !pcr99_cloud::files::panic_is_caught() {
                usual(panic);
            }
        }));
    });
    let began = Instant::now();
    let results: [Result<usize, FileError>; 4] = [
        read_matches(&path).map(|matches| matches.source.len()),
        read_points(&path).map(|points| points.len()),
        read_indices(&path).map(|pairs| pairs.len()),
        read_cloud(&path).map(|cloud| {
            cloud.validate().expect("equal lengths");
            cloud.len()
        }),
    ];
    // Generous, so that a busy machine passes and an endless loop fails.
    assert!(began.elapsed() < Duration::from_secs(10));
    for result in &results {
        match result {
            // Only compressed points, which may all be equal, take less than a byte each.
            Ok(count) => {
                assert!((1..=1000 * bytes.len()).contains(count), "{count} from {} bytes", bytes.len())
            }
            Err(error) => {
                let message = error.to_string();
                assert!(
                    message.starts_with('`') && !message.contains('\n') && message.len() < 1500,
                    "{message}"
                );
            }
        }
    }
    results.iter().filter(|result| result.is_ok()).count()
}

/// The undamaged files are read. Otherwise the damage below would show nothing.
#[test]
fn the_files_are_valid_before_they_are_damaged() {
    for (extension, bytes) in VALID.iter() {
        assert!(read_all(extension, bytes) >= 1, "{extension}");
    }
}

/// Short files are cut after every byte, longer ones at about a hundred places.
#[test]
fn files_that_end_early() {
    for (extension, bytes) in VALID.iter() {
        let ends = (0..bytes.len()).step_by(bytes.len().div_ceil(100)).chain(bytes.len() - 9..bytes.len());
        for end in ends {
            let read = read_all(extension, &bytes[..end]);
            // Text may end anywhere; the other formats know their length.
            if matches!(*extension, "npy" | "npz" | "las" | "laz" | "e57") {
                assert_eq!(read, 0, "{extension} cut at {end}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn random_bytes(
        extension in select(vec!["txt", "ply", "npy", "npz", "pcd", "obj", "bin", "pts", "las", "laz", "e57"]),
        start in select(vec![&b""[..], b"ply\nformat ascii 1.0\n", b"\x93NUMPY\x01\x00\x20\x00", b"PK\x05\x06", b"1 2 ", b"LASF", b"ASTM-E57", b"v 1 2 3\n", b"FIELDS x y z\nSIZE 4 4 4\nTYPE F F F\nWIDTH 3\nDATA binary_compressed\n"]),
        bytes in vec(any::<u8>(), 0..300),
    ) {
        read_all(extension, &[start, &bytes].concat());
    }

    #[test]
    fn random_characters_of_tables(text in "[-0-9.eE,; \t#/xyznaif\n\r\"]{0,200}") {
        read_all("txt", text.as_bytes());
    }

    #[test]
    fn changed_bytes(file in any::<Index>(), changes in vec((any::<Index>(), any::<u8>()), 1..6)) {
        let (extension, mut bytes) = file.get(&VALID).clone();
        for (place, value) in changes {
            let place = place.index(bytes.len());
            bytes[place] = value;
        }
        read_all(extension, &bytes);
    }

    #[test]
    fn flipped_bits(file in any::<Index>(), flips in vec((any::<Index>(), 0..8u8), 1..4), removed in 0..3usize) {
        let (extension, mut bytes) = file.get(&VALID).clone();
        for (place, bit) in flips {
            let place = place.index(bytes.len());
            bytes[place] ^= 1 << bit;
            bytes.drain(place..(place + removed).min(bytes.len()));
        }
        read_all(extension, &bytes);
    }

    /// Page checksums of E57 files would catch all changes above, so these changes come with correct checksums.
    #[test]
    fn changed_pages(changes in vec((any::<Index>(), any::<u8>()), 1..6), digits in any::<bool>()) {
        let (_, mut bytes) = VALID.iter().find(|(extension, _)| *extension == "e57").expect("a file").clone();
        let places: Vec<usize> = (0..bytes.len()).filter(|&i| !digits || bytes[i].is_ascii_digit()).collect();
        for (place, value) in changes {
            bytes[*place.get(&places)] = if digits { b'0' + value % 10 } else { value };
        }
        read_all("e57", &with_checksums(bytes));
    }

    /// Changes the compressed bytes of LAZ files, and the records that describe the compression.
    #[test]
    fn changed_layers(
        file in any::<Index>(), endless in any::<bool>(), changes in vec((any::<Index>(), any::<u8>()), 1..4),
    ) {
        let compressed: Vec<_> = VALID.iter().filter(|(extension, _)| *extension == "laz").collect();
        let mut bytes = file.get(&compressed).1.clone();
        if endless {
            // Some of these make the decoder recurse for each symbol until its stack would overflow.
            let end = bytes.len() - 60;
            bytes[601..end].fill(0xff);
        }
        for (place, value) in changes {
            let place = 375 + place.index(bytes.len() - 375);
            bytes[place] = value;
        }
        read_all("laz", &bytes);
    }

    /// Digits in the header, where sizes and counts are.
    #[test]
    fn large_numbers_in_headers(file in any::<Index>(), place in any::<Index>(), digits in 1..20usize) {
        let (extension, mut bytes) = file.get(&VALID).clone();
        let places: Vec<usize> = (0..bytes.len()).filter(|&i| bytes[i].is_ascii_digit()).collect();
        prop_assume!(!places.is_empty());
        let place = *place.get(&places);
        bytes.splice(place..place, vec![b'9'; digits]);
        read_all(extension, &bytes);
    }
}

/// Headers that declare far more than memory holds are refused at once.
#[test]
fn absurd_headers_cost_nothing() {
    let began = Instant::now();
    let vertices = "ply\nformat binary_little_endian 1.0\nelement vertex 99999999999\nproperty uchar x\nproperty \
                    uchar y\nproperty uchar z\nend_header\nabc";
    let mut archive = VALID.iter().find(|(extension, _)| *extension == "npz").expect("an archive").1.clone();
    let directory = archive.windows(4).position(|window| window == b"PK\x01\x02").expect("a directory");
    archive[directory + 20..directory + 28].fill(0xfe); // both sizes: about 4 GB
    for (extension, bytes) in [
        ("ply", vertices.as_bytes().to_vec()),
        ("ply", vertices.replace("binary_little_endian", "ascii").into_bytes()),
        ("npy", npy("<f8", "(99999999999, 6)", 48)),
        ("npy", npy("<f8", "(18446744073709551615, 3)", 48)),
        ("npy", npy("<i4", "(0, 18446744073709551615)", 48)),
        ("npz", archive),
    ] {
        assert_eq!(read_all(extension, &bytes), 0, "{extension}");
    }
    assert!(began.elapsed() < Duration::from_secs(5));
}
