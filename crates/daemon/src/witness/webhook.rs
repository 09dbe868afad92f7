//! Somebody who takes checkpoints over HTTP, as plain text.

use super::WitnessError;
use crate::posting::post_text;

/// Posts a note.
pub async fn post(url: &str, note: String) -> Result<(), WitnessError> {
    Ok(post_text(url, "text/plain; charset=utf-8", note).await?)
}
