//! What was asked, by whom, and how it ended; each request with its whole story.

use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, Uri};
use countersign_store::{RequestQuery, Store as _, StoreError};
use countersign_text::sanitize::show_within;
use countersign_types::id::Id;
use countersign_types::time::Clock as _;
use countersign_workflow::request::State as Stands;
use maud::{Markup, html};
use serde::Deserialize;

use super::view::View;
use super::words::{self, apart, encoded, shape};
use super::{House, Shown, frame, ledger, plain, visitor, waiting};
use crate::api::Problem;
use crate::drills;

const PAGE: u32 = 50;
const STATES: [(&str, &str); 5] = [
    ("", "any state"),
    ("approved", "approved"),
    ("denied", "denied"),
    ("expired", "expired"),
    ("cancelled", "cancelled"),
];

#[derive(Deserialize)]
pub struct Search {
    q: Option<String>,
    agent: Option<String>,
    session: Option<String>,
    state: Option<String>,
    before: Option<String>,
}

/// The list, newest first.
pub async fn page(
    State(api): House,
    headers: HeaderMap,
    uri: Uri,
    Query(search): Query<Search>,
) -> Shown {
    let who = visitor(&api, &headers, &uri)?;
    let some = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
    let (text, agent, state) = (some(&search.q), some(&search.agent), some(&search.state));
    let session = some(&search.session);
    let query = RequestQuery {
        state: state.as_deref().and_then(Stands::parse),
        agent: agent.clone(),
        session: session.clone(),
        text: text.clone(),
        before: search.before.as_deref().and_then(Id::parse),
        limit: PAGE,
        ..RequestQuery::default()
    };
    let found = api.gate.store().find(query).await;
    let found = found.map_err(|error: StoreError| frame::sorry(&error.into(), Some(&who)))?;
    let now = api.gate.clock().now().at;
    let views = found.requests.iter().map(|one| View::new(one.clone(), now));
    let views: Vec<View> = views.collect();
    let filters = [("q", &text), ("agent", &agent), ("session", &session), ("state", &state)];
    let next = found.next.map(|id| older_page(id, filters));
    let body = html! {
        section.wide {
            h1 { "History" }
            form.search method="get" action="/history" role="search" {
                input name="q" type="search" maxlength="200"
                    placeholder="command, argument, tool, two words, session or id"
                    aria-label="Search" value=[text.as_deref()];
                input name="agent" placeholder="agent" aria-label="Agent" value=[agent.as_deref()];
                select name="state" aria-label="How it ended" {
                    @for (word, name) in STATES {
                        option value=(word) selected[state.as_deref() == Some(word)] { (name) }
                    }
                }
                @if let Some(session) = &session {
                    input type="hidden" name="session" value=(session);
                }
                button type="submit" { "Search" }
            }
            @if let Some(session) = &session {
                p { "Only session " strong { (show_within(session, 120).text) } ". "
                    a href="/history" { "All sessions" } }
            }
            ol.past { @for view in &views { (line(view)) } }
            @if let Some(next) = next {
                @if found.truncated {
                    p.hint role="status" {
                        (none_yet(views.is_empty()))
                        "The search stopped at its limit; older requests were not searched."
                    }
                }
                @let older =
                    if found.truncated { "Search older requests" } else { "Older requests" };
                p { a href=(next) { (older) } }
            } @else if views.is_empty() {
                p.hint role="status" { (no_match(text.as_deref(), search.before.is_some())) }
            }
        }
    };
    Ok(frame::page("History", frame::Place::History, Some(&who), &body))
}

/// The address of the page of older requests, with the same filters.
fn older_page(before: Id, filters: [(&str, &Option<String>); 4]) -> String {
    let rest = filters.map(|(name, value)| {
        value.as_deref().map_or(String::new(), |value| format!("&{name}={}", encoded(value)))
    });
    format!("/history?before={before}{}", rest.concat())
}

/// Said only where every request was looked at.
fn no_match(text: Option<&str>, older: bool) -> String {
    let which = if older { "No older requests match" } else { "No requests match" };
    match text {
        Some(text) => format!("{which} “{}”.", show_within(text, 120).text),
        None => format!("{which}."),
    }
}

fn none_yet(empty: bool) -> &'static str {
    if empty { "No match among the requests searched so far. " } else { "" }
}

fn line(view: &View) -> Markup {
    let request = &view.stored.request;
    html! {
        li.(view.colour()) {
            a href={ "/requests/" (request.id) } {
                span.shape aria-hidden="true" { (shape(request.tier)) }
                span.text {
                    span.what { (view.brief()) }
                    @if view.stored.edited.is_some() { span.edit { (edit(view)) } }
                    span.by {
                        @if view.is_known_drill() { strong { "a drill" } " · " }
                        (request.tier.label()) " · " (view.words()) " · " (view.agent()) " · "
                        (apart(request.plan.created, view.now))
                    }
                }
                span.end.(request.state.label()) { (words::state(request.state)) }
            }
        }
    }
}

/// The edited call in one line.
fn edit(view: &View) -> Markup {
    html! {
        @match super::edited::card_of(&view.stored) {
            Some(card) => {
                strong { "Approved as edited" } ": " (card.tier.label()) " · "
                (show_within(&card.brief, 400).text)
            }
            None => { strong { "Approved as edited" } ": the assessment was not recorded" }
        }
    }
}

/// One request and its story.
pub async fn one(
    State(api): House,
    headers: HeaderMap,
    uri: Uri,
    Path(text): Path<String>,
) -> Shown {
    let who = visitor(&api, &headers, &uri)?;
    let sorry = |problem: Problem| frame::sorry(&problem, Some(&who));
    let none = || sorry(Problem::not_found("There is no such request."));
    let id = Id::parse(&text).ok_or_else(none)?;
    let view = waiting::one(&api, id).await.map_err(sorry)?.ok_or_else(none)?;
    let story = api.gate.store().request_history(id).await.map_err(|error| sorry(error.into()))?;
    let body = html! {
        section.wide {
            (super::card::card(&view))
            @if view.waits() { noscript { (plain::form(id)) } }
            section.story {
                h2 { "What happened" }
                ol.entries {
                    @for told in &story {
                        @if view.stored.request.requester.is_drill() && view.waits() {
                            @let entry = drills::as_any_other(&told.entry, &view.agent());
                            (ledger::line(told.seq, &entry, view.now))
                        } @else { (ledger::line(told.seq, &told.entry, view.now)) }
                    }
                }
                dl.facts {
                    dt { "id" } dd { code { (view.stored.request.id) } }
                    dt { "digest" } dd { code { (view.stored.request.digest.canonical) } }
                    dt { "policy" } dd { code { (view.stored.policy) } }
                    @if let Some(used) = view.stored.redeemed {
                        dt { "permit" } dd { "used " (apart(used, view.now)) }
                    }
                }
            }
        }
    };
    Ok(frame::page(&view.brief(), frame::Place::History, Some(&who), &body))
}
