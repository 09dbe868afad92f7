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
        let push_char = |bytes: &mut Vec<u8>, code: u32| {
            let c = char::from_u32(code).unwrap_or('\u{fffd}');
            bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
        };
        // A NUL ends a shell word; it cannot be part of one.
        let byte =
            |bytes: &mut Vec<u8>, v: u32| bytes.push(u8::try_from(v & 0xff).unwrap_or(b'?').max(1));
        match rest.next() {
            None => bytes.push(b'\\'),
            Some(b'n') => bytes.push(b'\n'),
            Some(b't') => bytes.push(b'\t'),
            Some(b'r') => bytes.push(b'\r'),
            Some(b'a') => bytes.push(7),
            Some(b'b') => bytes.push(8),
            Some(b'e' | b'E') => bytes.push(27),
            Some(b'f') => bytes.push(12),
            Some(b'v') => bytes.push(11),
            Some(b'x') => {
                let v = digits_of(&mut rest, 2, 16, 0);
                byte(&mut bytes, v);
            }
            Some(b'u') => {
                let v = digits_of(&mut rest, 4, 16, 0);
                push_char(&mut bytes, v);
            }
            Some(b'U') => {
                let v = digits_of(&mut rest, 8, 16, 0);
                push_char(&mut bytes, v);
            }
            Some(b'0') if octal_zero => {
                let v = digits_of(&mut rest, 3, 8, 0);
                byte(&mut bytes, v);
            }
            Some(d @ b'0'..=b'7') => {
                let v = digits_of(&mut rest, 2, 8, u32::from(d - b'0'));
                byte(&mut bytes, v);
            }
            Some(c @ (b'\\' | b'\'' | b'"' | b'?' | b'$' | b'`')) => bytes.push(c),
            Some(other) => {
                bytes.push(b'\\');
                bytes.push(other);
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
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
