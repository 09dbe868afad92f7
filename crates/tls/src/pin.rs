//! A pinned public key: the SHA-256 of the certificate's `SubjectPublicKeyInfo`. A renewed
//! certificate with the same key has the same pin.

use std::fmt;

use countersign_json::canonical::Digest;

use crate::certificate::CertificateFacts;
use crate::error::TlsError;

const HEAD: &str = "sha256:";

/// The pin of a public key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyPin(Digest);

impl KeyPin {
    /// Parses `sha256:` and 64 hexadecimal digits.
    pub fn parse(text: &str) -> Result<KeyPin, TlsError> {
        let digest = text.strip_prefix(HEAD).and_then(|hex| Digest::parse(hex).ok());
        digest.map(KeyPin).ok_or_else(|| TlsError::Pin(text.to_owned()))
    }

    /// The pin of a certificate in DER.
    pub fn of_certificate(der: &[u8]) -> Result<KeyPin, TlsError> {
        CertificateFacts::parse(der)
            .map(|facts| KeyPin(Digest::of(facts.public_key)))
            .ok_or_else(|| TlsError::Unusable("the certificate is malformed".to_owned()))
    }
}

impl fmt::Display for KeyPin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{HEAD}{}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pin_is_parsed_as_it_is_written() {
        let text = format!("sha256:{}", "0f".repeat(32));
        assert_eq!(KeyPin::parse(&text).unwrap().to_string(), text);
        for bad in
            ["", "sha256:", "sha256:0f", &text.replace("sha256", "sha1"), &format!("{text}0")]
        {
            assert!(KeyPin::parse(bad).is_err(), "{bad}");
        }
    }
}
