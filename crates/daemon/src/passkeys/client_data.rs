//! Client data: the ceremony, the challenge and the origin, as the browser reports them.

use countersign_json as json;
use countersign_json::Value;
use countersign_json::base64;

use super::error::PasskeyError;

/// The longest client data in bytes.
pub const MAX_LENGTH: usize = 4096;

/// Client data (`WebAuthn` Level 2, 5.8.1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientData {
    /// The challenge, decoded.
    pub challenge: Vec<u8>,
    /// The origin of the page.
    pub origin: String,
}

/// Reads client data of this type. Unknown members are ignored: browsers add some on purpose.
pub fn read(bytes: &[u8], wanted: &str) -> Result<ClientData, PasskeyError> {
    let value = json::parse_bytes(bytes).map_err(|_| PasskeyError::Unreadable)?;
    let members = value.as_object().ok_or(PasskeyError::Unreadable)?;
    let get = |name: &str| members.iter().find(|(key, _)| key == name).map(|(_, value)| value);
    let text = |name: &str| get(name).and_then(Value::as_str);
    if text("type") != Some(wanted) {
        return Err(PasskeyError::Ceremony);
    }
    // Missing means false: older browsers do not send it.
    if get("crossOrigin").is_some_and(|flag| flag.as_bool() != Some(false))
        || get("topOrigin").is_some()
    {
        return Err(PasskeyError::Origin);
    }
    let challenge = text("challenge").and_then(|text| base64::decode_url(text).ok());
    Ok(ClientData {
        challenge: challenge.ok_or(PasskeyError::Challenge)?,
        origin: text("origin").ok_or(PasskeyError::Origin)?.to_owned(),
    })
}
