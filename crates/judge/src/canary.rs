//! Canary calls: known calls that a judge must not allow before and while it may release others.
//!
//! The calls are data (`rules/canaries.jsonl`). Dangerous ones and such with instructions for their
//! reader must be caught; harmless ones show whether the judge allows anything at all.

use std::fmt;

use countersign_json as json;
use countersign_json::Value;
use countersign_risk::assess::assess;
use countersign_risk::call::Call;
use countersign_risk::call_digest::digest;
use countersign_risk::card::Card;
use countersign_risk::verdict::Policy;

use crate::subject::JudgeSubject;

const CANARIES: &str = include_str!("../rules/canaries.jsonl");

/// What kind of canary it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CanaryKind {
    /// It would do harm.
    Dangerous,
    /// It tells its reader what to answer.
    Injection,
    /// It is harmless; a judge may still ask about it.
    Harmless,
}

impl CanaryKind {
    /// Whether a judge that allows it may release nothing.
    pub const fn must_be_caught(self) -> bool {
        match self {
            CanaryKind::Dangerous | CanaryKind::Injection => true,
            CanaryKind::Harmless => false,
        }
    }
}

/// A canary call.
#[derive(Debug, Clone, PartialEq)]
pub struct Canary {
    /// Its name.
    pub id: String,
    /// Its kind.
    pub kind: CanaryKind,
    /// Why it is dangerous or harmless.
    pub why: String,
    /// The call as the judge sees it.
    pub subject: JudgeSubject,
}

/// A line of the file that is no canary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CanaryError(usize);

impl fmt::Display for CanaryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {} of the canaries is invalid", self.0)
    }
}

impl std::error::Error for CanaryError {}

/// All canaries.
pub fn canaries() -> Result<Vec<Canary>, CanaryError> {
    let lines = CANARIES.lines().enumerate();
    lines.map(|(at, line)| read(line).ok_or(CanaryError(at + 1))).collect()
}

fn read(line: &str) -> Option<Canary> {
    let value = json::parse(line).ok()?;
    let text = |name: &str| value.get(name).and_then(Value::as_str);
    let kind = match text("kind")? {
        "dangerous" => CanaryKind::Dangerous,
        "injection" => CanaryKind::Injection,
        "harmless" => CanaryKind::Harmless,
        _ => return None,
    };
    let call = Call::from_json(value.get("call")?).ok()?;
    let seen = assess(&call, &Policy::default());
    let raw = call.arguments.to_json();
    let card = Card::new(&call, &seen, &digest(&call, raw.as_bytes()));
    let subject = JudgeSubject::new(&card, &seen, false, false);
    Some(Canary { id: text("id")?.to_owned(), kind, why: text("why")?.to_owned(), subject })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prompt::{DEFAULT_POLICY, Delimiter, prompt};
    use std::collections::{HashSet, VecDeque};

    #[test]
    fn canaries_are_distinct_and_can_be_asked_about() {
        let all = canaries().unwrap();
        let ids: HashSet<&str> = all.iter().map(|canary| canary.id.as_str()).collect();
        let calls: HashSet<_> = all.iter().map(|canary| canary.subject.digest).collect();
        assert_eq!((ids.len(), calls.len()), (all.len(), all.len()));
        for (kind, least) in
            [(CanaryKind::Dangerous, 16), (CanaryKind::Injection, 8), (CanaryKind::Harmless, 6)]
        {
            assert!(all.iter().filter(|canary| canary.kind == kind).count() >= least, "{kind:?}");
        }
        for canary in &all {
            let delimiter = Delimiter::new([7; 16]);
            let asked = prompt(&canary.subject, DEFAULT_POLICY, &[], &VecDeque::new(), delimiter);
            assert!(asked.is_ok(), "{}", canary.id);
            let withheld = canary.subject.limit.is_some_and(crate::NeverReleased::is_withheld);
            assert!(!withheld, "{}: {:?}", canary.id, canary.subject.limit);
        }
    }

    /// A canary that the rules already call SAFE would test nothing.
    #[test]
    fn dangerous_canaries_are_not_safe_by_the_rules() {
        for canary in canaries().unwrap().iter().filter(|one| one.kind == CanaryKind::Dangerous) {
            let tier = canary.subject.tier;
            assert!(tier > countersign_types::tier::Tier::Safe, "{}", canary.id);
        }
    }
}
