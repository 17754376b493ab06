//! Numbers that pages quote are those of the code.

use std::fs;

use crate::markdown::root;

/// Page, what it says, and the definition in the code that it quotes.
const FACTS: &[(&str, &str, &str, &str)] = &[
    ("explanation/search.md", "`τ = 0.7 δ`", "pcr99/src/search/mod.rs", "const TAU: f64 = 0.7;"),
    ("explanation/search.md", "64, then 256, then 1024", "pcr99/src/search/mod.rs", "const FIRST_SUBSET: usize = 64;"),
    ("explanation/search.md", "64, then 256, then 1024", "pcr99/src/search/mod.rs", "const GROWTH: usize = 4;"),
    ("explanation/search.md", "32 768 matches with a known", "pcr99/src/search/mod.rs", "const LARGEST_KNOWN: usize = 1 << 15;"),
    ("explanation/search.md", "16 384 with an unknown", "pcr99/src/search/mod.rs", "const LARGEST: usize = 1 << 14;"),
];

#[test]
fn quoted_numbers_are_those_of_the_code() {
    let squeezed = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    for (page, quote, file, definition) in FACTS {
        let text = fs::read_to_string(root().join("docs").join(page)).expect(page);
        assert!(squeezed(&text).contains(quote), "docs/{page} no longer says `{quote}`");
        let code = fs::read_to_string(root().join("crates").join(file)).expect(file);
        assert!(squeezed(&code).contains(definition), "docs/{page} says `{quote}`, but {file} has no `{definition}`");
    }
}
