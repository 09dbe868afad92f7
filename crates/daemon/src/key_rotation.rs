//! Replaces the key that signs responses. The old key signs a statement about the new one, and the
//! ledger has an entry about every replaced key.

use std::fs;
use std::path::Path;

use countersign_json::canonical::Digest;
use countersign_json::{Value, base64};
use countersign_ledger::entry::{Entry, EntryKind};
use countersign_ledger::key_rotation::{KeyRotation, MAX_ROTATIONS, SignedKeyRotation, newest_key};
use countersign_ledger::response_signature::parse_public_key;
use countersign_store::{Backend, Store as _, StoreError};
use countersign_types::time::Timestamp;
use ed25519_dalek::{Signature, Signer as _, SigningKey, VerifyingKey};

use crate::keys::{self, KeyError, Keys, PUBLIC_KEY_FILE, RESPONSE_KEY_FILE};

/// The statements about replaced keys, in the state folder. They hold no secret.
pub const ROTATIONS_FILE: &str = "daemon.rotations";

/// Whether the old key still proves who replaced it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OldKey {
    /// It signs the new key, for clients that pinned it.
    Vouches,
    /// Others may have it: it signs nothing, and no earlier statement stays.
    Compromised,
}

/// Replaces the key that signs responses. The daemon uses and publishes the new one at its next
/// start; clients that pin the old one then refuse its responses.
pub fn rotate_response_key(folder: &Path, now: Timestamp, old_key: OldKey) -> Result<(), KeyError> {
    let file = folder.join(RESPONSE_KEY_FILE);
    // Only a folder that a daemon uses gets a key, not a mistyped one.
    let old = keys::existing_signing_key(&file)?;
    let (new, text) = keys::new_signing_key()?;
    let rotations = folder.join(ROTATIONS_FILE);
    let statements = match old_key {
        OldKey::Vouches => {
            let public = |key: &SigningKey| key.verifying_key().to_bytes();
            let rotation = KeyRotation { old: public(&old), new: public(&new), at: now.0 };
            let signed = rotation.signing_input();
            let by = |key: &SigningKey| key.sign(signed.as_bytes()).to_bytes();
            let statement = SignedKeyRotation { rotation, by_old: by(&old), by_new: by(&new) };
            added(&read_statements(folder), &statement.to_line())
        }
        OldKey::Compromised => String::new(),
    };
    // The statement first: one about a key that is never used does no harm.
    keys::replace(&rotations, &statements, 0o644)?;
    keys::replace(&file, &text, 0o600)
}

/// The newest statements, with one more.
fn added(statements: &str, line: &str) -> String {
    let mut lines: Vec<&str> = statements.lines().chain([line]).collect();
    let surplus = lines.len().saturating_sub(MAX_ROTATIONS);
    lines.drain(..surplus);
    lines.join("\n") + "\n"
}

/// The statements in a state folder; empty without any.
pub fn read_statements(folder: &Path) -> String {
    fs::read_to_string(folder.join(ROTATIONS_FILE)).unwrap_or_default()
}

/// The key to which statements lead from an older one.
fn newest_public_key(old: [u8; 32], statements: &str) -> Option<[u8; 32]> {
    newest_key(old, statements, |key, text, signature| {
        let signature = Signature::from_bytes(signature);
        let key = VerifyingKey::from_bytes(key);
        key.is_ok_and(|key| key.verify_strict(text, &signature).is_ok())
    })
}

/// Writes an entry if the key is not the one that was published last, then publishes it. Returns
/// what to announce.
pub async fn publish_key(
    store: &Backend,
    keys: &Keys,
    folder: &Path,
    policy: Digest,
) -> Result<Option<String>, PublishError> {
    let published = fs::read_to_string(folder.join(PUBLIC_KEY_FILE)).ok();
    let old = published.as_deref().and_then(parse_public_key);
    let new = keys.response_public();
    let mut news = None;
    if let Some(old) = old.filter(|old| *old != new) {
        let is_signed = newest_public_key(old, &read_statements(folder)) == Some(new);
        let mut entry = Entry::new(0, EntryKind::KeyRotated, policy);
        let text = |key: &[u8; 32]| Value::String(base64::encode_url(key).into());
        entry.facts = vec![
            ("new".into(), text(&new)),
            ("old".into(), text(&old)),
            ("signed_by_old".into(), Value::Bool(is_signed)),
        ];
        store.append(vec![entry]).await?;
        let how = if is_signed { "with" } else { "without" };
        news = Some(format!(
            "The key by which agents recognize the daemon was replaced, {how} a signature of the \
             old key. If you did not run `countersign keys rotate`, another program changed it."
        ));
    }
    keys.publish(folder)?;
    Ok(news)
}

/// Why a key was not published.
#[derive(Debug, thiserror::Error)]
pub enum PublishError {
    /// The entry could not be written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The file could not be written.
    #[error(transparent)]
    Key(#[from] KeyError),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_daemon::TestDaemon;

    /// The newest entry of this kind.
    async fn newest(daemon: &TestDaemon) -> serde_json::Value {
        let entries = daemon.ledger().await;
        entries.into_iter().rfind(|entry| entry["kind"] == "key_rotated").unwrap()
    }

    fn public(folder: &Path) -> [u8; 32] {
        let file = folder.join(PUBLIC_KEY_FILE);
        parse_public_key(&fs::read_to_string(file).unwrap()).unwrap()
    }

    #[tokio::test]
    async fn a_replaced_key_has_a_statement_and_an_entry() {
        let daemon = TestDaemon::default().await;
        assert_eq!(daemon.count("key_rotated").await, 0);
        let mut keys = Vec::new();
        let daemon = daemon
            .restart("", |folder| {
                keys.push(public(folder));
                rotate_response_key(folder, Timestamp(1), OldKey::Vouches).unwrap();
                // Until the restart clients read the old key.
                assert_eq!(public(folder), keys[0]);
            })
            .await;
        assert_eq!(daemon.count("key_rotated").await, 1);
        let entry = newest(&daemon).await;
        assert_eq!(entry["facts"]["signed_by_old"], true, "{entry}");
        assert_eq!(entry["facts"]["old"], base64::encode_url(&keys[0]));
        let daemon = daemon
            .restart("", |folder| {
                keys.push(public(folder));
                assert_eq!(newest_public_key(keys[0], &read_statements(folder)), Some(keys[1]));
                assert_eq!(newest_public_key([7; 32], &read_statements(folder)), None);
                rotate_response_key(folder, Timestamp(2), OldKey::Compromised).unwrap();
            })
            .await;
        let entry = newest(&daemon).await;
        assert_eq!(entry["facts"]["signed_by_old"], false, "{entry}");
        let daemon = daemon
            .restart("", |folder| {
                keys.push(public(folder));
                // No statement leads from an earlier key to the new one.
                assert_ne!(keys[2], keys[1]);
                for old in &keys[..2] {
                    assert_eq!(newest_public_key(*old, &read_statements(folder)), None);
                }
            })
            .await;
        assert_eq!(daemon.count("key_rotated").await, 2, "a start without a new key has no entry");
    }

    #[test]
    fn old_statements_end() {
        let mut text = String::new();
        for number in 0..MAX_ROTATIONS + 3 {
            text = added(&text, &number.to_string());
        }
        assert_eq!(text.lines().count(), MAX_ROTATIONS);
        assert_eq!(text.lines().next(), Some("3"));
    }
}
