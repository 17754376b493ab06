//! Matches and index pairs. The first byte chooses the extension.
#![no_main]

use std::fs;

use libfuzzer_sys::fuzz_target;

const EXTENSIONS: [&str; 3] = ["csv", "npy", "npz"];

fuzz_target!(|data: &[u8]| {
    let Some((&first, bytes)) = data.split_first() else { return };
    let Ok(place) = tempfile::tempdir() else { return };
    let path = place.path().join("f").with_extension(EXTENSIONS[usize::from(first) % EXTENSIONS.len()]);
    if fs::write(&path, bytes).is_ok() {
        if let Ok(matches) = pcr99_cloud::read_matches(&path) {
            assert_eq!(matches.source.len(), matches.target.len());
        }
        let _ = pcr99_cloud::read_indices(&path);
    }
});
