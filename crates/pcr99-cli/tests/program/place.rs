use std::{
    fs,
    io::Write,
    path::PathBuf,
    process::{Command, Stdio},
};

use serde_json::Value;

/// A temporary directory in which the program runs, so that messages show plain file names.
pub(crate) struct Place(tempfile::TempDir);

/// What one run left behind.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) status: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary directory"))
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        fs::write(self.path(name), bytes).expect("a temporary file");
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// Names of all files, sorted.
    pub(crate) fn listing(&self) -> Vec<String> {
        let entries = fs::read_dir(self.0.path()).expect("a directory");
        let name = |entry: std::io::Result<fs::DirEntry>| entry.expect("an entry").file_name();
        let mut names: Vec<String> =
            entries.map(|entry| name(entry).to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    /// The program, not yet started. `args` are separated by spaces.
    pub(crate) fn command(&self, args: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pcr99"));
        command.args(args.split_whitespace()).current_dir(self.0.path());
        command.env_remove("CLICOLOR_FORCE").env_remove("NO_COLOR").env("COLUMNS", "100");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    pub(crate) fn run(&self, args: &str) -> Ran {
        Ran::of(self.command(args).output().expect("the program starts"))
    }

    /// With `input` on standard input.
    pub(crate) fn run_on(&self, input: &[u8], args: &str) -> Ran {
        let mut child = self.command(args).stdin(Stdio::piped()).spawn().expect("the program starts");
        // It may refuse before it has read everything.
        let _ = child.stdin.take().expect("a pipe").write_all(input);
        Ran::of(child.wait_with_output().expect("the program ends"))
    }

    /// The JSON document of a run that ends with `status`.
    pub(crate) fn json(&self, status: i32, args: &str) -> Value {
        self.run(&format!("{args} --json")).with_status(status).json()
    }
}

impl Ran {
    pub(crate) fn of(output: std::process::Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
        Self { status: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }

    #[track_caller]
    pub(crate) fn with_status(self, status: i32) -> Self {
        assert_eq!(self.status, Some(status), "{self:?}");
        self
    }

    /// Refused: status 2, nothing on standard output, and one message with all of `words`.
    #[track_caller]
    pub(crate) fn refused(&self, words: &[&str]) {
        assert_eq!(self.status, Some(2), "{self:?}");
        assert_eq!(self.out, "", "standard output is for results");
        assert!(self.err.starts_with("error: "), "{self:?}");
        assert_eq!(self.err.matches("error: ").count(), 1, "one message: {self:?}");
        for word in words {
            assert!(self.err.contains(word), "`{word}` is missing in: {}", self.err);
        }
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// The document without its times and the names of its files, which may differ between equal results.
pub(crate) fn timeless(mut document: Value) -> Value {
    let fields = document.as_object_mut().expect("an object");
    fields.remove("seconds").expect("seconds");
    fields.remove("inputs").expect("inputs");
    document
}

/// Twelve exact matches: a quarter turn about z and a shift, all in whole numbers.
pub(crate) fn exact_matches() -> Vec<[f64; 6]> {
    let source = [
        [0, 0, 0],
        [7, 1, 2],
        [1, 9, 3],
        [2, 4, 11],
        [-5, 3, 1],
        [6, -8, 2],
        [3, 5, -7],
        [-4, -6, 9],
        [10, 2, -3],
        [-9, 7, 5],
        [8, -1, -6],
        [-2, -10, 4],
    ];
    source.map(|p| p.map(f64::from)).map(|[x, y, z]| [x, y, z, 5.0 - y, x - 3.0, z + 1.0]).to_vec()
}

/// The transform of [`exact_matches`].
pub(crate) const EXACT: [[f64; 4]; 4] =
    [[0.0, -1.0, 0.0, 5.0], [1.0, 0.0, 0.0, -3.0], [0.0, 0.0, 1.0, 1.0], [0.0, 0.0, 0.0, 1.0]];

/// Rows as text.
pub(crate) fn table<const N: usize>(rows: &[[f64; N]], separator: &str, line_end: &str) -> String {
    rows.iter().map(|row| row.map(|x| x.to_string()).join(separator) + line_end).collect()
}

/// The 4×4 matrix in a document.
#[track_caller]
pub(crate) fn transform(document: &Value) -> [[f64; 4]; 4] {
    serde_json::from_value(document["transform"].clone()).unwrap_or_else(|_| panic!("{document:#}"))
}

/// The list of indices in a document.
#[track_caller]
pub(crate) fn inliers(document: &Value) -> Vec<usize> {
    serde_json::from_value(document["inliers"].clone()).expect("indices")
}

#[track_caller]
pub(crate) fn assert_close<const N: usize>(found: [[f64; N]; N], expected: [[f64; N]; N], bound: f64) {
    for (a, b) in found.as_flattened().iter().zip(expected.as_flattened()) {
        assert!((a - b).abs() <= bound, "{found:?} is not {expected:?}");
    }
}
