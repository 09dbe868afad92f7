//! The guard model's verdict on a text, as the answer shows it.

use std::time::Instant;

use countersign_guard::{GuardRole, GuardService, GuardVerdict};
use serde_json::{Value, json};

use crate::gate::Gate;

/// Asks the guard about a text, and counts it.
pub async fn check(gate: &Gate, guard: &GuardService, role: GuardRole, text: &str) -> GuardVerdict {
    let began = Instant::now();
    let verdict = guard.check(role, text).await;
    let result = match &verdict {
        GuardVerdict::Safe => "safe",
        GuardVerdict::Unsafe(_) => "unsafe",
        GuardVerdict::Unavailable(why) => why.code(),
    };
    let who = match role {
        GuardRole::User => "user",
        GuardRole::Agent => "agent",
    };
    gate.metrics().guard(guard.settings().family.name(), who, result, began.elapsed());
    verdict
}

/// What became of the guard for one text.
pub enum GuardResult {
    /// No guard is configured.
    Off,
    /// The guard was not asked, because its verdict could change nothing.
    Skipped,
    /// The guard is asked, and the answer does not wait for it: its verdict may raise the session
    /// later.
    Pending,
    /// The guard was asked.
    Asked(GuardVerdict),
}

impl GuardResult {
    /// The member `guard` of the answer.
    pub fn document(&self) -> Value {
        let (state, found, why) = match self {
            GuardResult::Off => ("off", None, None),
            GuardResult::Skipped => ("skipped", None, None),
            GuardResult::Pending => ("pending", None, None),
            GuardResult::Asked(GuardVerdict::Safe) => ("safe", None, None),
            GuardResult::Asked(GuardVerdict::Unsafe(found)) => ("unsafe", Some(found), None),
            GuardResult::Asked(GuardVerdict::Unavailable(why)) => ("unavailable", None, Some(why)),
        };
        let categories: Vec<Value> = found
            .into_iter()
            .flatten()
            .map(|one| json!({ "code": one.code, "name": one.name }))
            .collect();
        json!({
            "state": state, "categories": categories, "reason": why.map(|why| why.code()),
        })
    }

    /// Whether the text is unsafe because of suicide or self-harm.
    pub fn is_self_harm(&self) -> bool {
        matches!(self, GuardResult::Asked(verdict) if verdict.is_self_harm())
    }

    /// Whether the guard called the text unsafe.
    pub fn is_unsafe(&self) -> bool {
        matches!(self, GuardResult::Asked(GuardVerdict::Unsafe(_)))
    }

    /// Whether a guard is configured and gave no verdict.
    pub fn is_unavailable(&self) -> bool {
        matches!(self, GuardResult::Asked(GuardVerdict::Unavailable(_)))
    }
}
