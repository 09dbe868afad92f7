//! Slack's HTTP API: one request, and the meaning of its errors.

use std::time::Duration;

use serde_json::Value;

use crate::ChannelError;
use crate::bot_api::BotApi;
use crate::http::USER_AGENT;

/// Errors that may go away by themselves; an operator has to fix all others.
const PASSING: [&str; 8] = [
    "fatal_error",
    "internal_error",
    "rate_limited",
    "ratelimited",
    "request_timeout",
    "service_unavailable",
    "team_added_to_org",
    "accesslimited",
];
/// The longest error code.
const LONGEST_WORD: usize = 60;

/// The API.
#[derive(Debug)]
pub struct SlackApi(pub BotApi);

/// A failed request, with Slack's error code; empty where there is none.
#[derive(Debug)]
pub struct SlackError {
    pub error: ChannelError,
    pub word: String,
}

impl From<SlackError> for ChannelError {
    fn from(failed: SlackError) -> ChannelError {
        failed.error
    }
}

impl SlackApi {
    /// Sends one request; returns the response as JSON.
    pub async fn call(&self, method: &str, body: &Value) -> Result<Value, SlackError> {
        let headers =
            [("content-type", "application/json; charset=utf-8"), ("user-agent", USER_AGENT)];
        let (path, body) = (format!("/{method}"), body.to_string().into_bytes());
        let reply = self.0.send(("POST", &path), "Bearer", &headers, body).await;
        let reply = reply.map_err(|error| SlackError { error, word: String::new() })?;
        let body: Value = serde_json::from_slice(&reply.body).unwrap_or_default();
        let fine = (200..=299).contains(&reply.status);
        if fine && body.get("ok").and_then(Value::as_bool) == Some(true) {
            return Ok(body);
        }
        Err(refused(reply.status, reply.retry_after, &body))
    }
}

fn refused(status: u16, retry_after: Option<Duration>, body: &Value) -> SlackError {
    let word = body.get("error").and_then(Value::as_str).unwrap_or_default();
    // The code is shown to people, so only lower-case letters and underscores are accepted.
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte == b'_';
    let word = if word.len() <= LONGEST_WORD && word.bytes().all(plain) { word } else { "" };
    let passing = match status {
        408 | 425 | 429 | 500.. => true,
        200..=299 => PASSING.contains(&word) || word.is_empty(),
        _ => false,
    };
    let problem = match (status, word) {
        (200..=299, "") => "Slack's response could not be parsed".to_owned(),
        (200..=299, "invalid_auth" | "not_authed" | "token_revoked" | "account_inactive") => {
            format!(
                "Slack rejected the bot's token ({word}): create a new one and update token_file"
            )
        }
        (200..=299, "channel_not_found" | "not_in_channel") => {
            format!("the bot is not in this channel ({word}): invite it")
        }
        (_, "") => format!("Slack answered {status}"),
        _ => format!("Slack answered {word}"),
    };
    let retry_after = retry_after.filter(|_| passing);
    SlackError {
        error: ChannelError { problem, retry_after, permanent: !passing },
        word: word.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_may_pass_is_tried_again_and_what_may_not_is_not() {
        let wait = Some(Duration::from_secs(30));
        for (status, word, permanent) in [
            (429, "", false),
            (200, "ratelimited", false),
            (200, "internal_error", false),
            (503, "", false),
            (500, "invalid_auth", false),
            (200, "", false),
            (200, "invalid_auth", true),
            (200, "channel_not_found", true),
            (200, "invalid_blocks", true),
            (200, "something_new", true),
            (302, "", true),
            (404, "", true),
        ] {
            let failed = refused(status, wait, &json!({ "ok": false, "error": word }));
            assert_eq!(failed.error.permanent, permanent, "{status} {word}");
            assert_eq!(failed.error.retry_after, wait.filter(|_| !permanent), "{status} {word}");
        }
    }

    #[test]
    fn a_word_for_a_refusal_draws_nothing() {
        let failed = refused(200, None, &json!({ "error": "\u{1b}[2Jfine" }));
        assert_eq!(failed.error.problem, "Slack's response could not be parsed");
    }
}
