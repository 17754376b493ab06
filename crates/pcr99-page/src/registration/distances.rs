//! Distances between the clouds after registration: from each drawn source point to the surface of the target.

use pcr99::Similarity;
use pcr99_base::{
    eigen::symmetric_eigen,
    vector::{distance_sq, dot, minus},
};
use pcr99_cloud::tree::KdTree;
use pcr99_document::Document;
use serde::Serialize;

use super::thin::thinned;
use crate::numbers::{percent, rough, shown};

/// Largest number of target points that are searched; more are thinned. The surface is a plane through the nearest ones, so a thinner target changes little.
const MOST_TARGET: usize = 1_000_000;
/// Distance in voxels within which clouds overlap, as in the fit of the document.
const OVERLAP: f64 = 1.5;
/// Number of target points that the local plane is fitted to.
const NEAREST: usize = 8;
/// Second eigenvalue of points on a line, as a fraction of the first: they determine no plane.
const LINE: f64 = 0.01;
/// Bars of the histogram.
const BARS: usize = 40;
/// Values of the page are multiples of this fraction of the limit.
const STEPS: f64 = 1000.0;

/// Distances of the drawn source points, and what is said about them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Distances {
    /// Distance of each point, in thousandths of `limit`; −1 beyond it.
    values: Vec<i32>,
    /// Largest distance of overlapping points, in target units.
    limit: f64,
    /// Upper end of the colours and of the histogram, in target units: the 99 % quantile.
    top: f64,
    /// Points in each bar from 0 to `top`.
    counts: Vec<usize>,
    /// Quantiles in words.
    #[serde(skip)]
    pub(crate) sentence: String,
}

impl Distances {
    /// Distances of the points in `source` after the registration of a document of clouds; `None` where it has no transform, or nothing overlaps.
    pub(crate) fn of(document: &Document, source: &[[f64; 3]], target: &[[f64; 3]]) -> Option<Self> {
        let Document::Clouds(clouds) = document else { return None };
        let limit = OVERLAP * clouds.voxel;
        let surface = Surface::new(target, limit)?;
        let pose = document.target_from_source()?;
        let distances: Vec<Option<f64>> = source.iter().map(|&p| surface.distance(&pose, p)).collect();
        Self::from_list(&distances, limit)
    }

    fn from_list(distances: &[Option<f64>], limit: f64) -> Option<Self> {
        let mut near: Vec<f64> = distances.iter().copied().flatten().collect();
        near.sort_unstable_by(f64::total_cmp);
        let quantile = |part: f64| near.get((part * (near.len() as f64 - 1.0)).round() as usize).copied();
        let (median, most, last) = (quantile(0.5)?, quantile(0.95)?, quantile(0.99)?);
        let top = if last > 0.0 { last } else { limit };
        let mut counts = vec![0; BARS];
        for x in near.iter().filter(|x| **x <= top) {
            counts[((x / top * BARS as f64) as usize).min(BARS - 1)] += 1;
        }
        let share = near.len() as f64 / distances.len() as f64;
        let sentence = format!(
            "{} of the drawn source points have target points within {} (1.5 voxels). Of these, half are within {} of the target's surface, and 95 % within {}.",
            percent(share),
            shown(limit),
            rough(median),
            rough(most),
        );
        let value = |distance: &Option<f64>| distance.map_or(-1, |x| (STEPS * x / limit).round() as i32);
        Some(Self { values: distances.iter().map(value).collect(), limit, top, counts, sentence })
    }
}

/// The target as a surface.
struct Surface {
    points: Vec<[f64; 3]>,
    tree: KdTree,
    /// Subtracted from all points, so that digits of far coordinates are not lost.
    origin: [f64; 3],
    limit: f64,
}

impl Surface {
    fn new(target: &[[f64; 3]], limit: f64) -> Option<Self> {
        let is_usable = limit.is_finite() && limit > 0.0;
        let finite: Vec<[f64; 3]> =
            target.iter().filter(|p| p.iter().all(|x| x.is_finite())).copied().collect();
        let origin = *finite.first().filter(|_| is_usable)?;
        let points: Vec<[f64; 3]> =
            thinned(finite.len(), MOST_TARGET).into_iter().map(|i| minus(finite[i], origin)).collect();
        let tree = KdTree::new(&points);
        Some(Self { points, tree, origin, limit })
    }

    /// Distance of a source point from the plane through the target points around it; `None` when none is within the limit.
    fn distance(&self, pose: &Similarity, p: [f64; 3]) -> Option<f64> {
        let p = minus(pose.apply(p), self.origin);
        let mut near: Vec<(f64, usize)> = Vec::new();
        self.tree.for_each_within(p, self.limit, |found| {
            near.push((distance_sq(self.points[found.index], p), found.index));
        });
        near.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let nearest = near.first()?.0.sqrt();
        near.truncate(NEAREST);
        let around: Vec<[f64; 3]> = near.iter().map(|&(_, i)| self.points[i]).collect();
        Some(plane_distance(&around, p).map_or(nearest, |x| x.min(nearest)))
    }
}

/// Distance of a point from the plane that fits points best; `None` where they determine none.
fn plane_distance(points: &[[f64; 3]], p: [f64; 3]) -> Option<f64> {
    if points.len() < 5 {
        return None;
    }
    let count = points.len() as f64;
    let middle: [f64; 3] = std::array::from_fn(|k| points.iter().map(|q| q[k]).sum::<f64>() / count);
    let mut spread = [[0.0; 3]; 3];
    for q in points.iter().map(|&q| minus(q, middle)) {
        for (row, x) in spread.iter_mut().zip(q) {
            row.iter_mut().zip(q).for_each(|(sum, y)| *sum += x * y);
        }
    }
    let (values, vectors) = symmetric_eigen(&spread);
    (values[1] > LINE * values[2]).then(|| dot(vectors[0], minus(p, middle)).abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_above_a_plane_is_as_far_as_it_is_high() {
        let target: Vec<[f64; 3]> =
            (0..400).map(|k| [f64::from(k % 20) * 0.1 + 5e6, f64::from(k / 20) * 0.1, 7.0]).collect();
        let surface = Surface::new(&target, 0.5).expect("points");
        // Between four points: the nearest is 0.07 away, the plane 0.02.
        let found = surface.distance(&Similarity::IDENTITY, [5e6 + 1.05, 1.05, 7.02]).expect("a distance");
        assert!((found - 0.02).abs() < 1e-6, "{found}");
        assert_eq!(surface.distance(&Similarity::IDENTITY, [5e6 + 1.05, 1.05, 7.6]), None);
        // On a line of points, the nearest one counts.
        let line: Vec<[f64; 3]> = (0..40).map(|k| [f64::from(k) * 0.1, 0.0, 0.0]).collect();
        let surface = Surface::new(&line, 0.5).expect("points");
        let found = surface.distance(&Similarity::IDENTITY, [1.0, 0.0, 0.3]).expect("a distance");
        assert!((found - 0.3).abs() < 1e-12, "{found}");
        assert!(Surface::new(&[[f64::NAN; 3]], 0.5).is_none());
    }

    #[test]
    fn quantiles_and_bars_count_every_near_point() {
        let list: Vec<Option<f64>> = (0..200).map(|k| (k % 2 == 0).then(|| f64::from(k) * 1e-4)).collect();
        let found = Distances::from_list(&list, 0.1).expect("distances");
        assert_eq!(found.values.iter().filter(|x| **x < 0).count(), 100);
        assert_eq!(found.counts.iter().sum::<usize>(), 99, "the last percent is beyond the bars");
        assert!(found.sentence.starts_with("50 % of the drawn source points"), "{}", found.sentence);
        assert!(
            found.sentence.contains("half are within 0.01 ") && found.sentence.contains("95 % within 0.019"),
            "{}",
            found.sentence
        );
        assert_eq!(Distances::from_list(&[None, None], 0.1), None);
        assert_eq!(Distances::from_list(&[], 0.1), None);
    }
}
