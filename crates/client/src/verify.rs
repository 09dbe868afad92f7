//! Signatures and proofs, checked without asking anybody.

use countersign_json as json;
use countersign_json::Value;
use countersign_json::base64;
use countersign_json::canonical::{CallDigest, Digest};
use countersign_ledger::checkpoint;
use countersign_ledger::checkpoint::{Checkpoint, VerifierKey};
use countersign_ledger::permit;
use countersign_ledger::permit::{Claims, Expected};
use ed25519_dalek::{Signature, VerifyingKey};

/// Whether a signature holds, strictly: no small keys, one form only.
pub fn holds(key: &[u8; 32], message: &[u8], signature: &[u8; 64]) -> bool {
    let signature = Signature::from_bytes(signature);
    VerifyingKey::from_bytes(key).is_ok_and(|key| key.verify_strict(message, &signature).is_ok())
}

/// The checkpoint of a note, if this key signed it.
pub fn signed_checkpoint(note: &str, vkey: &str) -> Result<Checkpoint, String> {
    let key = VerifierKey::parse(vkey.trim()).map_err(|error| error.to_string())?;
    let found = checkpoint::verify(note, &key, holds).map_err(|error| error.to_string())?;
    // A key may sign for several ledgers; ours are named after their key.
    if found.origin == key.name() {
        Ok(found)
    } else {
        Err(format!("the checkpoint is of the ledger `{}`", found.origin))
    }
}

/// The public keys of a JSON Web Key Set, by their ids. Keys of other kinds are left out; an id
/// that does not belong to its key spoils the set.
pub fn keys(jwks: &str) -> Result<Vec<(String, [u8; 32])>, String> {
    let value = json::parse(jwks).map_err(|error| error.to_string())?;
    let list = value.get("keys").and_then(Value::as_array).ok_or("there is no list `keys`")?;
    let mut keys = Vec::new();
    for key in list {
        let said = |name| key.get(name).and_then(Value::as_str);
        if said("kty") != Some("OKP") || said("crv") != Some("Ed25519") {
            continue;
        }
        let bytes = said("x").and_then(|x| base64::decode_url(x).ok());
        let bytes = bytes.and_then(|bytes| <[u8; 32]>::try_from(bytes).ok());
        let bytes = bytes.ok_or("a key in the set is not 32 bytes long")?;
        let kid = permit::thumbprint(&bytes);
        if said("kid").is_some_and(|said| said != kid) {
            return Err("a key in the set stands under another key's id".to_owned());
        }
        keys.push((kid, bytes));
    }
    if keys.is_empty() { Err("there is no Ed25519 key in the set".to_owned()) } else { Ok(keys) }
}

/// The claims of a permit, if one of these keys signed it for this call and this agent and its
/// time is now. That it was not used before cannot be seen offline.
pub fn permit_for(
    text: &str,
    keys: &[(String, [u8; 32])],
    digest: CallDigest,
    agent: &str,
    now_s: i64,
) -> Result<Claims, String> {
    let parsed = permit::parse(text.trim()).map_err(|error| error.to_string())?;
    let expected = Expected { digest, agent, audience: None, now_s, leeway_s: 0 };
    let found = permit::check(&parsed, &expected, |kid, message, signature| {
        keys.iter().any(|(id, key)| id == kid && holds(key, message, signature))
    });
    found.cloned().map_err(|error| error.to_string())
}

/// The root that a note's checkpoint must have, from hex.
pub fn digest(hex: &str) -> Result<Digest, String> {
    Digest::parse(hex).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use ed25519_dalek::{Signer as _, SigningKey};

    use super::*;

    #[test]
    fn a_checkpoint_is_believed_by_its_key_only() {
        let key = SigningKey::from_bytes(&[7; 32]);
        let public = key.verifying_key().to_bytes();
        let vkey = VerifierKey::new("ours", public).unwrap().to_string();
        let point = Checkpoint { origin: "ours".to_owned(), size: 3, root: Digest::of(b"x") };
        let note = point.sign("ours", &public, |body| key.sign(body).to_bytes()).unwrap();
        assert_eq!(signed_checkpoint(&note, &vkey), Ok(point.clone()));
        assert!(signed_checkpoint(&note.replace("\n3\n", "\n4\n"), &vkey).is_err());
        let other = SigningKey::from_bytes(&[8; 32]).verifying_key().to_bytes();
        let other = VerifierKey::new("ours", other).unwrap().to_string();
        assert!(signed_checkpoint(&note, &other).is_err());
        let foreign = Checkpoint { origin: "theirs".to_owned(), ..point };
        let note = foreign.sign("ours", &public, |body| key.sign(body).to_bytes()).unwrap();
        assert!(signed_checkpoint(&note, &vkey).unwrap_err().contains("theirs"));
    }

    #[test]
    fn key_sets_are_read_strictly() {
        let public = SigningKey::from_bytes(&[7; 32]).verifying_key().to_bytes();
        let set = permit::jwks(&[public]);
        assert_eq!(keys(&set).unwrap(), [(permit::thumbprint(&public), public)]);
        let swapped = set.replace("\"kid\":\"", "\"kid\":\"x");
        assert!(keys(&swapped).unwrap_err().contains("another key's id"));
        assert!(keys("{\"keys\":[{\"kty\":\"RSA\"}]}").is_err());
        assert!(keys("[]").is_err());
    }
}
