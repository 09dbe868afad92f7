//! How the vendors' models speak: what they are offered, what they are told, how they answer.

use serde_json::{Value, json};

use super::http::Event;
use super::model::Proposal;

/// One vendor's way to speak.
pub struct Tongue {
    /// The end of the path that speaks it.
    ends: &'static [&'static str],
    /// The tools that a question offers.
    pub offered: fn(&Value) -> Vec<String>,
    /// What a question tells of calls that were proposed before.
    pub told: fn(&Value) -> Vec<String>,
    /// Whether a stream is wanted.
    pub streams: fn(&str, &Value) -> bool,
    /// The events that propose a call under a name.
    pub call: fn(&Proposal, &str) -> Vec<Event>,
    /// The events that say some words and end.
    pub words: fn(&str) -> Vec<Event>,
    /// The same in one piece.
    pub whole: fn(&[Event]) -> Value,
}

const TONGUES: [Tongue; 4] = [
    Tongue {
        ends: &["/messages"],
        offered: |question| names(question.get("tools")),
        told: anthropic_told,
        streams: |_, question| question.get("stream") == Some(&Value::Bool(true)),
        call: |proposal, id| {
            let start = json!({ "type": "tool_use", "id": id, "name": proposal.tool, "input": {} });
            let text = proposal.arguments.to_string();
            let delta = json!({ "type": "input_json_delta", "partial_json": text });
            anthropic(&start, &delta, "tool_use")
        },
        words: |text| {
            let start = json!({ "type": "text", "text": "" });
            anthropic(&start, &json!({ "type": "text_delta", "text": text }), "end_turn")
        },
        whole: |_| {
            json!({
                "id": "msg_1", "type": "message", "role": "assistant", "model": "stand-in",
                "content": [{ "type": "text", "text": "Nothing." }], "stop_reason": "end_turn",
                "stop_sequence": null, "usage": { "input_tokens": 1, "output_tokens": 1 },
            })
        },
    },
    Tongue {
        ends: &["/responses"],
        offered: |question| names(question.get("tools")),
        told: |question| results(question.get("input"), "function_call_output"),
        streams: |_, _| true,
        call: |proposal, id| {
            let mut item = json!({
                "type": "function_call", "id": "fc_1", "call_id": id, "name": proposal.tool,
                "arguments": proposal.arguments.to_string(),
            });
            if let (Some(family), Some(item)) = (proposal.family, item.as_object_mut()) {
                item.insert("namespace".to_owned(), family.into());
            }
            openai(&item)
        },
        words: |text| {
            openai(&json!({
                "type": "message", "role": "assistant", "id": "msg_1",
                "content": [{ "type": "output_text", "text": text }],
            }))
        },
        whole: |events| events.last().map(|last| last.data.clone()).unwrap_or_default(),
    },
    Tongue {
        ends: &["/chat/completions"],
        offered: |question| {
            let tools = list(question.get("tools")).iter();
            let named = tools.filter_map(|tool| tool.pointer("/function/name")?.as_str());
            named.map(ToOwned::to_owned).collect()
        },
        told: |question| {
            let is = |message: &&Value| message.get("role").is_some_and(|role| role == "tool");
            list(question.get("messages")).iter().filter(is).map(Value::to_string).collect()
        },
        streams: |_, question| question.get("stream") == Some(&Value::Bool(true)),
        call: |proposal, id| {
            let function =
                json!({ "name": proposal.tool, "arguments": proposal.arguments.to_string() });
            let call = json!({ "index": 0, "id": id, "type": "function", "function": function });
            chat(&json!({ "role": "assistant", "content": null, "tool_calls": [call] }))
        },
        words: |text| chat(&json!({ "role": "assistant", "content": text })),
        whole: chat_whole,
    },
    Tongue {
        ends: &[":streamGenerateContent", ":generateContent"],
        offered: gemini_offered,
        told: gemini_told,
        streams: |path, _| path.ends_with(":streamGenerateContent"),
        call: |proposal, _| {
            let call = json!({ "name": proposal.tool, "args": proposal.arguments });
            gemini(&json!({ "functionCall": call }))
        },
        words: |text| gemini(&json!({ "text": text })),
        whole: |events| events.last().map(|last| last.data.clone()).unwrap_or_default(),
    },
];

/// The name of the call that is proposed in this turn.
pub fn call_id(turn: usize) -> String {
    format!("call_proof_of_gate_{turn}")
}

/// Who speaks at this path.
pub fn tongue(path: &str) -> Option<&'static Tongue> {
    TONGUES.iter().find(|tongue| tongue.ends.iter().any(|end| path.ends_with(end)))
}

/// What is said to other questions: how long a text is, which models there are.
pub fn small_talk(path: &str) -> Value {
    match path.rsplit(['/', ':']).next() {
        Some("count_tokens") => json!({ "input_tokens": 1 }),
        Some("countTokens") => json!({ "totalTokens": 1 }),
        Some("models") => json!({ "data": [], "object": "list", "models": [], "has_more": false }),
        _ => json!({}),
    }
}

fn list(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

fn names(tools: Option<&Value>) -> Vec<String> {
    let name = |tool: &Value| tool.get("name").and_then(Value::as_str).map(ToOwned::to_owned);
    // A family of tools holds its members in a list of its own.
    let members = |tool: &Value| names(tool.get("tools"));
    list(tools).iter().flat_map(|tool| name(tool).into_iter().chain(members(tool))).collect()
}

/// The items of one kind, as they were sent.
fn results(items: Option<&Value>, kind: &str) -> Vec<String> {
    let is = |item: &&Value| item.get("type").and_then(Value::as_str) == Some(kind);
    list(items).iter().filter(is).map(Value::to_string).collect()
}

fn anthropic_told(question: &Value) -> Vec<String> {
    let messages = list(question.get("messages")).iter();
    messages.flat_map(|message| results(message.get("content"), "tool_result")).collect()
}

fn anthropic(start: &Value, delta: &Value, stop: &str) -> Vec<Event> {
    let event = |name: &'static str, mut data: Value| {
        if let Some(members) = data.as_object_mut() {
            members.insert("type".to_owned(), name.into());
        }
        Event { name: Some(name), data }
    };
    let usage = json!({ "input_tokens": 1, "output_tokens": 1 });
    let message = json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "stand-in", "content": [],
        "stop_reason": null, "stop_sequence": null, "usage": usage,
    });
    let end = json!({ "stop_reason": stop, "stop_sequence": null });
    vec![
        event("message_start", json!({ "message": message })),
        event("content_block_start", json!({ "index": 0, "content_block": start })),
        event("content_block_delta", json!({ "index": 0, "delta": delta })),
        event("content_block_stop", json!({ "index": 0 })),
        event("message_delta", json!({ "delta": end, "usage": { "output_tokens": 1 } })),
        event("message_stop", json!({})),
    ]
}

fn openai(item: &Value) -> Vec<Event> {
    let usage = json!({
        "input_tokens": 1, "input_tokens_details": null, "output_tokens": 1,
        "output_tokens_details": null, "total_tokens": 2,
    });
    let event = |name: &'static str, data: Value| Event { name: Some(name), data };
    vec![
        event(
            "response.created",
            json!({ "type": "response.created", "response": { "id": "resp_1" } }),
        ),
        event(
            "response.output_item.done",
            json!({ "type": "response.output_item.done", "output_index": 0, "item": item }),
        ),
        event(
            "response.completed",
            json!({
                "type": "response.completed", "response": { "id": "resp_1", "usage": usage },
            }),
        ),
    ]
}

fn chat(message: &Value) -> Vec<Event> {
    let calls = message.get("tool_calls").is_some();
    let stop = if calls { "tool_calls" } else { "stop" };
    let chunk = |delta: &Value, stop: Option<&str>| {
        let choice = json!({ "index": 0, "delta": delta, "finish_reason": stop });
        let data = json!({
            "id": "chat_1", "object": "chat.completion.chunk", "created": 1, "model": "stand-in",
            "choices": [choice],
        });
        Event { name: None, data }
    };
    vec![chunk(message, None), chunk(&json!({}), Some(stop))]
}

fn chat_whole(events: &[Event]) -> Value {
    let of = |event: Option<&Event>, place: &str| {
        event.and_then(|event| event.data.pointer(place)).cloned().unwrap_or_default()
    };
    let message = of(events.first(), "/choices/0/delta");
    let stop = of(events.last(), "/choices/0/finish_reason");
    json!({
        "id": "chat_1", "object": "chat.completion", "created": 1, "model": "stand-in",
        "choices": [{ "index": 0, "message": message, "finish_reason": stop }],
        "usage": { "prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2 },
    })
}

fn gemini_offered(question: &Value) -> Vec<String> {
    let groups = list(question.get("tools")).iter();
    groups.flat_map(|group| names(group.get("functionDeclarations"))).collect()
}

fn gemini_told(question: &Value) -> Vec<String> {
    let contents = list(question.get("contents")).iter();
    let parts = contents.flat_map(|content| list(content.get("parts")));
    parts.filter_map(|part| part.get("functionResponse")).map(Value::to_string).collect()
}

fn gemini(part: &Value) -> Vec<Event> {
    let data = json!({
        "candidates": [{
            "content": { "role": "model", "parts": [part] }, "finishReason": "STOP", "index": 0,
        }],
        "usageMetadata": {
            "promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2,
        },
    });
    vec![Event { name: None, data }]
}

#[cfg(test)]
mod tests {
    use super::*;

    const CALLS: [(&str, &str, &str); 4] = [
        (
            "/v1/messages",
            r#"{"tools":[{"name":"Bash"}],"messages":[{"role":"user","content":"x"}]}"#,
            r#"{"messages":[{"content":[{"type":"tool_result","content":"no"}]}]}"#,
        ),
        (
            "/v1/responses",
            r#"{"tools":[{"type":"function","name":"Bash"}],"input":[]}"#,
            r#"{"input":[{"type":"function_call_output","output":"no"}]}"#,
        ),
        (
            "/v1/chat/completions",
            r#"{"tools":[{"type":"function","function":{"name":"Bash"}}],"messages":[]}"#,
            r#"{"messages":[{"role":"tool","tool_call_id":"1","content":"no"}]}"#,
        ),
        (
            "/v1beta/models/m:streamGenerateContent",
            r#"{"tools":[{"functionDeclarations":[{"name":"Bash"}]}],"contents":[]}"#,
            r#"{"contents":[{"parts":[{"functionResponse":{"response":{"output":"no"}}}]}]}"#,
        ),
    ];

    #[test]
    fn every_tongue_knows_what_it_is_offered_and_told() {
        for (path, first, second) in CALLS {
            let tongue = tongue(path).unwrap();
            let (first, second) =
                (serde_json::from_str(first).unwrap(), serde_json::from_str(second).unwrap());
            assert_eq!((tongue.offered)(&first), ["Bash"], "{path}");
            assert!((tongue.told)(&first).is_empty(), "{path}");
            let told = (tongue.told)(&second);
            assert!(told.len() == 1 && told[0].contains("no"), "{path}: {told:?}");
        }
        assert!(tongue("/v1/messages/count_tokens").is_none());
    }
}
