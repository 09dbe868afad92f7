//! The digests of a call, which a decision is bound to.

use countersign_json::canonical::{self, CallDigest, Canonical, Digest};
use countersign_json::write_string;

use crate::call::Call;
use crate::facts::CallFacts;

#[cfg(test)]
mod tests;

/// Stands before the canonical call in its digest, so that no other digest can pass for it.
const CALL_TAG: &str = "countersign/call/1\0";

/// The digests of a call whose arguments were received as `raw`.
///
/// What binds is what changes what would happen, or in whose name: `tool`, `arguments`, `agent`,
/// `cwd` and `environment`, absent ones as `null`, and the digests of the files whose text would
/// run and of the tool's own plan, where an observer read them. Session and platform say where a
/// person sits and belong to the request; annotations and the claimed tier are opinions about the
/// call. None of them can turn one action into another, so a retry from a new session keeps its
/// digest.
pub fn digest(call: &Call<'_>, raw: &[u8]) -> CallDigest {
    let mut out = Canonical { text: String::with_capacity(raw.len() + 160), exact: false };
    out.text.push_str(CALL_TAG);
    // The keys are in canonical order.
    out.text.push_str("{\"agent\":");
    write_optional(call.agent.as_deref(), &mut out.text);
    out.text.push_str(",\"arguments\":");
    canonical::write(&call.arguments, &mut out);
    out.text.push_str(",\"cwd\":");
    write_optional(call.context.cwd, &mut out.text);
    out.text.push_str(",\"environment\":");
    write_string(call.context.environment.label(), &mut out.text);
    // Only calls with a dry run, or that run files, have these; all others keep their digest.
    let facts = call.facts.as_deref();
    let plans = facts.map(CallFacts::plan_digests).unwrap_or_default();
    write_digests("plans", &plans, &mut out.text);
    let scripts = facts.map(CallFacts::script_digests).unwrap_or_default();
    write_digests("scripts", &scripts, &mut out.text);
    out.text.push_str(",\"tool\":");
    write_string(&call.tool, &mut out.text);
    out.text.push('}');
    CallDigest {
        canonical: Digest::of(out.text.as_bytes()),
        raw: Digest::of(raw),
        both_bind: out.exact,
    }
}

/// A list of digests as a member, unless it is empty.
fn write_digests(name: &str, digests: &[Digest], out: &mut String) {
    for (at, digest) in digests.iter().enumerate() {
        if at == 0 {
            out.push_str(",\"");
            out.push_str(name);
            out.push_str("\":[\"");
        } else {
            out.push_str(",\"");
        }
        digest.push_hex(out);
        out.push('"');
    }
    if !digests.is_empty() {
        out.push(']');
    }
}

fn write_optional(text: Option<&str>, out: &mut String) {
    match text {
        Some(text) => write_string(text, out),
        None => out.push_str("null"),
    }
}
