//! Checkpoints: the size and root of the ledger as a signed note (C2SP tlog-checkpoint).

use std::fmt;

use countersign_json::base64;
use countersign_json::canonical::Digest;

mod key;

#[cfg(test)]
mod tests;

pub use key::VerifierKey;

/// The longest note: room for the 16 signatures that must be taken, even large ones.
pub const MAX_NOTE: usize = 128 << 10;

/// The longest name of a key, and origin of a ledger.
pub const MAX_NAME: usize = 256;

/// What stands before a signature: an em dash and a blank.
const MARK: &str = "\u{2014} ";

/// The ledger at one moment: all that anybody needs to find a later change of its past.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    /// Which ledger this is. Whoever verifies one must compare it: a key may sign several.
    pub origin: String,
    /// How many entries there are.
    pub size: u64,
    /// The root of the tree over them.
    pub root: Digest,
}

/// A note as it was read. Nothing of it is to be believed before `verify`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signed {
    /// What was signed, as text, with its last newline.
    pub text: String,
    /// What it says.
    pub checkpoint: Checkpoint,
    /// Lines after the three, which mean nothing to us.
    pub extensions: Vec<String>,
    /// All signatures, of known and unknown keys, in their order.
    pub signatures: Vec<Signature>,
}

/// One line of a note.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signature {
    /// The name of the key.
    pub name: String,
    /// Which key of that name.
    pub key_id: [u8; 4],
    /// 64 bytes of Ed25519, or what another kind of key makes.
    pub signature: Vec<u8>,
}

/// Why a note is not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoteError {
    /// Longer than `MAX_NOTE`.
    TooLong,
    /// A control character other than a newline.
    Control,
    /// No blank line between text and signatures, or no newline at the end.
    Shape,
    /// The origin is empty or too long.
    Origin,
    /// The size is not a number, or has a sign or leading zeros.
    Size,
    /// The root is not the base64 of 32 bytes.
    Root,
    /// A line after the text is no signature.
    Signature,
    /// The name of a key is empty, too long, or has a blank or plus sign in it.
    Name,
    /// A text that is no verifier key.
    Key,
    /// No signature of this key.
    NotSigned,
    /// A signature of this key that does not hold.
    Forged,
}

impl Checkpoint {
    /// The three lines that are signed.
    pub fn body(&self) -> String {
        format!("{}\n{}\n{}\n", self.origin, self.size, base64::encode(self.root.as_bytes()))
    }

    /// The signed note. `signer` is given the bytes to sign with the key's private half.
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
    /// The line as it stands in a note, with its newline; a cosignature is added so.
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

/// Reads a note without believing it.
pub fn parse(note: &str) -> Result<Signed, NoteError> {
    if note.len() > MAX_NOTE {
        return Err(NoteError::TooLong);
    }
    if note.bytes().any(|byte| byte < 0x20 && byte != b'\n') {
        return Err(NoteError::Control);
    }
    // The last blank line: what stands before it is what was signed.
    let (text, lines) = note.rsplit_once("\n\n").ok_or(NoteError::Shape)?;
    let lines = lines.strip_suffix('\n').ok_or(NoteError::Shape)?;
    let signatures = lines.split('\n').map(Signature::read);
    let signatures = signatures.collect::<Option<Vec<_>>>().ok_or(NoteError::Signature)?;
    let (checkpoint, extensions) = read_text(text)?;
    Ok(Signed { text: format!("{text}\n"), checkpoint, extensions, signatures })
}

/// Reads a note and believes it if this key signed it. `holds` is given a public key, a message
/// and a signature, and says whether that is a strict Ed25519 signature.
///
/// Signatures of other keys are left alone, as the format wants; one of this key that does not
/// hold spoils the note even beside one that does.
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

/// Decimal digits as everybody writes them, and only so.
fn read_size(line: &str) -> Option<u64> {
    let size: u64 = line.parse().ok()?;
    (size.to_string() == line).then_some(size)
}

fn origin_fits(origin: &str) -> bool {
    !origin.is_empty() && origin.len() <= MAX_NAME && !origin.bytes().any(|byte| byte < 0x20)
}

impl fmt::Display for NoteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            NoteError::TooLong => "the note is too long",
            NoteError::Control => "the note has a control character in it",
            NoteError::Shape => "the note is not text, a blank line and signatures",
            NoteError::Origin => "the note's first line is no origin",
            NoteError::Size => "the note's second line is no size",
            NoteError::Root => "the note's third line is no root hash",
            NoteError::Signature => "a line of the note is no signature",
            NoteError::Name => "the name of a key is empty, too long, or has a blank or + in it",
            NoteError::Key => "the text is no Ed25519 verifier key",
            NoteError::NotSigned => "the note is not signed by this key",
            NoteError::Forged => "a signature in this key's name does not hold",
        })
    }
}

impl std::error::Error for NoteError {}
