//! Quantiles of samples.

use serde::Serialize;

/// Quantiles of a sample.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Spread {
    /// Number of values.
    pub count: usize,
    /// Minimum.
    pub min: f64,
    /// 5 % quantile.
    pub p5: f64,
    /// First quartile.
    pub q1: f64,
    /// Median.
    pub median: f64,
    /// Third quartile.
    pub q3: f64,
    /// 95 % quantile.
    pub p95: f64,
    /// Maximum.
    pub max: f64,
}

impl Spread {
    /// Quantiles of values in any order; `None` without values.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut sorted: Vec<f64> = values.into_iter().collect();
        sorted.sort_by(f64::total_cmp);
        let (min, max) = (*sorted.first()?, *sorted.last()?);
        let at = |part| quantile(&sorted, part);
        Some(Self {
            count: sorted.len(),
            min,
            p5: at(0.05),
            q1: at(0.25),
            median: at(0.5),
            q3: at(0.75),
            p95: at(0.95),
            max,
        })
    }
}

/// Quantile of a sorted sample that is not empty, interpolated between neighbours (type 7 of Hyndman and Fan, the usual one). `part` is
/// between 0 and 1.
pub fn quantile(sorted: &[f64], part: f64) -> f64 {
    let place = part * (sorted.len() - 1) as f64;
    let below = (place as usize).min(sorted.len() - 1);
    let above = (below + 1).min(sorted.len() - 1);
    let (low, high) = (sorted[below], sorted[above]);
    low + (place - below as f64) * (high - low)
}

/// Median of values in any order; `None` without values.
pub fn median(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    Spread::of(values).map(|spread| spread.median)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::{collection::vec, prelude::*};

    #[test]
    fn of_few_values() {
        assert_eq!(Spread::of([]), None);
        let one = Spread::of([7.0]).unwrap();
        assert_eq!((one.count, one.min, one.q1, one.median, one.p95, one.max), (1, 7.0, 7.0, 7.0, 7.0, 7.0));
        assert_eq!(median([3.0, 1.0]), Some(2.0));
        assert_eq!(median([3.0, 1.0, 2.0]), Some(2.0));
    }

    /// 0 … 100: every quantile is its own percentage.
    #[test]
    fn of_a_ruler() {
        let spread = Spread::of((0..=100).rev().map(f64::from)).unwrap();
        assert_eq!((spread.min, spread.p5, spread.q1, spread.median), (0.0, 5.0, 25.0, 50.0));
        assert_eq!((spread.q3, spread.p95, spread.max), (75.0, 95.0, 100.0));
        assert!((quantile(&[1.0, 2.0, 4.0, 8.0], 0.5) - 3.0).abs() < 1e-15);
        assert!((quantile(&[1.0, 2.0, 4.0, 8.0], 0.9) - 6.8).abs() < 1e-12);
    }

    proptest! {
        #[test]
        fn in_order_and_within(values in vec(-1e3..1e3, 1..50)) {
            let s = Spread::of(values.iter().copied()).unwrap();
            let order = [s.min, s.p5, s.q1, s.median, s.q3, s.p95, s.max];
            prop_assert!(order.is_sorted(), "{order:?}");
            let below = values.iter().filter(|v| **v < s.median).count();
            let above = values.iter().filter(|v| **v > s.median).count();
            prop_assert!(2 * below <= values.len() && 2 * above <= values.len());
        }
    }
}
