//! A recovery code that goes to a linked account of the person, and to no one else.

use axum::Router;
use axum::extract::{Path, Request, State};
use axum::response::IntoResponse as _;
use axum::routing::post;
use countersign_channels::ReplyReceiver;
use countersign_json::Value;
use countersign_ledger::entry::{Entry, EntryKind};
use countersign_store::{LinkedAccount, Store as _};
use countersign_types::time::Clock as _;
use countersign_workflow::assurance::Assurance;
use serde_json::json;

use crate::api::fields::{self, Fields};
use crate::api::{Api, ApiProblem, ApiResult, StepUpProof, authenticate};
use crate::auth::recovery;

/// The routes of the people API.
pub fn people() -> Router<Api> {
    Router::new().route("/v1/people/{name}/recovery", post(send))
}

/// `POST /v1/people/{name}/recovery`: an administrator has a code sent to the person. Neither the
/// administrator nor any session sees the code, and passkeys stay.
async fn send(
    State(api): State<Api>,
    Path(name): Path<String>,
    proven: StepUpProof,
    request: Request,
) -> ApiResult {
    let identity = authenticate::administrator(&api, request.headers())?;
    let (parts, body) = request.into_parts();
    let bytes = fields::read_json_body(&parts.headers, body).await?;
    let value = fields::parse(&bytes)?;
    let fields = Fields::new(&value)?;
    let channel = fields.text("channel")?.map(str::to_owned);
    fields.finish()?;
    let _changing = api.directory.lock_changes().await;
    authenticate::administrator(&api, &parts.headers)?;
    api.directory.record(&name).ok_or_else(|| ApiProblem::not_found("person not found"))?;
    let now = api.gate.clock().now().at;
    let accounts = api.gate.store().accounts().await?;
    let mut accounts: Vec<LinkedAccount> = accounts
        .into_iter()
        .filter(|known| known.person == name && known.active_from <= now)
        .filter(|known| channel.as_ref().is_none_or(|channel| *channel == known.channel))
        .collect();
    accounts.sort_by_key(|known| known.linked);
    for account in &accounts {
        if !deliver(&api, account, &identity.person).await? {
            continue;
        }
        let facts = json!({ "by": identity.person });
        let note = proven.note_with(&api, facts);
        record(&api, account, &note).await?;
        api.announce(format!(
            "{} sent a recovery code for {name} to an account of {name} on {}.",
            identity.person, account.channel
        ));
        return Ok(axum::Json(json!({ "name": name, "channel": account.channel })).into_response());
    }
    Err(ApiProblem::conflict(format!(
        "{name} has no linked account that can get a private message; run `countersign people \
         recover {name}` on the daemon's machine and give them the code"
    )))
}

/// Issues a code and sends it to this account; false if the channel has no private messages. The
/// code of a failed message is removed.
async fn deliver(api: &Api, account: &LinkedAccount, by: &str) -> Result<bool, ApiProblem> {
    let rules = api.gate.rules();
    let Ok(line) = api.channels.get(&rules, &account.channel) else { return Ok(false) };
    // A channel that only reaches a phone is no proof of who reads it.
    let linked = |answers: &&dyn ReplyReceiver| answers.assurance() >= Assurance::Linked;
    let Some(answers) = line.channel.reply_receiver().filter(linked) else { return Ok(false) };
    let Some(state) = api.recovery.parent() else { return Ok(false) };
    let name = &account.person;
    let failed = |error: std::io::Error| {
        ApiProblem::conflict(format!("the recovery code could not be stored: {error}"))
    };
    let now = api.gate.clock().now().at;
    let (code, until) = recovery::issue(state, name, false, now.0).map_err(failed)?;
    let text = format!(
        "Recovery code of {name}: {}\nIt gives a new passphrase on the sign-in page, once, until \
         {until}. {by} asked for it. If you did not agree to this with {by}, do not use the code \
         and tell your administrators.",
        *code
    );
    let Some(message) = answers.direct_message(&account.account, &text) else {
        recovery::remove(&api.recovery, name);
        return Ok(false);
    };
    let sent = message.await;
    line.record_result(sent.as_ref().err(), api.gate.clock().now().at);
    if let Err(error) = sent {
        recovery::remove(&api.recovery, name);
        return Err(ApiProblem::conflict(format!(
            "the message through {} failed: {}",
            account.channel, error.problem
        )));
    }
    Ok(true)
}

async fn record(
    api: &Api,
    account: &LinkedAccount,
    note: &countersign_store::WriteContext,
) -> Result<(), ApiProblem> {
    let mut entry = Entry::new(0, EntryKind::Person, note.policy);
    entry.person = Some(account.person.clone().into());
    entry.facts = crate::gate::owned_facts(note);
    let channel = Value::String(account.channel.clone().into());
    entry.facts.push(("channel".into(), channel));
    entry.facts.push(("what".into(), Value::String("recovery code sent".into())));
    entry.facts.sort_by(|one, other| one.0.cmp(&other.0));
    Ok(api.gate.store().append(vec![entry]).await?)
}
