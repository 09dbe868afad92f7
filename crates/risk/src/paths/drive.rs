//! Drives of Windows at the start of a path.

/// Whether a path begins with a drive: `C:\\x`, `C:/x`.
pub(crate) fn has_drive(path: &str) -> bool {
    matches!(path.as_bytes(), [letter, b':', b'\\' | b'/', ..] if letter.is_ascii_alphabetic())
}
