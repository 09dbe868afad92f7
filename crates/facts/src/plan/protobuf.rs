//! The fields of a message in the format of Protocol Buffers.

/// The value of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldValue<'b> {
    Number(u64),
    Bytes(&'b [u8]),
}

/// All fields of a message in their order, each with its number. `None` if it is not valid.
pub fn fields(mut bytes: &[u8]) -> Option<Vec<(u64, FieldValue<'_>)>> {
    let mut found = Vec::new();
    while !bytes.is_empty() {
        let key = number(&mut bytes)?;
        let value = match key & 7 {
            0 => FieldValue::Number(number(&mut bytes)?),
            1 => FieldValue::Bytes(take(&mut bytes, 8)?),
            2 => {
                let length = usize::try_from(number(&mut bytes)?).ok()?;
                FieldValue::Bytes(take(&mut bytes, length)?)
            }
            5 => FieldValue::Bytes(take(&mut bytes, 4)?),
            _ => return None,
        };
        found.push((key >> 3, value));
    }
    Some(found)
}

fn take<'b>(bytes: &mut &'b [u8], count: usize) -> Option<&'b [u8]> {
    let (taken, rest) = bytes.split_at_checked(count)?;
    *bytes = rest;
    Some(taken)
}

fn number(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0u64;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f).checked_shl(shift)?;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_and_what_is_cut_is_rejected() {
        let bytes = [0x08, 0x96, 0x01, 0x1a, 2, b'h', b'i'];
        let expected = vec![(1, FieldValue::Number(150)), (3, FieldValue::Bytes(b"hi"))];
        assert_eq!(fields(&bytes), Some(expected));
        assert_eq!(fields(&bytes[..6]), None);
        assert_eq!(fields(&bytes[..2]), None);
        assert_eq!(fields(&[0x0b]), None);
        assert_eq!(fields(&[]), Some(Vec::new()));
    }
}
