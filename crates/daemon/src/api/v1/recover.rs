//! A new passphrase for a person who proves with a recovery code who they are.

use axum::Router;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::IntoResponse as _;
use axum::routing::post;
use countersign_store::{Store as _, WriteContext};
use countersign_types::time::Clock as _;
use serde_json::json;
use zeroize::Zeroizing;

use super::login::Guess;
use super::people::{end_logins, fresh};
use crate::api::fields::{self, Fields};
use crate::api::{Answered, Api, Problem};
use crate::auth::recovery;

/// Where a recovery code is used.
pub const RECOVER: &str = "/v1/recover";
/// The way in, in the ledger.
const CHANNEL: &str = "recovery";

/// What people may do.
pub fn people() -> Router<Api> {
    Router::new().route(RECOVER, post(recover))
}

async fn recover(State(api): State<Api>, request: Request) -> Answered {
    let (parts, body) = request.into_parts();
    let bytes = Zeroizing::new(fields::body(&parts.headers, body).await?.to_vec());
    let value = fields::parse(&bytes)?;
    let said = Fields::of(&value)?;
    let name = said.needed_text("name")?.to_owned();
    let code = Zeroizing::new(said.needed_text("code")?.trim().to_owned());
    said.finish()?;
    let guess = Guess::new(name, code, CHANNEL)?;
    let working = api.clone();
    // A task of its own: whoever breaks off has guessed all the same, and a used code is not lost
    // without its passphrase.
    let done = tokio::spawn(async move { change(&working, &guess).await });
    let done = done.await.map_err(|_| Problem::from(crate::gate::Rejection::NoChance))?;
    let (name, passphrase) = done?;
    Ok(axum::Json(json!({ "name": name, "passphrase": *passphrase })).into_response())
}

/// Not 401, by which browsers know that they are signed out.
fn wrong(mut problem: Problem) -> Problem {
    problem.status = StatusCode::FORBIDDEN.as_u16();
    "the name or the recovery code is wrong, or the code is too old"
        .clone_into(&mut problem.detail);
    problem
}

async fn change(api: &Api, guess: &Guess) -> Result<(String, Zeroizing<String>), Problem> {
    let now = api.gate.clock().now().at;
    let name = guess.name.as_str();
    api.strikes.begin(name, now)?;
    let known = api.book.record(name);
    let taken = recovery::take(&api.recovery, name, &guess.passphrase, now);
    let (true, Some(taken)) = (known.is_some(), taken) else {
        return Err(wrong(guess.failed(api, known.is_some()).await));
    };
    api.strikes.right(name);
    let (passphrase, hashed) = fresh(api).await?;
    let _changing = api.book.changing().await;
    // Read again: the person may have been removed or given another role meanwhile.
    let Some(mut person) = api.book.record(name) else {
        return Err(wrong(guess.failed(api, false).await));
    };
    person.passphrase = hashed;
    let facts = json!({ "by": name, "step_up": { "proof": "recovery code" } }).to_string();
    let note =
        || WriteContext { policy: api.gate.rules().hash, facts: Some(facts.clone()), edited: None };
    if taken.remove_passkeys {
        for mut passkey in api.book.passkeys(name) {
            passkey.ended = Some(now);
            api.gate.store().save_passkey(passkey, note()).await?;
        }
    }
    api.gate.store().save_person(person, note()).await?;
    api.book.read(api.gate.store()).await?;
    end_logins(api, name, None).await?;
    api.announce(format!("{name} has a new passphrase, made with a recovery code."));
    Ok((name.to_owned(), passphrase))
}
