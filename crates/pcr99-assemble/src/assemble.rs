//! Assembling a project: scans in, maps out, resumable.

use std::{
    ffi::OsString,
    num::NonZero,
    path::{Path, PathBuf},
};

use pcr99::Scale;
use pcr99_batch::{Ended, Interrupted, Progress, RunOptions, Settings, run_sharing};
use pcr99_cloud::{CloudFormat, RegisterParams};
use pcr99_document::AssemblyDocument;
use pcr99_plan::{GivenScale, GivenVertical, RegisterOptions, RegisterPlan};

use crate::{
    Error,
    control::KnownPlace,
    merged::Merge,
    steps::{Assembler, GivenScan, Step},
};

/// Default size of the cache of clouds, in bytes: 2 GiB.
const DEFAULT_CACHE: u64 = 2 << 30;

/// Options of an assembly.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct AssembleOptions {
    /// Scale between scans; default 1: all have the same units.
    pub scale: Option<GivenScale>,
    /// Edge of the voxels; default: from the data.
    pub voxel: Option<f64>,
    /// Direction that is up in all scans; default: unknown.
    pub vertical: Option<[f64; 3]>,
    /// Largest angle between the verticals of two scans, in degrees; default 0.
    pub tilt: Option<f64>,
    /// Seed of the random numbers; default 0.
    pub seed: Option<u64>,
    /// Pattern of the names of scans whose sensors are mounted together; see [`Rig::of`](crate::rig::Rig::of).
    pub same_rig: Option<String>,
    /// Control points and positions of scans, which tie maps to the world. They decide nothing else.
    pub known_places: Vec<KnownPlace>,
    /// Whether a project in the directory is continued.
    pub resume: bool,
    /// Number of threads; `None`: all cores. The results do not depend on it.
    pub threads: Option<NonZero<usize>>,
    /// Number of pairs after which results are saved.
    pub chunk: Option<NonZero<usize>>,
    /// Size of the cache of clouds, in bytes.
    pub cache: u64,
    /// What is written of the merged clouds.
    pub merge: Merge,
    /// Extension of the merged clouds, for instance `ply` or `laz`.
    pub merge_format: String,
    /// Largest number of pages of pairs.
    pub pair_pages: usize,
    /// Command that the page shows.
    pub command: Option<String>,
    /// As [`RunOptions::isolation`].
    pub isolation: Vec<OsString>,
}

impl Default for AssembleOptions {
    fn default() -> Self {
        Self {
            scale: None,
            voxel: None,
            vertical: None,
            tilt: None,
            seed: None,
            same_rig: None,
            known_places: Vec::new(),
            resume: false,
            threads: None,
            chunk: None,
            cache: DEFAULT_CACHE,
            merge: Merge::default(),
            merge_format: "ply".to_owned(),
            pair_pages: 0,
            command: None,
            isolation: Vec::new(),
        }
    }
}

/// What an assembly is doing.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Stage {
    /// Reads scans.
    Preparing {
        /// Scans that were read.
        done: usize,
        /// Scans to read.
        all: usize,
    },
    /// Registers pairs.
    Pairs(Progress),
    /// Finds poses and judges edges again.
    Mapping,
    /// Writes the results.
    Writing,
}

/// The result of an assembly.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Assembly {
    /// The document, as in `poses.json`.
    pub document: AssemblyDocument,
    /// Merged clouds that were written.
    pub merged: Vec<PathBuf>,
    /// Pairs that were registered in this run, not in an earlier one.
    pub new_pairs: usize,
}

impl AssembleOptions {
    /// Checks the options. Returns how pairs are registered.
    pub(crate) fn checked(&self) -> Result<RegisterParams, Error> {
        if self.merge != Merge::Nothing {
            CloudFormat::of(Path::new(&format!("merged.{}", self.merge_format)))?;
        }
        let plan = RegisterPlan::new(&RegisterOptions {
            scale: self.scale,
            voxel: self.voxel,
            seed: self.seed,
            vertical: self.given_vertical(),
            tilt: self.tilt,
            ..RegisterOptions::default()
        })?;
        match plan.params().scale() {
            Scale::Known(known) if known.get() != 1.0 => Err(Error::Scale { scale: known.get() }),
            _ => Ok(plan.params().clone()),
        }
    }

    fn given_vertical(&self) -> Option<GivenVertical> {
        self.vertical.map(|up| GivenVertical { source: Some(up), target: Some(up) })
    }

    pub(crate) fn settings(&self) -> Settings {
        // Options with their default value decide nothing, so that a project may be continued with or without them.
        let scale = self.scale.filter(|scale| scale.checked() != Ok(Scale::one()));
        let seed = self.seed.filter(|seed| *seed != 0);
        let (vertical, tilt) = (self.given_vertical(), self.tilt);
        Settings { scale, voxel: self.voxel, seed, vertical, tilt, ..Settings::default() }
    }

    /// Options that decide results, as text.
    pub(crate) fn deciding(&self) -> String {
        let cells = self.settings().cells();
        let texts: Vec<String> = cells.iter().map(|(name, value)| format!("{name} {value}")).collect();
        if texts.is_empty() { "the default options".to_owned() } else { texts.join(", ") }
    }

    /// How the pairs are run on this machine.
    pub(crate) fn run_options(&self) -> RunOptions {
        let usual = RunOptions::default();
        RunOptions {
            threads: self.threads,
            chunk: self.chunk.unwrap_or(usual.chunk),
            cache: self.cache,
            isolation: self.isolation.clone(),
        }
    }
}

/// Assembles the scans in these files to maps, in the directory `output`. `None` when it was interrupted; finished pairs are kept.
///
/// With [`AssembleOptions::resume`], a project in the directory is continued, and scans that it does not have are added. [`Assembler`] does the same in steps.
///
/// # Errors
/// When the project cannot begin or continue, and when files cannot be written. Errors of scans and pairs are in their rows.
pub fn assemble(
    files: &[PathBuf],
    output: &Path,
    options: &AssembleOptions,
    interrupted: Interrupted<'_>,
    progress: &mut (dyn FnMut(&Stage) + Send),
) -> Result<Option<Assembly>, Error> {
    let mut work = Assembler::open(output, options.clone())?;
    let scans = files.iter().map(|file| GivenScan::of(file)).collect::<Result<Vec<_>, _>>()?;
    if !work.add(&scans, interrupted, progress)? {
        return Ok(None);
    }
    loop {
        match work.next(interrupted, progress)? {
            Step::Interrupted => return Ok(None),
            Step::Finished => return work.finish(progress).map(Some),
            Step::Register(mut round) => {
                let mut show = |state: &Progress| progress(&Stage::Pairs(*state));
                let (manifest, directory) = (&round.manifest, &mut round.directory);
                let ended = run_sharing(
                    manifest,
                    directory,
                    &options.run_options(),
                    work.clouds(),
                    interrupted,
                    &mut show,
                    &mut |_, _| {},
                )?;
                if ended == Ended::Interrupted {
                    return Ok(None);
                }
                work.take(&round)?;
            }
        }
    }
}
