//! Histogram of residuals, on a logarithmic scale with an edge at the threshold.

use crate::numbers::power_of_ten;

/// Number of bars over the whole range; enough to see two groups of residuals, and each bar wide enough to point at.
const BARS: f64 = 48.0;
/// Smallest residual with a bar of its own, as a fraction of the largest. Smaller ones are in the first bar: zero has no logarithm.
const LEAST: f64 = 1e-6;

/// Bars in powers of ten. All candidates of a page have the same bars, so that they can be compared.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Bins {
    /// log₁₀ of the lower edge of the first bar.
    pub(crate) first: f64,
    /// Width of a bar in powers of ten.
    pub(crate) width: f64,
    /// Number of bars.
    pub(crate) count: usize,
}

impl Bins {
    /// Bars that contain all residuals and the threshold; `None` without a residual above zero.
    pub(crate) fn around(residuals: impl IntoIterator<Item = f64>, threshold: f64) -> Option<Self> {
        let usable = |x: &f64| x.is_finite() && *x > 0.0;
        let largest = |a: f64, b: f64| a.max(b);
        let residuals: Vec<f64> = residuals.into_iter().filter(usable).collect();
        let high = residuals.iter().copied().filter(usable).fold(threshold, largest);
        if residuals.is_empty() || !usable(&high) || !usable(&threshold) {
            return None;
        }
        let least = residuals.iter().copied().fold(threshold, f64::min).max(LEAST * high);
        let [low, edge, high] = [least, threshold, high].map(libm::log10);
        let width = ((high - low) / BARS).max(0.02);
        // The threshold is an edge between two bars.
        let (below, above) = ((edge - low) / width, (high - edge) / width);
        let (below, above) = (below.floor() as usize + 1, above.floor() as usize + 1);
        Some(Self { first: edge - below as f64 * width, width, count: below + above })
    }

    /// Number of residuals in each bar. A residual equal to the threshold is below it.
    pub(crate) fn counts(&self, residuals: impl IntoIterator<Item = f64>) -> Vec<usize> {
        let mut counts = vec![0; self.count];
        for residual in residuals.into_iter().filter(|x| x.is_finite()) {
            let place = if residual > 0.0 { (libm::log10(residual) - self.first) / self.width } else { 0.0 };
            let bar = (place - 1e-9).max(0.0) as usize;
            counts[bar.min(self.count - 1)] += 1;
        }
        counts
    }

    /// Places and labels of the axis: powers of ten, or 1, 2 and 5 times a power where these are too few.
    pub(crate) fn marks(&self) -> Vec<(f64, String)> {
        let last = self.first + self.width * self.count as f64;
        let powers = self.first.ceil() as i32..=last.floor() as i32;
        if powers.clone().count() >= 2 {
            return powers.map(|power| (f64::from(power), power_of_ten(power))).collect();
        }
        let around = self.first.floor() as i32..=last.ceil() as i32;
        let marks =
            around.flat_map(|power| [1.0, 2.0, 5.0].map(|digit| digit * libm::exp10(f64::from(power))));
        let marks = marks.map(|value| (libm::log10(value), crate::numbers::shown(value)));
        marks.filter(|(place, _)| (self.first..=last).contains(place)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::{collection::vec, prelude::*};

    proptest! {
        /// Every residual is in one bar, and on its side of the threshold.
        #[test]
        fn all_are_counted(residuals in vec(0.0..3.0_f64, 1..200), threshold in 0.001..2.0_f64) {
            let Some(bins) = Bins::around(residuals.iter().copied(), threshold) else {
                prop_assert!(residuals.iter().all(|x| *x == 0.0));
                return Ok(());
            };
            let counts = bins.counts(residuals.iter().copied());
            prop_assert_eq!(counts.iter().sum::<usize>(), residuals.len());
            let edge = ((libm::log10(threshold) - bins.first) / bins.width).round() as usize;
            let near = residuals.iter().filter(|x| (**x / threshold - 1.0).abs() < 1e-6).count();
            let below: usize = counts[..edge].iter().sum();
            let expected = residuals.iter().filter(|x| **x <= threshold).count();
            prop_assert!(below.abs_diff(expected) <= near, "{below} {expected}");
            prop_assert!(counts.len() < 1000);
        }
    }

    #[test]
    fn the_threshold_belongs_to_the_inliers() {
        let bins = Bins::around([0.001, 0.05, 1.7], 0.05).unwrap();
        let edge = ((libm::log10(0.05) - bins.first) / bins.width).round() as usize;
        assert_eq!(bins.counts([0.05])[edge - 1], 1);
        assert_eq!(bins.counts([0.0])[0], 1);
        let labels: Vec<String> = bins.marks().into_iter().map(|(_, label)| label).collect();
        assert_eq!(labels, ["0.001", "0.01", "0.1", "1"]);
        assert_eq!(Bins::around([0.0, 0.0], 0.05), None);
        assert_eq!(Bins::around([], 0.05), None);
    }

    #[test]
    fn a_narrow_range_has_marks_too() {
        let bins = Bins::around([0.02, 0.06], 0.05).unwrap();
        let labels: Vec<String> = bins.marks().into_iter().map(|(_, label)| label).collect();
        assert_eq!(labels, ["0.02", "0.05"]);
    }
}
