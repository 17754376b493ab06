//! Random samples of fixed size that are always the same.

use pcr99::random::Random;

/// A sample of `most` of `count` indices, ascending; all indices when there are no more.
///
/// Every index has the same chance (selection sampling, Knuth's algorithm S). The same numbers give the same sample.
pub(crate) fn thinned(count: usize, most: usize) -> Vec<usize> {
    if count <= most {
        return (0..count).collect();
    }
    let mut random = Random::new(99);
    let mut chosen = Vec::with_capacity(most);
    for index in 0..count {
        if random.below(count - index) < most - chosen.len() {
            chosen.push(index);
        }
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn as_many_as_asked_for_and_in_order(count in 0_usize..400, most in 0_usize..400) {
            let chosen = thinned(count, most);
            prop_assert_eq!(chosen.len(), count.min(most));
            prop_assert!(chosen.is_sorted_by(|a, b| a < b) && chosen.last().is_none_or(|&last| last < count));
            prop_assert_eq!(chosen, thinned(count, most));
        }
    }

    /// A quarter of a million: each tenth of the range gets a tenth, up to five standard deviations.
    #[test]
    fn evenly() {
        let chosen = thinned(250_000, 10_000);
        for part in 0..10 {
            let within = chosen.iter().filter(|&&index| index / 25_000 == part).count();
            assert!((within as f64 - 1000.0).abs() < 150.0, "{part}: {within}");
        }
    }
}
