//! The APIs of model vendors: the tools in a request, the results in it, and the response events.

use serde_json::{Value, json};

use super::http::ModelEvent;
use crate::agents::tool_call::ModelToolCall;

/// The API of one vendor.
pub struct Dialect {
    /// How a path of this API ends.
    path_ends: &'static [&'static str],
    /// The tools in a request.
    pub offered: fn(&Value) -> Vec<String>,
    /// The results of earlier calls in a request.
    pub results: fn(&Value) -> Vec<String>,
    /// Whether the request wants a stream.
    pub streams: fn(&str, &Value) -> bool,
    /// The events that propose a call with an id.
    pub call: fn(&ModelToolCall, &str) -> Vec<ModelEvent>,
    /// The events of a text answer.
    pub text: fn(&str) -> Vec<ModelEvent>,
    /// The same events as one response.
    pub whole: fn(&[ModelEvent]) -> Value,
}

const DIALECTS: [Dialect; 4] = [
    Dialect {
        path_ends: &["/messages"],
        offered: |request| names(request.get("tools")),
        results: anthropic_results,
        streams: |_, request| request.get("stream") == Some(&Value::Bool(true)),
        call: |call, id| {
            let start = json!({ "type": "tool_use", "id": id, "name": call.tool, "input": {} });
            let text = call.arguments.to_string();
            let delta = json!({ "type": "input_json_delta", "partial_json": text });
            anthropic(&start, &delta, "tool_use")
        },
        text: |text| {
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
    Dialect {
        path_ends: &["/responses"],
        offered: |request| names(request.get("tools")),
        results: |request| items_of_type(request.get("input"), "function_call_output"),
        streams: |_, _| true,
        call: |call, id| {
            let mut item = json!({
                "type": "function_call", "id": "fc_1", "call_id": id, "name": call.tool,
                "arguments": call.arguments.to_string(),
            });
            if let (Some(namespace), Some(item)) = (&call.namespace, item.as_object_mut()) {
                item.insert("namespace".to_owned(), namespace.as_str().into());
            }
            openai(&item)
        },
        text: |text| {
            openai(&json!({
                "type": "message", "role": "assistant", "id": "msg_1",
                "content": [{ "type": "output_text", "text": text }],
            }))
        },
        whole: |events| events.last().map(|last| last.data.clone()).unwrap_or_default(),
    },
    Dialect {
        path_ends: &["/chat/completions"],
        offered: |request| {
            let tools = list(request.get("tools")).iter();
            let named = tools.filter_map(|tool| tool.pointer("/function/name")?.as_str());
            named.map(ToOwned::to_owned).collect()
        },
        results: |request| {
            let is = |message: &&Value| message.get("role").is_some_and(|role| role == "tool");
            list(request.get("messages")).iter().filter(is).map(Value::to_string).collect()
        },
        streams: |_, request| request.get("stream") == Some(&Value::Bool(true)),
        call: |call, id| {
            let function = json!({ "name": call.tool, "arguments": call.arguments.to_string() });
            let call = json!({ "index": 0, "id": id, "type": "function", "function": function });
            chat(&json!({ "role": "assistant", "content": null, "tool_calls": [call] }))
        },
        text: |text| chat(&json!({ "role": "assistant", "content": text })),
        whole: chat_whole,
    },
    Dialect {
        path_ends: &[":streamGenerateContent", ":generateContent"],
        offered: google_offered,
        results: google_results,
        streams: |path, _| path.ends_with(":streamGenerateContent"),
        call: |call, _| {
            let call = json!({ "name": call.tool, "args": call.arguments });
            google(&json!({ "functionCall": call }))
        },
        text: |text| google(&json!({ "text": text })),
        whole: |events| events.last().map(|last| last.data.clone()).unwrap_or_default(),
    },
];

/// The id of the call that is proposed in this turn.
pub fn call_id(turn: usize) -> String {
    format!("call_proof_of_gate_{turn}")
}

/// The API of this path.
pub fn dialect(path: &str) -> Option<&'static Dialect> {
    DIALECTS.iter().find(|dialect| dialect.path_ends.iter().any(|end| path.ends_with(end)))
}

/// The response to other requests: token counts and lists of models.
pub fn other_reply(path: &str) -> Value {
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
    // A namespace holds its tools in a list of its own.
    let members = |tool: &Value| names(tool.get("tools"));
    list(tools).iter().flat_map(|tool| name(tool).into_iter().chain(members(tool))).collect()
}

/// The items of one type, as JSON text.
fn items_of_type(items: Option<&Value>, kind: &str) -> Vec<String> {
    let is = |item: &&Value| item.get("type").and_then(Value::as_str) == Some(kind);
    list(items).iter().filter(is).map(Value::to_string).collect()
}

fn anthropic_results(request: &Value) -> Vec<String> {
    let messages = list(request.get("messages")).iter();
    messages.flat_map(|message| items_of_type(message.get("content"), "tool_result")).collect()
}

fn anthropic(start: &Value, delta: &Value, stop: &str) -> Vec<ModelEvent> {
    let event = |name: &'static str, mut data: Value| {
        if let Some(members) = data.as_object_mut() {
            members.insert("type".to_owned(), name.into());
        }
        ModelEvent { name: Some(name), data }
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

fn openai(item: &Value) -> Vec<ModelEvent> {
    let usage = json!({
        "input_tokens": 1, "input_tokens_details": null, "output_tokens": 1,
        "output_tokens_details": null, "total_tokens": 2,
    });
    let event = |name: &'static str, data: Value| ModelEvent { name: Some(name), data };
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

fn chat(message: &Value) -> Vec<ModelEvent> {
    let calls = message.get("tool_calls").is_some();
    let stop = if calls { "tool_calls" } else { "stop" };
    let chunk = |delta: &Value, stop: Option<&str>| {
        let choice = json!({ "index": 0, "delta": delta, "finish_reason": stop });
        let data = json!({
            "id": "chat_1", "object": "chat.completion.chunk", "created": 1, "model": "stand-in",
            "choices": [choice],
        });
        ModelEvent { name: None, data }
    };
    vec![chunk(message, None), chunk(&json!({}), Some(stop))]
}

fn chat_whole(events: &[ModelEvent]) -> Value {
    let of = |event: Option<&ModelEvent>, place: &str| {
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

fn google_offered(request: &Value) -> Vec<String> {
    let groups = list(request.get("tools")).iter();
    groups.flat_map(|group| names(group.get("functionDeclarations"))).collect()
}

fn google_results(request: &Value) -> Vec<String> {
    let contents = list(request.get("contents")).iter();
    let parts = contents.flat_map(|content| list(content.get("parts")));
    parts.filter_map(|part| part.get("functionResponse")).map(Value::to_string).collect()
}

fn google(part: &Value) -> Vec<ModelEvent> {
    let data = json!({
        "candidates": [{
            "content": { "role": "model", "parts": [part] }, "finishReason": "STOP", "index": 0,
        }],
        "usageMetadata": {
            "promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2,
        },
    });
    vec![ModelEvent { name: None, data }]
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
    fn every_dialect_reads_tools_and_results() {
        for (path, first, second) in CALLS {
            let dialect = dialect(path).unwrap();
            let (first, second) =
                (serde_json::from_str(first).unwrap(), serde_json::from_str(second).unwrap());
            assert_eq!((dialect.offered)(&first), ["Bash"], "{path}");
            assert!((dialect.results)(&first).is_empty(), "{path}");
            let results = (dialect.results)(&second);
            assert!(results.len() == 1 && results[0].contains("no"), "{path}: {results:?}");
        }
        assert!(dialect("/v1/messages/count_tokens").is_none());
    }
}
