//! Manifests of batches.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pcr99_batch::{Manifest, Settings};

fuzz_target!(|data: &[u8]| {
    let manifest = Manifest::parse(data, "the manifest", "/".into(), &Settings::default());
    assert!(manifest.map_or(true, |manifest| !manifest.rows().is_empty()));
});
