//! Authenticator data: relying party, user verification, signature counter and new credentials.

use countersign_json::canonical::Digest;

use super::cbor;
use super::error::PasskeyError;
use super::key::PasskeyKey;

const PRESENT: u8 = 1;
const VERIFIED: u8 = 1 << 2;
const BACKUP_ELIGIBLE: u8 = 1 << 3;
const BACKED_UP: u8 = 1 << 4;
const HAS_CREDENTIAL: u8 = 1 << 6;
const HAS_EXTENSIONS: u8 = 1 << 7;

/// The longest credential id (`WebAuthn` Level 2, 6.5.1).
pub const MAX_CREDENTIAL_ID: usize = 1023;

/// The relying party id of a passkey: the host name, without scheme and port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RelyingParty<'a>(pub &'a str);

/// Authenticator data (`WebAuthn` Level 2, 6.1), read to its last byte.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthenticatorData<'b> {
    /// SHA-256 of the relying party id.
    pub relying_party: [u8; 32],
    /// The user was present and verified, by fingerprint, face or PIN.
    pub verified: bool,
    /// The signature counter; 0 if the authenticator does not count.
    pub count: u32,
    /// A new credential: its id and its key.
    pub registered: Option<(&'b [u8], PasskeyKey)>,
}

impl AuthenticatorData<'_> {
    /// The checks that registrations and signatures share: the relying party and user
    /// verification.
    pub fn check(&self, relying_party: RelyingParty<'_>) -> Result<(), PasskeyError> {
        if self.relying_party != *Digest::of(relying_party.0.as_bytes()).as_bytes() {
            return Err(PasskeyError::RelyingParty);
        }
        if self.verified { Ok(()) } else { Err(PasskeyError::UserNotVerified) }
    }
}

/// Reads authenticator data.
pub fn read(bytes: &[u8]) -> Result<AuthenticatorData<'_>, PasskeyError> {
    const UNREADABLE: PasskeyError = PasskeyError::Unreadable;
    let (relying_party, rest) = bytes.split_first_chunk::<32>().ok_or(UNREADABLE)?;
    let (flags, rest) = rest.split_first().ok_or(UNREADABLE)?;
    let (count, mut rest) = rest.split_first_chunk::<4>().ok_or(UNREADABLE)?;
    let has = |flag: u8| flags & flag != 0;
    if has(BACKED_UP) && !has(BACKUP_ELIGIBLE) {
        return Err(UNREADABLE);
    }
    let mut registered = None;
    if has(HAS_CREDENTIAL) {
        let (_model, after) = rest.split_first_chunk::<16>().ok_or(UNREADABLE)?;
        let (length, after) = after.split_first_chunk::<2>().ok_or(UNREADABLE)?;
        let length = usize::from(u16::from_be_bytes(*length));
        let (name, after) = after.split_at_checked(length).ok_or(UNREADABLE)?;
        if name.is_empty() || name.len() > MAX_CREDENTIAL_ID {
            return Err(UNREADABLE);
        }
        let (key, after) = cbor::read(after)?;
        registered = Some((name, PasskeyKey::from_cose(&key)?));
        rest = after;
    }
    if has(HAS_EXTENSIONS) {
        let (extensions, after) = cbor::read(rest)?;
        if !matches!(extensions, cbor::CborItem::Map(_)) {
            return Err(UNREADABLE);
        }
        rest = after;
    }
    if !rest.is_empty() {
        return Err(UNREADABLE);
    }
    let (present, verified) = (has(PRESENT), has(VERIFIED));
    Ok(AuthenticatorData {
        relying_party: *relying_party,
        verified: present && verified,
        count: u32::from_be_bytes(*count),
        registered,
    })
}
