//! Windows of scales: which scales do more matches of a block suggest, together with the centre, than by chance?
//!
//! The tolerance of a suggested scale is `τ/‖a_i − a_m‖`, whatever the scale, so bins are of equal width in the scale itself. A window is two neighbouring bins.

use pcr99_base::{kernel::star::first_window, squared_distances};

use super::super::Problem;

/// Largest number of bins.
const MOST_BINS: f64 = 1000.0;
/// Width of a bin, relative to the tolerance `τ` divided by the median distance between sources.
const BIN_WIDTH: f64 = 0.7;
/// Half of the part of a window that is sure to hold scales around any scale, in bins.
const SURE: f64 = 0.75;
/// Pairs that tell distances and scales.
const PAIRS: usize = 128;
/// Share of the suggested scales that the bins cover, and how much farther they reach.
const COVERED: (f64, f64) = (0.98, 1.25);
/// Bins on either side over which chance is averaged.
const SMOOTH: usize = 4;
/// A window with this part of the block is looked at in any case. Where right matches abound, they raise what seems to be chance.
const ABUNDANT: usize = 5;
/// Number of stars after which chance is known well enough.
const ENOUGH_STARS: usize = 32;
/// Numbers of stars after which the limits are set anew.
const UPDATES: [usize; 4] = [1, 2, 8, ENOUGH_STARS];
/// Largest number of windows that are looked at in one star. A limit on cost.
const MOST_WINDOWS: usize = 6;

/// Number of hits from which a window is looked at, where chance gives `expected`: beyond 2.5 standard deviations, one window in a hundred.
pub(super) fn window_limit(expected: f64, matches: usize, least: usize) -> usize {
    let limit = (expected + 2.5 * expected.sqrt() + 2.0) as usize;
    limit.min(matches / ABUNDANT).max(least + 1)
}

/// Number of suggested scales in each bin.
type Counts = Box<[u16; COUNTS]>;
/// Length of the counts: a power of two beyond [`MOST_BINS`], so that no index needs to be checked.
const COUNTS: usize = 1024;

/// Counts of suggested scales.
#[derive(Debug)]
pub(super) struct Windows {
    per_unit: f64,
    /// Bins that are looked at.
    from: usize,
    to: usize,
    counts: Counts,
    limits: Vec<u16>,
    /// Counts of all stars so far, and the number of matches that were counted.
    all: Vec<u32>,
    counted: f64,
    stars: usize,
    /// Largest probability that a place of a block falls into a window by chance.
    densest: f64,
    matches: usize,
    least: usize,
    /// Where the next window is looked for, and how many more.
    next: usize,
    left: usize,
}

impl Default for Windows {
    fn default() -> Self {
        Self {
            per_unit: 0.0,
            from: 0,
            to: 0,
            counts: Box::new([0; COUNTS]),
            limits: Vec::new(),
            all: Vec::new(),
            counted: 0.0,
            stars: 0,
            densest: 0.0,
            matches: 0,
            least: 0,
            next: 0,
            left: 0,
        }
    }
}

impl Windows {
    /// Prepares the bins for some matches. False when they suggest no scale.
    pub(super) fn reset(&mut self, members: &[u32], problem: &Problem<'_>) -> bool {
        let n = members.len();
        let (mut lengths, mut scales): (Vec<f64>, Vec<f64>) = (0..n.min(PAIRS))
            .map(|k| (k, if k + n / 2 < n { k + n / 2 } else { k + n / 2 - n }))
            .map(|(i, j)| squared_distances(problem.points, members[i] as usize, members[j] as usize))
            .filter(|(source_sq, target_sq)| *source_sq > 0.0 && (target_sq / source_sq).is_finite())
            .map(|(source_sq, target_sq)| (source_sq.sqrt(), (target_sq / source_sq).sqrt()))
            .unzip();
        if lengths.is_empty() {
            return false;
        }
        let place = lengths.len() / 2;
        let length = *lengths.select_nth_unstable_by(place, f64::total_cmp).1;
        let place = (COVERED.0 * (scales.len() - 1) as f64) as usize;
        let farthest = *scales.select_nth_unstable_by(place, f64::total_cmp).1 * COVERED.1;
        let (low, high) = problem.model.scale_range.map_or((0.0, farthest), |[low, high]| (low, high));
        let width = (BIN_WIDTH * problem.tau / length).max(high / MOST_BINS);
        if !(width.is_finite() && width > 0.0) {
            return false;
        }
        self.per_unit = 1.0 / width;
        self.from = (low / width) as usize;
        self.to = (high / width) as usize + 2;
        self.limits.clear();
        self.limits.resize(self.to + 2, 0);
        self.all.clear();
        self.all.resize(self.to + 2, 0);
        (self.counted, self.stars, self.matches) = (0.0, 0, 0);
        true
    }

    /// Bins per unit of scale, and the bin of matches that suggest no scale.
    pub(super) fn scale(&self) -> (f32, u16) {
        (self.per_unit as f32, self.to as u16)
    }

    /// Half of the width around any scale that is sure to be within one window.
    pub(super) fn half_width(&self) -> f32 {
        (SURE / self.per_unit) as f32
    }

    /// Largest number of hits that chance gives in one window, for a block with so many places.
    pub(super) fn most_expected(&self, places: usize) -> f64 {
        self.densest * places as f64
    }

    /// Forgets what was counted: a candidate that explains some of it was found.
    pub(super) fn forget(&mut self) {
        self.all.fill(0);
        (self.counted, self.stars) = (0.0, 0);
    }

    /// Sets the limits from the counts so far, averaged over a few bins.
    fn update(&mut self) {
        let Self { all, limits, from, to, matches, least, .. } = self;
        let per_match = 2.0 / (self.counted.max(1.0) * (2 * SMOOTH + 2) as f64);
        let mut sum: u32 = all[..(SMOOTH + 1).min(*to)].iter().sum();
        let mut densest = 0.0_f64;
        for k in 0..*to {
            sum += all.get(k + SMOOTH + 1).copied().unwrap_or(0);
            let chance = f64::from(sum) * per_match;
            sum -= if k >= SMOOTH { all[k - SMOOTH] } else { 0 };
            limits[k] = if k + 1 < *from {
                u16::MAX
            } else {
                densest = densest.max(chance);
                window_limit(chance * *matches as f64, *matches, *least) as u16
            };
        }
        self.densest = densest;
    }

    /// Counts the bins of a star. The last one holds matches that suggest no scale.
    pub(super) fn count(&mut self, bins: &[u16], least: usize) {
        let counts = &mut *self.counts;
        counts[..self.to + 2].fill(0);
        for &bin in bins {
            counts[usize::from(bin) % COUNTS] += 1;
        }
        counts[self.to] = 0;
        self.stars += 1;
        if self.stars <= ENOUGH_STARS {
            self.all.iter_mut().zip(&*counts).for_each(|(all, count)| *all += u32::from(*count));
            self.counted += bins.len() as f64;
        }
        let is_new = (self.matches, self.least) != (bins.len(), least);
        if is_new || UPDATES.contains(&self.stars) {
            (self.matches, self.least) = (bins.len(), least);
            self.update();
        }
        (self.next, self.left) = (0, MOST_WINDOWS);
    }

    /// First bin of the next window to look at.
    pub(super) fn next(&mut self) -> Option<u16> {
        if self.left == 0 {
            return None;
        }
        let found = first_window(&self.counts[..=self.to], &self.limits[..self.to], self.next)?;
        // The window after it may hold more.
        let held = |k: usize| self.counts[k] + self.counts[k + 1];
        let place = if found + 1 < self.to && held(found + 1) > held(found) { found + 1 } else { found };
        self.next = place + 2;
        self.left -= 1;
        Some(place as u16)
    }
}
