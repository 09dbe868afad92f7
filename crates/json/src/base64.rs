//! Strict base64 (RFC 4648): each byte string has exactly one text. Decoding takes the same time
//! for every text of one length, because keys are stored as base64.

use base64ct::{Base64, Base64UrlUnpadded, Encoding as _};
use std::fmt;

/// A text is not valid base64: its length, padding, a character, or unused bits that are not zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Base64Error;

/// Standard base64 with padding.
pub fn encode(bytes: &[u8]) -> String {
    Base64::encode_string(bytes)
}

/// URL-safe base64 without padding, as JOSE requires.
pub fn encode_url(bytes: &[u8]) -> String {
    Base64UrlUnpadded::encode_string(bytes)
}

/// Decodes standard base64 with exactly the padding it needs.
pub fn decode(text: &str) -> Result<Vec<u8>, Base64Error> {
    Base64::decode_vec(text).map_err(|_| Base64Error)
}

/// Decodes URL-safe base64 without padding.
pub fn decode_url(text: &str) -> Result<Vec<u8>, Base64Error> {
    Base64UrlUnpadded::decode_vec(text).map_err(|_| Base64Error)
}

impl fmt::Display for Base64Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("invalid base64: wrong length, padding or character")
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
        assert_eq!(decode("Zh=="), Err(Base64Error));
        assert_eq!(decode("Zm9="), Err(Base64Error));
        assert_eq!(decode("Zm=v"), Err(Base64Error));
        assert_eq!(decode("-__-"), Err(Base64Error));
        assert_eq!(decode_url("+//+"), Err(Base64Error));
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
