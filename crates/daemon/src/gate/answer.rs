//! The gate's answers and rejections.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashSet;

use countersign_json::Value;
use countersign_json::canonical::CallDigest;
use countersign_redact::redact_text;
use countersign_risk::assess::Assessment;
use countersign_risk::context::Context;
use countersign_risk::route::Pass;
use countersign_store::{StoreError, StoredRequest};
use countersign_types::time::Timestamp;

/// The maximum number and length of the tool names that each thread caches.
const MOST_REMEMBERED: usize = 64;
const LONGEST_REMEMBERED: usize = 64;

/// The gate's answer to a call.
#[derive(Debug)]
pub enum GateAnswer {
    /// The call may run without a question.
    Passed(Box<Passed>),
    /// The call is stored as a request, pending or decided. It may run only if `approved`.
    Kept(Box<StoredRequest>),
}

/// A call that may run without a question.
#[derive(Debug)]
pub struct Passed {
    /// Its assessment.
    pub assessment: Assessment,
    /// Its digests.
    pub digest: CallDigest,
    /// Why it may run.
    pub why: Pass,
    /// When it was assessed.
    pub at: Timestamp,
}

/// The result of a call as far as it can be decided without a person.
#[derive(Debug)]
pub enum Settlement {
    /// It is decided: it passes, or a grant covers it.
    Answered(GateAnswer),
    /// A person must decide.
    Asks(Box<Assessment>, CallDigest),
}

/// Why a call is rejected. It does not run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Rejection {
    /// The policy denies it.
    #[error("denied: the policy does not allow this call")]
    Refused,
    /// A rule of the policy denies it.
    #[error("denied {0}")]
    RefusedByRule(String),
    /// This agent has too many pending requests, or makes them too fast.
    #[error(
        "denied: this agent asks people too often; continue with other work that needs no \
         approval, and propose this call again after {0} s"
    )]
    TooManyQuestions(u32),
    /// This agent's passes and refusals have filled its share of the disk.
    #[error("denied: the records of this agent fill its share of the disk; retry in {0} s")]
    DiskBudget(u32),
    /// People denied too many requests; the agent is in quarantine.
    #[error("denied: after several denials this agent is in quarantine until {0}")]
    Quarantined(Timestamp),
    /// A person has taken over the conversation, so nothing of the agent goes out.
    #[error(
        "denied: a person has taken over this conversation and writes to the user; nothing is sent \
         for the agent. Do not try again"
    )]
    TakenOver,
    /// A person stopped every call.
    #[error("denied: everything is frozen by {0}; a person has to thaw it before calls run again")]
    Frozen(String),
    /// A person stopped every call after this one was approved.
    #[error(
        "denied: this call was approved before {0} froze everything; the approval counts again \
         when a person resumes the grants"
    )]
    ApprovalSuspended(String),
    /// The store failed.
    #[error("denied: {0}, so the call cannot be recorded")]
    Unavailable(StoreError),
    /// The machine's clock was set back.
    #[error(
        "denied: the clock of this machine was set back, so nothing is approved until it catches up"
    )]
    ClockUnsettled,
    /// The system's random number generator failed.
    #[error("denied: the random number generator of this machine failed")]
    EntropyUnavailable,
    /// The card could not be encoded.
    #[error("denied: the call could not be recorded")]
    Unwritable,
    /// The request does not exist.
    #[error("request not found")]
    NoSuchRequest,
}

impl Rejection {
    /// The rejection of a call that the assessment or a rule denies.
    pub fn refused(seen: &Assessment) -> Rejection {
        let Some(ruling) = seen.policy.as_ref().filter(|ruling| ruling.denies()) else {
            return Rejection::Refused;
        };
        let sentence = ruling.sentence();
        let reason = sentence.trim_start_matches("Denied ").trim_end_matches('.');
        Rejection::RefusedByRule(reason.to_owned())
    }

    /// Whether the assessment or a rule denies the call.
    pub const fn is_by_policy(&self) -> bool {
        matches!(self, Rejection::Refused | Rejection::RefusedByRule(_))
    }

    /// The reason in metrics; none for a request that does not exist, because no call was rejected.
    pub const fn metrics_label(&self) -> Option<&'static str> {
        Some(match self {
            Rejection::Refused | Rejection::RefusedByRule(_) => "refused",
            Rejection::TooManyQuestions(_) => "too_many_questions",
            Rejection::DiskBudget(_) => "disk_budget",
            Rejection::Quarantined(_) => "quarantined",
            Rejection::TakenOver => "taken_over",
            Rejection::Frozen(_) | Rejection::ApprovalSuspended(_) => "frozen",
            Rejection::Unavailable(_) => "store",
            Rejection::ClockUnsettled => "clock",
            Rejection::EntropyUnavailable | Rejection::Unwritable => "machine",
            Rejection::NoSuchRequest => return None,
        })
    }
}

impl From<StoreError> for Rejection {
    fn from(error: StoreError) -> Rejection {
        Rejection::Unavailable(error)
    }
}

thread_local! {
    /// Tool names that contain no secret.
    static PLAIN_NAMES: RefCell<HashSet<String>> = RefCell::default();
}

/// A tool's name without secrets. Few names are used often, so names without a secret are cached;
/// names with one are redacted each time and not cached.
fn redacted_tool_name(tool: &str) -> String {
    if PLAIN_NAMES.with_borrow(|plain| plain.contains(tool)) {
        return tool.to_owned();
    }
    let shown = redact_text(tool).text.into_owned();
    if shown == tool && tool.len() <= LONGEST_REMEMBERED {
        PLAIN_NAMES.with_borrow_mut(|plain| {
            if plain.len() >= MOST_REMEMBERED {
                plain.clear();
            }
            plain.insert(tool.to_owned());
        });
    }
    shown
}

/// The ledger entry of a pass: its assessment, without any text of the call.
pub fn pass_facts(seen: &Assessment, why: Pass) -> Vec<(Cow<'static, str>, Value<'static>)> {
    let mut facts = vec![
        (Cow::Borrowed("tier"), Value::String(seen.tier.label().into())),
        (Cow::Borrowed("tool"), Value::String(redacted_tool_name(&seen.tool).into())),
    ];
    if why == Pass::Watching {
        facts.push((Cow::Borrowed("would_ask"), Value::Bool(true)));
        // In hundredths, so that other thresholds can be tried out later.
        let confidence = format!("{:.0}", seen.confidence * 100.0);
        facts.push((Cow::Borrowed("confidence"), Value::Number(confidence.into())));
    }
    if let Some(ruling) = &seen.policy {
        let rules = ruling.rules.iter().map(|rule| Value::String(rule.clone().into())).collect();
        facts.push((Cow::Borrowed("rules"), Value::Array(rules)));
    }
    facts
}

/// The ledger facts of an assessment: tier, points and the codes of the reasons.
pub fn facts(seen: &Assessment, crisis: bool) -> String {
    let codes: Vec<&str> = seen.reasons.iter().take(16).map(|reason| &*reason.code).collect();
    let mut facts = serde_json::json!({
        "tier": seen.tier.label(),
        "points": seen.points,
        "confidence": seen.confidence,
        "tool": redact_text(&seen.tool).text,
        "reasons": codes,
    });
    if let (Some(ruling), Some(members)) = (&seen.policy, facts.as_object_mut()) {
        members.insert("rules".to_owned(), serde_json::json!(ruling.rules));
    }
    if crisis && let Some(members) = facts.as_object_mut() {
        members.insert("crisis".to_owned(), true.into());
    }
    facts.to_string()
}

/// A JSON object with one more member.
pub fn with_member(object: &str, name: &str, member: &serde_json::Value) -> String {
    let mut object: serde_json::Value = serde_json::from_str(object).unwrap_or_default();
    if let Some(members) = object.as_object_mut() {
        members.insert(name.to_owned(), member.clone());
    }
    object.to_string()
}

/// The data that is stored for the calling API. In a crisis nothing that the agent wrote is kept.
pub fn stored_detail(detail: &str, context: &Context<'_>, crisis: bool) -> String {
    if crisis { without_words(detail) } else { with_place(detail, context) }
}

/// The data with the project and the host of the call, which the assessment of an edited call needs
/// again.
fn with_place(detail: &str, context: &Context<'_>) -> String {
    if context.project.is_none() && context.host.is_none() {
        return detail.to_owned();
    }
    let mut detail: serde_json::Value = serde_json::from_str(detail).unwrap_or_default();
    if let Some(members) = detail.as_object_mut() {
        let project = context.project.map(|folder| redact_text(folder).text);
        let place = serde_json::json!({ "project": project, "host": context.host });
        members.insert("place".to_owned(), place);
    }
    detail.to_string()
}

/// The data without the agent's own words, which in a crisis may be a person's.
fn without_words(detail: &str) -> String {
    let mut detail: serde_json::Value = serde_json::from_str(detail).unwrap_or_default();
    for part in ["", "/seed"] {
        if let Some(members) = detail.pointer_mut(part).and_then(|part| part.as_object_mut()) {
            members.remove("description");
        }
    }
    detail.to_string()
}
