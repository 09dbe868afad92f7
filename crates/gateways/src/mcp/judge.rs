//! One call held against the judgement: it passes here, or it becomes a question to the gate.

use std::borrow::Cow;

use countersign_client::Question;
use countersign_risk::assess::assess;
use countersign_risk::call::{Annotations, Call};
use countersign_risk::context::{Context, Environment};
use countersign_risk::route::passes_everywhere;
use countersign_risk::verdict::Policy;

use super::message::ToolCall;
use super::park::Carried;
use super::pins::plain;
use super::tools::Seen;
use super::words::No;

/// Where a call goes.
#[derive(Debug)]
pub enum Judged {
    /// It changes nothing and tells nobody anything, whatever the daemon knows beside it.
    Pass {
        /// The gate's name for its tool.
        tool: String,
    },
    /// The gate is asked.
    Ask(Box<Asking>),
    /// It cannot even be asked about.
    No(No),
}

/// A question, and what makes another call the same one.
#[derive(Debug)]
pub struct Asking {
    /// The question.
    pub question: Question,
    /// Equal for a repeated call, and for no other.
    pub same: String,
    /// What it brings for its server beside the call.
    pub carried: Option<Carried>,
}

/// The gate's name for a server's tool: what the hooks of the same host say too.
pub fn tool_name(server: &str, tool: &str) -> String {
    format!("mcp__{}__{}", plain(server), whole(tool))
}

fn whole(tool: &str) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    tool.chars().map(|c| if fits(c) { c } else { '_' }).collect()
}

/// Judges one call.
pub fn judge(server: &str, call: &ToolCall<'_>, seen: &Seen) -> Judged {
    let tool = tool_name(server, call.name);
    if seen.why_ask.is_none() && is_harmless(&tool, call, seen.annotations) {
        return Judged::Pass { tool };
    }
    ask(&tool, call, seen)
}

/// The same for a call that must be asked about whatever it is.
pub fn ask(tool: &str, call: &ToolCall<'_>, seen: &Seen) -> Judged {
    let mut question = match Question::tool(tool, call.raw) {
        Ok(question) => question,
        Err(error) => {
            let why = format!("Not run: nobody can be asked about this call ({error}).");
            return Judged::No(No::new("unavailable", why));
        }
    };
    question.platform = Some("cli".to_owned());
    question.call_id.clone_from(&call.meta.call_id);
    question.annotations = hints(seen.annotations);
    if let Some(why) = &seen.why_ask {
        // What was allowed before was allowed for another tool: no permission covers it, nor what
        // a hook was told, which knows nothing of the change.
        question.risk_level = Some("high".to_owned());
        question.description = Some(why.clone());
        question.fresh = true;
        question.call_id = None;
    }
    let arguments = countersign_json::canonical::canonical(&call.arguments);
    let arguments = if arguments.exact { call.raw } else { &arguments.text };
    let same = format!("{}\0{arguments}", call.name);
    Judged::Ask(Box::new(Asking { question, same, carried: Carried::of(call) }))
}

/// A call as on a production machine: no setting of the daemon could judge it harder.
pub fn in_production<'a>(
    tool: impl Into<Cow<'a, str>>,
    call: &'a ToolCall<'_>,
    annotations: Annotations,
) -> Call<'a> {
    Call {
        tool: tool.into(),
        arguments: call.arguments.reborrow(),
        agent: None,
        session: None,
        context: Context { environment: Environment::Production, ..Context::default() },
        annotations,
        claimed: None,
    }
}

/// Whether a call passes without the daemon.
fn is_harmless(tool: &str, call: &ToolCall<'_>, annotations: Annotations) -> bool {
    passes_everywhere(&assess(&in_production(tool, call, annotations), &Policy::default()))
}

/// The hints that were given, as JSON again.
fn hints(said: Annotations) -> Option<String> {
    let hints = [
        ("readOnlyHint", said.read_only),
        ("destructiveHint", said.destructive),
        ("idempotentHint", said.idempotent),
        ("openWorldHint", said.open_world),
    ];
    let given: serde_json::Map<String, serde_json::Value> = hints
        .into_iter()
        .filter_map(|(name, hint)| Some((name.to_owned(), hint?.into())))
        .collect();
    (!given.is_empty()).then(|| serde_json::Value::Object(given).to_string())
}

#[cfg(test)]
mod tests {
    use countersign_json as json;
    use countersign_json::Value;

    use super::super::message::Meta;
    use super::*;

    fn judged(name: &str, raw: &str, seen: &Seen) -> Judged {
        let arguments = json::parse(raw).unwrap_or(Value::Null);
        let meta = Meta::default();
        let (state, responses, is_look) = (None, None, false);
        let call = ToolCall { name, arguments, raw, meta, state, responses, is_look };
        judge("files", &call, seen)
    }

    #[test]
    fn only_harmless_calls_of_tools_that_are_what_they_were_pass() {
        let seen = Seen::default();
        assert!(matches!(
            judged("read_file", r#"{"path":"notes.txt"}"#, &seen),
            Judged::Pass { .. }
        ));
        assert!(matches!(judged("delete_file", r#"{"path":"notes.txt"}"#, &seen), Judged::Ask(_)));
        assert!(matches!(judged("frobnicate", "{}", &seen), Judged::Ask(_)));
        let changed = Seen { why_ask: Some("it changed".to_owned()), ..Seen::default() };
        let Judged::Ask(asking) = judged("read_file", r#"{"path":"a"}"#, &changed) else {
            panic!("a changed tool passed")
        };
        assert_eq!(asking.question.risk_level.as_deref(), Some("high"));
        assert_eq!(asking.question.description.as_deref(), Some("it changed"));
        assert!(asking.question.fresh);
        let destructive = Annotations { destructive: Some(true), ..Annotations::default() };
        let said = Seen { annotations: destructive, why_ask: None };
        assert!(matches!(judged("read_file", r#"{"path":"a"}"#, &said), Judged::Ask(_)));
    }

    #[test]
    fn what_cannot_be_shown_to_a_person_is_a_no() {
        let long = format!("{{\"a\":\"{}\"}}", "x".repeat(2 << 20));
        assert!(matches!(judged("delete_file", &long, &Seen::default()), Judged::No(_)));
    }

    #[test]
    fn names_are_what_the_hooks_of_the_same_host_say() {
        assert_eq!(tool_name("my server", "a.b/c"), "mcp__my_server__a_b_c");
    }
}
