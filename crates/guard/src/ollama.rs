//! Ollama's `POST /api/generate` with a raw prompt: the request, and the reply around the text.

use countersign_json::{self as json, Value};
use serde_json::json;

use crate::chunks::CONTEXT_TOKENS;
use crate::verdict::GuardFailure;

/// The path of the endpoint.
pub const PATH: &str = "/api/generate";

/// The body of a request. `raw` sends the prompt as it is, `truncate` off makes a prompt that is
/// too long an error, and the model stays loaded.
pub fn body(model: &str, prompt: &str, longest_reply: u32) -> Vec<u8> {
    let body = json!({
        "model": model,
        "prompt": prompt,
        "raw": true,
        "stream": false,
        "truncate": false,
        "keep_alive": -1,
        "options": {
            "temperature": 0, "seed": 0, "num_ctx": CONTEXT_TOKENS, "num_predict": longest_reply,
        },
    });
    body.to_string().into_bytes()
}

/// The model's text in a reply: one whole JSON object of the asked model that ended by itself.
pub fn generated(model: &str, body: &[u8]) -> Result<String, GuardFailure> {
    let reply = json::parse_bytes(body).map_err(|_| GuardFailure::Unparseable)?;
    if reply.as_object().is_none() {
        return Err(GuardFailure::Unparseable);
    }
    if reply.get("error").is_some() {
        return Err(GuardFailure::ServerError);
    }
    // A model in the cloud names its host: the text would leave this machine.
    let is_remote = reply.get("remote_model").is_some() || reply.get("remote_host").is_some();
    if is_remote || reply.get("model").and_then(Value::as_str) != Some(model) {
        return Err(GuardFailure::WrongModel);
    }
    let stopped = reply.get("done_reason").and_then(Value::as_str) == Some("stop");
    if reply.get("done").and_then(Value::as_bool) != Some(true) || !stopped {
        return Err(GuardFailure::Incomplete);
    }
    let text = reply.get("response").and_then(Value::as_str);
    text.map(str::to_owned).ok_or(GuardFailure::Unparseable)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(change: &str) -> Result<String, GuardFailure> {
        let whole = r#"{"model":"m","response":"safe","done":true,"done_reason":"stop"}"#;
        let (from, to) = change.split_once(" => ").unwrap_or_default();
        generated("m", whole.replace(from, to).as_bytes())
    }

    #[test]
    fn only_a_complete_reply_of_the_asked_model_has_a_text() {
        assert_eq!(reply("x => x").as_deref(), Ok("safe"));
        for (change, failure) in [
            (r#""done":true => "done":false"#, GuardFailure::Incomplete),
            (r#""done":true, => "#, GuardFailure::Incomplete),
            (r#""stop" => "load""#, GuardFailure::Incomplete),
            (r#""stop" => "length""#, GuardFailure::Incomplete),
            (r#","done_reason":"stop" => "#, GuardFailure::Incomplete),
            (r#""model":"m" => "model":"n""#, GuardFailure::WrongModel),
            (r#""model":"m" => "model":"m","remote_host":"x""#, GuardFailure::WrongModel),
            (r#""response":"safe" => "response":null"#, GuardFailure::Unparseable),
            (r#""response":"safe" => "error":"boom""#, GuardFailure::ServerError),
            (r#""done":true => "done":true,"done":true"#, GuardFailure::Unparseable),
            (r#""stop"} => "stop"}{"error":"late"}"#, GuardFailure::Unparseable),
            (r#""stop"} => "stop""#, GuardFailure::Unparseable),
        ] {
            assert_eq!(reply(change), Err(failure), "{change}");
        }
        assert_eq!(generated("m", b"[]"), Err(GuardFailure::Unparseable));
        assert_eq!(generated("m", b"\"safe\""), Err(GuardFailure::Unparseable));
    }

    #[test]
    fn the_request_is_raw_and_never_truncated() {
        let body = body("m", "<p>", 20);
        let body = json::parse_bytes(&body).unwrap();
        assert_eq!(body.get("raw").and_then(Value::as_bool), Some(true));
        assert_eq!(body.get("stream").and_then(Value::as_bool), Some(false));
        assert_eq!(body.get("truncate").and_then(Value::as_bool), Some(false));
        assert!(body.get("template").is_none() && body.get("system").is_none());
    }
}
