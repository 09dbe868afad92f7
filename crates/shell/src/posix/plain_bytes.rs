//! Bytes that mean nothing special in a word.

static PLAIN: [bool; 256] = {
    let mut plain = [false; 256];
    let mut rest: &mut [bool] = &mut plain;
    let mut b = 0_u8;
    while let [first, others @ ..] = rest {
        *first = b.is_ascii_alphanumeric()
            || b >= 0x80
            || matches!(
                b,
                b'-' | b'_' | b'.' | b'/' | b':' | b',' | b'=' | b'+' | b'@' | b'%' | b'^' | b']'
            );
        rest = others;
        b = b.wrapping_add(1);
    }
    plain
};

/// Bytes that mean nothing special in a word.
#[inline]
pub(super) fn is_plain(b: u8) -> bool {
    PLAIN.get(usize::from(b)).is_some_and(|plain| *plain)
}
