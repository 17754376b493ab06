//! Random numbers that are the same on every machine for the same seed.

use rand_pcg::{Pcg64Mcg, rand_core::Rng};

/// A seeded stream of random numbers (PCG XSL-RR 128/64 MCG), equal to the bit on every machine.
///
/// ```
/// let mut a = pcr99_base::random::Random::new(7);
/// let mut b = pcr99_base::random::Random::new(7);
/// assert_eq!(a.uniform(), b.uniform());
/// assert!(a.below(3) < 3);
/// ```
#[derive(Debug, Clone)]
pub struct Random(Pcg64Mcg);

impl Random {
    /// The stream of `seed`. Nearby seeds give unrelated streams.
    pub fn new(seed: u64) -> Self {
        // A multiplication by 2¹²⁸ divided by the golden ratio spreads small seeds over all bits of the state.
        let spread = (u128::from(seed) + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C835);
        let mut random = Self(Pcg64Mcg::new(spread));
        random.0.next_u64();
        random.0.next_u64();
        random
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Uniform in `0..bound`; the bias is below `bound / 2⁶⁴`.
    pub fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.bits()) * bound as u128) >> 64) as usize
    }

    /// Uniform in `[0, 1)`, a multiple of 2⁻⁵³.
    pub fn uniform(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
    }

    /// Standard normal, by Marsaglia's polar method.
    pub fn gaussian(&mut self) -> f64 {
        loop {
            let (u, v) = (2.0 * self.uniform() - 1.0, 2.0 * self.uniform() - 1.0);
            let square = u * u + v * v;
            if square > 0.0 && square < 1.0 {
                // `libm`, because the C library's logarithm differs between CPUs.
                return u * (-2.0 * libm::log(square) / square).sqrt();
            }
        }
    }

    /// Three distinct indices below `bound`, which must be at least 3; every ordered triple is equally likely.
    pub fn distinct_triple(&mut self, bound: usize) -> [usize; 3] {
        let i = self.below(bound);
        let mut j = self.below(bound - 1);
        j += usize::from(j >= i);
        let mut k = self.below(bound - 2);
        let (low, high) = (i.min(j), i.max(j));
        k += usize::from(k >= low);
        k += usize::from(k >= high);
        [i, j, k]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn triples_are_distinct_and_uniform() {
        let mut random = Random::new(1);
        let mut seen = std::collections::BTreeMap::new();
        for _ in 0..60_000 {
            *seen.entry(random.distinct_triple(5)).or_insert(0_u32) += 1;
        }
        assert_eq!(seen.len(), 60, "all ordered triples of five");
        assert!(seen.keys().all(|[i, j, k]| i != j && j != k && k != i));
        // 1000 expected each; five standard deviations are 158.
        assert!(seen.values().all(|&count| count.abs_diff(1000) < 160), "{seen:?}");
    }

    #[test]
    fn gaussian_has_unit_variance() {
        let mut random = Random::new(2);
        let samples: Vec<f64> = (0..100_000).map(|_| random.gaussian()).collect();
        let mean = samples.iter().sum::<f64>() / 1e5;
        let variance = samples.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / 1e5;
        assert!(mean.abs() < 0.015 && (variance - 1.0).abs() < 0.02, "{mean} {variance}");
    }

    #[test]
    fn seeds_do_not_repeat_each_other() {
        let first: Vec<u64> = (0..1000).map(|seed| Random::new(seed).bits()).collect();
        let distinct: std::collections::BTreeSet<_> = first.iter().collect();
        assert_eq!(distinct.len(), 1000);
        assert_eq!(Random::new(0).bits(), first[0]);
    }
}
