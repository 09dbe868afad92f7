//! One subscribed browser.

use std::fmt;

/// One browser.
#[derive(Clone, PartialEq, Eq)]
pub struct Browser {
    /// The push URL, which is a secret: everyone who knows it can send.
    pub endpoint: String,
    /// Its P-256 key, uncompressed.
    pub public_key: Vec<u8>,
    /// The authentication secret of the subscription.
    pub secret: Vec<u8>,
}

impl fmt::Debug for Browser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Browser")
    }
}

/// The browser of RFC 8291, section 5.
#[cfg(test)]
pub fn test_browser(endpoint: &str) -> Browser {
    let key = "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkN\
               toIAiw4";
    Browser {
        endpoint: endpoint.to_owned(),
        public_key: countersign_json::base64::decode_url(key).unwrap(),
        secret: countersign_json::base64::decode_url("BTBZMqHH6r4Tts7J_aSIgg").unwrap(),
    }
}
