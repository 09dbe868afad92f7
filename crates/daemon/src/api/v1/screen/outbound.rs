//! A text of an agent, before it goes out: pass, replace, or wait for a person.

use countersign_crisis as crisis;
use countersign_guard::GuardRole;
use countersign_risk::verdict::Mode;
use countersign_types::time::Clock as _;
use serde_json::{Value, json};

use super::guard_check::{self, GuardResult};
use super::screened_text::{ScreenedText, document};
use super::takeover;
use crate::api::v1::requests::{self, AskExtras, AskResult};
use crate::api::{Api, ApiProblem, fields};
use crate::gate::Caller;

/// The tool in whose name a person is asked about a text.
const TOOL: &str = "send_message";

/// Screens a text of an agent. In a crisis, and where a configured guard gives no verdict, a
/// person decides; an unsafe text is replaced.
pub async fn screen(
    api: &Api,
    caller: &Caller,
    screened: &ScreenedText<'_>,
) -> Result<Value, ApiProblem> {
    let rules = api.gate.rules();
    let screening = crisis::screen(screened.text, &screened.options(&rules));
    let guard = match api.guard.follow(rules.guard.as_ref()) {
        None => GuardResult::Off,
        Some(guard) => {
            let checked = guard_check::check(&api.gate, &guard, GuardRole::Agent, screened.text);
            GuardResult::Asked(checked.await)
        }
    };
    // Asked after the guard: the session may have entered a crisis meanwhile.
    let in_crisis = api.gate.crises().holds(&caller.agent, Some(screened.session));
    let enforces = rules.mode == Mode::Enforce;
    let takeover = takeover::document(&api.gate, &caller.agent, screened.session);
    if in_crisis {
        let (turns, now) = (api.gate.crisis_turns(), api.gate.clock().now().at);
        turns.add(&caller.agent, screened.session, "agent", screened.text, now);
    }
    let mut decision = if !takeover.is_null() || guard.is_unsafe() && (enforces || in_crisis) {
        "replace"
    } else if in_crisis || screening.crisis || enforces && guard.is_unavailable() {
        "hold"
    } else {
        "pass"
    };
    let mut request = Value::Null;
    if decision == "hold" && screened.ask {
        (decision, request) = ask_person(api, caller, screened).await?;
    }
    let replacement = match &takeover {
        Value::Null => rules.guard.as_ref().map(|guard| guard.replacement.as_str()),
        _ => Some(takeover::NOTICE),
    };
    let rest = json!({
        "role": "agent",
        "guard": guard.document(),
        "decision": decision,
        "replacement": replacement.filter(|_| decision == "replace"),
        "request": request,
        "takeover": takeover,
        "notice": api.gate.unanswered_notice(&caller.agent, screened.session),
    });
    document(&screening, in_crisis, rest).map(Value::Object)
}

/// Asks a person about the exact text. No grant or earlier approval counts.
async fn ask_person(
    api: &Api,
    caller: &Caller,
    screened: &ScreenedText<'_>,
) -> Result<(&'static str, Value), ApiProblem> {
    let call = json!({
        "tool": TOOL, "arguments": { "text": screened.text }, "session": screened.session,
        "ignore_grants": true,
    });
    let call = call.to_string();
    let value = fields::parse(call.as_bytes())?;
    let question = requests::read(&value, &call)?;
    Ok(match requests::ask(api, caller, question, AskExtras::default()).await? {
        // The mode does not block the call.
        AskResult::Passed(document) => ("pass", document),
        AskResult::New(stored) | AskResult::Known(stored) => {
            ("hold", requests::for_agent(api, &stored))
        }
    })
}
