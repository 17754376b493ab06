//! The documentation, kept true: links, commands, the reference of the command line, and the numbers that pages quote.
//!
//! After an intended change of options, `PCR99_UPDATE=1 cargo test -p pcr99-cli --test docs` writes `docs/reference/cli.md` anew.
#![cfg(unix)]

mod facts;

mod links;

mod markdown;

mod reference;

mod shell;
