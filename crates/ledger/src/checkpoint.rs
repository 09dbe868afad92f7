//! Checkpoints: the size and root of the ledger as a signed note (C2SP tlog-checkpoint).

use countersign_json::base64;
use countersign_json::canonical::Digest;

mod error;
mod key;

#[cfg(test)]
mod tests;

pub use error::NoteError;
pub use key::{MAX_NAME, VerifierKey};

/// The longest note: enough for the 16 signatures that a verifier must accept, even large ones.
pub const MAX_NOTE: usize = 128 << 10;

/// Precedes a signature: an em dash and a space.
const MARK: &str = "\u{2014} ";

/// The ledger at one moment: enough to detect any later change of its past.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    /// Which ledger this is. A verifier must compare it: a key may sign several ledgers.
    pub origin: String,
    /// How many entries there are.
    pub size: u64,
    /// The root of the tree over them.
    pub root: Digest,
}

/// A parsed note. Nothing in it is verified before `verify`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedCheckpoint {
    /// The signed text, with its last newline.
    pub text: String,
    /// The checkpoint in the text.
    pub checkpoint: Checkpoint,
    /// Lines after the first three, which are ignored.
    pub extensions: Vec<String>,
    /// All signatures, of known and unknown keys, in order.
    pub signatures: Vec<Signature>,
}

/// One signature line of a note.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signature {
    /// The name of the key.
    pub name: String,
    /// Identifies the key among those of that name.
    pub key_id: [u8; 4],
    /// 64 bytes for Ed25519; other kinds of keys have other lengths.
    pub signature: Vec<u8>,
}

impl Checkpoint {
    /// The three lines that are signed.
    pub fn body(&self) -> String {
        format!("{}\n{}\n{}\n", self.origin, self.size, base64::encode(self.root.as_bytes()))
    }

    /// The signed note. `signer` receives the bytes to sign.
    pub fn sign(
        &self,
        name: &str,
        public_key: &[u8; 32],
        signer: impl FnOnce(&[u8]) -> [u8; 64],
    ) -> Result<String, NoteError> {
        if !origin_fits(&self.origin) {
            return Err(NoteError::Origin);
        }
        let key = VerifierKey::new(name, *public_key)?;
        let body = self.body();
        let signature = signer(body.as_bytes());
        let line =
            Signature { name: name.to_owned(), key_id: key.id(), signature: signature.into() };
        Ok(format!("{body}\n{}", line.line()))
    }
}

impl Signature {
    /// The signature as a line of a note, with its newline; also used to add a cosignature.
    pub fn line(&self) -> String {
        let bytes = [self.key_id.as_slice(), &self.signature].concat();
        format!("{MARK}{} {}\n", self.name, base64::encode(&bytes))
    }

    fn read(line: &str) -> Option<Signature> {
        let (name, text) = line.strip_prefix(MARK)?.split_once(' ')?;
        let bytes = base64::decode(text).ok()?;
        let (key_id, signature) = bytes.split_first_chunk::<4>()?;
        let fits = key::name_fits(name) && !signature.is_empty();
        fits.then(|| Signature {
            name: name.to_owned(),
            key_id: *key_id,
            signature: signature.to_vec(),
        })
    }
}

/// Parses a note without verifying it.
pub fn parse(note: &str) -> Result<SignedCheckpoint, NoteError> {
    if note.len() > MAX_NOTE {
        return Err(NoteError::TooLong);
    }
    if note.bytes().any(|byte| byte < 0x20 && byte != b'\n') {
        return Err(NoteError::Control);
    }
    // The text before the last blank line is what was signed.
    let (text, lines) = note.rsplit_once("\n\n").ok_or(NoteError::Shape)?;
    let lines = lines.strip_suffix('\n').ok_or(NoteError::Shape)?;
    let signatures = lines.split('\n').map(Signature::read);
    let signatures = signatures.collect::<Option<Vec<_>>>().ok_or(NoteError::Signature)?;
    let (checkpoint, extensions) = read_text(text)?;
    Ok(SignedCheckpoint { text: format!("{text}\n"), checkpoint, extensions, signatures })
}

/// Parses a note and verifies that this key signed it. `holds` receives a public key, a message and
/// a signature, and returns whether it is a strict Ed25519 signature.
///
/// Signatures of other keys are ignored, as the format requires. An invalid signature of this key
/// rejects the note even next to a valid one.
pub fn verify(
    note: &str,
    key: &VerifierKey,
    holds: impl Fn(&[u8; 32], &[u8], &[u8; 64]) -> bool,
) -> Result<Checkpoint, NoteError> {
    let signed = parse(note)?;
    let ours = |line: &&Signature| line.name == key.name() && line.key_id == key.id();
    let mut found = false;
    for line in signed.signatures.iter().filter(ours) {
        let signature = <&[u8; 64]>::try_from(line.signature.as_slice());
        let signature = signature.map_err(|_| NoteError::Forged)?;
        if !holds(key.public_key(), signed.text.as_bytes(), signature) {
            return Err(NoteError::Forged);
        }
        found = true;
    }
    if found { Ok(signed.checkpoint) } else { Err(NoteError::NotSigned) }
}

fn read_text(text: &str) -> Result<(Checkpoint, Vec<String>), NoteError> {
    let mut lines = text.split('\n');
    let origin = lines.next().filter(|origin| origin_fits(origin)).ok_or(NoteError::Origin)?;
    let size = lines.next().and_then(read_size).ok_or(NoteError::Size)?;
    let root = lines.next().and_then(|line| base64::decode(line).ok()).ok_or(NoteError::Root)?;
    let root = <[u8; 32]>::try_from(root).map_err(|_| NoteError::Root)?;
    let extensions: Vec<String> = lines.map(str::to_owned).collect();
    if extensions.iter().any(String::is_empty) {
        return Err(NoteError::Shape);
    }
    let root = Digest::from_bytes(root);
    Ok((Checkpoint { origin: origin.to_owned(), size, root }, extensions))
}

/// Decimal digits without sign or leading zeros.
fn read_size(line: &str) -> Option<u64> {
    let size: u64 = line.parse().ok()?;
    (size.to_string() == line).then_some(size)
}

fn origin_fits(origin: &str) -> bool {
    !origin.is_empty() && origin.len() <= MAX_NAME && !origin.bytes().any(|byte| byte < 0x20)
}
