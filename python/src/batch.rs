//! Registration of many pairs: the directory of a batch, threads on this machine, and workers on other machines.

use std::{
    ffi::OsString,
    num::NonZero,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use pcr99_assemble::Round;
use pcr99_batch::{
    At, Chunk, Clouds, Directory, Error, ManifestError, Progress, Record, RunOptions, Settings, run_sharing,
};
use pyo3::{prelude::*, types::PyTuple};

use crate::{
    error::Failure,
    work::{self, Interrupted},
};

/// Time between two calls of the progress function: ten updates per second look smooth.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(100);

/// Checked list of pairs.
#[pyclass(frozen, module = "pcr99._core")]
pub(crate) struct Manifest(Arc<pcr99_batch::Manifest>);

#[pymethods]
impl Manifest {
    /// Reads a CSV file.
    #[staticmethod]
    fn read(py: Python<'_>, path: PathBuf, defaults: Vec<(String, String)>) -> PyResult<Self> {
        let read = move || {
            let found = pcr99_batch::Manifest::read(&path, &settings(&defaults)?);
            found.map_err(|error| Failure::manifest(error, Some(&path)))
        };
        Ok(Self(Arc::new(work::run(py, read)?)))
    }

    /// Takes the cells of a table. `path` is the file that they come from, if there is one.
    #[staticmethod]
    fn from_rows(
        py: Python<'_>,
        columns: Vec<String>,
        rows: Vec<Vec<String>>,
        path: Option<PathBuf>,
        defaults: Vec<(String, String)>,
    ) -> PyResult<Self> {
        let read = move || {
            let label =
                path.as_ref().map_or("the manifest".to_owned(), |path| format!("`{}`", path.display()));
            let failure = |error| Failure::manifest(error, path.as_deref());
            // Relative paths are relative to the file, or to the current directory if there is none.
            let place = path.as_deref().and_then(Path::parent).filter(|place| !place.as_os_str().is_empty());
            let base = std::path::absolute(place.unwrap_or(Path::new("."))).map_err(|cause| {
                failure(Error::Manifest {
                    file: label.clone(),
                    at: At::Whole,
                    cause: ManifestError::Io(cause).into(),
                })
            })?;
            pcr99_batch::Manifest::from_rows(&columns, rows, &label, base, &settings(&defaults)?)
                .map_err(failure)
        };
        Ok(Self(Arc::new(work::run(py, read)?)))
    }

    fn __len__(&self) -> usize {
        self.0.rows().len()
    }
}

fn settings(given: &[(String, String)]) -> Result<Settings, Failure> {
    let mut settings = Settings::default();
    for (name, text) in given {
        settings.set(name, text).map_err(|error| Failure::Value(error.to_string()))?;
    }
    Ok(settings)
}

/// Directory of a batch. It is locked until `close` is called.
#[pyclass(frozen, module = "pcr99._core")]
pub(crate) struct Batch {
    manifest: Arc<pcr99_batch::Manifest>,
    directory: Shared,
    /// Cache of clouds that other work shares.
    clouds: Option<Arc<Clouds>>,
    /// Message about finished pairs whose input files have changed.
    changed: Option<String>,
}

type Shared = Arc<Mutex<Option<Directory>>>;

/// Runs `work` on the directory; an error if it is closed.
fn with<T>(
    directory: &Shared,
    work: impl FnOnce(&mut Directory) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let mut guard = locked(directory);
    work(guard.as_mut().ok_or_else(|| Failure::Value("the batch is closed".to_owned()))?)
}

pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Batch {
    /// The batch of a round of an assembly.
    pub(crate) fn of_round(round: Round, clouds: Arc<Clouds>) -> Self {
        let Round { manifest, directory } = round;
        let directory = Arc::new(Mutex::new(Some(directory)));
        Self { manifest, directory, clouds: Some(clouds), changed: None }
    }

    /// The round of an assembly. The batch is then closed.
    pub(crate) fn round(&self) -> Result<Round, Failure> {
        let directory = locked(&self.directory).take();
        let directory = directory.ok_or_else(|| Failure::Value("the batch is closed".to_owned()))?;
        Ok(Round { manifest: Arc::clone(&self.manifest), directory })
    }

    /// Runs `work`, which writes files, to its end even if Ctrl-C is pressed.
    fn complete<T: Send + 'static>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut Directory, &pcr99_batch::Manifest) -> Result<T, Failure> + Send + 'static,
    ) -> PyResult<T> {
        let (directory, manifest) = (Arc::clone(&self.directory), Arc::clone(&self.manifest));
        work::run_to_end(py, move |_| with(&directory, |directory| work(directory, &manifest)))
    }
}

#[pymethods]
impl Batch {
    #[new]
    fn new(
        py: Python<'_>,
        output: PathBuf,
        manifest: &Manifest,
        resume: bool,
        repair: bool,
        retry_failed: bool,
        retry_changed: bool,
    ) -> PyResult<Self> {
        let manifest = Arc::clone(&manifest.0);
        let its = Arc::clone(&manifest);
        let (directory, changed) = work::run_to_end(py, move |_| {
            let mut directory = match (resume, repair) {
                (false, _) => Directory::create(&output, &its)?,
                (true, false) => Directory::resume(&output, &its)?,
                (true, true) => Directory::repair(&output, &its)?.0,
            };
            if retry_failed {
                directory.forget_failed()?;
            }
            if retry_changed {
                directory.forget_changed(&its)?;
            }
            let changed = directory.changed(&its);
            let changed = (!changed.rows.is_empty()).then(|| changed.to_string());
            Ok((directory, changed))
        })?;
        Ok(Self { manifest, directory: Arc::new(Mutex::new(Some(directory))), clouds: None, changed })
    }

    /// Number of pairs.
    #[getter]
    fn pairs(&self) -> usize {
        self.manifest.rows().len()
    }

    /// The directory.
    #[getter]
    fn path(&self, py: Python<'_>) -> PyResult<PathBuf> {
        with(&self.directory, |directory| Ok(directory.path().to_path_buf()))
            .map_err(|failure| failure.raised(py))
    }

    /// Message about finished pairs whose input files have changed; `None` if there are none.
    #[getter]
    fn changed(&self) -> Option<&str> {
        self.changed.as_deref()
    }

    /// Number of finished pairs at the last update.
    #[getter]
    fn finished(&self, py: Python<'_>) -> PyResult<usize> {
        with(&self.directory, |directory| Ok(directory.finished())).map_err(|failure| failure.raised(py))
    }

    /// Unlocks the directory.
    fn close(&self) {
        *locked(&self.directory) = None;
    }

    /// Runs the missing pairs on threads of this machine. `progress` is called on this thread with four counts: all pairs, pairs that
    /// earlier runs finished, pairs that this run finished, and pairs of this run that failed. `program` starts the program `pcr99`.
    fn run(
        &self,
        py: Python<'_>,
        threads: Option<usize>,
        chunk: Option<usize>,
        cache: Option<u64>,
        program: Vec<OsString>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let default = RunOptions::default();
        let threads = work::thread_count(threads);
        let pair = ["batch-pair".into(), "--threads".into(), threads.to_string().into()];
        let options = RunOptions {
            threads: NonZero::new(threads),
            isolation: program.into_iter().chain(pair).collect(),
            chunk: chunk.and_then(NonZero::new).unwrap_or(default.chunk),
            cache: bytes(cache),
        };
        let state: Arc<Mutex<Option<Progress>>> = Arc::default();
        let its_state = Arc::clone(&state);
        let (directory, manifest) = (Arc::clone(&self.directory), Arc::clone(&self.manifest));
        let clouds = self.clouds.clone().unwrap_or_else(|| Arc::new(Clouds::new(options.cache)));
        let report = |py: Python<'_>| match (progress, *locked(&state)) {
            (Some(progress), Some(Progress { all, before, made, failed })) => {
                progress.call1(PyTuple::new(py, [all, before, made, failed])?).map(|_| ())
            }
            _ => Ok(()),
        };
        let mut last_report = Instant::now();
        let look = |py: Python<'_>| {
            if last_report.elapsed() < PROGRESS_INTERVAL {
                return Ok(());
            }
            last_report = Instant::now();
            report(py)
        };
        work::run_with_progress(
            py,
            Interrupted::Wait,
            move |watch| {
                let interrupted = || watch.check().is_some();
                with(&directory, |directory| {
                    let mut note = |progress: &Progress| *locked(&its_state) = Some(*progress);
                    let seen = &mut |_: &Record, _| {};
                    Ok(run_sharing(&manifest, directory, &options, &clouds, &interrupted, &mut note, seen)?)
                })
            },
            look,
        )?;
        report(py)
    }

    /// Missing pairs in chunks for workers, each as JSON.
    fn chunks(&self, py: Python<'_>, size: usize) -> PyResult<Vec<String>> {
        self.complete(py, move |directory, manifest| {
            manifest.chunks(size, &|row| directory.is_finished(row)).iter().map(document).collect()
        })
    }

    /// Missing pairs of a chunk that a worker did not finish, in chunks of `size` pairs.
    fn missing(&self, py: Python<'_>, chunk: &str, size: usize) -> PyResult<Vec<String>> {
        let Chunk { base, mut rows } = chunk_of(chunk).map_err(|failure| failure.raised(py))?;
        self.complete(py, move |directory, _| {
            directory.update()?;
            rows.retain(|row| !directory.is_finished(row));
            let chunk = |rows: &[_]| document(&Chunk { base: base.clone(), rows: rows.to_vec() });
            rows.chunks(size.max(1)).map(chunk).collect()
        })
    }

    /// Records that all pairs of a chunk failed with `error`.
    fn give_up(&self, py: Python<'_>, chunk: &str, error: String) -> PyResult<()> {
        let Chunk { base, rows } = chunk_of(chunk).map_err(|failure| failure.raised(py))?;
        self.complete(py, move |directory, _| {
            let failed = |row| Record::failed(row, Path::new(&base), &error);
            Ok(directory.write_part(&rows.iter().map(failed).collect::<Vec<_>>())?)
        })
    }

    /// Reads what workers have written. Returns the number of finished pairs.
    fn update(&self, py: Python<'_>) -> PyResult<usize> {
        self.complete(py, |directory, _| {
            directory.update()?;
            Ok(directory.finished())
        })
    }

    /// Merges all results. Returns the counts by status as JSON and as text.
    fn merge(&self, py: Python<'_>) -> PyResult<(String, String)> {
        self.complete(py, |directory, manifest| {
            let summary = directory.merge(manifest)?;
            Ok((summary.to_json(), summary.to_string()))
        })
    }
}

/// Runs chunks of pairs, one after the other.
#[pyclass(frozen, module = "pcr99._core")]
pub(crate) struct Worker(Arc<Mutex<pcr99_batch::Worker>>);

#[pymethods]
impl Worker {
    #[new]
    fn new(threads: usize, cache: Option<u64>) -> Self {
        let clouds = Arc::new(Clouds::new(bytes(cache)));
        Self(Arc::new(Mutex::new(pcr99_batch::Worker::new(clouds, work::thread_count(Some(threads))))))
    }

    /// Runs a chunk. Returns the part files, the number of pairs, and the number of failed pairs. It ends early once the file `stop`
    /// exists.
    #[pyo3(signature = (output, chunk, stop=None))]
    fn run_chunk(
        &self,
        py: Python<'_>,
        output: PathBuf,
        chunk: &str,
        stop: Option<PathBuf>,
    ) -> PyResult<(Vec<PathBuf>, usize, usize)> {
        let chunk = chunk_of(chunk).map_err(|failure| failure.raised(py))?;
        let worker = Arc::clone(&self.0);
        let receipt = work::run_to_end(py, move |watch| {
            let stop = StopFile { path: stop, looked: Mutex::new(None) };
            Ok(locked(&worker).run_chunk_to(&chunk, &output, &|| watch.check().is_some() || stop.exists())?)
        })?;
        Ok((receipt.parts, receipt.made, receipt.failed))
    }
}

/// A file whose existence tells workers on all machines to stop.
struct StopFile {
    path: Option<PathBuf>,
    /// When it was last looked for, and the answer.
    looked: Mutex<Option<(Instant, bool)>>,
}

impl StopFile {
    fn exists(&self) -> bool {
        let Some(path) = &self.path else { return false };
        let mut looked = locked(&self.looked);
        match *looked {
            Some((when, exists)) if exists || when.elapsed() < LOOK_EVERY => exists,
            _ => looked.insert((Instant::now(), path.exists())).1,
        }
    }
}

/// Time between two looks for a [`StopFile`]. Workers ask far more often, and the file may be on another machine.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Default number of pairs in a chunk.
pub(crate) fn default_chunk() -> usize {
    RunOptions::default().chunk.get()
}

/// Size of the cache of clouds in bytes.
pub(crate) fn bytes(mib: Option<u64>) -> u64 {
    mib.map_or(RunOptions::default().cache, |mib| mib.saturating_mul(1 << 20))
}

fn document(chunk: &Chunk) -> Result<String, Failure> {
    serde_json::to_string(chunk).map_err(|error| Failure::Internal(error.to_string()))
}

fn chunk_of(text: &str) -> Result<Chunk, Failure> {
    serde_json::from_str(text).map_err(|error| Failure::Value(format!("invalid chunk: {error}")))
}
