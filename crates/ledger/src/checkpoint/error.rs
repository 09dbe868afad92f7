//! Why a note is rejected.

use std::fmt;

/// Why a note is rejected.
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
    /// A line after the text is not a signature.
    Signature,
    /// The name of a key is empty, too long, or contains a space or plus sign.
    Name,
    /// A text that is not a verifier key.
    Key,
    /// No signature of this key.
    NotSigned,
    /// An invalid signature of this key.
    Forged,
}

impl fmt::Display for NoteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            NoteError::TooLong => "the note is too long",
            NoteError::Control => "the note contains a control character",
            NoteError::Shape => "the note is not text, a blank line and signatures",
            NoteError::Origin => "the first line of the note is not an origin",
            NoteError::Size => "the second line of the note is not a size",
            NoteError::Root => "the third line of the note is not a root hash",
            NoteError::Signature => "a line of the note is not a signature",
            NoteError::Name => "a key name is empty, too long, or contains a space or +",
            NoteError::Key => "the text is not an Ed25519 verifier key",
            NoteError::NotSigned => "the note is not signed by this key",
            NoteError::Forged => "the note has an invalid signature of this key",
        })
    }
}

impl std::error::Error for NoteError {}
