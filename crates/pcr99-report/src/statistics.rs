//! Quantiles of a sample, and the five numbers of a box plot.

use serde::Serialize;

/// How the values of a sample are spread.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Spread {
    /// How many there are.
    pub count: usize,
    /// The least.
    pub min: f64,
    /// 5 % are below.
    pub p5: f64,
    /// A quarter is below.
    pub q1: f64,
    /// Half are below.
    pub median: f64,
    /// Three quarters are below.
    pub q3: f64,
    /// 95 % are below.
    pub p95: f64,
    /// The greatest.
    pub max: f64,
}

impl Spread {
    /// Of a sample in any order; `None` of an empty one.
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

/// The quantile of a sorted sample that is not empty, linear between neighbours (type 7 of Hyndman and Fan, the usual one).
pub fn quantile(sorted: &[f64], part: f64) -> f64 {
    let place = part * (sorted.len() - 1) as f64;
    let below = (place as usize).min(sorted.len() - 1);
    let above = (below + 1).min(sorted.len() - 1);
    let (low, high) = (sorted[below], sorted[above]);
    low + (place - below as f64) * (high - low)
}

/// The median in any order; `None` of nothing.
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
