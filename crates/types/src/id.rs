//! Identifiers of requests, grants and permits: 128 bits, sortable by time. The caller supplies the
//! randomness.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

use crate::time::Timestamp;

/// Crockford's digits: no i, l, o, u, so that an id survives being read aloud.
const DIGITS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
const LENGTH: usize = 26;

/// 48 bits of time and 80 random bits. An id is not a secret: knowing one permits nothing.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Id([u8; 16]);

impl Id {
    /// Builds an id from a time and random bytes that the caller generated.
    pub fn new(at: Timestamp, random: [u8; 10]) -> Id {
        let time = at.0.to_be_bytes();
        let mut bytes = [0; 16];
        let parts = time.iter().skip(2).chain(&random);
        for (place, byte) in bytes.iter_mut().zip(parts) {
            *place = *byte;
        }
        Id(bytes)
    }

    /// An id that was stored as bytes.
    pub const fn from_bytes(bytes: [u8; 16]) -> Id {
        Id(bytes)
    }

    /// Its bytes.
    pub const fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// Parses the 26 characters that `Display` writes. Each id has exactly one text.
    pub fn parse(text: &str) -> Option<Id> {
        if text.len() != LENGTH {
            return None;
        }
        let mut value: u128 = 0;
        for (at, byte) in text.bytes().enumerate() {
            let digit = DIGITS.iter().position(|&d| d == byte)?;
            // 26 digits hold 130 bits: the first may use only three.
            if at == 0 && digit > 7 {
                return None;
            }
            value = value << 5 | u128::try_from(digit).ok()?;
        }
        Some(Id(value.to_be_bytes()))
    }
}

impl FromStr for Id {
    type Err = ();

    fn from_str(text: &str) -> Result<Id, ()> {
        Id::parse(text).ok_or(())
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = u128::from_be_bytes(self.0);
        let mut text = [0_u8; LENGTH];
        for (at, place) in text.iter_mut().rev().enumerate() {
            let digit = usize::try_from(value >> (5 * at) & 31).unwrap_or_default();
            *place = DIGITS.get(digit).copied().unwrap_or(b'0');
        }
        f.write_str(std::str::from_utf8(&text).unwrap_or_default())
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Id({self})")
    }
}

impl Serialize for Id {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn later_ids_sort_later() {
        let early = Id::new(Timestamp(1_000), [255; 10]);
        let late = Id::new(Timestamp(1_001), [0; 10]);
        assert!(early < late && early.to_string() < late.to_string());
        assert_eq!(early.to_string().len(), LENGTH);
    }

    #[test]
    fn an_id_has_one_text_only() {
        assert_eq!(Id::parse("7zzzzzzzzzzzzzzzzzzzzzzzzz"), Some(Id([255; 16])));
        assert_eq!(Id::parse("8zzzzzzzzzzzzzzzzzzzzzzzzz"), None);
        assert_eq!(Id::parse("7ZZZZZZZZZZZZZZZZZZZZZZZZZ"), None);
        assert_eq!(Id::parse("0000000000000000000000000"), None);
        assert_eq!(Id::parse("0000000000000000000000000i"), None);
    }

    proptest! {
        #[test]
        fn every_id_is_read_back(bytes: [u8; 16]) {
            let id = Id::from_bytes(bytes);
            prop_assert_eq!(Id::parse(&id.to_string()), Some(id));
        }
    }
}
