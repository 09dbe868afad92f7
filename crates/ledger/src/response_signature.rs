//! The text that the daemon signs for each response, so that clients believe its key and not its
//! address.

use countersign_json::base64;
use countersign_json::canonical::Digest;

/// The header in which a client sends its nonce.
pub const NONCE_HEADER: &str = "countersign-nonce";
/// The header in which the daemon sends its signature.
pub const SIGNATURE_HEADER: &str = "countersign-signature";

/// The first line of the signed text, so that no other signature of a key is accepted.
const PURPOSE: &str = "countersign-response-1";
/// The first word of a file with the daemon's public key.
const KEY_HEAD: &str = "countersign-daemon-key-1 ";

/// One exchange: what the client sent, what the daemon answered.
#[derive(Debug, Clone, Copy)]
pub struct SignedExchange<'a> {
    /// The client's random value, used once.
    pub nonce: &'a str,
    /// The method.
    pub method: &'a str,
    /// The path with its query.
    pub target: &'a str,
    /// The value of the header `Authorization`; empty without one.
    pub credential: &'a str,
    /// The digest of the request body, which holds the call.
    pub request: Digest,
    /// The status code.
    pub status: u16,
    /// The digest of the response body, which holds the request id and the decision.
    pub response: Digest,
}

impl SignedExchange<'_> {
    /// The text to sign. No part can contain a line break: HTTP allows none in a header or a
    /// request line.
    pub fn signing_input(&self) -> String {
        let SignedExchange { nonce, method, target, credential, request, status, response } = self;
        let credential = Digest::of(credential.as_bytes());
        format!(
            "{PURPOSE}\n{nonce}\n{method} {target}\n{credential}\n{request}\n{status}\n{response}\n"
        )
    }
}

/// Whether this can be a nonce: 22 to 128 characters of base64url, at least 128 bits.
pub fn is_nonce(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    (22..=128).contains(&text.len()) && text.bytes().all(plain)
}

/// The signature in a header; `None` if it is not one.
pub fn parse_signature(text: &str) -> Option<[u8; 64]> {
    base64::decode_url(text).ok()?.try_into().ok()
}

/// The public key as the text of its file.
pub fn write_public_key(key: &[u8; 32]) -> String {
    format!("{KEY_HEAD}{}\n", base64::encode_url(key))
}

/// The public key in the text of its file; `None` if the text is anything else.
pub fn parse_public_key(text: &str) -> Option<[u8; 32]> {
    let text = text.strip_suffix('\n').unwrap_or(text);
    base64::decode_url(text.strip_prefix(KEY_HEAD)?).ok()?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_changes_the_signed_text() {
        let digest = |text: &str| Digest::of(text.as_bytes());
        let exchange = SignedExchange {
            nonce: "n",
            method: "POST",
            target: "/v1/requests?wait=0",
            credential: "Bearer a",
            request: digest("call"),
            status: 200,
            response: digest("approved"),
        };
        let text = exchange.signing_input();
        assert!(text.starts_with("countersign-response-1\nn\nPOST /v1/requests?wait=0\n"));
        assert_eq!(text.lines().count(), 7);
        for other in [
            SignedExchange { nonce: "m", ..exchange },
            SignedExchange { method: "GET", ..exchange },
            SignedExchange { target: "/v1/requests?wait=1", ..exchange },
            SignedExchange { credential: "", ..exchange },
            SignedExchange { request: digest("another call"), ..exchange },
            SignedExchange { status: 201, ..exchange },
            SignedExchange { response: digest("denied"), ..exchange },
        ] {
            assert_ne!(other.signing_input(), text);
        }
    }

    #[test]
    fn a_public_key_has_one_text() {
        let text = write_public_key(&[7; 32]);
        assert_eq!(parse_public_key(&text), Some([7; 32]));
        for bad in ["", "x", &text.repeat(2), &text.replace('1', "2"), &format!(" {text}")] {
            assert_eq!(parse_public_key(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn a_nonce_is_long_and_plain() {
        assert!(is_nonce(&"a".repeat(22)));
        for bad in ["", "a\nb", &"a".repeat(21), &"a".repeat(129), &"a ".repeat(20)] {
            assert!(!is_nonce(bad), "{bad:?}");
        }
    }
}
