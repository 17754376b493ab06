//! The program as its users meet it: arguments, files and standard input go in; exit status, standard output, standard
//! error and files come out.

mod assemble;

mod bad_input;

mod batch;

mod batch_aligned;

mod convert;

mod bench;

mod georeference;

mod given;

mod help;

mod options;

mod outcomes;

mod output_file;

mod page;

mod plan;

mod refine;

mod register;

mod saved_page;

mod simulate;

mod tables;

/// Interrupts, closed pipes, special files.
#[cfg(unix)]
mod unix;

#[cfg(target_os = "linux")]
mod crash;

/// A directory to run the program in, and files to give it.
mod place;

/// Bytes of the binary formats.
mod formats;
