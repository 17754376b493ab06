//! Pages of a project: the map, and pairs.

use std::{fs, path::Path};

use pcr99_base::{random::Random, vector::plus};
use pcr99_batch::Clouds;
use pcr99_cloud::read_points;
use pcr99_document::{AssemblyDocument, EdgeVerdict};
use pcr99_page::{AssemblyPage, RegistrationPage, RegistrationView, ScanPoints};

use crate::{Error, engine::Tried, prepare::ScanRecord, project::pair_id};

/// The page of a project.
pub const INDEX_HTML: &str = "index.html";
/// Directory of the pages of pairs.
const PAGES: &str = "pages";
/// Largest number of points that the page of a project draws.
const MOST_POINTS: usize = 90_000;
/// Largest number of points that it draws of one scan.
const MOST_OF_SCAN: usize = 12_000;

/// What pages need.
pub(crate) struct Pages<'a> {
    pub(crate) directory: &'a Path,
    pub(crate) document: &'a AssemblyDocument,
    pub(crate) records: &'a [ScanRecord],
    pub(crate) tried: &'a [Tried],
    pub(crate) clouds: &'a Clouds,
    pub(crate) command: Option<&'a str>,
    /// Largest number of pages of pairs.
    pub(crate) pairs: usize,
}

impl Pages<'_> {
    /// Writes the pages.
    pub(crate) fn write(&self) -> Result<(), Error> {
        let links = self.write_pairs()?;
        let points = self.points();
        let mut page = AssemblyPage::new(self.document, &points).with_links(links);
        if let Some(command) = self.command {
            page = page.with_command(command);
        }
        page.write(&self.directory.join(INDEX_HTML)).map_err(Error::Page)
    }

    /// Some points of each placed scan, in the coordinates of its map.
    fn points(&self) -> Vec<ScanPoints> {
        let placed = self.document.scans.iter().filter(|scan| scan.component.is_some()).count();
        let most = (MOST_POINTS / placed.max(1)).clamp(1, MOST_OF_SCAN);
        let of = |(place, record): (usize, &ScanRecord)| {
            let pose = self.document.scans[place].map_from_scan()?;
            let cloud = self.clouds.prepared(&record.file()).ok()?;
            let mut random = Random::new(place as u64);
            let count = cloud.points().len();
            let all = (0..count.min(most)).map(|_| random.below(count));
            let points = all.map(|k| pose.apply(plus(cloud.points()[k], cloud.center()))).collect();
            Some(ScanPoints { scan: place, points })
        };
        self.records.iter().enumerate().filter_map(of).collect()
    }

    /// Writes pages of pairs: those in conflict first, then supported and registered ones. Returns the page of each edge.
    fn write_pairs(&self) -> Result<Vec<Option<String>>, Error> {
        let edges = &self.document.edges;
        let mut links = vec![None; edges.len()];
        let rank = |k: usize| match edges[k].verdict {
            EdgeVerdict::Contradicted | EdgeVerdict::Contested => 0,
            EdgeVerdict::Supported => 1,
            EdgeVerdict::Registered => 2,
            _ => 3,
        };
        let mut order: Vec<usize> = (0..edges.len()).filter(|&k| rank(k) < 3).collect();
        order.sort_by_key(|&k| (rank(k), k));
        order.truncate(self.pairs);
        if order.is_empty() {
            return Ok(links);
        }
        let directory = self.directory.join(PAGES);
        fs::create_dir_all(&directory).map_err(Error::io("create the directory", &directory))?;
        for k in order {
            let (target, source) = (edges[k].target, edges[k].source);
            let tried = self.tried.iter().find(|tried| (tried.target, tried.source) == (target, source));
            let Some(document) = tried.and_then(|tried| tried.result.document()) else { continue };
            let [from, to] = [&self.records[source], &self.records[target]];
            let [from_points, to_points] = [read_points(&from.file())?, read_points(&to.file())?];
            let view = RegistrationView::of_document(document, &from_points, &to_points, None)
                .map_err(Error::Page)?;
            let name = format!("{}.html", pair_id(target, source));
            let page =
                RegistrationPage::new(document.program()).with_view(view.with_names(&from.name, &to.name));
            page.write(&directory.join(&name)).map_err(Error::Page)?;
            links[k] = Some(format!("{PAGES}/{name}"));
        }
        Ok(links)
    }
}
