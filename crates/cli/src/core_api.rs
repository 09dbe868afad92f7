//! The one place that asks core: every judgement the command line prints comes through here.
//!
//! MERGE: where a line names `stand_in`, core's own function of the same name takes its place.

pub use countersign_core::call::{Annotations, Call};
pub use countersign_core::context::{Context, Environment, Platform};
pub use countersign_core::finding::Doubt;
pub use countersign_core::impact::{Impact, Touched};
pub use countersign_core::json::Value;
pub use countersign_core::tier::Tier;
use countersign_core::verdict::Policy;
pub use countersign_core::verdict::Verdict;

use crate::stand_in; // MERGE: delete, with `mod stand_in` in main.rs
pub use crate::stand_in::{Assessment, Plan, Reason, Screening}; // MERGE: from core

/// Strict JSON. The error says what and where.
pub fn read_json(text: &str) -> Result<Value<'_>, String> {
    stand_in::parse(text) // MERGE: json::parse(text).map_err(|e| e.to_string())
}

/// A call from `{"command": …}` or `{"tool": …, "arguments": {…}}`.
pub fn read_call<'a>(value: &'a Value<'_>) -> Result<Call<'a>, String> {
    stand_in::call_from_json(value) // MERGE: Call::from_json(value).map_err(|e| e.to_string())
}

/// The judgement of one call under the default policy.
pub fn assess(call: &Call<'_>) -> Assessment {
    stand_in::assess(call, &Policy::default()) // MERGE: assess::assess
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
    // MERGE: let d = canon::digest(call, raw.as_bytes()); d.canonical.to_string(), …,
    //        phrase::phrase(&d.canonical).to_string()
    let (digest, raw_digest) = stand_in::digest(call, raw.as_bytes());
    Identity { digest, raw_digest, both_bind: false, phrase: "olive-tractor".to_owned() }
}

/// The arguments of a call within its JSON text, exactly as they came.
pub fn raw_arguments(line: &str) -> &str {
    line // MERGE: json::member_text(line, "arguments").ok().flatten().unwrap_or(line)
}

/// Stands for a line break in shown text.
pub const LINE_BREAK: char = '\u{23ce}'; // MERGE: show::LINE_BREAK

/// Text that may stand before a person: nothing hidden, at most `limit` bytes of it.
pub fn show(text: &str, limit: usize) -> String {
    stand_in::show(text, limit) // MERGE: show::show_within(text, limit).text.into_owned()
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
    // MERGE: ScreenOptions { country, preset: Preset::…, ..Default::default() };
    //        unknown: crisis::country(code).is_none()
    if settings.country.is_some_and(|c| c.len() != 2) {
        return Err("no such country: give its two letters, such as US or DE".to_owned());
    }
    if settings.preset.is_some_and(|p| !matches!(p, "neutral" | "soul")) {
        return Err("the presets are `neutral` and `soul`".to_owned());
    }
    Ok(stand_in::screen(text))
}

/// The gravest kind of sign, in its own word.
pub fn kind_word(screening: &Screening) -> String {
    let word = serde_json::to_value(screening.kind).ok();
    word.as_ref().and_then(|w| w.as_str()).unwrap_or("crisis").replace('_', " ")
}

/// The card for a person in crisis, as text; none if the text shows no crisis.
pub fn card_text(screening: &Screening) -> Option<&str> {
    screening.card.as_deref() // MERGE: screening.card.as_ref().map(|card| card.text.as_str())
}

/// Which calls of a list may run side by side.
pub fn plan(calls: &[Call<'_>]) -> Plan {
    stand_in::plan(calls) // MERGE: batch::plan(calls, &Policy::default())
}

/// One rule as people read it.
pub struct Rule {
    /// Stable id, `family.rest`.
    pub id: &'static str,
    /// Which file it stands in.
    pub family: &'static str,
    /// The tier it gives, if it gives one by itself.
    pub tier: Option<Tier>,
    /// What it says to a person.
    pub say: &'static str,
    /// The safer way.
    pub safer: Option<&'static str>,
    /// What it must match.
    pub examples: &'static [&'static str],
    /// What it must not match.
    pub counter_examples: &'static [&'static str],
}

/// Every rule, by family.
pub fn rules() -> Vec<Rule> {
    // MERGE: countersign_core::rules
    vec![
        Rule {
            id: "toy.delete",
            family: "toy",
            tier: Some(Tier::High),
            say: "Deletes a folder and everything below it.",
            safer: Some("Move it aside, look, then delete."),
            examples: &["rm -rf build"],
            counter_examples: &["echo rm"],
        },
        Rule {
            id: "toy.edit",
            family: "toy",
            tier: Some(Tier::Low),
            say: "Changes a file in place.",
            safer: None,
            examples: &["sed -i s/a/b/ notes.txt"],
            counter_examples: &["sed -n 1p notes.txt"],
        },
    ]
}

/// Whether a rule speaks up for a text.
pub fn rule_matches(rule: &Rule, text: &str) -> bool {
    // MERGE: by kind of rule, if core lists tools, code and crisis rules too.
    assess(&Call::shell(text)).reasons.iter().any(|r| r.code == rule.id)
}
