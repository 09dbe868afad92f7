//! Channels: how each one does, a test through it, and the accounts that people linked.

use axum::Router;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::IntoResponse as _;
use axum::routing::{delete, get, post};
use countersign_channels::Announcement;
use countersign_store::{Role, Store as _};
use countersign_types::time::Clock as _;
use countersign_workflow::request::Rung;
use serde_json::{Value, json};

use crate::api::{Answered, Api, Problem, SteppedUp, who};
use crate::gate::Rejection;

/// What a test says.
const TEST: &str = "This is a test. Risky calls are asked about here.";

/// What people may do.
pub fn people() -> Router<Api> {
    Router::new()
        .route("/v1/channels", get(list))
        .route("/v1/channels/{name}/test", post(test))
        .route("/v1/channels/{name}/link", post(link))
        .route("/v1/accounts", get(accounts))
        .route("/v1/accounts/{channel}/{account}", delete(unlink))
}

async fn list(State(api): State<Api>, headers: HeaderMap) -> Answered {
    who::person(&api, &headers)?;
    let rules = api.gate.rules();
    let names = rules.channels.keys();
    let channels: Vec<Value> = names.filter_map(|name| document(&api, name)).collect();
    Ok(axum::Json(json!({ "channels": channels })).into_response())
}

/// A channel as people see it.
pub fn document(api: &Api, name: &str) -> Option<Value> {
    let rules = api.gate.rules();
    let set_up = rules.channels.get(name)?;
    let rungs: Vec<&str> = rules
        .ladder
        .iter()
        .zip(Rung::ALL)
        .filter(|(channels, _)| channels.iter().any(|channel| channel == name))
        .map(|(_, rung)| rung.label())
        .collect();
    let line = api.lines.get(&rules, name);
    let health = line.as_ref().map(|line| line.health()).unwrap_or_default();
    let problem = match (&line, &health.failed) {
        (Err(error), _) => Some(error.problem.clone()),
        (Ok(_), Some((_, problem))) => Some(problem.clone()),
        (Ok(_), None) => None,
    };
    let tapped = line.as_ref().ok().and_then(|line| line.tries.tapped());
    let assurance = line.as_ref().ok().and_then(|line| {
        line.channel.reply_receiver().map(countersign_channels::ReplyReceiver::assurance)
    });
    Some(json!({
        "name": name,
        "kind": set_up.settings.kind(),
        "rungs": rungs,
        "most": set_up.limits.max_tier,
        "approves": assurance.map(|_| set_up.limits.approves),
        "assurance": assurance,
        "details": set_up.limits.details,
        "per_minute": set_up.limits.per_minute,
        "told": health.told,
        "failed": health.failed.map(|(at, _)| at),
        "problem": problem,
        "tapped": tapped.map(|tapped| json!({ "at": tapped.at, "by": tapped.by })),
    }))
}

/// One message through the channel, now: whether it works is the answer.
async fn test(State(api): State<Api>, Path(name): Path<String>, headers: HeaderMap) -> Answered {
    who::administrator(&api, &headers)?;
    let rules = api.gate.rules();
    if !rules.channels.contains_key(&name) {
        return Err(no_such());
    }
    let now = api.gate.clock().now().at;
    let mut notice = Announcement::notice(TEST.to_owned(), now, rules.inbox.clone());
    let sent = match api.lines.get(&rules, &name) {
        Ok(line) => {
            if line
                .channel
                .reply_receiver()
                .is_some_and(countersign_channels::ReplyReceiver::supports_test_button)
            {
                let button =
                    line.tries.offer(now).map_err(|_| Problem::from(Rejection::NoChance))?;
                notice.works = Some(button);
            }
            let sent = line.channel.announce(&notice).await;
            line.went(sent.as_ref().err(), api.gate.clock().now().at);
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

/// A code with which the person who asks links their account.
async fn link(
    State(api): State<Api>,
    Path(name): Path<String>,
    _proven: SteppedUp,
    headers: HeaderMap,
) -> Answered {
    let who = who::person(&api, &headers)?;
    let rules = api.gate.rules();
    if !rules.channels.contains_key(&name) {
        return Err(no_such());
    }
    let line = api.lines.get(&rules, &name).map_err(|error| Problem::conflict(error.problem))?;
    let Some(answers) = line.channel.reply_receiver() else {
        return Err(Problem::conflict("nobody can answer through this channel"));
    };
    if let Some(person) = answers.person() {
        let whose = format!("whoever answers here counts as {person}: the configuration says so");
        return Err(Problem::conflict(whose));
    }
    let now = api.gate.clock().now().at;
    let (code, until) =
        api.links.offer(&name, &who.person, now).map_err(|_| Problem::from(Rejection::NoChance))?;
    let say = format!("{} {code}", answers.command_text("link"));
    let open = answers.link_url(&code);
    let body = json!({ "channel": name, "code": code, "say": say, "open": open, "expires": until });
    Ok((StatusCode::CREATED, axum::Json(body)).into_response())
}

/// One's own accounts; an administrator sees everybody's.
async fn accounts(State(api): State<Api>, headers: HeaderMap) -> Answered {
    let who = who::person(&api, &headers)?;
    let accounts = api.gate.store().accounts().await?;
    let all = who.role == Role::Administrator;
    let list: Vec<Value> = accounts
        .iter()
        .filter(|account| all || account.person == who.person)
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
    proven: SteppedUp,
    headers: HeaderMap,
) -> Answered {
    let who = who::person(&api, &headers)?;
    let accounts = api.gate.store().accounts().await?;
    let found = accounts.into_iter().find(|known| {
        let may = who.role == Role::Administrator || known.person == who.person;
        may && known.channel == channel && known.account == account
    });
    let mut found = found.ok_or_else(|| Problem::not_found("there is no such account"))?;
    let at = api.gate.clock().now().at;
    found.ended = Some(at);
    api.book.strike_account(&channel, &account);
    api.gate.store().save_account(found, proven.note(&api, &who.person)).await?;
    api.book.read(api.gate.store()).await?;
    let body = json!({ "channel": channel, "account": account, "ended": at });
    Ok(axum::Json(body).into_response())
}

fn no_such() -> Problem {
    Problem::not_found("there is no such channel")
}
