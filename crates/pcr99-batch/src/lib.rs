//! Registration of many pairs: a manifest goes in, one table comes out; killed at any moment, it goes on where it was.
//!
//! | step | where |
//! |---|---|
//! | a table of pairs, checked before any work | [`Manifest`], [`Row`], [`Settings`] |
//! | pairs that share clouds near each other; chunks to send elsewhere | [`Manifest::order`], [`Manifest::chunks`] |
//! | one pair, whatever is wrong with it | [`Worker`], with clouds kept in [`Clouds`] |
//! | what became of it | [`Record`] |
//! | results on the disk, whole or not at all | [`write_part`], [`Directory`] |
//! | all of them, in the order of the manifest | [`Directory::merge`], [`Summary`] |
//!
//! On one machine [`run`] does it all. Elsewhere, one process holds the [`Directory`], sends [`Chunk`]s (they are plain data) to workers that call
//! [`Worker::run_chunk_to`], and merges.
//!
//! ```
//! use pcr99_batch::{Directory, Ended, Manifest, RunOptions, Settings, run};
//!
//! # let place = std::env::temp_dir().join(format!("pcr99-batch-example-{}", std::process::id()));
//! # std::fs::create_dir_all(&place)?;
//! # let matches: String = (0..60).map(|i: i32| { let (y, z) = (i * i % 61, i * i * i % 61); format!("{i} {y} {z} {} {} {z}\n", 5 - y, i) }).collect();
//! # std::fs::write(place.join("matches.txt"), matches)?;
//! std::fs::write(place.join("pairs.csv"), "pair_id,pairs\nfirst,matches.txt\nsecond,nowhere.txt\n")?;
//! let manifest = Manifest::read(&place.join("pairs.csv"), &Settings::default())?;
//! let mut directory = Directory::create(&place.join("out"), &manifest)?;
//! let ended = run(&manifest, &mut directory, &RunOptions::default(), &|| false, &mut |_| {})?;
//! assert_eq!(ended, Ended::Finished);
//! let summary = directory.merge(&manifest)?;
//! assert_eq!((summary.registered, summary.failed), (1, 1));
//! # std::fs::remove_dir_all(&place)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Promises
//!
//! * `results.csv` and `results.jsonl` are the same to the byte for the same manifest, on any number of threads, in any order of work, in one go or
//!   killed and resumed as often as you like; times are in a file of their own. (A time limit that is reached makes exceptions.)
//! * A pair that is finished, that is in a part file, is never lost, and never run again unless one asks for it
//!   ([`Directory::forget_failed`], [`Directory::forget_changed`]).
//! * What is wrong with a pair, a panic included, is in its row and stops nothing.

mod clouds;

mod columns;

mod csv;

mod directory;

mod error;

mod fingerprint;

mod manifest;

mod order;

mod parts;

mod record;

mod remote;

mod row;

mod run;

mod settings;

mod stamp;

mod summary;

mod table;

mod whole_file;

mod worker;

pub use clouds::Clouds;
pub use csv::CsvError;
pub use directory::{Changed, Directory, RESULTS_CSV, RESULTS_JSONL, SUMMARY_JSON, TIMES_CSV};
pub use error::Error;
pub use fingerprint::Fingerprint;
pub use manifest::{At, Manifest, ManifestError};
pub use order::Chunk;
pub use parts::write_part;
pub use record::Record;
pub use remote::Receipt;
pub use row::{Input, Row};
pub use run::{Ended, Matched, Progress, RunOptions, run, run_and_see};
pub use settings::{Kind, SettingError, Settings};
pub use stamp::Stamp;
pub use summary::Summary;
pub use worker::{Interrupted, Worker};
