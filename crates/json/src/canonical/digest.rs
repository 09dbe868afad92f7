//! SHA-256 digests.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest as _, Sha256};

/// A SHA-256 digest. Comparison takes constant time.
#[derive(Clone, Copy, Eq)]
pub struct Digest([u8; 32]);

/// The digests that identify a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct CallDigest {
    /// Of the tagged canonical call: white space, key order and number notation do not matter.
    pub canonical: Digest,
    /// Of the argument bytes as received.
    pub raw: Digest,
    /// Whether both digests must match when the call is released, not only the canonical one.
    pub both_bind: bool,
}

impl CallDigest {
    /// Whether `other` is the call that this digest was decided for.
    pub fn binds(&self, other: &CallDigest) -> bool {
        let canonical = self.canonical == other.canonical;
        let both = self.both_bind || other.both_bind;
        canonical && (!both || self.raw == other.raw)
    }
}

/// Why a text is not a digest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DigestError {
    /// Not 64 characters; the number of bytes.
    Length(usize),
    /// Not a lower-case hexadecimal digit; its byte offset.
    Digit(usize),
}

impl Digest {
    /// The digest of some bytes.
    pub fn of(bytes: &[u8]) -> Digest {
        Digest(Sha256::digest(bytes).into())
    }

    /// A digest that was stored as bytes.
    pub const fn from_bytes(bytes: [u8; 32]) -> Digest {
        Digest(bytes)
    }

    /// Its bytes.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Appends the 64 hexadecimal digits; many times faster than formatting.
    pub fn push_hex(&self, out: &mut String) {
        let digit = |nibble: u8| nibble + if nibble < 10 { b'0' } else { b'a' - 10 };
        let mut text = [0; 64];
        for (places, byte) in text.as_chunks_mut::<2>().0.iter_mut().zip(self.0) {
            *places = [digit(byte >> 4), digit(byte & 0xF)];
        }
        out.push_str(std::str::from_utf8(&text).unwrap_or_default());
    }

    /// Parses 64 lower-case hexadecimal digits: each digest has exactly one text.
    pub fn parse(text: &str) -> Result<Digest, DigestError> {
        if text.len() != 64 {
            return Err(DigestError::Length(text.len()));
        }
        let mut bytes = [0; 32];
        for (index, digit) in text.bytes().enumerate() {
            let nibble = match digit {
                b'0'..=b'9' => digit - b'0',
                b'a'..=b'f' => digit - b'a' + 10,
                _ => return Err(DigestError::Digit(index)),
            };
            if let Some(byte) = bytes.get_mut(index / 2) {
                *byte = *byte << 4 | nibble;
            }
        }
        Ok(Digest(bytes))
    }
}

impl PartialEq for Digest {
    fn eq(&self, other: &Digest) -> bool {
        self.0.iter().zip(&other.0).fold(0, |differ, (a, b)| differ | (a ^ b)) == 0
    }
}

impl Hash for Digest {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

impl FromStr for Digest {
    type Err = DigestError;

    fn from_str(text: &str) -> Result<Digest, DigestError> {
        Digest::parse(text)
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::with_capacity(64);
        self.push_hex(&mut text);
        f.write_str(&text)
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({self})")
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Digest, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(input)?;
        Digest::parse(&text).map_err(serde::de::Error::custom)
    }
}

impl fmt::Display for DigestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DigestError::Length(bytes) => {
                write!(f, "digest has {bytes} bytes, expected 64 hexadecimal digits")
            }
            DigestError::Digit(at) => {
                write!(f, "digest has an invalid character at byte {at}, expected 0-9 or a-f")
            }
        }
    }
}

impl std::error::Error for DigestError {}
