//! The tasks that agents delegated to each other: the story of each from its request to its result.

use countersign_json::{self as json, Value};
use countersign_store::{RequestQuery, Store as _, StoreError};
use countersign_text::sanitize::sanitize_within;
use countersign_types::time::Clock as _;
use maud::{Markup, html};

use super::labels::{decision_text, percent_encode, relative_time, state_label};
use super::view::RequestView;
use crate::api::Api;

/// The tool of every delegated task.
const TOOL: &str = "delegate_task";
/// How the summary of a run begins that ended with a question to the sender.
const QUESTION: &str = "Asked its sender: ";
/// How the session of a delegated task begins; the sender follows.
const SESSION: &str = "a2a:";
/// How many tasks are shown, and how many of one peer.
const SHOWN: u32 = 30;
const OF_PEER: usize = 3;
/// How much of a task's text is shown, and of a result.
const TEXT: usize = 300;
const EXCERPT: usize = 1000;

/// The newest delegated tasks.
pub async fn newest(api: &Api) -> Result<Vec<RequestView>, StoreError> {
    let query = RequestQuery { text: Some(TOOL.to_owned()), limit: SHOWN, ..Default::default() };
    let found = api.gate.store().find(query).await?;
    let now = api.gate.clock().now().at;
    let tasks = found.requests.into_iter().filter(|stored| stored.tool == TOOL);
    Ok(tasks.map(|stored| RequestView::new(stored, now)).collect())
}

/// The text of a task as its card has it, without secrets.
fn text(view: &RequestView) -> String {
    let arguments = view.card.as_ref().and_then(|card| json::parse(&card.arguments).ok());
    let text = arguments.as_ref().and_then(|arguments| arguments.get("task")?.as_str());
    text.map_or_else(|| view.brief(), |text| sanitize_within(text, TEXT).text.into_owned())
}

/// The last tasks of a peer.
pub fn of_peer(agent: &str, tasks: &[RequestView]) -> Markup {
    let session = format!("{SESSION}{agent}");
    let own = || tasks.iter().filter(|task| task.stored.session == session);
    html! {
        @if own().next().is_some() {
            h3 { "Last tasks" }
            ul.last { @for task in own().take(OF_PEER) {
                @let request = &task.stored.request;
                li {
                    a href={ "#task-" (request.id) } { (text(task)) }
                    " " span.end.(request.state.label()) { (state_label(request.state)) }
                    span.hint { " " (relative_time(request.schedule.created, task.now)) }
                }
            } }
        }
    }
}

/// The stories of these tasks.
pub fn stories(tasks: &[RequestView]) -> Markup {
    html! {
        h2 { "Delegated tasks" }
        @if tasks.is_empty() {
            p.hint { "No task was delegated yet." }
        } @else {
            ul.list { @for task in tasks { (story(task)) } }
            p { a href={ "/history?q=" (percent_encode(TOOL)) } { "All delegated tasks" } }
        }
    }
}

fn story(view: &RequestView) -> Markup {
    let (stored, request) = (&view.stored, &view.stored.request);
    let decision = decision_text(request, stored.edited.is_some(), view.now);
    let outcome = stored.outcome.as_deref().and_then(|text| json::parse(text).ok());
    html! {
        li id={ "task-" (request.id) } {
            div {
                a href={ "/requests/" (request.id) } {
                    strong { (view.claim().unwrap_or_else(|| view.brief())) }
                }
                " " span.end.(request.state.label()) { (state_label(request.state)) }
                p { q { (text(view)) } }
                ol.entries {
                    li { "Received " (relative_time(request.schedule.created, view.now))
                        ", " (request.tier.label()) " (" (view.word_pair()) ")" }
                    @match decision {
                        Some(decision) => li { (capitalized(&decision)) },
                        None => li { "Waits for a person" },
                    }
                    @if let Some(at) = stored.redeemed {
                        li { "Started " (relative_time(at, view.now)) ", the permit was used" }
                    }
                    @if let Some(outcome) = &outcome { (result(outcome)) }
                }
            }
        }
    }
}

/// How the task ended, with the start of its result.
fn result(outcome: &Value<'_>) -> Markup {
    let word = |name: &str| outcome.get(name).and_then(Value::as_str);
    let took = outcome.get("duration_ms").and_then(|ms| ms.as_number()?.parse::<u64>().ok());
    let took = took.map(|ms| match ms {
        0..1000 => format!("{ms} ms"),
        _ => format!("{}.{} s", ms / 1000, ms % 1000 / 100),
    });
    let (is_ok, summary) = (word("status") == Some("ok"), word("summary"));
    // A node reports a run that ended with a question in these words.
    let question = summary.filter(|_| is_ok).and_then(|text| text.strip_prefix(QUESTION));
    let text = question.or(summary);
    html! {
        li {
            @if question.is_some() { "Asked its sender" }
            @else if is_ok { "Completed" } @else { "Failed" }
            @if let Some(took) = took { " after " (took) }
            @if let Some(text) = text {
                ": " q { (sanitize_within(text, EXCERPT).text) }
            }
            @if let Some(digest) = word("result_digest") {
                p.hint { "result " code { (digest) } }
            }
        }
    }
}

fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}
