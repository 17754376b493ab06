//! TriVoC: L. Sun, L. Deng, "TriVoC: Efficient voting-based consensus maximization for robust point cloud registration with extreme
//! outlier ratios", IEEE Robotics and Automation Letters 7 (2022).
//!
//! Three levels of voting on the graph of length-consistent matches, without random numbers. The first level goes through the matches with most
//! neighbours, the second through their neighbours with most common neighbours, and the third likewise. Each level ends when a larger consensus
//! would have been found with 99 % probability in random order.
//!
//! The graph takes `n²/8` bytes; more than 1 GiB (92 672 matches) is an error.

use std::cmp::Reverse;

use pcr99::{Similarity, StopReason, random::Random, stop::StopCheck};
use pcr99_base::{
    Soa,
    kernel::{
        consensus::{Affine, count_inliers, squared_residual},
        lengths::common_counts,
    },
    least_squares,
};

use crate::{
    Error,
    baseline::{Baseline, Found, KnownScale, Matches},
    blocks::{inliers, trials, triangle_model},
    graph::{LengthGraph, list_bits},
    watch::Watch,
};

/// Largest difference of the lengths of an edge, in σ.
const EDGE: f64 = 5.0;
/// Inlier threshold, in σ.
const INLIER: f64 = 6.0;
const CONFIDENCE: f64 = 0.99;
/// Fraction of the candidates of each level that is tried: one in this many.
const ONE_IN: [usize; 3] = [10, 10, 5];
/// Number of candidates of each level that are tried before there is any consensus, as published.
const FIRST_LIMITS: [f64; 3] = [459.0, 45.0, 45.0];

/// Three levels of voting; keeps its buffers.
#[derive(Debug, Default)]
pub(crate) struct TriVoc {
    graph: LengthGraph,
    levels: [Level; 3],
    /// Candidates of the third level and the two matches above, as columns.
    group: Soa,
    group_indices: Vec<u32>,
    /// Largest consensus.
    consensus: Vec<u32>,
    largest: Largest,
    /// Number of matches of the first level that were tried or skipped.
    firsts: u64,
    /// Number of transforms of three matches.
    hypotheses: u64,
    /// Number of inliers of the transform of the largest consensus, before the final fit.
    inliers: usize,
}

/// Size of the largest consensus, and number of candidates of each level that remain to be tried. The numbers stay when the match of a level above
/// changes.
#[derive(Debug, Clone, Copy)]
struct Largest {
    size: usize,
    limits: [f64; 3],
}

impl Default for Largest {
    fn default() -> Self {
        Self { size: 0, limits: FIRST_LIMITS }
    }
}

impl Largest {
    /// Limits for a consensus of this size among the candidates of the three levels. One match of the second level and two of the third are already
    /// fixed.
    fn new(size: usize, candidates: [usize; 3]) -> Self {
        let share = |level: usize| (size as f64 - level as f64) / candidates[level] as f64;
        Self { size, limits: [0, 1, 2].map(|level| trials(CONFIDENCE, share(level))) }
    }
}

/// Candidates of a level, ordered by votes.
#[derive(Debug, Default)]
struct Level {
    set: Vec<u64>,
    members: Vec<u32>,
    votes: Vec<u32>,
    /// Votes and members, most votes first, ties in the order of the matches; only as many as are tried.
    order: Vec<(u32, u32)>,
}

impl Level {
    /// Orders the members by the number of members that are consistent with them; keeps the first one in `one_in`.
    fn rank(&mut self, rows: &[u64], one_in: usize, watch: &mut Watch<'_>) -> Result<(), StopReason> {
        list_bits(self.set.iter().copied(), &mut self.members);
        self.order.clear();
        // In parts, with a stop check between them.
        for part in self.members.chunks(1 + 100_000 / self.set.len()) {
            watch.work(part.len() * (self.set.len() + 1))?;
            common_counts(rows, &self.set, part, &mut self.votes);
            self.order.extend(self.votes.iter().copied().zip(part.iter().copied()));
        }
        let wanted = self.order.len() / one_in;
        let most_first = |&(votes, i): &(u32, u32)| (Reverse(votes), i);
        if wanted < self.order.len() {
            self.order.select_nth_unstable_by_key(wanted, most_first);
            self.order.truncate(wanted);
        }
        self.order.sort_unstable_by_key(most_first);
        Ok(())
    }

    /// Sets this to the intersection of both sets.
    fn assign_common(&mut self, one: &[u64], other: &[u64]) {
        self.set.clear();
        self.set.extend(one.iter().zip(other).map(|(x, y)| x & y));
    }
}

impl Baseline for TriVoc {
    type Scale = KnownScale;

    fn reserve(&mut self, method: &'static str, matches: usize) -> Result<(), Error> {
        self.graph.reserve(method, matches)
    }

    fn find(
        &mut self,
        matches: &Matches<'_>,
        KnownScale: KnownScale,
        _: &mut Random,
        stop: StopCheck<'_>,
    ) -> Found {
        self.consensus.clear();
        (self.firsts, self.hypotheses, self.inliers) = (0, 0, 0);
        let (Ok(stopped_because) | Err(stopped_because)) = self.search(matches, &mut Watch::new(stop));
        let model = self.refined(matches);
        Found { model, samples: self.firsts, hypotheses: self.hypotheses, stopped_because }
    }
}

impl TriVoc {
    /// Searches the largest consensus; an error means that the caller stopped the search.
    fn search(&mut self, matches: &Matches<'_>, watch: &mut Watch<'_>) -> Result<StopReason, StopReason> {
        let Matches { points, sigma } = *matches;
        let n = points.len();
        self.graph.clear(n, EDGE * sigma);
        self.graph.fill(points, watch)?;
        let first = &mut self.levels[0];
        first.set.clear();
        first.set.extend((0..n.div_ceil(64)).map(|word| u64::MAX >> (64 - (n - 64 * word).min(64))));
        first.rank(self.graph.rows(), ONE_IN[0], watch)?;

        self.largest = Largest::default();
        for k1 in 0..self.levels[0].order.len() {
            watch.work(100)?;
            self.firsts += 1;
            self.second_level(matches, k1, watch)?;
            if (k1 + 1) as f64 >= self.largest.limits[0] {
                return Ok(StopReason::Confident);
            }
        }
        Ok(StopReason::Exhausted)
    }

    /// Second level: the neighbours of a match of the first level.
    fn second_level(
        &mut self,
        matches: &Matches<'_>,
        k1: usize,
        watch: &mut Watch<'_>,
    ) -> Result<(), StopReason> {
        let [first, second, _] = &mut self.levels;
        let (degree, u) = first.order[k1];
        if (degree as usize) < self.largest.size {
            return Ok(());
        }
        let neighbours = self.graph.row(u as usize);
        second.assign_common(neighbours, neighbours);
        second.rank(self.graph.rows(), ONE_IN[1], watch)?;
        for k2 in 0..self.levels[1].order.len() {
            watch.work(100)?;
            self.third_level(matches, [k1, k2], watch)?;
            if (k2 + 1) as f64 >= self.largest.limits[1] {
                break;
            }
        }
        Ok(())
    }

    /// Third level: the common neighbours of a match of the first and one of the second level.
    fn third_level(
        &mut self,
        matches: &Matches<'_>,
        [k1, k2]: [usize; 2],
        watch: &mut Watch<'_>,
    ) -> Result<(), StopReason> {
        let Matches { points, sigma } = *matches;
        let [first, second, third] = &mut self.levels;
        let ((degree, u), (shared, v)) = (first.order[k1], second.order[k2]);
        if shared as usize + 2 <= self.largest.size || shared == 0 {
            return Ok(());
        }
        third.assign_common(self.graph.row(u as usize), self.graph.row(v as usize));
        third.rank(self.graph.rows(), ONE_IN[2], watch)?;
        self.group_indices.clear();
        self.group_indices.extend(third.members.iter().chain(&[u, v]));
        self.group.assign_permuted(points, &self.group_indices);
        let sizes = [points.len(), degree as usize, shared as usize];
        let delta_sq = (INLIER * sigma).powi(2);
        for (k3, &(_, w)) in third.order.iter().enumerate() {
            watch.work(100 + 2 * self.group_indices.len())?;
            if let Some(model) = triangle_model(points, [u, v, w].map(|i| i as usize)) {
                self.hypotheses += 1;
                let affine = Affine::from(&model);
                let count = count_inliers(&self.group, &affine, delta_sq);
                if count > self.largest.size {
                    self.largest = Largest::new(count, sizes);
                    let fits = |&&i: &&u32| squared_residual(points, &affine, i as usize) <= delta_sq;
                    self.consensus.clear();
                    self.consensus.extend(self.group_indices.iter().filter(fits));
                }
            }
            if (k3 + 1) as f64 >= self.largest.limits[2] {
                break;
            }
        }
        Ok(())
    }

    /// Least squares on the consensus, and again on the inliers of the result.
    fn refined(&mut self, matches: &Matches<'_>) -> Option<Similarity> {
        let Matches { points, sigma } = *matches;
        let model = least_squares::fit(points, &self.consensus, Some(1.0))?;
        let inliers = inliers(points, &model, INLIER * sigma);
        self.inliers = inliers.len();
        least_squares::fit(points, &inliers, Some(1.0)).or(Some(model))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Method,
        baseline::Prepared,
        blocks::lengths,
        problems::{knot_problem, largest_error},
    };
    use pcr99::{Correspondences, Positive, Scale, stop};
    use std::{fs, path::Path};

    #[derive(Debug, Default, PartialEq)]
    struct Counted {
        firsts: u64,
        hypotheses: u64,
        inliers: usize,
    }

    fn solve(pairs: &Correspondences) -> (Counted, Option<Similarity>) {
        let prepared = Prepared::new(pairs, Scale::one(), Positive::new("threshold", 0.05).unwrap());
        let mut method = TriVoc::default();
        method.reserve("trivoc", pairs.len()).unwrap();
        let found = method.find(&prepared.matches(), KnownScale, &mut Random::new(0), &stop::never);
        let TriVoc { firsts, hypotheses, inliers, .. } = method;
        (Counted { firsts, hypotheses, inliers }, found.model.map(|model| prepared.outward(&model)))
    }

    /// Plain version of the method: lists instead of bits, everything sorted, all residuals one by one.
    fn plainly(matches: &Matches<'_>) -> (Counted, Option<Similarity>) {
        let Matches { points, sigma } = *matches;
        let n = points.len();
        let alike = |i: usize, j: usize| {
            let (a, b) = lengths(points, i, j);
            i != j && (a - b).abs() <= EDGE * sigma
        };
        let ranked = |some: &[usize]| {
            let votes = |i: usize| some.iter().filter(|&&j| alike(i, j)).count();
            let mut order: Vec<(usize, usize)> = some.iter().map(|&i| (votes(i), i)).collect();
            order.sort_by_key(|&(votes, _)| Reverse(votes));
            order.into_iter().map(|(_, i)| i).collect::<Vec<_>>()
        };
        let limit = |part: usize, whole: usize| trials(CONFIDENCE, part as f64 / whole as f64);
        let (mut counted, mut best, [mut l1, mut l2, mut l3]) =
            (Counted::default(), Vec::new(), FIRST_LIMITS);
        for u in ranked(&(0..n).collect::<Vec<_>>()).into_iter().take(n / 10) {
            counted.firsts += 1;
            let n1: Vec<usize> = (0..n).filter(|&j| alike(u, j)).collect();
            let mut k2 = 0.0;
            for v in ranked(&n1).into_iter().take(n1.len() / 10) {
                if n1.len() < best.len() {
                    break;
                }
                k2 += 1.0;
                let n2: Vec<usize> = n1.iter().copied().filter(|&j| alike(v, j)).collect();
                let mut k3 = 0.0;
                for w in ranked(&n2).into_iter().take(n2.len() / 5) {
                    if n2.len() + 2 <= best.len() {
                        break;
                    }
                    k3 += 1.0;
                    counted.hypotheses += 1;
                    let model = triangle_model(points, [u, v, w]).unwrap();
                    let fits = |i: &usize| {
                        squared_residual(points, &Affine::from(&model), *i) <= (INLIER * sigma).powi(2)
                    };
                    let consensus: Vec<usize> = n2.iter().copied().chain([u, v]).filter(fits).collect();
                    if consensus.len() > best.len() {
                        best = consensus;
                        l1 = limit(best.len(), n);
                        l2 = limit(best.len().saturating_sub(1), n1.len());
                        l3 = limit(best.len().saturating_sub(2), n2.len());
                    }
                    if k3 >= l3 {
                        break;
                    }
                }
                if k2 >= l2 {
                    break;
                }
            }
            if counted.firsts as f64 >= l1 {
                break;
            }
        }
        let best: Vec<u32> = best.into_iter().map(|i| i as u32).collect();
        let model = least_squares::fit(points, &best, Some(1.0)).map(|model| {
            let inliers = inliers(points, &model, INLIER * sigma);
            counted.inliers = inliers.len();
            least_squares::fit(points, &inliers, Some(1.0)).unwrap()
        });
        (counted, model)
    }

    #[test]
    fn does_what_the_plain_version_does() {
        for (n, ratio, seed) in [(100, 0.0, 1), (150, 0.5, 2), (200, 0.8, 3), (300, 0.95, 4), (300, 1.0, 5)] {
            let (pairs, _) = knot_problem(n, ratio, seed);
            let prepared = Prepared::new(&pairs, Scale::one(), Positive::new("threshold", 0.05).unwrap());
            let (counted, model) = plainly(&prepared.matches());
            let model = model.map(|model| prepared.outward(&model));
            assert!(counted.hypotheses > 0);
            let (found_counted, found) = solve(&pairs);
            assert_eq!(found_counted, counted, "{n} {ratio}");
            assert!(largest_difference(&found, &model) < 1e-12, "{n} {ratio}");
        }
    }

    fn largest_difference(one: &Option<Similarity>, other: &Option<Similarity>) -> f64 {
        match (one, other) {
            (Some(one), Some(other)) => {
                let numbers = |model: &Similarity| model.matrix().into_iter().flatten();
                numbers(one).zip(numbers(other)).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max)
            }
            (None, None) => 0.0,
            _ => f64::INFINITY,
        }
    }

    /// `n s`, three lines `R`, one line `t`, then `ax ay az bx by bz is_inlier`.
    fn problem(path: &Path) -> Correspondences {
        let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let row = |line: &str| -> Vec<f64> { line.split_whitespace().map(|x| x.parse().unwrap()).collect() };
        let rows: Vec<Vec<f64>> = text.lines().skip(5).map(row).collect();
        let column = |first: usize| -> Vec<[f64; 3]> {
            rows.iter().map(|row| [row[first], row[first + 1], row[first + 2]]).collect()
        };
        Correspondences::new(&column(0), &column(3)).unwrap()
    }

    /// Counts equal those of the published program. `PCR99_GOLDEN` names the directory with `golden.csv` and the problems.
    #[test]
    #[expect(clippy::print_stderr, reason = "says that it is skipped")]
    fn published_counts() {
        let Some(directory) = std::env::var_os("PCR99_GOLDEN") else {
            assert!(
                std::env::var_os("PCR99_REQUIRE_DATA").is_none_or(|v| v != "1"),
                "PCR99_REQUIRE_DATA=1 but PCR99_GOLDEN is not set"
            );
            eprintln!("skipped: set PCR99_GOLDEN to the directory of the golden problems to run this test");
            return;
        };
        let directory = Path::new(&directory);
        let csv = fs::read_to_string(directory.join("golden.csv")).expect("golden.csv");
        let mut ran = 0;
        for line in csv.lines().filter(|line| line.starts_with("TRIVOC,")) {
            let fields: Vec<&str> = line.split(',').collect();
            let path = directory.join(fields[1]);
            if !path.exists() {
                continue;
            }
            let n: Vec<f64> = fields[2..].iter().map(|field| field.parse().unwrap()).collect();
            let rotation = [[n[4], n[5], n[6]], [n[7], n[8], n[9]], [n[10], n[11], n[12]]];
            let expected = Similarity::new(n[3], rotation, [n[13], n[14], n[15]]).expect("a similarity");
            let counts = Counted { firsts: n[0] as u64, hypotheses: n[1] as u64, inliers: n[2] as usize };
            let (counted, model) = solve(&problem(&path));
            assert_eq!(counted, counts, "{}", fields[1]);
            let difference = largest_difference(&model, &Some(expected));
            assert!(difference < 1e-9, "{}: {difference}", fields[1]);
            ran += 1;
        }
        assert_eq!(ran, 10, "rows of TriVoC that have a problem file");
    }

    #[test]
    fn solves_what_it_can() {
        for ratio in [0.0, 0.5, 0.9, 0.98] {
            assert!(largest_error(Method::TriVoc, Some(2.5), ratio, 5) < 4.0, "{ratio}");
        }
    }
}
