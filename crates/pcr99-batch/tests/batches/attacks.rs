//! Batch directories that an earlier version took for intact, found through `PCR99_ATTACKS` (a directory with `files/journal-digit`: a
//! manifest, the directory `good`, and the directory `bad`, in which one digit of a result is another).

use std::{fs, path::Path, path::PathBuf};

use pcr99_batch::{Directory, Manifest, Settings};

use crate::place::Place;

/// The directory of the attack; `None` without it.
#[expect(clippy::print_stderr, reason = "says that it is skipped")]
fn attack() -> Option<PathBuf> {
    let Some(directory) = std::env::var_os("PCR99_ATTACKS").map(PathBuf::from) else {
        assert!(
            std::env::var_os("PCR99_REQUIRE_DATA").is_none_or(|v| v != "1"),
            "PCR99_REQUIRE_DATA=1 but PCR99_ATTACKS is not set"
        );
        eprintln!("skipped: set PCR99_ATTACKS to the directory of the attacks to run this test");
        return None;
    };
    Some(directory.join("files/journal-digit"))
}

fn only_part(directory: &Path) -> PathBuf {
    let mut parts = fs::read_dir(directory.join("parts")).expect("parts");
    parts.next().expect("a part").expect("an entry").path()
}

/// A file with the permissions of a new one, whatever those of the attack are.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to.parent().expect("a directory")).expect("a directory");
    fs::write(to, fs::read(from).expect("a file")).expect("a copy");
}

/// Journals without checksums are refused (here of schema 1), whether they are damaged or not: nobody can tell.
#[test]
fn journals_without_checksums_are_refused() {
    let Some(attack) = attack() else { return };
    let place = Place::new();
    for name in ["man.csv", "m1.csv"] {
        copy(&attack.join(name), &place.path(name));
    }
    let manifest = Manifest::read(&place.path("man.csv"), &Settings::default()).expect("a manifest");
    for name in ["good", "bad"] {
        let (from, to) = (attack.join(name), place.path(name));
        copy(&from.join("batch.json"), &to.join("batch.json"));
        let part = only_part(&from);
        copy(&part, &to.join("parts").join(part.file_name().expect("a name")));
        let open = [Directory::resume(&to, &manifest), Directory::repair(&to, &manifest).map(|(d, _)| d)];
        for result in open {
            let error = result.expect_err("refused").to_string();
            assert!(error.contains("has schema 1; this version reads 3") && error.contains(name), "{error}");
        }
    }
}

/// When a journal of this version is damaged in this way, the error names its part file.
#[test]
fn the_same_digit_in_a_journal_of_this_version_is_named() {
    let Some(attack) = attack() else { return };
    let [good, bad] = ["good", "bad"].map(|name| fs::read(only_part(&attack.join(name))).expect("a part"));
    let differs = good.iter().zip(&bad).position(|(a, b)| a != b).expect("a difference");
    // Enough of the text before to find the place again.
    let before = &good[differs - 24..differs];
    let place = Place::new();
    copy(&attack.join("m1.csv"), &place.path("m1.csv"));
    copy(&attack.join("man.csv"), &place.path("man.csv"));
    let manifest = Manifest::read(&place.path("man.csv"), &Settings::default()).expect("a manifest");
    place.run(&manifest, "out", 1, 0);
    let part = only_part(&place.path("out"));
    let mut text = fs::read(&part).expect("a part");
    let found = text.windows(before.len()).position(|window| window == before);
    // Results may differ between versions; then any digit of the result does.
    let at = found.map_or(text.len() / 2, |at| at + before.len());
    text[at] = if text[at] == b'8' { b'3' } else { b'8' };
    fs::write(&part, text).expect("a part");
    let error = Directory::resume(&place.path("out"), &manifest).expect_err("damaged").to_string();
    let name = part.file_name().expect("a name").to_string_lossy().into_owned();
    assert!(error.contains(&format!("{name}`, line 2, is damaged")), "{error}");
}
