//! The pure crates as the command line uses them: assessments, digests, screening, rules.

use std::borrow::Cow;
use std::sync::Arc;

use countersign_facts::{LookLimits, LookPlace};
pub use countersign_json::Value;
use countersign_json::canonical::CallDigest;
pub use countersign_risk::call::{Annotations, Call};
pub use countersign_risk::card::{Card, CardSegment};
pub use countersign_risk::context::{Context, Environment, Platform};
use countersign_risk::facts::{CallFacts, FactObserver};
pub use countersign_risk::finding::Doubt;
pub use countersign_risk::impact::{CountedList, Impact};
use countersign_risk::verdict::Policy;
pub use countersign_risk::verdict::Verdict;
pub use countersign_types::tier::Tier;

use countersign_crisis as crisis;
pub use countersign_crisis::{Concern, Screening};
use countersign_crisis::{Preset, ScreenOptions};
use countersign_json as json;
pub use countersign_risk::assess::{Assessment, Reason};
pub use countersign_risk::batch::Plan;
pub use countersign_risk::call_view::leaves;
pub use countersign_risk::session::SessionMemory;
pub use countersign_risk::summary::brief;
use countersign_risk::{batch, call_digest, word_pair};
pub use countersign_text::humanize::{duration, thousands};
use countersign_text::{humanize, sanitize};
use countersign_types::time::Timestamp;

/// "3 min ago", "in 40 s"; both in milliseconds since 1970.
pub fn relative_time(time: i64, now: i64) -> String {
    humanize::relative_time(Timestamp(time), Timestamp(now))
}

/// Parses strict JSON. The error says what is wrong and where.
pub fn read_json(text: &str) -> Result<Value<'_>, String> {
    json::parse(text).map_err(|e| e.to_string())
}

/// A call from `{"command": …}` or `{"tool": …, "arguments": {…}}`.
pub fn read_call<'a>(value: &'a Value<'_>) -> Result<Call<'a>, String> {
    Call::from_json(value).map_err(|e| e.to_string())
}

/// A tool call with its arguments, without context.
pub fn tool_call<'a>(tool: &'a str, arguments: Value<'a>) -> Call<'a> {
    Call {
        tool: Cow::Borrowed(tool),
        arguments,
        agent: None,
        session: None,
        context: Context::default(),
        annotations: Annotations::default(),
        claimed: None,
        facts: None,
    }
}

/// Assesses one call under the default policy.
pub fn assess(call: &Call<'_>) -> Assessment {
    countersign_risk::assess::assess(call, &Policy::default())
}

/// Assesses one call under a policy.
pub fn assess_with(call: &Call<'_>, policy: &Policy) -> Assessment {
    countersign_risk::assess::assess(call, policy)
}

/// The same with a look at this machine; also what was found.
pub fn assess_with_look(call: &Call<'_>, place: &LookPlace) -> (Assessment, Arc<CallFacts>) {
    let (limits, observer) = (LookLimits::BEFORE_CALL, FactObserver::Hook);
    countersign_facts::assess_with_look(call, &Policy::default(), place, limits, observer)
}

/// The digests that identify a call.
pub struct Identity {
    /// Digest of the canonical JSON, in hexadecimal.
    pub digest: String,
    /// Digest of the bytes as received, in hexadecimal.
    pub raw_digest: String,
    /// Whether both must match when the call is released.
    pub both_bind: bool,
    /// Two words from the digest.
    pub phrase: String,
}

/// The digests and the two words of a call. `raw` is the text of its arguments as received.
pub fn identify(call: &Call<'_>, raw: &str) -> Identity {
    let found = call_digest::digest(call, raw.as_bytes());
    Identity {
        digest: found.canonical.to_string(),
        raw_digest: found.raw.to_string(),
        both_bind: found.both_bind,
        phrase: word_pair::word_pair(&found.canonical).to_string(),
    }
}

/// The digests that a permit for a call is bound to. `raw` is the text of its arguments as
/// received.
pub fn call_digest(call: &Call<'_>, raw: &str) -> CallDigest {
    call_digest::digest(call, raw.as_bytes())
}

/// Parses a stored card.
pub fn read_card(text: &str) -> Result<Card, String> {
    Card::from_json(&read_json(text)?).map_err(|e| e.to_string())
}

/// The arguments of a call within its JSON text, exactly as received.
pub fn raw_arguments(line: &str) -> &str {
    json::member_text(line, "arguments").ok().flatten().unwrap_or(line)
}

/// Displayed for a line break.
pub const LINE_BREAK: char = sanitize::LINE_BREAK;

/// Text that is safe to display, at most `limit` bytes of it.
pub fn sanitize(text: &str, limit: usize) -> String {
    sanitize::sanitize_within(text, limit).text.into_owned()
}

/// Options of the screening.
#[derive(Default)]
pub struct ScreenSettings<'a> {
    /// The country of the helplines (ISO 3166 code).
    pub country: Option<&'a str>,
    /// The wording of the card.
    pub preset: Option<&'a str>,
}

/// Screens a text for signs of a crisis.
pub fn screen(text: &str, settings: &ScreenSettings<'_>) -> Result<Screening, String> {
    if settings.country.is_some_and(|code| crisis::country(code).is_none()) {
        return Err("unknown country; use a two-letter code such as US or DE".to_owned());
    }
    let preset = match settings.preset {
        None | Some("neutral") => Preset::Neutral,
        Some("soul") => Preset::Soul,
        Some(_) => return Err("unknown preset; use neutral or soul".to_owned()),
    };
    let options = ScreenOptions { country: settings.country, preset, ..ScreenOptions::default() };
    Ok(crisis::screen(text, &options))
}

/// The most severe kind of signal.
pub fn kind_word(screening: &Screening) -> String {
    let word = serde_json::to_value(screening.kind).ok();
    word.as_ref().and_then(|w| w.as_str()).unwrap_or("crisis").replace('_', " ")
}

/// The card as text; `None` if the text shows no crisis.
pub fn card_text(screening: &Screening) -> Option<&str> {
    screening.card.as_ref().map(|card| card.text.as_str())
}

/// Which calls of a list may run in parallel.
pub fn plan(calls: &[Call<'_>]) -> Plan {
    batch::plan(calls, &Policy::default())
}

pub use countersign_risk::rules::{RuleInfo, Subject, all as rules, check as check_rule};
