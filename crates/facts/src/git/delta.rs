//! Objects of a pack that are stored as differences to other objects.

/// Applies a difference to the object that it is based on. None if it does not fit, or if the
/// result is larger than the limit.
pub fn apply(base: &[u8], delta: &[u8], limit: usize) -> Option<Vec<u8>> {
    let mut delta = delta.iter().copied();
    if size(&mut delta)? != base.len() {
        return None;
    }
    let expected = size(&mut delta)?;
    if expected > limit {
        return None;
    }
    let mut out = Vec::with_capacity(expected);
    while let Some(head) = delta.next() {
        if head & 0x80 == 0 {
            if head == 0 {
                return None;
            }
            for _ in 0..head {
                out.push(delta.next()?);
            }
        } else {
            let start = number(&mut delta, head, 4)?;
            let length = match number(&mut delta, head >> 4, 3)? {
                0 => 0x1_0000,
                length => length,
            };
            out.extend_from_slice(base.get(start..start.checked_add(length)?)?);
        }
        if out.len() > expected {
            return None;
        }
    }
    (out.len() == expected).then_some(out)
}

/// A size, seven bits in each byte, the lowest first.
fn size(bytes: &mut impl Iterator<Item = u8>) -> Option<usize> {
    let mut value = 0usize;
    for shift in (0..=28).step_by(7) {
        let byte = bytes.next()?;
        value |= usize::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

/// A number of which only the bytes that the bits of `present` name are stored.
fn number(bytes: &mut impl Iterator<Item = u8>, present: u8, count: u32) -> Option<usize> {
    let mut value = 0;
    for at in 0..count {
        if present & (1 << at) != 0 {
            value |= usize::from(bytes.next()?) << (8 * at);
        }
    }
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_copies_and_inserts_and_never_reads_outside() {
        // 5 bytes to 6: copy 2 from 1, insert "xy", copy 2 from 3.
        let delta = [5, 6, 0x91, 1, 2, 2, b'x', b'y', 0x91, 3, 2];
        assert_eq!(apply(b"abcde", &delta, 100).as_deref(), Some(&b"bcxyde"[..]));
        assert_eq!(apply(b"abcde", &delta, 5), None);
        assert_eq!(apply(b"abcd", &delta, 100), None);
        for cut in 0..delta.len() {
            assert_eq!(apply(b"abcde", &delta[..cut], 100), None, "{cut}");
        }
        assert_eq!(apply(b"abcde", &[5, 2, 0x91, 4, 2], 100), None);
        assert_eq!(apply(b"abcde", &[5, 1, 0], 100), None);
    }
}
