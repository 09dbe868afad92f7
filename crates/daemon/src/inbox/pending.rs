//! Pending requests: the list by urgency, and the selected request.

use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, Uri};
use countersign_risk::verdict::Mode;
use countersign_store::{RequestQuery, Store as _, StoreError};
use countersign_types::id::Id;
use countersign_types::time::{Clock as _, Timestamp};
use maud::{Markup, html};
use serde::Deserialize;

use super::labels::shape;
use super::page::{ApiState, PageResult, signed_in, signed_in_page};
use super::view::RequestView;
use super::{controls, digests, layout, lost_projects, reviews, servers};
use crate::api::{Api, ApiProblem};
use crate::auth::PersonIdentity;
use crate::config::mode_name;
use crate::gate::CrisisContext;

/// The most requests in the list; with more, the list says so.
const MOST: usize = 1000;
/// How far back similar calls are counted, in milliseconds.
const MONTH: i64 = 30 * 86_400_000;

#[derive(Deserialize)]
pub struct InboxQuery {
    r: Option<String>,
}

/// The page.
pub async fn page(
    State(api): ApiState,
    headers: HeaderMap,
    uri: Uri,
    Query(chosen): Query<InboxQuery>,
) -> PageResult {
    let identity = signed_in_page(&api, &headers, &uri)?;
    let failed = |error: StoreError| layout::error_page(&error.into(), Some(&identity));
    let views = pending(&api).await.map_err(failed)?;
    let named = chosen.r.as_deref().and_then(Id::parse);
    let looked_at = named.or_else(|| views.first().map(|view| view.stored.request.id));
    let shown = match looked_at {
        Some(id) => {
            let found = one(&api, id, &identity).await;
            found.map_err(|problem| layout::error_page(&problem, Some(&identity)))?
        }
        None => None,
    };
    let servers = servers::notice(&api).await.map_err(failed)?;
    let reviews = reviews::notice(&api).await.map_err(failed)?;
    let body = html! {
        (alarms(&api)) (servers) (reviews)
        div.desk {
            aside.rail aria-label="Pending requests" {
                div.head {
                    h2 #count { (count(views.len())) }
                    a.quiet #review-all href="/review" hidden[views.is_empty()] {
                        "Review together"
                    }
                    button.quiet #deny-all type="button" hidden[views.is_empty()] { "Deny all" }
                }
                div #digests { (digests::cards(&api, &views)) }
                div.rows #rows { @for view in &views { (entry(view, looked_at)) } }
                p.keys {
                    kbd { "j" }
                    kbd { "k" }
                    " move  "
                    kbd { "a" }
                    " approve  "
                    kbd { "d" }
                    " deny  "
                    kbd { "?" }
                    " keys"
                }
            }
            section.pane #pane {
                @match &shown { Some(view) => (super::card::card(view)), None => (nothing()) }
            }
        }
    };
    Ok(layout::page("Inbox", layout::MenuItem::Pending, Some(&identity), &body))
}

/// What is wrong with the store, the mode and the agents' gates.
fn alarms(api: &Api) -> Markup {
    html! {
        @if let Some(fault) = api.gate.integrity().fault() {
            p.alarm role="alert" { (fault.to_string()) ". " a href="/ledger" { "Acknowledge" } }
        }
        (mode_notice(api))
        (settings_notice(api))
        (lost_projects::notice(api))
        @for alarm in api.proofs.alarms() { p.alarm role="alert" { (controls::shown(&alarm)) } }
    }
}

/// What people must know about the mode: that it blocks nothing, or that a weaker one waits.
fn mode_notice(api: &Api) -> Markup {
    let (mode, requested) = (api.gate.rules().mode, api.gate.requested_mode());
    html! {
        @if mode != Mode::Enforce {
            p.alarm role="alert" {
                "The mode is " (mode_name(mode))
                ": risky calls run without a question and are only recorded."
            }
        }
        @if let Some(asked) = requested {
            form.api.line.alarm data-method="POST" data-path="/v1/mode" {
                input type="hidden" name="mode" value=(mode_name(asked));
                span {
                    "The configuration asks for the mode " strong { (mode_name(asked)) }
                    ". It waits for confirmation; " (mode_name(mode)) " stays in force."
                }
                button type="submit" { "Confirm " (mode_name(asked)) }
                p.wrong role="alert" {}
            }
        }
    }
}

/// Settings of the file that let more calls run without a person, and wait.
fn settings_notice(api: &Api) -> Markup {
    html! {
        @if let Some(asked) = api.gate.requested_settings() {
            form.api.line.alarm data-method="POST" data-path="/v1/config" {
                input type="hidden" name="hash" value=(asked.hash());
                span {
                    "The configuration asks for settings that let more calls run without a person, "
                    "or protect the gate less: "
                    strong { (asked.changes.join("; ")) }
                    ". They wait for confirmation; the settings before stay in force."
                }
                button type="submit" { "Confirm these settings" }
                p.wrong role="alert" {}
            }
        }
    }
}

/// The list alone.
pub async fn rail(State(api): ApiState, headers: HeaderMap) -> PageResult {
    signed_in(&api, &headers)?;
    let views = pending(&api).await.map_err(ApiProblem::from)?;
    Ok(layout::part(html! { @for view in &views { (entry(view, None)) } }))
}

/// The digest cards alone.
pub async fn digest_cards(State(api): ApiState, headers: HeaderMap) -> PageResult {
    signed_in(&api, &headers)?;
    let views = pending(&api).await.map_err(ApiProblem::from)?;
    Ok(layout::part(digests::cards(&api, &views)))
}

/// The ids of all pending requests, one per line: a page that was disconnected compares its list
/// with them.
pub async fn ids(State(api): ApiState, headers: HeaderMap) -> PageResult {
    signed_in(&api, &headers)?;
    let due = api.gate.store().deadlines().await.map_err(ApiProblem::from)?;
    Ok(layout::part(html! { @for (id, _) in due.iter().take(MOST) { (id) "\n" } }))
}

/// One row of the list.
pub async fn row(State(api): ApiState, headers: HeaderMap, Path(text): Path<String>) -> PageResult {
    fragment(&api, &headers, &text, |view| entry(view, None)).await
}

/// One card.
pub async fn card(
    State(api): ApiState,
    headers: HeaderMap,
    Path(text): Path<String>,
) -> PageResult {
    fragment(&api, &headers, &text, super::card::card).await
}

async fn fragment(
    api: &Api,
    headers: &HeaderMap,
    text: &str,
    draw: impl Fn(&RequestView) -> Markup,
) -> PageResult {
    let identity = signed_in(api, headers)?;
    let none = || ApiProblem::not_found("request not found");
    let id = Id::parse(text).ok_or_else(none)?;
    let view = one(api, id, &identity).await?;
    Ok(layout::part(draw(&view.ok_or_else(none)?)))
}

/// A request by its id, for this person.
pub async fn one(
    api: &Api,
    id: Id,
    identity: &PersonIdentity,
) -> Result<Option<RequestView>, ApiProblem> {
    let Some(stored) = api.gate.store().request(id).await? else { return Ok(None) };
    let now = api.gate.clock().now().at;
    let agent = stored.request.requester.display_name().to_owned();
    let tool = (stored.tool.clone(), stored.request.tier);
    let since = Timestamp(now.0.saturating_sub(MONTH));
    let is_open = stored.request.crisis && !stored.request.state.has_ended();
    let crisis =
        is_open.then(|| CrisisContext::of_call(&api.gate, &agent, &stored.session)).flatten();
    let similar = api.gate.store().similar_calls(agent, tool, id, since).await?;
    let stopped_waiting_at = api.gate.stopped_waiting_at(id);
    Ok(Some(RequestView {
        similar: Some(similar),
        stopped_waiting_at,
        crisis,
        opinion: api.gate.judge().shown(&stored),
        may_grant: controls::is_administrator(identity),
        ..RequestView::new(stored, now)
    }))
}

/// All pending requests, the most urgent first, without their cards.
pub async fn pending(api: &Api) -> Result<Vec<RequestView>, StoreError> {
    let now = api.gate.clock().now().at;
    let (mut views, mut before) = (Vec::new(), None);
    while views.len() < MOST {
        let state = Some(countersign_workflow::request::State::Pending);
        let query = RequestQuery { state, before, limit: 500, ..RequestQuery::default() };
        let page = api.gate.store().find(query).await?;
        views
            .extend(page.requests.into_iter().map(|stored| RequestView::without_card(stored, now)));
        before = page.next;
        if before.is_none() {
            break;
        }
    }
    views.sort_by_key(|view| {
        (std::cmp::Reverse(view.rank()), view.stored.request.schedule.deadline)
    });
    Ok(views)
}

fn count(waiting: usize) -> String {
    match waiting {
        0 => "Nothing pending".to_owned(),
        number if number >= MOST => format!("{MOST} or more pending"),
        number => format!("{number} pending"),
    }
}

fn entry(view: &RequestView, looked_at: Option<Id>) -> Markup {
    let request = &view.stored.request;
    let current = looked_at == Some(request.id);
    html! {
        a.row.(view.color_class()).ended[!view.is_pending()] href={ "/?r=" (request.id) }
            data-id=(request.id)
            data-rank=(view.rank())
            data-deadline=(request.schedule.deadline.0) data-digest=(request.digest.canonical)
            aria-current=[current.then_some("true")] {
            span.shape aria-hidden="true" { (shape(request.tier)) }
            span.text {
                span.what { (view.brief()) }
                span.by {
                    span.tiername { (request.tier.label()) }
                    " · "
                    (view.word_pair())
                    " · "
                    (view.agent())
                    @if let Some(person) = view.edited_by() { " · edited by " (person) }
                }
            }
            span.left data-left=(view.remaining_ms()) data-whole=(view.total_ms()) { span.line {} }
        }
    }
}

fn nothing() -> Markup {
    html! {
        div.nothing {
            h1 { "Nothing is pending." }
            p { "A risky call of an agent appears here at once." }
        }
    }
}
