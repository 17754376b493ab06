//! Clouds of every format. The first byte chooses the extension.
#![no_main]

use std::fs;

use libfuzzer_sys::fuzz_target;

const EXTENSIONS: [&str; 12] =
    ["ply", "pcd", "las", "laz", "e57", "npy", "obj", "bin", "pts", "xyz", "csv", "txt"];

fuzz_target!(|data: &[u8]| {
    let Some((&first, bytes)) = data.split_first() else { return };
    let Ok(place) = tempfile::tempdir() else { return };
    let path = place.path().join("f").with_extension(EXTENSIONS[usize::from(first) % EXTENSIONS.len()]);
    if fs::write(&path, bytes).is_ok() {
        match pcr99_cloud::read_cloud(&path) {
            Ok(cloud) => assert!(cloud.validate().is_ok()),
            Err(error) => assert!(!error.to_string().contains('\n')),
        }
    }
});
