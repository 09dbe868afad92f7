//! Verifies passkey signatures from the ledger's entries alone.

use std::collections::HashMap;

use countersign_json::Value;
use countersign_json::base64;
use countersign_json::canonical::Digest;
use countersign_ledger::entry::{Entry, EntryKind};
use countersign_types::id::Id;
use countersign_workflow::request::{ApprovalScope, Choice};

use super::challenges::{SignedDecision, decision_challenge};
use super::{Assertion, PasskeyKey, assertion, client_data};

/// Reads a ledger from its beginning and verifies every signature.
#[derive(Debug, Default)]
pub struct LedgerSignatureCheck {
    /// By person and credential id.
    keys: HashMap<(String, String), PasskeyKey>,
    signed: u64,
}

impl LedgerSignatureCheck {
    /// Checks the next entry. The error says what is wrong with it.
    pub fn feed(&mut self, entry: &Entry<'_>) -> Result<(), &'static str> {
        match entry.kind {
            EntryKind::Person => self.person(entry),
            EntryKind::Approve | EntryKind::Deny | EntryKind::Vote | EntryKind::Edit => {
                self.answer(entry)
            }
            _ => Ok(()),
        }
    }

    /// How many valid signatures there were.
    pub const fn signed(&self) -> u64 {
        self.signed
    }

    fn person(&mut self, entry: &Entry<'_>) -> Result<(), &'static str> {
        let fact = |name: &str| fact(entry, name).and_then(Value::as_str);
        let (what, id) = (fact("what"), fact("id"));
        let relying_party = || Some((entry.person.as_deref()?.to_owned(), id?.to_owned()));
        match what {
            Some("passkey added") => {
                let relying_party = relying_party().ok_or("a passkey without an id or a person")?;
                let algorithm = self::fact(entry, "algorithm").and_then(Value::as_number);
                let algorithm = algorithm.and_then(|number| number.parse().ok());
                let bytes = fact("public_key").and_then(|text| base64::decode_url(text).ok());
                let key = algorithm
                    .zip(bytes)
                    .and_then(|(algorithm, bytes)| PasskeyKey::from_stored(algorithm, &bytes).ok());
                self.keys.insert(relying_party, key.ok_or("a passkey without a key")?);
            }
            Some("passkey ended") => {
                relying_party().map(|relying_party| self.keys.remove(&relying_party));
            }
            _ => {}
        }
        Ok(())
    }

    fn answer(&mut self, entry: &Entry<'_>) -> Result<(), &'static str> {
        const LACKS: &str = "a signature with a missing part";
        let Some(from_stored) = fact(entry, "passkey") else { return Ok(()) };
        let text = |name| from_stored.get(name).and_then(Value::as_str).ok_or(LACKS);
        let bytes = |name| base64::decode_url(text(name)?).map_err(|_| LACKS);
        let person = entry.person.as_deref().ok_or(LACKS)?;
        let relying_party = (person.to_owned(), text("id")?.to_owned());
        let key =
            self.keys.get(&relying_party).ok_or("a signature by a passkey of another person")?;
        // Where parts of a command were approved, they are what was signed.
        let parts = fact(entry, "segments").and_then(|parts| parts.get("digest"));
        let parts = parts.and_then(Value::as_str).map(Digest::parse);
        let parts = parts.transpose().map_err(|_| LACKS)?;
        let choice = match (entry.kind, fact(entry, "choice").and_then(Value::as_str)) {
            _ if parts.is_some() => Choice::Approve,
            (EntryKind::Deny, _) | (EntryKind::Vote, Some("deny")) => Choice::Deny,
            _ => Choice::Approve,
        };
        let scope = fact(entry, "scope").and_then(Value::as_str).map(ApprovalScope::parse);
        let scope = scope.unwrap_or(Some(ApprovalScope::Once)).ok_or(LACKS)?;
        let decided = SignedDecision {
            request: entry.request.as_deref().and_then(Id::parse).ok_or(LACKS)?,
            digest: parts.or(entry.digest).ok_or(LACKS)?,
            choice,
            scope,
        };
        let assertion = Assertion {
            credential: bytes("id")?,
            client_data: bytes("client_data")?,
            authenticator_data: bytes("authenticator_data")?,
            signature: bytes("signature")?,
        };
        let nonce = bytes("nonce")?.try_into().map_err(|_| LACKS)?;
        let data = client_data::read(&assertion.client_data, "webauthn.get");
        let data = data.map_err(|_| "a signature for another purpose")?;
        if data.challenge != decision_challenge(&decided, &nonce).as_bytes() {
            return Err("a signature for another call, request or answer");
        }
        if !assertion::is_signed(&assertion, key) {
            return Err("an invalid signature");
        }
        // An edited call has two entries with the same signature.
        self.signed += u64::from(entry.kind != EntryKind::Edit);
        Ok(())
    }
}

fn fact<'e, 'a>(entry: &'e Entry<'a>, name: &str) -> Option<&'e Value<'a>> {
    entry.facts.iter().find(|(key, _)| key == name).map(|(_, value)| value)
}
