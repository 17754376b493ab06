//! How far the errors of neighbouring wrong matches are alike.
//!
//! Descriptors of neighbouring points resemble each other, so neighbours match neighbouring wrong points. Such matches agree with the same
//! wrong transform and must not count as independent. The correlation is measured: among matches that follow none of the candidates, how
//! often are the targets of two matches close together when their sources are, compared with any two matches? The distance up to which it
//! happens clearly more often is the correlation length. Matches paired at random have none.

use pcr99_base::{
    Soa,
    kernel::{
        consensus::{Affine, squared_distance as distance_to_moved},
        near::near_bits,
    },
};

use super::{chance::evenly, slabs::Slabs};
use crate::{Similarity, random::Random};

/// Largest number of matches considered. More are sampled evenly; the distances between neighbours are then larger, and so is the length.
const LARGEST_SAMPLE: usize = 8192;
/// Smallest number of matches from which the correlation can be measured.
const SMALLEST_SAMPLE: usize = 24;
/// Matches whose neighbours are looked at: a few to see whether there is any correlation, then more to measure it.
const CENTERS: [usize; 2] = [96, 512];
/// Matches whose nearest neighbours are looked at.
const NEAREST: usize = 32;
/// Pairs of any two matches that tell how often targets are close by chance.
const RANDOM_PAIRS: usize = 2048;
/// Number of shells, each `√2` as wide as the one before: up to 64 times the distance of nearest neighbours.
const SHELLS: usize = 13;
/// Shells that are looked at in one go.
const FIRST_SHELLS: usize = 4;
/// Matches closer to their moved source than this, relative to the extent, may be right and are left out.
const NEAR_RIGHT: f64 = 0.3;
/// Farthest shell, relative to the extent of the sources.
const FARTHEST: f64 = 0.3;
/// Ratio to chance from which targets are clearly closer together.
const CLEARLY: f64 = 3.0;
/// Smallest share of neighbours with neighbouring targets that counts as correlation.
const LEAST_SHARE: f64 = 0.03;
/// Share of neighbours in the last shell from which correlation does not fade but ends: matches are wrong in groups, and two of a group are alike at any distance. The length then counts
/// double, because half of it is the radius of a place.
const ABRUPT: f64 = 0.3;
/// Smallest number of neighbours in a shell, and of those with neighbouring targets.
const FEWEST_PAIRS: [u32; 2] = [10, 4];

/// Neighbours in one shell, and how many of them have neighbouring targets.
#[derive(Debug, Clone, Copy, Default)]
struct Shell {
    neighbours: u32,
    alike: u32,
}

/// The correlation length in the target, in normalised units; zero when matches are independent, `None` when too few of them follow none of
/// the `models`. `extent` is that of the moved sources, or of the targets where those are smaller. `scale` is that of distances in the target to those in the source.
pub(super) fn correlation_length(
    points: &Soa,
    models: &[&Similarity],
    extent: f64,
    scale: f64,
) -> Option<f64> {
    let near_sq = (NEAR_RIGHT * extent).powi(2);
    let affines: Vec<Affine> = models.iter().map(|model| Affine::from(*model)).collect();
    let is_far = |i: &usize| affines.iter().all(|model| distance_to_moved(points, model, *i) > near_sq);
    let n = points.len();
    let mut some: Vec<u32> = evenly(n, n.min(LARGEST_SAMPLE)).filter(is_far).map(|i| i as u32).collect();
    if some.len() < SMALLEST_SAMPLE {
        return None;
    }
    Slabs::default().sort(&points.a[0], &mut some);
    let some = Sample::new(points, &some);
    let extent = extent / scale;
    let nearest = some.median_nearest().max(1e-6 * extent);
    let radius = |shell: usize| nearest * libm::exp2(0.5 * shell as f64);
    let usable = (0..SHELLS).take_while(|&shell| radius(shell) <= FARTHEST * extent).count();
    if usable == 0 {
        // Neighbours are as far apart as anything else.
        return Some(0.0);
    }
    let radii: Vec<f64> = (0..usable).map(radius).collect();
    let first = &radii[..FIRST_SHELLS.min(usable)];
    let few = some.count_neighbours(-1.0, first, scale, CENTERS[0]);
    if few.iter().map(|shell| shell.alike).sum::<u32>() < FEWEST_PAIRS[1] {
        return Some(0.0);
    }
    let chance = some.chance_of_near_targets(&radii, scale);
    let (mut ratios, mut shares): (Vec<f64>, Vec<f64>) = (Vec::new(), Vec::new());
    while ratios.len() < usable {
        let from = ratios.len();
        let to = if from == 0 { FIRST_SHELLS } else { from + 2 }.min(usable);
        let before = if from == 0 { -1.0 } else { radii[from - 1] };
        let shells = some.count_neighbours(before, &radii[from..to], scale, CENTERS[1]);
        ratios.extend(shells.iter().zip(&chance[from..]).map(|(shell, chance)| shell.ratio_to(*chance)));
        shares.extend(shells.iter().map(Shell::share));
        if ratios[from..].iter().all(|ratio| *ratio < CLEARLY) {
            break;
        }
    }
    let Some(last) = ratios.iter().rposition(|ratio| *ratio >= CLEARLY) else { return Some(0.0) };
    let length = fading(&radii, &ratios, last);
    Some(scale * if shares[last] >= ABRUPT { 2.0 * length } else { length })
}

impl Shell {
    /// Share of neighbours with neighbouring targets.
    fn share(&self) -> f64 {
        f64::from(self.alike) / f64::from(self.neighbours.max(1))
    }

    /// Share of neighbours with neighbouring targets, relative to chance; zero where there are too few to tell.
    fn ratio_to(&self, chance: f64) -> f64 {
        let neighbours = f64::from(self.neighbours);
        let share = self.share();
        let enough = self.neighbours >= FEWEST_PAIRS[0]
            && self.alike >= FEWEST_PAIRS[1]
            && share > (CLEARLY * chance + 3.0 * (chance.max(1e-4) / neighbours).sqrt()).max(LEAST_SHARE);
        if enough {
            share / chance.max(1.0 / RANDOM_PAIRS as f64)
        } else {
            share.min(chance) / chance.max(1e-300)
        }
    }
}

/// The distance at which the ratio to chance falls to `CLEARLY`, interpolated between the `last` shell in which it is larger and the next.
fn fading(radii: &[f64], ratios: &[f64], last: usize) -> f64 {
    let Some(outer) = ratios.get(last + 1) else { return radii[last] };
    let part = libm::log(ratios[last] / CLEARLY) / libm::log(ratios[last] / outer.max(1.0));
    radii[last] * libm::pow(radii[last + 1] / radii[last], part)
}

/// Matches that follow none of the candidates, sorted along the first axis of the source.
#[derive(Debug)]
struct Sample {
    sources: [Vec<f64>; 3],
    targets: [Vec<f64>; 3],
}

impl Sample {
    fn new(points: &Soa, some: &[u32]) -> Self {
        let copy = |columns: &[Vec<f64>; 3]| {
            columns.each_ref().map(|column| some.iter().map(|&i| column[i as usize]).collect())
        };
        Self { sources: copy(&points.a), targets: copy(&points.b) }
    }

    fn len(&self) -> usize {
        self.sources[0].len()
    }

    /// Median distance of a source to its nearest neighbour.
    fn median_nearest(&self) -> f64 {
        let x = &self.sources[0];
        let mut nearest: Vec<f64> = evenly(self.len(), self.len().min(NEAREST))
            .map(|k| {
                let mut best = f64::INFINITY;
                let mut look_at = |l: usize| {
                    if (x[l] - x[k]).powi(2) >= best {
                        return false;
                    }
                    best = best.min(squared_distance(&self.sources, k, l));
                    true
                };
                let _ = (k + 1..x.len()).all(&mut look_at);
                let _ = (0..k).rev().all(&mut look_at);
                best
            })
            .collect();
        nearest.sort_unstable_by(f64::total_cmp);
        nearest[nearest.len() / 2].sqrt()
    }

    /// Share of any two matches whose targets are within each radius, times the scale.
    fn chance_of_near_targets(&self, radii: &[f64], scale: f64) -> Vec<f64> {
        let mut random = Random::new(0);
        let mut near = vec![0_u32; radii.len()];
        for _ in 0..RANDOM_PAIRS {
            let first = random.below(self.len());
            let other = (first + 1 + random.below(self.len() - 1)) % self.len();
            let square = squared_distance(&self.targets, first, other);
            for (near, radius) in near.iter_mut().zip(radii) {
                *near += u32::from(square <= (scale * radius).powi(2));
            }
        }
        near.iter().map(|&near| f64::from(near) / RANDOM_PAIRS as f64).collect()
    }

    /// Neighbours farther than `before` in the shells of these `radii`.
    fn count_neighbours(&self, before: f64, radii: &[f64], scale: f64, centers: usize) -> Vec<Shell> {
        let mut shells = vec![Shell::default(); radii.len()];
        let reach = radii[radii.len() - 1];
        let (before_sq, reach_sq) = (before * before.abs(), reach * reach);
        let x = &self.sources[0];
        for k in evenly(self.len(), self.len().min(centers)) {
            let centre = self.sources.each_ref().map(|column| column[k]);
            let start = x.partition_point(|x| *x < centre[0] - reach);
            for start in (start..self.len()).step_by(64) {
                if x[start] - centre[0] > reach {
                    break;
                }
                let mut left = near_bits(&self.sources, start, centre, reach);
                while left != 0 {
                    let l = start + left.trailing_zeros() as usize;
                    left &= left - 1;
                    let square = squared_distance(&self.sources, k, l);
                    if l == k || square > reach_sq || square <= before_sq {
                        continue;
                    }
                    let shell =
                        radii.iter().position(|radius| square <= radius * radius).unwrap_or(radii.len() - 1);
                    let alike = squared_distance(&self.targets, k, l) <= (scale * radii[shell]).powi(2);
                    shells[shell].neighbours += 1;
                    shells[shell].alike += u32::from(alike);
                }
            }
        }
        shells
    }
}

fn squared_distance(columns: &[Vec<f64>; 3], k: usize, l: usize) -> f64 {
    let [x, y, z] = columns.each_ref().map(|column| column[k] - column[l]);
    x * x + y * y + z * z
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Wrong matches in patches: the sources of a patch lie within `size` of each other, and so do the targets.
    fn patches(count: usize, members: usize, size: f64, seed: u64) -> Soa {
        let mut random = Random::new(seed);
        let mut points = Soa::default();
        for _ in 0..count {
            let centers: [[f64; 3]; 2] =
                std::array::from_fn(|_| std::array::from_fn(|_| 2.0 * random.uniform() - 1.0));
            for _ in 0..members {
                let mut near = |x: f64| x + size * (random.uniform() - 0.5);
                for (column, x) in points.a.iter_mut().chain(&mut points.b).zip(centers.as_flattened()) {
                    column.push(near(*x));
                }
            }
        }
        points
    }

    fn length(points: &Soa) -> Option<f64> {
        let far = Similarity::from_translation([100.0, 0.0, 0.0]);
        correlation_length(points, &[&far], 1.0, 1.0)
    }

    #[test]
    fn independent_matches_have_none() {
        for seed in 0..20 {
            for count in [30, 100, 1000, 5000] {
                let length = length(&patches(count, 1, 0.0, seed));
                assert_eq!(length, Some(0.0), "{count} {seed}");
            }
        }
    }

    /// The length grows with the patch and covers most of it.
    #[test]
    fn patches_are_measured() {
        for seed in 0..20 {
            for size in [0.01, 0.03] {
                let length = length(&patches(200, 6, size, seed)).expect("enough matches");
                assert!((0.6 * size..5.0 * size).contains(&length), "{size}: {length}");
            }
        }
    }

    #[test]
    fn pairs_of_neighbours_are_seen() {
        for seed in 0..20 {
            let length = length(&patches(150, 2, 0.004, seed)).expect("enough matches");
            assert!(length > 0.002, "{length}");
        }
    }

    /// Right matches are all neighbours of neighbours; without them nothing is left.
    #[test]
    fn matches_that_follow_a_candidate_are_left_out() {
        let mut points = patches(1000, 1, 0.0, 1);
        points.b = points.a.clone();
        assert_eq!(correlation_length(&points, &[&Similarity::IDENTITY], 1.0, 1.0), None);
        assert!(length(&points).is_some_and(|length| length > 0.1));
    }
}
