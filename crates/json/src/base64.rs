//! Strict base64 (RFC 4648): each byte string has exactly one text.

use std::fmt;

const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const URL_SAFE: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Why a text is not valid base64.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Base64Error {
    /// An impossible length, or missing or superfluous `=` padding.
    Length,
    /// A character outside the alphabet, with its byte offset.
    Character(usize),
    /// The last character has unused bits that are not zero, so another text would mean the same.
    LooseBits,
}

/// Standard base64 with padding.
pub fn encode(bytes: &[u8]) -> String {
    let mut text = write(bytes, STANDARD);
    while !text.len().is_multiple_of(4) {
        text.push('=');
    }
    text
}

/// URL-safe base64 without padding, as JOSE requires.
pub fn encode_url(bytes: &[u8]) -> String {
    write(bytes, URL_SAFE)
}

/// Decodes standard base64 with exactly the padding it needs.
pub fn decode(text: &str) -> Result<Vec<u8>, Base64Error> {
    if !text.len().is_multiple_of(4) {
        return Err(Base64Error::Length);
    }
    let bare = text.strip_suffix("==").or(text.strip_suffix('=')).unwrap_or(text);
    let bytes = read(bare, [b'+', b'/'])?;
    // The length is a multiple of four, so only one amount of padding is right.
    let needed = (4 - bare.len() % 4) % 4;
    if text.len() - bare.len() == needed { Ok(bytes) } else { Err(Base64Error::Length) }
}

/// Decodes URL-safe base64 without padding.
pub fn decode_url(text: &str) -> Result<Vec<u8>, Base64Error> {
    read(text, [b'-', b'_'])
}

fn write(bytes: &[u8], alphabet: &[u8; 64]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let byte = |at: usize| u32::from(chunk.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..=chunk.len() {
            let index = (bits >> (18 - 6 * place)) & 0x3F;
            let letter = usize::try_from(index).ok().and_then(|index| alphabet.get(index));
            text.extend(letter.map(|&letter| char::from(letter)));
        }
    }
    text
}

fn read(text: &str, last_two: [u8; 2]) -> Result<Vec<u8>, Base64Error> {
    if text.len() % 4 == 1 {
        return Err(Base64Error::Length);
    }
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3 + 2);
    let (mut bits, mut held) = (0_u32, 0_u32);
    for (at, letter) in text.bytes().enumerate() {
        let value = match letter {
            b'A'..=b'Z' => letter - b'A',
            b'a'..=b'z' => letter - b'a' + 26,
            b'0'..=b'9' => letter - b'0' + 52,
            _ if letter == last_two[0] => 62,
            _ if letter == last_two[1] => 63,
            _ => return Err(Base64Error::Character(at)),
        };
        bits = bits << 6 | u32::from(value);
        held += 6;
        if held >= 8 {
            held -= 8;
            // The bits above the mask were already output.
            bytes.extend(u8::try_from(bits >> held & 0xFF));
            bits &= (1 << held) - 1;
        }
    }
    if bits == 0 { Ok(bytes) } else { Err(Base64Error::LooseBits) }
}

impl fmt::Display for Base64Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Base64Error::Length => f.write_str("invalid base64: wrong length or padding"),
            Base64Error::Character(at) => write!(f, "invalid base64: wrong character at byte {at}"),
            Base64Error::LooseBits => {
                f.write_str("invalid base64: unused bits at the end are not zero")
            }
        }
    }
}

impl std::error::Error for Base64Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_vectors_of_rfc_4648() {
        let vectors = [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ];
        for (plain, text) in vectors {
            assert_eq!(encode(plain.as_bytes()), text);
            assert_eq!(decode(text).unwrap(), plain.as_bytes());
            assert_eq!(encode_url(plain.as_bytes()), text.trim_end_matches('='));
            assert_eq!(decode_url(text.trim_end_matches('=')).unwrap(), plain.as_bytes());
        }
        assert_eq!(encode(&[0xFB, 0xFF, 0xFE]), "+//+");
        assert_eq!(encode_url(&[0xFB, 0xFF, 0xFE]), "-__-");
    }

    #[test]
    fn a_second_text_for_the_same_bytes_is_rejected() {
        for text in ["Zg", "Zg=", "Zg===", "Zg==\n", "Zm9v====", "=", "==", "====", "Z", "Zm9vZ"] {
            assert!(decode(text).is_err(), "{text:?}");
        }
        assert_eq!(decode("Zh=="), Err(Base64Error::LooseBits));
        assert_eq!(decode("Zm9="), Err(Base64Error::LooseBits));
        assert_eq!(decode("Zm=v"), Err(Base64Error::Character(2)));
        assert_eq!(decode("-__-"), Err(Base64Error::Character(0)));
        assert_eq!(decode_url("+//+"), Err(Base64Error::Character(0)));
        for text in ["Zg==", "Z", "Zh", "Zm8=", " Zm8", "Zm 8"] {
            assert!(decode_url(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn decoding_and_encoding_gives_the_same_text() {
        // All texts of up to four letters of a small alphabet, and all pairs of bytes.
        let letters = b"AQgw/+-_=Z9\n ";
        for a in letters {
            for b in letters {
                for c in letters {
                    for d in letters {
                        let text = String::from_utf8(vec![*a, *b, *c, *d]).unwrap();
                        for text in (0..=4).filter_map(|length| text.get(..length)) {
                            if let Ok(bytes) = decode(text) {
                                assert_eq!(encode(&bytes), text);
                            }
                            if let Ok(bytes) = decode_url(text) {
                                assert_eq!(encode_url(&bytes), text);
                            }
                        }
                    }
                }
            }
        }
        for pair in 0..=u16::MAX {
            let bytes = pair.to_be_bytes();
            assert_eq!(decode(&encode(&bytes)).unwrap(), bytes);
            assert_eq!(decode_url(&encode_url(&bytes)).unwrap(), bytes);
        }
    }
}
