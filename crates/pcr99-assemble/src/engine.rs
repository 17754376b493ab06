//! The engine: from the results of all pairs to maps, without files.

use std::collections::BTreeMap;

use pcr99::Scale;
use pcr99_cloud::RegisterParams;
use pcr99_document::{CloudDocument, Document, PairResult};
use pcr99_graph::Kind;

use crate::{
    Error,
    candidate::{Candidate, candidates},
    choose::{Fate, choose},
    map::{Map, MapEdge},
    network::Network,
    rejudge::{Clouds, Rejudged, rejudged},
    rig::{Rig, RigChoice},
    scan::Scan,
    uncertain::{Rest, Uncertain},
};

/// Deviation of the pose between two scans with the same points, as a fraction of their size: that of rounding.
const IDENTICAL: f64 = 1e-9;

/// A pair that was tried.
#[derive(Debug, Clone)]
pub struct Tried {
    /// The scan whose coordinates the pose maps to.
    pub target: usize,
    /// The scan that is moved.
    pub source: usize,
    /// What the registration of the pair alone gave.
    pub result: PairResult,
}

impl Tried {
    pub(crate) fn document(&self) -> Option<&CloudDocument> {
        match self.result.document()? {
            Document::Clouds(document) => Some(document),
            Document::Matches(_) => None,
        }
    }
}

/// How an edge came into the map.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// The candidate of the pair with this place.
    Candidate(usize),
    /// The map.
    Map,
    /// The rig, whose pose other scenes tell.
    Rig,
    /// Two scans with the same points.
    Identical,
}

/// An edge of the map, with how it came there.
#[derive(Debug, Clone)]
pub struct Admitted {
    /// The edge.
    pub edge: MapEdge,
    /// How it came into the map.
    pub origin: Origin,
    /// Number of the pair; `None` for identical scans.
    pub pair: Option<usize>,
    /// Whether the component falls into two without it.
    pub is_bridge: bool,
    /// Distance by which the loop that it closes with the other edges is off; `None` without a loop.
    pub loop_error: Option<f64>,
}

/// The result of the engine.
#[derive(Debug, Clone)]
pub struct Assembled {
    /// The map.
    pub map: Map,
    /// Edges of the map, in its order.
    pub admitted: Vec<Admitted>,
    /// What became of the answer of each pair.
    pub fates: Vec<Fate>,
}

/// Assembles maps from pairs. `same` are scans with the same points, `rig` says which scans are of sensors that are mounted together,
/// `params` how pairs were registered.
///
/// # Errors
/// When the pose graph cannot be solved.
pub fn assembled(
    scans: &[Scan],
    tried: &[Tried],
    same: &[[usize; 2]],
    rig: Option<&Rig>,
    params: &RegisterParams,
    clouds: Clouds<'_>,
) -> Result<Assembled, Error> {
    let scale = params.scale();
    let Sketch { all, fates, accepted, start } = Sketch::of(scans, tried, rig, scale)?;
    let chosen = Chosen { scans, tried, all: &all, fates: &fates, accepted: &accepted };
    let mut admitted = chosen.rejudged(&start, params, clouds);
    chosen.add_known(&mut admitted);
    admitted.extend(same.iter().map(|&[target, source]| identical(target, source, scans)));
    let edges: Vec<MapEdge> = admitted.iter().map(|admitted| admitted.edge.clone()).collect();
    let map = Map::of(scans, &edges, kind_of(scale))?;
    describe_loops(&mut admitted, scans);
    Ok(Assembled { fates: chosen.fates_of_pairs(), map, admitted })
}

/// The map of the chosen candidates, before pairs are judged again.
///
/// # Errors
/// When the pose graph cannot be solved.
pub fn sketched(scans: &[Scan], tried: &[Tried], rig: Option<&Rig>, scale: Scale) -> Result<Map, Error> {
    Ok(Sketch::of(scans, tried, rig, scale)?.start)
}

fn kind_of(scale: Scale) -> Kind {
    if matches!(scale, Scale::Known(_)) { Kind::Rigid } else { Kind::Similarity }
}

/// The choice, and its map.
struct Sketch {
    all: Vec<Candidate>,
    fates: Vec<Fate>,
    accepted: Vec<usize>,
    start: Map,
}

impl Sketch {
    fn of(scans: &[Scan], tried: &[Tried], rig: Option<&Rig>, scale: Scale) -> Result<Self, Error> {
        let mut all: Vec<Candidate> = (tried.iter().enumerate())
            .filter_map(|(pair, tried)| Some((pair, [tried.target, tried.source], tried.document()?)))
            .flat_map(|(pair, ends, document)| candidates(pair, ends, document, scans))
            .collect();
        let mut fixed = Vec::new();
        if let Some(rig) = rig {
            let RigChoice { fixed: chosen, known } = rig.choose(scans, &all, tried.len());
            fixed = chosen;
            fixed.extend((0..known.len()).map(|k| (all.len() + k, Fate::Supported)));
            all.extend(known);
        }
        let ends: Vec<[usize; 2]> = all.iter().map(|h| [h.target, h.source]).collect();
        let radii: Vec<f64> = all.iter().map(|h| scans[h.source].radius).collect();
        let (network, fates) = choose(scans.len(), &all, &ends, &radii, &fixed);
        let accepted = network.accepted();
        let first: Vec<MapEdge> = accepted.iter().map(|&h| MapEdge::of(&all[h])).collect();
        let start = Map::of(scans, &first, kind_of(scale))?;
        Ok(Self { all, fates, accepted, start })
    }
}

struct Chosen<'a> {
    scans: &'a [Scan],
    tried: &'a [Tried],
    all: &'a [Candidate],
    fates: &'a [Fate],
    accepted: &'a [usize],
}

impl Chosen<'_> {
    /// The edges of the map: registered ones as they are, supported ones and further pairs that overlap refined and judged again.
    fn rejudged(&self, start: &Map, params: &RegisterParams, clouds: Clouds<'_>) -> Vec<Admitted> {
        let by_pair: BTreeMap<usize, usize> = self.accepted.iter().map(|&h| (self.all[h].pair, h)).collect();
        let is_registered =
            |pair: usize| by_pair.get(&pair).is_some_and(|&h| self.fates[h] == Fate::Registered);
        let mut open = Vec::new();
        for (pair, tried) in self.tried.iter().enumerate() {
            if let Some(document) = tried.document()
                && !is_registered(pair)
                && !self.is_in_conflict(pair)
                && start.component[tried.target] == start.component[tried.source]
            {
                open.push((
                    pair,
                    Rejudged { target: tried.target, source: tried.source, voxel: document.voxel },
                ));
            }
        }
        let pairs: Vec<Rejudged> = open.iter().map(|(_, pair)| *pair).collect();
        let mut found: BTreeMap<usize, MapEdge> = (open.iter())
            .zip(rejudged(&pairs, start, self.scans, params, clouds))
            .filter_map(|((pair, _), edge)| Some((*pair, edge?)))
            .collect();
        let mut admitted = Vec::new();
        for pair in 0..self.tried.len() {
            let candidate = by_pair.get(&pair).map(|&h| &self.all[h]);
            let edge = match candidate {
                Some(candidate) if is_registered(pair) => Some(MapEdge::of(candidate)),
                _ => found.remove(&pair),
            };
            let origin = candidate.map_or(Origin::Map, |candidate| Origin::Candidate(candidate.place));
            admitted.extend(edge.map(|edge| Admitted {
                edge,
                origin,
                pair: Some(pair),
                is_bridge: false,
                loop_error: None,
            }));
        }
        admitted
    }

    /// Adds poses that a rig knows, for pairs that are not admitted otherwise.
    fn add_known(&self, admitted: &mut Vec<Admitted>) {
        for candidate in self.all.iter().filter(|h| h.pair >= self.tried.len()) {
            let Candidate { target, source, .. } = *candidate;
            if admitted.iter().any(|a| (a.edge.target, a.edge.source) == (target, source)) {
                continue;
            }
            let pair = self.tried.iter().position(|t| (t.target, t.source) == (target, source));
            let edge = MapEdge::of(candidate);
            admitted.push(Admitted { edge, origin: Origin::Rig, pair, is_bridge: false, loop_error: None });
        }
    }

    fn is_in_conflict(&self, pair: usize) -> bool {
        let own = self.all.iter().zip(self.fates).filter(|(h, _)| h.pair == pair);
        own.into_iter().any(|(_, fate)| matches!(fate, Fate::Contradicted | Fate::Contested))
    }

    /// What became of each pair: the fate of its accepted candidate, or of its registered one.
    fn fates_of_pairs(&self) -> Vec<Fate> {
        let mut fates = vec![Fate::Refused; self.tried.len()];
        for (candidate, fate) in self.all.iter().zip(self.fates) {
            if *fate != Fate::Refused && candidate.pair < fates.len() {
                fates[candidate.pair] = *fate;
            }
        }
        fates
    }
}

fn identical(target: usize, source: usize, scans: &[Scan]) -> Admitted {
    let (pose, radius) = (pcr99::Similarity::IDENTITY, scans[source].radius);
    let covariance = Uncertain::isotropic(pose, IDENTICAL * radius, radius).covariance;
    let rest = Rest { middle: [0.0; 3], lever: radius };
    let edge = MapEdge { target, source, pose, covariance, voxel: IDENTICAL * radius, rest };
    Admitted { edge, origin: Origin::Identical, pair: None, is_bridge: false, loop_error: None }
}

/// Finds bridges and the loops that edges close.
fn describe_loops(admitted: &mut [Admitted], scans: &[Scan]) {
    let all: Vec<Candidate> = admitted.iter().map(|a| a.edge.as_candidate()).collect();
    let ends: Vec<[usize; 2]> = all.iter().map(|h| [h.target, h.source]).collect();
    let mut network = Network::new(scans.len(), &all, &ends);
    // Trees first: the other edges close loops.
    let mut others = Vec::new();
    for h in 0..all.len() {
        let [target, source] = ends[h];
        match network.predicted(target, source) {
            None => network.add(h),
            Some(there) => {
                others.push(h);
                admitted[h].loop_error = Some(there.distance(&all[h].pose, scans[source].radius));
            }
        }
    }
    others.into_iter().for_each(|h| network.add(h));
    network.bridges().into_iter().for_each(|h| admitted[h].is_bridge = true);
}
