//! A text of a person: help at once, and a crisis that stays until a person resolves it.

use std::time::Duration;

use countersign_crisis::{self as crisis, Concern, ScreenOptions, Screening};
use countersign_guard::{GuardFailure, GuardRole, GuardVerdict};
use countersign_risk::verdict::Mode;
use countersign_store::CrisisSession;
use countersign_types::span::Span;
use countersign_types::time::Clock as _;
use serde_json::{Value, json};

use super::guard_check::{self, GuardResult};
use super::screened_text::{ScreenedText, document};
use super::store_crisis::store_crisis;
use super::takeover;
use crate::api::{Api, ApiProblem};
use crate::gate::{Caller, ScreeningRecord, ShownCard};

/// The response waits at most 3 ms for the crisis to be stored; a timer may be up to 1 ms late.
const MAX_WAIT: Duration = Duration::from_millis(2);
/// How much longer than the guard's own time limit an answer waits for it.
const GUARD_GRACE: Duration = Duration::from_millis(300);
/// What is answered to an unsafe text.
const REFUSAL: &str = "I can't help with that. Is there another question that I can help with?";

/// Screens a text of a person. A guard that is not available changes nothing: the rules decide.
pub async fn screen(
    api: &Api,
    caller: &Caller,
    screened: &ScreenedText<'_>,
) -> Result<Value, ApiProblem> {
    let rules = api.gate.rules();
    let now = api.gate.clock().now().at;
    let minor = api.gate.concerns().note_age(&caller.agent, screened.session, screened.text);
    let options = ScreenOptions { minor, ..screened.options(&rules) };
    let own = crisis::screen(screened.text, &options);
    let together = api.gate.concerns().note(&caller.agent, screened.session, own.concern, now);
    let owed = api.gate.concerns().take_owed_card(&caller.agent, screened.session);
    let owed = if owed { Concern::Likely } else { Concern::None };
    let mut screening = crisis::raise(own, together.max(owed), &options);
    let guard = ask_guard(api, caller, screened, &screening).await;
    screening = crisis::raise(screening.clone(), with_guard(screening.concern, &guard), &options);
    if screening.crisis
        && let Some(writing) = begin(api, caller, screened.session, &screening)
    {
        // Help does not wait for a disk. Dropping the handle does not stop the write.
        let _ = tokio::time::timeout(MAX_WAIT, writing).await;
    }
    record(api, caller, screened.session, &screening);
    let in_crisis = api.gate.crises().holds(&caller.agent, Some(screened.session));
    if in_crisis {
        note_turn(api, caller, screened.session, (screened.text, &screening));
    }
    let recent = api.gate.concerns().of_session(&caller.agent, screened.session, now);
    let session_concern = if in_crisis { Concern::Likely } else { recent.max(screening.concern) };
    api.gate.note_user_words(&caller.agent, screened.session, screened.text, session_concern);
    let refused = guard.is_unsafe() && rules.mode == Mode::Enforce;
    let decision = match screening.concern {
        Concern::Likely | Concern::Possible => "help",
        Concern::None if refused => "replace",
        Concern::None => "pass",
    };
    let rest = json!({
        "role": "user",
        "guard": guard.document(),
        "session_concern": session_concern,
        "decision": decision,
        "replacement": (decision == "replace").then_some(REFUSAL),
        "request": null,
        "takeover": takeover::document(&api.gate, &caller.agent, screened.session),
        "notice": api.gate.unanswered_notice(&caller.agent, screened.session),
    });
    document(&screening, in_crisis, rest).map(Value::Object)
}

/// The words of a message that were signs: what rules matched, else what weighed most.
fn sign_words<'t>(screening: &Screening, text: &'t str) -> Vec<&'t str> {
    let by_rules = screening.signals.iter().take(3).map(|signal| signal.span);
    let weighed = screening.evidence.words.iter().take(3).copied();
    let found: Vec<Span> = if screening.by_rules { by_rules.collect() } else { weighed.collect() };
    let contains = |one: &Span, other: &Span| one.start <= other.start && other.end <= one.end;
    let in_longer = |span: &Span| found.iter().any(|one| one != span && contains(one, span));
    let part = |span: &Span| text.get(span.start as usize..span.end as usize);
    found.iter().filter(|span| !in_longer(span)).filter_map(part).collect()
}

/// The country whose helplines the card shows.
fn country(screening: &Screening) -> Option<&'static str> {
    screening.card.as_ref().and_then(|card| card.country)
}

/// The concern with the guard's verdict: only self-harm counts, it raises by one step, and it
/// never lowers.
fn with_guard(concern: Concern, guard: &GuardResult) -> Concern {
    match concern {
        Concern::None if guard.is_self_harm() => Concern::Possible,
        Concern::Possible if guard.is_self_harm() => Concern::Likely,
        concern => concern,
    }
}

/// Asks the guard in a task of its own. A check-in does not wait for it: a verdict that comes later
/// begins the crisis, and the whole card comes with the next answer.
async fn ask_guard(
    api: &Api,
    caller: &Caller,
    screened: &ScreenedText<'_>,
    screening: &Screening,
) -> GuardResult {
    let rules = api.gate.rules();
    let Some(guard) = api.guard.follow(rules.guard.as_ref()) else { return GuardResult::Off };
    let text = screened.text.to_owned();
    match screening.concern {
        Concern::Likely => GuardResult::Skipped,
        Concern::Possible => {
            let (api, caller) = (api.clone(), caller.clone());
            let (session, screening) = (screened.session.to_owned(), screening.clone());
            tokio::spawn(async move {
                let verdict = guard_check::check(&api.gate, &guard, GuardRole::User, &text).await;
                if verdict.is_self_harm() {
                    raise_later(&api, &caller, &session, (&text, &screening));
                }
            });
            GuardResult::Pending
        }
        Concern::None => {
            let wait = guard.settings().timeout + GUARD_GRACE;
            let gate = std::sync::Arc::clone(&api.gate);
            let checking = tokio::spawn(async move {
                guard_check::check(&gate, &guard, GuardRole::User, &text).await
            });
            let timed_out = GuardVerdict::Unavailable(GuardFailure::TimedOut);
            let verdict = tokio::time::timeout(wait, checking).await;
            GuardResult::Asked(verdict.ok().and_then(Result::ok).unwrap_or(timed_out))
        }
    }
}

/// Begins a crisis because of a message whose check-in was shown before the guard's verdict.
fn raise_later(api: &Api, caller: &Caller, session: &str, (text, screening): (&str, &Screening)) {
    begin_at(api, caller, session, 1, false);
    api.gate.concerns().owe_card(&caller.agent, session);
    note_turn(api, caller, session, (text, screening));
}

/// Keeps what people see of a message in a crisis.
fn note_turn(api: &Api, caller: &Caller, session: &str, (text, screening): (&str, &Screening)) {
    let (turns, now) = (api.gate.crisis_turns(), api.gate.clock().now().at);
    turns.add(&caller.agent, session, "user", text, now);
    let card = screening.card.as_ref().map(|card| ShownCard {
        country: card.country,
        lang: card.lang,
        helper: card.helper,
    });
    let signs = (&*sign_words(screening, text), card);
    turns.add_signs(&caller.agent, session, signs, now);
    if screening.possible_minor {
        turns.note_minor(&caller.agent, session, now);
    }
}

fn begin(
    api: &Api,
    caller: &Caller,
    session: &str,
    screening: &Screening,
) -> Option<tokio::task::JoinHandle<()>> {
    begin_at(api, caller, session, screening.level, screening.imminent)
}

/// In memory before the response, so that the next call already meets the crisis rules.
fn begin_at(
    api: &Api,
    caller: &Caller,
    session: &str,
    level: u8,
    imminent: bool,
) -> Option<tokio::task::JoinHandle<()>> {
    let crisis = CrisisSession {
        agent: caller.agent.clone(),
        session: session.to_owned(),
        level,
        imminent,
        since: api.gate.clock().now().at,
    };
    api.gate.crises().begin(crisis).map(|crisis| store_crisis(api, crisis))
}

/// Records the card, in the background and without the text.
fn record(api: &Api, caller: &Caller, session: &str, screening: &Screening) {
    let concern = match screening.concern {
        Concern::None => return,
        Concern::Possible => "possible",
        Concern::Likely => "likely",
    };
    let record = ScreeningRecord {
        agent: caller.agent.clone(),
        session: session.to_owned(),
        concern,
        level: screening.level,
        imminent: screening.imminent,
        country: country(screening),
    };
    let api = api.clone();
    tokio::spawn(async move { api.gate.record_screening(record).await });
}
