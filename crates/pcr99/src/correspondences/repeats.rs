//! Matches that repeat others.
//!
//! A match that is given several times says no more than once. Of many matches that lead to one point, one is right at most: such a *hub* attracts the descriptors of
//! many points. Where either makes up a good part of the matches, the evidence is weighed without them.

use pcr99_base::Soa;

use super::Correspondences;

/// Number of distinct matches of one point from which it is a hub, and their share of all: each of its matches is left out. Nearest neighbours are often
/// given by the dozen.
const HUB: usize = 16;
const HUB_SHARE: f64 = 0.05;
/// Share of the matches that must repeat others for them to be left out.
const SHARE: f64 = 0.1;

impl Correspondences {
    /// The matches without repeated ones and without those of hubs; `None` when these are few, or when too few others remain.
    pub(crate) fn without_repeats(&self) -> Option<Self> {
        let n = self.len();
        let kept = distinct(&self.points);
        if kept.len() as f64 > (1.0 - SHARE) * n as f64 {
            return None;
        }
        let pick = |columns: &[Vec<f64>; 3], frame: &super::Frame| -> Vec<[f64; 3]> {
            let point = |&i: &u32| frame.outward(columns.each_ref().map(|column| column[i as usize]));
            kept.iter().map(point).collect()
        };
        let source = pick(&self.points.a, &self.source);
        let target = pick(&self.points.b, &self.target);
        let mut pairs = Self::new(&source, &target).ok()?;
        // The coordinates are as rough as they were.
        pairs.source.rounding =
            pairs.source.rounding.max(self.source.rounding * self.source.unit / pairs.source.unit);
        pairs.target.rounding =
            pairs.target.rounding.max(self.target.rounding * self.target.unit / pairs.target.unit);
        if self.differ_in_noise() {
            let deviation = |&i: &u32| self.points.precision[i as usize].sqrt().recip();
            pairs = pairs.with_standard_deviations(&kept.iter().map(deviation).collect::<Vec<_>>()).ok()?;
        }
        pairs.weights =
            self.weights.as_ref().map(|weights| kept.iter().map(|&i| weights[i as usize]).collect());
        pairs.correlation_length =
            self.correlation_length.map(|length| length * self.target.unit / pairs.target.unit);
        Some(match self.vertical {
            Some(vertical) => pairs.with_vertical(vertical),
            None => pairs,
        })
    }
}

/// The first row of each distinct match that leads from no hub and to none, ascending.
fn distinct(points: &Soa) -> Vec<u32> {
    let n = points.a[0].len();
    // Adding zero turns −0 into 0, which is the same place.
    let bits = |p: [f64; 3]| p.map(|x| (x + 0.0).to_bits());
    let source = |i: u32| bits(points.source(i as usize));
    let target = |i: u32| bits(points.target(i as usize));
    let mut rows: Vec<u32> = (0..n as u32).collect();
    rows.sort_unstable_by_key(|&i| (source(i), target(i), i));
    rows.dedup_by_key(|i| (source(*i), target(*i)));
    let most = HUB.max((HUB_SHARE * rows.len() as f64) as usize);
    let mut is_hub = vec![false; n];
    let mut mark = |rows: &[u32], point: &dyn Fn(u32) -> [u64; 3]| {
        for group in rows.chunk_by(|&i, &j| point(i) == point(j)).filter(|group| group.len() > most) {
            group.iter().for_each(|&i| is_hub[i as usize] = true);
        }
    };
    mark(&rows, &source);
    rows.sort_unstable_by_key(|&i| (target(i), i));
    mark(&rows, &target);
    rows.retain(|&i| !is_hub[i as usize]);
    rows.sort_unstable();
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    fn cloud(n: usize, seed: u64) -> Vec<[f64; 3]> {
        let mut random = Random::new(seed);
        (0..n).map(|_| std::array::from_fn(|_| random.uniform())).collect()
    }

    #[test]
    fn repeated_rows_count_once() {
        let (a, b) = (cloud(30, 1), cloud(30, 2));
        let repeat = |points: &[[f64; 3]]| -> Vec<[f64; 3]> { (0..90).map(|k| points[k % 30]).collect() };
        let pairs = Correspondences::new(&repeat(&a), &repeat(&b)).unwrap();
        assert_eq!(distinct(&pairs.points), (0..30).collect::<Vec<_>>());
        assert_eq!(pairs.without_repeats().map(|pairs| pairs.len()), Some(30));
        assert!(Correspondences::new(&a, &b).unwrap().without_repeats().is_none(), "nothing is repeated");
    }

    #[test]
    fn hubs_are_left_out_and_neighbours_kept() {
        let (a, mut b) = (cloud(100, 3), cloud(100, 4));
        b[..40].fill([0.5; 3]);
        let pairs = Correspondences::new(&a, &b).unwrap();
        assert_eq!(distinct(&pairs.points), (40..100).collect::<Vec<_>>());
        // Ten neighbours of each source are no hub.
        let near: Vec<[f64; 3]> = (0..100).map(|k| a[k / 10]).collect();
        assert!(Correspondences::new(&near, &cloud(100, 5)).unwrap().without_repeats().is_none());
    }
}
