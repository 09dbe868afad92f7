//! Suggested grants for commands of one form, each with what it would also allow.

use countersign_store::{Store as _, StoreError, StoredRequest};
use countersign_text::sanitize::sanitize_within;
use countersign_types::id::Id;
use countersign_types::time::Timestamp;
use countersign_workflow::request::State;
use maud::{Markup, html};

use super::controls::shown;
use super::labels::relative_time;
use crate::api::Api;
use crate::gate::{FormSuggestion, ShapeProposal, shape_for};

/// How much of a command is shown.
const COMMAND: usize = 400;

/// The suggested forms, each with its shape and history.
pub async fn form_proposals(
    api: &Api,
    needed: u32,
) -> Result<Vec<(FormSuggestion, ShapeProposal)>, StoreError> {
    let mut found = Vec::new();
    for one in api.gate.form_suggestions(needed).await? {
        let stored = api.gate.store().request(one.request).await?;
        if let Some(shape) = stored.and_then(|stored| shape_for(&stored, &one.pattern).ok()) {
            let history = api.gate.shape_history(&shape).await?;
            found.push((one, ShapeProposal { shape, history }));
        }
    }
    Ok(found)
}

/// The list, empty if nothing is suggested.
pub fn list(forms: &[(FormSuggestion, ShapeProposal)], can_give: bool, now: Timestamp) -> Markup {
    html! {
        @if !forms.is_empty() {
            h2 { "Suggested: commands of one form" }
            p.hint {
                "People approved commands of this form every time. The grant covers a command only "
                "if it does no more than the approved ones: the same effects, hosts and tier."
            }
            ul.list { @for (one, proposal) in forms {
                li {
                    div {
                        strong { (text(&proposal.shape.words())) }
                        " " a href={ "/requests/" (one.request) } { "Show the request" }
                        p.hint {
                            (shown(&one.agent)) ", " (one.tier.label()) ", approved "
                            (one.approvals) " times in a row, last " (relative_time(one.last, now))
                        }
                        (also_allows(proposal, now))
                    }
                    @if can_give { (accept(one.request, &one.pattern, &one.agent)) }
                }
            } }
        }
    }
}

/// Calls of the past that the grant would cover; the denied ones first.
fn also_allows(proposal: &ShapeProposal, now: Timestamp) -> Markup {
    let history = &proposal.history;
    html! {
        @if history.denied > 0 {
            p.wrong role="alert" {
                "People denied " (history.denied) " calls that this would allow."
            }
        }
        details {
            summary { "This would also have allowed " (history.approved) " approved calls" }
            ul { @for example in &history.examples {
                li {
                    @if example.denied { strong { "Denied: " } }
                    code { (text(&example.command)) } " " (relative_time(example.at, now))
                }
            } }
        }
    }
}

/// The grants that can be given for a request that people approved.
pub async fn approved_forms(
    api: &Api,
    stored: &StoredRequest,
) -> Result<Vec<ShapeProposal>, StoreError> {
    if stored.request.state != State::Approved || stored.request.requester.is_drill() {
        return Ok(Vec::new());
    }
    api.gate.shape_proposals(stored).await
}

/// On the page of an approved request: grants for commands like it.
pub fn for_request(
    stored: &StoredRequest,
    forms: &[ShapeProposal],
    can_give: bool,
    now: Timestamp,
) -> Markup {
    let (request, agent) = (stored.request.id, stored.request.requester.name());
    html! {
        @if !forms.is_empty() {
            section.wide {
                h2 { "Allow commands like this" }
                ul.list { @for proposal in forms {
                    li {
                        div {
                            strong { (text(&proposal.shape.words())) }
                            (also_allows(proposal, now))
                        }
                        @if can_give && let Some(pattern) = proposal.shape.commands.first() {
                            (accept(request, &pattern.to_string(), agent))
                        }
                    }
                } }
            }
        }
    }
}

fn accept(request: Id, pattern: &str, agent: &str) -> Markup {
    html! {
        form.api.line data-method="POST" data-path="/v1/grants" {
            input type="hidden" name="shape" value="command";
            input type="hidden" name="request" value=(request);
            input type="hidden" name="pattern" value=(pattern);
            input type="hidden" name="agent" value=(agent);
            input type="hidden" name="minutes" data-number="yes" value="43200";
            button type="submit" { "Allow for 30 days" }
            p.wrong role="alert" {}
        }
    }
}

fn text(text: &str) -> String {
    sanitize_within(text, COMMAND).text.into_owned()
}
