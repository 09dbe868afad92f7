//! Messages of a server, as far as the proxy uses them. Read leniently: the bytes pass anyway.

use countersign_json as json;
use countersign_json::Value;

use super::message::RequestId;
use super::raw_json;

/// A message of a server that the proxy uses.
#[derive(Debug, PartialEq)]
pub enum ServerMessage<'a> {
    /// A response; the text of its result or of its error.
    Response { id: RequestId, result: Result<&'a str, &'a str> },
    /// A progress notification.
    Progress { token: RequestId, value: f64 },
    /// A notice that the list of tools has changed.
    ListChanged,
}

/// Reads a message; nothing if the proxy does not use it.
pub fn read(text: &str) -> Option<ServerMessage<'_>> {
    let members = raw_json::members(text)?;
    let member = |name: &str| members.iter().find(|(key, _)| key == name).map(|(_, value)| *value);
    if let Some(method) = member("method").and_then(raw_json::unquote) {
        return match method.as_ref() {
            "notifications/tools/list_changed" => Some(ServerMessage::ListChanged),
            "notifications/progress" => {
                let params = member("params")?;
                let token = RequestId::read(raw_json::member(params, "progressToken")?)?;
                let value = raw_json::member(params, "progress")?.parse().ok()?;
                Some(ServerMessage::Progress { token, value })
            }
            _ => None,
        };
    }
    let id = RequestId::read(member("id")?)?;
    let result = match (member("result"), member("error")) {
        (Some(result), None) => Ok(result),
        (_, error) => Err(error?),
    };
    Some(ServerMessage::Response { id, result })
}

/// Whether a message is a progress notification of at most this value.
pub fn is_progress_within(text: &str, claimed: f64) -> bool {
    matches!(read(text), Some(ServerMessage::Progress { value, .. }) if value <= claimed)
}

/// The protocol version in a response to `initialize`.
pub fn version(result: &str) -> Option<String> {
    raw_json::unquote(raw_json::member(result, "protocolVersion")?)
        .map(std::borrow::Cow::into_owned)
}

/// Whether a tool's result is an error.
pub fn is_error(result: &str) -> bool {
    raw_json::member(result, "isError") == Some("true")
}

/// The text of `requestState` in a result that asks the client for more input.
pub fn requested_state(result: &str) -> Option<&str> {
    let kind = raw_json::unquote(raw_json::member(result, "resultType")?)?;
    (kind == "input_required").then(|| raw_json::member(result, "requestState")).flatten()
}

/// Whether two JSON texts are the same string.
pub fn is_same_string(a: &str, b: &str) -> bool {
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
    fn responses_and_notifications_are_distinguished() {
        let answer = read("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"isError\":true}}\n");
        let Some(ServerMessage::Response { id, result: Ok(result) }) = answer else {
            panic!("{answer:?}")
        };
        assert_eq!(Some(id), RequestId::read("1"));
        assert!(is_error(result));
        let more = "{\"resultType\":\"input_required\",\"requestState\":\"s\"}";
        assert_eq!(requested_state(more), Some("\"s\""));
        assert_eq!(requested_state("{\"requestState\":\"s\"}"), None);
        let changed = "{\"method\":\"notifications/tools/list_changed\"}";
        assert_eq!(read(changed), Some(ServerMessage::ListChanged));
        for other in ["", "no json", "{}", "{\"id\":1}", "{\"id\":1,\"method\":\"roots/list\"}"] {
            assert_eq!(read(other), None, "{other}");
        }
    }
}
