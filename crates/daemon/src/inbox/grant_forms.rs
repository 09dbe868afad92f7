//! Suggested grants for commands of one form, each with what it would also allow.

use countersign_store::{Store as _, StoreError};
use countersign_text::sanitize::sanitize_within;
use countersign_types::time::Timestamp;
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
                    @if can_give { (accept(one)) }
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

fn accept(one: &FormSuggestion) -> Markup {
    html! {
        form.api.line data-method="POST" data-path="/v1/grants" {
            input type="hidden" name="shape" value="command";
            input type="hidden" name="request" value=(one.request);
            input type="hidden" name="pattern" value=(one.pattern);
            input type="hidden" name="agent" value=(one.agent);
            input type="hidden" name="minutes" data-number="yes" value="43200";
            button type="submit" { "Allow for 30 days" }
            p.wrong role="alert" {}
        }
    }
}

fn text(text: &str) -> String {
    sanitize_within(text, COMMAND).text.into_owned()
}
