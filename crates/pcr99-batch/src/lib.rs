//! Registration of many pairs, listed in a manifest. A batch that is killed continues where it was.
//!
//! | step | where |
//! |---|---|
//! | read and check the table of pairs | [`Manifest`], [`Row`], [`Settings`] |
//! | order pairs so that those with common clouds are close; split them into chunks | [`Manifest::order`], [`Manifest::chunks`] |
//! | run a pair, with a cache of clouds | [`Worker`], [`Clouds`] |
//! | result of a pair | [`Record`] |
//! | write results atomically | [`write_part`], [`Directory`] |
//! | merge the results, in the order of the manifest | [`Directory::merge`], [`Summary`] |
//!
//! On one machine, [`run`] does all of this. On a cluster, one process holds the [`Directory`], sends [`Chunk`]s (plain data) to workers that
//! call [`Worker::run_chunk_to`], and merges.
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
//! * `results.csv` and `results.jsonl` are identical to the byte for the same manifest: on any number of threads, in any order of work, killed and
//!   resumed any number of times. Times are in a separate file. Pairs that reach their time limit are an exception.
//! * A finished pair (one in a part file) is never lost. It runs again only on request ([`Directory::forget_failed`],
//!   [`Directory::forget_changed`]).
//! * An error of a pair, including a panic, is recorded in its row and does not stop the batch.
//! * A pair that ends the process is found when the batch is resumed ([`RunOptions::isolation`]), and fails. Nothing else is lost.
//! * Damaged records are found by their checksum and never used. [`Directory::repair`] runs their pairs again.

mod clouds;

mod columns;

mod csv;

mod directory;

mod error;

mod fingerprint;

mod isolated;

mod manifest;

mod order;

mod outbox;

mod parts;

mod record;

mod remote;

mod row;

mod run;

mod running;

mod settings;

mod stamp;

mod summary;

mod table;

mod worker;

pub use clouds::Clouds;
pub use csv::CsvError;
pub use directory::{Changed, Directory, RESULTS_CSV, RESULTS_JSONL, SUMMARY_JSON, TIMES_CSV};
pub use error::Error;
pub use fingerprint::Fingerprint;
pub use isolated::serve_pair;
pub use manifest::{At, Manifest, ManifestError};
pub use order::Chunk;
pub use parts::write_part;
pub use record::Record;
pub use remote::Receipt;
pub use row::{Input, Row};
pub use run::{Ended, Matched, Progress, RunOptions, run, run_and_see, run_sharing};
pub use settings::{Kind, SettingError, Settings};
pub use stamp::Stamp;
pub use summary::Summary;
pub use worker::{Interrupted, Worker};

/// The example of the README, kept true.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
