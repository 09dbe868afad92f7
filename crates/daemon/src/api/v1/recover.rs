//! A new passphrase for a person with a recovery code.

use axum::Router;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::IntoResponse as _;
use axum::routing::post;
use countersign_store::{Store as _, WriteContext};
use countersign_types::time::Clock as _;
use serde_json::json;
use zeroize::Zeroizing;

use super::people::{end_sessions, new_passphrase};
use crate::api::credentials::Credentials;
use crate::api::fields::{self, Fields};
use crate::api::{Api, ApiProblem, ApiResult};
use crate::auth::recovery;

/// The route that redeems a recovery code.
pub const RECOVER: &str = "/v1/recover";
/// The channel name in the ledger.
const CHANNEL: &str = "recovery";

/// The routes of the people API.
pub fn people() -> Router<Api> {
    Router::new().route(RECOVER, post(recover))
}

async fn recover(State(api): State<Api>, request: Request) -> ApiResult {
    let (parts, body) = request.into_parts();
    let bytes = Zeroizing::new(fields::read_json_body(&parts.headers, body).await?.to_vec());
    let value = fields::parse(&bytes)?;
    let fields = Fields::new(&value)?;
    let name = fields.required_text("name")?.to_owned();
    let code = Zeroizing::new(fields.required_text("code")?.trim().to_owned());
    fields.finish()?;
    let credentials = Credentials::new(name, code, CHANNEL)?;
    let working = api.clone();
    // A task of its own: a client that disconnects has used its attempt all the same, and a code
    // that was redeemed always gets its passphrase stored.
    let done = tokio::spawn(async move { change(&working, &credentials).await });
    let done =
        done.await.map_err(|_| ApiProblem::from(crate::gate::Rejection::EntropyUnavailable))?;
    let (name, passphrase) = done?;
    Ok(axum::Json(json!({ "name": name, "passphrase": *passphrase })).into_response())
}

/// Not 401, because browsers take that for a signed-out session.
fn wrong_code(mut problem: ApiProblem) -> ApiProblem {
    problem.status = StatusCode::FORBIDDEN.as_u16();
    "wrong name or recovery code, or the code has expired".clone_into(&mut problem.detail);
    problem
}

async fn change(
    api: &Api,
    credentials: &Credentials,
) -> Result<(String, Zeroizing<String>), ApiProblem> {
    let now = api.gate.clock().now().at;
    let name = credentials.name.as_str();
    api.login_throttle.begin(name, now)?;
    let known = api.directory.record(name);
    let redeemed = recovery::redeem(&api.recovery, name, &credentials.passphrase, now);
    let (true, Some(redeemed)) = (known.is_some(), redeemed) else {
        return Err(wrong_code(credentials.record_failure(api, known.is_some()).await));
    };
    api.login_throttle.record_success(name);
    let (passphrase, hashed) = new_passphrase(api).await?;
    let _changing = api.directory.lock_changes().await;
    // Read again: the person may have been removed or given another role meanwhile.
    let Some(mut person) = api.directory.record(name) else {
        return Err(wrong_code(credentials.record_failure(api, false).await));
    };
    person.passphrase = hashed;
    let facts = json!({ "by": name, "step_up": { "proof": "recovery code" } }).to_string();
    let note =
        || WriteContext { policy: api.gate.rules().hash, facts: Some(facts.clone()), edited: None };
    if redeemed.remove_passkeys {
        for mut passkey in api.directory.passkeys(name) {
            passkey.ended = Some(now);
            api.gate.store().save_passkey(passkey, note()).await?;
        }
    }
    api.gate.store().save_person(person, note()).await?;
    api.directory.reload(api.gate.store()).await?;
    end_sessions(api, name, None).await?;
    api.announce(format!("{name} has a new passphrase, set with a recovery code."));
    Ok((name.to_owned(), passphrase))
}
