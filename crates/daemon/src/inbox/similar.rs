//! On the card: results of similar calls, and which grant would have covered this one.

use countersign_store::{SimilarCalls, StoredRequest};
use countersign_text::sanitize::sanitize_within;
use countersign_types::tier::Tier;
use maud::{Markup, html};

use super::labels::{self, relative_time, thousands};
use super::view::RequestView;

/// Both, if known.
pub fn similar_calls(view: &RequestView) -> Markup {
    html! {
        section.earlier aria-label="Similar calls" {
            @if let Some(similar) = &view.similar { (before(view, similar)) }
            p.hint { (covered(view)) }
        }
    }
}

fn before(view: &RequestView, similar: &SimilarCalls) -> Markup {
    let tool = sanitize_within(&view.stored.tool, 80).text;
    let tier = view.stored.request.tier.label();
    html! {
        @if similar.newest.is_empty() {
            p.hint {
                (view.agent()) " has not submitted a " (tier) " " code { (tool) } " call before."
            }
        } @else {
            details {
                summary {
                    (tier) " " code { (tool) } " calls by " (view.agent()) " in 30 days: "
                    (counts(similar))
                }
                ul { @for one in &similar.newest { (line(one, view)) } }
            }
        }
    }
}

fn counts(similar: &SimilarCalls) -> String {
    let parts = [
        (similar.approved, "approved"),
        (similar.denied, "denied"),
        (similar.expired, "not answered"),
    ];
    let told = parts.into_iter().filter(|(count, _)| *count > 0);
    let told = told.map(|(count, word)| format!("{} {word}", thousands(count.into())));
    let told = told.collect::<Vec<_>>().join(", ");
    if told.is_empty() { "no answers by people".to_owned() } else { told }
}

fn line(stored: &StoredRequest, view: &RequestView) -> Markup {
    let request = &stored.request;
    let same = request.digest.canonical == view.stored.request.digest.canonical;
    html! {
        li {
            span.end.(request.state.label()) { (labels::state_label(request.state)) }
            a href={ "/requests/" (request.id) } { (sanitize_within(&stored.brief, 160).text) }
            span.faint {
                @if same { "the same call, " }
                (relative_time(request.schedule.created, view.now))
            }
        }
    }
}

/// Which grant would have covered the call.
fn covered(view: &RequestView) -> Markup {
    let request = &view.stored.request;
    let tool = sanitize_within(&view.stored.tool, 80).text;
    let within =
        if view.session().is_some() { "in this session or until a time" } else { "until a time" };
    html! {
        @if request.crisis {
            "No grant covers a call in a crisis."
        }
        @else if request.tier == Tier::Critical {
            "No grant covers a CRITICAL call."
        } @else if request.tier == Tier::High {
            "A grant for exactly this call (" (within) ") would have let it pass. One for every "
            code { (tool) } " call would not: this one is HIGH."
        } @else {
            "A grant would have let it pass: for exactly this call, or for every " code { (tool) }
            " call by " (view.agent()) " below HIGH, " (within) "."
        }
    }
}
