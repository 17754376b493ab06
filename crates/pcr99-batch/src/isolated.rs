//! Pairs that run in a process of their own, because they were running when an earlier process ended.
//!
//! If the pair ends its process again, it becomes a failed row. The process of the batch survives, so a killed batch never blames a pair.

use std::{
    ffi::OsString,
    io::{self, BufRead, Write},
    path::Path,
    process::{Child, Command, ExitStatus, Stdio},
    sync::Arc,
    thread,
    time::Duration,
};

use crate::{
    clouds::Clouds,
    directory::Directory,
    error::Error,
    manifest::Manifest,
    order::Chunk,
    record::Record,
    row::Row,
    worker::{Interrupted, Worker},
};

/// Number of processes that a pair may end before it fails. The system may end one for the memory that others use. The same number as on Ray.
const ATTEMPTS: usize = 3;

/// Time between two looks at the process.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// How a pair ended that ran alone.
pub(crate) enum Alone {
    /// Its record is in the directory.
    Finished,
    /// It did not run, but its process was not to blame: the pair runs as all others.
    Undecided,
    /// The caller stopped it.
    Interrupted,
}

/// Runs a pair in processes of its own until it finishes. `command` is the command of these processes, which must call [`serve_pair`].
pub(crate) fn run_alone(
    command: &[OsString],
    row: &Row,
    manifest: &Manifest,
    directory: &mut Directory,
    interrupted: Interrupted<'_>,
) -> Result<Alone, Error> {
    let mut end = String::new();
    for _ in 0..ATTEMPTS {
        let base = manifest.base().to_string_lossy().into_owned();
        let Ok(mut child) = start(command, directory.path(), &Chunk { base, rows: vec![row.clone()] }) else {
            return Ok(Alone::Undecided);
        };
        let Some(status) =
            wait(&mut child, interrupted).map_err(Error::io("wait for a process of", directory.path()))?
        else {
            return Ok(Alone::Interrupted);
        };
        directory.update()?;
        if directory.is_finished(row) {
            return Ok(Alone::Finished);
        }
        match crash(status) {
            Some(crash) => end = crash,
            None => return Ok(Alone::Undecided),
        }
    }
    let error = format!(
        "the pair ended its process {ATTEMPTS} times ({end}): it may need more memory than there is; the other pairs are not affected"
    );
    directory.write_part(&[Record::failed(row, manifest.base(), &error)])?;
    Ok(Alone::Finished)
}

/// Starts a process and sends it a pair.
fn start(command: &[OsString], directory: &Path, chunk: &Chunk) -> io::Result<Child> {
    let (program, arguments) = command.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    let mut child = Command::new(program)
        .args(arguments)
        .arg(directory)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()?;
    let mut line = serde_json::to_string(chunk)?;
    line.push('\n');
    if let Some(stdin) = &mut child.stdin {
        // A process that ends at once is seen by its status.
        let _ = stdin.write_all(line.as_bytes());
    }
    Ok(child)
}

/// Waits for the end of a process; `None` after an interruption, which ends it. Its standard input stays open until then.
fn wait(child: &mut Child, interrupted: Interrupted<'_>) -> io::Result<Option<ExitStatus>> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if interrupted() {
            let _ = child.kill();
            child.wait()?;
            return Ok(None);
        }
        thread::sleep(LOOK_EVERY);
    }
}

/// Why a process crashed; `None` when it ended by itself or was asked to end.
#[cfg(unix)]
fn crash(status: ExitStatus) -> Option<String> {
    use std::os::unix::process::ExitStatusExt;
    /// Hang up, interrupt, quit, terminate: somebody asked the process to end.
    const ASKED: [i32; 4] = [1, 2, 3, 15];
    let signal = status.signal().filter(|signal| !ASKED.contains(signal))?;
    let name = match signal {
        4 => ", illegal instruction",
        6 => ", abort",
        7 | 10 => ", bus error",
        8 => ", arithmetic error",
        9 => ", kill",
        11 => ", invalid memory access or full stack",
        _ => "",
    };
    Some(format!("signal {signal}{name}"))
}

/// Why a process crashed; `None` when it ended by itself or was asked to end.
#[cfg(not(unix))]
fn crash(status: ExitStatus) -> Option<String> {
    // Exit statuses of programs are small; those of crashes are codes of the system.
    status.code().filter(|code| !(0..=255).contains(code)).map(|code| format!("status {code:#x}"))
}

/// The other side of an isolated pair: reads a pair from standard input, runs it and writes its result to the batch in `directory`.
///
/// The process ends when standard input does: the batch that waits for it is gone.
///
/// # Errors
/// When the input is not a pair, or results cannot be written.
pub fn serve_pair(directory: &Path, threads: usize, interrupted: Interrupted<'_>) -> Result<(), Error> {
    let mut line = String::new();
    let read = io::stdin().lock().read_line(&mut line);
    let chunk = read.and_then(|_| serde_json::from_str::<Chunk>(&line).map_err(io::Error::from));
    let chunk = chunk.map_err(Error::io("read a pair for", directory))?;
    thread::spawn(|| {
        let mut rest = String::new();
        while io::stdin().lock().read_line(&mut rest).is_ok_and(|bytes| bytes > 0) {}
        std::process::exit(GONE);
    });
    Worker::new(Arc::new(Clouds::new(0)), threads).run_chunk_to(&chunk, directory, interrupted)?;
    Ok(())
}

/// Exit status of a process whose batch is gone, as after an interruption.
const GONE: i32 = 130;
