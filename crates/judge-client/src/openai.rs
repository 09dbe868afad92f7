//! Chat completions as `OpenAI` defined them.

use countersign_json::Value;
use countersign_judge::{DangerReply, JudgeConcern, ModelVerdict, Prompt, ReplyForm};
use serde_json::json;
use zeroize::Zeroizing;

use crate::error::ModelError;
use crate::response::{ModelReply, count, is_absent, parse, plain_word};
use crate::settings::{ApiKey, ModelSettings};

type HeaderList = Vec<(&'static str, Zeroizing<String>)>;

/// The path, the headers and the body of a question.
pub fn request(
    settings: &ModelSettings,
    key: Option<&ApiKey>,
    prompt: &Prompt,
) -> (&'static str, HeaderList, String) {
    let mut body = json!({
        "model": settings.model,
        "messages": [
            { "role": "system", "content": prompt.system },
            { "role": "user", "content": prompt.user },
        ],
        "stream": false,
    });
    if let Some(members) = body.as_object_mut() {
        // OpenAI's own newer models reject the older names and any temperature.
        if settings.endpoint.host() == "api.openai.com" {
            members.insert("max_completion_tokens".to_owned(), json!(settings.max_tokens));
        } else {
            members.insert("max_tokens".to_owned(), json!(settings.max_tokens));
            members.insert("temperature".to_owned(), json!(0));
        }
        if settings.json_schema {
            members.insert("response_format".to_owned(), schema(prompt.form));
        }
    }
    let mut headers = vec![("content-type", Zeroizing::new("application/json".to_owned()))];
    if let Some(key) = key {
        headers.push(("authorization", Zeroizing::new(format!("Bearer {}", key.expose()))));
    }
    ("/chat/completions", headers, body.to_string())
}

/// The form of the answer. The digest stays free: the model must copy it from the question.
fn schema(form: ReplyForm) -> serde_json::Value {
    let (name, properties, required) = match form {
        ReplyForm::Verdict => (
            "verdict",
            json!({
                "call": { "type": "string" },
                "verdict": { "enum": ModelVerdict::ALL.map(ModelVerdict::label) },
                "concern": { "enum": JudgeConcern::ALL.map(JudgeConcern::label) },
            }),
            json!(["call", "verdict", "concern"]),
        ),
        ReplyForm::Danger => (
            "danger",
            json!({
                "message": { "type": "string" },
                "danger": { "enum": DangerReply::ALL.map(DangerReply::label) },
            }),
            json!(["message", "danger"]),
        ),
    };
    json!({
        "type": "json_schema",
        "json_schema": {
            "name": name,
            "strict": true,
            "schema": {
                "type": "object",
                "properties": properties,
                "required": required,
                "additionalProperties": false,
            },
        },
    })
}

/// Reads a response: one complete message of the assistant and nothing else.
pub fn read(body: &[u8]) -> Result<ModelReply, ModelError> {
    let value = parse(body)?;
    if !is_absent(&value, "/error") {
        return Err(ModelError::Form("an error under status 200"));
    }
    let choices = value.get("choices").and_then(Value::as_array);
    let [choice] = choices.unwrap_or_default() else {
        return Err(ModelError::Form("not exactly one choice"));
    };
    let finished = choice.get("finish_reason").and_then(Value::as_str).unwrap_or_default();
    if finished != "stop" {
        return Err(ModelError::Unfinished(plain_word(finished)));
    }
    if choice.pointer("/message/role").and_then(Value::as_str) != Some("assistant") {
        return Err(ModelError::Form("not a message of the assistant"));
    }
    let more = ["/message/tool_calls", "/message/function_call", "/message/refusal"];
    if more.iter().any(|pointer| !is_absent(choice, pointer)) {
        return Err(ModelError::Unfinished("refused_or_called_a_tool".to_owned()));
    }
    let text = choice.pointer("/message/content").and_then(Value::as_str);
    let text = text.ok_or(ModelError::Form("no text"))?.to_owned();
    Ok(ModelReply {
        text,
        input_tokens: count(&value, "/usage/prompt_tokens").unwrap_or(0),
        output_tokens: count(&value, "/usage/completion_tokens").unwrap_or(0),
    })
}
