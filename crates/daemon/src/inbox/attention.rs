//! How people answer: how often, how fast, and where fewer questions would help.

use std::collections::BTreeMap;

use axum::extract::State;
use axum::http::{HeaderMap, Uri};
use countersign_store::{StoreError, StoredRequest};
use countersign_text::humanize::{duration, thousands};
use countersign_text::sanitize::sanitize_within;
use countersign_types::time::{Clock as _, Timestamp};
use countersign_workflow::request::Choice;
use maud::{Markup, html};

use super::answer_times::{AnswerTime, LONG, QUICK, seconds};
use super::page::{ApiState, PageResult, signed_in_page};
use super::{drills, layout, plot, settings};
use crate::recent::{Recent, recent};

/// How far back, in milliseconds, and how many requests at most.
const SPAN: i64 = 30 * 86_400_000;
const MOST: usize = 2_000;
/// This many questions within a minute are a flood.
const FLOOD: usize = 10;
/// From this many answers on, their share is meaningful.
const ENOUGH: usize = 20;

/// The page. Administrators see everyone, others only themselves.
pub async fn page(State(api): ApiState, headers: HeaderMap, uri: Uri) -> PageResult {
    let identity = signed_in_page(&api, &headers, &uri)?;
    let failed = |error: StoreError| layout::error_page(&error.into(), Some(&identity));
    let now = api.gate.clock().now().at;
    let since = Timestamp(now.0.saturating_sub(SPAN));
    let Recent { requests, mut drills, partial } =
        recent(api.gate.store(), since, MOST).await.map_err(failed)?;
    let mut people = answers(&requests);
    let administrator = identity.administrator().is_ok();
    if !administrator {
        people.retain(|name, _| *name == identity.person);
        drills.retain(|one| one.request.votes.iter().any(|vote| vote.person == identity.person));
    }
    // A pending drill must not be recognizable here either.
    drills.retain(|one| one.request.state.has_ended());
    let body = html! {
        section.wide {
            h1 { "Attention" }
            (settings::tabs("/attention"))
            p.hint {
                "Thirty days of answers. Questions should be few enough to be read; this page "
                "shows where they are too many."
                @if partial {
                    " Only the newest " (thousands(requests.len() as u64))
                    " requests are counted."
                }
            }
            (floods(&requests))
            @if people.is_empty() { p { "No answers yet." } }
            @for (name, answers) in &people { (person(name, answers)) }
            (drills::section(&api.gate.rules().drills, &drills, administrator, now))
        }
    };
    Ok(layout::page("Attention", layout::MenuItem::Settings, Some(&identity), &body))
}

fn answers(requests: &[StoredRequest]) -> BTreeMap<String, Vec<AnswerTime>> {
    let mut people = BTreeMap::<String, Vec<AnswerTime>>::new();
    for stored in requests.iter().filter(|stored| !stored.request.votes.is_empty()) {
        let card: serde_json::Value = serde_json::from_str(&stored.card).unwrap_or_default();
        let text = card.get("arguments").and_then(serde_json::Value::as_str).unwrap_or_default();
        for vote in &stored.request.votes {
            people.entry(vote.person.clone()).or_default().push(AnswerTime {
                request: stored.request.id,
                took: stored.request.schedule.created.until(vote.at).0,
                bytes: text.len() as u64,
                yes: vote.choice == Choice::Approve,
            });
        }
    }
    people
}

fn person(name: &str, answers: &[AnswerTime]) -> Markup {
    let hasty: Vec<&AnswerTime> = answers.iter().filter(|answer| answer.is_too_fast()).collect();
    html! {
        section.person {
            h2.part { (sanitize_within(name, 120).text) }
            ul.told { @for sentence in sentences(answers) { li { (sentence) } } }
            @if !hasty.is_empty() {
                p.hint {
                    "Worth a second look: "
                    @for (at, answer) in hasty.iter().take(5).enumerate() {
                        @if at > 0 { ", " }
                        a href={ "/requests/" (answer.request) } {
                            (thousands(answer.bytes)) " bytes in " (seconds(answer.took))
                        }
                    }
                    "."
                }
            }
            (plot::answers(answers, (LONG, QUICK)))
        }
    }
}

/// The findings in plain sentences.
fn sentences(answers: &[AnswerTime]) -> Vec<String> {
    let yes = answers.iter().filter(|answer| answer.yes).count();
    let no = answers.len().saturating_sub(yes);
    let share = yes.saturating_mul(100).checked_div(answers.len()).unwrap_or(0);
    let mut times: Vec<u64> = answers.iter().map(|answer| answer.took).collect();
    times.sort_unstable();
    let median = times.get(times.len() / 2).copied().unwrap_or(0);
    let hasty = answers.iter().filter(|answer| answer.is_too_fast()).count();
    let word = if answers.len() == 1 { "answer" } else { "answers" };
    let mut told = vec![
        format!("{} {word}: {yes} approved, {no} denied ({share} % approved).", answers.len()),
        format!("Half of them came within {}.", seconds(median)),
    ];
    if hasty > 0 {
        let texts =
            if hasty == 1 { "1 long text was" } else { &format!("{hasty} long texts were") };
        told.push(format!(
            "{texts} approved within {}, faster than anyone can read. If such calls are routine, \
             a grant for exactly that call avoids the question.",
            duration(QUICK / 1000)
        ));
    }
    if answers.len() >= ENOUGH && share >= 95 {
        told.push(
            "Nearly everything was approved. Calibration shows which questions could be avoided."
                .to_owned(),
        );
    }
    if hasty == 0 && (answers.len() < ENOUGH || share < 95) {
        told.push("Nothing here needs changing.".to_owned());
    }
    told
}

/// Minutes with more questions than anyone can read.
fn floods(requests: &[StoredRequest]) -> Markup {
    let mut minutes = BTreeMap::<i64, usize>::new();
    for stored in requests.iter().filter(|stored| asked_people(stored)) {
        *minutes.entry(stored.request.schedule.created.0.div_euclid(60_000)).or_default() += 1;
    }
    let floods = minutes.values().filter(|count| **count >= FLOOD).count();
    let most = minutes.values().max().copied().unwrap_or(0);
    html! {
        @if floods > 0 {
            p.note {
                "In " (floods) @if floods == 1 { " minute, " } @else { " minutes, " }
                (FLOOD) " or more questions came at once, " (most) " at most. "
                code { "flood.asks_per_minute" } " limits that; "
                a href="/review" { "reviewing together" } " helps when it happens."
            }
        }
    }
}

fn asked_people(stored: &StoredRequest) -> bool {
    use countersign_workflow::request::Decider::{Grant, Policy};
    let settled = stored.request.decision.as_ref().map(|decision| &decision.by);
    !matches!(settled, Some(Grant(_) | Policy))
}

#[cfg(test)]
mod tests {
    use countersign_types::id::Id;

    use super::*;

    fn answer(took: u64, bytes: u64, yes: bool) -> AnswerTime {
        AnswerTime { request: Id::from_bytes([7; 16]), took, bytes, yes }
    }

    #[test]
    fn sentences_report_only_what_applies() {
        let calm = sentences(&[answer(8_000, 60, true), answer(90_000, 900, false)]);
        assert_eq!(calm[0], "2 answers: 1 approved, 1 denied (50 % approved).");
        assert_eq!(calm[1], "Half of them came within 90 s.");
        assert_eq!(calm[2], "Nothing here needs changing.");
        // A quick denial, and a quick approval of a short text, are not reported.
        let quick = [answer(900, 900, false), answer(900, 60, true)];
        assert!(!sentences(&quick).concat().contains("sooner"));
        let hasty = sentences(&[answer(900, 900, true), answer(QUICK, 900, true)]).concat();
        assert!(hasty.contains("1 long text was approved within 2 s"), "{hasty}");
        let all = vec![answer(20_000, 60, true); ENOUGH];
        assert!(sentences(&all).concat().contains("Nearly everything was approved"));
    }
}
