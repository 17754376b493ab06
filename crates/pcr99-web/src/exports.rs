//! The functions that JavaScript calls, and those that it provides.
//!
//! JavaScript asks for a buffer with `pcr99_input` and fills it, as often as needed; calls `pcr99_call`; and reads the outputs: the first is JSON, the
//! others are what it names. A panic ends the module: `pcr99_failure` then says why, and a new instance is needed.

use std::{cell::RefCell, panic};

use serde_json::json;

use crate::{Answer, Error, Host, answer};

thread_local! {
    static INPUTS: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
    static OUTPUTS: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
    static FAILURE: RefCell<String> = const { RefCell::new(String::new()) };
}

#[link(wasm_import_module = "pcr99")]
unsafe extern "C" {
    /// Seconds since some moment.
    safe fn pcr99_now() -> f64;
    /// A stage begins: its name, in UTF-8.
    safe fn pcr99_stage(name: *const u8, size: usize);
}

/// A new input of this size, to be filled; null when there is no memory for it.
#[unsafe(no_mangle)]
extern "C" fn pcr99_input(size: usize) -> *mut u8 {
    INPUTS.with_borrow_mut(|inputs| {
        let mut bytes = Vec::new();
        if bytes.try_reserve_exact(size).is_err() {
            inputs.clear();
            return std::ptr::null_mut();
        }
        bytes.resize(size, 0);
        inputs.push(bytes);
        inputs.last_mut().map_or(std::ptr::null_mut(), |bytes| bytes.as_mut_ptr())
    })
}

/// Answers the request in the inputs, which are used up; returns the number of outputs.
#[unsafe(no_mangle)]
extern "C" fn pcr99_call() -> usize {
    panic::set_hook(Box::new(|info| {
        // The decoder of LAZ files, another library, panics on some damaged files.
        let text = match pcr99_cloud::files::panic_is_caught() {
            true => "a LAZ file is damaged (the decoder met a contradiction); copy or export the file again"
                .to_owned(),
            false => format!("internal error, please report it: {info}"),
        };
        FAILURE.set(text);
    }));
    OUTPUTS.take();
    let host = Host { now: &|| pcr99_now(), stage: &|name| pcr99_stage(name.as_ptr(), name.len()) };
    let outputs = outputs(answer(INPUTS.take(), &host));
    let count = outputs.len();
    OUTPUTS.set(outputs);
    count
}

fn outputs(answer: Result<Answer, Error>) -> Vec<Vec<u8>> {
    let (head, parts) = match answer {
        Err(error) => (json!({ "error": error.to_string() }), Vec::new()),
        Ok(Answer::Document { json, page }) => {
            let parts = [Some(json), page].into_iter().flatten();
            (json!({}), parts.map(String::into_bytes).collect())
        }
        Ok(Answer::File { name, bytes, lost }) => (json!({ "name": name, "lost": lost }), vec![bytes]),
    };
    [head.to_string().into_bytes()].into_iter().chain(parts).collect()
}

/// The bytes of an output.
#[unsafe(no_mangle)]
extern "C" fn pcr99_output(index: usize) -> *const u8 {
    OUTPUTS.with_borrow(|outputs| outputs.get(index).map_or(std::ptr::null(), |bytes| bytes.as_ptr()))
}

/// The size of an output.
#[unsafe(no_mangle)]
extern "C" fn pcr99_output_size(index: usize) -> usize {
    OUTPUTS.with_borrow(|outputs| outputs.get(index).map_or(0, Vec::len))
}

/// Why the module ended, in UTF-8.
#[unsafe(no_mangle)]
extern "C" fn pcr99_failure() -> *const u8 {
    FAILURE.with_borrow(|text| text.as_ptr())
}

/// The size of that text; 0 when it ended for lack of memory.
#[unsafe(no_mangle)]
extern "C" fn pcr99_failure_size() -> usize {
    FAILURE.with_borrow(String::len)
}
