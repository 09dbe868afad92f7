//! The form with which a person answers: time left, buttons, other answers, and the edited call.

use countersign_json::Value;
use countersign_risk::card::Card;
use countersign_risk::tools;
use countersign_text::sanitize::sanitize_within;
use countersign_types::tier::Tier;
use maud::{Markup, html};

use super::assessment::word_field;
use super::call::editable;
use super::controls::shown;
use super::labels::{self, relative_time, thousands};
use super::view::RequestView;

/// The time left, as a line that shrinks.
fn time_left(view: &RequestView) -> Markup {
    let request = &view.stored.request;
    html! {
        div.left data-left=(view.remaining_ms()) data-whole=(view.total_ms()) {
            span.line aria-hidden="true" {}
            p {
                "Denied " (relative_time(request.schedule.deadline, view.now))
                " without an answer. Escalated to: "
                (labels::escalation_step(request.level)) "."
                @if request.quorum.approve > 1 {
                    " " (view.approvals()) " of " (request.quorum.approve) " have approved."
                }
            }
            @if let Some(since) = view.stopped_waiting_at {
                p.unheard {
                    "The agent stopped waiting for this " (relative_time(since, view.now))
                    ". If it submits exactly the same call again soon, an approval lets that "
                    "run once."
                }
            }
        }
    }
}

/// The buttons. None is a link, and nothing works with a GET.
pub fn answer(view: &RequestView) -> Markup {
    let tier = view.stored.request.tier;
    let critical = tier == Tier::Critical;
    let needed = view.stored.request.needs_reason();
    let folded = view.card.as_ref().map_or(1, |card| card.folded);
    let approves = view.card.is_some();
    html! {
        form.answer #answer autocomplete="off" {
            (time_left(view))
            div.fields {
                label.reason {
                    @if needed { "Reason (required)" } @else { "Message to the agent (optional)" }
                    input name="reason" maxlength="500" data-needed=[needed.then_some("yes")];
                }
                @if tier == Tier::High && !needed && approves { (word_field(&view.word_pair())) }
            }
            @if critical {
                p.hint { "If you have a passkey, it signs exactly this call next." }
            }
            @if folded > 0 && approves {
                label.check {
                    input type="checkbox" name="unseen";
                    span {
                        "I accept that " (thousands(folded)) " bytes of the call are not shown."
                    }
                }
            }
            p.wrong role="alert" {}
            div.buttons {
                button.deny type="button" data-answer="deny" { "Deny" }
                @if approves {
                    button.approve type="button" data-answer="approve" {
                        @if critical { "Approve: " (button_label(&view.brief())) }
                        @else { "Approve once" }
                    }
                }
            }
            @if approves && view.stored.session_question.is_answerable() { (for_session(view)) }
            @let repository = view.stored.session_question.answerable_repository();
            @if let Some(folder) = repository.filter(|_| approves) {
                (for_repository(folder))
            }
        }
    }
}

/// The button that approves for the rest of the session, and what that covers.
fn for_session(view: &RequestView) -> Markup {
    let runs = tools::runs_programs(&view.stored.tool, &Value::Object(Vec::new()));
    let what = if runs { "The same command in this folder" } else { "The same call" };
    html! {
        div.for-session {
            button type="button" data-answer="approve" data-scope="session" {
                "Approve for this session"
            }
            span { (what) ", for this agent's session, up to 12 hours." }
        }
    }
}

/// The button that approves for the repository, and what that covers.
fn for_repository(folder: &str) -> Markup {
    html! {
        div.for-session {
            button type="button" data-answer="approve" data-scope="repository" {
                "Approve for this repository"
            }
            span {
                "This program, for this agent in every session in " (shown(folder))
                ", for 90 days. Whatever else a call does still asks."
            }
        }
    }
}

/// The label of the button of a CRITICAL call: the first part of its summary. A dot or a semicolon
/// inside a name ends nothing.
fn button_label(brief: &str) -> String {
    let brief = brief.strip_suffix('.').unwrap_or(brief);
    let end = brief.find("; ").or_else(|| brief.find(". ")).unwrap_or(brief.len()).min(60);
    let end = brief.floor_char_boundary(end);
    let (head, tail) = brief.split_at(end);
    if tail.is_empty() { head.to_owned() } else { format!("{head}…") }
}

/// Another answer, and what it also allows.
fn other_answer(label: &str, grant: Option<(&str, &str, Option<&str>)>, says: &Markup) -> Markup {
    let (shape, scope, minutes) = grant
        .map_or((None, None, None), |(shape, scope, minutes)| (Some(shape), Some(scope), minutes));
    let answer = if grant.is_some() { "approve" } else { "deny" };
    let words = grant.is_none().then_some("I'll do it myself.");
    html! {
        li {
            button type="button" data-answer=(answer) data-says=[words] data-shape=[shape]
                data-scope=[scope] data-minutes=[minutes] { (label) }
            span { (says) }
        }
    }
}

/// Other answers. Only administrators give grants.
pub fn other_answers(view: &RequestView) -> Markup {
    let request = &view.stored.request;
    let is_edit = view.original.is_some();
    let grants = view.may_grant && !request.crisis && request.tier < Tier::Critical && !is_edit;
    let by_name = grants && request.tier < Tier::High;
    let (agent, tool) = (view.agent(), sanitize_within(&view.stored.tool, 80).text);
    let take_over = html! { "Denies, and tells the agent that you will do it." };
    let hour = html! { "Also approves exactly this call by " (agent) " for an hour." };
    let all = html! {
        "Every " code { (tool) } " call by " (agent)
        " below HIGH, with any arguments, for an hour."
    };
    html! {
        details.more {
            summary { "Other answers" }
            ul.choices {
                (other_answer("Deny, I'll do it myself", None, &take_over))
                @if grants {
                    @let grant = Some(("exact", "until", Some("60")));
                    (other_answer("Approve for an hour", grant, &hour))
                }
                @if by_name {
                    @let grant = Some(("action", "until", Some("60")));
                    (other_answer("Approve all calls of this tool", grant, &all))
                }
            }
            (edit_form(view))
        }
    }
}

/// The form to edit the arguments; not if a part of them is hidden.
fn edit_form(view: &RequestView) -> Markup {
    let whole = |card: &&Card| card.hidden.is_empty() && card.folded == 0;
    let card = view.card.as_ref().filter(whole);
    let arguments = card.map(|card| editable(&card.arguments)).unwrap_or_default();
    html! {
        @if card.is_some() {
            details.edit {
                summary { "Edit, then approve" }
                textarea name="edited" rows="8" spellcheck="false" data-was=(arguments)
                    aria-label="The arguments, as JSON" { (arguments) }
                pre.difference hidden {}
                div.checked role="status" {}
                button type="button" data-edit="check" { "Check edit" }
                button type="button" data-edit="approve" hidden { "Approve the edited call" }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::button_label;

    #[test]
    fn the_button_names_the_whole_object() {
        let fetched = "Run script fetched from example.com; write notes.txt.";
        assert_eq!(button_label(fetched), "Run script fetched from example.com…");
        assert_eq!(
            button_label("Delete GitHub repository acme/shop.js."),
            "Delete GitHub repository acme/shop.js"
        );
        assert_eq!(button_label(&format!("Delete {}.", "x".repeat(80))).chars().count(), 61);
    }
}
