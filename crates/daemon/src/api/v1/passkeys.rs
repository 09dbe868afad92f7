//! Passkeys: added and removed with a step-up proof.

use axum::Router;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::IntoResponse as _;
use axum::routing::{get, post};
use countersign_json::base64;
use countersign_json::canonical::Digest;
use countersign_store::{Passkey, Store as _};
use countersign_types::time::Clock as _;
use serde_json::json;

use crate::api::fields::{self, Fields};
use crate::api::passkey_signature::{bytes, challenge, check_client_data, rp_id};
use crate::api::{Api, ApiProblem, ApiResult, StepUpProof, authenticate};
use crate::auth::PersonIdentity;
use crate::passkeys::{ALGORITHMS, Purpose, algorithm_name, client_data, registration};

/// The most passkeys of one person.
const MAX_PASSKEYS: usize = 20;
/// The longest name of a passkey.
const MAX_NAME: usize = 64;
/// The longest attestation that is read; what it states is ignored.
const MAX_ATTESTATION: usize = 16 << 10;

/// The routes of the people API.
pub fn people() -> Router<Api> {
    Router::new()
        .route("/v1/passkeys", get(list).post(enrol))
        .route("/v1/passkeys/begin", post(begin))
        .route("/v1/passkeys/{credential}/remove", post(remove))
}

fn document(passkey: &Passkey) -> serde_json::Value {
    json!({
        "id": base64::encode_url(&passkey.credential), "name": passkey.name,
        "algorithm": algorithm_name(passkey.algorithm), "added": passkey.added,
        "active_from": passkey.active_from, "used": passkey.used,
    })
}

async fn list(State(api): State<Api>, headers: HeaderMap) -> ApiResult {
    let identity = authenticate::person(&api, &headers)?;
    let passkeys = api.directory.passkeys(&identity.person);
    let passkeys: Vec<_> = passkeys.iter().map(document).collect();
    let rp_id = rp_id(&api, &headers).ok();
    Ok(axum::Json(json!({ "passkeys": passkeys, "rp_id": rp_id })).into_response())
}

/// The credential ids of a person's passkeys, for their browser.
fn credential_ids(api: &Api, identity: &PersonIdentity) -> Vec<String> {
    let passkeys = api.directory.passkeys(&identity.person);
    passkeys.iter().map(|passkey| base64::encode_url(&passkey.credential)).collect()
}

async fn begin(State(api): State<Api>, request: Request) -> ApiResult {
    let identity = authenticate::person(&api, request.headers())?;
    let (parts, body) = request.into_parts();
    let bytes = fields::read_json_body(&parts.headers, body).await?;
    Fields::new(&fields::parse(&bytes)?)?.finish()?;
    let rp_id = rp_id(&api, &parts.headers)?;
    // The user handle that the device stores: a digest, so that it does not contain the name.
    let user = Digest::of(format!("countersign user 1\n{}", identity.person).as_bytes());
    let body = json!({
        "challenge": challenge(&api, &identity, Purpose::Enrol)?,
        "rp_id": rp_id, "person": identity.person, "user": base64::encode_url(user.as_bytes()),
        "algorithms": ALGORITHMS, "known": credential_ids(&api, &identity),
    });
    Ok(axum::Json(body).into_response())
}

async fn enrol(State(api): State<Api>, proven: StepUpProof, request: Request) -> ApiResult {
    let identity = authenticate::person(&api, request.headers())?;
    let (parts, body) = request.into_parts();
    let read = fields::read_json_body(&parts.headers, body).await?;
    let value = fields::parse(&read)?;
    let fields = Fields::new(&value)?;
    let name = name(&fields)?;
    let client_data = bytes(&fields, "client_data", client_data::MAX_LENGTH)?;
    let attestation = bytes(&fields, "attestation", MAX_ATTESTATION)?;
    fields.finish()?;
    let told = client_data::read(&client_data, "webauthn.create")?;
    let (rp_id, _) = check_client_data(&api, &identity, &told, Purpose::Enrol)?;
    let made = registration::read(&attestation, rp_id)?;
    let changing = api.directory.lock_changes().await;
    // Checked again under the lock: the session may have ended meanwhile.
    authenticate::person(&api, &parts.headers)?;
    if api.directory.passkeys(&identity.person).len() >= MAX_PASSKEYS {
        return Err(ApiProblem::conflict(format!(
            "a person can have at most {MAX_PASSKEYS} passkeys"
        )));
    }
    let now = api.gate.clock().now().at;
    let passkey = Passkey {
        credential: made.credential,
        person: identity.person.clone(),
        name,
        public_key: made.key.bytes().to_vec(),
        algorithm: made.key.algorithm(),
        uses: made.count,
        added: now,
        active_from: now.plus(api.waiting_period(&identity.person)),
        used: None,
        ended: None,
    };
    // Signatures are verified years later with the key in this ledger entry.
    let facts = json!({
        "by": identity.person, "id": base64::encode_url(&passkey.credential),
        "public_key": base64::encode_url(&passkey.public_key), "algorithm": passkey.algorithm,
    });
    let note = proven.note_with(&api, facts);
    let body = document(&passkey);
    api.gate.store().save_passkey(passkey, note).await?;
    api.directory.reload(api.gate.store()).await?;
    drop(changing);
    api.announce(format!("{} added a passkey for approvals.", identity.person));
    Ok((StatusCode::CREATED, axum::Json(body)).into_response())
}

fn name(fields: &Fields<'_, '_>) -> Result<String, ApiProblem> {
    let name = fields.required_text("name")?.trim();
    if name.is_empty() || name.chars().count() > MAX_NAME || name.contains(char::is_control) {
        return Err(ApiProblem::bad_request(format!(
            "`name` must be one line of 1 to {MAX_NAME} characters"
        )));
    }
    Ok(name.to_owned())
}

async fn remove(
    State(api): State<Api>,
    Path(credential): Path<String>,
    proven: StepUpProof,
    request: Request,
) -> ApiResult {
    let identity = authenticate::person(&api, request.headers())?;
    let (parts, body) = request.into_parts();
    let bytes = fields::read_json_body(&parts.headers, body).await?;
    Fields::new(&fields::parse(&bytes)?)?.finish()?;
    let changing = api.directory.lock_changes().await;
    authenticate::person(&api, &parts.headers)?;
    let mut passkeys = api.directory.passkeys(&identity.person).into_iter();
    let found = passkeys.find(|passkey| base64::encode_url(&passkey.credential) == credential);
    let mut passkey = found.ok_or_else(|| ApiProblem::not_found("passkey not found"))?;
    passkey.ended = Some(api.gate.clock().now().at);
    let body = json!({ "id": credential, "removed": passkey.ended });
    let note = proven.note_with(&api, json!({ "by": identity.person, "id": credential }));
    api.gate.store().save_passkey(passkey, note).await?;
    api.directory.reload(api.gate.store()).await?;
    drop(changing);
    api.announce(format!("{} removed a passkey.", identity.person));
    Ok(axum::Json(body).into_response())
}
