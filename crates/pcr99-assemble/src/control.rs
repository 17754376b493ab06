//! Known places: control points, and positions of scans, which tie maps to the world.

mod read;

use pcr99_base::{
    Similarity,
    control::Undetermined,
    vector::{minus, plus},
};
use pcr99_graph::Anchored;

pub use self::read::{read_control, read_positions};

use crate::{Error, map::Map, scan::Scan, uncertain::Covariance};

/// A point with a known place in the world.
#[derive(Debug, Clone, PartialEq)]
pub struct KnownPlace {
    /// Its name.
    pub name: String,
    /// The scan in whose coordinates it was measured, by its name or the end of its path; `None` for coordinates of the largest map, as its held scan has them.
    pub scan: Option<String>,
    /// The point, in these coordinates.
    pub local: [f64; 3],
    /// Its place in the world.
    pub world: [f64; 3],
    /// Standard deviation of each coordinate of the place.
    pub deviations: [f64; 3],
}

impl KnownPlace {
    /// The position of a scan: the place of the origin of its coordinates.
    pub fn of_scan(scan: &str, world: [f64; 3], deviations: [f64; 3]) -> Self {
        Self {
            name: format!("position of {scan}"),
            scan: Some(scan.to_owned()),
            local: [0.0; 3],
            world,
            deviations,
        }
    }

    /// Checks the numbers.
    fn check(&self) -> Result<(), Error> {
        let wrong = |what: String| Err(Error::Control(format!("`{}`: {what}", self.name)));
        if !self.local.iter().chain(&self.world).all(|x| x.is_finite()) {
            return wrong("a coordinate is not finite: remove the point".to_owned());
        }
        match self.deviations.iter().find(|s| !(s.is_finite() && **s > 0.0)) {
            Some(s) => wrong(format!("the standard deviation is {s}: give a finite number above 0")),
            None => Ok(()),
        }
    }
}

/// Number of the scan of each place; `None` for coordinates of the map. `names` are the names and paths of the scans.
pub(crate) fn scans_of(places: &[KnownPlace], names: &[(&str, &str)]) -> Result<Vec<Option<usize>>, Error> {
    let mut taken = std::collections::BTreeSet::new();
    places
        .iter()
        .map(|place| {
            place.check()?;
            if !taken.insert(&place.name) {
                return Err(Error::Control(format!(
                    "`{}` occurs twice: rename or remove one of them",
                    place.name
                )));
            }
            place.scan.as_deref().map(|scan| number_of(scan, &place.name, names)).transpose()
        })
        .collect()
}

/// The scan with this name or end of its path.
fn number_of(scan: &str, place: &str, names: &[(&str, &str)]) -> Result<usize, Error> {
    let all = |is_it: &dyn Fn(&(&str, &str)) -> bool| -> Vec<usize> {
        (0..names.len()).filter(|&k| is_it(&names[k])).collect()
    };
    let exact = all(&|(name, path)| *name == scan || *path == scan);
    let end = format!("/{scan}");
    let found = if exact.is_empty() {
        all(&|(name, path)| name.ends_with(&end) || path.ends_with(&end))
    } else {
        exact
    };
    match found[..] {
        [one] => Ok(one),
        [] => Err(Error::Control(format!(
            "`{place}` names the scan `{scan}`, which the project does not have: write its path as it was given, or its file name"
        ))),
        _ => Err(Error::Control(format!(
            "`{place}` names the scan `{scan}`, but {} scans have that name: write more of its path",
            found.len()
        ))),
    }
}

/// What ties a component to the world, or why nothing does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Tie {
    /// Most of its places agree.
    Tied,
    /// The reason.
    Loose(String),
}

/// Maps that are tied to the world.
#[derive(Debug, Clone)]
pub(crate) struct Tied {
    /// Pose of each scan relative to its middle, in the world less `origin`.
    pub(crate) poses: Vec<Similarity>,
    pub(crate) origin: [f64; 3],
    pub(crate) covariances: Vec<Covariance>,
    /// What ties each component that has places; `None` for one that has none.
    pub(crate) ties: Vec<Option<Tie>>,
    /// Scan of each place.
    pub(crate) scans: Vec<usize>,
    /// For each place: whether it is used, its distance, and the same in standard deviations of what the others expect. `None` where its component is not tied.
    pub(crate) residuals: Vec<Option<(bool, f64, f64)>>,
}

impl Tied {
    /// Ties maps to places. `of` are the scans of the places.
    pub(crate) fn of(
        map: &Map,
        scans: &[Scan],
        places: &[KnownPlace],
        of: &[Option<usize>],
    ) -> Result<Self, Error> {
        let origin = places.first().map_or([0.0; 3], |place| place.world.map(f64::round));
        let sizes = map.sizes();
        let largest = (0..sizes.len()).max_by_key(|&c| (sizes[c], std::cmp::Reverse(c))).unwrap_or(0);
        let held = |number: usize| map.held.get(number).copied().unwrap_or(0);
        let at: Vec<usize> = of.iter().map(|scan| scan.unwrap_or_else(|| held(largest))).collect();
        let local: Vec<[f64; 3]> =
            places.iter().zip(&at).map(|(place, &scan)| minus(place.local, scans[scan].center)).collect();
        let found =
            map.anchored(places.iter().zip(&at).zip(&local).map(|((place, &scan), &local)| {
                (scan, local, minus(place.world, origin), place.deviations)
            }))?;
        let ties: Vec<Option<Tie>> = (0..sizes.len())
            .map(|number| {
                let own = || (0..at.len()).filter(|&k| map.component[at[k]] == number);
                let (all, used) = (own().count(), own().filter(|&k| found.is_position_used[k]).count());
                (all > 0).then(|| tie(&found, number, all, used))
            })
            .collect();
        let is_tied = |scan: usize| matches!(ties[map.component[scan]], Some(Tie::Tied));
        let residual = |k: usize| {
            is_tied(at[k])
                .then(|| (found.is_position_used[k], found.residuals[k], found.normalized_residuals[k]))
        };
        Ok(Self {
            residuals: (0..places.len()).map(residual).collect(),
            ties,
            scans: at,
            origin,
            poses: found.poses,
            covariances: found.covariances,
        })
    }

    /// The pose of a scan as given in the world; `None` where its map is not tied.
    pub(crate) fn pose(&self, scan: usize, component: usize, scans: &[Scan]) -> Option<Similarity> {
        if !matches!(self.ties[component], Some(Tie::Tied)) {
            return None;
        }
        let inner = &self.poses[scan];
        let shift = minus(inner.translation(), minus(inner.apply(scans[scan].center), inner.translation()));
        Some(Similarity::new_unchecked(inner.scale(), inner.rotation(), plus(shift, self.origin)))
    }
}

fn tie(found: &Anchored, number: usize, all: usize, used: usize) -> Tie {
    let points = |count: usize| if count == 1 { "known place" } else { "known places" };
    if let Some(loose) = found.loose.iter().find(|loose| loose.component == number) {
        return Tie::Loose(match loose.why {
            Undetermined::TooFew { found, needed } => {
                format!("it has {found} {}, but {needed} are needed", points(found))
            }
            Undetermined::OnALine => {
                "its known places lie on one line, so that the rotation about it is undetermined: add one off the line"
                    .to_owned()
            }
            Undetermined::AtOnePlace => "all its known places are at one place".to_owned(),
        });
    }
    if 2 * used <= all {
        return Tie::Loose(format!(
            "only {used} of its {all} {} agree: check names, columns and units",
            points(all)
        ));
    }
    Tie::Tied
}

/// Root mean square distance of the used places of a component.
pub(crate) fn rmse(tied: &Tied, map: &Map, component: usize) -> f64 {
    let own = tied.scans.iter().zip(&tied.residuals).filter(|(scan, _)| map.component[**scan] == component);
    let used = own.filter_map(|(_, residual)| residual.filter(|(used, ..)| *used));
    let (count, sum) =
        used.fold((0.0, 0.0), |(n, sum), (_, distance, _)| (n + 1.0, sum + distance * distance));
    (sum / f64::max(count, 1.0)).sqrt()
}
