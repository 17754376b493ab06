//! A global descriptor for each scan: how often each kind of surface occurs in it. Scans that share rare kinds are likely to overlap.
//!
//! A word is a coarse description of an FPFH descriptor without signs: mean and spread of its three histograms. It does not depend on the other scans, so that the descriptor
//! of a scan is computed once. Words are weighted by their rarity among the scans (tf-idf).

use std::collections::BTreeMap;

use pcr99_cloud::{PreparedCloud, fpfh::Descriptor, orient::Orientation};

/// Ratio of neighbouring voxel sizes. Each scan is described at the two sizes around the one that suits it, so that scans with similar densities share at least one.
const RATIO: f64 = 1.5;
/// Bins of each of the three histograms of a descriptor.
const BINS: usize = 11;
/// Limits between the levels of the mean of a histogram, in bins.
const MEANS: [f64; 5] = [1.0, 2.0, 3.5, 5.0, 7.0];
/// Limits between the levels of its spread, in bins.
const SPREADS: [f64; 3] = [1.0, 2.0, 3.0];

/// Words of a scan, with their counts.
pub(crate) type Words = BTreeMap<u32, u32>;

/// Words of a cloud. With a known scale, words of other voxel sizes are other words.
pub(crate) fn words_of(cloud: &PreparedCloud, has_known_scale: bool) -> Words {
    let mut words = Words::new();
    let suited = cloud.density().voxel();
    if !(suited > 0.0 && suited.is_finite()) {
        return words;
    }
    let level = (libm::log(suited) / libm::log(RATIO)).floor();
    for step in [0.0, 1.0] {
        let voxel =
            if has_known_scale { libm::pow(RATIO, level + step) } else { suited * libm::pow(RATIO, step) };
        let size = if has_known_scale { (level + step) as i32 as u32 & 0xff } else { step as u32 };
        for descriptor in &cloud.features(voxel, Orientation::Consistent).fpfh.unsigned {
            *words.entry(size << 24 | word(descriptor)).or_default() += 1;
        }
    }
    words
}

fn word(descriptor: &Descriptor) -> u32 {
    let level = |x: f64, limits: &[f64]| limits.iter().filter(|&&limit| x >= limit).count() as u32;
    let mut word = 0;
    for part in descriptor.chunks_exact(BINS) {
        let (mut sum, mut mean, mut square) = (0.0, 0.0, 0.0);
        for (bin, &x) in part.iter().enumerate() {
            let (bin, x) = (bin as f64, f64::from(x));
            sum += x;
            mean += bin * x;
            square += bin * bin * x;
        }
        let mean = mean / f64::max(sum, 1e-9);
        let spread = (square / f64::max(sum, 1e-9) - mean * mean).max(0.0).sqrt();
        word = 24 * word + 4 * level(mean, &MEANS) + level(spread, &SPREADS);
    }
    word
}

/// For each scan, the others from the most to the least similar. Scans without words are similar to none.
pub(crate) fn ranked(scans: &[&Words]) -> Vec<Vec<usize>> {
    let mut occurs: BTreeMap<u32, usize> = BTreeMap::new();
    for words in scans {
        words.keys().for_each(|&word| *occurs.entry(word).or_default() += 1);
    }
    let weight = |word: u32| libm::log(scans.len() as f64 / occurs.get(&word).copied().unwrap_or(1) as f64);
    // The root of a count: many points of one kind are one wall.
    let vector = |words: &&Words| -> Vec<(u32, f64)> {
        let entries: Vec<(u32, f64)> =
            words.iter().map(|(&word, &count)| (word, weight(word) * f64::from(count).sqrt())).collect();
        let length = entries.iter().map(|(_, x)| x * x).sum::<f64>().sqrt().max(f64::MIN_POSITIVE);
        entries.into_iter().map(|(word, x)| (word, x / length)).collect()
    };
    let vectors: Vec<Vec<(u32, f64)>> = scans.iter().map(vector).collect();
    (0..scans.len())
        .map(|scan| {
            let mut others: Vec<(f64, usize)> = (0..scans.len())
                .filter(|&other| other != scan)
                .map(|other| (product(&vectors[scan], &vectors[other]), other))
                .filter(|(similarity, _)| *similarity > 0.0)
                .collect();
            others.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
            others.into_iter().map(|(_, other)| other).collect()
        })
        .collect()
}

/// Scalar product of two sparse vectors, ordered by word.
fn product(a: &[(u32, f64)], b: &[(u32, f64)]) -> f64 {
    let (mut i, mut j, mut sum) = (0, 0, 0.0);
    while let (Some((word, x)), Some((other, y))) = (a.get(i), b.get(j)) {
        match word.cmp(other) {
            std::cmp::Ordering::Less => i += 1,
            std::cmp::Ordering::Greater => j += 1,
            std::cmp::Ordering::Equal => {
                sum += x * y;
                (i, j) = (i + 1, j + 1);
            }
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rare_words_decide() {
        let of = |words: &[u32]| words.iter().map(|&word| (word, 9)).collect::<Words>();
        let scans = [of(&[1, 2, 3, 7]), of(&[1, 2, 3]), of(&[1, 2, 7]), of(&[1, 3, 4]), Words::new()];
        let ranked = ranked(&scans.each_ref());
        assert_eq!(ranked[0][0], 2, "{ranked:?}");
        assert_eq!(ranked[4], [0_usize; 0]);
    }
}
