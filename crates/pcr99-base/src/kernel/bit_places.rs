//! Places of the bits of a byte: the permutation that moves the marked entries of a vector to its front.

/// Places of the bits of each byte in ascending order, then zeros.
pub(super) static BIT_PLACES: [[u8; 8]; 256] = {
    let mut places = [[0; 8]; 256];
    let mut byte = 0;
    while byte < 256 {
        let (mut bit, mut count) = (0, 0);
        while bit < 8 {
            if byte >> bit & 1 != 0 {
                places[byte][count] = bit as u8;
                count += 1;
            }
            bit += 1;
        }
        byte += 1;
    }
    places
};
