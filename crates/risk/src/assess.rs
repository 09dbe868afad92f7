//! `assess`: a call in, its whole record out. Pure and deterministic.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::basic_readers;
use crate::call::Call;
use crate::context::{Context, TextReaders};
use crate::finding::Findings;
use crate::readers;
use crate::verdict::{Policy, Verdict};

pub use crate::assessment::{Assessment, Pattern, Reason};
pub use crate::impact::HumanImpact;

/// Assesses one call. Facts from an agent can only raise: the call gets the worse of the
/// assessments with and without them.
pub fn assess(call: &Call<'_>, policy: &Policy) -> Assessment {
    assess_by(readers::all(), call, policy)
}

/// The same assessment in a small program, which has no reader for code, PowerShell, cmd and the
/// words of a person. None where the call has such a text: [`assess`] must assess it.
pub fn assess_basic(call: &Call<'_>, policy: &Policy) -> Option<Assessment> {
    let left_unread = AtomicBool::new(false);
    let seen = assess_by(basic_readers::basic(&left_unread), call, policy);
    (!left_unread.load(Ordering::Relaxed)).then_some(seen)
}

/// A context with the readers of all languages, for programs that call a reader directly. Without
/// them, nested texts count as unreadable.
#[must_use]
pub fn with_all_readers(context: Context<'_>) -> Context<'_> {
    Context { readers: readers::all(), ..context }
}

fn assess_by(readers: TextReaders<'_>, call: &Call<'_>, policy: &Policy) -> Assessment {
    let context = Context { readers, ..call.context };
    let Some(facts) = call.facts.as_deref() else { return assess_text(call, context, policy) };
    let with = assess_text(call, Context { facts: Some(facts), ..context }, policy);
    if facts.can_lower() || facts.found.is_empty() {
        return with;
    }
    let mut without = assess_text(call, context, policy);
    if severity(&without) <= severity(&with) {
        return with;
    }
    // A rule may be about a command that only the facts show, such as one in a script.
    without.commands.absorb(with.commands);
    (without.queries, without.trace) = (with.queries, with.trace);
    without
}

fn assess_text(call: &Call<'_>, context: Context<'_>, policy: &Policy) -> Assessment {
    let mut findings = Findings::of_call();
    crate::tools::read(call, context, &mut findings);
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
