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
