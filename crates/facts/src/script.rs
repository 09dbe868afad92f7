//! The text of a script.

use std::path::Path;

use countersign_json::canonical::Digest;
use countersign_risk::facts::{ScriptFact, UnknownReason};

use crate::files;

/// The text of a file, or its beginning if the file is long, with the digest of what was read.
pub fn read(path: &Path, limit: u64) -> Result<ScriptFact, UnknownReason> {
    let file = files::read(path, limit)?;
    // The times of a file are coarser than a write, so a change can leave them as they are.
    if files::read(path, limit)?.bytes != file.bytes {
        return Err(UnknownReason::Changed);
    }
    let digest = Some(Digest::of(&file.bytes));
    let text = match String::from_utf8(file.bytes) {
        Ok(text) => text,
        // A limit may cut a character in two.
        Err(error) if !file.is_whole => {
            let end = error.utf8_error().valid_up_to();
            let mut bytes = error.into_bytes();
            if bytes.len() - end > 3 {
                return Err(UnknownReason::NotText);
            }
            bytes.truncate(end);
            String::from_utf8(bytes).map_err(|_| UnknownReason::NotText)?
        }
        Err(_) => return Err(UnknownReason::NotText),
    };
    if text.contains('\0') {
        return Err(UnknownReason::NotText);
    }
    let file_name = path.display().to_string();
    Ok(ScriptFact { file: file_name, text, is_complete: file.is_whole, digest })
}
