//! On the page of a call that ran: whether it was right.

use countersign_store::CallFeedback;
use countersign_workflow::request::State;
use maud::{Markup, html};

use super::controls::shown;
use super::labels::relative_time;
use super::view::RequestView;

/// The question after a call ran, with the last answer.
pub fn question(view: &RequestView, said: Option<&CallFeedback>) -> Markup {
    let stored = &view.stored;
    let ran = stored.redeemed.is_some() || stored.outcome.is_some();
    let path = format!("/v1/requests/{}/feedback", stored.request.id);
    html! {
        @if stored.request.state == State::Approved && ran && !stored.request.requester.is_drill() {
            section.feedback {
                h2 { "Was that right?" }
                @if let Some(said) = said {
                    p.hint {
                        (shown(&said.person)) " said "
                        @if said.regretted { "no" } @else { "yes" }
                        ", " (relative_time(said.at, view.now)) "."
                    }
                }
                (answer(&path, "true", "It was right"))
                (answer(&path, "false", "It should not have run"))
                p.hint { "A call that should not have run is never suggested as a grant." }
            }
        }
    }
}

fn answer(path: &str, right: &str, label: &str) -> Markup {
    html! {
        form.api.line data-method="POST" data-path=(path) {
            input type="hidden" name="right" data-boolean="yes" value=(right);
            button type="submit" { (label) }
            p.wrong role="alert" {}
        }
    }
}
