//! The set of bytes of a text in 64 bits, so that one comparison rules out most patterns.
//!
//! The build script includes this file too: both sides must compute the same sets.

/// The bit of each byte, as a table because long words are common.
static BITS: [u64; 256] = bits();

/// The bit shared by all bytes that patterns rarely contain. Every set contains it, so a set of
/// patterns that can never be ruled out is written with this bit.
pub const ALWAYS: u64 = 1 << 63;

/// Set by every capital letter, in addition to the bit of its letter.
pub const CAPITAL: u64 = 1 << 62;

/// The set of bytes of a text.
pub fn bytes_of(text: &str) -> u64 {
    text.bytes().fold(ALWAYS, |set, b| set | bit_of(b))
}

/// The bit of one byte; every byte has one.
pub fn bit_of(byte: u8) -> u64 {
    BITS.get(usize::from(byte)).copied().unwrap_or_default()
}

/// Letters, digits and nearly every symbol have a bit of their own. Paired symbols share a bit, and
/// so do all bytes that patterns rarely contain.
const fn bits() -> [u64; 256] {
    const MARKS: &[u8; 52] = b"!!\"\"##$$%%&&''()++,,--..//::;;<>==@@[]\\\\^`__{}||~~  ";
    let mut bits = [ALWAYS; 256];
    let mut byte = 0_u8;
    while byte < 128 {
        let at = byte as usize;
        #[expect(clippy::indexing_slicing, reason = "in a constant: out of bounds does not build")]
        if byte.is_ascii_alphabetic() {
            let capital = if byte.is_ascii_uppercase() { CAPITAL } else { 0 };
            bits[at] = 1 << (byte.to_ascii_lowercase() - b'a') | capital;
        } else if byte.is_ascii_digit() {
            bits[at] = 1 << (26 + byte - b'0');
        } else {
            let mut mark = 0;
            while mark < MARKS.len() {
                if MARKS[mark] == byte {
                    bits[at] = 1 << (36 + mark / 2);
                }
                mark += 1;
            }
        }
        byte += 1;
    }
    bits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letter_cases_share_a_bit_and_symbols_have_other_bits() {
        assert_eq!(bytes_of("ABC"), bytes_of("cab") | CAPITAL);
        assert_eq!(bytes_of("/.-:019") & bytes_of("abcdefghijklmnopqrstuvwxyz"), ALWAYS);
        assert_eq!(bytes_of(""), ALWAYS);
        assert!((0..=255).all(|b| bit_of(b) != 0));
    }
}
