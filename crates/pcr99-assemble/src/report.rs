//! The document of an assembly.

use std::collections::BTreeMap;

use pcr99::Similarity;
use pcr99_base::eigen::symmetric_eigen;
use pcr99_document::{
    ASSEMBLY_SCHEMA, AssembledScan, AssemblyDocument, AssemblyEdge, Component, EdgeVerdict, KnownPlaceResult,
    LoopErrors, PROGRAM, PoseAccuracy, ScanStatus, WorldTie,
};

use crate::{
    choose::Fate,
    control::{self, KnownPlace, Tie, Tied},
    engine::{Admitted, Assembled, Origin, Tried},
    map::MapEdge,
    prepare::ScanRecord,
    scan::Scan,
    uncertain::{Covariance, uncentered},
};

/// Two-sided 95 % of a normal distribution, in standard deviations.
const CONFIDENT: f64 = 1.96;
/// Ratio of the size of a scan to the median from which on its units may be others.
const OTHER_UNITS: f64 = 100.0;

/// Everything that a report needs.
pub(crate) struct Report<'a> {
    pub(crate) records: &'a [ScanRecord],
    pub(crate) scans: &'a [Scan],
    pub(crate) tried: &'a [Tried],
    pub(crate) same: &'a [[usize; 2]],
    pub(crate) assembled: &'a Assembled,
    /// Known places, and what they tie.
    pub(crate) places: &'a [KnownPlace],
    pub(crate) tied: Option<&'a Tied>,
    pub(crate) with_scale: bool,
}

impl Report<'_> {
    pub(crate) fn document(&self) -> AssemblyDocument {
        let numbers = self.numbers();
        AssemblyDocument {
            schema: ASSEMBLY_SCHEMA,
            program: PROGRAM.to_owned(),
            kind: "assembly".to_owned(),
            scans: (0..self.records.len()).map(|scan| self.scan(scan, &numbers)).collect(),
            components: self.components(&numbers),
            edges: self.edges(),
            known_places: self.known_places(),
        }
    }

    /// Number of each component with several scans in the document, the largest first.
    fn numbers(&self) -> BTreeMap<usize, usize> {
        let sizes = self.assembled.map.sizes();
        let mut order: Vec<usize> = (0..sizes.len()).filter(|&c| sizes[c] > 1).collect();
        order.sort_by_key(|&component| (std::cmp::Reverse(sizes[component]), component));
        order.into_iter().enumerate().map(|(number, component)| (component, number)).collect()
    }

    fn edges_of(&self, component: usize) -> impl Iterator<Item = (&Admitted, f64)> {
        let map = &self.assembled.map;
        let all = self.assembled.admitted.iter().zip(&map.residuals);
        all.filter(move |(admitted, _)| map.component[admitted.edge.target] == component)
            .map(|(admitted, off)| (admitted, off * self.pose_in_map(admitted.edge.source).scale()))
    }

    fn scan(&self, scan: usize, numbers: &BTreeMap<usize, usize>) -> AssembledScan {
        let map = &self.assembled.map;
        let record = &self.records[scan];
        let component = map.component[scan];
        let number = numbers.get(&component).copied();
        let edges =
            self.assembled.admitted.iter().filter(|a| a.edge.target == scan || a.edge.source == scan).count();
        let same_as =
            self.same.iter().find(|[_, later]| *later == scan).map(|[first, _]| &self.records[*first].name);
        let held = map.held[component];
        let pose = number.map(|_| self.pose(scan));
        let (status, reason) = match (&record.content, number) {
            (Err(error), _) => (ScanStatus::Failed, error.clone()),
            (Ok(_), Some(_)) => (ScanStatus::Placed, self.placed(scan, edges, same_as)),
            (Ok(_), None) => (ScanStatus::Alone, self.alone(scan)),
        };
        AssembledScan {
            name: record.name.clone(),
            status,
            reason,
            points: record.content.as_ref().ok().map(|content| content.points),
            component: number,
            transform: pose.map(|pose| pose.matrix()),
            scale: pose.map(|pose| pose.scale()),
            accuracy: (number.is_some() && (scan != held || self.is_tied(component)))
                .then(|| self.accuracy(scan)),
            edges,
            same_as: same_as.cloned(),
            note: self.note(scan),
        }
    }

    /// The pose of a scan in the map, which has the coordinates of the held scan.
    fn pose(&self, scan: usize) -> Similarity {
        let map = &self.assembled.map;
        if let Some(pose) = self.tied.and_then(|tied| tied.pose(scan, map.component[scan], self.scans)) {
            return pose;
        }
        let held = map.held[map.component[scan]];
        match scan == held {
            true => Similarity::IDENTITY,
            false => uncentered(&map.poses[scan], self.scans[scan].center, self.scans[held].center),
        }
    }

    /// The pose of a scan relative to its middle, up to a shift of the map.
    fn pose_in_map(&self, scan: usize) -> &Similarity {
        let map = &self.assembled.map;
        match self.tied.filter(|_| self.is_tied(map.component[scan])) {
            Some(tied) => &tied.poses[scan],
            None => &map.poses[scan],
        }
    }

    fn is_tied(&self, component: usize) -> bool {
        self.tied.is_some_and(|tied| tied.ties[component] == Some(Tie::Tied))
    }

    /// What ties a component to the world.
    fn tie(&self, component: usize) -> Option<WorldTie> {
        let (tied, map) = (self.tied?, &self.assembled.map);
        let own = || (0..self.places.len()).filter(|&k| map.component[tied.scans[k]] == component);
        let is_used = |k: &usize| tied.residuals[*k].is_some_and(|(used, ..)| used);
        let used = own().filter(is_used).count();
        let is_tied = self.is_tied(component);
        let reason = match tied.ties[component].as_ref()? {
            Tie::Tied => format!("{used} of {} known places agree", own().count()),
            Tie::Loose(reason) => reason.clone(),
        };
        let rmse = is_tied.then(|| control::rmse(tied, map, component));
        Some(WorldTie { is_tied, places: own().count(), used, rmse, reason })
    }

    fn known_places(&self) -> Vec<KnownPlaceResult> {
        let Some(tied) = self.tied else { return Vec::new() };
        let one = |(k, place): (usize, &KnownPlace)| KnownPlaceResult {
            name: place.name.clone(),
            scan: self.records[tied.scans[k]].name.clone(),
            world: place.world,
            deviations: place.deviations,
            is_used: tied.residuals[k].is_some_and(|(used, ..)| used),
            distance: tied.residuals[k].map(|(_, distance, _)| distance),
            normalized_residual: tied.residuals[k].map(|(.., normalized)| normalized),
        };
        self.places.iter().enumerate().map(one).collect()
    }

    fn accuracy(&self, scan: usize) -> PoseAccuracy {
        let map = &self.assembled.map;
        let covariance = match self.tied.filter(|_| self.is_tied(map.component[scan])) {
            Some(tied) => &tied.covariances[scan],
            None => &map.covariances[scan],
        };
        let scale = self.pose_in_map(scan).scale();
        PoseAccuracy {
            translation: CONFIDENT * scale * loosest(covariance, 3),
            rotation_deg: (CONFIDENT * loosest(covariance, 0)).to_degrees().min(180.0),
            scale: self.with_scale.then(|| CONFIDENT * covariance[6][6].max(0.0).sqrt()),
        }
    }

    fn placed(&self, scan: usize, edges: usize, same_as: Option<&String>) -> String {
        if let Some(first) = same_as {
            return format!("it has the same points as `{first}`");
        }
        let map = &self.assembled.map;
        let noun = if edges == 1 { "edge admits" } else { "edges admit" };
        let is_held = map.held[map.component[scan]] == scan;
        let is_held = is_held && !self.is_tied(map.component[scan]);
        let held = if is_held { "; its coordinates are those of the map" } else { "" };
        format!("{edges} {noun} it{held}")
    }

    fn alone(&self, scan: usize) -> String {
        let own = || self.tried.iter().filter(|t| t.target == scan || t.source == scan);
        let contested = self.assembled.fates.iter().zip(self.tried).filter(|(fate, t)| {
            (t.target == scan || t.source == scan) && matches!(fate, Fate::Contested | Fate::Contradicted)
        });
        let conflicts = contested.count();
        if conflicts > 0 {
            let pairs = if conflicts == 1 { "pair is" } else { "pairs are" };
            return format!(
                "{conflicts} registered {pairs} in conflict with other pairs, and nothing settles the conflict"
            );
        }
        match own().count() {
            0 => "no other scan is as large up to a factor of ten, so that none was tried".to_owned(),
            count => format!(
                "none of {count} tried {} is registered or supported by others: it does not belong to the other scans, or overlaps too little",
                if count == 1 { "pair" } else { "pairs" }
            ),
        }
    }

    /// A remark on units that may differ.
    fn note(&self, scan: usize) -> Option<String> {
        let usable = |scan: &&Scan| scan.points > 0 && scan.radius > 0.0;
        let mut sizes: Vec<f64> = self.scans.iter().filter(usable).map(|scan| scan.radius).collect();
        sizes.sort_by(f64::total_cmp);
        let (median, own) = (*sizes.get(sizes.len() / 2)?, self.scans[scan].radius);
        let is_alone = self.assembled.map.sizes()[self.assembled.map.component[scan]] == 1;
        let ratio = (own / median).max(median / own);
        (is_alone && own > 0.0 && ratio > OTHER_UNITS && !self.with_scale).then(|| {
            format!("its points are {own:.3e} from their middle, those of the other scans {median:.3e}: their units may differ; convert it, or use --scale unknown")
        })
    }

    fn components(&self, numbers: &BTreeMap<usize, usize>) -> Vec<Component> {
        let map = &self.assembled.map;
        let mut order: Vec<(usize, usize)> =
            numbers.iter().map(|(&component, &number)| (number, component)).collect();
        order.sort_unstable();
        let sizes = map.sizes();
        let one = |(_, component): (usize, usize)| {
            let own: Vec<(&Admitted, f64)> = self.edges_of(component).collect();
            let scale = |admitted: &Admitted| self.pose_in_map(admitted.edge.source).scale();
            let before = own.iter().filter_map(|(a, _)| Some(a.loop_error? * scale(a)));
            let loops_before = errors(before.collect());
            let loops_after = loops_before.and(errors(own.iter().map(|(_, off)| *off).collect()));
            let mut bridges: Vec<&Admitted> = own.iter().map(|(a, _)| *a).filter(|a| a.is_bridge).collect();
            let evidence = |a: &Admitted| a.pair.and_then(|pair| evidence(&self.tried[pair])).unwrap_or(0.0);
            bridges.sort_by(|a, b| evidence(b).total_cmp(&evidence(a)));
            let name = |scan: usize| self.records[scan].name.clone();
            Component {
                scans: sizes[component],
                held: name(map.held[component]),
                edges: own.len(),
                loops_before,
                loops_after,
                bridges: bridges.iter().map(|a| [name(a.edge.target), name(a.edge.source)]).collect(),
                world: self.tie(component),
            }
        };
        order.into_iter().map(one).collect()
    }

    fn edges(&self) -> Vec<AssemblyEdge> {
        let map = &self.assembled.map;
        let mut edges: Vec<AssemblyEdge> = (0..self.tried.len()).map(|pair| self.tried_edge(pair)).collect();
        for (admitted, off) in self.assembled.admitted.iter().zip(&map.residuals) {
            let MapEdge { target, source, .. } = &admitted.edge;
            let off = off * self.pose_in_map(*source).scale();
            match admitted.pair {
                Some(pair) => {
                    let edge = &mut edges[pair];
                    (edge.verdict, edge.reason) = self.admitted(admitted, pair);
                    edge.is_bridge = admitted.is_bridge;
                    edge.residual = Some(off);
                    if let Origin::Candidate(place) = admitted.origin {
                        edge.candidate = Some(place);
                    }
                    edge.transform = Some(self.transform(&admitted.edge));
                }
                None => edges.push(AssemblyEdge {
                    target: *target,
                    source: *source,
                    verdict: EdgeVerdict::Identical,
                    doubt: None,
                    reason: "both scans have the same points".to_owned(),
                    candidate: None,
                    transform: Some(self.transform(&admitted.edge)),
                    log10_nfa: None,
                    overlap: Some(1.0),
                    residual: Some(off),
                    is_bridge: admitted.is_bridge,
                }),
            }
        }
        edges.sort_by_key(|edge| (edge.target, edge.source));
        edges
    }

    fn transform(&self, edge: &MapEdge) -> pcr99_document::Matrix {
        uncentered(&edge.pose, self.scans[edge.source].center, self.scans[edge.target].center).matrix()
    }

    fn admitted(&self, admitted: &Admitted, pair: usize) -> (EdgeVerdict, String) {
        let Some(document) = self.tried[pair].document() else {
            return (EdgeVerdict::Found, String::new());
        };
        match (admitted.origin, self.assembled.fates[pair]) {
            (Origin::Candidate(_), Fate::Registered) => (EdgeVerdict::Registered, document.reason.clone()),
            (Origin::Candidate(place), _) => {
                let which =
                    if place == 0 { String::new() } else { format!(", its candidate {},", place + 1) };
                let reason = format!(
                    "cycles through other pairs support it{which} although the pair alone is refused: {}",
                    document.reason
                );
                (EdgeVerdict::Supported, reason)
            }
            (Origin::Rig, _) => (
                EdgeVerdict::Found,
                "other scenes of the rig tell the pose between the two sensors".to_owned(),
            ),
            _ => (EdgeVerdict::Found, "the scans overlap in the map, and fit there".to_owned()),
        }
    }

    /// An edge before it is known whether it is part of the map.
    fn tried_edge(&self, pair: usize) -> AssemblyEdge {
        let tried = &self.tried[pair];
        let document = tried.document();
        let (verdict, reason) = match (document, self.assembled.fates[pair]) {
            (None, _) => (EdgeVerdict::Failed, tried.result.error().unwrap_or_default().to_owned()),
            (_, Fate::Contradicted) => (
                EdgeVerdict::Contradicted,
                "registered alone, but the cycles through other pairs contradict it".to_owned(),
            ),
            (_, Fate::Contested) => (
                EdgeVerdict::Contested,
                "registered alone, but in conflict with other registered pairs, and neither side has clearly more support".to_owned(),
            ),
            (Some(document), _) => (EdgeVerdict::Refused, document.reason.clone()),
        };
        let fit = document.and_then(|document| document.fit);
        AssemblyEdge {
            target: tried.target,
            source: tried.source,
            verdict,
            doubt: document.and_then(|document| document.doubt),
            reason,
            candidate: None,
            transform: document.and_then(|document| document.transform),
            log10_nfa: evidence(tried),
            overlap: fit.map(|fit| fit.overlap_source.max(fit.overlap_target)),
            residual: None,
            is_bridge: false,
        }
    }
}

fn evidence(tried: &Tried) -> Option<f64> {
    tried.document()?.evidence.map(|evidence| evidence.log10_nfa)
}

/// Largest standard deviation of three unknowns.
fn loosest(covariance: &Covariance, first: usize) -> f64 {
    let block: [[f64; 3]; 3] =
        std::array::from_fn(|i| std::array::from_fn(|j| covariance[first + i][first + j]));
    symmetric_eigen(&block).0[2].max(0.0).sqrt()
}

fn errors(mut values: Vec<f64>) -> Option<LoopErrors> {
    values.sort_by(f64::total_cmp);
    let largest = *values.last()?;
    Some(LoopErrors { count: values.len(), median: values[(values.len() - 1) / 2], largest })
}
