//! The C header is that of the crate.

use std::{fs, path::Path};

/// With `PCR99_WRITE_HEADER=1`, the header is written instead.
#[test]
fn the_header_is_that_of_the_crate() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(root.join("cbindgen.toml")).expect("a configuration");
    let made = cbindgen::Builder::new()
        .with_src(root.join("src/lib.rs"))
        .with_config(config)
        .generate()
        .expect("a header");
    let mut text = Vec::new();
    made.write(&mut text);
    let text = String::from_utf8(text).expect("UTF-8");
    let path = root.join("include/pcr99.h");
    if std::env::var_os("PCR99_WRITE_HEADER").is_some() {
        fs::write(&path, &text).expect("a file");
    }
    let committed = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == text,
        "`{}` is old: run `PCR99_WRITE_HEADER=1 cargo test -p pcr99-c --test header`",
        path.display()
    );
}
