//! Several messages in one, as one version of the protocol has them: read whole or refused.

use countersign_risk::batch::plan;
use countersign_risk::call::{Annotations, Call};
use countersign_risk::verdict::Policy;

use super::judge::{Judged, in_production, tool_name};
use super::looks;
use super::message::{self, Id, Kind, ToolCall};
use super::reports::Reports;
use super::words;

/// More messages at once are refused: one person has to look through all of them.
const MOST: usize = 100;

/// A message, and how it is written.
#[derive(Debug)]
pub struct Member<'a> {
    /// Its bytes.
    pub text: &'a str,
    /// What it is: a request, a notification or a response.
    pub kind: Kind<'a>,
}

impl Member<'_> {
    /// The name of a request.
    pub fn id(&self) -> Option<&Id> {
        match &self.kind {
            Kind::Request { id, .. } => Some(id),
            _ => None,
        }
    }

    /// Whether it is a call.
    pub fn is_call(&self) -> bool {
        matches!(&self.kind, Kind::Request { method, .. } if method == "tools/call")
    }
}

/// Reads all of them. One that cannot be taken refuses all: the error is the answer to the client.
pub fn read<'a>(parts: &[&'a str]) -> Result<Vec<Member<'a>>, String> {
    if parts.len() > MOST {
        let why = format!("a batch has at most {MOST} messages");
        return Err(words::error("null", -32600, &why));
    }
    let mut members: Vec<Member<'a>> = Vec::with_capacity(parts.len());
    let mut wrong: Vec<String> = Vec::new();
    for text in parts {
        let why = match message::parse(text) {
            Ok(Kind::Batch(_) | Kind::Blank) => "a batch stands inside a batch",
            Ok(Kind::Notification { method, .. }) if method == "tools/call" => {
                "a call without an id is not run"
            }
            Ok(Kind::Request { method, .. }) if is_greeting(&method) => {
                "a greeting does not stand in a batch"
            }
            Ok(Kind::Request { id, .. }) if members.iter().any(|one| one.id() == Some(&id)) => {
                "two messages have one id"
            }
            Ok(kind) => {
                members.push(Member { text, kind });
                continue;
            }
            Err(no) => {
                wrong.push(words::error(&no.id, no.code, &no.why));
                continue;
            }
        };
        wrong.push(words::error("null", -32600, why));
    }
    if wrong.is_empty() { Ok(members) } else { Err(refused(&members, wrong)) }
}

fn is_greeting(method: &str) -> bool {
    matches!(method, "initialize" | "server/discover")
}

/// The answer to a batch of which nothing runs: every request in it hears of that.
pub fn refused(members: &[Member<'_>], mut wrong: Vec<String>) -> String {
    for member in members {
        if let Kind::Request { written, .. } = &member.kind {
            let why = "not run: something else in this batch is wrong";
            wrong.push(words::error(written, -32600, why));
        }
    }
    format!("[{}]", wrong.join(","))
}

/// What cannot stand in a batch: a look that a person must be asked about. The answer to it;
/// nothing for everything else, which is on its way into the ledger then.
pub fn look(server: &str, member: &Member<'_>, reports: &Reports) -> Option<String> {
    let Kind::Request { written, method, params, .. } = &member.kind else { return None };
    if !looks::is_look(method) {
        return None;
    }
    let judged = looks::arguments(method, params).and_then(|raw| {
        let Some(raw) = raw else { return Ok(None) };
        let call = looks::as_call(method, &raw, member.text, params)?;
        Ok(Some(looks::judged(server, &call, reports)))
    });
    match judged {
        Ok(None | Some(Judged::Pass { .. })) => None,
        Ok(Some(_)) => {
            let why = "not read: a person must be asked about it; send it by itself";
            Some(words::error(written, -32600, why))
        }
        Err(why) => Some(words::error(written, -32602, &why)),
    }
}

/// Which calls may run side by side, by their place among them; one stage after the other.
pub fn stages<'a>(server: &str, calls: impl Iterator<Item = &'a ToolCall<'a>>) -> Vec<Vec<usize>> {
    let calls: Vec<Call<'_>> = calls
        .map(|call| in_production(tool_name(server, call.name), call, Annotations::default()))
        .collect();
    plan(&calls, &Policy::default()).stages
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_odd_refuses_the_whole_batch_and_every_request_hears_of_it() {
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
        assert!(read(&vec![notice; MOST + 1]).is_err());
    }
}
