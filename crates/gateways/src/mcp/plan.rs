//! Decides what happens to a call: it passes, the daemon is asked, or it is refused.

use std::borrow::Cow;

use countersign_client::CallRequest;
use countersign_json::Value;
use countersign_risk::assess::assess;
use countersign_risk::call::{Annotations, Call};
use countersign_risk::context::{Context, Environment};
use countersign_risk::route::passes_everywhere;
use countersign_risk::tool_label::ToolLabel;
use countersign_risk::tools::mcp_tool_name as tool_name;
use countersign_risk::verdict::{Policy, Verdict};

use super::known_tools::ToolStatus;
use super::message::ToolCall;
use super::replies::CallRefusal;
use super::reporter::Reporter;
use super::resume_token::ServerState;
use crate::machine_look::{LookedAt, MachineLook};

/// The method that reads a resource.
pub const RESOURCE: &str = "resources/read";

/// What happens to a call.
#[derive(Debug)]
pub enum CallPlan {
    /// It only reads, whatever else the daemon knows, and it is on its way into the ledger.
    Pass,
    /// The daemon is asked.
    Ask(Box<CallQuestion>),
    /// The daemon cannot be asked about it.
    Refuse(CallRefusal),
}

/// A question about a call.
#[derive(Debug)]
pub struct CallQuestion {
    /// The question for the daemon.
    pub question: CallRequest,
    /// Equal for the same call again, and for no other call.
    pub identity: String,
    /// What the call carries for its server in addition to its arguments.
    pub server_state: Option<ServerState>,
}

/// The server and the project of a call.
#[derive(Debug)]
pub struct CallPlace<'a> {
    /// The server's name.
    pub server: &'a str,
    /// The root folder of the client's project.
    pub project: Option<String>,
}

/// Decides what happens to a call. A call that cannot be recorded does not pass: it is asked
/// about instead.
pub fn plan_call(
    place: &CallPlace<'_>,
    call: &ToolCall<'_>,
    status: &ToolStatus,
    reporter: &Reporter,
) -> CallPlan {
    let tool = tool_name(place.server, call.name);
    let project = place.project.as_deref();
    let passes = if call.is_read {
        read_passes(&tool, call, project)
    } else {
        let is_raised = status.label.is_some_and(|label| label > ToolLabel::Reads);
        let must_ask = is_raised || status.ask_reason.is_some();
        !must_ask && is_harmless(&tool, call, status.annotations, project)
    };
    if passes && reporter.record_pass(&tool, call.raw, project) {
        return CallPlan::Pass;
    }
    let plan = ask(&tool, call, status);
    match plan {
        CallPlan::Ask(mut asked) => {
            asked.question.project = project.map(ToOwned::to_owned);
            // A server may have other files than this machine, so what is found can only raise.
            let at =
                LookedAt { tool: &tool, arguments: call.raw, cwd: project, project, host: None };
            MachineLook::default().add_facts(&mut asked.question, &at);
            CallPlan::Ask(asked)
        }
        other => other,
    }
}

/// The question about a call that must be asked about.
fn ask(tool: &str, call: &ToolCall<'_>, status: &ToolStatus) -> CallPlan {
    let mut question = match CallRequest::tool(tool, call.raw) {
        Ok(question) => question,
        Err(error) => {
            let message = format!("Not run: no person can be asked about this call ({error}).");
            return CallPlan::Refuse(CallRefusal::new("unavailable", message));
        }
    };
    question.platform = Some("cli".to_owned());
    question.call_id.clone_from(&call.meta.call_id);
    question.annotations = hints(status.annotations);
    question.mcp_tool.clone_from(&status.claim);
    if let Some(reason) = &status.ask_reason {
        // Earlier permissions, and what a hook was told, were for the tool as it was before.
        question.risk_level = Some("high".to_owned());
        question.description = Some(reason.clone());
        question.ignore_grants = true;
        question.call_id = None;
        question.mcp_tool = None;
    }
    let (identity, server_state) = (call.identity(), ServerState::of(call));
    CallPlan::Ask(Box::new(CallQuestion { question, identity, server_state }))
}

/// Whether a resource or prompt may be read. A server's own names concern the server only; files
/// and hosts of this machine are checked as if a tool read them.
fn read_passes(tool: &str, call: &ToolCall<'_>, project: Option<&str>) -> bool {
    if call.name != RESOURCE {
        return true;
    }
    let uri = call.arguments.get("uri").and_then(Value::as_str).unwrap_or_default();
    let mut call = as_production_call(tool, call, Annotations::default());
    call.context.project = project;
    let assessment = assess(&call, &Policy::default());
    let is_file = uri.starts_with("file:");
    assessment.verdict == Verdict::Allow && (!is_file || passes_everywhere(&assessment))
}

/// The call as on a production machine: no setting of the daemon gives a higher tier.
pub fn as_production_call<'a>(
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
        facts: None,
    }
}

/// Whether a call passes without the daemon.
fn is_harmless(
    tool: &str,
    call: &ToolCall<'_>,
    annotations: Annotations,
    project: Option<&str>,
) -> bool {
    let mut call = as_production_call(tool, call, annotations);
    call.context.project = project;
    passes_everywhere(&assess(&call, &Policy::default()))
}

/// The annotations as JSON.
fn hints(given: Annotations) -> Option<String> {
    let hints = [
        ("readOnlyHint", given.read_only),
        ("destructiveHint", given.destructive),
        ("idempotentHint", given.idempotent),
        ("openWorldHint", given.open_world),
    ];
    let set: serde_json::Map<String, serde_json::Value> = hints
        .into_iter()
        .filter_map(|(name, hint)| Some((name.to_owned(), hint?.into())))
        .collect();
    (!set.is_empty()).then(|| serde_json::Value::Object(set).to_string())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use countersign_client::{AgentClient, Endpoint};
    use countersign_json as json;

    use super::super::message::RequestMeta;
    use super::*;

    fn planned(call: &ToolCall<'_>, status: &ToolStatus) -> CallPlan {
        // No one listens there: what is recorded waits.
        let agent = AgentClient::new(Endpoint::parse("127.0.0.1:1").unwrap(), None);
        let place = CallPlace { server: "files", project: Some("/srv/shop".to_owned()) };
        plan_call(&place, call, status, &Reporter::new(agent, Path::new("/nonexistent")))
    }

    fn tool_call(name: &str, raw: &str, status: &ToolStatus) -> CallPlan {
        let arguments = json::parse(raw).unwrap_or(Value::Null);
        let meta = RequestMeta::default();
        let (state, responses, is_read) = (None, None, false);
        planned(&ToolCall { name, arguments, raw, meta, state, responses, is_read }, status)
    }

    #[test]
    fn only_harmless_calls_of_unchanged_tools_pass() {
        let known = ToolStatus::default();
        let notes = r#"{"path":"notes.txt"}"#;
        assert!(matches!(tool_call("read_file", notes, &known), CallPlan::Pass));
        assert!(matches!(tool_call("delete_file", notes, &known), CallPlan::Ask(_)));
        assert!(matches!(tool_call("frobnicate", "{}", &known), CallPlan::Ask(_)));
        let changed = ToolStatus { ask_reason: Some("it changed".to_owned()), ..known };
        let CallPlan::Ask(asked) = tool_call("read_file", r#"{"path":"a"}"#, &changed) else {
            panic!("a changed tool passed")
        };
        assert_eq!(asked.question.risk_level.as_deref(), Some("high"));
        assert_eq!(asked.question.project.as_deref(), Some("/srv/shop"));
        assert_eq!(asked.question.description.as_deref(), Some("it changed"));
        assert!(asked.question.ignore_grants);
        let annotations = Annotations { destructive: Some(true), ..Annotations::default() };
        let destructive = ToolStatus { annotations, ..ToolStatus::default() };
        let plan = tool_call("read_file", r#"{"path":"a"}"#, &destructive);
        assert!(matches!(plan, CallPlan::Ask(_)));
    }

    #[test]
    fn a_label_makes_a_call_ask_and_lets_none_pass_without_the_daemon() {
        let arguments = r#"{"path":"notes.txt"}"#;
        for (tool, label, passes) in [
            ("read_file", ToolLabel::Reads, true),
            ("read_file", ToolLabel::Changes, false),
            ("get_zorp", ToolLabel::Sends, false),
            ("zorp", ToolLabel::Reads, false),
        ] {
            let status = ToolStatus { label: Some(label), ..ToolStatus::default() };
            let plan = tool_call(tool, arguments, &status);
            assert_eq!(matches!(plan, CallPlan::Pass), passes, "{tool} {label:?}");
        }
    }

    #[test]
    fn a_call_that_cannot_be_shown_to_a_person_is_refused() {
        let long = format!("{{\"a\":\"{}\"}}", "x".repeat(2 << 20));
        let plan = tool_call("delete_file", &long, &ToolStatus::default());
        assert!(matches!(plan, CallPlan::Refuse(_)));
    }

    #[test]
    fn a_call_that_is_too_long_for_the_record_is_asked_about() {
        let long = format!("{{\"path\":\"notes.txt\",\"x\":\"{}\"}}", "x".repeat(20 << 10));
        let plan = tool_call("read_file", &long, &ToolStatus::default());
        assert!(matches!(plan, CallPlan::Ask(_)));
    }

    #[test]
    fn a_resource_is_asked_about_if_a_tool_that_reads_it_would_be() {
        let passes = |uri: &str| {
            let raw = serde_json::json!({ "uri": uri }).to_string();
            let arguments = json::parse(&raw).unwrap();
            let (name, raw, meta) = (RESOURCE, raw.as_str(), RequestMeta::default());
            let (state, responses, is_read) = (None, None, true);
            let call = ToolCall { name, arguments, raw, meta, state, responses, is_read };
            matches!(planned(&call, &ToolStatus::default()), CallPlan::Pass)
        };
        for uri in [
            "file:///home/u/.ssh/id_rsa",
            "file://localhost/home/u/%2essh/id_rsa",
            "file:///srv/../etc/shadow",
            "/home/u/.ssh/id_rsa",
            "http://169.254.169.254/latest/meta-data/",
        ] {
            assert!(!passes(uri), "{uri}");
        }
        for uri in [
            "file:///srv/notes.txt",
            "test://static-text",
            "test://template/123/data",
            "demo://resource/static/document/architecture.md",
            "note://a",
            "https://example.org/a",
        ] {
            assert!(passes(uri), "{uri}");
        }
    }

    #[test]
    fn names_are_those_that_hooks_of_the_same_host_use() {
        assert_eq!(tool_name("my server", "a.b/c"), "mcp__my_server__a_b_c");
    }
}
