//! Backslash escapes.

/// Backslash escapes of `$'…'`, `echo -e` and `printf`. `octal_zero`: octal needs a leading `0`.
pub fn decode(raw: &str, octal_zero: bool) -> String {
    let mut bytes: Vec<u8> = Vec::with_capacity(raw.len());
    let mut rest = raw.as_bytes().iter().copied().peekable();
    while let Some(b) = rest.next() {
        if b != b'\\' {
            bytes.push(b);
            continue;
        }
        match rest.next() {
            None => bytes.push(b'\\'),
            Some(b'x') => push_byte(&mut bytes, digits_of(&mut rest, 2, 16, 0)),
            Some(b'u') => push_char(&mut bytes, digits_of(&mut rest, 4, 16, 0)),
            Some(b'U') => push_char(&mut bytes, digits_of(&mut rest, 8, 16, 0)),
            Some(b'0') if octal_zero => push_byte(&mut bytes, digits_of(&mut rest, 3, 8, 0)),
            Some(d @ b'0'..=b'7') => {
                push_byte(&mut bytes, digits_of(&mut rest, 2, 8, u32::from(d - b'0')));
            }
            Some(letter) => match single(letter) {
                Some(byte) => bytes.push(byte),
                None => bytes.extend([b'\\', letter]),
            },
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The byte that a backslash and one letter stand for.
fn single(letter: u8) -> Option<u8> {
    Some(match letter {
        b'n' => b'\n',
        b't' => b'\t',
        b'r' => b'\r',
        b'a' => 7,
        b'b' => 8,
        b'e' | b'E' => 27,
        b'f' => 12,
        b'v' => 11,
        b'\\' | b'\'' | b'"' | b'?' | b'$' | b'`' => letter,
        _ => return None,
    })
}

fn push_char(bytes: &mut Vec<u8>, code: u32) {
    let c = char::from_u32(code).unwrap_or('\u{fffd}');
    bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
}

/// A NUL ends a shell word; it cannot be part of one.
fn push_byte(bytes: &mut Vec<u8>, value: u32) {
    bytes.push(u8::try_from(value & 0xff).unwrap_or(b'?').max(1));
}

fn digits_of(
    rest: &mut std::iter::Peekable<impl Iterator<Item = u8>>,
    limit: u32,
    radix: u32,
    first: u32,
) -> u32 {
    let mut value = first;
    for _ in 0..limit {
        let Some(d) = rest.peek().and_then(|b| char::from(*b).to_digit(radix)) else { break };
        value = value.wrapping_mul(radix).wrapping_add(d);
        rest.next();
    }
    value
}
