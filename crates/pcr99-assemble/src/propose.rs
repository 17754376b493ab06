//! Which pairs are tried.
//!
//! Up to [`ALL`] scans all pairs are. Above, each scan is tried with its neighbours in the list, with those that are most similar to it, and, in further rounds, with those that
//! lie near it in the map so far.

use std::collections::BTreeSet;

use pcr99_base::vector::norm;

use crate::{
    map::Map,
    prepare::Content,
    project::Project,
    words::{Words, ranked},
};

/// Largest number of scans of which all pairs are tried.
pub(crate) const ALL: usize = 30;
/// Largest ratio of the sizes of two scans with the same units that are tried. The smaller one of a pair beyond it has hardly a feature at the voxel of the larger one; a
/// registration would refuse it because of its size.
const MOST_RATIO: f64 = 10.0;
/// Number of most similar scans that each scan is tried with first.
const SIMILAR: usize = 4;
/// Number of pairs per scan, on average, that are tried at most.
const MOST_PER_SCAN: usize = 10;
/// Number of pairs of one scan that a round adds at most.
const MORE: usize = 3;
/// Distance of the middles of two scans of the map that may overlap, in units of the sum of their sizes.
const NEAR: f64 = 1.2;

/// What proposals depend on.
pub(crate) struct Proposals<'a> {
    pub(crate) same: &'a [[usize; 2]],
    pub(crate) has_known_scale: bool,
}

impl Proposals<'_> {
    /// Scans that can be registered, in their order.
    pub(crate) fn usable(&self, project: &Project) -> Vec<usize> {
        let is_usable = |&scan: &usize| {
            project.scans[scan].content.is_ok() && !self.same.iter().any(|[_, later]| *later == scan)
        };
        (0..project.scans.len()).filter(is_usable).collect()
    }

    fn may_overlap(&self, project: &Project, a: usize, b: usize) -> bool {
        let radius = |scan: usize| project.scans[scan].content.as_ref().map_or(0.0, |content| content.radius);
        let ratio = radius(a) / radius(b);
        !self.has_known_scale || (1.0 / MOST_RATIO..=MOST_RATIO).contains(&ratio)
    }

    /// Adds the first pairs.
    pub(crate) fn first(&self, project: &mut Project) {
        let usable = self.usable(project);
        let mut wanted = Vec::new();
        if usable.len() <= ALL {
            for (k, &source) in usable.iter().enumerate() {
                wanted.extend(usable[..k].iter().map(|&target| [target, source]));
            }
        } else {
            wanted.extend(usable.windows(2).map(|pair| [pair[0], pair[1]]));
            let ranked = ranked_scans(project, &usable);
            for (k, others) in ranked.iter().enumerate() {
                wanted.extend(others.iter().take(SIMILAR).map(|&other| [usable[k], usable[other]]));
            }
        }
        self.add(project, wanted);
    }

    /// Adds pairs that the map so far suggests, for more than [`ALL`] scans. Returns whether there are any.
    pub(crate) fn more(&self, project: &mut Project, map: &Map) -> bool {
        let usable = self.usable(project);
        if usable.len() <= ALL {
            return false;
        }
        let budget = (MOST_PER_SCAN * usable.len() / 2).saturating_sub(project.pairs.len());
        let tried: BTreeSet<[usize; 2]> = project.pairs.iter().copied().collect();
        let ranked = ranked_scans(project, &usable);
        let sizes = map.sizes();
        let mut wanted = Vec::new();
        for (k, &scan) in usable.iter().enumerate() {
            let is_new = |other: usize| !tried.contains(&[scan.min(other), scan.max(other)]);
            let mut near: Vec<(f64, usize)> = (usable.iter())
                .filter(|&&other| other != scan && is_new(other))
                .filter_map(|&other| Some((nearness(project, map, scan, other)?, other)))
                .filter(|(distance, _)| *distance < NEAR)
                .collect();
            near.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            wanted.extend(near.iter().take(MORE).map(|&(_, other)| [scan, other]));
            // Scans of small components look farther.
            if sizes[map.component[scan]] < usable.len() / 2 {
                let others = ranked[k].iter().map(|&other| usable[other]);
                let apart =
                    others.filter(|&other| is_new(other) && map.component[other] != map.component[scan]);
                wanted.extend(apart.take(MORE).map(|other| [scan, other]));
            }
        }
        wanted.truncate(budget);
        self.add(project, wanted)
    }

    fn add(&self, project: &mut Project, wanted: Vec<[usize; 2]>) -> bool {
        let mut tried: BTreeSet<[usize; 2]> = project.pairs.iter().copied().collect();
        let before = project.pairs.len();
        for [a, b] in wanted {
            let pair = [a.min(b), a.max(b)];
            if a != b && self.may_overlap(project, a, b) && tried.insert(pair) {
                project.pairs.push(pair);
            }
        }
        project.pairs.len() > before
    }
}

fn ranked_scans(project: &Project, usable: &[usize]) -> Vec<Vec<usize>> {
    let none = Words::new();
    let words = |&scan: &usize| match &project.scans[scan].content {
        Ok(Content { words: Some(words), .. }) => words,
        _ => &none,
    };
    ranked(&usable.iter().map(words).collect::<Vec<_>>())
}

/// Distance of the middles of two scans of one component, in units of the sum of their sizes.
fn nearness(project: &Project, map: &Map, a: usize, b: usize) -> Option<f64> {
    let pose = map.between(a, b)?;
    let radius = |scan: usize| project.scans[scan].content.as_ref().map_or(0.0, |content| content.radius);
    Some(norm(pose.translation()) / (radius(a) + pose.scale() * radius(b)))
}
