//! The public key of a signer of notes, as text.

use std::fmt;

use super::error::NoteError;
use countersign_json::base64;
use countersign_json::canonical::Digest;

/// The longest key name and ledger origin.
pub const MAX_NAME: usize = 256;

/// The algorithm byte of Ed25519.
const ED25519: u8 = 1;

/// A named Ed25519 key: `name+keyid+key`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifierKey {
    name: String,
    id: [u8; 4],
    public_key: [u8; 32],
}

impl VerifierKey {
    /// A key under a name.
    pub fn new(name: &str, public_key: [u8; 32]) -> Result<VerifierKey, NoteError> {
        if !name_fits(name) {
            return Err(NoteError::Name);
        }
        Ok(VerifierKey { name: name.to_owned(), id: id(name, &public_key), public_key })
    }

    /// Parses the text of a key; its id must match.
    pub fn parse(text: &str) -> Result<VerifierKey, NoteError> {
        let mut parts = text.splitn(3, '+');
        let (Some(name), Some(_), Some(key)) = (parts.next(), parts.next(), parts.next()) else {
            return Err(NoteError::Key);
        };
        let bytes = base64::decode(key).map_err(|_| NoteError::Key)?;
        let Some((&[ED25519], key)) = bytes.split_first_chunk::<1>() else {
            return Err(NoteError::Key);
        };
        let public_key = <[u8; 32]>::try_from(key).map_err(|_| NoteError::Key)?;
        let key = VerifierKey::new(name, public_key)?;
        // Each key has exactly one text, so this compares the id as well.
        if key.to_string() == text { Ok(key) } else { Err(NoteError::Key) }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Identifies the key among those of that name.
    pub const fn id(&self) -> [u8; 4] {
        self.id
    }

    /// The key itself.
    pub const fn public_key(&self) -> &[u8; 32] {
        &self.public_key
    }
}

impl fmt::Display for VerifierKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = [[ED25519].as_slice(), &self.public_key].concat();
        let id = u32::from_be_bytes(self.id);
        write!(f, "{}+{id:08x}+{}", self.name, base64::encode(&key))
    }
}

/// No spaces or plus signs, which separate the fields, and no control characters.
pub(super) fn name_fits(name: &str) -> bool {
    let parts = |c: char| c.is_whitespace() || c.is_control() || c == '+';
    !name.is_empty() && name.len() <= MAX_NAME && !name.contains(parts)
}

fn id(name: &str, public_key: &[u8; 32]) -> [u8; 4] {
    let whole = [name.as_bytes(), b"\n", &[ED25519], public_key].concat();
    let [a, b, c, d, ..] = *Digest::of(&whole).as_bytes();
    [a, b, c, d]
}
