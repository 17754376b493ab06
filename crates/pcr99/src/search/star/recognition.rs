//! How often a star shows a consensus that its centre belongs to.

/// Smallest number of hits that must be consistent with a seed, with a known scale.
pub(super) const FEWEST_COMMON: usize = 4;
/// Smallest number of hits that must be consistent with a seed, with an unknown scale: the hits are consistent with the centre within the scale of the seed, which is a further condition.
const FEWEST_COMMON_UNKNOWN: usize = 3;
/// Part of the calculated recognition that is relied on. It covers fits that fail although the clique is right.
const RELIED_ON: f64 = 0.85;
/// Mean number of right hits from which their spread no longer matters.
const MANY: f64 = 48.0;

/// How often two matches of a consensus are consistent, as measured on the best one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rates {
    /// Rate at which a match is a hit of a centre.
    pub(super) hit: f64,
    /// Rate at which a hit is consistent with a seed.
    pub(super) common: f64,
}

impl Default for Rates {
    /// Rates of a consensus whose noise fills the threshold.
    fn default() -> Self {
        Self { hit: 0.7, common: 0.7 }
    }
}

/// A star, as far as recognition depends on it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Star {
    /// Matches in the block.
    pub(super) matches: usize,
    /// Hits that are tried as seeds.
    pub(super) seeds: usize,
    /// Hits that must be consistent with a seed.
    pub(super) least: usize,
    /// Hits by chance; with an unknown scale, in the window that holds most of them.
    pub(super) chance_hits: f64,
    /// With an unknown scale: number of hits from which a window is looked at.
    pub(super) limit: Option<usize>,
}

/// Number of hits consistent with a seed that chance rarely reaches, where it gives `expected` on average: three standard deviations more.
pub(super) fn least_common(expected: f64, is_scale_unknown: bool) -> usize {
    let fewest = if is_scale_unknown { FEWEST_COMMON_UNKNOWN } else { FEWEST_COMMON };
    fewest.max((expected + 3.0 * expected.sqrt() + 1.0).ceil() as usize)
}

/// Probability that a star shows a consensus of a `share` of the matches when its centre belongs to it: enough right hits, one of them a seed, and enough others
/// consistent with it.
pub(super) fn recognition(share: f64, star: &Star, rates: Rates) -> f64 {
    let rate = (share * rates.hit).min(0.9);
    let mean = star.matches as f64 * rate;
    let seen = |right: f64| 1.0 - powi(star.chance_hits / (star.chance_hits + right), star.seeds);
    if mean > MANY {
        // Four standard deviations fewer right hits than expected, and four fewer consistent with the seed.
        let few = mean - 4.0 * (mean * (1.0 - rate)).sqrt();
        let common = few * rates.common - 4.0 * (few * rates.common * (1.0 - rates.common)).sqrt();
        let is_enough = common > star.least as f64 && star.limit.is_none_or(|limit| few >= limit as f64);
        return if is_enough { RELIED_ON * seen(few) } else { 0.0 };
    }
    let tail = PoissonTail::new(star.chance_hits, star.limit.unwrap_or(0));
    let mut probability = powi(1.0 - rate, star.matches);
    let odds = rate / (1.0 - rate);
    // Probabilities that 0, 1, … of the other right hits are consistent with the seed, below the number wanted, and that more are.
    let mut others = [0.0; MOST_COMMON];
    others[0] = 1.0;
    let wanted = star.least.min(MOST_COMMON);
    let (mut sum, mut enough, mut covered) = (0.0, 0.0, 0.0);
    for right in 0..star.matches {
        if right > star.least {
            let is_full = tail.at_least(star.limit.unwrap_or(0).saturating_sub(right));
            sum += probability * seen(right as f64) * is_full * enough;
        }
        covered += probability;
        if covered > 1.0 - 1e-4 {
            break;
        }
        if right > 0 && enough < 1.0 - 1e-4 {
            enough += others[wanted - 1] * rates.common;
            for k in (0..wanted).rev() {
                let before = if k > 0 { others[k - 1] } else { 0.0 };
                others[k] = others[k] * (1.0 - rates.common) + before * rates.common;
            }
        }
        probability *= (star.matches - right) as f64 / (right + 1) as f64 * odds;
    }
    RELIED_ON * sum
}

/// Largest number of consistent hits that is told apart.
const MOST_COMMON: usize = 24;
/// Largest limit of a window that is told apart.
const MOST_HITS: usize = 256;

fn powi(base: f64, exponent: usize) -> f64 {
    let (mut power, mut square, mut left) = (1.0, base, exponent);
    while left > 0 {
        if left % 2 == 1 {
            power *= square;
        }
        square *= square;
        left /= 2;
    }
    power
}

/// Tail of a Poisson distribution.
#[derive(Debug)]
struct PoissonTail {
    at_least: [f64; MOST_HITS],
}

impl PoissonTail {
    /// The tail up to a count of `most`.
    fn new(mean: f64, most: usize) -> Self {
        let mut at_least = [1.0; MOST_HITS];
        if most > 0 {
            let mut term = libm::exp(-mean);
            for k in 1..MOST_HITS.min(most + 1) {
                at_least[k] = (at_least[k - 1] - term).max(0.0);
                term *= mean / k as f64;
            }
        }
        Self { at_least }
    }

    /// Probability of at least `count`.
    fn at_least(&self, count: usize) -> f64 {
        self.at_least[count.min(MOST_HITS - 1)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// Draws stars as the model describes them, and counts how often the consensus is recognised.
    fn drawn(share: f64, star: &Star, rates: Rates, random: &mut Random) -> f64 {
        let poisson =
            |random: &mut Random| (0..1000).filter(|_| random.uniform() < star.chance_hits / 1000.0).count();
        let draws = 20_000;
        let recognised = (0..draws).filter(|_| {
            let right = (0..star.matches).filter(|_| random.uniform() < share * rates.hit).count();
            let wrong = poisson(random);
            let is_full = star.limit.is_none_or(|limit| right + wrong >= limit);
            let is_seed = (0..star.seeds)
                .any(|_| random.uniform() * ((right as f64) + star.chance_hits) < right as f64);
            let common = (1..right).filter(|_| random.uniform() < rates.common).count();
            is_full && is_seed && common >= star.least
        });
        recognised.count() as f64 / f64::from(draws)
    }

    #[test]
    fn recognition_is_what_the_model_gives() {
        let mut random = Random::new(1);
        let rates = Rates { hit: 0.9, common: 0.8 };
        for (share, matches, chance_hits, limit) in [
            (0.5, 64, 3.0, None),
            (0.1, 64, 3.0, None),
            (0.05, 128, 6.0, None),
            (0.02, 512, 25.0, None),
            (0.1, 128, 5.0, Some(12)),
            (0.05, 256, 12.0, Some(22)),
        ] {
            let star = Star { matches, seeds: 6, least: 4, chance_hits, limit };
            let (calculated, drawn) =
                (recognition(share, &star, rates), RELIED_ON * drawn(share, &star, rates, &mut random));
            assert!((calculated - drawn).abs() < 0.02, "{share} {matches}: {calculated} {drawn}");
        }
    }
}
