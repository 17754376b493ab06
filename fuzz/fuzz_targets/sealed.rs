//! Lines with a checksum. None that was changed is accepted.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pcr99_base::sealed::{check, seal};

fuzz_target!(|data: (&str, &[u8])| {
    let (text, line) = data;
    let sealed = seal(format!("{{{text:?}:0}}"), "");
    assert!(check(sealed.as_bytes(), "").is_ok());
    assert!(check(line, "").is_err() || line.ends_with(b"\"}") || line.ends_with(b"\"}\n"));
});
