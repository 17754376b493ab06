//! LZF, the compression of PCD files: runs of plain bytes, and copies of what came up to 8 KiB before.
//!
//! A control byte below 32 says how many plain bytes follow, less one. In another the upper three bits say how many
//! bytes are copied, less two (7: the next byte is added), and the lower five with the byte after that how far back
//! they begin, less one.

/// By how much decompression can grow: three bytes make at most 7 + 255 + 2.
pub(super) const GROWTH: u64 = 88;

/// What `input` holds, which must be `size` bytes. The caller has checked that `size` is at most [`GROWTH`] times the
/// input. The error is the byte of the input where it is wrong, and what is.
pub(super) fn decompress(input: &[u8], size: usize) -> Result<Vec<u8>, (usize, &'static str)> {
    let mut output = Vec::new();
    output.try_reserve_exact(size).map_err(|_| (0, "they do not fit into memory"))?;
    let mut at = 0;
    while at < input.len() {
        let start = at;
        let cut = (start, "they end inside a run");
        let mut next = || {
            at += 1;
            input.get(at - 1).map(|&byte| usize::from(byte)).ok_or(cut)
        };
        let control = next()?;
        let length;
        if control < 32 {
            length = control + 1;
            let plain = input.get(at..at + length).ok_or(cut)?;
            at += length;
            check(output.len() + length, size, start)?;
            output.extend_from_slice(plain);
        } else {
            length = (control >> 5) + 2 + if control >> 5 == 7 { next()? } else { 0 };
            let back = ((control & 31) << 8) + next()? + 1;
            let from =
                output.len().checked_sub(back).ok_or((start, "a copy begins before the first byte"))?;
            check(output.len() + length, size, start)?;
            for i in from..from + length {
                output.push(output[i]); // one by one: a copy may reach into itself
            }
        }
    }
    if output.len() < size { Err((input.len(), "they are fewer than promised")) } else { Ok(output) }
}

fn check(length: usize, size: usize, at: usize) -> Result<(), (usize, &'static str)> {
    if length > size { Err((at, "they are more than promised")) } else { Ok(()) }
}

/// Bits of the table of places where three bytes were last seen.
const TABLE: u32 = 14;
/// Longest plain run, longest copy, and how far back a copy can begin.
const LONGEST_RUN: usize = 32;
const LONGEST_COPY: usize = 264;
const FARTHEST: usize = 8192;

/// Compresses `input`, so that [`decompress`] gives it back.
pub(super) fn compress(input: &[u8]) -> Vec<u8> {
    let mut output = Vec::with_capacity(input.len() / 2);
    let mut seen = vec![usize::MAX; 1 << TABLE];
    let (mut at, mut run) = (0, 0); // plain bytes from `run` to `at` are not written yet
    while at + 2 < input.len() {
        let three = u32::from_le_bytes([input[at], input[at + 1], input[at + 2], 0]);
        let place = &mut seen[(three.wrapping_mul(0x9E37_79B1) >> (32 - TABLE)) as usize];
        let from = std::mem::replace(place, at);
        let is_near = from < at && at - from <= FARTHEST && input[from..from + 3] == input[at..at + 3];
        if !is_near {
            at += 1;
            continue;
        }
        let pairs = input[from..].iter().zip(&input[at..]).take(LONGEST_COPY);
        let length = pairs.take_while(|(a, b)| a == b).count();
        push_runs(&mut output, &input[run..at]);
        let (back, more) = (at - from - 1, length - 2);
        output.push(((more.min(7) << 5) | (back >> 8)) as u8);
        if more >= 7 {
            output.push((more - 7) as u8);
        }
        output.push(back as u8);
        at += length;
        run = at;
    }
    push_runs(&mut output, &input[run..]);
    output
}

/// Writes plain bytes.
fn push_runs(output: &mut Vec<u8>, bytes: &[u8]) {
    for run in bytes.chunks(LONGEST_RUN) {
        output.push((run.len() - 1) as u8);
        output.extend_from_slice(run);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::{collection::vec, prelude::*};

    #[test]
    fn runs_and_copies() {
        assert_eq!(decompress(&[], 0), Ok(vec![]));
        assert_eq!(decompress(&[2, b'a', b'b', b'c'], 3), Ok(b"abc".to_vec()));
        assert_eq!(decompress(&[2, b'a', b'b', b'c', 1 << 5, 2], 6), Ok(b"abcabc".to_vec()));
        // A copy that reaches into itself, and a long one.
        assert_eq!(decompress(&[0, b'a', 3 << 5, 0], 6), Ok(b"aaaaaa".to_vec()));
        assert_eq!(decompress(&[0, b'a', 7 << 5, 255, 0], 265), Ok(vec![b'a'; 265]));
    }

    #[test]
    fn what_is_wrong_is_named_with_its_byte() {
        assert_eq!(decompress(&[2, b'a'], 3), Err((0, "they end inside a run")));
        assert_eq!(decompress(&[0, b'a', 7 << 5, 1], 9), Err((2, "they end inside a run")));
        assert_eq!(decompress(&[0, b'a', 1 << 5, 1], 9), Err((2, "a copy begins before the first byte")));
        assert_eq!(decompress(&[0, b'a', 1 << 5, 0], 3), Err((2, "they are more than promised")));
        assert_eq!(decompress(&[0, b'a'], 2), Err((2, "they are fewer than promised")));
    }

    proptest! {
        #[test]
        fn what_is_compressed_comes_back(few in vec(0..4u8, 0..3000), any in vec(any::<u8>(), 0..300)) {
            let input = [few.clone(), any, few, vec![7; 1000]].concat();
            let packed = compress(&input);
            prop_assert!(packed.len() <= input.len() + input.len() / 32 + 1);
            prop_assert_eq!(decompress(&packed, input.len()), Ok(input));
        }

        #[test]
        fn anything_ends_within_bounds(input in vec(any::<u8>(), 0..200), size in 0..4000usize) {
            if let Ok(output) = decompress(&input, size) {
                prop_assert_eq!(output.len(), size);
            }
        }
    }
}
