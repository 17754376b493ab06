//! Public readers on files: the choice of the format, and the errors of whole files.

use std::fs;
use std::path::PathBuf;

use pcr99_cloud::{FileError, Problem, read_indices, read_matches, read_points};
use tempfile::TempDir;

struct Files(TempDir);

impl Files {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary directory"))
    }

    fn with(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.path().join(name);
        fs::write(&path, bytes).expect("a temporary file");
        path
    }

    /// The message without the directory, which differs from run to run.
    fn message(&self, error: &FileError) -> String {
        error.to_string().replace(&format!("{}/", self.0.path().display()), "")
    }
}

fn npy(descr: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let dict = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n");
    [b"\x93NUMPY\x01\x00", (dict.len() as u16).to_le_bytes().as_slice(), dict.as_bytes(), data].concat()
}

const PLY: &str = "ply\nformat ascii 1.0\nelement vertex 1\nproperty int x\nproperty int y\nproperty int \
                   z\nend_header\n1 2 3\n";

#[test]
fn the_extension_chooses_the_format() {
    let files = Files::new();
    let point = vec![[1.0, 2.0, 3.0]];
    assert_eq!(read_points(&files.with("a.PLY", PLY)).expect("ply"), point);
    assert_eq!(read_points(&files.with("a.xyz", "1 2 3\n")).expect("text"), point);
    assert_eq!(read_points(&files.with("a.csv", "x,y,z\n1,2,3\n")).expect("csv"), point);
    assert_eq!(read_points(&files.with("a.npy", npy("|u1", "(1, 3)", &[1, 2, 3]))).expect("npy"), point);
    assert_eq!(read_points(&files.with("b.npy", npy("|u1", "(1, 4)", &[1, 2, 3, 4]))).expect("wider"), point);

    let matches =
        read_matches(&files.with("m.npy", npy("|u1", "(1, 7)", &[1, 2, 3, 4, 5, 6, 7]))).expect("npy");
    assert_eq!(
        (matches.source, matches.target, matches.weights),
        (point, vec![[4.0, 5.0, 6.0]], Some(vec![7.0]))
    );
    let matches = read_matches(&files.with("m.txt", "1 2 3 4 5 6\n")).expect("text");
    assert_eq!((matches.target, matches.weights), (vec![[4.0, 5.0, 6.0]], None));

    let pairs = vec![[1, 2], [3, 4]];
    assert_eq!(read_indices(&files.with("i.txt", "1 2\n3 4\n")).expect("text"), pairs);
    assert_eq!(read_indices(&files.with("i.npy", npy("|i1", "(2, 2)", &[1, 2, 3, 4]))).expect("npy"), pairs);
    let floats: Vec<u8> = [1f32, 2.0, 3.0, 4.0].iter().flat_map(|value| value.to_be_bytes()).collect();
    assert_eq!(
        read_indices(&files.with("f.npy", npy(">f4", "(2, 2)", &floats))).expect("whole floats"),
        pairs
    );
}

#[test]
fn errors_name_the_file_the_place_and_the_remedy() {
    let files = Files::new();
    let missing = read_matches(&files.0.path().join("no.csv")).expect_err("missing");
    assert!(files.message(&missing).starts_with("cannot read `no.csv`: "), "{missing}");
    assert!(matches!(missing, FileError::Io { .. }));
    fs::create_dir(files.0.path().join("dir.ply")).expect("a directory");
    let directory = read_points(&files.0.path().join("dir.ply")).expect_err("directory");
    assert_eq!(files.message(&directory), "cannot read `dir.ply`: it is a directory; name a file inside it");

    let nothing =
        read_points(&files.with("e.ply", PLY.replace("vertex 1", "vertex 0"))).expect_err("no points");
    assert_eq!(files.message(&nothing), "`e.ply`: there are no points in it; at least one is needed");
    assert!(
        matches!(nothing, FileError::Malformed { problem, .. } if *problem == Problem::Nothing { what: "points" })
    );

    let nan = [0, 0, 0, 0, 0, 0, 0, 0x7e, 0, 0, 0, 0, 0, 0];
    for (read, name, bytes, message) in [
        (
            true,
            "m.npy",
            npy("<f2", "(1, 7)", &nan),
            "row 0, column 3 (counted from 0): NaN is not a finite number; remove this match or correct it",
        ),
        (
            false,
            "i.npy",
            npy("|i1", "(2, 2)", &[0, 1, 2, 0xff]),
            "row 1, column 1 (counted from 0): index -1 is negative; indices count from 0",
        ),
        (
            false,
            "h.npy",
            npy("<f2", "(1, 2)", &[0, 0, 0, 0x3e]),
            "row 0, column 1 (counted from 0): 1.5 is not an index; indices are whole numbers that count from 0",
        ),
    ] {
        let path = files.with(name, bytes);
        let error = if read { read_matches(&path).err() } else { read_indices(&path).err() };
        assert_eq!(error.map(|error| files.message(&error)), Some(format!("`{name}`, {message}")));
    }
    let empty = read_indices(&files.with("0.npy", npy("<i8", "(0, 2)", &[]))).expect_err("no pairs");
    assert_eq!(files.message(&empty), "`0.npy`: there are no index pairs in it; at least one is needed");
    let empty = read_matches(&files.with("0.csv", "")).expect_err("empty");
    assert_eq!(files.message(&empty), "`0.csv`: the file is empty; it needs rows of numbers");
}

#[test]
fn transposed_arrays_are_recognised() {
    let files = Files::new();
    for (name, shape, error) in [
        ("p.npy", "(3, 5)", read_points(&files.with("p.npy", npy("|u1", "(3, 5)", &[0; 15]))).err()),
        ("m.npy", "(6, 5)", read_matches(&files.with("m.npy", npy("|u1", "(6, 5)", &[0; 30]))).err()),
        ("i.npy", "(2, 5)", read_indices(&files.with("i.npy", npy("|u1", "(2, 5)", &[0; 10]))).err()),
    ] {
        let message = files.message(&error.expect(shape));
        let begin = format!(
            "`{name}`: the array has shape {} and looks transposed: N×",
            &shape[1..5].replace(", ", "×")
        );
        assert!(
            message.starts_with(&begin) && message.ends_with("is needed; save its transpose (.T)"),
            "{message}"
        );
    }
    let flat = read_points(&files.with("2.npy", npy("|u1", "(5, 2)", &[0; 10]))).expect_err("no z");
    assert_eq!(
        files.message(&flat),
        "`2.npy`: the array has shape 5×2, but N×3, or wider with x y z first, is needed"
    );
    assert!(read_points(&files.with("s.npy", npy("|u1", "(3, 3)", &[0; 9]))).is_ok());
    assert!(read_matches(&files.with("s.npy", npy("|u1", "(6, 6)", &[0; 36]))).is_ok());
}

/// Files with a wrong extension are named by their true format.
#[test]
fn a_wrong_name_is_recognised() {
    let files = Files::new();
    let ply = read_matches(&files.with("m.txt", PLY)).expect_err("ply");
    assert_eq!(
        files.message(&ply),
        "`m.txt`: this is not a table of text but a PLY file; such clouds are named `.ply`, and given where a cloud is expected"
    );
    let text = read_points(&files.with("p.ply", "1 2 3\n")).expect_err("text");
    assert!(files.message(&text).starts_with("`p.ply`: this is not a PLY file"), "{text}");
    let text = read_matches(&files.with("m.npz", "1 2 3 4 5 6\n")).expect_err("text");
    assert!(files.message(&text).starts_with("`m.npz`: this is not a NumPy archive"), "{text}");
}
