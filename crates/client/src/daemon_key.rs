//! The pinned public key of the daemon: the only thing that makes a response believed.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use countersign_json::base64;
use countersign_json::canonical::Digest;
use countersign_ledger::key_rotation::newest_key;
use countersign_ledger::response_signature::{
    SignedExchange, parse_public_key, parse_signature, write_public_key,
};
use ed25519_dalek::{Signature, VerifyingKey};
use rustix::process::getuid;

use crate::error::Error;
use crate::http::{Exchange, WholeResponse};

/// The name of the file with the daemon's public key.
pub const DAEMON_KEY_FILE: &str = "daemon.pub";

/// What a client says whose pinned key is not that of the daemon.
const NOT_SIGNED: &str = "the pinned key did not sign this response; if you rotated the daemon's key, \
                          run `countersign keys trust --rotated`";

/// The daemon's public key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DaemonKey(VerifyingKey);

impl DaemonKey {
    /// Parses the text of a key file.
    pub fn parse(text: &str) -> Result<DaemonKey, Error> {
        let key = parse_public_key(text).and_then(|key| VerifyingKey::from_bytes(&key).ok());
        key.map(DaemonKey).ok_or_else(|| {
            Error::Input("expected `countersign-daemon-key-1` and the daemon's key".to_owned())
        })
    }

    /// Reads a key file. A file that another user can change pins nothing.
    pub fn read(file: &Path) -> Result<DaemonKey, Error> {
        let at = |why: &str| Error::Untrusted(format!("{}: {why}", file.display()));
        let found = fs::metadata(file).map_err(|error| at(&error.to_string()))?;
        if found.mode() & 0o022 != 0 || ![0, getuid().as_raw()].contains(&found.uid()) {
            return Err(at("other users can change this file; run chmod 644 and chown"));
        }
        let text = fs::read_to_string(file).map_err(|error| at(&error.to_string()))?;
        DaemonKey::parse(&text).map_err(|error| at(&error.to_string()))
    }

    /// The text of its file.
    pub fn text(&self) -> String {
        write_public_key(self.0.as_bytes())
    }

    /// The key to which statements about replaced keys lead from this one; `None` if they lead
    /// nowhere. Each statement must have the signatures of the old and of the new key.
    pub fn rotated(&self, statements: &str) -> Option<DaemonKey> {
        let newest = newest_key(*self.0.as_bytes(), statements, |key, text, signature| {
            let key = VerifyingKey::from_bytes(key);
            key.is_ok_and(|key| key.verify_strict(text, &Signature::from_bytes(signature)).is_ok())
        });
        newest.and_then(|key| VerifyingKey::from_bytes(&key).ok()).map(DaemonKey)
    }

    /// Whether this key signed this exchange.
    fn check(&self, exchange: &SignedExchange<'_>, signature: Option<&str>) -> Result<(), Error> {
        let untrusted = |why: &str| Error::Untrusted(why.to_owned());
        let signature = signature.ok_or_else(|| untrusted("the response has no signature"))?;
        let signature = parse_signature(signature)
            .ok_or_else(|| untrusted("the response's signature is malformed"))?;
        let signed = exchange.signing_input();
        let verified = self.0.verify_strict(signed.as_bytes(), &Signature::from_bytes(&signature));
        verified.map_err(|_| untrusted(NOT_SIGNED))
    }
}

/// A new random nonce.
pub fn new_nonce() -> Result<String, Error> {
    let mut bytes = [0_u8; 32];
    getrandom::fill(&mut bytes)
        .map_err(|error| Error::Input(format!("no random bytes: {error}")))?;
    Ok(base64::encode_url(&bytes))
}

/// Whether the pinned key signed this response to this request.
pub fn check_response(
    key: &DaemonKey,
    exchange: &Exchange<'_>,
    response: &WholeResponse,
) -> Result<(), Error> {
    let credential = exchange.token.map_or_else(String::new, |token| format!("Bearer {token}"));
    let signed = SignedExchange {
        nonce: exchange.nonce.unwrap_or_default(),
        method: exchange.method,
        target: exchange.path,
        credential: &credential,
        request: Digest::of(exchange.body.unwrap_or_default().as_bytes()),
        status: response.status,
        response: Digest::of(response.text.as_bytes()),
    };
    key.check(&signed, response.signature.as_deref())
}
