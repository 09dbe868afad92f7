//! Signatures by passkeys: their challenge, their check, and what the ledger records.

use std::borrow::Cow;

use axum::http::{HeaderMap, StatusCode};
use axum::response::IntoResponse as _;
use countersign_json::Value;
use countersign_json::base64;
use countersign_ledger::entry::{Entry, EntryKind};
use countersign_store::{Passkey, Store as _};
use countersign_types::time::Clock as _;
use serde_json::json;

use super::fields::Fields;
use super::problem::{ApiProblem, ApiResult};
use super::state::Api;
use crate::auth::PersonIdentity;
use crate::gate::Rejection;
use crate::passkeys::{
    Assertion, MAX_CREDENTIAL_ID, PasskeyError, PasskeyKey, Purpose, RelyingParty, SignedDecision,
    assertion, client_data,
};

/// The longest authenticator data and signature that are read.
const MAX_DATA: usize = 4096;
const MAX_SIGNATURE: usize = 256;

impl From<PasskeyError> for ApiProblem {
    fn from(not: PasskeyError) -> ApiProblem {
        ApiProblem {
            why: Some(not.word()),
            ..ApiProblem::new(
                StatusCode::FORBIDDEN,
                "passkey-refused",
                "Passkey rejected",
                not.to_string(),
            )
        }
    }
}

/// Passkeys belong to a host name; browsers do not accept an IP address as one.
fn host_name_required(api: &Api) -> ApiProblem {
    let instead = api.people_hosts.origin_for_passkeys().unwrap_or("a name");
    ApiProblem {
        why: Some("address"),
        ..ApiProblem::conflict(format!(
            "browsers do not allow passkeys at an IP address; open {instead}"
        ))
    }
}

/// The relying party id of the page, by the address under which it was opened.
pub fn rp_id(api: &Api, headers: &HeaderMap) -> Result<String, ApiProblem> {
    let origin = api.people_hosts.passkey_origin(headers);
    let rp_id = origin.as_deref().and_then(|origin| api.people_hosts.relying_party_of(origin));
    rp_id.map(ToOwned::to_owned).ok_or_else(|| host_name_required(api))
}

/// A new challenge, as text.
pub fn challenge(
    api: &Api,
    identity: &PersonIdentity,
    purpose: Purpose,
) -> Result<String, ApiProblem> {
    let now = api.gate.clock().now().at;
    let challenge = api.now.challenges.begin((&identity.person, identity.login), purpose, now);
    let challenge = challenge.map_err(|_| ApiProblem::from(Rejection::EntropyUnavailable))?;
    Ok(base64::encode_url(challenge.as_bytes()))
}

/// Asks for a signature on an answer.
pub fn ask(
    api: &Api,
    identity: &PersonIdentity,
    headers: &HeaderMap,
    decided: SignedDecision,
) -> ApiResult {
    let body = challenge_for(api, identity, headers, Purpose::Decide(decided))?;
    Ok(axum::Json(body).into_response())
}

/// What a browser needs to create a signature.
pub fn challenge_for(
    api: &Api,
    identity: &PersonIdentity,
    headers: &HeaderMap,
    purpose: Purpose,
) -> Result<serde_json::Value, ApiProblem> {
    let now = api.gate.clock().now().at;
    let passkeys = api.directory.passkeys(&identity.person);
    let usable = passkeys.iter().filter(|passkey| passkey.active_from <= now);
    let known: Vec<_> = usable.map(|passkey| base64::encode_url(&passkey.credential)).collect();
    if known.is_empty() {
        return Err(ApiProblem::conflict("you have no passkey; add one on the page Devices"));
    }
    let rp_id = rp_id(api, headers)?;
    Ok(json!({ "challenge": challenge(api, identity, purpose)?, "rp_id": rp_id, "known": known }))
}

/// A member of base64url text, decoded.
pub fn bytes(
    fields: &Fields<'_, '_>,
    name: &'static str,
    most: usize,
) -> Result<Vec<u8>, ApiProblem> {
    let decoded = base64::decode_url(fields.required_text(name)?).ok();
    let decoded = decoded.filter(|bytes| !bytes.is_empty() && bytes.len() <= most);
    decoded.ok_or_else(|| {
        ApiProblem::bad_request(format!("`{name}` must be base64url of 1 to {most} bytes"))
    })
}

/// Reads a signature that a browser sent.
pub fn assertion(value: &Value<'_>) -> Result<Assertion, ApiProblem> {
    let fields = Fields::new(value)?;
    let assertion = Assertion {
        credential: bytes(&fields, "id", MAX_CREDENTIAL_ID)?,
        client_data: bytes(&fields, "client_data", client_data::MAX_LENGTH)?,
        authenticator_data: bytes(&fields, "authenticator_data", MAX_DATA)?,
        signature: bytes(&fields, "signature", MAX_SIGNATURE)?,
    };
    fields.finish()?;
    Ok(assertion)
}

/// Checks the client data: the right ceremony, an allowed origin, and an open challenge.
pub fn check_client_data<'o>(
    api: &Api,
    identity: &PersonIdentity,
    client: &'o client_data::ClientData,
    purpose: Purpose,
) -> Result<(RelyingParty<'o>, [u8; 32]), PasskeyError> {
    let now = api.gate.clock().now().at;
    // Taken first: a challenge counts as used, whatever else is wrong.
    let nonce = api.now.challenges.take(
        &client.challenge,
        (&identity.person, identity.login),
        purpose,
        now,
    );
    let rp_id = api.people_hosts.relying_party_of(&client.origin).ok_or(PasskeyError::Origin)?;
    Ok((RelyingParty(rp_id), nonce.ok_or(PasskeyError::Challenge)?))
}

/// Checks a signature on an answer or a change. The returned facts are enough to verify it again
/// from the ledger.
pub async fn signed(
    api: &Api,
    identity: &PersonIdentity,
    given: &Assertion,
    purpose: Purpose,
) -> Result<serde_json::Value, ApiProblem> {
    // One at a time: of two signatures with the same counter, one is from a copy.
    let changing = api.directory.lock_changes().await;
    let (passkey, nonce) = match verify(api, identity, given, purpose) {
        Ok(checked) => checked,
        Err(not) => {
            drop(changing);
            record_rejection(api, identity, not).await;
            return Err(not.into());
        }
    };
    api.gate.store().save_passkey(passkey, api.gate.note_by(&identity.person)).await?;
    api.directory.reload(api.gate.store()).await?;
    drop(changing);
    let text = base64::encode_url;
    Ok(json!({
        "id": text(&given.credential), "nonce": text(&nonce),
        "client_data": text(&given.client_data),
        "authenticator_data": text(&given.authenticator_data),
        "signature": text(&given.signature),
    }))
}

fn verify(
    api: &Api,
    identity: &PersonIdentity,
    given: &Assertion,
    purpose: Purpose,
) -> Result<(Passkey, [u8; 32]), PasskeyError> {
    let client = client_data::read(&given.client_data, "webauthn.get")?;
    let (rp_id, nonce) = check_client_data(api, identity, &client, purpose)?;
    let mut passkeys = api.directory.passkeys(&identity.person).into_iter();
    let found = passkeys.find(|passkey| passkey.credential == given.credential);
    let mut passkey = found.ok_or(PasskeyError::Unknown)?;
    if passkey.active_from > api.gate.clock().now().at {
        return Err(PasskeyError::Waiting);
    }
    let key = PasskeyKey::from_stored(passkey.algorithm, &passkey.public_key)?;
    passkey.uses = assertion::check(given, &key, passkey.uses, rp_id)?;
    passkey.used = Some(api.gate.clock().now().at);
    Ok((passkey, nonce))
}

/// Records a rejected signature: it may be another person's attempt.
async fn record_rejection(api: &Api, identity: &PersonIdentity, not: PasskeyError) {
    let mut entry = Entry::new(0, EntryKind::LoginFailed, api.gate.rules().hash);
    entry.person = Some(Cow::Owned(identity.person.clone()));
    let fact = |name: &'static str, text: &str| {
        (Cow::Borrowed(name), Value::String(Cow::Owned(text.to_owned())))
    };
    entry.facts = vec![fact("channel", &identity.channel), fact("passkey", not.word())];
    if let Err(error) = api.gate.store().append(vec![entry]).await {
        tracing::error!(%error, "a rejected passkey was not recorded");
    }
}
