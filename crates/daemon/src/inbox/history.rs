//! All requests with their results, and each request with its history.

use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, Uri};
use countersign_ledger::entry::{Entry, EntryKind};
use countersign_store::{RequestQuery, Store as _, StoreError};
use countersign_text::sanitize::sanitize_within;
use countersign_types::id::Id;
use countersign_types::time::Clock as _;
use countersign_workflow::request::State as RequestState;
use maud::{Markup, html};
use serde::Deserialize;

use super::controls::is_administrator;
use super::labels::{self, percent_encode, relative_time, shape};
use super::page::{ApiState, PageResult, signed_in_page};
use super::view::RequestView;
use super::{feedback, grant_forms, layout, ledger, no_script, pending};
use crate::api::ApiProblem;
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
pub struct HistoryQuery {
    q: Option<String>,
    agent: Option<String>,
    session: Option<String>,
    state: Option<String>,
    before: Option<String>,
}

/// The list, newest first.
pub async fn page(
    State(api): ApiState,
    headers: HeaderMap,
    uri: Uri,
    Query(search): Query<HistoryQuery>,
) -> PageResult {
    let identity = signed_in_page(&api, &headers, &uri)?;
    let some = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
    let (text, agent, state) = (some(&search.q), some(&search.agent), some(&search.state));
    let session = some(&search.session);
    let query = RequestQuery {
        state: state.as_deref().and_then(RequestState::parse),
        agent: agent.clone(),
        session: session.clone(),
        text: text.clone(),
        before: search.before.as_deref().and_then(Id::parse),
        limit: PAGE,
        ..RequestQuery::default()
    };
    let failed = |error: StoreError| layout::error_page(&error.into(), Some(&identity));
    let found = api.gate.store().find(query).await.map_err(failed)?;
    let now = api.gate.clock().now().at;
    let views = found.requests.iter().map(|one| RequestView::new(one.clone(), now));
    let views: Vec<RequestView> = views.collect();
    let filters = [("q", &text), ("agent", &agent), ("session", &session), ("state", &state)];
    let next = found.next.map(|id| older_page(id, filters));
    let body = html! {
        section.wide {
            h1 { "Activity" }
            (search_form(text.as_deref(), agent.as_deref(), state.as_deref(), session.as_deref()))
            @if let Some(session) = &session {
                p { "Only session " strong { (sanitize_within(session, 120).text) } ". "
                    a href="/history" { "All sessions" } }
            }
            ol.past { @for view in &views { (line(view)) } }
            @if let Some(next) = next {
                @if found.truncated {
                    p.hint role="status" {
                        (no_match_so_far(views.is_empty()))
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
    Ok(layout::page("Activity", layout::MenuItem::History, Some(&identity), &body))
}

/// The filters, filled in as they are now.
fn search_form(
    text: Option<&str>,
    agent: Option<&str>,
    state: Option<&str>,
    session: Option<&str>,
) -> Markup {
    html! {
        form.search method="get" action="/history" role="search" {
            input name="q" type="search" maxlength="200"
                placeholder="command, argument, tool, two words, session or id"
                aria-label="Search" value=[text];
            input name="agent" placeholder="agent" aria-label="Agent" value=[agent];
            select name="state" aria-label="How it ended" {
                @for (word, name) in STATES {
                    option value=(word) selected[state == Some(word)] { (name) }
                }
            }
            @if let Some(session) = session {
                input type="hidden" name="session" value=(session);
            }
            button type="submit" { "Search" }
        }
    }
}

/// The URL of the page with older requests and the same filters.
fn older_page(before: Id, filters: [(&str, &Option<String>); 4]) -> String {
    let rest = filters.map(|(name, value)| {
        value.as_deref().map_or(String::new(), |value| format!("&{name}={}", percent_encode(value)))
    });
    format!("/history?before={before}{}", rest.concat())
}

/// Shown only if every request was searched.
fn no_match(text: Option<&str>, older: bool) -> String {
    let which = if older { "No older requests match" } else { "No requests match" };
    match text {
        Some(text) => format!("{which} “{}”.", sanitize_within(text, 120).text),
        None => format!("{which}."),
    }
}

fn no_match_so_far(empty: bool) -> &'static str {
    if empty { "No match among the requests searched so far. " } else { "" }
}

fn line(view: &RequestView) -> Markup {
    let request = &view.stored.request;
    html! {
        li.(view.color_class()) {
            a href={ "/requests/" (request.id) } {
                span.shape aria-hidden="true" { (shape(request.tier)) }
                span.text {
                    span.what { (view.brief()) }
                    @if view.stored.edited.is_some() { span.edit { (edit(view)) } }
                    span.by {
                        @if view.is_known_drill() { strong { "a drill" } " · " }
                        (request.tier.label()) " · " (view.word_pair()) " · " (view.agent()) " · "
                        (relative_time(request.schedule.created, view.now))
                    }
                }
                span.end.(request.state.label()) { (labels::state_label(request.state)) }
            }
        }
    }
}

/// The edited call in one line.
fn edit(view: &RequestView) -> Markup {
    html! {
        @match super::edited::approved_card(&view.stored) {
            Some(card) => {
                strong { "Approved as edited" } ": " (card.tier.label()) " · "
                (sanitize_within(&card.brief, 400).text)
            }
            None => { strong { "Approved as edited" } ": the assessment was not recorded" }
        }
    }
}

/// One request and its history.
pub async fn one(
    State(api): ApiState,
    headers: HeaderMap,
    uri: Uri,
    Path(text): Path<String>,
) -> PageResult {
    let identity = signed_in_page(&api, &headers, &uri)?;
    let error_page = |problem: ApiProblem| layout::error_page(&problem, Some(&identity));
    let none = || error_page(ApiProblem::not_found("The request does not exist."));
    let id = Id::parse(&text).ok_or_else(none)?;
    let view = pending::one(&api, id, &identity).await.map_err(error_page)?.ok_or_else(none)?;
    let story =
        api.gate.store().request_history(id).await.map_err(|error| error_page(error.into()))?;
    // A person who decides must not see an opinion that is compared with the decision.
    let pending = view.is_pending();
    let story: Vec<_> =
        story.into_iter().filter(|told| !pending || !is_compared(&told.entry)).collect();
    let said = api.gate.store().feedback(id).await.map_err(|error| error_page(error.into()))?;
    let forms = grant_forms::approved_forms(&api, &view.stored).await;
    let forms = forms.map_err(|error| error_page(error.into()))?;
    let can_give = is_administrator(&identity);
    let body = html! {
        section.wide {
            (super::card::card(&view))
            (grant_forms::for_request(&view.stored, &forms, can_give, view.now))
            (feedback::question(&view, said.as_ref()))
            @if view.is_pending() { noscript { (no_script::form(id)) } }
            section.story {
                h2 { "What happened" }
                ol.entries {
                    @for told in &story {
                        @if view.stored.request.requester.is_drill() && view.is_pending() {
                            @let entry = drills::without_drill_marks(&told.entry, &view.agent());
                            (ledger::line(told.seq, &entry, view.now))
                        } @else { (ledger::line(told.seq, &told.entry, view.now)) }
                    }
                }
                dl.facts {
                    dt { "id" } dd { code { (view.stored.request.id) } }
                    dt { "digest" } dd { code { (view.stored.request.digest.canonical) } }
                    dt { "policy" } dd { code { (view.stored.policy) } }
                    @if let Some(used) = view.stored.redeemed {
                        dt { "permit" } dd { "used " (relative_time(used, view.now)) }
                    }
                }
            }
        }
    };
    Ok(layout::page(&view.brief(), layout::MenuItem::History, Some(&identity), &body))
}

/// Whether an entry is an opinion of the model judge that is compared with a person's decision.
fn is_compared(bytes: &[u8]) -> bool {
    let Ok(entry) = Entry::decode(bytes) else { return false };
    let facts = entry.facts.iter().find(|(name, _)| name == "judge");
    let compared = facts.and_then(|(_, facts)| facts.get("compared")?.as_bool());
    entry.kind == EntryKind::JudgeOpinion && compared == Some(true)
}
