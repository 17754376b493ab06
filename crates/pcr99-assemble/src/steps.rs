//! An assembly in steps: the caller registers the pairs of each round, on threads of this machine or on workers of a cluster.

use std::{
    num::NonZero,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use pcr99::Scale;
use pcr99_batch::{Clouds, Directory, Interrupted, Manifest};
use pcr99_cloud::RegisterParams;
use pcr99_document::AssemblyDocument;
use pcr99_graph::Kind;

use crate::{
    AssembleOptions, Assembly, Error, Stage,
    control::{Tied, scans_of},
    engine::{Assembled, Tried, assembled, sketched},
    merged::write_merged,
    outputs::{self, EDGES_CSV, POSES_CSV, POSES_G2O, POSES_JSON, POSES_TUM},
    pages::Pages,
    prepare::{Content, describe, prepare},
    project::{PAIRS, Project, pair_id, write},
    propose::{ALL, Proposals},
    report::Report,
    rig::Rig,
    scan::Scan,
};

/// Largest number of rounds in which the map so far proposes further pairs.
const MOST_ROUNDS: usize = 4;

/// A scan of a project: its name, and the file with its points.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GivenScan {
    /// Name in messages and results.
    pub name: String,
    /// The file.
    pub file: PathBuf,
}

impl GivenScan {
    /// The scan in a file, which has the name of the file.
    ///
    /// # Errors
    /// [`Error::NotUnicode`].
    pub fn of(file: &Path) -> Result<Self, Error> {
        let name = file.to_str().ok_or_else(|| Error::NotUnicode { path: file.to_path_buf() })?;
        Ok(Self { name: name.to_owned(), file: file.to_path_buf() })
    }
}

/// Pairs to register. Those that are finished in the directory are not repeated.
#[derive(Debug)]
pub struct Round {
    /// All pairs so far.
    pub manifest: Arc<Manifest>,
    /// Their batch.
    pub directory: Directory,
}

impl Round {
    /// Number of pairs that are finished.
    pub fn finished(&self) -> usize {
        self.manifest.rows().iter().filter(|row| self.directory.is_finished(row)).count()
    }
}

/// What comes next.
#[derive(Debug)]
pub enum Step {
    /// The pairs of this round are to be registered, and then given back with [`Assembler::take`].
    Register(Box<Round>),
    /// All pairs are registered: [`Assembler::finish`].
    Finished,
    /// It was interrupted. Finished pairs are kept.
    Interrupted,
}

/// An assembly in the directory of a project, which is locked as long as this value lives.
///
/// [`open`](Self::open), [`add`](Self::add) scans, then [`next`](Self::next): register the pairs of the round and [`take`](Self::take) them, until it says
/// [`Step::Finished`]; then [`finish`](Self::finish).
#[derive(Debug)]
pub struct Assembler {
    options: AssembleOptions,
    /// How pairs are registered.
    params: RegisterParams,
    project: Project,
    clouds: Arc<Clouds>,
    scans: Vec<Scan>,
    same: Vec<[usize; 2]>,
    rig: Option<Rig>,
    /// Scan of each known place.
    places: Vec<Option<usize>>,
    tried: Vec<Tried>,
    new_pairs: usize,
    /// Number of rounds that were begun, and of the pairs that were finished when the last one was.
    rounds: usize,
    finished: usize,
}

impl Assembler {
    /// Opens or begins the project in the directory `output`.
    ///
    /// # Errors
    /// When options are invalid, and when the project cannot begin or continue.
    pub fn open(output: &Path, options: AssembleOptions) -> Result<Self, Error> {
        let params = options.checked()?;
        let project = Project::open(output, &options.deciding(), options.resume)?;
        let clouds = Arc::new(Clouds::new(options.cache));
        Ok(Self {
            params,
            project,
            clouds,
            scans: Vec::new(),
            same: Vec::new(),
            rig: None,
            places: Vec::new(),
            tried: Vec::new(),
            new_pairs: 0,
            rounds: 0,
            finished: 0,
            options,
        })
    }

    /// The cache of clouds.
    pub fn clouds(&self) -> &Arc<Clouds> {
        &self.clouds
    }

    /// Adds scans that the project does not have yet, and reads those that are new or have changed. Returns `false` when it was interrupted.
    ///
    /// # Errors
    /// When there are fewer than two scans, when a pattern does not fit them, and when the project cannot be written.
    pub fn add(
        &mut self,
        scans: &[GivenScan],
        interrupted: Interrupted<'_>,
        progress: &mut (dyn FnMut(&Stage) + Send),
    ) -> Result<bool, Error> {
        let (project, clouds) = (&mut self.project, &self.clouds);
        let shown = Mutex::new(progress);
        let tell = |done, all| preparing(&shown, done, all);
        let read = on_threads(&self.options, || prepare(project, scans, clouds, interrupted, &tell))?;
        if !read {
            return Ok(false);
        }
        if self.project.scans.len() < 2 {
            return Err(Error::FewScans { found: self.project.scans.len() });
        }
        let names: Vec<&str> = self.project.scans.iter().map(|scan| scan.path.as_str()).collect();
        self.rig = self.options.same_rig.as_deref().map(|pattern| Rig::of(pattern, &names)).transpose()?;
        let names: Vec<(&str, &str)> =
            self.project.scans.iter().map(|scan| (scan.name.as_str(), scan.path.as_str())).collect();
        self.places = scans_of(&self.options.known_places, &names)?;
        self.same = same(&self.project);
        self.scans = self.project.scans.iter().map(|record| record.scan()).collect();
        Ok(true)
    }

    /// The pairs to register next.
    ///
    /// # Errors
    /// When the project cannot be written, and when the pose graph cannot be solved.
    pub fn next(
        &mut self,
        interrupted: Interrupted<'_>,
        progress: &mut (dyn FnMut(&Stage) + Send),
    ) -> Result<Step, Error> {
        let proposals = Proposals { same: &self.same, has_known_scale: has_known_scale(&self.params) };
        let usable = proposals.usable(&self.project);
        let is_large = usable.len() > ALL;
        let project = &mut self.project;
        if self.rounds == 0 {
            let is_known = proposals.has_known_scale;
            let shown = Mutex::new(progress);
            let tell = |done, all| preparing(&shown, done, all);
            if is_large
                && !on_threads(&self.options, || {
                    describe(project, &usable, is_known, &self.clouds, interrupted, &tell)
                })?
            {
                return Ok(Step::Interrupted);
            }
            proposals.first(project);
        } else {
            progress(&Stage::Mapping);
            let is_last = !is_large || self.rounds > MOST_ROUNDS;
            if is_last
                || !proposals.more(
                    project,
                    &sketched(&self.scans, &self.tried, self.rig.as_ref(), self.params.scale())?,
                )
            {
                return Ok(Step::Finished);
            }
        }
        self.rounds += 1;
        if self.project.pairs.is_empty() {
            return Ok(Step::Finished);
        }
        let manifest = self.project.manifest(&self.options.settings())?;
        let mut directory = Directory::resume(&self.project.path().join(PAIRS), &manifest)?;
        directory.forget_changed(&manifest)?;
        let round = Round { manifest: Arc::new(manifest), directory };
        self.finished = round.finished();
        Ok(Step::Register(Box::new(round)))
    }

    /// Takes the registered pairs of a round back.
    ///
    /// # Errors
    /// When some are not finished, or the results cannot be read or written.
    pub fn take(&mut self, round: &Round) -> Result<(), Error> {
        let Round { manifest, directory } = round;
        self.new_pairs += round.finished().saturating_sub(self.finished);
        directory.merge(manifest)?;
        self.tried.clear();
        for (record, &[target, source]) in directory.records(manifest)?.zip(&self.project.pairs) {
            let record = record?;
            debug_assert_eq!(&*record.row.pair_id, pair_id(target, source));
            self.tried.push(Tried { target, source, result: record.result });
        }
        // The order of the scans, not that in which they were added.
        self.tried.sort_by_key(|tried| (tried.target, tried.source));
        Ok(())
    }

    /// Finds the poses and writes the results.
    ///
    /// # Errors
    /// When the pose graph cannot be solved, and when files cannot be written.
    pub fn finish(&self, progress: &mut (dyn FnMut(&Stage) + Send)) -> Result<Assembly, Error> {
        progress(&Stage::Mapping);
        let Self { options, project, clouds, scans, tried, same, params, .. } = self;
        let paths: Vec<PathBuf> = project.scans.iter().map(|record| record.file()).collect();
        let get = |scan: usize| clouds.prepared(&paths[scan]);
        let found = on_threads(options, || assembled(scans, tried, same, self.rig.as_ref(), params, &get))?;
        let places = &options.known_places;
        let tied = match places.is_empty() {
            true => None,
            false => Some(Tied::of(&found.map, scans, places, &self.places)?),
        };
        progress(&Stage::Writing);
        let report = Report {
            records: &project.scans,
            scans,
            tried,
            same,
            assembled: &found,
            places,
            tied: tied.as_ref(),
            with_scale: !has_known_scale(params),
        };
        let document = report.document();
        let merged = save(project, &document, &found, scans, tried, params, options)?;
        let pages = Pages {
            directory: project.path(),
            document: &document,
            records: &project.scans,
            tried,
            clouds,
            command: options.command.as_deref(),
            pairs: options.pair_pages,
        };
        pages.write()?;
        Ok(Assembly { document, merged, new_pairs: self.new_pairs })
    }
}

fn has_known_scale(params: &RegisterParams) -> bool {
    matches!(params.scale(), Scale::Known(_))
}

fn on_threads<R: Send>(options: &AssembleOptions, work: impl FnOnce() -> R + Send) -> R {
    pcr99_cloud::register::with_threads(options.threads.map_or(0, NonZero::get), work)
}

/// Tells how many scans are read.
fn preparing(shown: &Mutex<&mut (dyn FnMut(&Stage) + Send)>, done: usize, all: usize) {
    if let Ok(mut shown) = shown.lock() {
        shown(&Stage::Preparing { done, all });
    }
}

/// Later scans with the points of an earlier one: the earlier and the later.
fn same(project: &Project) -> Vec<[usize; 2]> {
    let hash = |scan: usize| project.scans[scan].content.as_ref().ok().map(|Content { hash, .. }| hash);
    let earlier =
        |scan: &usize| (0..*scan).find(|first| hash(*first).is_some() && hash(*first) == hash(*scan));
    (0..project.scans.len()).filter_map(|scan| Some([earlier(&scan)?, scan])).collect()
}

/// Writes the results.
fn save(
    project: &Project,
    document: &AssemblyDocument,
    found: &Assembled,
    scans: &[Scan],
    tried: &[Tried],
    params: &RegisterParams,
    options: &AssembleOptions,
) -> Result<Vec<PathBuf>, Error> {
    let path = project.path();
    let kind = if has_known_scale(params) { Kind::Rigid } else { Kind::Similarity };
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
