//! Sessions in which a person may be in crisis, and how a person resolves that.

use axum::extract::State;
use axum::http::{HeaderMap, Uri};
use countersign_store::CrisisSession;
use countersign_types::time::Clock as _;
use maud::{Markup, html};

use super::controls::shown;
use super::crisis_context;
use super::layout;
use super::page::{ApiState, PageResult, signed_in_page};
use crate::api::Api;
use crate::gate::CrisisContext;

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
                        (crisis_context::markup(&CrisisContext::of(&api.gate, crisis.clone()), now))
                    }
                    (take_over(&api, crisis))
                    (lift(crisis))
                }
            } }
        }
    };
    Ok(layout::page("Crises", layout::MenuItem::Crises, Some(&identity), &body))
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
