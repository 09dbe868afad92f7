//! A text of a person: help at once, and a crisis that stays until a person resolves it.

use std::time::Duration;

use countersign_crisis::{self as crisis, Concern, ScreenOptions, Screening};
use countersign_risk::verdict::Mode;
use countersign_types::time::Clock as _;
use serde_json::{Value, json};

use super::begin_crisis::{begin, note_turn};
use super::confirm;
use super::screened_text::{ScreenedText, document};
use super::takeover;
use crate::api::{Api, ApiProblem};
use crate::gate::{Caller, ScreeningRecord};

/// The response waits at most 3 ms for the crisis to be stored; a timer may be up to 1 ms late.
const MAX_WAIT: Duration = Duration::from_millis(2);
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
    let guard = confirm::ask_guard(api, caller, screened, &screening).await;
    let raised = confirm::with_guard(screening.concern, &guard);
    screening = crisis::raise(screening, raised, &options);
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

/// The country whose helplines the card shows.
fn country(screening: &Screening) -> Option<&'static str> {
    screening.card.as_ref().and_then(|card| card.country)
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
