//! The pages as their readers meet them, in a real browser: nothing is loaded, nothing fails, what is drawn can be seen, switches
//! switch, and the numbers are those of the document. Without a browser the tests are skipped, but not where `CI` is true.
//!
//! `PCR99_SHOTS=DIRECTORY` keeps pictures of all pages.
#![cfg(unix)]
#![allow(clippy::print_stderr, reason = "says that it is skipped")]

mod devtools;

mod layout;

mod others;

mod registration;

mod votes;

mod web;

use std::{
    fs,
    path::PathBuf,
    process::{Command, Output},
};

use devtools::Browser;

/// A directory in which the program has made a page.
struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a directory"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Runs the program; `args` are separated by spaces.
    #[track_caller]
    fn run(&self, args: &str) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pcr99"));
        let output = command.args(args.split(' ')).current_dir(self.0.path()).output().expect("a program");
        assert!(output.status.code().is_some_and(|code| code < 2), "{output:?}");
        output
    }
}

/// Keeps a picture of what is seen, if asked to.
fn keep_picture(browser: &mut Browser, name: &str) {
    if let Some(directory) = std::env::var_os("PCR99_SHOTS") {
        fs::create_dir_all(&directory).expect("a directory");
        let bytes = from_base64(&browser.picture(None));
        fs::write(PathBuf::from(directory).join(format!("{name}.png")), bytes).expect("a file");
    }
}

fn from_base64(text: &str) -> Vec<u8> {
    let value = |c: u8| match c {
        b'A'..=b'Z' => c - b'A',
        b'a'..=b'z' => c - b'a' + 26,
        b'0'..=b'9' => c - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let digits: Vec<u8> = text.bytes().filter(|c| *c != b'=').map(value).collect();
    let bytes = |four: &[u8]| {
        let bits =
            four.iter().fold(0_u32, |bits, digit| bits << 6 | u32::from(*digit)) << (6 * (4 - four.len()));
        bits.to_be_bytes()[1..four.len()].to_vec()
    };
    digits.chunks(4).flat_map(bytes).collect()
}

#[test]
fn base64_is_read() {
    assert_eq!(from_base64("TWFu"), b"Man");
    assert_eq!(from_base64("TWE="), b"Ma");
    assert_eq!(from_base64("TQ=="), b"M");
}
