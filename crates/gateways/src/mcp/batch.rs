//! Batches of messages, which one protocol version has: accepted or rejected as a whole.

use countersign_risk::batch::plan;
use countersign_risk::call::{Annotations, Call};
use countersign_risk::tools::mcp_tool_name as tool_name;
use countersign_risk::verdict::Policy;

use super::message::{self, ClientMessage, RequestId, ToolCall};
use super::plan::as_production_call;
use super::replies;

/// Longer batches are rejected: one person has to look through all of it.
const MAX_MESSAGES: usize = 100;

/// A message of a batch.
#[derive(Debug)]
pub struct BatchMember<'a> {
    /// Its text.
    pub text: &'a str,
    /// A request, a notification or a response.
    pub kind: ClientMessage<'a>,
}

impl BatchMember<'_> {
    /// The id, if it is a request.
    pub fn id(&self) -> Option<&RequestId> {
        match &self.kind {
            ClientMessage::Request { id, .. } => Some(id),
            _ => None,
        }
    }

    /// Whether it is a tool call.
    pub fn is_call(&self) -> bool {
        matches!(&self.kind, ClientMessage::Request { method, .. } if method == "tools/call")
    }
}

/// Reads a batch. One invalid message rejects all: the error is the response to the client.
pub fn read<'a>(parts: &[&'a str]) -> Result<Vec<BatchMember<'a>>, String> {
    if parts.len() > MAX_MESSAGES {
        let why = format!("a batch has at most {MAX_MESSAGES} messages");
        return Err(replies::error("null", -32600, &why));
    }
    let mut members: Vec<BatchMember<'a>> = Vec::with_capacity(parts.len());
    let mut wrong: Vec<String> = Vec::new();
    for text in parts {
        let why = match message::parse(text) {
            Ok(ClientMessage::Batch(_) | ClientMessage::Blank) => {
                "there is a batch inside the batch"
            }
            Ok(ClientMessage::Notification { method, .. }) if method == "tools/call" => {
                "a call without an id is not run"
            }
            Ok(ClientMessage::Request { method, .. }) if is_initialize(&method) => {
                "initialize must not be in a batch"
            }
            Ok(ClientMessage::Request { id, .. })
                if members.iter().any(|one| one.id() == Some(&id)) =>
            {
                "two messages have the same id"
            }
            Ok(kind) => {
                members.push(BatchMember { text, kind });
                continue;
            }
            Err(invalid) => {
                wrong.push(replies::error(&invalid.id, invalid.code, &invalid.why));
                continue;
            }
        };
        wrong.push(replies::error("null", -32600, why));
    }
    if wrong.is_empty() { Ok(members) } else { Err(rejection(&members, wrong)) }
}

fn is_initialize(method: &str) -> bool {
    matches!(method, "initialize" | "server/discover")
}

/// The response to a batch of which nothing runs, with an error for each request.
pub fn rejection(members: &[BatchMember<'_>], mut wrong: Vec<String>) -> String {
    for member in members {
        if let ClientMessage::Request { written, .. } = &member.kind {
            let why = "not run: another message of this batch is invalid";
            wrong.push(replies::error(written, -32600, why));
        }
    }
    format!("[{}]", wrong.join(","))
}

/// Which calls may run in parallel, by their index; one stage after the other.
pub fn stages<'a>(server: &str, calls: impl Iterator<Item = &'a ToolCall<'a>>) -> Vec<Vec<usize>> {
    let calls: Vec<Call<'_>> = calls
        .map(|call| as_production_call(tool_name(server, call.name), call, Annotations::default()))
        .collect();
    plan(&calls, &Policy::default()).stages
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_invalid_message_rejects_the_batch_with_an_error_for_each_request() {
        let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
        let notice = r#"{"jsonrpc":"2.0","method":"notifications/x"}"#;
        assert_eq!(read(&[ping, notice]).unwrap().len(), 2);
        for odd in [
            r#"{"jsonrpc":"2.0","id":1.0,"method":"tools/list"}"#,
            r#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"a"}}"#,
            r#"{"jsonrpc":"2.0","id":2,"method":"initialize"}"#,
            r#"{"jsonrpc":"2.0","id":2,"method":"Tools/Call"}"#,
            r#"[{"jsonrpc":"2.0","id":2,"method":"ping"}]"#,
            "[]",
            "7",
        ] {
            let answer = read(&[ping, notice, odd]).unwrap_err();
            let answer: serde_json::Value = serde_json::from_str(&answer).unwrap();
            let answers = answer.as_array().unwrap();
            assert_eq!(answers.len(), 2, "{odd}: {answer}");
            assert!(answers.iter().any(|one| one["id"] == 1), "{odd}: {answer}");
            assert!(answers.iter().all(|one| one["error"]["code"] == -32600), "{odd}: {answer}");
        }
        assert!(read(&vec![notice; MAX_MESSAGES + 1]).is_err());
    }
}
