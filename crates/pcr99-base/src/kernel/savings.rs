//! Savings of a match against the worst score: `Σ_j max(0, ε − |L(i,j) − ln s|)`.
//!
//! The score of Eq. (6) is `S(i) = −Σ_j min(|L(i,j) − ln s|, ε) = savings − ε·(n−1)`, so ranking by savings is ranking
//! by score. A match saves only where `L(i,j)` is within `ε` of `ln s`. On a grid of `ln s`, each `L(i,j)` therefore touches a few
//! candidates instead of all. An undefined ratio (NaN) saves nothing.

use crate::dispatch::compiled_twice;

/// Number of interleaved sums: two vector registers of AVX2.
const LANES: usize = 8;

compiled_twice! {
    /// Savings of a row of log ratios for one given `ln s`, Eq. (6). Summed in eight interleaved parts.
    pub fn savings_at(row: &[f64], log_scale: f64, epsilon: f64) -> f64 = savings_at_lanes
}

/// Saving of one log ratio, one term of Eq. (6): `max(0, ε − |L − ln s|)`; zero for NaN.
#[inline(always)]
pub fn saving(log_ratio: f64, log_scale: f64, epsilon: f64) -> f64 {
    let saving = epsilon - (log_ratio - log_scale).abs();
    // False for NaN.
    if saving > 0.0 { saving } else { 0.0 }
}

#[inline(always)]
fn savings_at_lanes(row: &[f64], log_scale: f64, epsilon: f64) -> f64 {
    let mut sums = [0.0; LANES];
    let (blocks, rest) = row.as_chunks::<LANES>();
    for block in blocks {
        for lane in 0..LANES {
            sums[lane] += saving(block[lane], log_scale, epsilon);
        }
    }
    for (sum, &log_ratio) in sums.iter_mut().zip(rest) {
        *sum += saving(log_ratio, log_scale, epsilon);
    }
    sums.iter().sum()
}

/// The candidates for `ln s` of one match, Eq. (8)–(10): `p, p + Δ, …, q`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Grid {
    /// `p_i`, the smallest log ratio.
    pub first: f64,
    /// `Δ_i`; zero when all log ratios are equal, and then there is one candidate.
    pub step: f64,
    /// Number of candidates.
    pub len: usize,
}

impl Grid {
    /// The grid over the defined ratios of `row`; `None` when there are none.
    pub fn of(row: &[f64], wanted_step: f64) -> Option<Self> {
        let (low, high) = range(row);
        if low > high {
            return None;
        }
        let width = high - low;
        let steps = (width / wanted_step).round().max(1.0);
        let step = width / steps;
        // Δ = 0: one candidate.
        Some(if step > 0.0 {
            Self { first: low, step, len: steps as usize + 1 }
        } else {
            Self { first: low, step: 0.0, len: 1 }
        })
    }

    /// Candidate `m`.
    #[inline(always)]
    fn candidate(self, m: f64) -> f64 {
        self.first + m * self.step
    }
}

compiled_twice! {
    /// Smallest and largest of the numbers that are not NaN; `(∞, −∞)` when there are none.
    fn range(row: &[f64]) -> (f64, f64) = range_lanes
}

#[inline(always)]
fn range_lanes(row: &[f64]) -> (f64, f64) {
    let (mut low, mut high) = ([f64::INFINITY; LANES], [f64::NEG_INFINITY; LANES]);
    let (blocks, rest) = row.as_chunks::<LANES>();
    for block in blocks {
        for lane in 0..LANES {
            // Comparisons with NaN are false: the bound stays.
            low[lane] = if block[lane] < low[lane] { block[lane] } else { low[lane] };
            high[lane] = if block[lane] > high[lane] { block[lane] } else { high[lane] };
        }
    }
    let (low, high) =
        (low.into_iter().fold(f64::INFINITY, f64::min), high.into_iter().fold(f64::NEG_INFINITY, f64::max));
    rest.iter().fold((low, high), |(low, high), &x| (low.min(x), high.max(x)))
}

/// Number of candidates that are added to at a time: one vector register of AVX2.
const BLOCK: usize = 4;

/// The candidates that one log ratio can touch: with `x = (L − p)/Δ`, those between `x − reach` and `x + reach`.
#[derive(Debug, Clone, Copy)]
struct Touch {
    /// `ε/Δ`, or the number of candidates when that is less.
    reach: f64,
    /// Number of sums before the first candidate of the grid; they are not used.
    margin: usize,
    /// Number of blocks of candidates that are added to, from `⌊x − reach⌋` on.
    blocks: usize,
}

impl Touch {
    fn of(grid: Grid, epsilon: f64) -> Self {
        // Exact data give a grid far narrower than ε. Each ratio then touches all candidates, but no more.
        let reach = (epsilon / grid.step).min(grid.len as f64);
        // From ⌊x − reach⌋ to ⌊x + reach⌋. Candidates at the very edge save nothing but rounding, and are not missed by rounding of x
        // either: the first is one too low unless it is at the edge, and there is one to spare at the end.
        let touched = (2.0 * reach) as usize + 2;
        Self { reach, margin: reach as usize + 1, blocks: touched.div_ceil(BLOCK) }
    }
}

/// The largest savings over the candidates of `grid`, Eq. (7). `sums` is working space.
pub fn best_savings(row: &[f64], grid: Grid, epsilon: f64, sums: &mut Vec<f64>) -> f64 {
    if grid.step == 0.0 {
        return savings_at(row, grid.first, epsilon);
    }
    let touch = Touch::of(grid, epsilon);
    sums.clear();
    // ⌊x − reach⌋ is at most the number of candidates, counted from `margin` before the grid.
    sums.resize(grid.len + touch.margin + (touch.blocks + 1) * BLOCK, 0.0);
    add_savings(row, grid, epsilon, touch, sums);
    sums[touch.margin..touch.margin + grid.len]
        .iter()
        .fold(0.0, |best, &sum| if sum > best { sum } else { best })
}

compiled_twice! {
    fn add_savings(row: &[f64], grid: Grid, epsilon: f64, touch: Touch, sums: &mut [f64]) = add_savings_lanes
}

#[inline(always)]
fn add_savings_lanes(row: &[f64], grid: Grid, epsilon: f64, touch: Touch, sums: &mut [f64]) {
    let per_step = 1.0 / grid.step;
    let shift = touch.margin as f64 - touch.reach;
    for &log_ratio in row {
        // NaN goes to the first candidates and saves nothing there.
        let start = ((log_ratio - grid.first) * per_step + shift) as usize;
        let m = start as f64 - touch.margin as f64;
        let (blocks, _) = sums[start..start + touch.blocks * BLOCK].as_chunks_mut::<BLOCK>();
        for (block, sums) in blocks.iter_mut().enumerate() {
            for (lane, sum) in sums.iter_mut().enumerate() {
                *sum += saving(log_ratio, grid.candidate(m + (block * BLOCK + lane) as f64), epsilon);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::{collection::vec, prelude::*};

    fn log_ratio() -> impl Strategy<Value = f64> {
        prop_oneof![8 => -3.0..3.0_f64, 1 => Just(f64::NAN), 1 => Just(0.25)]
    }

    /// Eq. (7) as it is written: every candidate against every match.
    fn best_savings_reference(row: &[f64], grid: Grid, epsilon: f64) -> f64 {
        let candidates = (0..grid.len).map(|m| grid.first + m as f64 * grid.step);
        let savings = candidates.map(|log_scale| {
            row.iter()
                .filter(|l| !l.is_nan())
                .fold(0.0, |sum, l| sum + (epsilon - (l - log_scale).abs()).max(0.0))
        });
        savings.fold(0.0, f64::max)
    }

    proptest! {
        #[test]
        fn fast_equals_reference(
            row in vec(log_ratio(), 1..67), epsilon in 0.01..0.5_f64, step in 0.01..0.5_f64,
            narrow in prop_oneof![Just(1.0), Just(1e-3), Just(1e-15)],
        ) {
            let row: Vec<f64> = row.iter().map(|l| 0.25 + (l - 0.25) * narrow).collect();
            if let Some(grid) = Grid::of(&row, step) && grid.len > 1 {
                let fast = best_savings(&row, grid, epsilon, &mut Vec::new());
                prop_assert_eq!(fast, best_savings_reference(&row, grid, epsilon));
                let (touch, mut plain) = (Touch::of(grid, epsilon), Vec::new());
                plain.resize(grid.len + touch.margin + (touch.blocks + 1) * BLOCK, 0.0);
                add_savings_lanes(&row, grid, epsilon, touch, &mut plain);
                let plain = plain[touch.margin..touch.margin + grid.len].iter().fold(0.0, |m: f64, x| m.max(*x));
                prop_assert_eq!(fast, plain, "the plain compilation");
            }
        }

        #[test]
        fn savings_equal_the_sum_in_eight_parts(row in vec(log_ratio(), 1..67), log_scale in -1.0..1.0_f64) {
            let part = |lane: usize| {
                let mine = row.iter().enumerate().filter(|(j, l)| j % LANES == lane && !l.is_nan());
                mine.fold(0.0, |sum, (_, l)| sum + (0.1 - (l - log_scale).abs()).max(0.0))
            };
            prop_assert_eq!(savings_at(&row, log_scale, 0.1), (0..LANES).map(part).sum::<f64>());
            prop_assert_eq!(savings_at_lanes(&row, log_scale, 0.1), savings_at(&row, log_scale, 0.1));
        }

        #[test]
        fn grid_spans_the_defined_ratios(row in vec(log_ratio(), 1..67)) {
            prop_assert_eq!(range(&row), range_lanes(&row));
            let defined: Vec<f64> = row.iter().copied().filter(|l| !l.is_nan()).collect();
            match Grid::of(&row, 0.1) {
                None => prop_assert!(defined.is_empty()),
                Some(grid) => {
                    let (p, q) = (defined.iter().copied().fold(f64::INFINITY, f64::min), defined.iter().copied().fold(f64::NEG_INFINITY, f64::max));
                    prop_assert_eq!(grid.first, p);
                    prop_assert!((grid.candidate((grid.len - 1) as f64) - q).abs() < 1e-12);
                }
            }
        }
    }

    /// With `ε` a whole number of steps, every ratio on the grid touches a candidate at the very edge, where rounding decides whether
    /// it saves nothing or a last bit.
    #[test]
    fn candidates_at_the_edge_are_not_missed() {
        let mut at_the_edge = 0;
        for seed in 0..2000 {
            let mut random = crate::random::Random::new(seed);
            let first = random.uniform();
            let row: Vec<f64> = (0..40).map(|_| first + 0.1 * random.below(30) as f64).collect();
            let Some(grid) = Grid::of(&row, 0.1).filter(|grid| grid.len > 1) else { continue };
            for epsilon in [0.1, 0.2, 0.3, grid.step, 2.0 * grid.step] {
                for &ratio in &row {
                    let fast = best_savings_of_each(ratio, grid, epsilon);
                    let candidates = (0..grid.len).map(|m| grid.candidate(m as f64));
                    let wanted: Vec<f64> = candidates.map(|c| saving(ratio, c, epsilon)).collect();
                    at_the_edge += wanted.iter().filter(|&&saved| saved > 0.0 && saved < 1e-12).count();
                    assert_eq!(fast, wanted);
                }
            }
        }
        assert!(at_the_edge > 100, "{at_the_edge}");
    }

    /// What one ratio saves with each candidate.
    fn best_savings_of_each(ratio: f64, grid: Grid, epsilon: f64) -> Vec<f64> {
        let touch = Touch::of(grid, epsilon);
        let mut sums = vec![0.0; grid.len + touch.margin + (touch.blocks + 1) * BLOCK];
        add_savings(&[ratio], grid, epsilon, touch, &mut sums);
        sums[touch.margin..touch.margin + grid.len].to_vec()
    }

    #[test]
    fn equal_ratios_give_one_candidate() {
        let grid = Grid::of(&[0.3, f64::NAN, 0.3], 0.1).unwrap();
        assert_eq!(grid, Grid { first: 0.3, step: 0.0, len: 1 });
        assert_eq!(best_savings(&[0.3, f64::NAN, 0.3], grid, 0.1, &mut Vec::new()), 0.2);
    }

    #[test]
    fn the_step_divides_the_range_evenly() {
        // Width 0.46 at a step of 0.1: the nearest whole number of steps is 5 (Eq. 10).
        let grid = Grid::of(&[1.0, 1.2, 1.46], 0.1).unwrap();
        assert_eq!(grid.len, 6);
        assert!((grid.step - 0.092).abs() < 1e-15);
        // Narrower than half a step: still both ends.
        assert_eq!(Grid::of(&[1.0, 1.01], 0.1).unwrap().len, 2);
    }

    #[test]
    fn no_defined_ratio_means_no_grid() {
        assert_eq!(Grid::of(&[f64::NAN; 9], 0.1), None);
    }
}
