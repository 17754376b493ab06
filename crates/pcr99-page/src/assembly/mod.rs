//! Page of an assembly: the maps in 3-D, the graph of the pairs, tables of scans, maps and pairs.

mod graph;

use std::path::Path;

use askama::Template;
use pcr99::Status;
use pcr99_document::{
    AssembledScan, AssemblyDocument, AssemblyEdge, Component, EdgeVerdict, KnownPlaceResult, LoopErrors,
    ScanStatus,
};
use serde::Serialize;

use crate::{
    Error, filters,
    frame::{Page, rendered, script_json},
    numbers::{grouped, percent, shown},
    status::Mark,
};

/// Largest coordinate relative to the extent of a map that is drawn as it is.
const MOST_OFFSET: f64 = 100.0;

const SCRIPT: &str = include_str!("script.js");

/// Points of a scan, in the coordinates of its map. They should be few: all are part of the page.
#[derive(Debug, Clone, PartialEq)]
pub struct ScanPoints {
    /// Place of the scan in the document.
    pub scan: usize,
    /// Its points.
    pub points: Vec<[f64; 3]>,
}

/// A page of an assembly.
#[derive(Debug, Clone)]
pub struct AssemblyPage<'a> {
    document: &'a AssemblyDocument,
    points: &'a [ScanPoints],
    command: Option<String>,
    links: Vec<Option<String>>,
}

impl<'a> AssemblyPage<'a> {
    /// A page of this document with points of the placed scans.
    pub fn new(document: &'a AssemblyDocument, points: &'a [ScanPoints]) -> Self {
        Self { document, points, command: None, links: vec![None; document.edges.len()] }
    }

    /// Adds the command that makes it.
    #[must_use]
    pub fn with_command(self, command: &str) -> Self {
        Self { command: Some(command.to_owned()), ..self }
    }

    /// Adds the page of each pair, relative to this page, in the order of the edges.
    #[must_use]
    pub fn with_links(self, links: Vec<Option<String>>) -> Self {
        Self { links, ..self }
    }

    /// The page as HTML. The same document gives the same bytes.
    pub fn to_html(&self) -> String {
        self.with_page(|page| page.to_html())
    }

    /// Writes the page, completely or not at all.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), Error> {
        self.with_page(|page| page.write(path))
    }

    fn with_page<T>(&self, make: impl FnOnce(Page<'_>) -> T) -> T {
        let document = self.document;
        let sentence = sentence(document);
        let status = match (document.is_one_map(), document.components.is_empty()) {
            (true, _) => Status::Registered,
            (false, false) => Status::NotReliable,
            (false, true) => Status::NoSolution,
        };
        let data = serde_json::to_string(&self.data()).unwrap_or_default();
        let body = rendered(&Body {
            mark: Mark::of(status),
            sentence: &sentence,
            data: script_json(&data),
            graph: graph::svg(document),
            verdicts: verdicts(document),
            components: document
                .components
                .iter()
                .enumerate()
                .map(|(number, c)| ComponentRow { number, c })
                .collect(),
            scans: document.scans.iter().enumerate().map(|(place, scan)| ScanRow { place, scan }).collect(),
            edges: self.edges(),
            places: document.known_places.iter().map(|place| PlaceRow { place }).collect(),
        });
        make(Page {
            title: &format!("pcr99 assemble: {sentence}"),
            body: &body,
            script: SCRIPT,
            with_plots: true,
            with_workers: false,
            command: self.command.as_deref(),
            program: &document.program,
        })
    }

    /// What the script draws.
    fn data(&self) -> Data<'_> {
        let components = 0..self.document.components.len();
        let origins: Vec<[f64; 3]> = components.map(|number| self.origin(number)).collect();
        let scan = |part: &ScanPoints| {
            let scan = &self.document.scans[part.scan];
            let component = scan.component.unwrap_or(0);
            let origin = origins.get(component).copied().unwrap_or([0.0; 3]);
            let rounded = |p: &[f64; 3]| -> [f64; 3] {
                std::array::from_fn(|axis| ((p[axis] - origin[axis]) * 1e6).round() / 1e6)
            };
            let points = part.points.iter().flat_map(rounded).collect();
            DataScan { place: part.scan, name: &scan.name, component, points }
        };
        Data { scans: self.points.iter().map(scan).collect(), origins }
    }

    /// What is subtracted from the points of a component: browsers draw in single precision, which large coordinates of the world do not have.
    fn origin(&self, component: usize) -> [f64; 3] {
        let is_here = |part: &&ScanPoints| self.document.scans[part.scan].component == Some(component);
        let own = || self.points.iter().filter(is_here).flat_map(|part| &part.points);
        std::array::from_fn(|axis| {
            let (low, high) = (own().map(|p| p[axis]))
                .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)));
            // Up to there, single precision shows a hundredth of a thousandth of the extent.
            if low.abs().max(high.abs()) > MOST_OFFSET * (high - low) && (high - low).is_finite() {
                (0.5 * (low + high)).round()
            } else {
                0.0
            }
        })
    }

    /// Edges that are worth a row: all that are admitted or in conflict, then the others.
    fn edges(&self) -> Vec<EdgeRow<'_>> {
        let scans = &self.document.scans;
        let mut rows = Vec::with_capacity(self.links.len());
        for (edge, link) in self.document.edges.iter().zip(&self.links) {
            let [target, source] = [edge.target, edge.source].map(|scan| scans[scan].name.as_str());
            rows.push(EdgeRow { edge, target, source, link: link.as_deref() });
        }
        rows.sort_by_key(|row| (row.edge.verdict, row.edge.target, row.edge.source));
        rows
    }
}

#[derive(Serialize)]
struct Data<'a> {
    scans: Vec<DataScan<'a>>,
    /// What was subtracted from the points of each component.
    origins: Vec<[f64; 3]>,
}

#[derive(Serialize)]
struct DataScan<'a> {
    place: usize,
    name: &'a str,
    component: usize,
    points: Vec<f64>,
}

#[derive(Template)]
#[template(path = "assembly.html")]
struct Body<'a> {
    mark: Mark,
    sentence: &'a str,
    data: String,
    graph: String,
    verdicts: Vec<(EdgeVerdict, usize)>,
    components: Vec<ComponentRow<'a>>,
    scans: Vec<ScanRow<'a>>,
    edges: Vec<EdgeRow<'a>>,
    places: Vec<PlaceRow<'a>>,
}

struct PlaceRow<'a> {
    place: &'a KnownPlaceResult,
}

impl PlaceRow<'_> {
    fn class(&self) -> &'static str {
        match (self.place.is_used, self.place.distance) {
            (true, _) => "good",
            (false, Some(_)) => "bad",
            (false, None) => "doubtful",
        }
    }

    fn verdict(&self) -> &'static str {
        match (self.place.is_used, self.place.distance) {
            (true, _) => "used",
            (false, Some(_)) => "gross error",
            (false, None) => "its map is not tied",
        }
    }

    fn distance(&self) -> String {
        self.place.distance.map_or("–".to_owned(), |x| shown(rounded(x)))
    }

    fn normalized(&self) -> String {
        self.place.normalized_residual.map_or("–".to_owned(), |x| format!("{x:.1}"))
    }
}

struct ComponentRow<'a> {
    number: usize,
    c: &'a Component,
}

impl ComponentRow<'_> {
    fn loops(&self, errors: &Option<LoopErrors>) -> String {
        errors.map_or("–".to_owned(), |e| {
            format!("{} ({})", shown(rounded(e.median)), shown(rounded(e.largest)))
        })
    }

    fn coordinates(&self) -> String {
        match &self.c.world {
            None => format!("those of {}", self.c.held),
            Some(tie) if tie.is_tied => {
                let rmse = tie.rmse.map_or(String::new(), |rmse| format!(", rmse {}", shown(rounded(rmse))));
                format!("the world: {}{rmse}", tie.reason)
            }
            Some(tie) => format!("those of {}; not tied to the world: {}", self.c.held, tie.reason),
        }
    }

    fn weakest(&self) -> String {
        match self.c.bridges.as_slice() {
            [] => "none: no single edge holds it together".to_owned(),
            [[a, b], others @ ..] => {
                let more =
                    if others.is_empty() { String::new() } else { format!(" and {} more", others.len()) };
                format!("{a} – {b}{more}")
            }
        }
    }
}

struct ScanRow<'a> {
    place: usize,
    scan: &'a AssembledScan,
}

impl ScanRow<'_> {
    fn class(&self) -> &'static str {
        match self.scan.status {
            ScanStatus::Placed => "good",
            ScanStatus::Alone => "doubtful",
            _ => "bad",
        }
    }

    fn map(&self) -> String {
        self.scan.component.map_or("–".to_owned(), |component| component.to_string())
    }

    fn points(&self) -> String {
        self.scan.points.map_or("–".to_owned(), grouped)
    }

    fn accuracy(&self) -> String {
        self.scan.accuracy.map_or("–".to_owned(), |a| {
            let scale = a.scale.map_or(String::new(), |scale| format!(", {:.2} %", 100.0 * scale));
            format!("± {}, {:.3}°{scale}", shown(rounded(a.translation)), a.rotation_deg)
        })
    }

    fn sentence(&self) -> String {
        match &self.scan.note {
            Some(note) => format!("{}. {note}", self.scan.reason),
            None => self.scan.reason.clone(),
        }
    }
}

struct EdgeRow<'a> {
    edge: &'a AssemblyEdge,
    target: &'a str,
    source: &'a str,
    link: Option<&'a str>,
}

impl EdgeRow<'_> {
    fn class(&self) -> &'static str {
        match self.edge.verdict {
            verdict if verdict.is_admitted() => "good",
            EdgeVerdict::Refused => "",
            EdgeVerdict::Contested | EdgeVerdict::Contradicted => "doubtful",
            _ => "bad",
        }
    }

    fn evidence(&self) -> String {
        self.edge.log10_nfa.map_or("–".to_owned(), |x| format!("{x:.1}"))
    }

    fn overlap(&self) -> String {
        self.edge.overlap.map_or("–".to_owned(), percent)
    }

    fn residual(&self) -> String {
        self.edge.residual.map_or("–".to_owned(), |x| shown(rounded(x)))
    }
}

/// A number with three significant digits.
fn rounded(x: f64) -> f64 {
    format!("{x:.2e}").parse().unwrap_or(x)
}

fn sentence(document: &AssemblyDocument) -> String {
    let placed = document.count(ScanStatus::Placed);
    let maps = document.components.len();
    format!(
        "{} of {} scans placed in {maps} {}",
        grouped(placed),
        grouped(document.scans.len()),
        if maps == 1 { "map" } else { "maps" }
    )
}

/// Number of edges of each verdict that occurs.
fn verdicts(document: &AssemblyDocument) -> Vec<(EdgeVerdict, usize)> {
    let count = |verdict: EdgeVerdict| document.edges.iter().filter(|edge| edge.verdict == verdict).count();
    EdgeVerdict::ALL
        .into_iter()
        .map(|verdict| (verdict, count(verdict)))
        .filter(|(_, count)| *count > 0)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scan(name: &str, component: Option<usize>) -> AssembledScan {
        let identity = pcr99::Similarity::IDENTITY.matrix();
        AssembledScan {
            name: name.to_owned(),
            status: if component.is_some() { ScanStatus::Placed } else { ScanStatus::Failed },
            reason: "because".to_owned(),
            points: Some(12_345),
            component,
            transform: component.map(|_| identity),
            scale: component.map(|_| 1.0),
            accuracy: None,
            edges: usize::from(component.is_some()),
            same_as: None,
            note: None,
        }
    }

    fn document() -> AssemblyDocument {
        AssemblyDocument {
            schema: pcr99_document::ASSEMBLY_SCHEMA,
            program: "pcr99 0".to_owned(),
            kind: "assembly".to_owned(),
            scans: vec![scan("a.ply", Some(0)), scan("</script><b>", Some(0)), scan("c.ply", None)],
            components: vec![Component {
                scans: 2,
                held: "a.ply".to_owned(),
                edges: 1,
                loops_before: None,
                loops_after: None,
                bridges: vec![["a.ply".to_owned(), "</script><b>".to_owned()]],
                world: None,
            }],
            known_places: Vec::new(),
            edges: vec![AssemblyEdge {
                target: 0,
                source: 1,
                verdict: EdgeVerdict::Registered,
                doubt: None,
                reason: "all agree".to_owned(),
                candidate: Some(0),
                transform: None,
                log10_nfa: Some(-31.25),
                overlap: Some(0.5),
                residual: Some(0.001_234_5),
                is_bridge: true,
            }],
        }
    }

    #[test]
    fn a_page_shows_what_the_document_says_and_nothing_is_taken_for_markup() {
        let document = document();
        let points = [ScanPoints { scan: 1, points: vec![[0.5, 0.25, -1.0], [1.5, 1.25, 0.0]] }];
        let page = AssemblyPage::new(&document, &points).with_links(vec![Some("pages/0-1.html".to_owned())]);
        let html = page.with_command("pcr99 assemble a.ply").to_html();
        for shown in [
            "2 of 3 scans placed in 1 map",
            "-31.2",
            "0.00123",
            "12\u{202f}345",
            "./pages/0-1.html",
            "[0.5,0.25,-1.0,1.5,1.25,0.0]",
        ] {
            assert!(html.contains(shown), "{shown}");
        }
        assert!(!html.contains("</script><b>"));
        assert!(!html.contains("Known places"));
    }

    #[test]
    fn known_places_are_shown_and_large_coordinates_keep_their_digits() {
        let mut document = document();
        let place = |name: &str, is_used: bool| KnownPlaceResult {
            name: name.to_owned(),
            scan: "a.ply".to_owned(),
            world: [500_000.0, 4_000_000.0, 100.0],
            deviations: [0.01; 3],
            is_used,
            distance: Some(0.0123),
            normalized_residual: Some(9.5),
        };
        document.known_places = vec![place("P1", true), place("P2", false)];
        document.components[0].world = Some(pcr99_document::WorldTie {
            is_tied: true,
            places: 2,
            used: 1,
            rmse: Some(0.004),
            reason: "1 of 2 known places agree".to_owned(),
        });
        let points = vec![[500_000.25, 4_000_000.0, 1.0], [500_001.75, 4_000_001.0, 0.0]];
        let html = AssemblyPage::new(&document, &[ScanPoints { scan: 1, points }]).to_html();
        for shown in [
            "gross error",
            "the world: 1 of 2 known places agree, rmse 0.004",
            "[-0.75,-1.0,1.0,0.75,0.0,0.0]",
            "[[500001.0,4000001.0,0.0]]",
        ] {
            assert!(html.contains(shown), "{shown}");
        }
    }
}
