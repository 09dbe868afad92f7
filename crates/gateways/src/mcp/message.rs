//! Messages of a client, read strictly: what two programs could read differently is rejected.

use std::borrow::Cow;
use std::fmt;

use countersign_json as json;
use countersign_json::Value;

use super::raw_json;
use crate::agents::AGENTS;

/// The longest message that is accepted.
pub const MAX_MESSAGE: usize = 64 << 20;

/// The first protocol version without sessions and server requests.
pub const MODERN: &str = "2026-07-28";
/// The one protocol version with batches.
pub const BATCH_VERSION: &str = "2025-03-26";

const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
const CLIENT: &str = "io.modelcontextprotocol/clientInfo";
const TASKS: &str = "io.modelcontextprotocol/tasks";

/// The members of a message that decide what it is.
const MESSAGE_MEMBERS: [&str; 6] = ["jsonrpc", "id", "method", "params", "result", "error"];
/// The members of a call that decide what it does.
const CALL_MEMBERS: [&str; 6] =
    ["name", "arguments", "_meta", "inputResponses", "requestState", "task"];

/// The id of a request. The ids `1` and `"1"` differ.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RequestId(String);

impl RequestId {
    /// From a JSON value; nothing if the value cannot be an id.
    pub fn of(value: &Value<'_>) -> Option<RequestId> {
        match value {
            Value::Number(_) | Value::String(_) => {
                Some(RequestId(countersign_json::canonical::canonical(value).text))
            }
            _ => None,
        }
    }

    /// From JSON text.
    pub fn read(text: &str) -> Option<RequestId> {
        RequestId::of(&json::parse(text).ok()?)
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A message of a client.
#[derive(Debug)]
pub enum ClientMessage<'a> {
    /// A request; `written` is the text of its id.
    Request { id: RequestId, written: &'a str, method: Cow<'a, str>, params: Value<'a> },
    /// A notification.
    Notification { method: Cow<'a, str>, params: Value<'a> },
    /// A response to a request of the server.
    Response,
    /// Several messages, as they are written.
    Batch(Vec<&'a str>),
    /// An empty line.
    Blank,
}

/// Why a message is not forwarded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidMessage {
    /// The text of its id, or `null`.
    pub id: String,
    /// The JSON-RPC error code.
    pub code: i32,
    /// What is wrong.
    pub why: String,
}

impl InvalidMessage {
    fn new(code: i32, why: impl Into<String>) -> InvalidMessage {
        InvalidMessage { id: "null".to_owned(), code, why: why.into() }
    }
}

/// Reads the message of one line.
pub fn read(text: &str) -> Result<ClientMessage<'_>, InvalidMessage> {
    let text = text.trim_end_matches('\n');
    let text = text.strip_suffix('\r').unwrap_or(text);
    // Some servers end a line at a bare CR: they would see messages that no one checked.
    if text.contains('\r') {
        return Err(InvalidMessage::new(-32700, "there is a carriage return inside the message"));
    }
    parse(text)
}

/// Reads one message, which may have several lines.
pub fn parse(text: &str) -> Result<ClientMessage<'_>, InvalidMessage> {
    if text.trim_matches([' ', '\t', '\r', '\n']).is_empty() {
        return Ok(ClientMessage::Blank);
    }
    let value = json::parse_within(text, MAX_MESSAGE)
        .map_err(|error| InvalidMessage::new(-32700, format!("this is not valid JSON: {error}")))?;
    match value {
        Value::Object(_) => one(text, value),
        Value::Array(_) => {
            let parts = raw_json::items(text).filter(|parts| !parts.is_empty());
            parts
                .map(ClientMessage::Batch)
                .ok_or_else(|| InvalidMessage::new(-32600, "an empty batch"))
        }
        other => Err(InvalidMessage::new(-32600, format!("a message is not {}", other.kind()))),
    }
}

fn one<'a>(text: &'a str, value: Value<'a>) -> Result<ClientMessage<'a>, InvalidMessage> {
    let written = raw_json::member(text, "id");
    let id = value.get("id").and_then(RequestId::of);
    let wrong = |why: String| InvalidMessage {
        id: id.as_ref().and(written).unwrap_or("null").to_owned(),
        code: -32600,
        why,
    };
    reject_lookalikes(&value, &MESSAGE_MEMBERS).map_err(wrong)?;
    let Value::Object(members) = value else {
        return Err(wrong("a message is an object".to_owned()));
    };
    let mut params = Value::Null;
    let (mut method, mut named, mut answers) = (None, false, false);
    for (key, member) in members {
        match (key.as_ref(), member) {
            ("method", Value::String(name)) => method = Some(name),
            ("method", _) => return Err(wrong("the method is not a string".to_owned())),
            ("params", found) => params = found,
            ("id", _) => named = true,
            ("result" | "error", _) => answers = true,
            _ => {}
        }
    }
    match (method, id.clone(), answers) {
        (Some(_), _, true) => Err(wrong("it is a request and a response at once".to_owned())),
        (Some(_), None, false) if named => {
            Err(wrong("the id is neither a string nor a number".to_owned()))
        }
        (Some(method), found, false) => {
            if method != "tools/call" && squeezed(&method) == "tools/call" {
                return Err(wrong("the method only looks like tools/call".to_owned()));
            }
            Ok(match (found, written) {
                (Some(id), Some(written)) => ClientMessage::Request { id, written, method, params },
                _ => ClientMessage::Notification { method, params },
            })
        }
        (None, _, true) => Ok(ClientMessage::Response),
        (None, _, false) => Err(wrong("it has neither a method nor a result".to_owned())),
    }
}

/// Rejects members that some readers take for another one: those that differ in case alone.
pub fn reject_lookalikes(value: &Value<'_>, meant: &[&str]) -> Result<(), String> {
    for (key, _) in value.as_object().unwrap_or_default() {
        let alike = meant.iter().find(|name| **name != key && folded(name) == folded(key));
        if let Some(name) = alike {
            return Err(format!("a member only looks like `{name}`"));
        }
    }
    Ok(())
}

/// Case folded as the most lenient readers do it.
fn folded(text: &str) -> String {
    text.replace('ſ', "s").to_lowercase()
}

fn squeezed(method: &str) -> String {
    let kept =
        |c: &char| !c.is_whitespace() && !c.is_control() && *c != '\u{200B}' && *c != '\u{FEFF}';
    folded(&method.chars().filter(kept).collect::<String>()).replace('\\', "/")
}

/// A `tools/call` request.
#[derive(Debug)]
pub struct ToolCall<'a> {
    /// The tool, by its server's name for it.
    pub name: &'a str,
    /// The arguments, parsed.
    pub arguments: Value<'a>,
    /// The text of the arguments.
    pub raw: &'a str,
    /// The request's metadata.
    pub meta: RequestMeta,
    /// The text of `requestState`: the server's, or one of our resume tokens.
    pub state: Option<&'a str>,
    /// The text of `inputResponses`: the client's answers to the server's questions.
    pub responses: Option<&'a str>,
    /// Whether this is no tool call, but a resource or prompt that is read.
    pub is_read: bool,
}

/// The `_meta` of a request, and what follows from it.
#[derive(Debug, Clone, Default)]
pub struct RequestMeta {
    /// The host's own id for the call.
    pub call_id: Option<String>,
    /// The text of the progress token.
    pub progress: Option<String>,
    /// The protocol version; only modern clients send it with each request.
    pub version: Option<String>,
    /// The text of the client's capabilities.
    pub capabilities: Option<String>,
    /// The client's name.
    pub client: Option<String>,
    /// Whether the client supports tasks.
    pub tasks: bool,
}

impl RequestMeta {
    /// From the params of a request.
    pub fn of(params: &Value<'_>) -> RequestMeta {
        let Some(meta) = params.get("_meta") else { return RequestMeta::default() };
        let text = |key: &str| meta.get(key).and_then(Value::as_str).map(ToOwned::to_owned);
        let capabilities = meta.get(CAPABILITIES);
        let tasks = capabilities.and_then(|can| can.get("extensions")?.get(TASKS));
        let client = meta.get(CLIENT).and_then(|info| info.get("name")).and_then(Value::as_str);
        let call_id = AGENTS.iter().filter_map(|agent| agent.mcp_call_id).find_map(text);
        let progress = meta.get("progressToken");
        let progress = progress.filter(|token| RequestId::of(token).is_some());
        RequestMeta {
            call_id: call_id.or_else(|| text("callId")),
            progress: progress.map(Value::to_json),
            version: text(VERSION),
            capabilities: capabilities.map(Value::to_json),
            client: client.map(ToOwned::to_owned),
            tasks: tasks.is_some(),
        }
    }

    /// Whether the request is of a modern protocol version.
    pub fn is_modern(&self) -> bool {
        self.version.as_deref().is_some_and(|version| version >= MODERN)
    }

    /// The `_meta` for a request of our own.
    pub fn for_own_request(&self) -> Option<String> {
        let version = self.version.as_deref()?;
        let version = serde_json::Value::from(version);
        let capabilities = self.capabilities.as_deref().unwrap_or("{}");
        Some(format!("{{\"{VERSION}\":{version},\"{CAPABILITIES}\":{capabilities}}}"))
    }
}

impl ToolCall<'_> {
    /// Equal for the same call again, and for no other call.
    pub fn identity(&self) -> String {
        let arguments = countersign_json::canonical::canonical(&self.arguments);
        let arguments = if arguments.exact { self.raw } else { &arguments.text };
        format!("{}\0{arguments}", self.name)
    }
}

/// Reads the params of a `tools/call`. The error is for the client's developers.
pub fn tool_call<'a>(text: &'a str, params: &'a Value<'a>) -> Result<ToolCall<'a>, String> {
    if params.as_object().is_none() {
        return Err("the params are not an object".to_owned());
    }
    reject_lookalikes(params, &CALL_MEMBERS)?;
    let name = params.get("name").and_then(Value::as_str).filter(|name| !name.is_empty());
    let name = name.ok_or("the tool's name is missing")?;
    let written = raw_json::member(text, "params").and_then(raw_json::members).unwrap_or_default();
    let raw = |key: &str| {
        let found = written.iter().find(|(name, _)| name == key).map(|(_, text)| *text);
        found.filter(|text| *text != "null")
    };
    let (arguments, raw_arguments) = match (params.get("arguments"), raw("arguments")) {
        (Some(object @ Value::Object(_)), Some(raw)) => (object.reborrow(), raw),
        (None | Some(Value::Null), None) => (Value::Object(Vec::new()), "{}"),
        _ => return Err("the arguments are not an object".to_owned()),
    };
    Ok(ToolCall {
        name,
        arguments,
        raw: raw_arguments,
        meta: RequestMeta::of(params),
        state: raw("requestState"),
        responses: raw("inputResponses"),
        is_read: false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rejected(text: &str) -> i32 {
        match read(text) {
            Ok(found) => panic!("{text}: {found:?}"),
            Err(invalid) => invalid.code,
        }
    }

    #[test]
    fn ambiguous_messages_are_rejected() {
        for bad in [
            "no json",
            "{\"method\":\"ping\",\"method\":\"tools/call\",\"id\":1}",
            "{\"id\":1,\"method\":\"ping\",\"params\":{\"n\":NaN}}",
            "{\"id\":1,\"method\":\"ping\"}{\"id\":2,\"method\":\"tools/call\"}",
            "{\"x\":\r{\"id\":2,\"method\":\"tools/call\"}\r}",
            "{\"id\":1,\"method\":\"p\",\"params\":{\"a\":\"\\ud800\"}}",
        ] {
            assert_eq!(rejected(bad), -32700, "{bad}");
        }
        let deep = format!("{{\"a\":{}{}}}", "[".repeat(200), "]".repeat(200));
        assert_eq!(rejected(&deep), -32700);
        for bad in [
            "1",
            "\"tools/call\"",
            "[]",
            "{}",
            "{\"id\":1}",
            "{\"id\":null,\"method\":\"tools/call\"}",
            "{\"id\":[1],\"method\":\"ping\"}",
            "{\"id\":1,\"method\":\"Tools/Call\"}",
            "{\"id\":1,\"method\":\" tools/call\"}",
            "{\"id\":1,\"method\":\"tools/call\\u0000\"}",
            "{\"id\":1,\"method\":7}",
            "{\"id\":1,\"method\":\"ping\",\"Method\":\"tools/call\"}",
            "{\"id\":1,\"method\":\"ping\",\"paramſ\":{}}",
            "{\"id\":1,\"method\":\"ping\",\"result\":{}}",
        ] {
            assert_eq!(rejected(bad), -32600, "{bad}");
        }
    }

    #[test]
    fn ids_keep_their_kind() {
        assert_ne!(RequestId::read("1"), RequestId::read("\"1\""));
        assert_eq!(RequestId::read("1"), RequestId::read("1.0"));
        assert_eq!(RequestId::read("null"), None);
        assert_eq!(RequestId::read("true"), None);
    }

    fn call(params: &str) -> Result<(String, String, RequestMeta), String> {
        let text = format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{params}}}"
        );
        let ClientMessage::Request { params, .. } = read(&text).unwrap() else {
            panic!("no request")
        };
        let found = tool_call(&text, &params)?;
        Ok((found.name.to_owned(), found.raw.to_owned(), found.meta))
    }

    #[test]
    fn a_call_is_read_with_the_bytes_of_its_arguments() {
        let (name, raw, meta) = call(
            "{\"name\":\"pay\",\"arguments\":{ \"amount\" : 1.00 },\"_meta\":{\"progressToken\":7,\
             \"claudecode/toolUseId\":\"toolu_1\",\
             \"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"}}",
        )
        .unwrap();
        assert_eq!((name.as_str(), raw.as_str()), ("pay", "{ \"amount\" : 1.00 }"));
        assert_eq!(meta.call_id.as_deref(), Some("toolu_1"));
        assert_eq!(meta.progress.as_deref(), Some("7"));
        assert!(meta.is_modern());
        assert_eq!(call("{\"name\":\"x\",\"arguments\":null}").unwrap().1, "{}");
        for bad in [
            "[]",
            "{}",
            "{\"name\":\"\"}",
            "{\"name\":\"a\",\"Name\":\"b\"}",
            "{\"name\":\"a\",\"ARGUMENTS\":{}}",
            "{\"name\":\"a\",\"arguments\":[]}",
            "{\"name\":\"a\",\"arguments\":\"{}\"}",
        ] {
            assert!(call(bad).is_err(), "{bad}");
        }
    }
}
