//! TEASER: H. Yang, J. Shi, L. Carlone, "TEASER: Fast and certifiable point cloud registration", IEEE Transactions on Robotics 37
//! (2021), in its fast variant without the certificate.
//!
//! Differences of matches do not depend on the translation, and their lengths do not depend on the rotation. The stages are:
//!
//! 1. the scale, by a vote of all pairs;
//! 2. the largest set of matches whose pairs all agree with the scale: a maximum clique;
//! 3. the rotation, from differences within that set;
//! 4. the translation, by a vote of that set.

mod clique;

mod cores;

mod graph;

mod vote;

use pcr99::{
    Similarity, StopReason,
    random::Random,
    stop::{StopCheck, StopRequest},
};
use pcr99_base::{
    Soa,
    vector::{minus, rotate, times},
};

use self::{
    clique::Cliques,
    graph::Graph,
    vote::{Interval, Voting},
};

use crate::{
    Error,
    baseline::{Baseline, EitherScale, Found, Matches},
    blocks::Rotation,
    error::LARGEST_TABLE_MIB,
    gnc_tls::{Annealing, Limits, TOLERANCE},
};

/// Largest error of an inlier, in σ. Published bounds range from 3σ to 5.54σ, which all but one inlier in a million stay below. The smallest bound gives
/// the sparsest graph and works best here: with 5.54σ, most problems with 99 % outliers and known scale fail.
const BOUND: f64 = 3.0;
/// Largest number of rounds of the rotation, as published.
const MOST_ROUNDS: u64 = 100;
/// Largest distance of a point that votes for the scale, in units of the normalized cloud. The weights of distant pairs would outweigh all others.
const FARTHEST_VOTER: f64 = 1024.0;
/// Memory of the vote per pair, in bytes: the interval, its buckets, both ends.
const BYTES_PER_PAIR: u128 = 16 + 4 + 2 * 16;

/// Truncated least squares estimation with decoupled stages; keeps its buffers.
#[derive(Debug, Default)]
pub(crate) struct Teaser {
    intervals: Vec<Interval>,
    voting: Voting,
    graph: Graph,
    cliques: Cliques,
    differences: Soa,
    annealing: Annealing,
}

impl Baseline for Teaser {
    type Scale = EitherScale;

    fn reserve(&mut self, method: &'static str, matches: usize) -> Result<(), Error> {
        let n = matches as u128;
        let (pairs, words) = (n * n.saturating_sub(1) / 2, n * n.div_ceil(64));
        // The graph is stored twice, the second time in another order.
        let needed_mib = (pairs * BYTES_PER_PAIR + 16 * words).div_ceil(1 << 20) as u64;
        if needed_mib > LARGEST_TABLE_MIB {
            return Err(Error::TooManyMatches { method, matches, needed_mib });
        }
        Ok(())
    }

    fn find(
        &mut self,
        matches: &Matches<'_>,
        scale: EitherScale,
        _: &mut Random,
        stop: StopCheck<'_>,
    ) -> Found {
        let n = matches.points.len() as u64;
        let pairs = n * (n - 1) / 2;
        match self.stages(matches, scale, stop) {
            Ok((model, stopped_because)) => {
                Found { model, samples: pairs, hypotheses: self.annealing.rounds, stopped_because }
            }
            Err(request) => Found { model: None, samples: 0, hypotheses: 0, stopped_because: request.into() },
        }
    }
}

impl Teaser {
    fn stages(
        &mut self,
        matches: &Matches<'_>,
        scale: EitherScale,
        stop: StopCheck<'_>,
    ) -> Result<(Option<Similarity>, StopReason), StopRequest> {
        let Matches { points, sigma } = *matches;
        let bound = BOUND * sigma;
        self.annealing.rounds = 0;
        let nothing = Ok((None, StopReason::Exhausted));
        let s = match scale {
            EitherScale::Known => 1.0,
            EitherScale::Unknown => match self.scale(points, bound, stop)? {
                Some(s) if s > 0.0 => s,
                _ => return nothing,
            },
        };
        self.graph.assign_consistent(points, s, 2.0 * bound, stop)?;
        let (clique, told) = self.cliques.largest(&self.graph, stop);
        let ended = told.map_or(StopReason::Confident, StopReason::from);
        let nothing = Ok((None, told.map_or(StopReason::Exhausted, StopReason::from)));
        if clique.len() < 2 {
            return nothing;
        }
        let Some(rotation) = self.rotation(points, &clique, s, sigma) else { return nothing };
        let Some(translation) = self.translation(points, &clique, s, &rotation, bound) else {
            return nothing;
        };
        Ok((Some(Similarity::new_unchecked(s, rotation, translation)), ended))
    }

    /// Scale by a vote of all pairs: `‖b_i − b_j‖/‖a_i − a_j‖ ± 2β/‖a_i − a_j‖`.
    fn scale(&mut self, points: &Soa, bound: f64, stop: StopCheck<'_>) -> Result<Option<f64>, StopRequest> {
        let within = |x: &f64| x.abs() <= FARTHEST_VOTER;
        let votes = |&i: &usize| points.source(i).iter().all(within) && points.target(i).iter().all(within);
        let voters: Vec<usize> = (0..points.len()).filter(votes).collect();
        let pick = |column: &Vec<f64>| voters.iter().map(|&i| column[i]).collect();
        let [ax, ay, az]: [Vec<f64>; 3] = points.a.each_ref().map(pick);
        let [bx, by, bz]: [Vec<f64>; 3] = points.b.each_ref().map(pick);
        self.intervals.clear();
        for i in 1..voters.len() {
            if let Some(request) = stop() {
                return Err(request);
            }
            let interval = |j: usize| {
                let (x, y, z) = (ax[j] - ax[i], ay[j] - ay[i], az[j] - az[i]);
                let (u, v, w) = (bx[j] - bx[i], by[j] - by[i], bz[j] - bz[i]);
                // Infinite when the sources coincide; such a pair does not vote.
                let per_length = 1.0 / (x * x + y * y + z * z).sqrt();
                let value = (u * u + v * v + w * w).sqrt() * per_length;
                Interval { value, half_width: 2.0 * bound * per_length }
            };
            self.intervals.extend((0..i).map(interval));
        }
        self.voting.vote(&self.intervals, stop)
    }

    /// Rotation of the differences between consecutive members of the clique, including last and first.
    fn rotation(&mut self, points: &Soa, clique: &[u32], s: f64, sigma: f64) -> Option<Rotation> {
        // Each difference is added with its opposite. Their means are then zero, and fitting a motion fits only the rotation.
        self.differences.a.iter_mut().chain(&mut self.differences.b).for_each(Vec::clear);
        for (k, &i) in clique.iter().enumerate() {
            let j = clique[(k + 1) % clique.len()];
            for axis in 0..3 {
                let across = |column: &[f64]| column[j as usize] - column[i as usize];
                let (a, b) = (across(&points.a[axis]), across(&points.b[axis]) / s);
                self.differences.a[axis].extend([a, -a]);
                self.differences.b[axis].extend([b, -b]);
            }
        }
        let noise = sigma / s;
        let limits = Limits {
            bound: 2.0 * BOUND * noise,
            tolerance: 2.0 * TOLERANCE * noise * noise, // each difference counts twice
            most_rounds: MOST_ROUNDS,
        };
        // Not interrupted: this stage is short, and without it there is no result.
        let (model, _) = self.annealing.run(&self.differences, Some(1.0), &limits, &pcr99::stop::never);
        model.map(|model| model.rotation())
    }

    /// Translation by a vote of the clique, axis by axis: `b − s·R·a ± β`.
    fn translation(
        &mut self,
        points: &Soa,
        clique: &[u32],
        s: f64,
        rotation: &Rotation,
        bound: f64,
    ) -> Option<[f64; 3]> {
        let mut translation = [0.0; 3];
        for (axis, estimate) in translation.iter_mut().enumerate() {
            self.intervals.clear();
            self.intervals.extend(clique.iter().map(|&i| {
                let (a, b) = (points.source(i as usize), points.target(i as usize));
                let value = minus(b, times(s, rotate(rotation, a)))[axis];
                Interval { value, half_width: bound }
            }));
            *estimate = self.voting.vote(&self.intervals, &pcr99::stop::never).ok().flatten()?;
        }
        Some(translation)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Method, problems::largest_error};
    use pcr99::stop;

    #[test]
    fn solves_what_it_can() {
        for (scale, ratio) in
            [(None, 0.0), (Some(2.5), 0.0), (None, 0.6), (None, 0.8), (Some(1.0), 0.6), (Some(2.5), 0.98)]
        {
            let worst = largest_error(Method::Teaser, scale, ratio, 3);
            assert!(worst < 4.0, "{scale:?} {ratio}: {worst}");
        }
    }

    /// At 99 % outliers, too few of the half million pairs vote for the true scale.
    #[test]
    fn fails_where_it_must() {
        assert!(largest_error(Method::Teaser, None, 0.99, 3) > 10.0);
    }

    /// Matches rotated by 90°, scaled by 2 and translated; the last one is an outlier.
    fn doubled(n: usize) -> Soa {
        let mut random = Random::new(8);
        let mut points = Soa::default();
        for _ in 0..n {
            let [x, y, z] = std::array::from_fn(|_| random.uniform());
            for (axis, (a, b)) in
                [(x, -2.0 * y + 5.0), (y, 2.0 * x), (z, 2.0 * z - 7.0)].into_iter().enumerate()
            {
                points.a[axis].push(a);
                points.b[axis].push(b);
            }
        }
        points.b[2][n - 1] += 3.0;
        points
    }

    #[test]
    fn stage_by_stage() {
        let (points, sigma) = (doubled(20), 1e-4);
        let mut teaser = Teaser::default();
        let s = teaser.scale(&points, BOUND * sigma, &stop::never).unwrap().unwrap();
        assert!((s - 2.0).abs() < 1e-6, "{s}");
        teaser.graph.assign_consistent(&points, s, 2.0 * BOUND * sigma, &stop::never).unwrap();
        let (clique, _) = teaser.cliques.largest(&teaser.graph, &stop::never);
        assert_eq!(clique, (0..19).collect::<Vec<u32>>());
        let rotation = teaser.rotation(&points, &clique, s, sigma).unwrap();
        let expected = [[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]];
        let near = |x: f64, y: f64| (x - y).abs() < 1e-6;
        assert!(rotation.iter().flatten().zip(expected.iter().flatten()).all(|(&x, &y)| near(x, y)));
        let translation = teaser.translation(&points, &clique, s, &rotation, BOUND * sigma).unwrap();
        assert!(translation.iter().zip([5.0, 0.0, -7.0]).all(|(&x, y)| near(x, y)), "{translation:?}");
    }

    /// Two matches do not determine a rotation.
    #[test]
    fn admits_that_there_is_nothing() {
        let mut points = doubled(5);
        points.b[0].iter_mut().enumerate().for_each(|(i, x)| *x += 100.0 * (i * i) as f64);
        let matches = Matches { points: &points, sigma: 1e-4 };
        let found = Teaser::default().find(&matches, EitherScale::Known, &mut Random::new(1), &stop::never);
        assert_eq!((found.model, found.stopped_because), (None, StopReason::Exhausted));
    }

    #[test]
    fn strays_and_coincident_sources_do_not_vote() {
        let mut points = doubled(12);
        points.a[0][11] = 1e60;
        points.b[1][10] = -1e60;
        for axis in 0..3 {
            points.a[axis][9] = points.a[axis][8];
        }
        let s = Teaser::default().scale(&points, 3e-4, &stop::never).unwrap().unwrap();
        assert!((s - 2.0).abs() < 1e-6, "{s}");
    }
}
