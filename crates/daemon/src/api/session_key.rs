//! The key of a browser session. The browser makes it, and no script can read it: whoever copies
//! the cookie and the storage of a browser can read, but change nothing.

use countersign_json::base64;
use countersign_json::canonical::Digest;
use ring::signature::{ECDSA_P256_SHA256_FIXED, UnparsedPublicKey};

use crate::auth::PERSON_TOKEN;

/// How far the time of a proof may differ from ours, in milliseconds.
const MAX_DIFFERENCE: u64 = 5 * 60_000;
/// The longest proof.
const MAX_PROOF: usize = 512;

/// One request to the people API, as its browser signs it.
pub struct SessionRequest<'a> {
    /// The method.
    pub method: &'a str,
    /// The path, with its query.
    pub path: &'a str,
    /// The body.
    pub body: &'a [u8],
}

impl SessionRequest<'_> {
    /// The text that the key of the session signs.
    pub fn signed_text(&self, time: i64) -> String {
        let body = base64::encode_url(Digest::of(self.body).as_bytes());
        format!("countersign session 1\n{} {}\n{body}\n{time}\n", self.method, self.path)
    }
}

/// Whether this is a public key: an uncompressed point of P-256, in base64url.
pub fn is_public_key(text: &str) -> bool {
    let bytes = base64::decode_url(text).unwrap_or_default();
    bytes.len() == 65 && bytes.first() == Some(&4)
}

/// The cookie of a session. It is a hash of its salt and its key, so nothing else has to be stored
/// to know the key.
pub fn cookie_of(salt: &str, public_key: &str) -> String {
    let digest = Digest::of(format!("countersign cookie 2\n{salt}\n{public_key}").as_bytes());
    format!("{PERSON_TOKEN}{}", base64::encode_url(digest.as_bytes()))
}

/// The cookie of the session whose key signed this request now; `None` if the proof is invalid. A
/// proof is salt, public key, time and signature, with dots between them.
pub fn proven_cookie(proof: &str, request: &SessionRequest<'_>, now: i64) -> Option<String> {
    let mut parts = proof.split('.').filter(|_| proof.len() <= MAX_PROOF);
    let (salt, public_key, time) = (parts.next()?, parts.next()?, parts.next()?);
    let signature = base64::decode_url(parts.next()?).ok()?;
    let time: i64 = time.parse().ok()?;
    if parts.next().is_some() || time.abs_diff(now) > MAX_DIFFERENCE {
        return None;
    }
    let key = base64::decode_url(public_key).ok()?;
    let text = request.signed_text(time);
    let key = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, key);
    key.verify(text.as_bytes(), &signature).ok()?;
    Some(cookie_of(salt, public_key))
}

#[cfg(test)]
pub mod test_browser {
    use ring::rand::SystemRandom;
    use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};

    use super::*;

    /// A browser with the key of a session.
    pub struct TestBrowser {
        pair: EcdsaKeyPair,
        pub salt: String,
    }

    impl TestBrowser {
        pub fn new(salt: &str) -> TestBrowser {
            let (random, kind) = (SystemRandom::new(), &ECDSA_P256_SHA256_FIXED_SIGNING);
            let pkcs8 = EcdsaKeyPair::generate_pkcs8(kind, &random).unwrap();
            let pair = EcdsaKeyPair::from_pkcs8(kind, pkcs8.as_ref(), &random).unwrap();
            TestBrowser { pair, salt: salt.to_owned() }
        }

        pub fn public_key(&self) -> String {
            base64::encode_url(self.pair.public_key().as_ref())
        }

        pub fn cookie(&self) -> String {
            cookie_of(&self.salt, &self.public_key())
        }

        /// The proof of a request line such as `POST /v1/grants`.
        pub fn proof(&self, line: &str, body: &[u8], time: i64) -> String {
            let (method, path) = line.split_once(' ').unwrap();
            let text = SessionRequest { method, path, body }.signed_text(time);
            let signed = self.pair.sign(&SystemRandom::new(), text.as_bytes()).unwrap();
            let signature = base64::encode_url(signed.as_ref());
            format!("{}.{}.{time}.{signature}", self.salt, self.public_key())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::test_browser::TestBrowser;
    use super::*;

    const NOW: i64 = 1_800_000_000_000;

    fn cookie(proof: &str, line: &str, body: &[u8]) -> Option<String> {
        let (method, path) = line.split_once(' ').unwrap();
        proven_cookie(proof, &SessionRequest { method, path, body }, NOW)
    }

    #[test]
    fn a_proof_holds_for_its_own_request_key_and_time() {
        let (browser, other) = (TestBrowser::new("csw_1"), TestBrowser::new("csw_1"));
        let line = "POST /v1/decisions?x=1";
        let proof = browser.proof(line, b"{}", NOW);
        assert!(is_public_key(&browser.public_key()));
        assert_eq!(cookie(&proof, line, b"{}"), Some(browser.cookie()));
        assert_eq!(cookie(&proof, line, b"{ }"), None);
        assert_eq!(cookie(&proof, "POST /v1/decisions", b"{}"), None);
        assert_eq!(cookie(&proof, "DELETE /v1/decisions?x=1", b"{}"), None);
        // Another key makes another cookie, and nobody can put their own key into a proof.
        assert_ne!(browser.cookie(), other.cookie());
        let swapped = proof.replace(&browser.public_key(), &other.public_key());
        assert_eq!(cookie(&swapped, line, b"{}"), None);
        for time in [NOW - 300_001, NOW + 300_001, i64::MIN] {
            assert_eq!(cookie(&browser.proof(line, b"{}", time), line, b"{}"), None);
        }
        for text in ["", ".", "...", "csw_1", &format!("{proof}."), &format!("{proof}.x")] {
            assert_eq!(cookie(text, line, b"{}"), None, "{text}");
        }
        for text in ["", "AAAA", browser.public_key().get(1..).unwrap()] {
            assert!(!is_public_key(text), "{text}");
        }
    }
}
