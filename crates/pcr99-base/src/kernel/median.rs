//! The exact median of many numbers.
//!
//! A sample says roughly where the median lies. One pass counts the numbers below that range and keeps those inside, and the search goes on among these. The
//! sample decides only how long this takes: the result is the same number for every order of the input. No branch depends on a single number, because half of
//! such branches would be predicted wrongly.

/// Size of a sample, and largest count that is searched by comparing each number with all others.
const FEW: usize = 32;
/// Count from which a sample of `LARGE_SAMPLE` pays.
const MANY: usize = 1 << 13;
/// Size of the sample of many numbers. The range that it suggests holds about 6 % of the numbers.
const LARGE_SAMPLE: usize = 1024;
/// Width of the range on either side of the estimated median, in standard deviations of its rank in the sample. The number is outside of it once in 20 times,
/// and is then searched on that side.
const MARGIN: f64 = 2.0;

/// The lower median of finite numbers, none of which is −0; `None` without numbers. `scratch` is resized as needed; its contents do not matter.
pub fn lower_median(numbers: &[f64], scratch: &mut Vec<f64>) -> Option<f64> {
    let n = numbers.len();
    let mut rank = n.checked_sub(1)? / 2;
    if n <= FEW {
        return Some(two_of_few(numbers, [rank; 2])[0]);
    }
    let room = if n < MANY { n } else { n / 8 };
    if scratch.len() < 2 * room {
        *scratch = vec![0.0; 2 * room];
    }
    let (mut some, mut fewer) = scratch.split_at_mut(room);
    let mut next = narrow(numbers, rank, some);
    loop {
        match next {
            Narrowed::Found(number) => return Some(number),
            Narrowed::Inside { below, inside } => {
                rank -= below;
                if inside <= FEW {
                    return Some(two_of_few(&some[..inside], [rank; 2])[0]);
                }
                next = narrow(&some[..inside], rank, fewer);
                std::mem::swap(&mut some, &mut fewer);
            }
        }
    }
}

/// Where the number of a given rank is.
enum Narrowed {
    Found(f64),
    /// Among the `inside` numbers that were collected. `below` smaller ones were left out.
    Inside {
        below: usize,
        inside: usize,
    },
}

/// Collects the numbers in a range that holds the one of rank `rank`.
fn narrow(numbers: &[f64], rank: usize, collected: &mut [f64]) -> Narrowed {
    let (low, high) = likely_range(numbers, rank);
    let mut found = collect_between(numbers, low, high, collected);
    if let Some((below, inside)) = found {
        if rank < below {
            found = collect_between(numbers, f64::NEG_INFINITY, low, collected);
        } else if rank >= below + inside {
            found = collect_between(numbers, high, f64::INFINITY, collected);
        } else if low == high {
            return Narrowed::Found(low);
        }
    }
    match found {
        Some((below, inside)) if inside <= numbers.len() / 4 * 3 => Narrowed::Inside { below, inside },
        // Samples do not help, for instance where many numbers are equal.
        _ => Narrowed::Found(nth(&mut numbers.to_vec(), rank)),
    }
}

/// The range in which the number of rank `rank` probably lies, by an even sample.
fn likely_range(numbers: &[f64], rank: usize) -> (f64, f64) {
    let part = (rank as f64 + 0.5) / numbers.len() as f64;
    if numbers.len() < MANY {
        let [low, high] = two_of_few(&sampled::<FEW>(numbers), ranks_around(part, FEW));
        (low, high)
    } else {
        let mut sample = sampled::<LARGE_SAMPLE>(numbers);
        let [low, high] = ranks_around(part, LARGE_SAMPLE);
        let upper = nth(&mut sample, high);
        (nth(&mut sample[..=high], low), upper)
    }
}

/// Ranks in a sample of `size` around the quantile `part`.
fn ranks_around(part: f64, size: usize) -> [usize; 2] {
    let (middle, margin) = (part * size as f64, 0.5 * MARGIN * (size as f64).sqrt());
    [(middle - margin).max(0.0) as usize, ((middle + margin) as usize).min(size - 1)]
}

/// An even sample of at least as many numbers.
fn sampled<const SIZE: usize>(numbers: &[f64]) -> [f64; SIZE] {
    let step = numbers.len() / SIZE;
    std::array::from_fn(|k| numbers[k * step + step / 2])
}

/// The number of rank `rank`, counted from 0.
fn nth(numbers: &mut [f64], rank: usize) -> f64 {
    *numbers.select_nth_unstable_by(rank, f64::total_cmp).1
}

/// The numbers of two ranks, counted from 0, among at most `FEW`: the number of rank `r` is the greatest that has at most `r` numbers below it.
fn two_of_few(numbers: &[f64], ranks: [usize; 2]) -> [f64; 2] {
    #[cfg(target_arch = "x86_64")]
    if crate::dispatch::has_avx2() {
        // SAFETY: the line above checked that this CPU has AVX2.
        return unsafe { avx2::two_of_few(numbers, ranks) };
    }
    two_of_few_plain(numbers, ranks)
}

fn two_of_few_plain(numbers: &[f64], ranks: [usize; 2]) -> [f64; 2] {
    let few = filled_up(numbers);
    let mut below = [0_u64; FEW];
    for other in few {
        for k in 0..FEW {
            below[k] += u64::from(other < few[k]);
        }
    }
    ranks.map(|rank| {
        let possible = few.iter().zip(below).filter(|(_, below)| *below <= rank as u64);
        possible.fold(f64::NEG_INFINITY, |greatest, (x, _)| greatest.max(*x))
    })
}

/// At most `FEW` numbers, and infinity for those missing.
#[inline(always)]
fn filled_up(numbers: &[f64]) -> [f64; FEW] {
    let mut few = [f64::INFINITY; FEW];
    few[..numbers.len()].copy_from_slice(numbers);
    few
}

/// Copies the numbers from `low` to `high` to the front of `inside`. Returns the number of those below, and of those copied; `None` when there is not enough room.
pub fn collect_between(numbers: &[f64], low: f64, high: f64, inside: &mut [f64]) -> Option<(usize, usize)> {
    #[cfg(target_arch = "x86_64")]
    if crate::dispatch::has_avx2() {
        // SAFETY: the line above checked that this CPU has AVX2 and POPCNT.
        return unsafe { avx2::collect_between(numbers, low, high, inside) };
    }
    collect_between_plain(numbers, low, high, inside)
}

#[inline]
fn collect_between_plain(numbers: &[f64], low: f64, high: f64, inside: &mut [f64]) -> Option<(usize, usize)> {
    let (mut below, mut count) = (0, 0);
    for &x in numbers {
        let is_inside = (x >= low) & (x <= high);
        match inside.get_mut(count) {
            Some(place) => *place = x,
            None if is_inside => return None,
            None => {}
        }
        count += usize::from(is_inside);
        below += usize::from(x < low);
    }
    Some((below, count))
}

/// The loops above, four numbers at a time. Compilers vectorise one of them badly and the other not at all.
#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::*;

    use super::{FEW, filled_up};

    #[target_feature(enable = "avx2")]
    pub(super) fn two_of_few(numbers: &[f64], ranks: [usize; 2]) -> [f64; 2] {
        let few = filled_up(numbers);
        let none = _mm256_set1_pd(f64::NEG_INFINITY);
        let mut greatest = [none; 2];
        // In two parts, so that the counts stay in registers.
        for part in few.as_chunks::<{ FEW / 2 }>().0 {
            let mut fours = [none; FEW / 8];
            for (four, numbers) in fours.iter_mut().zip(part.as_chunks::<4>().0) {
                // SAFETY: reads the 32 bytes of four numbers, which need no alignment.
                *four = unsafe { _mm256_loadu_pd(numbers.as_ptr()) };
            }
            let mut below = [_mm256_setzero_si256(); FEW / 8];
            for other in few {
                let other = _mm256_set1_pd(other);
                for (below, four) in below.iter_mut().zip(fours) {
                    let is_below = _mm256_castpd_si256(_mm256_cmp_pd::<_CMP_LT_OQ>(other, four));
                    *below = _mm256_sub_epi64(*below, is_below);
                }
            }
            for (greatest, rank) in greatest.iter_mut().zip(ranks) {
                let rank = _mm256_set1_epi64x(rank as i64);
                for (below, four) in below.iter().zip(fours) {
                    let is_above = _mm256_castsi256_pd(_mm256_cmpgt_epi64(*below, rank));
                    *greatest = _mm256_max_pd(*greatest, _mm256_blendv_pd(four, none, is_above));
                }
            }
        }
        greatest.map(|four| {
            let mut numbers = [0.0_f64; 4];
            // SAFETY: writes the 32 bytes of the array, which need no alignment.
            unsafe { _mm256_storeu_pd(numbers.as_mut_ptr(), four) };
            numbers.into_iter().fold(f64::NEG_INFINITY, f64::max)
        })
    }

    /// For each set of four numbers, the halves of the numbers in the set.
    const HALVES: [[i32; 8]; 16] = {
        let mut halves = [[0; 8]; 16];
        let mut set = 0;
        while set < 16 {
            let (mut from, mut to) = (0, 0);
            while from < 4 {
                if set >> from & 1 == 1 {
                    halves[set][2 * to] = 2 * from;
                    halves[set][2 * to + 1] = 2 * from + 1;
                    to += 1;
                }
                from += 1;
            }
            set += 1;
        }
        halves
    };

    #[target_feature(enable = "avx2,popcnt")]
    pub(super) fn collect_between(
        numbers: &[f64],
        low: f64,
        high: f64,
        inside: &mut [f64],
    ) -> Option<(usize, usize)> {
        let (blocks, rest) = numbers.as_chunks::<4>();
        let (lows, highs) = (_mm256_set1_pd(low), _mm256_set1_pd(high));
        let (mut below, mut count) = (0, 0);
        for (k, block) in blocks.iter().enumerate() {
            let Some(places) = inside.get_mut(count..count + 4) else {
                // The last places are filled one by one.
                let (more_below, more) =
                    super::collect_between_plain(&numbers[4 * k..], low, high, &mut inside[count..])?;
                return Some((below + more_below, count + more));
            };
            // SAFETY: reads the 32 bytes of the block, which need no alignment.
            let four = unsafe { _mm256_loadu_pd(block.as_ptr()) };
            let under = _mm256_cmp_pd::<_CMP_LT_OQ>(four, lows);
            let outside = _mm256_or_pd(under, _mm256_cmp_pd::<_CMP_GT_OQ>(four, highs));
            let set = !_mm256_movemask_pd(outside) as usize & 15;
            // SAFETY: reads the 32 bytes of an entry of the table.
            let halves = unsafe { _mm256_loadu_si256(HALVES[set].as_ptr().cast()) };
            let packed = _mm256_permutevar8x32_ps(_mm256_castpd_ps(four), halves);
            // SAFETY: writes the 32 bytes of four numbers, which need no alignment.
            unsafe { _mm256_storeu_ps(places.as_mut_ptr().cast(), packed) };
            count += set.count_ones() as usize;
            below += _mm256_movemask_pd(under).count_ones() as usize;
        }
        let (more_below, more) = super::collect_between_plain(rest, low, high, &mut inside[count..])?;
        Some((below + more_below, count + more))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use proptest::prelude::*;

    /// Numbers of several kinds: spread evenly, in a narrow heap with few far away, sorted, few different ones.
    fn numbers(n: usize, kind: u8, seed: u64) -> Vec<f64> {
        let mut random = Random::new(seed);
        let mut numbers: Vec<f64> = (0..n)
            .map(|i| match kind {
                0 => random.uniform(),
                1 if i % 5 < 2 => 1e300 * (random.uniform() - 0.5),
                1 => 1e7 + random.gaussian(),
                2 => i as f64,
                3 => random.below(3) as f64,
                4 => [0.0, 1.0, -1.0, 1e-300][random.below(4)],
                _ => [7.0, 1e9][usize::from(i % 16 == 8)],
            })
            .collect();
        if seed % 2 == 1 {
            numbers.reverse();
        }
        numbers
    }

    proptest! {
        #[test]
        fn the_median_is_that_of_the_sorted_numbers(n in prop_oneof![1_usize..300, 300_usize..6000, MANY - 9..MANY + 9, 20_000_usize..20_100], kind in 0_u8..6, seed in any::<u64>()) {
            let numbers = numbers(n, kind, seed);
            let mut sorted = numbers.clone();
            sorted.sort_unstable_by(f64::total_cmp);
            let expected = sorted[(n - 1) / 2].to_bits();
            for mut scratch in [Vec::new(), vec![f64::NAN; n + 3]] {
                prop_assert_eq!(lower_median(&numbers, &mut scratch).map(f64::to_bits), Some(expected));
            }
        }

        #[test]
        fn numbers_between_are_collected_in_order(n in 0_usize..100, kind in 0_u8..6, seed in any::<u64>(), pick in any::<[prop::sample::Index; 2]>()) {
            let numbers = numbers(n, kind, seed);
            let [low, high] = pick.map(|pick| if n == 0 { 0.0 } else { numbers[pick.index(n)] });
            let expected: Vec<f64> = numbers.iter().copied().filter(|x| low <= *x && *x <= high).collect();
            let below = numbers.iter().filter(|x| **x < low).count();
            for collect in [collect_between, collect_between_plain] {
                for room in [n, expected.len(), expected.len() / 2] {
                    let mut inside = vec![0.0; room];
                    let found = collect(&numbers, low, high, &mut inside);
                    prop_assert_eq!(found, (room >= expected.len()).then_some((below, expected.len())));
                    if found.is_some() {
                        prop_assert_eq!(&inside[..expected.len()], &expected[..]);
                    }
                }
            }
        }
    }

    proptest! {
        #[test]
        fn ranks_among_few_are_those_of_the_sorted_numbers(n in 1_usize..=FEW, kind in 0_u8..6, seed in any::<u64>()) {
            let mut numbers = numbers(n, kind, seed);
            let unsorted = numbers.clone();
            numbers.sort_unstable_by(f64::total_cmp);
            for (rank, number) in numbers.iter().enumerate() {
                for two in [two_of_few, two_of_few_plain] {
                    prop_assert_eq!(two(&unsorted, [rank, n - 1 - rank]), [*number, numbers[n - 1 - rank]]);
                }
            }
        }
    }

    #[test]
    fn there_is_no_median_of_nothing() {
        assert_eq!(lower_median(&[], &mut Vec::new()), None);
    }
}
