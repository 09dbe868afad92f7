//! Anthropic's Messages API.

use countersign_json::Value;
use countersign_judge::Prompt;
use serde_json::json;
use zeroize::Zeroizing;

use crate::error::ModelError;
use crate::response::{ModelReply, count, parse, plain_word};
use crate::settings::{ApiKey, ModelSettings};

/// The version of the API that this file was written for.
const VERSION: &str = "2023-06-01";

type HeaderList = Vec<(&'static str, Zeroizing<String>)>;

/// The path, the headers and the body of a question.
pub fn request(
    settings: &ModelSettings,
    key: Option<&ApiKey>,
    prompt: &Prompt,
) -> (&'static str, HeaderList, String) {
    let body = json!({
        "model": settings.model,
        "system": prompt.system,
        "messages": [{ "role": "user", "content": prompt.user }],
        "max_tokens": settings.max_tokens,
        "temperature": 0,
        "stream": false,
    });
    let plain = |text: &str| Zeroizing::new(text.to_owned());
    let mut headers =
        vec![("content-type", plain("application/json")), ("anthropic-version", plain(VERSION))];
    if let Some(key) = key {
        headers.push(("x-api-key", plain(key.expose())));
    }
    ("/v1/messages", headers, body.to_string())
}

/// Reads a response: one complete text and nothing else.
pub fn read(body: &[u8]) -> Result<ModelReply, ModelError> {
    let value = parse(body)?;
    let word = |pointer: &str| value.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    if word("/type") != "message" || word("/role") != "assistant" {
        return Err(ModelError::Form("not a message of the assistant"));
    }
    if word("/stop_reason") != "end_turn" {
        return Err(ModelError::Unfinished(plain_word(word("/stop_reason"))));
    }
    let blocks = value.get("content").and_then(Value::as_array);
    let [block] = blocks.unwrap_or_default() else {
        return Err(ModelError::Form("not exactly one part"));
    };
    let is_text = block.get("type").and_then(Value::as_str) == Some("text");
    let text = block.get("text").and_then(Value::as_str).filter(|_| is_text);
    Ok(ModelReply {
        text: text.ok_or(ModelError::Form("no text"))?.to_owned(),
        input_tokens: count(&value, "/usage/input_tokens").unwrap_or(0),
        output_tokens: count(&value, "/usage/output_tokens").unwrap_or(0),
    })
}
