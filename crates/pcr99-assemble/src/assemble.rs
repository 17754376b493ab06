//! Assembling a project: scans in, maps out, resumable.

use std::{
    ffi::OsString,
    num::NonZero,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use pcr99::Scale;
use pcr99_batch::{
    Clouds, Directory, Ended, Interrupted, Manifest, Progress, RunOptions, Settings, run_sharing,
};
use pcr99_document::AssemblyDocument;
use pcr99_graph::Kind;
use pcr99_plan::{GivenScale, RegisterOptions, RegisterPlan};

use crate::{
    Error,
    engine::{Assembled, Tried, assembled, sketched},
    merged::{Merge, write_merged},
    outputs::{self, EDGES_CSV, POSES_CSV, POSES_G2O, POSES_JSON, POSES_TUM},
    pages::Pages,
    prepare::{Content, describe, prepare},
    project::{PAIRS, Project, pair_id, write},
    propose::{ALL, Proposals},
    report::Report,
    rig::Rig,
    scan::Scan,
};

/// Default size of the cache of clouds, in bytes: 2 GiB.
const DEFAULT_CACHE: u64 = 2 << 30;

/// Largest number of rounds in which the map so far proposes further pairs.
const MOST_ROUNDS: usize = 4;

/// Options of an assembly.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct AssembleOptions {
    /// Scale between scans; default 1: all have the same units.
    pub scale: Option<GivenScale>,
    /// Edge of the voxels; default: from the data.
    pub voxel: Option<f64>,
    /// Seed of the random numbers; default 0.
    pub seed: Option<u64>,
    /// Pattern of the names of scans whose sensors are mounted together; see [`Rig::of`].
    pub same_rig: Option<String>,
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
            seed: None,
            same_rig: None,
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
    /// Checks the options of the pairs.
    fn checked_scale(&self) -> Result<Scale, Error> {
        RegisterPlan::new(&RegisterOptions {
            scale: self.scale,
            voxel: self.voxel,
            seed: self.seed,
            ..RegisterOptions::default()
        })?;
        let scale = self.scale.map_or(Ok(Scale::one()), GivenScale::checked)?;
        match scale {
            Scale::Known(known) if known.get() != 1.0 => Err(Error::Scale { scale: known.get() }),
            scale => Ok(scale),
        }
    }

    fn settings(&self) -> Settings {
        Settings { scale: self.scale, voxel: self.voxel, seed: self.seed, ..Settings::default() }
    }

    /// Options that decide results, as text.
    fn deciding(&self) -> String {
        let cells = self.settings().cells();
        let texts: Vec<String> = cells.iter().map(|(name, value)| format!("{name} {value}")).collect();
        if texts.is_empty() { "the default options".to_owned() } else { texts.join(", ") }
    }
}

/// Assembles the scans in these files to maps, in the directory `output`. `None` when it was interrupted; finished pairs are kept.
///
/// With [`AssembleOptions::resume`], a project in the directory is continued, and scans that it does not have are added.
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
    let scale = options.checked_scale()?;
    let mut project = Project::open(output, &options.deciding(), options.resume)?;
    let clouds = Arc::new(Clouds::new(options.cache));
    let job = Job { options, scale, clouds: &clouds, interrupted };
    if !job
        .read(&mut project, progress, |project, read| prepare(project, files, &clouds, interrupted, read))?
    {
        return Ok(None);
    }
    if project.scans.len() < 2 {
        return Err(Error::FewScans { found: project.scans.len() });
    }
    let names: Vec<&str> = project.scans.iter().map(|scan| scan.path.as_str()).collect();
    let rig = options.same_rig.as_deref().map(|pattern| Rig::of(pattern, &names)).transpose()?;
    let same = same(&project);
    let scans: Vec<Scan> = project.scans.iter().map(|record| record.scan()).collect();
    let Some((tried, new_pairs)) = job.tried(&mut project, &scans, &same, rig.as_ref(), progress)? else {
        return Ok(None);
    };
    let paths: Vec<PathBuf> = project.scans.iter().map(|record| record.file()).collect();
    let get = |scan: usize| clouds.prepared(&paths[scan]);
    let found = job.on_threads(|| assembled(&scans, &tried, &same, rig.as_ref(), scale, &get))?;
    progress(&Stage::Writing);
    let report = Report {
        records: &project.scans,
        scans: &scans,
        tried: &tried,
        same: &same,
        assembled: &found,
        with_scale: !job.has_known_scale(),
    };
    let document = report.document();
    let merged = save(&project, &document, &found, &scans, &tried, scale, options)?;
    let pages = Pages {
        directory: project.path(),
        document: &document,
        records: &project.scans,
        tried: &tried,
        clouds: &clouds,
        command: options.command.as_deref(),
        pairs: options.pair_pages,
    };
    pages.write()?;
    Ok(Some(Assembly { document, merged, new_pairs }))
}

/// What all steps need.
struct Job<'a> {
    options: &'a AssembleOptions,
    scale: Scale,
    clouds: &'a Arc<Clouds>,
    interrupted: Interrupted<'a>,
}

/// Work that reads scans and tells how far it is.
type Reading<'a> = &'a (dyn Fn(usize, usize) + Sync);

impl Job<'_> {
    fn has_known_scale(&self) -> bool {
        matches!(self.scale, Scale::Known(_))
    }

    fn on_threads<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        pcr99_cloud::register::with_threads(self.options.threads.map_or(0, NonZero::get), work)
    }

    /// Runs `work`, which reads scans, on the threads.
    fn read(
        &self,
        project: &mut Project,
        progress: &mut (dyn FnMut(&Stage) + Send),
        work: impl FnOnce(&mut Project, Reading<'_>) -> Result<bool, Error> + Send,
    ) -> Result<bool, Error> {
        let shown = Mutex::new(progress);
        self.on_threads(|| {
            work(project, &|done, all| {
                if let Ok(mut shown) = shown.lock() {
                    shown(&Stage::Preparing { done, all });
                }
            })
        })
    }

    /// Tries pairs, in rounds for many scans. `None` when it was interrupted. Also returns the number of pairs of this run.
    fn tried(
        &self,
        project: &mut Project,
        scans: &[Scan],
        same: &[[usize; 2]],
        rig: Option<&Rig>,
        progress: &mut (dyn FnMut(&Stage) + Send),
    ) -> Result<Option<(Vec<Tried>, usize)>, Error> {
        let has_known_scale = self.has_known_scale();
        let proposals = Proposals { same, has_known_scale };
        let usable = proposals.usable(project);
        let is_large = usable.len() > ALL;
        let described = |project: &mut Project, read: Reading<'_>| {
            describe(project, &usable, has_known_scale, self.clouds, self.interrupted, read)
        };
        if is_large && !self.read(project, progress, described)? {
            return Ok(None);
        }
        proposals.first(project);
        let mut new_pairs = 0;
        for round in 0.. {
            let Some((tried, made)) =
                registered(project, self.options, self.clouds, self.interrupted, progress)?
            else {
                break;
            };
            new_pairs += made;
            progress(&Stage::Mapping);
            let is_last = !is_large || round == MOST_ROUNDS;
            if is_last || !proposals.more(project, &sketched(scans, &tried, rig, self.scale)?) {
                return Ok(Some((tried, new_pairs)));
            }
        }
        Ok(None)
    }
}

/// Later scans with the points of an earlier one: the earlier and the later.
fn same(project: &Project) -> Vec<[usize; 2]> {
    let hash = |scan: usize| project.scans[scan].content.as_ref().ok().map(|Content { hash, .. }| hash);
    let earlier =
        |scan: &usize| (0..*scan).find(|first| hash(*first).is_some() && hash(*first) == hash(*scan));
    (0..project.scans.len()).filter_map(|scan| Some([earlier(&scan)?, scan])).collect()
}

/// Registers all pairs of the project that are not finished. `None` when it was interrupted. Also returns the number of pairs of this run.
fn registered(
    project: &Project,
    options: &AssembleOptions,
    clouds: &Arc<Clouds>,
    interrupted: Interrupted<'_>,
    progress: &mut (dyn FnMut(&Stage) + Send),
) -> Result<Option<(Vec<Tried>, usize)>, Error> {
    if project.pairs.is_empty() {
        return Ok(Some((Vec::new(), 0)));
    }
    let manifest = project.manifest(&options.settings())?;
    let mut directory = Directory::resume(&project.path().join(PAIRS), &manifest)?;
    directory.forget_changed(&manifest)?;
    let usual = RunOptions::default();
    let run_options = RunOptions {
        threads: options.threads,
        chunk: options.chunk.unwrap_or(usual.chunk),
        cache: options.cache,
        isolation: options.isolation.clone(),
    };
    let mut made = 0;
    let mut show = |state: &Progress| {
        made = state.made;
        progress(&Stage::Pairs(*state));
    };
    let ended =
        run_sharing(&manifest, &mut directory, &run_options, clouds, interrupted, &mut show, &mut |_, _| {})?;
    if ended == Ended::Interrupted {
        return Ok(None);
    }
    directory.merge(&manifest)?;
    Ok(Some((results(project, &manifest, &directory)?, made)))
}

fn results(project: &Project, manifest: &Manifest, directory: &Directory) -> Result<Vec<Tried>, Error> {
    let mut tried = Vec::with_capacity(project.pairs.len());
    for (record, &[target, source]) in directory.records(manifest)?.zip(&project.pairs) {
        let record = record?;
        debug_assert_eq!(&*record.row.pair_id, pair_id(target, source));
        tried.push(Tried { target, source, result: record.result });
    }
    // The order of the scans, not that in which they were added.
    tried.sort_by_key(|tried| (tried.target, tried.source));
    Ok(tried)
}

/// Writes the results.
fn save(
    project: &Project,
    document: &AssemblyDocument,
    found: &Assembled,
    scans: &[Scan],
    tried: &[Tried],
    scale: Scale,
    options: &AssembleOptions,
) -> Result<Vec<PathBuf>, Error> {
    let path = project.path();
    let kind = if matches!(scale, Scale::Known(_)) { Kind::Rigid } else { Kind::Similarity };
    write(&path.join(POSES_JSON), &document.to_json())?;
    write(&path.join(POSES_CSV), &outputs::poses_csv(document))?;
    write(&path.join(EDGES_CSV), &outputs::edges_csv(document))?;
    write(&path.join(POSES_TUM), &outputs::poses_tum(document))?;
    write(&path.join(POSES_G2O), &outputs::poses_g2o(document, found, scans, kind)?)?;
    let voxels: Vec<f64> =
        (0..document.components.len()).map(|number| usual_voxel(document, found, tried, number)).collect();
    write_merged(path, document, &project.scans, &voxels, options.merge, &options.merge_format)
}

/// Median voxel of the pairs of a component, in units of the map.
fn usual_voxel(document: &AssemblyDocument, found: &Assembled, tried: &[Tried], number: usize) -> f64 {
    let own = found.admitted.iter().filter(|a| document.scans[a.edge.target].component == Some(number));
    let scale = |scan: usize| document.scans[scan].scale.unwrap_or(1.0);
    let voxel = |pair: usize| Some(tried[pair].document()?.voxel * scale(tried[pair].target));
    let mut voxels: Vec<f64> = own.filter_map(|a| voxel(a.pair?)).collect();
    voxels.sort_by(f64::total_cmp);
    // The spacing of the points is about a quarter of the voxel of the search.
    voxels.get(voxels.len() / 2).map_or(1.0, |voxel| 0.25 * voxel)
}
