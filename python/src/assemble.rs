//! Assembly of many scans to maps, in steps: the pairs of each round are a batch.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex},
};

use pcr99_assemble::{
    AssembleOptions, Assembler, GivenScan, KnownPlace, Merge, Step, read_control, read_positions,
};
use pyo3::prelude::*;

use crate::{
    batch::{Batch, bytes, locked},
    error::Failure,
    solve::{PyScale, given_scale},
    work::{self, Watch},
};

/// Options of `assemble`; `None` means the default.
#[derive(Debug, FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Options {
    scale: Option<PyScale>,
    voxel: Option<f64>,
    vertical: Option<[f64; 3]>,
    tilt: Option<f64>,
    same_rig: Option<String>,
    control_file: Option<PathBuf>,
    positions_file: Option<PathBuf>,
    known_places: Vec<Place>,
    resume: bool,
    merge: String,
    merge_format: String,
    pair_pages: usize,
    threads: Option<usize>,
    cache: Option<u64>,
    seed: u64,
    call: Option<String>,
}

/// Name, scan, point in its coordinates, place in the world, standard deviations.
type Place = (String, Option<String>, [f64; 3], [f64; 3], [f64; 3]);

impl Options {
    fn given(self) -> Result<AssembleOptions, Failure> {
        let mut given = AssembleOptions::default();
        given.scale = Some(given_scale(self.scale));
        given.voxel = self.voxel;
        given.vertical = self.vertical;
        given.tilt = self.tilt;
        given.seed = Some(self.seed);
        given.same_rig = self.same_rig;
        if let Some(file) = self.control_file {
            given.known_places.extend(read_control(&file)?);
        }
        if let Some(file) = self.positions_file {
            given.known_places.extend(read_positions(&file)?);
        }
        given.known_places.extend(self.known_places.into_iter().map(
            |(name, scan, local, world, deviations)| KnownPlace { name, scan, local, world, deviations },
        ));
        given.resume = self.resume;
        given.threads = std::num::NonZero::new(work::thread_count(self.threads));
        given.cache = self.cache.map_or(given.cache, |mib| bytes(Some(mib)));
        let wrong = |expected| Failure::Value(format!("`merge` is `{}`: {expected}", self.merge));
        given.merge = self.merge.parse::<Merge>().map_err(wrong)?;
        given.merge_format = self.merge_format;
        given.pair_pages = self.pair_pages;
        given.command = self.call;
        Ok(given)
    }
}

/// An assembly in the directory of a project. It is locked until `close` is called.
#[pyclass(frozen, module = "pcr99._core")]
pub(crate) struct Assembly(Arc<Mutex<Option<Assembler>>>);

impl Assembly {
    /// Runs `step`, which writes files. It ends early on Ctrl-C.
    fn step<T: Send + 'static>(
        &self,
        py: Python<'_>,
        step: impl FnOnce(&mut Assembler, &Watch) -> Result<T, Failure> + Send + 'static,
    ) -> PyResult<T> {
        let work = Arc::clone(&self.0);
        work::run_to_end(py, move |watch| {
            let mut guard = locked(&work);
            let work = guard.as_mut().ok_or_else(|| Failure::Value("the assembly is closed".to_owned()))?;
            step(work, watch)
        })
    }
}

#[pymethods]
impl Assembly {
    #[new]
    fn new(py: Python<'_>, output: PathBuf, options: Options) -> PyResult<Self> {
        let given = options.given().map_err(|failure| failure.raised(py))?;
        let work = work::run_to_end(py, move |_| Ok(Assembler::open(&output, given)?))?;
        Ok(Self(Arc::new(Mutex::new(Some(work)))))
    }

    /// Adds scans, each with its name and file, and reads them.
    fn add(&self, py: Python<'_>, scans: Vec<(String, PathBuf)>) -> PyResult<()> {
        let scans: Vec<GivenScan> = scans.into_iter().map(|(name, file)| GivenScan { name, file }).collect();
        self.step(py, move |work, watch| {
            let interrupted = || watch.check().is_some();
            work.add(&scans, &interrupted, &mut |_| {})?;
            Ok(())
        })
    }

    /// The batch of the pairs to register next; `None` when all are.
    fn next(&self, py: Python<'_>) -> PyResult<Option<Batch>> {
        self.step(py, |work, watch| {
            let interrupted = || watch.check().is_some();
            Ok(match work.next(&interrupted, &mut |_| {})? {
                Step::Register(round) => Some(Batch::of_round(*round, Arc::clone(work.clouds()))),
                Step::Finished | Step::Interrupted => None,
            })
        })
    }

    /// Takes the registered pairs of a round back, which closes the batch.
    fn take(&self, py: Python<'_>, batch: &Batch) -> PyResult<()> {
        let round = batch.round();
        self.step(py, move |work, _| {
            let mut round = round?;
            round.directory.update()?;
            Ok(work.take(&round)?)
        })
    }

    /// Finds the poses and writes the results. Returns the document as JSON, the merged clouds, and the number of pairs of this run.
    fn finish(&self, py: Python<'_>) -> PyResult<(String, Vec<PathBuf>, usize)> {
        self.step(py, |work, _| {
            let found = work.finish(&mut |_| {})?;
            Ok((found.document.to_json(), found.merged, found.new_pairs))
        })
    }

    /// Unlocks the directory.
    fn close(&self) {
        *locked(&self.0) = None;
    }
}
