//! Channels: their state, a test message, and the accounts that people linked.

use axum::Router;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::IntoResponse as _;
use axum::routing::{delete, get, post};
use countersign_channels::Announcement;
use countersign_store::{Role, Store as _};
use countersign_types::time::Clock as _;
use countersign_workflow::request::EscalationLevel;
use serde_json::{Value, json};

use crate::api::{Api, ApiProblem, ApiResult, StepUpProof, authenticate};
use crate::gate::Rejection;

/// The text of a test message.
const TEST: &str = "This is a test message. Requests for approval arrive here.";

/// The routes of the people API.
pub fn people() -> Router<Api> {
    Router::new()
        .route("/v1/channels", get(list))
        .route("/v1/channels/{name}/test", post(send_test))
        .route("/v1/channels/{name}/link", post(link))
        .route("/v1/accounts", get(accounts))
        .route("/v1/accounts/{channel}/{account}", delete(unlink))
}

async fn list(State(api): State<Api>, headers: HeaderMap) -> ApiResult {
    authenticate::person(&api, &headers)?;
    let rules = api.gate.rules();
    let names = rules.channels.keys();
    let channels: Vec<Value> = names.filter_map(|name| document(&api, name)).collect();
    Ok(axum::Json(json!({ "channels": channels })).into_response())
}

/// A channel as people see it.
pub fn document(api: &Api, name: &str) -> Option<Value> {
    let rules = api.gate.rules();
    let channel_config = rules.channels.get(name)?;
    let levels: Vec<&str> = rules
        .escalation
        .iter()
        .zip(EscalationLevel::ALL)
        .filter(|(channels, _)| channels.iter().any(|channel| channel == name))
        .map(|(_, level)| level.label())
        .collect();
    let line = api.channels.get(&rules, name);
    let health = line.as_ref().map(|line| line.health()).unwrap_or_default();
    let problem = match (&line, &health.failed) {
        (Err(error), _) => Some(error.problem.clone()),
        (Ok(_), Some((_, problem))) => Some(problem.clone()),
        (Ok(_), None) => None,
    };
    let tapped = line.as_ref().ok().and_then(|line| line.test_buttons.last_tap());
    let assurance = line.as_ref().ok().and_then(|line| {
        line.channel.reply_receiver().map(countersign_channels::ReplyReceiver::assurance)
    });
    Some(json!({
        "name": name,
        "kind": channel_config.settings.kind(),
        "levels": levels,
        "max_tier": channel_config.limits.max_tier,
        "approves": assurance.map(|_| channel_config.limits.approves),
        "assurance": assurance,
        "details": channel_config.limits.details,
        "per_minute": channel_config.limits.per_minute,
        "told": health.told,
        "failed": health.failed.map(|(at, _)| at),
        "problem": problem,
        "tapped": tapped.map(|tapped| json!({ "at": tapped.at, "by": tapped.by })),
    }))
}

/// Sends one test message now and returns whether that worked.
async fn send_test(
    State(api): State<Api>,
    Path(name): Path<String>,
    headers: HeaderMap,
) -> ApiResult {
    authenticate::administrator(&api, &headers)?;
    let rules = api.gate.rules();
    if !rules.channels.contains_key(&name) {
        return Err(not_found());
    }
    let now = api.gate.clock().now().at;
    let mut notice = Announcement::notice(TEST.to_owned(), now, rules.inbox.clone());
    let sent = match api.channels.get(&rules, &name) {
        Ok(line) => {
            if line
                .channel
                .reply_receiver()
                .is_some_and(countersign_channels::ReplyReceiver::supports_test_button)
            {
                let button = line
                    .test_buttons
                    .offer(now)
                    .map_err(|_| ApiProblem::from(Rejection::EntropyUnavailable))?;
                notice.works = Some(button);
            }
            let sent = line.channel.announce(&notice).await;
            line.record_result(sent.as_ref().err(), api.gate.clock().now().at);
            sent
        }
        Err(error) => Err(error),
    };
    let body = match sent {
        Ok(_) => json!({ "sent": true, "problem": null, "taps": notice.works.is_some() }),
        Err(error) => json!({ "sent": false, "problem": error.problem, "taps": false }),
    };
    Ok(axum::Json(body).into_response())
}

/// A code with which the caller links their account.
async fn link(
    State(api): State<Api>,
    Path(name): Path<String>,
    _proven: StepUpProof,
    headers: HeaderMap,
) -> ApiResult {
    let identity = authenticate::person(&api, &headers)?;
    let rules = api.gate.rules();
    if !rules.channels.contains_key(&name) {
        return Err(not_found());
    }
    let line =
        api.channels.get(&rules, &name).map_err(|error| ApiProblem::conflict(error.problem))?;
    let Some(answers) = line.channel.reply_receiver() else {
        return Err(ApiProblem::conflict("this channel does not support answers"));
    };
    if let Some(person) = answers.person() {
        let whose = format!(
            "answers in this channel count as {person}, as configured; accounts cannot be linked"
        );
        return Err(ApiProblem::conflict(whose));
    }
    let now = api.gate.clock().now().at;
    let (code, until) = api
        .inbound()
        .link_codes
        .issue(&name, &identity.person, now)
        .map_err(|_| ApiProblem::from(Rejection::EntropyUnavailable))?;
    let say = format!("{} {code}", answers.command_text("link"));
    let open = answers.link_url(&code);
    let body = json!({ "channel": name, "code": code, "say": say, "open": open, "expires": until });
    Ok((StatusCode::CREATED, axum::Json(body)).into_response())
}

/// The caller's own accounts; an administrator sees all.
async fn accounts(State(api): State<Api>, headers: HeaderMap) -> ApiResult {
    let identity = authenticate::person(&api, &headers)?;
    let accounts = api.gate.store().accounts().await?;
    let all = identity.role == Role::Administrator;
    let list: Vec<Value> = accounts
        .iter()
        .filter(|account| all || account.person == identity.person)
        .map(|account| {
            json!({
                "channel": account.channel, "account": account.account,
                "person": account.person, "called": account.called, "linked": account.linked,
                "active_from": account.active_from,
            })
        })
        .collect();
    Ok(axum::Json(json!({ "accounts": list })).into_response())
}

async fn unlink(
    State(api): State<Api>,
    Path((channel, account)): Path<(String, String)>,
    proven: StepUpProof,
    headers: HeaderMap,
) -> ApiResult {
    let identity = authenticate::person(&api, &headers)?;
    let accounts = api.gate.store().accounts().await?;
    let found = accounts.into_iter().find(|known| {
        let may = identity.role == Role::Administrator || known.person == identity.person;
        may && known.channel == channel && known.account == account
    });
    let mut found = found.ok_or_else(|| ApiProblem::not_found("account not found"))?;
    let at = api.gate.clock().now().at;
    found.ended = Some(at);
    api.directory.remove_account(&channel, &account);
    api.gate.store().save_account(found, proven.note(&api, &identity.person)).await?;
    api.directory.reload(api.gate.store()).await?;
    let body = json!({ "channel": channel, "account": account, "ended": at });
    Ok(axum::Json(body).into_response())
}

fn not_found() -> ApiProblem {
    ApiProblem::not_found("channel not found")
}
