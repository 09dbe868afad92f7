//! A server that takes checkpoints over http or https, as plain text.

use super::error::WitnessError;
use crate::posting::post_text;

/// Posts a checkpoint.
pub async fn post(url: &str, note: String) -> Result<(), WitnessError> {
    Ok(post_text(url, "text/plain; charset=utf-8", note).await?)
}
