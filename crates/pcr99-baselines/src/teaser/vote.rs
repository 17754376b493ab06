//! Adaptive voting: a robust estimate of one number from many values, most of them outliers.
//!
//! Each value `x` with half-width `α` is an interval `[x − α, x + α]`. Between neighbouring ends, the set of overlapping intervals is constant. The estimate
//! of such a set is the mean weighted by `1/α²`. The set with the smallest truncated cost `Σ ((x − estimate)/α)² + (number of the others)` wins: the
//! truncated least squares of the publication. (Where all `α` are equal, this is `Σ (x − estimate)² + Σ α²` over the others, up to a factor. Costs
//! that add `α` itself depend on the unit.)
//!
//! Sorting all ends and sweeping over them finds the set. Here the ends are first counted in buckets, which gives a lower bound of the cost of every set
//! in a bucket. Only buckets that may contain the best set are sorted and swept. The result is the same.

use pcr99::stop::{StopCheck, StopRequest};

/// Value with its half-width.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Interval {
    pub(super) value: f64,
    pub(super) half_width: f64,
}

/// Number of buckets for the ends of intervals. Their counts fit into the cache.
const BUCKETS: usize = 4096;
/// Bucket of an interval that does not take part.
const NOWHERE: u16 = u16::MAX;
/// Number of intervals between two stop checks.
const BETWEEN_CHECKS: usize = 1 << 14;
/// Number of intervals that determine the typical size.
const SAMPLE: usize = 1001;

/// Votes; keeps its buffers.
#[derive(Debug, Default)]
pub(super) struct Voting {
    /// Buckets of both ends of each interval.
    places: Vec<[u16; 2]>,
    tallies: Vec<Tally>,
    ends: Vec<End>,
    /// First end of each bucket that is swept.
    begins: Vec<usize>,
}

/// End of an interval: its place, and the number of the interval, plus [`UPPER`] for an upper end.
type End = (f64, u32);

/// Mark of an upper end. Upper ends sort after lower ends at the same place, so that touching intervals overlap.
const UPPER: u32 = 1 << 31;

impl Voting {
    /// Estimate; `None` without intervals of finite width, or when numbers overflow.
    pub(super) fn vote(
        &mut self,
        intervals: &[Interval],
        stop: StopCheck<'_>,
    ) -> Result<Option<f64>, StopRequest> {
        self.tally(intervals, stop)?;
        // The set at the start of each bucket, and the bucket with most intervals.
        let (mut set, mut fullest, mut most) = (Set::default(), 0, 0.0);
        for (bucket, tally) in self.tallies.iter_mut().enumerate() {
            tally.before = set;
            set = set.with(&tally.lower).without(&tally.upper);
            let holds = tally.before.len + tally.lower.len;
            if holds > most {
                (fullest, most) = (bucket, holds);
            }
        }
        let all: f64 = self.tallies.iter().map(|tally| tally.lower.len).sum();
        let mut best = Best { all, cost: f64::INFINITY, estimate: None };
        self.sweep(intervals, &mut best, |bucket, _| bucket == fullest, stop)?;
        let reached = best.cost;
        self.sweep(
            intervals,
            &mut best,
            |bucket, tally| bucket != fullest && tally.least_cost(all) < reached,
            stop,
        )?;
        Ok(best.estimate.filter(|estimate| estimate.is_finite()))
    }

    /// Finds the bucket of every end, and sums the intervals that start and end in each bucket.
    fn tally(&mut self, intervals: &[Interval], stop: StopCheck<'_>) -> Result<(), StopRequest> {
        self.places.clear();
        self.tallies.clear();
        self.tallies.resize(BUCKETS, Tally::default());
        let bucket = Buckets::of(intervals);
        for some in intervals.chunks(BETWEEN_CHECKS) {
            if let Some(request) = stop() {
                return Err(request);
            }
            for interval in some {
                let &Interval { value, half_width } = interval;
                if !half_width.is_finite() {
                    self.places.push([NOWHERE; 2]);
                    continue;
                }
                let places = [bucket.holding(value - half_width), bucket.holding(value + half_width)];
                let one = Set::of(interval);
                self.tallies[usize::from(places[0])].lower.add(&one);
                self.tallies[usize::from(places[1])].upper.add(&one);
                self.places.push(places);
            }
        }
        Ok(())
    }

    /// Evaluates every set in the selected buckets.
    fn sweep(
        &mut self,
        intervals: &[Interval],
        best: &mut Best,
        pick: impl Fn(usize, &Tally) -> bool,
        stop: StopCheck<'_>,
    ) -> Result<(), StopRequest> {
        // Space for the ends of the selected buckets only.
        self.begins.clear();
        let mut room = 0;
        for (bucket, tally) in self.tallies.iter().enumerate() {
            self.begins.push(room);
            room += if pick(bucket, tally) { (tally.lower.len + tally.upper.len) as usize } else { 0 };
        }
        self.begins.push(room);
        self.ends.clear();
        self.ends.resize(room, (0.0, 0));
        let mut next = self.begins.clone();
        for (i, (interval, places)) in intervals.iter().zip(&self.places).enumerate() {
            if i.is_multiple_of(BETWEEN_CHECKS)
                && let Some(request) = stop()
            {
                return Err(request);
            }
            let Interval { value, half_width } = *interval;
            let ends = [(value - half_width, i as u32), (value + half_width, i as u32 | UPPER)];
            for (end, &bucket) in ends.into_iter().zip(places).filter(|(_, bucket)| **bucket != NOWHERE) {
                let bucket = usize::from(bucket);
                if self.begins[bucket] < self.begins[bucket + 1] {
                    self.ends[next[bucket]] = end;
                    next[bucket] += 1;
                }
            }
        }
        for (tally, range) in self.tallies.iter().zip(self.begins.windows(2)) {
            let ends = &mut self.ends[range[0]..range[1]];
            if ends.is_empty() {
                continue;
            }
            if let Some(request) = stop() {
                return Err(request);
            }
            ends.sort_unstable_by(|end, other| end.0.total_cmp(&other.0).then(end.1.cmp(&other.1)));
            let mut set = tally.before;
            best.consider(&set);
            for &mut (_, end) in ends {
                let one = Set::of(&intervals[(end & !UPPER) as usize]);
                set = if end & UPPER == 0 { set.with(&one) } else { set.without(&one) };
                best.consider(&set);
            }
        }
        Ok(())
    }
}

/// Division into buckets: equal parts of `x/(m + |x|)`, which are finest around `±m` and reach to infinity.
struct Buckets {
    middle: f64,
}

impl Buckets {
    /// Division with the median size of an upper end as `m`.
    fn of(intervals: &[Interval]) -> Self {
        let some = intervals.iter().step_by(intervals.len() / SAMPLE + 1);
        let mut sizes: Vec<f64> =
            some.map(|i| i.value.abs() + i.half_width).filter(|x| x.is_finite()).collect();
        let half = sizes.len() / 2;
        let median =
            if sizes.is_empty() { 1.0 } else { *sizes.select_nth_unstable_by(half, f64::total_cmp).1 };
        Self { middle: median.max(f64::MIN_POSITIVE) }
    }

    /// Bucket of a number. Rounding keeps the order, because each operation does.
    #[inline]
    fn holding(&self, x: f64) -> u16 {
        let part = (1.0 - self.middle / (self.middle + x.abs())).copysign(x);
        ((0.5 * BUCKETS as f64 * (1.0 + part)) as u16).min(BUCKETS as u16 - 1)
    }
}

/// Intervals that start and end in a bucket.
#[derive(Debug, Clone, Copy, Default)]
struct Tally {
    /// Intervals at the start of the bucket.
    before: Set,
    lower: Set,
    upper: Set,
}

impl Tally {
    /// Lower bound of the cost of every set in the bucket. A set contains at most the intervals that occur at some place, and at least those that occur at
    /// every place, whose cost alone is not larger.
    fn least_cost(&self, all: f64) -> f64 {
        let throughout = self.before.without(&self.upper);
        let rounding = 1e-9 * self.before.second;
        all - (self.before.len + self.lower.len) + (throughout.spread() - rounding).max(0.0)
    }
}

/// Sums over a set of intervals.
#[derive(Debug, Clone, Copy, Default)]
struct Set {
    len: f64,
    /// Sums of `w`, `w·x` and `w·x²`, with `w = 1/α²`.
    weights: f64,
    first: f64,
    second: f64,
}

impl Set {
    #[inline]
    fn of(interval: &Interval) -> Self {
        let Interval { value, half_width } = *interval;
        let weights = 1.0 / (half_width * half_width);
        let first = weights * value;
        Self { len: 1.0, weights, first, second: first * value }
    }

    #[inline]
    fn add(&mut self, other: &Self) {
        *self = self.with(other);
    }

    #[inline]
    fn with(&self, other: &Self) -> Self {
        Self {
            len: self.len + other.len,
            weights: self.weights + other.weights,
            first: self.first + other.first,
            second: self.second + other.second,
        }
    }

    #[inline]
    fn without(&self, other: &Self) -> Self {
        // Removes rounding errors of an empty set.
        if self.len <= other.len {
            return Self { len: self.len - other.len, ..Self::default() };
        }
        Self {
            len: self.len - other.len,
            weights: self.weights - other.weights,
            first: self.first - other.first,
            second: self.second - other.second,
        }
    }

    /// `Σ w·(x − estimate)²`.
    #[inline]
    fn spread(&self) -> f64 {
        if self.len > 0.0 { (self.second - self.first * (self.first / self.weights)).max(0.0) } else { 0.0 }
    }
}

/// Best set so far.
struct Best {
    all: f64,
    cost: f64,
    estimate: Option<f64>,
}

impl Best {
    #[inline]
    fn consider(&mut self, set: &Set) {
        // Cost of the other intervals alone.
        let others = self.all - set.len;
        if others >= self.cost || set.len <= 0.0 {
            return;
        }
        let cost = set.spread() + others;
        if cost < self.cost {
            (self.cost, self.estimate) = (cost, Some(set.first / set.weights));
        }
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

    /// Truncated cost of the set at `place`, and its estimate.
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
        /// Comparison with the evaluation of every set: at each end, and between each two.
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
            // The estimate belongs to a set of smallest cost.
            let nearest = costs.iter().filter(|c| (c.1 - found).abs() < 1e-9).map(|c| c.0).fold(f64::INFINITY, f64::min);
            prop_assert!((nearest - least).abs() < 1e-9, "{found}: {nearest} against {least}");
        }

        #[test]
        fn buckets_keep_the_order(x in any::<f64>(), y in -3.0..3.0_f64, z in -3.0..3.0_f64, middle in 1e-3..1e3_f64) {
            let buckets = Buckets { middle };
            for (x, y) in [(x, y), (y, z), (y, y + 1e-12)] {
                prop_assume!(!x.is_nan());
                let (low, high) = (x.min(y), x.max(y));
                prop_assert!(buckets.holding(low) <= buckets.holding(high));
            }
        }
    }

    #[test]
    fn the_majority_wins_and_is_averaged() {
        let interval = |value| Interval { value, half_width: 0.1 };
        let values = [2.01, 7.0, 1.99, -3.0, 2.0, 5.0, 5.01];
        assert!((estimate(&values.map(interval)).unwrap() - 2.0).abs() < 1e-12);
        assert_eq!(estimate(&[]), None);
        assert_eq!(estimate(&[interval(4.0)]), Some(4.0));
        // Equal intervals, and intervals that touch in one point.
        assert_eq!(estimate(&[interval(4.0); 50]), Some(4.0));
        let touching = [Interval { value: 0.0, half_width: 1.0 }, Interval { value: 2.0, half_width: 1.0 }];
        assert!(at(&touching, 1.0).0 == 2.0 && estimate(&touching).is_some());
        let boundless = Interval { value: 1.0, half_width: f64::INFINITY };
        assert_eq!(estimate(&[boundless, interval(4.0)]), Some(4.0));
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
