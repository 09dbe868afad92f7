//! What a server says, as far as it concerns the gate. Read leniently: the bytes pass in any case.

use countersign_json as json;
use countersign_json::Value;

use super::message::Id;
use super::scan;

/// A message that concerns us.
#[derive(Debug, PartialEq)]
pub enum Heard<'a> {
    /// An answer; the text of its result or of its error.
    Answer { id: Id, result: Result<&'a str, &'a str> },
    /// How far a call is.
    Progress { token: Id, value: f64 },
    /// The tools are other ones now.
    ListChanged,
}

/// Takes a message apart.
pub fn read(text: &str) -> Option<Heard<'_>> {
    let members = scan::members(text)?;
    let member = |name: &str| members.iter().find(|(key, _)| key == name).map(|(_, value)| *value);
    if let Some(method) = member("method").and_then(scan::plain) {
        return match method.as_ref() {
            "notifications/tools/list_changed" => Some(Heard::ListChanged),
            "notifications/progress" => {
                let params = member("params")?;
                let token = Id::read(scan::member(params, "progressToken")?)?;
                let value = scan::member(params, "progress")?.parse().ok()?;
                Some(Heard::Progress { token, value })
            }
            _ => None,
        };
    }
    let id = Id::read(member("id")?)?;
    let result = match (member("result"), member("error")) {
        (Some(result), None) => Ok(result),
        (_, error) => Err(error?),
    };
    Some(Heard::Answer { id, result })
}

/// Whether a message is a notice of no more progress than this.
pub fn is_progress_within(text: &str, claimed: f64) -> bool {
    matches!(read(text), Some(Heard::Progress { value, .. }) if value <= claimed)
}

/// The protocol version that a server agreed on.
pub fn version(result: &str) -> Option<String> {
    scan::plain(scan::member(result, "protocolVersion")?).map(std::borrow::Cow::into_owned)
}

/// Whether a tool's result says that it failed.
pub fn is_error(result: &str) -> bool {
    scan::member(result, "isError") == Some("true")
}

/// The state with which a server wants the call again, as it is written.
pub fn asks_for_more(result: &str) -> Option<&str> {
    let kind = scan::plain(scan::member(result, "resultType")?)?;
    (kind == "input_required").then(|| scan::member(result, "requestState")).flatten()
}

/// The same text read as a value, for comparing.
pub fn same_text(a: &str, b: &str) -> bool {
    let text = |written: &str| match json::parse(written) {
        Ok(Value::String(text)) => Some(text.into_owned()),
        _ => None,
    };
    text(a).is_some_and(|a| Some(a) == text(b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_and_notices_are_told_apart() {
        let answer = read("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"isError\":true}}\n");
        let Some(Heard::Answer { id, result: Ok(result) }) = answer else { panic!("{answer:?}") };
        assert_eq!(Some(id), Id::read("1"));
        assert!(is_error(result));
        let more = "{\"resultType\":\"input_required\",\"requestState\":\"s\"}";
        assert_eq!(asks_for_more(more), Some("\"s\""));
        assert_eq!(asks_for_more("{\"requestState\":\"s\"}"), None);
        let changed = "{\"method\":\"notifications/tools/list_changed\"}";
        assert_eq!(read(changed), Some(Heard::ListChanged));
        for other in ["", "no json", "{}", "{\"id\":1}", "{\"id\":1,\"method\":\"roots/list\"}"] {
            assert_eq!(read(other), None, "{other}");
        }
    }
}
