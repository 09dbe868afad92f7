//! Randomness: the only place that draws it, and what is made of it.

use countersign_core::base64;
use countersign_core::id::Id;
use countersign_core::time::Timestamp;

/// The machine gave no randomness: nothing that needs it may go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("this machine gives no randomness")]
pub struct NoChance;

/// Random bytes.
pub fn bytes<const N: usize>() -> Result<[u8; N], NoChance> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|_| NoChance)?;
    Ok(bytes)
}

/// A new id.
pub fn id(at: Timestamp) -> Result<Id, NoChance> {
    Ok(Id::new(at, bytes()?))
}

/// A new secret of 256 bits with a prefix that says what it is for.
pub fn secret(prefix: &str) -> Result<String, NoChance> {
    Ok(format!("{prefix}{}", base64::encode_url(&bytes::<32>()?)))
}
