//! A number from many noisy ones, most of them wrong: adaptive voting.
//!
//! Each value `x` with half-width `α` is an interval `[x − α, x + α]`. Between neighbouring ends the set of intervals that overlap is
//! constant; the estimate of each such set is the mean weighted by `1/α²`, and the set with the least truncated cost
//! `Σ ((x − estimate)/α)² + (number of the others)` wins.

use pcr99::stop::{StopCheck, StopRequest};

/// A value and its half-width.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Interval {
    pub(super) value: f64,
    pub(super) half_width: f64,
}

/// An end of an interval: the position in an order of bits, then whether it is the upper end (so that intervals that touch
/// overlap) with the number of the interval.
type End = (u64, u32);

/// The bit of an upper end.
const UPPER: u32 = 1 << 31;
/// Intervals at most.
pub(super) const MOST: usize = (UPPER - 1) as usize;
/// Ends are put into buckets by so many leading bits: sign, exponent and six of the fraction. Each is then sorted on its own,
/// in the cache, and the clock is looked at between them.
const BUCKET_BITS: u32 = 18;

/// Sorts and sweeps; keeps its buffers.
#[derive(Debug, Default)]
pub(super) struct Voting {
    ends: Vec<End>,
    starts: Vec<u32>,
}

impl Voting {
    /// The estimate; `None` when there are no intervals with finite ends, or it is no number.
    pub(super) fn vote(
        &mut self,
        intervals: &[Interval],
        stop: StopCheck<'_>,
    ) -> Result<Option<f64>, StopRequest> {
        if self.fill(intervals).is_none() {
            return Ok(None);
        }
        let mut sweep = Sweep::new(intervals.len());
        let mut from = 0;
        for bucket in 0..self.starts.len() - 1 {
            let to = self.starts[bucket + 1] as usize;
            if to == from {
                continue;
            }
            if let Some(request) = stop() {
                return Err(request);
            }
            let ends = &mut self.ends[from..to];
            ends.sort_unstable();
            ends.iter().for_each(|&(_, end)| sweep.pass(intervals, end));
            from = to;
        }
        Ok(sweep.best.filter(|estimate| estimate.is_finite()))
    }

    /// Puts all ends into buckets in ascending order; `None` when there are none.
    fn fill(&mut self, intervals: &[Interval]) -> Option<()> {
        debug_assert!(intervals.len() <= MOST);
        let keys = |interval: &Interval| {
            let Interval { value, half_width } = *interval;
            [ordered(value - half_width), ordered(value + half_width)]
        };
        let bucket = |key: u64| (key >> (64 - BUCKET_BITS)) as usize;
        let (mut low, mut high) = (usize::MAX, 0);
        for interval in intervals {
            let [lower, upper] = keys(interval);
            (low, high) = (low.min(bucket(lower)), high.max(bucket(upper)));
        }
        if low > high {
            return None;
        }
        // Two places on: counting first, then `starts[b + 1]` is where the next end of bucket b goes, and in the end where b ends.
        self.starts.clear();
        self.starts.resize(high - low + 3, 0);
        for key in intervals.iter().flat_map(keys) {
            self.starts[bucket(key) - low + 2] += 1;
        }
        for bucket in 2..self.starts.len() {
            self.starts[bucket] += self.starts[bucket - 1];
        }
        self.ends.resize(2 * intervals.len(), (0, 0));
        for (i, interval) in intervals.iter().enumerate() {
            for (key, tag) in keys(interval).into_iter().zip([0, UPPER]) {
                let place = &mut self.starts[bucket(key) - low + 1];
                self.ends[*place as usize] = (key, i as u32 | tag);
                *place += 1;
            }
        }
        self.starts.pop();
        Some(())
    }
}

/// Bits that order as the numbers do.
fn ordered(x: f64) -> u64 {
    let bits = (x + 0.0).to_bits(); // −0 becomes 0
    if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
}

/// The set of intervals at one place, and the best so far.
struct Sweep {
    all: f64,
    inside: f64,
    /// Sums of `w`, `w·x` and `w·x²` over the set, with `w = 1/α²`.
    weights: f64,
    first: f64,
    second: f64,
    least_cost: f64,
    best: Option<f64>,
}

impl Sweep {
    fn new(intervals: usize) -> Self {
        let (all, zero) = (intervals as f64, 0.0);
        Self {
            all,
            inside: zero,
            weights: zero,
            first: zero,
            second: zero,
            least_cost: f64::INFINITY,
            best: None,
        }
    }

    #[inline]
    fn pass(&mut self, intervals: &[Interval], end: u32) {
        let Interval { value, half_width } = intervals[(end & !UPPER) as usize];
        let weight = 1.0 / (half_width * half_width);
        if end & UPPER == 0 {
            self.change(1.0, weight, value);
        } else {
            self.change(-1.0, weight, value);
            if self.inside == 0.0 {
                // Nothing of what rounding left.
                (self.weights, self.first, self.second) = (0.0, 0.0, 0.0);
            }
        }
        // The others alone cost so much.
        let others = self.all - self.inside;
        if others >= self.least_cost || self.inside == 0.0 {
            return;
        }
        let estimate = self.first / self.weights;
        let cost = (self.second - self.first * estimate).max(0.0) + others;
        if cost < self.least_cost {
            (self.least_cost, self.best) = (cost, Some(estimate));
        }
    }

    #[inline]
    fn change(&mut self, sign: f64, weight: f64, value: f64) {
        let weight = sign * weight;
        self.inside += sign;
        self.weights += weight;
        self.first += weight * value;
        self.second += weight * value * value;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pcr99::{random::Random, stop};
    use proptest::prelude::*;

    fn estimate(intervals: &[Interval]) -> Option<f64> {
        Voting::default().vote(intervals, &stop::never).unwrap()
    }

    /// The truncated cost of the set that holds `place`, and its estimate.
    fn at(intervals: &[Interval], place: f64) -> (f64, f64) {
        let holds = |i: &&Interval| i.value - i.half_width <= place && place <= i.value + i.half_width;
        let set: Vec<&Interval> = intervals.iter().filter(holds).collect();
        let weight = |i: &Interval| i.half_width.powi(-2);
        let sum: f64 = set.iter().map(|i| weight(i)).sum();
        let estimate = set.iter().map(|i| weight(i) * i.value).sum::<f64>() / sum;
        let cost: f64 = set.iter().map(|i| weight(i) * (i.value - estimate).powi(2)).sum();
        (cost + (intervals.len() - set.len()) as f64, estimate)
    }

    proptest! {
        /// Against every set looked at by itself: at each end, and between each two.
        #[test]
        fn no_other_set_costs_less(seed in any::<u64>(), n in 1_usize..40, spread in 0.1..20.0_f64) {
            let mut random = Random::new(seed);
            let intervals: Vec<Interval> = (0..n)
                .map(|_| Interval { value: spread * (random.uniform() - 0.3), half_width: 0.1 + random.uniform() })
                .collect();
            let mut places: Vec<f64> =
                intervals.iter().flat_map(|i| [i.value - i.half_width, i.value + i.half_width]).collect();
            places.sort_by(f64::total_cmp);
            let between: Vec<f64> = places.windows(2).map(|w| 0.5 * (w[0] + w[1])).collect();
            let found = estimate(&intervals).unwrap();
            let costs: Vec<(f64, f64)> = places.iter().chain(&between).map(|&p| at(&intervals, p)).collect();
            let least = costs.iter().map(|c| c.0).filter(|c| !c.is_nan()).fold(f64::INFINITY, f64::min);
            // The estimate belongs to a set of least cost.
            let nearest = costs.iter().filter(|c| (c.1 - found).abs() < 1e-9).map(|c| c.0).fold(f64::INFINITY, f64::min);
            prop_assert!((nearest - least).abs() < 1e-9, "{found}: {nearest} against {least}");
        }

        #[test]
        fn bits_order_as_numbers_do(x in any::<f64>(), y in any::<f64>()) {
            prop_assume!(!x.is_nan() && !y.is_nan());
            prop_assert_eq!(ordered(x).cmp(&ordered(y)), x.partial_cmp(&y).unwrap());
        }
    }

    #[test]
    fn the_majority_wins_and_is_averaged() {
        let interval = |value| Interval { value, half_width: 0.1 };
        let values = [2.01, 7.0, 1.99, -3.0, 2.0, 5.0, 5.01];
        assert!((estimate(&values.map(interval)).unwrap() - 2.0).abs() < 1e-12);
        assert_eq!(estimate(&[]), None);
        assert_eq!(estimate(&[interval(4.0)]), Some(4.0));
        // All alike, all touching in one point.
        assert_eq!(estimate(&[interval(4.0); 50]), Some(4.0));
        let touching = [Interval { value: 0.0, half_width: 1.0 }, Interval { value: 2.0, half_width: 1.0 }];
        assert!(at(&touching, 1.0).0 == 2.0 && estimate(&touching).is_some());
    }

    #[test]
    fn widths_weigh() {
        let intervals = [Interval { value: 0.0, half_width: 1.0 }, Interval { value: 1.0, half_width: 2.0 }];
        assert!((estimate(&intervals).unwrap() - 0.2).abs() < 1e-12);
    }

    #[test]
    fn extremes_give_no_nan() {
        for (value, half_width) in [(1e-300, 1e-300), (1e300, 1e-300), (0.0, 0.0), (1.0, 1e-170)] {
            let found = estimate(&[Interval { value, half_width }; 3]);
            assert!(found.is_none_or(f64::is_finite), "{found:?}");
        }
    }

    #[test]
    fn stops_when_told() {
        let told = || Some(StopRequest::Interrupted);
        let one = [Interval { value: 0.0, half_width: 1.0 }];
        assert_eq!(Voting::default().vote(&one, &told), Err(StopRequest::Interrupted));
    }
}
