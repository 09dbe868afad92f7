//! Decoders, one function for each encoding.
//!
//! The readers of commands and code use them to see what a program would see, so most of them
//! accept what common programs accept: blanks, missing padding, both alphabets of base64. What must
//! have exactly one spelling, such as a signature, uses [`hex_exact`] or the strict base64 of
//! `countersign-json`.
//!
//! Escapes that belong to the syntax of a language are not here. The parser of that language
//! resolves them: `\n` of a shell in `countersign-shell`, of code in `countersign-risk`, of JSON in
//! `countersign-json`.

use std::borrow::Cow;

/// Base64 in the standard or the URL alphabet. Blanks are passed over, and padding ends a piece:
/// what follows it begins a new one.
pub fn base64(text: &str) -> Option<Vec<u8>> {
    let value = |byte| {
        Some(match byte {
            b'A'..=b'Z' => Symbol::Value(byte - b'A'),
            b'a'..=b'z' => Symbol::Value(byte - b'a' + 26),
            b'0'..=b'9' => Symbol::Value(byte - b'0' + 52),
            b'+' | b'-' => Symbol::Value(62),
            b'/' | b'_' => Symbol::Value(63),
            b'=' => Symbol::End,
            b' ' | b'\n' | b'\r' | b'\t' => Symbol::Blank,
            _ => return None,
        })
    };
    from_symbols(text, 6, value)
}

/// Base32 of RFC 4648. Blanks and padding are passed over.
pub fn base32(text: &str) -> Option<Vec<u8>> {
    let value = |byte| {
        Some(match byte {
            b'A'..=b'Z' => Symbol::Value(byte - b'A'),
            b'2'..=b'7' => Symbol::Value(byte - b'2' + 26),
            b'=' | b' ' | b'\n' | b'\r' => Symbol::Blank,
            _ => return None,
        })
    };
    from_symbols(text, 5, value)
}

/// One character of base64 or base32.
enum Symbol {
    Value(u8),
    Blank,
    /// The bits that are left over are dropped.
    End,
}

/// Bytes from symbols of `width` bits each.
fn from_symbols(text: &str, width: u32, symbol: impl Fn(u8) -> Option<Symbol>) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() / 8 * 6);
    let (mut count, mut bits) = (0_u32, 0_u32);
    for byte in text.bytes() {
        let value = match symbol(byte)? {
            Symbol::Value(value) => value,
            Symbol::Blank => continue,
            Symbol::End => {
                count = 0;
                continue;
            }
        };
        bits = (bits << width) | u32::from(value);
        count += width;
        if count >= 8 {
            count -= 8;
            bytes.push(u8::try_from((bits >> count) & 0xff).ok()?);
        }
    }
    Some(bytes)
}

/// Plain hexadecimal as `xxd -r -p` reads it: white space is passed over, and a single digit at the
/// end is dropped.
pub fn hex(text: &str) -> Option<Vec<u8>> {
    let digits = text.chars().filter(|c| !c.is_whitespace()).map(|c| c.to_digit(16));
    let digits: Vec<u32> = digits.collect::<Option<_>>()?;
    let pairs = digits.chunks_exact(2);
    Some(pairs.filter_map(|d| u8::try_from(d.first()? * 16 + d.get(1)?).ok()).collect())
}

/// Hexadecimal without anything else: two digits for each byte.
pub fn hex_exact(text: &str) -> Option<Vec<u8>> {
    let pairs = text.as_bytes().chunks(2).map(|pair| match pair {
        [high, low] => hex_byte(*high, *low),
        _ => None,
    });
    pairs.collect()
}

/// Percent escapes. None if a percent sign is not followed by two hexadecimal digits.
pub fn percent(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(if byte == b'%' { hex_byte(rest.next()?, rest.next()?)? } else { byte });
    }
    Some(bytes)
}

/// Percent escapes as text. A percent sign without two digits stays as it is, and bytes that are
/// not UTF-8 become U+FFFD: one wrong escape hides nothing else.
pub fn percent_lossy(text: &str) -> Cow<'_, str> {
    if !text.contains('%') {
        return Cow::Borrowed(text);
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        let escaped = match behind {
            [high, low, behind @ ..] if *first == b'%' => hex_byte(*high, *low).zip(Some(behind)),
            _ => None,
        };
        let (byte, behind) = escaped.unwrap_or((*first, behind));
        bytes.push(byte);
        rest = behind;
    }
    Cow::Owned(String::from_utf8_lossy(&bytes).into_owned())
}

/// ROT13. It decodes itself.
pub fn rot13(text: &str) -> String {
    let rotated = |c: char, first: u8| {
        let letter = u8::try_from(c).unwrap_or(first);
        char::from(first + (letter - first + 13) % 26)
    };
    text.chars()
        .map(|c| match c {
            'a'..='z' => rotated(c, b'a'),
            'A'..='Z' => rotated(c, b'A'),
            _ => c,
        })
        .collect()
}

/// UTF-16 as Windows writes it, such as the value of PowerShell's `-EncodedCommand` behind its
/// base64: little-endian, with or without a byte order mark. A single byte at the end is dropped.
pub fn utf16(bytes: &[u8]) -> Option<String> {
    let units: Vec<u16> = bytes
        .chunks_exact(2)
        .filter_map(|pair| Some(u16::from_le_bytes([*pair.first()?, *pair.get(1)?])))
        .collect();
    let text = String::from_utf16(&units).ok()?;
    Some(text.trim_start_matches('\u{feff}').to_owned())
}

/// UTF-8.
pub fn utf8(bytes: Vec<u8>) -> Option<String> {
    String::from_utf8(bytes).ok()
}

/// UTF-8 without NUL, which ends a text for most programs.
pub fn utf8_without_nul(bytes: Vec<u8>) -> Option<String> {
    utf8(bytes).filter(|text| !text.contains('\0'))
}

fn hex_byte(high: u8, low: u8) -> Option<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    Some(digit(high)? << 4 | digit(low)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMMAND: &str = "rm -rf /";

    fn text(bytes: Option<Vec<u8>>) -> Option<String> {
        bytes.and_then(utf8_without_nul)
    }

    #[test]
    fn base64_of_either_alphabet_with_blanks_and_in_pieces() {
        for encoded in ["cm0gLXJmIC8=", "cm0gLXJmIC8", "cm0g\nLXJm\tIC8=\n", "cm0=IC1yZiAv"] {
            assert_eq!(text(base64(encoded)).as_deref(), Some(COMMAND), "{encoded:?}");
        }
        assert_eq!(base64("-_-_"), base64("+/+/"));
        assert_eq!(base64("+/+/"), Some(vec![0xfb, 0xff, 0xbf]));
        assert_eq!(base64(""), Some(Vec::new()));
        for wrong in ["???", "cm0g.", "cm0gé"] {
            assert_eq!(base64(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn base32_of_rfc_4648() {
        for encoded in ["OJWSALLSMYQC6===", "OJWSALLSMYQC6", "OJWSALLS\nMYQC6===\n"] {
            assert_eq!(text(base32(encoded)).as_deref(), Some(COMMAND), "{encoded:?}");
        }
        for wrong in ["ojwsallsmyqc6===", "OJWS1", "OJWS\t"] {
            assert_eq!(base32(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn hexadecimal_as_programs_read_it() {
        for encoded in ["726d202d7266202f", "726D 202D\n7266 202F", "726d202d7266202f0"] {
            assert_eq!(text(hex(encoded)).as_deref(), Some(COMMAND), "{encoded:?}");
        }
        assert_eq!(hex("726g"), None);
        assert_eq!(hex("0x72"), None);
    }

    #[test]
    fn exact_hexadecimal_is_read_whole_or_not_at_all() {
        assert_eq!(hex_exact("0aFf"), Some(vec![0x0a, 0xff]));
        assert_eq!(hex_exact(""), Some(Vec::new()));
        for wrong in ["0", "0aff0", "0afg", "+a0f", "é0a", "0a ff", "0aff\n"] {
            assert_eq!(hex_exact(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn percent_escapes() {
        assert_eq!(text(percent("rm%20-rf%20%2f")).as_deref(), Some(COMMAND));
        assert_eq!(percent("a%Ffb"), Some(vec![b'a', 0xff, b'b']));
        assert_eq!(percent_lossy("rm%20-rf%20%2F"), COMMAND);
        for wrong in ["100%", "%2", "%zz", "%+1", "a%é"] {
            assert_eq!(percent(wrong), None, "{wrong}");
            assert_eq!(percent_lossy(wrong), wrong);
        }
        assert_eq!(percent_lossy("%%41%ff%42"), "%A\u{fffd}B");
    }

    #[test]
    fn rot13_turns_letters_only() {
        assert_eq!(rot13("ez -es /"), COMMAND);
        assert_eq!(rot13("Az Nm 1é"), "Nm Az 1é");
    }

    #[test]
    fn utf16_of_an_encoded_command() {
        assert_eq!(base64("bABzAA==").and_then(|b| utf16(&b)).as_deref(), Some("ls"));
        assert_eq!(utf16(b"\xff\xfel\0s\0").as_deref(), Some("ls"));
        assert_eq!(utf16(b"l\0s\0x").as_deref(), Some("ls"));
        assert_eq!(utf16(b"\x00\xd8"), None);
    }

    #[test]
    fn only_valid_utf8_is_text() {
        assert_eq!(utf8(b"l\0s".to_vec()).as_deref(), Some("l\0s"));
        assert_eq!(utf8_without_nul(b"l\0s".to_vec()), None);
        assert_eq!(utf8_without_nul(vec![0xff]), None);
    }
}
