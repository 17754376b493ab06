//! Saved results. What can be read can be written and read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pcr99_document::Document;

fuzz_target!(|text: &str| {
    if let Ok(document) = Document::from_json(text) {
        assert!(Document::from_json(&document.to_json()).is_ok());
    }
});
