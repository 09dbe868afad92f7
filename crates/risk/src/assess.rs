//! `assess`: a call in, its whole record out. Pure and deterministic.

use crate::call::Call;
use crate::context::Context;
use crate::finding::Findings;
use crate::verdict::{Policy, Verdict};

pub use crate::assessment::{Assessment, Pattern, Reason};
pub use crate::impact::HumanImpact;

/// Assesses one call. Facts from an agent can only raise: the call gets the worse of the
/// assessments with and without them.
pub fn assess(call: &Call<'_>, policy: &Policy) -> Assessment {
    let Some(facts) = call.facts.as_deref() else { return assess_text(call, policy) };
    let context = Context { facts: Some(facts), ..call.context };
    let with = assess_text(&Call { context, ..call.clone() }, policy);
    if facts.can_lower() || facts.found.is_empty() {
        return with;
    }
    let mut without = assess_text(call, policy);
    if severity(&without) <= severity(&with) {
        return with;
    }
    (without.queries, without.trace) = (with.queries, with.trace);
    without
}

fn assess_text(call: &Call<'_>, policy: &Policy) -> Assessment {
    let mut findings = Findings::of_call();
    crate::tools::read(call, &mut findings);
    crate::session_secrets::check(call, &mut findings);
    crate::score::conclude(call, policy, findings)
}

/// What is compared to find the worse of two assessments.
fn severity(seen: &Assessment) -> (u8, u16, bool) {
    let verdict = match seen.verdict {
        Verdict::Allow => 0,
        Verdict::Ask => 1,
        Verdict::Deny => 2,
        Verdict::Crisis => 3,
    };
    (verdict, seen.points.0, !seen.reversible)
}
