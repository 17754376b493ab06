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
        fn anything_ends_within_bounds(input in vec(any::<u8>(), 0..200), size in 0..4000usize) {
            if let Ok(output) = decompress(&input, size) {
                prop_assert_eq!(output.len(), size);
            }
        }
    }
}
