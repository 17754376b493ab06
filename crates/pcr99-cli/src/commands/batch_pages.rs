//! Pages of a batch: one of all pairs, and some of single pairs.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    ffi::OsString,
    fs,
    num::NonZero,
    path::{Component, Path, PathBuf},
    sync::Arc,
    thread,
};

use anyhow::{Context, Result, ensure};
use pcr99_batch::{
    Clouds, Directory, Fingerprint, Input, Kind, Manifest, RESULTS_CSV, RESULTS_JSONL, Record, Row,
    RunOptions, SUMMARY_JSON, TIMES_CSV, Worker,
};
use pcr99_cloud::{OutputFile, read_matches, read_points};
use pcr99_document::PROGRAM;
use pcr99_page::{BatchOutcome, BatchPage, BatchRow, RegistrationPage, RegistrationView};

use crate::{
    args::{Args, Batch},
    commands::batch::run_options,
    page::{self, PageFile},
    watch::{self, Busy},
};

/// Directory of the pages of single pairs, in the directory of the results.
const PAGES: &str = "pages";
/// Characters of a pair's name in the name of its page: enough to recognise it, and below every file system's limit.
const LONGEST_NAME: usize = 40;
/// Names in the directory of the results that the batch itself uses.
pub(super) const TAKEN: [&str; 8] =
    [RESULTS_CSV, RESULTS_JSONL, TIMES_CSV, SUMMARY_JSON, "batch.json", ".lock", "parts", PAGES];

/// Matches between two clouds.
type Matches = Vec<[[f64; 3]; 2]>;

/// Pages of a batch, before the batch begins.
pub(super) struct BatchPages {
    page: Option<PageFile>,
}

/// Pages of a batch, while the batch runs.
pub(super) struct Begun {
    output: PathBuf,
    page: Option<(PageFile, PathBuf)>,
    /// Largest number of pages of single pairs.
    most: usize,
    /// Place of each pair in the manifest.
    places: HashMap<Fingerprint, usize>,
    /// Matches of the pairs that may get a page, in the order of the pages: unregistered pairs first.
    seen: BTreeMap<(bool, usize), Matches>,
    options: RunOptions,
}

impl BatchPages {
    /// Checks the files before any work, and before the directory of the results is created.
    pub(super) fn check(options: &Batch) -> Result<Self> {
        let Some(path) = options.page.as_deref() else { return Ok(Self { page: None }) };
        if let (Ok(page), Ok(manifest)) = (path.canonicalize(), options.manifest.canonicalize()) {
            ensure!(page != manifest, "--page names the manifest: name another file");
        }
        if lies_in(path, &options.output) {
            let name = path.file_name().unwrap_or_default();
            ensure!(
                TAKEN.iter().all(|taken| name != *taken),
                "--page names `{}`, which the batch itself writes: name another file",
                path.display()
            );
            if !options.output.exists() {
                // It will be created; `begin` checks the file then.
                return Ok(Self { page: None });
            }
        }
        Ok(Self { page: PageFile::new(Some(path), &[])? })
    }

    /// Begins when the directory of the results exists.
    pub(super) fn begin(self, options: &Batch, manifest: &Manifest) -> Result<Begun> {
        let page = match (self.page, options.page.as_deref()) {
            (Some(page), Some(path)) => Some((page, path.to_path_buf())),
            (None, Some(path)) => PageFile::new(Some(path), &[])?.map(|page| (page, path.to_path_buf())),
            (_, None) => None,
        };
        let most = options.pair_pages;
        let rows = manifest.rows().iter().enumerate().filter(|_| most > 0);
        let places = rows.map(|(place, row)| (row.fingerprint(manifest.base()), place)).collect();
        let (output, seen, options) = (options.output.clone(), BTreeMap::new(), run_options(options, &[]));
        Ok(Begun { output, page, most, places, seen, options })
    }
}

impl Begun {
    /// Keeps the matches of a pair that may get a page.
    pub(super) fn see(&mut self, record: &Record, matches: Option<Matches>) {
        if let (Some(&place), Some(matches)) = (self.places.get(&record.fingerprint), matches) {
            let is_registered = record.result.status() == Some(pcr99::Status::Registered);
            self.seen.insert((is_registered, place), matches);
            if self.seen.len() > self.most {
                self.seen.pop_last();
            }
        }
    }

    /// Writes all pages. Returns the number of pages of single pairs.
    pub(super) fn write(
        self,
        manifest: &Manifest,
        directory: &Directory,
        args: &Args,
        note: &dyn Fn(&str),
    ) -> Result<usize> {
        if self.page.is_none() && self.most == 0 {
            return Ok(0);
        }
        let _busy = Busy::start("writing the pages".to_owned(), args.quiet);
        let mut rows = Vec::with_capacity(manifest.rows().len());
        for record in directory.records(manifest)? {
            let record = record?;
            rows.push(BatchRow::of_result(&record.result, Some(record.seconds.total())));
        }
        let files = self.output.join(PAGES);
        let written = self.write_pairs(&rows, manifest, directory, args, note)?;
        let Some((page, path)) = self.page else { return Ok(written) };
        // Pages of earlier runs are linked, too.
        let there: HashSet<OsString> = fs::read_dir(&files)
            .map(|entries| entries.flatten().map(|entry| entry.file_name()).collect())
            .unwrap_or_default();
        if let Some(from_page) = relative(&path, &files).filter(|_| !there.is_empty()) {
            for (row, pair) in rows.iter_mut().zip(manifest.rows()) {
                let name = file_name(pair, manifest);
                row.link = there.contains(&OsString::from(&name)).then(|| format!("{from_page}/{name}"));
            }
        }
        page.write_html(&BatchPage::new(PROGRAM, rows).with_command(&args.command_line).to_html())?;
        Ok(written)
    }

    /// A worker for pairs that must run again.
    fn worker(&self) -> Worker {
        let threads = self.options.threads.or_else(|| thread::available_parallelism().ok());
        Worker::new(Arc::new(Clouds::new(self.options.cache)), threads.map_or(1, NonZero::get))
    }

    /// Writes missing pages of single pairs: unregistered pairs first, each group in the order of the manifest.
    fn write_pairs(
        &self,
        rows: &[BatchRow],
        manifest: &Manifest,
        directory: &Directory,
        args: &Args,
        note: &dyn Fn(&str),
    ) -> Result<usize> {
        let files = self.output.join(PAGES);
        let (mut written, mut worker) = (0, None);
        for key in ranked(rows).into_iter().take(self.most) {
            let pair = &manifest.rows()[key.1];
            let path = files.join(file_name(pair, manifest));
            if path.exists() {
                written += 1;
                continue;
            }
            if watch::interrupted() {
                note("interrupted: the remaining pages are not written");
                break;
            }
            let Some(record) = directory.record(pair)? else { continue };
            let again;
            let matches = match (self.seen.get(&key), pair.input.kind()) {
                (None, Kind::Clouds) => {
                    let worker = worker.get_or_insert_with(|| self.worker());
                    again = matches_again(pair, manifest.base(), &record, worker);
                    again.as_deref()
                }
                (seen, _) => seen.map(Vec::as_slice),
            };
            let view = match view(pair, manifest.base(), record, matches) {
                Ok(view) => view,
                Err(error) => {
                    note(&format!("note: no page of pair `{}` is written: {error:#}", pair.pair_id));
                    continue;
                }
            };
            fs::create_dir_all(&files).with_context(|| format!("cannot create `{}`", files.display()))?;
            let page = RegistrationPage::new(PROGRAM).with_command(&args.command_line).with_view(view);
            OutputFile::new(&path)?.write(|out| out.write_all(page.to_html().as_bytes()))?;
            written += 1;
        }
        Ok(written)
    }
}

/// Pairs that ran, unregistered ones first, each group in the order of the manifest: whether it is registered, and its place.
fn ranked(rows: &[BatchRow]) -> Vec<(bool, usize)> {
    let rank = |(place, row): (usize, &BatchRow)| match &row.outcome {
        BatchOutcome::Ran { status, .. } => Some((*status == pcr99::Status::Registered, place)),
        _ => None,
    };
    let mut ranks: Vec<(bool, usize)> = rows.iter().enumerate().filter_map(rank).collect();
    ranks.sort_unstable();
    ranks
}

/// Matches between two clouds, found by running the pair again, because results do not contain them. `None` when the result differs now, because
/// of a time limit or changed files.
fn matches_again(pair: &Row, base: &Path, record: &Record, worker: &mut Worker) -> Option<Matches> {
    let again = worker.run(pair, base, &watch::interrupted)?;
    again.matches.filter(|_| again.result == record.result)
}

/// View of a finished pair, with its files read again.
fn view(
    pair: &Row,
    base: &Path,
    record: Record,
    matches: Option<&[[[f64; 3]; 2]]>,
) -> Result<RegistrationView> {
    let document = record.result.into_document(record.seconds).context("the pair failed")?;
    let view = match &pair.input {
        Input::Matches { pairs } => {
            let read = read_matches(&base.join(&**pairs))?;
            RegistrationView::of_document(&document, &read.source, &read.target, None)?
        }
        Input::Clouds { source, target } => {
            let [source, target] = [source, target].map(|path| base.join(&**path));
            let (a, b) = (read_points(&source)?, read_points(&target)?);
            RegistrationView::of_document(&document, &a, &b, matches)?
                .with_names(&page::name(&source), &page::name(&target))
        }
    };
    Ok(view.with_title(&pair.pair_id))
}

/// Unique file name of a pair's page, safe on every file system: plain characters of its name, and its fingerprint.
fn file_name(pair: &Row, manifest: &Manifest) -> String {
    let name = plain_name(&pair.pair_id);
    let separator = if name.is_empty() { "" } else { "-" };
    format!("{name}{separator}{}.html", pair.fingerprint(manifest.base()))
}

/// Plain characters of a pair's name, for file names; may be empty.
pub(super) fn plain_name(pair_id: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    let name: String = pair_id.chars().take(LONGEST_NAME).map(plain).collect();
    let parts: Vec<&str> = name.split('-').filter(|part| !part.is_empty()).collect();
    parts.join("-")
}

/// Whether a path names a file directly in a directory, which need not exist.
pub(super) fn lies_in(file: &Path, directory: &Path) -> bool {
    let parent = file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let same =
        |a: std::io::Result<PathBuf>, b: std::io::Result<PathBuf>| matches!((a, b), (Ok(a), Ok(b)) if a == b);
    same(parent.canonicalize(), directory.canonicalize())
        || same(std::path::absolute(parent), std::path::absolute(directory))
}

/// Relative path from a page to a directory, with slashes; `None` when there is none, as between drives.
fn relative(page: &Path, directory: &Path) -> Option<String> {
    let parent = page.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let (from, to) = (parent.canonicalize().ok()?, directory.canonicalize().ok()?);
    let (from, to): (Vec<Component<'_>>, Vec<Component<'_>>) =
        (from.components().collect(), to.components().collect());
    let common = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
    if common == 0 {
        return None;
    }
    let up = from[common..].iter().map(|_| Some(".."));
    let down = to[common..].iter().map(|part| part.as_os_str().to_str());
    Some(up.chain(down).collect::<Option<Vec<&str>>>()?.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_from_a_page_to_the_pages() {
        let place = tempfile::tempdir().expect("a directory");
        let at = |name: &str| place.path().join(name);
        fs::create_dir_all(at("out/pages")).expect("directories");
        fs::create_dir_all(at("web/a b")).expect("directories");
        let way = |page: &str| relative(&at(page), &at("out/pages"));
        assert_eq!(way("batch.html").as_deref(), Some("out/pages"));
        assert_eq!(way("out/index.html").as_deref(), Some("pages"));
        assert_eq!(way("web/a b/x.html").as_deref(), Some("../../out/pages"));
        assert_eq!(way("missing/x.html"), None);
        assert!(lies_in(&at("out/x.html"), &at("out")) && lies_in(&at("new/x.html"), &at("new")));
        assert!(!lies_in(&at("x.html"), &at("out")) && !lies_in(&at("new/a/x.html"), &at("new")));
    }
}
