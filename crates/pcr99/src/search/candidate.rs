//! Candidates: transforms refined until stable, with what they are worth; the best few distinct ones.

use pcr99_base::{
    Soa,
    kernel::{
        consensus::Affine,
        edges::common,
        residuals::{mask_within, squared_residuals},
        sums::{fit_sums_within, sum},
    },
    least_squares,
};

use crate::{
    Evidence, Similarity,
    evidence::{Background, Consensus, Judge, Weighed, fitted_parameters},
};

/// A transform that explains its inliers, and what that is worth among the points it was judged on.
#[derive(Debug, Clone)]
pub(super) struct Candidate {
    pub(super) model: Similarity,
    /// Those within the threshold, ascending.
    pub(super) inliers: Vec<u32>,
    /// The same, one bit each.
    mask: Vec<u64>,
    /// Root mean square residual of the inliers.
    pub(super) rmse: f64,
    pub(super) evidence: Evidence,
    /// Whether it was worth looking at, whatever came of it: then its pairs need not be tried again.
    pub(super) stands_out: bool,
}

impl Candidate {
    /// Whether it can be trusted.
    pub(super) fn is_reliable(&self) -> bool {
        self.evidence.doubt(self.inliers.len()).is_none()
    }

    /// Whether chance does not explain it; it may still be one patch of neighbours.
    pub(super) fn is_significant(&self) -> bool {
        self.evidence.is_significant()
    }

    /// The evidence with each patch of neighbours counted once: a hundred copies of one match are worth no more than one.
    fn effective_evidence(&self) -> f64 {
        let log10_nfa = self.evidence.log10_nfa;
        let share = self.evidence.inlier_places as f64 / self.inliers.len() as f64;
        if log10_nfa < 0.0 { share * log10_nfa } else { log10_nfa }
    }

    /// Better: more evidence; then more inliers.
    pub(super) fn is_better_than(&self, other: &Self) -> bool {
        (self.effective_evidence(), other.inliers.len()) < (other.effective_evidence(), self.inliers.len())
    }
    /// Whether match `i` is among its inliers.
    pub(super) fn explains(&self, i: u32) -> bool {
        self.mask[i as usize / 64] >> (i % 64) & 1 == 1
    }

    /// Whether two candidates explain for the most part the same matches.
    fn is_like(&self, other: &Self) -> bool {
        let shared = common(&self.mask, &other.mask) as usize;
        2 * shared > self.inliers.len().min(other.inliers.len())
    }
}

/// What refining needs to know of the problem.
#[derive(Debug, Clone, Copy)]
pub(super) struct Model {
    /// `δ`, in our own units.
    pub(super) delta: f64,
    /// `s`, when it is known.
    pub(super) known_scale: Option<f64>,
    /// Bounds of an unknown `s`.
    pub(super) scale_range: Option<[f64; 2]>,
    pub(super) background: Background,
}

impl Model {
    /// Number of parameters that a fit spends.
    pub(super) fn parameters(&self) -> f64 {
        fitted_parameters(self.known_scale)
    }

    /// Whether a fit was held back by a bound of the scale.
    fn is_at_bound(&self, model: &Similarity) -> bool {
        self.scale_range.is_some_and(|range| range.contains(&model.scale()))
    }

    /// The least-squares fit that keeps to what is known of the scale: at a bound where it would be beyond.
    pub(super) fn fit(
        &self,
        points: &Soa,
        inliers: &[u32],
        weight: impl Fn(usize) -> f64,
    ) -> Option<Similarity> {
        self.fit_by(|known_scale| least_squares::fit_weighted(points, inliers, known_scale, &weight))
    }

    /// Of the matches whose squared residuals are at most `δ²`.
    fn fit_within(&self, points: &Soa, residuals: &[f64]) -> Option<Similarity> {
        let sums = fit_sums_within(points, residuals, self.delta * self.delta);
        self.fit_by(|known_scale| least_squares::fit_sums(&sums, known_scale))
    }

    fn fit_by(&self, fit: impl Fn(Option<f64>) -> Option<Similarity>) -> Option<Similarity> {
        let free = fit(self.known_scale)?;
        match self.scale_range {
            Some([low, high]) if !(low..=high).contains(&free.scale()) => {
                fit(Some(free.scale().clamp(low, high)))
            }
            _ => Some(free),
        }
    }
}

/// A scale at the very end of its range would rather be beyond: the transform may be part of one that is. It needs 10⁴ times the
/// evidence.
const AT_BOUND: f64 = 4.0;

/// Collects and refits until nothing changes; keeps its buffers.
#[derive(Debug, Default)]
pub(super) struct Refiner {
    residuals: Vec<f64>,
    /// The matches within the threshold, one bit each.
    mask: Vec<u64>,
    before: Vec<u64>,
    inliers: Vec<u32>,
    inlier_residuals: Vec<f64>,
}

/// More than one in so many is many.
const MANY: usize = 5;
/// Enough for any set that settles at all.
const MOST_REFITS: usize = 30;

impl Refiner {
    /// Refines `model` on `points` and judges it; `None` when nothing is left of it.
    pub(super) fn refine(
        &mut self,
        points: &Soa,
        model: Similarity,
        known: &Model,
        judge: &mut Judge,
    ) -> Option<Candidate> {
        self.collect(points, &model, known.delta);
        self.refine_collected(points, model, known, judge)
    }

    /// The same, unless what `model` explains as it is has been found already.
    pub(super) fn refine_unless_known(
        &mut self,
        points: &Soa,
        model: Similarity,
        known: &Model,
        judge: &mut Judge,
        found: &Best,
    ) -> Option<Candidate> {
        self.collect(points, &model, known.delta);
        if found.covers(&self.mask) { None } else { self.refine_collected(points, model, known, judge) }
    }

    fn refine_collected(
        &mut self,
        points: &Soa,
        mut model: Similarity,
        known: &Model,
        judge: &mut Judge,
    ) -> Option<Candidate> {
        for _ in 0..MOST_REFITS {
            let count = count(&self.mask);
            if count < 3 {
                return None;
            }
            // Where many are inliers, a pass over all is faster than one over a list.
            model = if MANY * count > points.len() {
                known.fit_within(points, &self.residuals[..points.len()])?
            } else {
                list(&self.mask, &mut self.inliers);
                known.fit(points, &self.inliers, |_| 1.0)?
            };
            std::mem::swap(&mut self.before, &mut self.mask);
            self.collect(points, &model, known.delta);
            if self.mask == self.before {
                break;
            }
        }
        self.judged(points, model, known, judge)
    }

    /// A transform as it is, with the inliers that it explains.
    pub(super) fn judge(
        &mut self,
        points: &Soa,
        model: Similarity,
        known: &Model,
        judge: &mut Judge,
    ) -> Option<Candidate> {
        self.collect(points, &model, known.delta);
        self.judged(points, model, known, judge)
    }

    fn judged(
        &mut self,
        points: &Soa,
        model: Similarity,
        known: &Model,
        judge: &mut Judge,
    ) -> Option<Candidate> {
        list(&self.mask, &mut self.inliers);
        if self.inliers.len() < 3 {
            return None;
        }
        self.inlier_residuals.clear();
        self.inlier_residuals.extend(self.inliers.iter().map(|&i| self.residuals[i as usize]));
        let consensus = Consensus {
            points,
            model: &model,
            inliers: &self.inliers,
            residuals: &self.inlier_residuals,
            sum: sum(&self.inlier_residuals),
            delta: known.delta,
            parameters: known.parameters(),
        };
        let penalty = if known.is_at_bound(&model) { AT_BOUND } else { 0.0 };
        let Weighed { evidence, stands_out } = judge.weigh(&consensus, &known.background, penalty);
        let rmse = (consensus.sum / self.inliers.len() as f64).sqrt();
        let (inliers, mask) = (self.inliers.clone(), self.mask.clone());
        Some(Candidate { model, inliers, mask, rmse, evidence, stands_out })
    }

    /// Residuals and mask of `model`.
    fn collect(&mut self, points: &Soa, model: &Similarity, delta: f64) {
        let n = points.len();
        // Never made smaller: what is left behind needs no clearing when a larger set follows.
        if self.residuals.len() < n {
            self.residuals.resize(n, 0.0);
        }
        self.mask.resize(n.div_ceil(64), 0);
        squared_residuals(points, &Affine::from(model), &mut self.residuals[..n]);
        mask_within(&self.residuals[..n], delta * delta, &mut self.mask);
    }
}

/// How many bits are set.
fn count(mask: &[u64]) -> usize {
    common(mask, mask) as usize
}

/// Which bits are set.
fn list(mask: &[u64], out: &mut Vec<u32>) {
    out.clear();
    for (word, &bits) in (0..).zip(mask) {
        let mut left = bits;
        out.extend((0..bits.count_ones()).map(|_| {
            let bit = left.trailing_zeros();
            left &= left - 1;
            64 * word + bit
        }));
    }
}

/// So many of some matches are nearly all of them.
const NEARLY_ALL: f64 = 0.8;

/// The best few distinct candidates, best first.
#[derive(Debug)]
pub(super) struct Best {
    most: usize,
    kept: Vec<Candidate>,
}

impl Best {
    pub(super) fn new(most: usize) -> Self {
        Self { most, kept: Vec::new() }
    }

    pub(super) fn all(&self) -> &[Candidate] {
        &self.kept
    }

    /// Puts another in the place of the best.
    pub(super) fn replace_first(&mut self, candidate: Candidate) {
        self.kept[0] = candidate;
    }

    pub(super) fn first(&self) -> Option<&Candidate> {
        self.kept.first()
    }

    /// The strongest registered candidate that moves most inliers of the best elsewhere, with its share of the best's
    /// evidence: its place among [`all`](Self::all), and `log10_nfa` of it over that of the best, between 0 and 1.
    pub(super) fn rival(&self, points: &Soa, delta: f64) -> Option<(usize, f64)> {
        let (best, others) = self.kept.split_first()?;
        let step = best.inliers.len().div_ceil(64);
        let far = |other: &Candidate| {
            let apart = |&i: &u32| {
                let a = points.source(i as usize);
                let (p, q) = (best.model.apply(a), other.model.apply(a));
                (0..3).map(|axis| (p[axis] - q[axis]).powi(2)).sum::<f64>() > 9.0 * delta * delta
            };
            let some = best.inliers.iter().step_by(step);
            2 * some.clone().filter(|i| apart(i)).count() > some.len()
        };
        let place = others.iter().position(|other| other.is_reliable() && far(other))?;
        let ratio = others[place].evidence.log10_nfa / best.evidence.log10_nfa;
        Some((place + 1, ratio.clamp(0.0, 1.0)))
    }

    /// Whether chance does not explain the best.
    pub(super) fn is_significant(&self) -> bool {
        self.first().is_some_and(Candidate::is_significant)
    }

    /// Whether one that stands out explains nearly all of these matches, and as many in all.
    fn covers(&self, mask: &[u64]) -> bool {
        let inliers = count(mask);
        self.kept.iter().filter(|kept| kept.stands_out && kept.inliers.len() >= inliers).any(|kept| {
            let explained = common(mask, &kept.mask) as usize;
            explained as f64 >= NEARLY_ALL * inliers as f64
        })
    }

    /// Takes a candidate in, unless one like it is better, or it is worse than all of those there is room for.
    pub(super) fn insert(&mut self, candidate: Candidate) {
        if self.kept.iter().any(|kept| !candidate.is_better_than(kept) && candidate.is_like(kept)) {
            return;
        }
        self.kept.retain(|kept| !candidate.is_like(kept));
        let place = self.kept.partition_point(|kept| !candidate.is_better_than(kept));
        self.kept.insert(place, candidate);
        self.kept.truncate(self.most);
    }
}
