//! Sessions of agents: their requests, and where a person may be in crisis.

use std::collections::HashMap;

use axum::extract::State;
use axum::http::{HeaderMap, Uri};
use countersign_store::{CrisisSession, StoreError, StoredRequest};
use countersign_text::sanitize::sanitize_within;
use countersign_types::time::{Clock as _, Timestamp};
use countersign_workflow::request::State as RequestState;
use maud::{Markup, html};

use super::labels::{percent_encode, relative_time, thousands};
use super::page::{ApiState, PageResult, signed_in_page};
use super::{crises, crisis_context, layout};
use crate::recent::{Recent, recent};

/// How far back, in milliseconds, and how many requests at most.
const SPAN: i64 = 30 * 86_400_000;
const MOST: usize = 2_000;
/// The most sessions that are listed.
const LISTED: usize = 200;

/// One session and its requests.
#[derive(Debug, Default)]
struct Session {
    agent: String,
    name: String,
    newest: Option<Timestamp>,
    waits: u64,
    approved: u64,
    denied: u64,
    other: u64,
    crisis: Option<CrisisSession>,
}

/// The page.
pub async fn page(State(api): ApiState, headers: HeaderMap, uri: Uri) -> PageResult {
    let identity = signed_in_page(&api, &headers, &uri)?;
    let failed = |error: StoreError| layout::error_page(&error.into(), Some(&identity));
    let now = api.gate.clock().now().at;
    let since = Timestamp(now.0.saturating_sub(SPAN));
    let Recent { requests, partial, .. } =
        recent(api.gate.store(), since, MOST).await.map_err(failed)?;
    let list = sessions(&requests, &api.gate.crises().list());
    let body = html! {
        section.wide {
            h1 { "Sessions" }
            p.hint {
                "Sessions with requests in 30 days, the newest first. An agent names its "
                "sessions itself."
                @if partial {
                    " Only the newest " (thousands(requests.len() as u64))
                    " requests are counted."
                }
            }
            @if list.is_empty() { p { "No requests yet." } }
            ul.list { @for one in list.iter().take(LISTED) { (line(one, now)) } }
            @if list.len() > LISTED {
                p.hint { "and " (list.len().saturating_sub(LISTED)) " older ones" }
            }
        }
    };
    Ok(layout::page("Sessions", layout::MenuItem::Sessions, Some(&identity), &body))
}

/// Sessions in a crisis first, then the newest.
fn sessions(requests: &[StoredRequest], crises: &[CrisisSession]) -> Vec<Session> {
    let mut found = HashMap::<(&str, &str), Session>::new();
    for stored in requests {
        let request = &stored.request;
        let key = (request.requester.name(), stored.session.as_str());
        let session = found.entry(key).or_default();
        session.newest = session.newest.max(Some(request.schedule.created));
        *match request.state {
            RequestState::Pending => &mut session.waits,
            RequestState::Approved => &mut session.approved,
            RequestState::Denied => &mut session.denied,
            RequestState::Expired | RequestState::Cancelled => &mut session.other,
        } += 1;
    }
    for crisis in crises {
        let key = (crisis.agent.as_str(), crisis.session.as_str());
        found.entry(key).or_default().crisis = Some(crisis.clone());
    }
    let named = |((agent, name), session): ((&str, &str), Session)| Session {
        agent: agent.to_owned(),
        name: name.to_owned(),
        ..session
    };
    let mut list: Vec<Session> = found.into_iter().map(named).collect();
    list.sort_by_key(|one| {
        let calm = one.crisis.is_none();
        (calm, std::cmp::Reverse(one.newest), one.agent.clone(), one.name.clone())
    });
    list
}

fn line(session: &Session, now: Timestamp) -> Markup {
    let name = if session.name.is_empty() { "no session name" } else { &session.name };
    let place = format!(
        "/history?agent={}&session={}",
        percent_encode(&session.agent),
        percent_encode(&session.name)
    );
    html! {
        li.crisis[session.crisis.is_some()] {
            div {
                @if session.newest.is_some() && !session.name.is_empty() {
                    a.session href=(place) { strong { (sanitize_within(name, 120).text) } }
                } @else { strong.session.faint { (sanitize_within(name, 120).text) } }
                p.hint {
                    (sanitize_within(&session.agent, 120).text)
                    @if let Some(newest) = session.newest { ", " (relative_time(newest, now)) }
                }
                p.counts {
                    @for (count, word, class) in [
                        (session.waits, "pending", "waits"),
                        (session.approved, "approved", "approved"),
                        (session.denied, "denied", "denied"),
                        (session.other, "not answered", "other"),
                    ] {
                        @if count > 0 { span.end.(class) { (thousands(count)) " " (word) } " " }
                    }
                }
            }
            @if let Some(crisis) = &session.crisis {
                div.held {
                    p {
                        strong { "A person may be in crisis:" } " "
                        (crisis_context::level(crisis, now))
                        ". Every outbound or irreversible call waits for a person."
                    }
                    (crises::lift(crisis))
                }
            }
        }
    }
}
