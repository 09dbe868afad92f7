//! The one place that asks core: every judgement the command line prints comes through here.

pub use countersign_json::Value;
use countersign_json::canonical::CallDigest;
pub use countersign_risk::call::{Annotations, Call};
pub use countersign_risk::card::Card;
pub use countersign_risk::context::{Context, Environment, Platform};
pub use countersign_risk::finding::Doubt;
pub use countersign_risk::impact::{Impact, Touched};
use countersign_risk::verdict::Policy;
pub use countersign_risk::verdict::Verdict;
pub use countersign_types::tier::Tier;

use countersign_crisis as crisis;
pub use countersign_crisis::Screening;
use countersign_crisis::{Preset, ScreenOptions};
use countersign_json as json;
pub use countersign_risk::assess::{Assessment, Reason};
pub use countersign_risk::batch::Plan;
pub use countersign_risk::call_view::leaves;
use countersign_risk::{batch, call_digest, word_pair};
pub use countersign_text::humanize::{length, thousands};
use countersign_text::{humanize, sanitize};
use countersign_types::time::Timestamp;

/// "3 min ago", "in 40 s"; both in milliseconds since 1970.
pub fn apart(time: i64, now: i64) -> String {
    humanize::apart(Timestamp(time), Timestamp(now))
}

/// Strict JSON. The error says what and where.
pub fn read_json(text: &str) -> Result<Value<'_>, String> {
    json::parse(text).map_err(|e| e.to_string())
}

/// A call from `{"command": …}` or `{"tool": …, "arguments": {…}}`.
pub fn read_call<'a>(value: &'a Value<'_>) -> Result<Call<'a>, String> {
    Call::from_json(value).map_err(|e| e.to_string())
}

/// The judgement of one call under the default policy.
pub fn assess(call: &Call<'_>) -> Assessment {
    countersign_risk::assess::assess(call, &Policy::default())
}

/// What a decision about a call is bound to.
pub struct Identity {
    /// Of the canonical JSON, in hex.
    pub digest: String,
    /// Of the bytes as they came, in hex.
    pub raw_digest: String,
    /// Whether both must match when the call is released.
    pub both_bind: bool,
    /// Two words from the digest.
    pub phrase: String,
}

/// The digests and the two words of a call. `raw` is its arguments as they came.
pub fn identify(call: &Call<'_>, raw: &str) -> Identity {
    let found = call_digest::digest(call, raw.as_bytes());
    Identity {
        digest: found.canonical.to_string(),
        raw_digest: found.raw.to_string(),
        both_bind: found.both_bind,
        phrase: word_pair::phrase(&found.canonical).to_string(),
    }
}

/// What a permit for a call is bound to. `raw` is its arguments as they came.
pub fn call_digest(call: &Call<'_>, raw: &str) -> CallDigest {
    call_digest::digest(call, raw.as_bytes())
}

/// A card as it is stored, from its JSON.
pub fn read_card(text: &str) -> Result<Card, String> {
    Card::from_json(&read_json(text)?).map_err(|e| e.to_string())
}

/// The arguments of a call within its JSON text, exactly as they came.
pub fn raw_arguments(line: &str) -> &str {
    json::member_text(line, "arguments").ok().flatten().unwrap_or(line)
}

/// Stands for a line break in shown text.
pub const LINE_BREAK: char = sanitize::LINE_BREAK;

/// Text that may stand before a person: nothing hidden, at most `limit` bytes of it.
pub fn show(text: &str, limit: usize) -> String {
    sanitize::show_within(text, limit).text.into_owned()
}

/// How a text is screened and answered.
#[derive(Default)]
pub struct ScreenSettings<'a> {
    /// Whose helplines the card lists (ISO 3166 code).
    pub country: Option<&'a str>,
    /// Which wording the card has.
    pub preset: Option<&'a str>,
}

/// Signs of a person in crisis in a text.
pub fn screen(text: &str, settings: &ScreenSettings<'_>) -> Result<Screening, String> {
    if settings.country.is_some_and(|code| crisis::country(code).is_none()) {
        return Err("no such country: give its two letters, such as US or DE".to_owned());
    }
    let preset = match settings.preset {
        None | Some("neutral") => Preset::Neutral,
        Some("soul") => Preset::Soul,
        Some(_) => return Err("the presets are `neutral` and `soul`".to_owned()),
    };
    let options = ScreenOptions { country: settings.country, preset, ..ScreenOptions::default() };
    Ok(crisis::screen(text, &options))
}

/// The gravest kind of sign, in its own word.
pub fn kind_word(screening: &Screening) -> String {
    let word = serde_json::to_value(screening.kind).ok();
    word.as_ref().and_then(|w| w.as_str()).unwrap_or("crisis").replace('_', " ")
}

/// The card for a person in crisis, as text; none if the text shows no crisis.
pub fn card_text(screening: &Screening) -> Option<&str> {
    screening.card.as_ref().map(|card| card.text.as_str())
}

/// Which calls of a list may run side by side.
pub fn plan(calls: &[Call<'_>]) -> Plan {
    batch::plan(calls, &Policy::default())
}

pub use countersign_risk::rules::{RuleInfo, Subject, all as rules, check as check_rule};
