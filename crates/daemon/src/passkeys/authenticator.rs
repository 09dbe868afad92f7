//! What an authenticator says about itself: where, whether somebody was there, how often it signed.

use super::NotSigned;
use super::cbor;
use super::key::Key;

const PRESENT: u8 = 1;
const VERIFIED: u8 = 1 << 2;
const MAY_BE_COPIED: u8 = 1 << 3;
const IS_COPIED: u8 = 1 << 4;
const HAS_KEY: u8 = 1 << 6;
const HAS_EXTENSIONS: u8 = 1 << 7;

/// The longest name of a passkey (`WebAuthn` Level 2, 6.5.1).
pub const LONGEST_CREDENTIAL: usize = 1023;

/// Authenticator data (`WebAuthn` Level 2, 6.1), read to its last byte.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told<'b> {
    /// SHA-256 of the name of the place.
    pub place: [u8; 32],
    /// Somebody touched it, and it knows who: a finger, a face or a PIN.
    pub verified: bool,
    /// How many signatures it has made; 0 where it does not count.
    pub count: u32,
    /// A new passkey: its name and its key.
    pub made: Option<(&'b [u8], Key)>,
}

/// Reads authenticator data.
pub fn read(bytes: &[u8]) -> Result<Told<'_>, NotSigned> {
    const CUT: NotSigned = NotSigned::Unreadable;
    let (place, rest) = bytes.split_first_chunk::<32>().ok_or(CUT)?;
    let (flags, rest) = rest.split_first().ok_or(CUT)?;
    let (count, mut rest) = rest.split_first_chunk::<4>().ok_or(CUT)?;
    let has = |flag: u8| flags & flag != 0;
    if has(IS_COPIED) && !has(MAY_BE_COPIED) {
        return Err(CUT);
    }
    let mut made = None;
    if has(HAS_KEY) {
        let (_model, after) = rest.split_first_chunk::<16>().ok_or(CUT)?;
        let (length, after) = after.split_first_chunk::<2>().ok_or(CUT)?;
        let length = usize::from(u16::from_be_bytes(*length));
        let (name, after) = after.split_at_checked(length).ok_or(CUT)?;
        if name.is_empty() || name.len() > LONGEST_CREDENTIAL {
            return Err(CUT);
        }
        let (key, after) = cbor::read(after)?;
        made = Some((name, Key::from_cose(&key)?));
        rest = after;
    }
    if has(HAS_EXTENSIONS) {
        let (extensions, after) = cbor::read(rest)?;
        if !matches!(extensions, cbor::Item::Map(_)) {
            return Err(CUT);
        }
        rest = after;
    }
    if !rest.is_empty() {
        return Err(CUT);
    }
    let (present, verified) = (has(PRESENT), has(VERIFIED));
    Ok(Told {
        place: *place,
        verified: present && verified,
        count: u32::from_be_bytes(*count),
        made,
    })
}
