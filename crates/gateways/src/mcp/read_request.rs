//! Requests that read a resource or a prompt: planned and recorded like tool calls.

use countersign_json as json;
use countersign_json::Value;
use countersign_json::canonical::Digest;

use super::message::{RequestMeta, ToolCall, reject_lookalikes};
use super::plan::RESOURCE;
use super::raw_json;

const PROMPT: &str = "prompts/get";
/// Longer arguments of a prompt are recorded as their digest.
const MAX_ARGUMENTS: usize = 8 << 10;

/// Whether a method reads a resource or a prompt.
pub fn is_read_only(method: &str) -> bool {
    matches!(method, RESOURCE | PROMPT)
}

/// The arguments that the ledger gets. Nothing if the request is incomplete, which the server
/// reports; an error if the server could read a member that we do not.
pub fn recorded_arguments(method: &str, params: &Value<'_>) -> Result<Option<String>, String> {
    reject_lookalikes(params, &["uri", "name", "arguments", "requestState", "inputResponses"])?;
    Ok(recorded(method, params))
}

fn recorded(method: &str, params: &Value<'_>) -> Option<String> {
    let text = |name: &str| params.get(name).and_then(Value::as_str);
    if method == RESOURCE {
        let uri = text("uri")?;
        // Schemes are compared in lower case.
        let uri = match uri.split_once(':') {
            Some((scheme, rest)) => format!("{}:{rest}", scheme.to_ascii_lowercase()),
            None => uri.to_owned(),
        };
        return Some(serde_json::json!({ "uri": uri }).to_string());
    }
    let name = serde_json::Value::from(text("name")?);
    let given = params.get("arguments").map(Value::to_json);
    Some(match given {
        Some(given) if given.len() > MAX_ARGUMENTS => {
            format!("{{\"name\":{name},\"digest\":\"{}\"}}", Digest::of(given.as_bytes()))
        }
        Some(given) => format!("{{\"name\":{name},\"arguments\":{given}}}"),
        None => format!("{{\"name\":{name}}}"),
    })
}

/// The request as a call, so that it can be asked about and wait like one.
pub fn as_call<'a>(
    method: &'a str,
    raw: &'a str,
    text: &'a str,
    params: &Value<'_>,
) -> Result<ToolCall<'a>, String> {
    let written = raw_json::member(text, "params").and_then(raw_json::members).unwrap_or_default();
    let member = |key: &str| written.iter().find(|(name, _)| name == key).map(|(_, text)| *text);
    Ok(ToolCall {
        name: method,
        arguments: json::parse(raw).map_err(|error| error.to_string())?,
        raw,
        meta: RequestMeta::of(params),
        state: member("requestState"),
        responses: member("inputResponses"),
        is_read: true,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_short_and_ambiguous_members_are_rejected() {
        let scheme = json::parse(r#"{"uri":"FILE:///a"}"#).unwrap();
        let recorded = r#"{"uri":"file:///a"}"#.to_owned();
        assert_eq!(recorded_arguments(RESOURCE, &scheme), Ok(Some(recorded)));
        let long = format!("{{\"name\":\"p\",\"arguments\":{{\"a\":\"{}\"}}}}", "x".repeat(9000));
        let long = json::parse(&long).unwrap();
        assert!(recorded_arguments(PROMPT, &long).unwrap().unwrap().len() < 200);
        for text in [r#"{"uri":"note://a","URI":"file:///etc/shadow"}"#, r#"{"URI":"note://a"}"#] {
            assert!(recorded_arguments(RESOURCE, &json::parse(text).unwrap()).is_err(), "{text}");
        }
        let nothing = json::parse(r#"{"uri":7}"#).unwrap();
        assert_eq!(recorded_arguments(RESOURCE, &nothing), Ok(None));
    }
}
