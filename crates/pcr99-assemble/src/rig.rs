//! Rigs: sensors that are mounted together, so that the pose between two of them is the same in all scenes.
//!
//! Pairs of the same sensors in other scenes are further evidence for one pose. They are chosen together, with sensors as vertices instead of scans.

use std::collections::BTreeMap;

use crate::{
    Error,
    candidate::{Candidate, allowed},
    choose::{Fate, choose},
    scan::Scan,
    uncertain::{Rest, Uncertain},
};

/// Which scans belong to a rig.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Rig {
    /// Scene and sensor of each scan; `None` for a scan that is not of the rig.
    pub members: Vec<Option<[usize; 2]>>,
}

/// What a rig adds to the choice.
pub(crate) struct RigChoice {
    /// Candidates that the rig accepts, with their fates.
    pub(crate) fixed: Vec<(usize, Fate)>,
    /// Poses between scans of one scene that the rig knows.
    pub(crate) known: Vec<Candidate>,
}

impl Rig {
    /// The rig whose scans have names that end with a pattern such as `{scene}/{sensor}.pcd`.
    ///
    /// # Errors
    /// When the pattern does not have both places exactly once, when no two scenes match it, and when two scans are of the same scene and sensor.
    pub fn of(pattern: &str, names: &[&str]) -> Result<Self, Error> {
        let pattern = Pattern::parse(pattern)?;
        let (mut scenes, mut sensors) = (BTreeMap::new(), BTreeMap::new());
        let mut taken = BTreeMap::new();
        let mut members = Vec::with_capacity(names.len());
        for name in names {
            let Some([scene, sensor]) = pattern.matched(name) else {
                members.push(None);
                continue;
            };
            let number = |list: &mut BTreeMap<String, usize>, text: String| {
                let next = list.len();
                *list.entry(text).or_insert(next)
            };
            let member = [number(&mut scenes, scene), number(&mut sensors, sensor)];
            if let Some(first) = taken.insert(member, *name) {
                return Err(Error::Rig(format!("`{first}` and `{name}` are of the same scene and sensor")));
            }
            members.push(Some(member));
        }
        if scenes.len() < 2 || sensors.len() < 2 {
            return Err(Error::Rig(format!(
                "{} scenes and {} sensors match the pattern; a rig needs two of each",
                scenes.len(),
                sensors.len()
            )));
        }
        Ok(Self { members })
    }

    /// Chooses the candidates between sensors.
    pub(crate) fn choose(&self, scans: &[Scan], all: &[Candidate], first_pair: usize) -> RigChoice {
        let sensors = 1 + self.members.iter().flatten().map(|[_, sensor]| *sensor).max().unwrap_or(0);
        let within: Vec<usize> =
            (0..all.len()).filter(|&h| self.is_within(all[h].target, all[h].source)).collect();
        let moved: Vec<Candidate> = within.iter().map(|&h| about_sensors(&all[h], scans)).collect();
        let sensor = |scan: usize| self.members[scan].map_or(0, |[_, sensor]| sensor);
        let ends: Vec<[usize; 2]> = moved.iter().map(|h| [sensor(h.target), sensor(h.source)]).collect();
        let reach = |scan: usize| {
            let Scan { center, radius, .. } = &scans[scan];
            (radius * radius + pcr99_base::vector::dot(*center, *center)).sqrt()
        };
        let radii: Vec<f64> = moved.iter().map(|h| reach(h.source)).collect();
        let (mut network, fates) = choose(sensors, &moved, &ends, &radii, &[]);
        let fixed = (within.iter().zip(&fates))
            .filter(|(_, fate)| matches!(fate, Fate::Registered | Fate::Supported))
            .map(|(&h, fate)| (h, *fate))
            .collect();
        let mut known = Vec::new();
        for source in 0..scans.len() {
            for target in (0..source).filter(|&target| self.is_within(target, source)) {
                if let Some(pose) = network.predicted(sensor(target), sensor(source)) {
                    let voxel = voxel_of(&moved, &ends, [sensor(target), sensor(source)]);
                    known.push(about_middles(target, source, first_pair + known.len(), pose, voxel, scans));
                }
            }
        }
        RigChoice { fixed, known }
    }

    /// Whether two scans are of the same scene.
    fn is_within(&self, a: usize, b: usize) -> bool {
        matches!((self.members[a], self.members[b]), (Some([a, _]), Some([b, _])) if a == b)
    }
}

fn certain(by: [f64; 3]) -> Uncertain {
    Uncertain { pose: pcr99::Similarity::from_translation(by), ..Uncertain::IDENTITY }
}

/// A candidate between the coordinates of the sensors as given.
fn about_sensors(candidate: &Candidate, scans: &[Scan]) -> Candidate {
    let [from, to] = [scans[candidate.source].center, scans[candidate.target].center];
    let pose = certain(to).after(&candidate.pose).after(&certain(from.map(|x| -x)));
    Candidate { pose, ..candidate.clone() }
}

/// A pose of the rig as a candidate between two scans.
fn about_middles(
    target: usize,
    source: usize,
    pair: usize,
    pose: Uncertain,
    voxel: f64,
    scans: &[Scan],
) -> Candidate {
    let [from, to] = [&scans[source], &scans[target]];
    let inner = certain(to.center.map(|x| -x)).after(&pose).after(&certain(from.center));
    let rest = Rest { middle: [0.0; 3], lever: from.radius };
    let pose = allowed(inner.pose, None, voxel, &rest).loosened(&inner.covariance);
    Candidate {
        pair,
        target,
        source,
        place: 0,
        pose,
        refined: None,
        is_registered: false,
        log10_nfa: 0.0,
        voxel,
        rest,
    }
}

/// Median voxel of the candidates between two sensors, or of all.
fn voxel_of(candidates: &[Candidate], ends: &[[usize; 2]], wanted: [usize; 2]) -> f64 {
    let is_between = |end: &[usize; 2]| *end == wanted || *end == [wanted[1], wanted[0]];
    let own = candidates.iter().zip(ends).filter(|(_, end)| is_between(end));
    let mut voxels: Vec<f64> = own.map(|(h, _)| h.voxel).collect();
    if voxels.is_empty() {
        voxels = candidates.iter().map(|h| h.voxel).collect();
    }
    voxels.sort_by(f64::total_cmp);
    voxels.get(voxels.len() / 2).copied().unwrap_or(1.0)
}

/// A pattern of names: text around the places of scene and sensor.
struct Pattern {
    /// Text before, between and after the two places.
    texts: [String; 3],
    /// Whether the scene comes first.
    is_scene_first: bool,
}

impl Pattern {
    fn parse(pattern: &str) -> Result<Self, Error> {
        const PLACES: [&str; 2] = ["{scene}", "{sensor}"];
        let wrong = || {
            Error::Rig(format!(
                "`{pattern}` needs the places {{scene}} and {{sensor}} once each, as in {{scene}}/{{sensor}}.pcd"
            ))
        };
        let at = PLACES.map(|place| pattern.find(place));
        let (Some(scene), Some(sensor)) = (at[0], at[1]) else { return Err(wrong()) };
        let is_scene_first = scene < sensor;
        let [first, second] = if is_scene_first { PLACES } else { [PLACES[1], PLACES[0]] };
        let (before, rest) = pattern.split_once(first).ok_or_else(wrong)?;
        let (between, after) = rest.split_once(second).ok_or_else(wrong)?;
        if between.is_empty() || PLACES.iter().any(|place| after.contains(place) || between.contains(place)) {
            return Err(wrong());
        }
        Ok(Self { texts: [before, between, after].map(str::to_owned), is_scene_first })
    }

    /// Scene and sensor of a name that ends with the pattern. Neither contains a `/`.
    fn matched(&self, name: &str) -> Option<[String; 2]> {
        let [before, between, after] = &self.texts;
        let rest = name.strip_suffix(after.as_str())?;
        let (rest, second) = rest.rsplit_once(between.as_str())?;
        let first =
            if before.is_empty() { rest.rsplit('/').next()? } else { rest.rsplit_once(before.as_str())?.1 };
        let is_word = |text: &str| !text.is_empty() && !text.contains('/');
        let [scene, sensor] = if self.is_scene_first { [first, second] } else { [second, first] };
        (is_word(scene) && is_word(sensor)).then(|| [scene.to_owned(), sensor.to_owned()])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scenes_and_sensors_are_read_from_names() {
        let names =
            ["data/s1/left.pcd", "data/s1/top.pcd", "data/s2/left.pcd", "data/s2/top.pcd", "other.ply"];
        let rig = Rig::of("{scene}/{sensor}.pcd", &names).expect("a rig");
        assert_eq!(rig.members, [Some([0, 0]), Some([0, 1]), Some([1, 0]), Some([1, 1]), None]);
        let flat =
            Rig::of("{sensor}_{scene}.ply", &["left_1.ply", "top_1.ply", "left_2.ply"]).expect("a rig");
        assert_eq!(flat.members, [Some([0, 0]), Some([0, 1]), Some([1, 0])]);
    }

    #[test]
    fn mistakes_are_named() {
        let said =
            |pattern: &str, names: &[&str]| Rig::of(pattern, names).expect_err("a mistake").to_string();
        for pattern in ["{scene}", "{sensor}.pcd", "{scene}{sensor}", "{scene}/{sensor}/{scene}"] {
            assert!(said(pattern, &["a/b"]).contains("once each"), "{pattern}");
        }
        assert!(said("{scene}/{sensor}.pcd", &["1/a.pcd", "1/b.pcd"]).contains("1 scenes and 2 sensors"));
        assert!(said("{scene}/{sensor}.pcd", &["x/1/a.pcd", "y/1/a.pcd"]).contains("same scene and sensor"));
    }
}
