//! What a client says, read strictly: what two programs could read differently is refused.

use std::borrow::Cow;
use std::fmt;

use countersign_json as json;
use countersign_json::Value;

use super::scan;

/// The longest message that is taken from a client.
pub const LONGEST: usize = 64 << 20;

/// The first version without sessions and server requests.
pub const MODERN: &str = "2026-07-28";
/// The one version that knows batches.
pub const BATCHES: &str = "2025-03-26";

const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
const CLIENT: &str = "io.modelcontextprotocol/clientInfo";
const TASKS: &str = "io.modelcontextprotocol/tasks";

/// The members of a message that decide what it is.
const OF_A_MESSAGE: [&str; 6] = ["jsonrpc", "id", "method", "params", "result", "error"];
/// The same of a call.
const OF_A_CALL: [&str; 6] =
    ["name", "arguments", "_meta", "inputResponses", "requestState", "task"];

/// The name of a request: `1` is another one than `"1"`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Id(String);

impl Id {
    /// From a value that may be one.
    pub fn of(value: &Value<'_>) -> Option<Id> {
        match value {
            Value::Number(_) | Value::String(_) => {
                Some(Id(countersign_json::canonical::canonical(value).text))
            }
            _ => None,
        }
    }

    /// From its text.
    pub fn read(text: &str) -> Option<Id> {
        Id::of(&json::parse(text).ok()?)
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What a message of a client is.
#[derive(Debug)]
pub enum Kind<'a> {
    /// Wants an answer.
    Request { id: Id, written: &'a str, method: Cow<'a, str>, params: Value<'a> },
    /// Wants none.
    Notification { method: Cow<'a, str>, params: Value<'a> },
    /// Answers the server.
    Response,
    /// Several at once, as they are written.
    Batch(Vec<&'a str>),
    /// A line with nothing on it.
    Blank,
}

/// Why a message is not passed on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// The text of its id, or `null`.
    pub id: String,
    /// By JSON-RPC.
    pub code: i32,
    /// In words.
    pub why: String,
}

impl Refused {
    fn new(code: i32, why: impl Into<String>) -> Refused {
        Refused { id: "null".to_owned(), code, why: why.into() }
    }
}

/// Reads the one message of a line.
pub fn read(text: &str) -> Result<Kind<'_>, Refused> {
    let text = text.trim_end_matches('\n');
    let text = text.strip_suffix('\r').unwrap_or(text);
    // Some servers end a line at a bare CR: they would see messages that nobody judged.
    if text.contains('\r') {
        return Err(Refused::new(-32700, "a carriage return stands inside the message"));
    }
    parse(text)
}

/// Reads one message, however many lines it takes.
pub fn parse(text: &str) -> Result<Kind<'_>, Refused> {
    if text.trim_matches([' ', '\t', '\r', '\n']).is_empty() {
        return Ok(Kind::Blank);
    }
    let value = json::parse_within(text, LONGEST).map_err(|error| {
        Refused::new(-32700, format!("this is not JSON as it should be: {error}"))
    })?;
    match value {
        Value::Object(_) => one(text, value),
        Value::Array(_) => {
            let parts = scan::items(text).filter(|parts| !parts.is_empty());
            parts.map(Kind::Batch).ok_or_else(|| Refused::new(-32600, "an empty batch"))
        }
        other => Err(Refused::new(-32600, format!("a message is not {}", other.kind()))),
    }
}

fn one<'a>(text: &'a str, value: Value<'a>) -> Result<Kind<'a>, Refused> {
    let written = scan::member(text, "id");
    let id = value.get("id").and_then(Id::of);
    let wrong = |why: String| Refused {
        id: id.as_ref().and(written).unwrap_or("null").to_owned(),
        code: -32600,
        why,
    };
    look_alike(&value, &OF_A_MESSAGE).map_err(wrong)?;
    let Value::Object(members) = value else {
        return Err(wrong("a message is an object".to_owned()));
    };
    let mut params = Value::Null;
    let (mut method, mut named, mut answers) = (None, false, false);
    for (key, member) in members {
        match (key.as_ref(), member) {
            ("method", Value::String(name)) => method = Some(name),
            ("method", _) => return Err(wrong("the method is no text".to_owned())),
            ("params", found) => params = found,
            ("id", _) => named = true,
            ("result" | "error", _) => answers = true,
            _ => {}
        }
    }
    match (method, id.clone(), answers) {
        (Some(_), _, true) => Err(wrong("it asks and answers at once".to_owned())),
        (Some(_), None, false) if named => Err(wrong("the id is no text and no number".to_owned())),
        (Some(method), found, false) => {
            if method != "tools/call" && squeezed(&method) == "tools/call" {
                return Err(wrong("the method only looks like tools/call".to_owned()));
            }
            Ok(match (found, written) {
                (Some(id), Some(written)) => Kind::Request { id, written, method, params },
                _ => Kind::Notification { method, params },
            })
        }
        (None, _, true) => Ok(Kind::Response),
        (None, _, false) => Err(wrong("it has neither a method nor a result".to_owned())),
    }
}

/// Refuses members that some readers take for another one: those that differ in case alone.
pub fn look_alike(value: &Value<'_>, meant: &[&str]) -> Result<(), String> {
    for (key, _) in value.as_object().unwrap_or_default() {
        let alike = meant.iter().find(|name| **name != key && folded(name) == folded(key));
        if let Some(name) = alike {
            return Err(format!("a member only looks like `{name}`"));
        }
    }
    Ok(())
}

/// Case folded as the most generous readers do it.
fn folded(text: &str) -> String {
    text.replace('ſ', "s").to_lowercase()
}

fn squeezed(method: &str) -> String {
    let kept =
        |c: &char| !c.is_whitespace() && !c.is_control() && *c != '\u{200B}' && *c != '\u{FEFF}';
    folded(&method.chars().filter(kept).collect::<String>()).replace('\\', "/")
}

/// A proposed `tools/call`.
#[derive(Debug)]
pub struct ToolCall<'a> {
    /// The tool, by its server's name for it.
    pub name: &'a str,
    /// Its arguments, read.
    pub arguments: Value<'a>,
    /// The text of them.
    pub raw: &'a str,
    /// What is said beside it.
    pub meta: Meta,
    /// The state that a server gave for the next try, as it is written.
    pub state: Option<&'a str>,
    /// What a client answers to a server's questions, as it is written.
    pub responses: Option<&'a str>,
    /// Whether it is no call but looks at a resource or a prompt.
    pub is_look: bool,
}

/// What stands in `_meta`, and what follows from it.
#[derive(Debug, Clone, Default)]
pub struct Meta {
    /// The host's own name for the call.
    pub call_id: Option<String>,
    /// The text of the token for notices of progress.
    pub progress: Option<String>,
    /// The protocol's version; only modern clients say it with each request.
    pub version: Option<String>,
    /// The text of what the client can do.
    pub capabilities: Option<String>,
    /// The client's name.
    pub client: Option<String>,
    /// Whether the client can wait for a task.
    pub tasks: bool,
}

impl Meta {
    /// From the params of any request.
    pub fn of(params: &Value<'_>) -> Meta {
        let Some(meta) = params.get("_meta") else { return Meta::default() };
        let text = |key: &str| meta.get(key).and_then(Value::as_str).map(ToOwned::to_owned);
        let capabilities = meta.get(CAPABILITIES);
        let tasks = capabilities.and_then(|can| can.get("extensions")?.get(TASKS));
        let client = meta.get(CLIENT).and_then(|info| info.get("name")).and_then(Value::as_str);
        let progress = meta.get("progressToken");
        let progress = progress.filter(|token| Id::of(token).is_some());
        Meta {
            call_id: text("claudecode/toolUseId").or_else(|| text("callId")),
            progress: progress.map(Value::to_json),
            version: text(VERSION),
            capabilities: capabilities.map(Value::to_json),
            client: client.map(ToOwned::to_owned),
            tasks: tasks.is_some(),
        }
    }

    /// Whether it was said in the modern way.
    pub fn is_modern(&self) -> bool {
        self.version.as_deref().is_some_and(|version| version >= MODERN)
    }

    /// The same for a request of our own.
    pub fn for_ours(&self) -> Option<String> {
        let version = self.version.as_deref()?;
        let version = serde_json::Value::from(version);
        let capabilities = self.capabilities.as_deref().unwrap_or("{}");
        Some(format!("{{\"{VERSION}\":{version},\"{CAPABILITIES}\":{capabilities}}}"))
    }
}

/// Reads the params of a `tools/call`. The error is for people who look at what a client did.
pub fn tool_call<'a>(text: &'a str, params: &'a Value<'a>) -> Result<ToolCall<'a>, String> {
    if params.as_object().is_none() {
        return Err("the params are no object".to_owned());
    }
    look_alike(params, &OF_A_CALL)?;
    let name = params.get("name").and_then(Value::as_str).filter(|name| !name.is_empty());
    let name = name.ok_or("the tool's name is missing")?;
    let written = scan::member(text, "params").and_then(scan::members).unwrap_or_default();
    let raw = |key: &str| {
        let found = written.iter().find(|(name, _)| name == key).map(|(_, text)| *text);
        found.filter(|text| *text != "null")
    };
    let (arguments, raw_arguments) = match (params.get("arguments"), raw("arguments")) {
        (Some(object @ Value::Object(_)), Some(raw)) => (object.reborrow(), raw),
        (None | Some(Value::Null), None) => (Value::Object(Vec::new()), "{}"),
        _ => return Err("the arguments are no object".to_owned()),
    };
    Ok(ToolCall {
        name,
        arguments,
        raw: raw_arguments,
        meta: Meta::of(params),
        state: raw("requestState"),
        responses: raw("inputResponses"),
        is_look: false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> i32 {
        match read(text) {
            Ok(found) => panic!("{text}: {found:?}"),
            Err(refused) => refused.code,
        }
    }

    #[test]
    fn what_two_readers_could_read_differently_is_refused() {
        for bad in [
            "no json",
            "{\"method\":\"ping\",\"method\":\"tools/call\",\"id\":1}",
            "{\"id\":1,\"method\":\"ping\",\"params\":{\"n\":NaN}}",
            "{\"id\":1,\"method\":\"ping\"}{\"id\":2,\"method\":\"tools/call\"}",
            "{\"x\":\r{\"id\":2,\"method\":\"tools/call\"}\r}",
            "{\"id\":1,\"method\":\"p\",\"params\":{\"a\":\"\\ud800\"}}",
        ] {
            assert_eq!(refused(bad), -32700, "{bad}");
        }
        let deep = format!("{{\"a\":{}{}}}", "[".repeat(200), "]".repeat(200));
        assert_eq!(refused(&deep), -32700);
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
            assert_eq!(refused(bad), -32600, "{bad}");
        }
    }

    #[test]
    fn ids_keep_their_kind() {
        assert_ne!(Id::read("1"), Id::read("\"1\""));
        assert_eq!(Id::read("1"), Id::read("1.0"));
        assert_eq!(Id::read("null"), None);
        assert_eq!(Id::read("true"), None);
    }

    fn call(params: &str) -> Result<(String, String, Meta), String> {
        let text = format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{params}}}"
        );
        let Kind::Request { params, .. } = read(&text).unwrap() else { panic!("no request") };
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
