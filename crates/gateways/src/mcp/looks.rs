//! What a client only looks at, resources and prompts: written down, asked about where a tool that
//! reads the same would be.

use countersign_json as json;
use countersign_json::Value;
use countersign_json::canonical::Digest;
use countersign_risk::assess::assess;
use countersign_risk::call::Annotations;
use countersign_risk::route::passes_everywhere;
use countersign_risk::verdict::{Policy, Verdict};

use super::judge::{Judged, ask, in_production, tool_name};
use super::message::{Meta, ToolCall, look_alike};
use super::reports::Reports;
use super::scan;
use super::tools::Seen;

const RESOURCE: &str = "resources/read";
const PROMPT: &str = "prompts/get";
/// Longer arguments of a prompt are written down as their digest.
const LONGEST: usize = 8 << 10;

/// Whether a method looks at something.
pub fn is_look(method: &str) -> bool {
    matches!(method, RESOURCE | PROMPT)
}

/// What a call would have as its arguments. Nothing where the server has to say what is wrong; an
/// error where a server could read what we cannot.
pub fn arguments(method: &str, params: &Value<'_>) -> Result<Option<String>, String> {
    look_alike(params, &["uri", "name", "arguments", "requestState", "inputResponses"])?;
    Ok(written(method, params))
}

fn written(method: &str, params: &Value<'_>) -> Option<String> {
    let text = |name: &str| params.get(name).and_then(Value::as_str);
    if method == RESOURCE {
        let uri = text("uri")?;
        // A scheme has no case: what is read by its name must be.
        let uri = match uri.split_once(':') {
            Some((scheme, rest)) => format!("{}:{rest}", scheme.to_ascii_lowercase()),
            None => uri.to_owned(),
        };
        return Some(serde_json::json!({ "uri": uri }).to_string());
    }
    let name = serde_json::Value::from(text("name")?);
    let given = params.get("arguments").map(Value::to_json);
    Some(match given {
        Some(given) if given.len() > LONGEST => {
            format!("{{\"name\":{name},\"digest\":\"{}\"}}", Digest::of(given.as_bytes()))
        }
        Some(given) => format!("{{\"name\":{name},\"arguments\":{given}}}"),
        None => format!("{{\"name\":{name}}}"),
    })
}

/// The same as a call, so that it can be asked about and wait like one.
pub fn as_call<'a>(
    method: &'a str,
    raw: &'a str,
    text: &'a str,
    params: &Value<'_>,
) -> Result<ToolCall<'a>, String> {
    let written = scan::member(text, "params").and_then(scan::members).unwrap_or_default();
    let member = |key: &str| written.iter().find(|(name, _)| name == key).map(|(_, text)| *text);
    Ok(ToolCall {
        name: method,
        arguments: json::parse(raw).map_err(|error| error.to_string())?,
        raw,
        meta: Meta::of(params),
        state: member("requestState"),
        responses: member("inputResponses"),
        is_look: true,
    })
}

/// Judges one. What passes is on its way into the ledger; what cannot get there is asked about.
pub fn judged(server: &str, call: &ToolCall<'_>, reports: &Reports) -> Judged {
    let tool = tool_name(server, call.name);
    if !needs_person(&tool, call) && reports.passes(&tool, call.raw) {
        return Judged::Pass { tool };
    }
    ask(&tool, call, &Seen::default())
}

/// A server's own names are its own business; files and hosts of this machine are not.
fn needs_person(tool: &str, call: &ToolCall<'_>) -> bool {
    if call.name != RESOURCE {
        return false;
    }
    let uri = call.arguments.get("uri").and_then(Value::as_str).unwrap_or_default();
    let is_file = uri.starts_with("file:");
    let seen = assess(&in_production(tool, call, Annotations::default()), &Policy::default());
    seen.verdict != Verdict::Allow || is_file && !passes_everywhere(&seen)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asks(uri: &str) -> bool {
        let params = serde_json::json!({ "uri": uri }).to_string();
        let params = json::parse(&params).unwrap();
        let raw = arguments(RESOURCE, &params).unwrap().unwrap();
        let call = as_call(RESOURCE, &raw, "{}", &params).unwrap();
        needs_person(&tool_name("files", call.name), &call)
    }

    #[test]
    fn a_resource_is_asked_about_where_a_tool_that_reads_it_would_be() {
        for uri in [
            "file:///home/u/.ssh/id_rsa",
            "FILE:///home/u/.ssh/id_rsa",
            "file://localhost/home/u/%2essh/id_rsa",
            "file:///srv/../etc/shadow",
            "/home/u/.ssh/id_rsa",
            "http://169.254.169.254/latest/meta-data/",
        ] {
            assert!(asks(uri), "{uri}");
        }
        for uri in [
            "file:///srv/notes.txt",
            "test://static-text",
            "test://template/123/data",
            "demo://resource/static/document/architecture.md",
            "note://a",
            "https://example.org/a",
        ] {
            assert!(!asks(uri), "{uri}");
        }
    }

    #[test]
    fn what_is_written_down_is_short_and_what_two_readers_could_read_differently_is_refused() {
        let long = format!("{{\"name\":\"p\",\"arguments\":{{\"a\":\"{}\"}}}}", "x".repeat(9000));
        let long = json::parse(&long).unwrap();
        assert!(arguments(PROMPT, &long).unwrap().unwrap().len() < 200);
        for text in [r#"{"uri":"note://a","URI":"file:///etc/shadow"}"#, r#"{"URI":"note://a"}"#] {
            assert!(arguments(RESOURCE, &json::parse(text).unwrap()).is_err(), "{text}");
        }
        let nothing = json::parse(r#"{"uri":7}"#).unwrap();
        assert_eq!(arguments(RESOURCE, &nothing), Ok(None));
    }
}
