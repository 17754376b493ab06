//! The page and the npm package, made of the compiled module.

use std::{io, path::Path};

use miniz_oxide::deflate::compress_to_vec_zlib;
use pcr99_base::output_file::{OutputError, OutputFile};
use pcr99_page::{
    SCRIPT,
    frame::{Page, library_script},
};
use serde_json::json;

use crate::types;

const CORE: &str = include_str!("../web/core.js");
const WORKER: &str = include_str!("../web/worker.js");
const APP: &str = include_str!("../web/app.js");
const BODY: &str = include_str!("../web/app.html");
const INDEX: &str = include_str!("../web/index.js");
const TYPES: &str = include_str!("../web/index.d.ts");
const README: &str = include_str!("../web/README.md");

/// Level of the compression: the page is made once and opened often.
const LEVEL: u8 = 10;

/// The module with its own exports only: a library of other crates exports hundreds of functions that describe it to its tools.
///
/// A module is a header of eight bytes and sections: a number, a size, and the content. Section 7 lists the exports: a count, then name, kind and index of each.
fn own_exports(module: &[u8]) -> Option<Vec<u8>> {
    const EXPORTS: u8 = 7;
    let (header, mut rest) = module.split_at_checked(8)?;
    let mut out = header.to_vec();
    while let Some((&id, after)) = rest.split_first() {
        let (size, after) = number(after)?;
        let (content, after) = after.split_at_checked(size)?;
        rest = after;
        let kept = if id == EXPORTS { kept_exports(content)? } else { content.to_vec() };
        out.push(id);
        push_number(&mut out, kept.len());
        out.extend(kept);
    }
    Some(out)
}

fn kept_exports(content: &[u8]) -> Option<Vec<u8>> {
    let (count, mut rest) = number(content)?;
    let (mut kept, mut list) = (0, Vec::<u8>::new());
    for _ in 0..count {
        let start = rest;
        let (length, after) = number(rest)?;
        let (name, after) = after.split_at_checked(length)?;
        // One byte for the kind.
        let (_, after) = number(after.get(1..)?)?;
        rest = after;
        if name == b"memory" || name.starts_with(b"pcr99_") {
            kept += 1;
            list.extend(&start[..start.len() - rest.len()]);
        }
    }
    let mut out = Vec::new();
    push_number(&mut out, kept);
    out.extend(list);
    Some(out)
}

/// A number of seven bits per byte, low bits first, and what follows.
fn number(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let length = bytes.iter().take(5).position(|byte| byte & 0x80 == 0)? + 1;
    let (digits, rest) = bytes.split_at(length);
    let number = digits.iter().rev().fold(0, |number, byte| number << 7 | usize::from(byte & 0x7f));
    Some((number, rest))
}

fn push_number(out: &mut Vec<u8>, mut number: usize) {
    while number > 0x7f {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// The page as one HTML file, with the module in it.
pub fn page(module: &[u8]) -> String {
    let [module, library] =
        [module, library_script().as_bytes()].map(|bytes| base64(&compress_to_vec_zlib(bytes, LEVEL)));
    let worker = format!("{CORE}{WORKER}");
    let body = format!(
        "{BODY}<script type=\"application/octet-stream\" id=\"module\">{module}</script>\n\
         <script type=\"application/octet-stream\" id=\"library\">{library}</script>\n\
         <script type=\"text/plain\" id=\"worker\">\n{worker}</script>\n"
    );
    let script = format!("{SCRIPT}{APP}");
    let parts = Page {
        title: "pcr99: registration in the browser",
        body: &body,
        script: &script,
        with_plots: false,
        with_workers: true,
        command: None,
        program: pcr99_document::PROGRAM,
    };
    parts.to_html()
}

/// The files of the npm package, by name.
pub fn package(module: &[u8]) -> Vec<(&'static str, Vec<u8>)> {
    let types = format!("{TYPES}\n{}", types::declarations(&pcr99_document::json_schema()));
    let manifest = json!({
        "name": "pcr99",
        "version": env!("CARGO_PKG_VERSION"),
        "description": "Registration of two 3-D point sets from matches of which 99 % are wrong, or from raw clouds",
        "license": env!("CARGO_PKG_LICENSE"),
        "repository": env!("CARGO_PKG_REPOSITORY"),
        "keywords": ["point-cloud", "registration", "3d", "icp", "webassembly"],
        "type": "module",
        "main": "index.js",
        "types": "index.d.ts",
        "exports": { ".": { "types": "./index.d.ts", "default": "./index.js" }, "./pcr99.wasm": "./pcr99.wasm" },
        "files": ["index.js", "index.d.ts", "pcr99.wasm"],
        "sideEffects": false,
        "engines": { "node": ">=18" },
    });
    let manifest = serde_json::to_string_pretty(&manifest).unwrap_or_default() + "\n";
    vec![
        ("pcr99.wasm", module.to_vec()),
        ("index.js", format!("{CORE}{INDEX}").into_bytes()),
        ("index.d.ts", types.into_bytes()),
        ("package.json", manifest.into_bytes()),
        ("README.md", README.as_bytes().to_vec()),
    ]
}

/// Writes `pcr99.html` and the directory `npm` into a directory.
///
/// # Errors
/// When a file cannot be written.
pub fn write(module: &[u8], directory: &Path) -> Result<(), OutputError> {
    let module = own_exports(module);
    let module = module.as_deref().ok_or_else(|| OutputError::Write {
        file: format!("`{}`", directory.display()),
        cause: io::Error::other("the module is no WebAssembly module"),
    })?;
    let npm = directory.join("npm");
    let failed = |cause| OutputError::Write { file: format!("`{}`", npm.display()), cause };
    std::fs::create_dir_all(&npm).map_err(failed)?;
    let write = |path: &Path, bytes: &[u8]| {
        OutputFile::new(path)?.write(|out: &mut dyn io::Write| out.write_all(bytes))
    };
    for (name, bytes) in package(module) {
        write(&npm.join(name), &bytes)?;
    }
    write(&directory.join("pcr99.html"), page(module).as_bytes())
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let bits = three.iter().fold(0, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - three.len()));
        for k in 0..4 {
            let digit = DIGITS[(bits >> (18 - 6 * k) & 63) as usize];
            text.push(if k <= three.len() { char::from(digit) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_written_in_base64() {
        assert_eq!(
            ["", "M", "Ma", "Man", "Many"].map(|text| base64(text.as_bytes())),
            ["", "TQ==", "TWE=", "TWFu", "TWFueQ=="]
        );
    }

    #[test]
    fn only_own_exports_are_kept() {
        let entry = |name: &str| [&[name.len() as u8], name.as_bytes(), &[0, 200, 1]].concat();
        let all = [vec![3], entry("memory"), entry("__other"), entry("pcr99_call")].concat();
        let module = [b"\0asm\x01\0\0\0".to_vec(), vec![1, 2, 9, 9, 7, all.len() as u8], all].concat();
        let kept = [vec![2], entry("memory"), entry("pcr99_call")].concat();
        let expected = [b"\0asm\x01\0\0\0".to_vec(), vec![1, 2, 9, 9, 7, kept.len() as u8], kept].concat();
        assert_eq!(own_exports(&module), Some(expected));
        // Cut off within the size and the content of the section of exports.
        assert_eq!([13, 14, 20].map(|length| own_exports(&module[..length])), [None, None, None]);
        let (mut bytes, numbers) = (Vec::new(), [0, 127, 128, 3_200_522]);
        numbers.iter().for_each(|&x| push_number(&mut bytes, x));
        let mut rest = bytes.as_slice();
        for expected in numbers {
            let (found, after) = number(rest).expect("a number");
            assert_eq!(found, expected);
            rest = after;
        }
    }

    #[test]
    fn the_page_loads_nothing() {
        let page = page(b"\0asm");
        assert!(page.starts_with("<!doctype html>") && page.contains("worker-src blob:"));
        assert!(!page.contains("src=\"http") && !page.contains("import(") && !page.contains("fetch("));
    }
}
