//! What the gate answers, and why a call is held.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashSet;

use countersign_json::Value;
use countersign_json::canonical::CallDigest;
use countersign_redact::redact_text;
use countersign_risk::assess::Assessment;
use countersign_risk::route::Pass;
use countersign_store::{StoreError, StoredRequest};
use countersign_types::time::Timestamp;

/// Names of tools that each thread remembers: so many, so long.
const MOST_REMEMBERED: usize = 64;
const LONGEST_REMEMBERED: usize = 64;

/// What the gate answers.
#[derive(Debug)]
pub enum Answer {
    /// It may run; nobody had to be asked.
    Passed(Box<Passed>),
    /// It is kept: pending, or decided already. Only `approved` means that it may run.
    Kept(Box<StoredRequest>),
}

/// A call that nobody had to be asked about.
#[derive(Debug)]
pub struct Passed {
    /// Its judgement.
    pub assessment: Assessment,
    /// Its digests.
    pub digest: CallDigest,
    /// Why.
    pub why: Pass,
    /// When it was judged.
    pub at: Timestamp,
}

/// What becomes of a call where nobody may be asked yet.
#[derive(Debug)]
pub enum Settling {
    /// It is answered already: it passes, or a grant covers it.
    Answered(Answer),
    /// A person has to be asked about it.
    Asks(Box<Assessment>, CallDigest),
}

/// Why a call is held: it does not run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Rejection {
    /// The policy refuses it.
    #[error("denied: the policy refuses this call")]
    Refused,
    /// This agent has too many questions open, or asks too fast.
    #[error("denied: too many questions at once; ask again in {0} s")]
    TooManyQuestions(u32),
    /// People said no too often; the agent may ask nothing for a while.
    #[error("denied: after several denials this agent may not ask until {0}")]
    Quarantined(Timestamp),
    /// The store does not keep it.
    #[error("denied: {0}, so nothing can be recorded")]
    Unavailable(StoreError),
    /// The machine's clock went back.
    #[error("denied: this machine's clock went back, so nothing is approved until it catches up")]
    ClockUnsettled,
    /// The machine gives no randomness.
    #[error("denied: this machine gives no randomness")]
    NoChance,
    /// The card could not be written.
    #[error("denied: the call could not be written down")]
    Unwritable,
    /// There is no such request.
    #[error("there is no such request")]
    NoSuchRequest,
}

impl From<StoreError> for Rejection {
    fn from(error: StoreError) -> Rejection {
        Rejection::Unavailable(error)
    }
}

thread_local! {
    /// Names of tools in which there was nothing to hide.
    static PLAIN: RefCell<HashSet<String>> = RefCell::default();
}

/// A tool's name without secrets. The same few names come all the time, so that those with
/// nothing to hide are remembered; the others are looked at each time and not kept.
fn plain_name(tool: &str) -> String {
    if PLAIN.with_borrow(|plain| plain.contains(tool)) {
        return tool.to_owned();
    }
    let shown = redact_text(tool).text.into_owned();
    if shown == tool && tool.len() <= LONGEST_REMEMBERED {
        PLAIN.with_borrow_mut(|plain| {
            if plain.len() >= MOST_REMEMBERED {
                plain.clear();
            }
            plain.insert(tool.to_owned());
        });
    }
    shown
}

/// What the ledger keeps of a pass: no text of the call, only how it was judged.
pub fn pass_facts(seen: &Assessment, why: Pass) -> Vec<(Cow<'static, str>, Value<'static>)> {
    let mut facts = vec![
        (Cow::Borrowed("tier"), Value::String(seen.tier.label().into())),
        (Cow::Borrowed("tool"), Value::String(plain_name(&seen.tool).into())),
    ];
    if why == Pass::Watching {
        facts.push((Cow::Borrowed("would_ask"), Value::Bool(true)));
    }
    facts
}

/// What the ledger keeps of a judgement: tier, points and the codes of the reasons.
pub fn facts(seen: &Assessment) -> String {
    let codes: Vec<&str> = seen.reasons.iter().take(16).map(|reason| &*reason.code).collect();
    let facts = serde_json::json!({
        "tier": seen.tier.label(),
        "points": seen.points,
        "confidence": seen.confidence,
        "tool": redact_text(&seen.tool).text,
        "reasons": codes,
    });
    facts.to_string()
}

/// What a surface needs again, without the agent's own words: in a crisis they could be anybody's.
pub fn without_words(detail: &str) -> String {
    let mut detail: serde_json::Value = serde_json::from_str(detail).unwrap_or_default();
    for part in ["", "/seed"] {
        if let Some(members) = detail.pointer_mut(part).and_then(|part| part.as_object_mut()) {
            members.remove("description");
        }
    }
    detail.to_string()
}
