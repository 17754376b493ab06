//! Candidates: transforms that are refined until their inliers no longer change, with their evidence, and the list of the best.

use pcr99_base::{
    Soa,
    kernel::{
        consensus::{Affine, squared_residual},
        edges::common,
        residuals::{mask_within, squared_residuals},
        sums::{fit_sums_within, sum},
    },
    least_squares,
    upright::Tilt,
};

use super::nearby::Nearby;
use crate::{
    Evidence, Similarity,
    evidence::{Background, Consensus, Judge, Scope, Weighed, fitted_parameters},
};

/// A refined transform with its inliers and its evidence among the points that it was judged on.
#[derive(Debug, Clone)]
pub(super) struct Candidate {
    pub(super) model: Similarity,
    /// Indices of the matches within the threshold, ascending.
    pub(super) inliers: Vec<u32>,
    /// The inliers as a bit mask over all matches.
    pub(super) mask: Vec<u64>,
    /// Root mean square residual of the inliers, in normalised units.
    pub(super) rmse: f64,
    pub(super) evidence: Evidence,
    /// Independent inliers beyond the number that chance explains.
    pub(super) surplus: f64,
    /// The inlier threshold, in normalised units.
    pub(super) delta: f64,
    /// Whether it was refined on all matches already.
    pub(super) promoted: bool,
    /// Whether it exceeds chance against an even background. Then its pairs need not be tried again.
    pub(super) stands_out: bool,
    /// Independent inliers, where wrong matches would not agree as often with this one transform if it were given; else zero.
    beyond_transform: usize,
}

impl Candidate {
    /// Whether its own evidence confirms it, rivals aside.
    pub(super) fn is_registered(&self) -> bool {
        self.evidence.doubt(self.inliers.len()).is_none()
    }

    /// Whether chance alone does not explain it. Its inliers may still be a single patch.
    pub(super) fn exceeds_chance(&self) -> bool {
        self.evidence.exceeds_chance()
    }

    /// Whether its inliers are at more places than any transform can be made to fit.
    pub(super) fn has_places(&self) -> bool {
        self.evidence.has_places()
    }

    /// Whether it comes before `other`. Candidates that chance does not explain come first, then those with more independent inliers beyond chance, then those
    /// with less chance.
    pub(super) fn is_better_than(&self, other: &Self) -> bool {
        let order = |c: &Self| (!c.exceeds_chance(), -c.surplus, c.evidence.log10_nfa);
        order(self) < order(other)
    }

    /// Whether match `i` is an inlier.
    pub(super) fn explains(&self, i: u32) -> bool {
        self.mask[i as usize / 64] >> (i % 64) & 1 == 1
    }

    /// Whether two candidates share an inlier.
    pub(super) fn touches(&self, other: &Self) -> bool {
        common(&self.mask, &other.mask) > 0
    }

    /// Whether it is far tighter than `other`, which has most of its inliers.
    pub(super) fn is_part_of(&self, other: &Self) -> bool {
        let shared = common(&self.mask, &other.mask) as usize;
        TIGHTER * self.delta < other.delta && 2 * shared > self.inliers.len()
    }

    /// Whether two candidates share more than half of the inliers of the smaller one.
    fn is_like(&self, other: &Self) -> bool {
        let shared = common(&self.mask, &other.mask) as usize;
        2 * shared > self.inliers.len().min(other.inliers.len())
    }
}

/// Threshold, scale constraint and background of a problem, in normalised units.
#[derive(Debug, Clone, Copy)]
pub(super) struct Model {
    /// The inlier threshold `δ`.
    pub(super) delta: f64,
    /// The scale `s`, when it is known.
    pub(super) known_scale: Option<f64>,
    /// Lower and upper bound of an unknown `s`.
    pub(super) scale_range: Option<[f64; 2]>,
    /// How far the third axis may tilt, where it is the known vertical.
    pub(super) tilt: Option<Tilt>,
    pub(super) background: Background,
    /// Which matches a consensus is judged among.
    pub(super) scope: Scope,
}

impl Model {
    /// Number of parameters that a fit estimates.
    pub(super) fn parameters(&self) -> f64 {
        fitted_parameters(self.known_scale, self.tilt)
    }

    /// Whether the scale of a fit was clamped to a bound.
    fn is_at_bound(&self, model: &Similarity) -> bool {
        self.scale_range.is_some_and(|range| range.contains(&model.scale()))
    }

    /// The weighted least-squares fit of `inliers`, with the scale known, free, or clamped to its range.
    pub(super) fn fit(
        &self,
        points: &Soa,
        inliers: &[u32],
        weight: impl Fn(usize) -> f64,
    ) -> Option<Similarity> {
        let Some(tilt) = self.tilt else {
            return self
                .fit_by(|known_scale| least_squares::fit_weighted(points, inliers, known_scale, &weight));
        };
        // Two matches say nothing about a tilt, and three little.
        let tilt = if inliers.len() < FEWEST_FOR_TILT { Tilt::NONE } else { tilt };
        let sums = least_squares::weighted_sums(points, inliers, &weight);
        self.fit_by(|known_scale| least_squares::fit_sums_upright(&sums, known_scale, &tilt))
    }

    /// The fit of a clique. Matches of a large clique that its fit does not explain are left out one by one: with an unknown scale, a wrong match may be consistent with
    /// all others within the tolerance on the scale, and turn the fit away from all of them.
    pub(super) fn fit_clique(&self, points: &Soa, clique: &[u32]) -> Option<Similarity> {
        let mut model = self.fit(points, clique, |_| 1.0)?;
        let mut kept = clique.to_vec();
        while kept.len() > LARGE_CLIQUE.max(2 * clique.len() / 3) {
            let affine = Affine::from(&model);
            let square = |i: u32| squared_residual(points, &affine, i as usize);
            let worst = (0..kept.len()).max_by(|&k, &l| square(kept[k]).total_cmp(&square(kept[l])))?;
            if square(kept[worst]) <= self.delta * self.delta {
                break;
            }
            kept.swap_remove(worst);
            model = self.fit(points, &kept, |_| 1.0)?;
        }
        Some(model)
    }

    /// The fit of all matches whose squared residual is at most `δ²`.
    fn fit_within(&self, points: &Soa, residuals: &[f64]) -> Option<Similarity> {
        let sums = fit_sums_within(points, residuals, self.delta * self.delta);
        self.fit_by(|known_scale| match &self.tilt {
            None => least_squares::fit_sums(&sums, known_scale),
            Some(tilt) => least_squares::fit_sums_upright(&sums, known_scale, tilt),
        })
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

/// Number of matches from which a fit looks for a tilt of the vertical. Fewer do not tell it from noise.
const FEWEST_FOR_TILT: usize = 4;
/// Number of members above which one of a clique may be left out. Wrong matches rarely form a larger one.
const LARGE_CLIQUE: usize = 5;

/// Penalty on `log10_nfa` of a fit whose scale was clamped. It may belong to a consensus outside the range, so it needs 10⁴ times
/// the evidence.
const AT_BOUND_PENALTY: f64 = 4.0;

/// Alternates between collecting inliers and refitting. Buffers are kept between calls.
#[derive(Debug, Default)]
pub(super) struct Refiner {
    residuals: Vec<f64>,
    /// Bit mask of the matches within the threshold.
    mask: Vec<u64>,
    before: Vec<u64>,
    inliers: Vec<u32>,
    inlier_residuals: Vec<f64>,
    nearby: Nearby,
}

/// A pass over all matches is faster than a pass over a list when more than one match in this many is an inlier.
const DENSE: usize = 5;
/// Largest number of refits. Sets that converge at all do so in fewer.
const MOST_REFITS: usize = 30;

impl Refiner {
    /// Refines `model` on `points` and judges the result; `None` when fewer than three inliers remain.
    pub(super) fn refine(
        &mut self,
        points: &Soa,
        model: Similarity,
        known: &Model,
        judge: &mut Judge,
    ) -> Option<Candidate> {
        let model = self.converge(points, model, known)?;
        self.judged(points, model, known, judge)
    }

    /// Like [`refine`](Self::refine), but returns `None` when a candidate in `found` already covers the inliers of `model`.
    pub(super) fn refine_unless_known(
        &mut self,
        points: &Soa,
        model: Similarity,
        known: &Model,
        judge: &mut Judge,
        found: &Best,
    ) -> Option<Candidate> {
        self.collect(points, &model, known.delta);
        if found.covers(&self.mask) {
            return None;
        }
        let model = self.converge_collected(points, model, known)?;
        self.judged(points, model, known, judge)
    }

    /// Like [`refine`](Self::refine), but returns `None` when `model` has fewer than `least` inliers to start from, or when it is refined to inliers
    /// that were `seen` before.
    pub(super) fn refine_unless_seen(
        &mut self,
        points: &Soa,
        model: Similarity,
        known: &Model,
        least: usize,
        seen: &mut Vec<Vec<u64>>,
        judge: &mut Judge,
    ) -> Option<Candidate> {
        self.collect(points, &model, known.delta);
        if count(&self.mask) < least {
            return None;
        }
        let model = self.converge_collected(points, model, known)?;
        if seen.contains(&self.mask) {
            return None;
        }
        seen.push(self.mask.clone());
        self.judged(points, model, known, judge)
    }

    /// Refits to the inliers of `model` until they no longer change; `None` when fewer than three remain.
    pub(super) fn converge(&mut self, points: &Soa, model: Similarity, known: &Model) -> Option<Similarity> {
        self.collect(points, &model, known.delta);
        self.converge_collected(points, model, known)
    }

    /// Exchanges the mask of the inliers collected last with `other`. Returns whether they were the same.
    pub(super) fn swap_mask(&mut self, other: &mut Vec<u64>) -> bool {
        std::mem::swap(&mut self.mask, other);
        self.mask == *other
    }

    /// Refits to the inliers that were collected, and collects again, until they no longer change.
    fn converge_collected(
        &mut self,
        points: &Soa,
        mut model: Similarity,
        known: &Model,
    ) -> Option<Similarity> {
        self.nearby.clear();
        self.nearby.assign(points, &Affine::from(&model), &self.residuals[..points.len()], known.delta);
        for _ in 0..MOST_REFITS {
            let count = count(&self.mask);
            if count < 3 {
                return None;
            }
            model = if DENSE * count > points.len() {
                known.fit_within(points, &self.residuals[..points.len()])?
            } else {
                list(&self.mask, &mut self.inliers);
                known.fit(points, &self.inliers, |_| 1.0)?
            };
            std::mem::swap(&mut self.before, &mut self.mask);
            self.collect_again(points, &model, known.delta);
            if self.mask == self.before {
                break;
            }
        }
        Some(model)
    }

    /// The squared residuals of all matches.
    pub(super) fn residuals(&mut self, points: &Soa, model: &Similarity) -> &[f64] {
        self.residuals.resize(points.len().max(self.residuals.len()), 0.0);
        let residuals = &mut self.residuals[..points.len()];
        squared_residuals(points, &Affine::from(model), residuals);
        residuals
    }

    /// Judges `model` without refining it.
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

    /// The core of the residuals of `model` up to `known.delta`: the radius at which the number of false alarms is smallest, and the squared
    /// residuals within; `None` when no radius holds four independent inliers.
    pub(super) fn core(
        &mut self,
        points: &Soa,
        model: &Similarity,
        known: &Model,
        judge: &mut Judge,
    ) -> Option<(f64, &[f64])> {
        self.collect(points, model, known.delta);
        self.list_inliers();
        let radius = judge.core_radius(&self.consensus(points, model, known), &known.background)?;
        // The radius was rounded.
        let limit = radius * radius * (1.0 + 1e-9);
        self.inlier_residuals.retain(|square| *square <= limit);
        Some((radius, &self.inlier_residuals))
    }

    /// Lists the matches within the threshold, with their squared residuals.
    fn list_inliers(&mut self) {
        list(&self.mask, &mut self.inliers);
        self.inlier_residuals.clear();
        self.inlier_residuals.extend(self.inliers.iter().map(|&i| self.residuals[i as usize]));
    }

    /// The consensus of `model` among the matches that were listed.
    fn consensus<'a>(&'a self, points: &'a Soa, model: &'a Similarity, known: &Model) -> Consensus<'a> {
        Consensus {
            points,
            model,
            inliers: &self.inliers,
            residuals: &self.inlier_residuals,
            sum: sum(&self.inlier_residuals),
            delta: known.delta,
            parameters: known.parameters(),
            tilt: known.tilt,
        }
    }

    fn judged(
        &mut self,
        points: &Soa,
        model: Similarity,
        known: &Model,
        judge: &mut Judge,
    ) -> Option<Candidate> {
        self.list_inliers();
        if self.inliers.len() < 3 {
            return None;
        }
        let consensus = self.consensus(points, &model, known);
        let penalty = if known.is_at_bound(&model) { AT_BOUND_PENALTY } else { 0.0 };
        let Weighed { evidence, surplus, stands_out, beyond_transform } =
            judge.weigh(&consensus, &known.background, penalty, known.scope);
        let rmse = if points.precision.is_empty() {
            (consensus.sum / self.inliers.len() as f64).sqrt()
        } else {
            least_squares::rmse(points, &self.inliers, &model)?
        };
        let (inliers, mask) = (self.inliers.clone(), self.mask.clone());
        let delta = known.delta;
        let promoted = false;
        Some(Candidate {
            model,
            inliers,
            mask,
            rmse,
            evidence,
            surplus,
            delta,
            promoted,
            stands_out,
            beyond_transform,
        })
    }

    /// Like [`collect`](Self::collect), for a transform that may hardly differ from that of the last call. Residuals beyond `delta` may stay what they were beyond it.
    fn collect_again(&mut self, points: &Soa, model: &Similarity, delta: f64) {
        let (n, affine) = (points.len(), Affine::from(model));
        self.mask.resize(n.div_ceil(64), 0);
        if !self.nearby.collect(points, &affine, delta, &mut self.residuals[..n], &mut self.mask) {
            self.collect(points, model, delta);
            self.nearby.assign(points, &affine, &self.residuals[..n], delta);
        }
    }

    /// Computes residuals and inlier mask of `model`.
    fn collect(&mut self, points: &Soa, model: &Similarity, delta: f64) {
        let n = points.len();
        // Never shrunk, so that growing again does not clear what is overwritten anyway.
        if self.residuals.len() < n {
            self.residuals.resize(n, 0.0);
        }
        self.mask.resize(n.div_ceil(64), 0);
        squared_residuals(points, &Affine::from(model), &mut self.residuals[..n]);
        mask_within(&self.residuals[..n], delta * delta, &mut self.mask);
    }
}

/// Number of bits set.
fn count(mask: &[u64]) -> usize {
    common(mask, mask) as usize
}

/// Positions of the bits set.
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

/// Distance from which a transform contradicts another, in thresholds. Nearer ones share a consensus and are told apart by `modes`.
const FAR: f64 = 1.5;
/// Ratio of thresholds from which one candidate is far tighter than another.
const TIGHTER: f64 = 2.0;
/// Fraction of a transform's inliers that counts as already explained by another candidate.
const COVERED_SHARE: f64 = 0.8;

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

    /// Largest number of candidates that are kept.
    pub(super) fn most(&self) -> usize {
        self.most
    }

    pub(super) fn all(&self) -> &[Candidate] {
        &self.kept
    }

    /// The transforms of those among the first `most` candidates that were not refined on all matches yet and are `worth` it.
    pub(super) fn take_new(
        &mut self,
        most: usize,
        worth: impl Fn(usize, &Candidate) -> bool,
    ) -> Vec<Similarity> {
        let first = self.kept.iter_mut().take(most).enumerate();
        let new = first.filter(|(k, candidate)| !candidate.promoted && worth(*k, candidate));
        new.map(|(_, candidate)| {
            candidate.promoted = true;
            candidate.model
        })
        .collect()
    }

    /// Judges all candidates anew, each with its own threshold, and sorts them.
    pub(super) fn judge_again(&mut self, mut judge: impl FnMut(&Candidate) -> Option<Candidate>) {
        let kept = std::mem::take(&mut self.kept);
        for candidate in &kept {
            if let Some(judged) = judge(candidate) {
                self.insert(judged);
            }
        }
    }

    /// Replaces the best candidate.
    pub(super) fn replace_first(&mut self, candidate: Candidate) {
        self.kept[0] = candidate;
    }

    pub(super) fn first(&self) -> Option<&Candidate> {
        self.kept.first()
    }

    /// The strongest rival of the best candidate: its index in [`all`](Self::all) and the ratio of its surplus to that of the best,
    /// between 0 and 1.
    ///
    /// A rival is explained neither by chance nor by a single patch, and moves more than half of the best's inliers by more than `FAR` thresholds. One with more inliers than the best has
    /// a ratio of 1. It is a rival even if some transform would agree as well by chance, when its own would not: where wrong matches lead from one point of the scene to
    /// another, more of them agree with the right transform than with others.
    pub(super) fn rival(&self, points: &Soa) -> Option<(usize, f64)> {
        let (best, others) = self.kept.split_first()?;
        let delta = best.delta;
        let step = best.inliers.len().div_ceil(64);
        let far = |other: &Candidate| {
            let apart = |&i: &u32| {
                let a = points.source(i as usize);
                let (p, q) = (best.model.apply(a), other.model.apply(a));
                (0..3).map(|axis| (p[axis] - q[axis]).powi(2)).sum::<f64>() > FAR * FAR * delta * delta
            };
            let some = best.inliers.iter().step_by(step);
            2 * some.clone().filter(|i| apart(i)).count() > some.len()
        };
        // Fewer of its inliers may count as independent, but a larger consensus is never refuted by that.
        let is_larger = |other: &Candidate| other.inliers.len() > best.inliers.len();
        let ratio = |other: &Candidate| {
            if is_larger(other) { 1.0 } else { (other.surplus / best.surplus).clamp(0.0, 1.0) }
        };
        let within = |other: &Candidate| {
            let affine = Affine::from(&other.model);
            let near = |i: &&u32| squared_residual(points, &affine, **i as usize) <= delta * delta;
            other.inliers.iter().filter(near).count()
        };
        let may_rival = |other: &Candidate| {
            other.evidence.may_rival()
                || (is_larger(other)
                    && other.beyond_transform > best.beyond_transform
                    && within(other) > best.inliers.len())
        };
        let rivals = others.iter().enumerate().filter(|(_, other)| may_rival(other) && far(other));
        let ratios = rivals.map(|(place, other)| (place + 1, ratio(other)));
        // The first of equals.
        ratios.rev().max_by(|one, other| one.1.total_cmp(&other.1))
    }

    /// Whether this candidate is among them, with the same threshold.
    pub(super) fn has(&self, candidate: &Candidate) -> bool {
        self.kept.iter().any(|kept| kept.delta == candidate.delta && kept.mask == candidate.mask)
    }

    /// Whether chance alone does not explain the best candidate.
    pub(super) fn exceeds_chance(&self) -> bool {
        self.first().is_some_and(Candidate::exceeds_chance)
    }

    /// Whether a candidate that stands out has as many inliers and nearly all of those in `mask`.
    fn covers(&self, mask: &[u64]) -> bool {
        let inliers = count(mask);
        self.kept.iter().filter(|kept| kept.stands_out && kept.inliers.len() >= inliers).any(|kept| {
            let explained = common(mask, &kept.mask) as usize;
            explained as f64 >= COVERED_SHARE * inliers as f64
        })
    }

    /// Whether a candidate blends others: two registered ones are part of it.
    pub(super) fn is_blend(&self, candidate: &Candidate) -> bool {
        self.kept.iter().filter(|kept| kept.is_registered() && kept.is_part_of(candidate)).count() > 1
    }

    /// Adds a candidate in order of evidence, replacing those that share its inliers. It is dropped when one of those is better, or
    /// when the list is full of better ones.
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
