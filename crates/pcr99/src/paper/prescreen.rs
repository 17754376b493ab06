//! The prescreening test (Sec. V-C and VI), which selects the samples for hypotheses.
//!
//! * Unknown scale, Eq. (24)–(26): the three log ratios of a sample agree with each other within `ε`. The second condition is printed as
//!   `L(i,k) − L(k,i)`, which is always zero; it must be `L(j,k) − L(k,i)` (decision 1).
//! * Known scale, Eq. (27)–(29): each log ratio agrees with `ln s` within `ε`.
//!
//! Equality passes, an undefined ratio never does (decision 2).

use std::collections::TryReserveError;

use super::{Problem, log_ratio::LogRatios, ranking::Ranking, triplets::Run};
use pcr99_base::{
    Soa,
    kernel::{
        consistent_bits::{Band, KnownScale, consistent_bits},
        log_ratio::half_log_ratio,
        similar_triangles::{Edges, similar_triangles},
    },
    squared_distances,
};

use crate::{Error, Scale};

/// Largest memory of the tables, in bytes.
pub(super) fn memory_needed(n: usize, scale: Scale) -> u128 {
    match scale {
        Scale::Unknown | Scale::Between(..) => LogRatios::memory_needed(n),
        Scale::Known(_) => ConsistentBits::memory_needed(n),
    }
}

/// Converts bytes to MiB, rounded up.
pub(super) fn mib(bytes: u128) -> u64 {
    u64::try_from(bytes.div_ceil(1 << 20)).unwrap_or(u64::MAX)
}

/// Buffers that are kept between problems.
#[derive(Debug, Default)]
pub(super) struct Workspace {
    ranked: Soa,
    ratios: LogRatios,
    bits: ConsistentBits,
}

/// The prescreening test on samples in rank order.
#[derive(Debug)]
pub(super) struct Prescreen<'w> {
    ranked: &'w Soa,
    table: Table<'w>,
}

#[derive(Debug)]
enum Table<'w> {
    Unknown { ratios: &'w mut LogRatios, epsilon: f64 },
    Known(&'w mut ConsistentBits),
}

impl<'w> Prescreen<'w> {
    /// Prepares the test; an error when the memory for the tables cannot be reserved.
    pub(super) fn new(
        problem: &Problem<'_>,
        ranking: &Ranking,
        work: &'w mut Workspace,
    ) -> Result<Self, Error> {
        let Workspace { ranked, ratios, bits } = work;
        ranked.assign_permuted(problem.points, ranking.order());
        let matches = ranked.len();
        let denied = |needed| move |_| Error::OutOfMemory { matches, needed_mib: mib(needed) };
        let table = match problem.known_scale {
            None => {
                ratios.reset(matches).map_err(denied(LogRatios::memory_needed(matches)))?;
                Table::Unknown { ratios, epsilon: problem.epsilon }
            }
            Some(scale) => {
                let test = KnownScale::new(scale, problem.epsilon);
                bits.reset(matches, test).map_err(denied(ConsistentBits::memory_needed(matches)))?;
                Table::Known(bits)
            }
        };
        Ok(Self { ranked, table })
    }

    /// The matches in rank order.
    pub(super) fn ranked(&self) -> &Soa {
        self.ranked
    }

    /// Fills `passed` with the ranks `r_j` of the samples of `run` that pass, ascending.
    pub(super) fn passing(&mut self, run: &Run, passed: &mut Vec<u32>) {
        passed.clear();
        match &mut self.table {
            Table::Unknown { ratios, epsilon } => {
                // Indices from here on count from 0, in rank order.
                let (i, j, sum) = (run.r_i - 1, run.r_j[0] - 1..run.r_j[1], run.r_jk - 2);
                ratios.reach(self.ranked, i, sum);
                let edges = Edges {
                    ij: ratios.row(i, j.clone()),
                    jk: ratios.antidiagonal(sum, j.clone()),
                    ki_reversed: ratios.row(i, sum + 1 - j.end..sum + 1 - j.start),
                };
                similar_triangles(edges, *epsilon, passed);
                passed.iter_mut().for_each(|offset| *offset += run.r_j[0] as u32);
            }
            Table::Known(bits) => {
                bits.ensure_rows(self.ranked, run.r_j[1]);
                bits.passing(run, passed);
            }
        }
    }
}

/// A bit for each pair of ranks `i < j` that says whether it is consistent with the known scale. Rows are computed when first reached.
#[derive(Debug, Default)]
struct ConsistentBits {
    n: usize,
    rows: usize,
    test: Option<KnownScale>,
    /// Row `i` starts at the word that holds column `i + 1`; one empty word lies before the first row.
    words: Vec<u64>,
    /// Position of word 0 of each row.
    origins: Vec<isize>,
}

impl ConsistentBits {
    fn memory_needed(n: usize) -> u128 {
        // 64 rows start in each word, and the number of words up to the end decreases.
        let words = n.div_ceil(64) as u128;
        64 * words * (words + 1) / 2 * 8
    }

    /// Clears the table and reserves address space. The system provides the memory when it is first written.
    fn reset(&mut self, n: usize, test: KnownScale) -> Result<(), TryReserveError> {
        self.n = n;
        self.rows = 0;
        self.test = Some(test);
        self.words.clear();
        self.words.try_reserve_exact((Self::memory_needed(n) / 8) as usize + 1)?;
        self.words.push(0);
        self.origins.clear();
        self.origins.try_reserve_exact(n)
    }

    fn ensure_rows(&mut self, ranked: &Soa, rows: usize) {
        let Some(test) = self.test else { return };
        let width = self.n.div_ceil(64);
        while self.rows < rows {
            let (row, start) = (self.rows, self.words.len());
            let first_word = (row + 1) / 64;
            self.words.resize(start + (width - first_word), 0);
            consistent_bits(ranked, row, first_word, &test, &mut self.words[start..]);
            self.origins.push(start as isize - first_word as isize);
            self.rows += 1;
        }
    }

    /// The 64 bits of row `i` from column `first`. Bits outside the row are undefined.
    fn window(&self, i: usize, first: isize) -> u64 {
        let word =
            |at: isize| usize::try_from(at).ok().and_then(|at| self.words.get(at)).copied().unwrap_or(0);
        let (at, shift) = (self.origins[i] + first.div_euclid(64), first.rem_euclid(64) as u32);
        // The double shift avoids a shift by 64.
        word(at) >> shift | word(at + 1) << 1 << (63 - shift)
    }

    fn is_set(&self, i: usize, j: usize) -> bool {
        self.words[(self.origins[i] + (j / 64) as isize) as usize] >> (j % 64) & 1 == 1
    }

    /// Tests 64 samples at a time: the bits of `j` ascending and of `k` descending.
    fn passing(&self, run: &Run, passed: &mut Vec<u32>) {
        let (i, [mut j, last], jk) = (run.r_i - 1, run.r_j.map(|r| r - 1), run.r_jk - 2);
        while j <= last {
            let up = self.window(i, j as isize);
            let down = self.window(i, (jk - j) as isize - 63).reverse_bits();
            let mut both = up & down;
            if last - j < 63 {
                both &= (1 << (last - j + 1)) - 1;
            }
            while both != 0 {
                let j = j + both.trailing_zeros() as usize;
                both &= both - 1;
                if self.is_set(j, jk - j) {
                    passed.push(j as u32 + 1);
                }
            }
            j += 64;
        }
    }
}

/// The prescreening test on samples in any order, for random sampling. It stores nothing.
#[derive(Debug)]
pub(super) struct Random<'a> {
    points: &'a Soa,
    test: RandomTest,
}

#[derive(Debug)]
enum RandomTest {
    /// `e^(−2ε) ≤ (b_ij² a_jk²)/(a_ij² b_jk²) ≤ e^(2ε)`: no logarithm unless the quotient is close to a bound.
    Unknown {
        band: Band,
        epsilon: f64,
    },
    Known(KnownScale),
}

impl<'a> Random<'a> {
    pub(super) fn new(problem: &Problem<'a>) -> Self {
        let epsilon = problem.epsilon;
        let test = match problem.known_scale {
            None => RandomTest::Unknown { band: Band::new(1.0, epsilon), epsilon },
            Some(scale) => RandomTest::Known(KnownScale::new(scale, epsilon)),
        };
        Self { points: problem.points, test }
    }

    /// The matches.
    pub(super) fn points(&self) -> &'a Soa {
        self.points
    }

    /// Whether a sample passes the test.
    pub(super) fn passes(&self, [i, j, k]: [usize; 3]) -> bool {
        let edge = |i, j| squared_distances(self.points, i, j);
        match &self.test {
            RandomTest::Known(test) => {
                let holds = |(source_sq, target_sq)| test.holds(source_sq, target_sq);
                holds(edge(i, j)) && holds(edge(j, k)) && holds(edge(k, i))
            }
            RandomTest::Unknown { band, epsilon } => {
                let alike = |(a1, b1): (f64, f64), (a2, b2): (f64, f64)| {
                    band.holds(b1 * a2, a1 * b2).unwrap_or_else(|| {
                        (half_log_ratio(a1, b1) - half_log_ratio(a2, b2)).abs() <= *epsilon
                    })
                };
                let (ij, ki) = (edge(i, j), edge(k, i));
                alike(ij, ki) && {
                    let jk = edge(j, k);
                    alike(ij, jk) && alike(jk, ki)
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paper::triplets::runs;
    use pcr99_base::test_points;
    use proptest::prelude::*;

    fn ratio(points: &Soa, i: usize, j: usize) -> f64 {
        let (source_sq, target_sq) = squared_distances(points, i, j);
        half_log_ratio(source_sq, target_sq)
    }

    /// Eq. (24)–(29), corrected.
    fn passes(points: &Soa, known_scale: Option<f64>, epsilon: f64, [i, j, k]: [usize; 3]) -> bool {
        let [ij, jk, ki] = [(i, j), (j, k), (k, i)].map(|(i, j)| ratio(points, i, j));
        match known_scale.map(libm::log) {
            None => [ij - jk, jk - ki, ij - ki].into_iter().all(|d| d.abs() <= epsilon),
            Some(log_scale) => [ij, jk, ki].into_iter().all(|l| (l - log_scale).abs() <= epsilon),
        }
    }

    fn problem(points: &Soa, known_scale: Option<f64>, epsilon: f64) -> Problem<'_> {
        Problem { points, known_scale, delta: 0.05, epsilon, grid_step: 0.1, required: 9 }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]

        /// Both tables and the test without a table pass the same samples as the definition. ε lies exactly on one of them.
        #[test]
        fn fast_equals_reference(n in 3_usize..90, seed in any::<u64>(), known in any::<bool>(), on_edge in any::<bool>()) {
            let points = test_points::random(n, seed);
            let known_scale = known.then_some(0.7);
            let edge = if known { ratio(&points, 0, n - 1) - libm::log(0.7) } else { ratio(&points, 0, n - 1) - ratio(&points, 0, 1) };
            let epsilon = if on_edge && edge.abs() > 0.0 { edge.abs() } else { 0.1 };
            let problem = problem(&points, known_scale, epsilon);
            let scores: Vec<f64> = (0..n).map(|i| ((i * 37) % 11) as f64).collect();
            let ranking = Ranking::by_descending(&scores);
            let mut work = Workspace::default();
            let mut prescreen = Prescreen::new(&problem, &ranking, &mut work).unwrap();
            let random = Random::new(&problem);
            let mut fast = Vec::new();
            for run in runs(n) {
                prescreen.passing(&run, &mut fast);
                let sample = |r_j: usize| [run.r_i, r_j, run.r_jk - r_j].map(|r| ranking.index_of_rank(r));
                let wanted: Vec<u32> = (run.r_j[0]..=run.r_j[1])
                    .filter(|&r_j| passes(&points, known_scale, epsilon, sample(r_j)))
                    .map(|r_j| r_j as u32)
                    .collect();
                prop_assert_eq!(&fast, &wanted, "{:?}", run);
                for r_j in run.r_j[0]..=run.r_j[1] {
                    prop_assert_eq!(random.passes(sample(r_j)), wanted.contains(&(r_j as u32)));
                }
            }
        }
    }

    /// Decision 1: the condition as printed would not test the edge (j, k) against (k, i).
    #[test]
    fn the_second_condition_compares_two_edges() {
        // L(i,j) = 0, L(j,k) = 0.08, L(k,i) = −0.08: the first and third condition hold, the corrected second does not.
        let [ij, jk, ki]: [f64; 3] = [0.0, 0.08, -0.08];
        assert!((ij - jk).abs() <= 0.1 && (ij - ki).abs() <= 0.1 && (jk - ki).abs() > 0.1);
        let points = triangle([1.0, libm::exp(0.08), libm::exp(-0.08)]);
        let problem = problem(&points, None, 0.1);
        assert!(!Random::new(&problem).passes([0, 1, 2]));
        let (mut work, mut passed) = (Workspace::default(), vec![]);
        let ranking = Ranking::by_descending(&[3.0, 2.0, 1.0]);
        let mut prescreen = Prescreen::new(&problem, &ranking, &mut work).unwrap();
        prescreen.passing(&runs(3).next().unwrap(), &mut passed);
        assert!(passed.is_empty());
    }

    /// Decision 2: equality passes.
    #[test]
    fn equality_passes() {
        let points = triangle([1.0, 1.0, 1.2]);
        let epsilon = ratio(&points, 2, 0) - ratio(&points, 0, 1);
        assert!(epsilon > 0.18);
        assert!(Random::new(&problem(&points, None, epsilon)).passes([0, 1, 2]));
        assert!(!Random::new(&problem(&points, None, epsilon * (1.0 - 1e-14))).passes([0, 1, 2]));
    }

    /// An equilateral source triangle and a target triangle with edges `[ij, jk, ki]` times as long.
    fn triangle([ij, jk, ki]: [f64; 3]) -> Soa {
        let corners = |ij: f64, jk: f64, ki: f64| {
            let x = (ij * ij + ki * ki - jk * jk) / (2.0 * ij);
            [vec![0.0, ij, x], vec![0.0, 0.0, (ki * ki - x * x).sqrt()], vec![0.0; 3]]
        };
        Soa::new(corners(1.0, 1.0, 1.0), corners(ij, jk, ki))
    }

    #[test]
    fn memory_is_as_stated() {
        assert_eq!(memory_needed(1000, Scale::Unknown), 7_992_000);
        assert_eq!(memory_needed(5000, Scale::Unknown), 199_960_000);
        assert!(
            memory_needed(11_585, Scale::Unknown) <= 1 << 30
                && memory_needed(11_586, Scale::Unknown) > 1 << 30
        );
        assert!(
            memory_needed(131_000, Scale::one()) <= 1 << 30 && memory_needed(131_072, Scale::one()) > 1 << 30
        );
        // The estimate covers the memory in use.
        let (mut bits, points) = (ConsistentBits::default(), test_points::random(333, 1));
        bits.reset(333, KnownScale::new(1.0, 0.1)).unwrap();
        let asked_for = bits.words.capacity();
        bits.ensure_rows(&points, 333);
        assert_eq!(bits.words.capacity(), asked_for, "never grows");
        assert!(asked_for as u128 * 8 <= memory_needed(333, Scale::one()) + 8);
        assert!(bits.reset(1 << 40, KnownScale::new(1.0, 0.1)).is_err(), "2⁷⁶ bytes");
    }
}
