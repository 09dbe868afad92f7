//! JSON responses, path segments and idempotency keys.

use countersign_json::base64;
use serde::de::DeserializeOwned;

use crate::error::Error;

/// Parses a JSON response.
pub fn parse_json<T: DeserializeOwned>(text: &str) -> Result<T, Error> {
    serde_json::from_str(text).map_err(|error| Error::Unexpected(error.to_string()))
}

/// One segment of a path: ids and names only, so that it cannot lead to another path.
pub fn path_segment(text: &str) -> Result<&str, Error> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte);
    let fits = (1..=128).contains(&text.len()) && text.bytes().all(plain) && !text.starts_with('.');
    if fits { Ok(text) } else { Err(Error::Input(format!("`{text}` is not a valid name or id"))) }
}

/// A new random idempotency key.
pub fn new_idempotency_key() -> Result<String, Error> {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes)
        .map_err(|error| Error::Input(format!("no random bytes: {error}")))?;
    Ok(base64::encode_url(&bytes))
}
