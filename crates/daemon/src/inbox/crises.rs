//! Sessions in which a person may be in crisis, and how a person resolves that.

use axum::extract::State;
use axum::http::{HeaderMap, Uri};
use countersign_store::CrisisSession;
use countersign_types::time::{Clock as _, Timestamp};
use maud::{Markup, html};

use super::controls::shown;
use super::labels::relative_time;
use super::layout;
use super::page::{ApiState, PageResult, signed_in_page};
use crate::api::Api;

/// The page.
pub async fn page(State(api): ApiState, headers: HeaderMap, uri: Uri) -> PageResult {
    let identity = signed_in_page(&api, &headers, &uri)?;
    let now = api.gate.clock().now().at;
    let list = api.gate.crises().list();
    let body = html! {
        section.wide {
            h1 { "A person may be in crisis" }
            p.hint {
                "In these sessions every outbound or irreversible call waits for a person, "
                "whatever grants or modes allow. Help was shown at once. The last turns are in "
                "memory only, and go when you resolve the crisis."
            }
            @if list.is_empty() { p { "No session is in a crisis." } }
            ul.list { @for crisis in &list {
                li.crisis {
                    div {
                        strong {
                            (shown(&crisis.agent))
                            @if !crisis.session.is_empty() {
                                ", session "
                                (shown(&crisis.session))
                            }
                        }
                        p.hint { (signs(crisis, now)) }
                        (conversation(&api, crisis, now))
                    }
                    (take_over(&api, crisis))
                    (lift(crisis))
                }
            } }
        }
    };
    Ok(layout::page("Crises", layout::MenuItem::Crises, Some(&identity), &body))
}

/// The level of a crisis, and since when.
pub fn signs(crisis: &CrisisSession, now: Timestamp) -> Markup {
    html! {
        "level " (crisis.level) " of 6"
        @if crisis.imminent { ", danger may be imminent" }
        ", since " (relative_time(crisis.since, now))
    }
}

/// The last turns, and who has taken over.
fn conversation(api: &Api, crisis: &CrisisSession, now: Timestamp) -> Markup {
    let turns = api.gate.crisis_turns().turns(&crisis.agent, &crisis.session);
    let takeover = api.gate.crises().takeover(&crisis.agent, Some(&crisis.session));
    html! {
        @if let Some(takeover) = takeover {
            p { strong { (shown(&takeover.person)) " has taken over" }
                ", " (relative_time(takeover.at, now)) ". Nothing of the agent is sent." }
        }
        @if !turns.is_empty() {
            ol.turns { @for turn in &turns {
                li { strong { (turn.role) } ", " (relative_time(turn.at, now)) ": "
                    (shown(&turn.text)) }
            } }
        }
    }
}

/// The form with which a person takes over and writes to the user.
fn take_over(api: &Api, crisis: &CrisisSession) -> Markup {
    let taken = api.gate.crises().takeover(&crisis.agent, Some(&crisis.session)).is_some();
    html! {
        form.api data-method="POST" data-path="/v1/crises/take-over" {
            input type="hidden" name="agent" value=(crisis.agent);
            input type="hidden" name="session" value=(crisis.session);
            textarea name="message" rows="3" maxlength="4000"
                aria-label="Message to the user (optional)"
                placeholder="Message to the user (optional)" {}
            button type="submit" { @if taken { "Send" } @else { "Take over" } }
            p.wrong role="alert" {}
        }
    }
}

/// The form with which a person resolves a crisis, with a reason.
pub fn lift(crisis: &CrisisSession) -> Markup {
    html! {
        form.api.line data-method="POST" data-path="/v1/crises/lift" {
            input type="hidden" name="agent" value=(crisis.agent);
            input type="hidden" name="session" value=(crisis.session);
            input name="reason" required maxlength="500" placeholder="I spoke to them"
                aria-label="Reason (required)";
            button type="submit" { "Resolve" }
            p.wrong role="alert" {}
        }
    }
}
