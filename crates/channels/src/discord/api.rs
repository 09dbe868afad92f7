//! Discord's HTTP API: one request, and the meaning of its errors.

use std::time::Duration;

use serde_json::Value;

use crate::ChannelError;
use crate::bot_api::BotApi;

/// Discord's error code for a message that does not exist.
pub const UNKNOWN_MESSAGE: u64 = 10_008;
const AGENT: &str = concat!("DiscordBot (countersign, ", env!("CARGO_PKG_VERSION"), ")");
/// The longest pause that is accepted from Discord, in seconds.
const LONGEST_PAUSE: f64 = 3600.0;

/// The API and our channel.
#[derive(Debug)]
pub struct DiscordApi {
    pub bot: BotApi,
    pub channel: String,
}

/// A failed request, with Discord's error code; 0 where there is none.
#[derive(Debug)]
pub struct DiscordError {
    pub error: ChannelError,
    pub code: u64,
}

impl From<DiscordError> for ChannelError {
    fn from(failed: DiscordError) -> ChannelError {
        failed.error
    }
}

impl DiscordApi {
    /// The messages of our channel.
    pub fn messages(&self) -> String {
        format!("/channels/{}/messages", self.channel)
    }

    /// Sends one request; returns the response as JSON.
    pub async fn call(
        &self,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Value, DiscordError> {
        let mut headers = vec![("user-agent", AGENT)];
        if body.is_some() {
            headers.push(("content-type", "application/json"));
        }
        let body = body.map(Value::to_string).unwrap_or_default().into_bytes();
        let reply = self.bot.send((method, path), "Bot", &headers, body).await;
        let reply = reply.map_err(|error| DiscordError { error, code: 0 })?;
        let body = serde_json::from_slice(&reply.body);
        match reply.status {
            204 => Ok(Value::Null),
            200..=299 => body.map_err(|_| DiscordError {
                error: ChannelError::again("Discord's response could not be parsed"),
                code: 0,
            }),
            status => Err(refused(status, reply.retry_after, &body.unwrap_or_default())),
        }
    }
}

fn refused(status: u16, header: Option<Duration>, body: &Value) -> DiscordError {
    let code = body.get("code").and_then(Value::as_u64).unwrap_or_default();
    let permanent = !matches!(status, 408 | 425 | 429 | 500..);
    let problem = match (status, code) {
        (401, _) => {
            "Discord rejected the bot's token (401): create a new one and update token_file"
                .to_owned()
        }
        (403, _) => "the bot lacks permission in the channel (403): check its role".to_owned(),
        (404, _) => "the channel or message does not exist (404): check `channel`".to_owned(),
        (300..=399, _) => {
            format!("Discord answered {status}: redirects are not followed; check base_url")
        }
        (_, 0) => format!("Discord answered {status}"),
        _ => format!("Discord answered {status} (error code {code})"),
    };
    // The body has fractions of a second, the header does not.
    let body = body.get("retry_after").and_then(Value::as_f64);
    let body = body.and_then(|wait| Duration::try_from_secs_f64(wait.min(LONGEST_PAUSE)).ok());
    let retry_after = if permanent { None } else { body.max(header) };
    DiscordError { error: ChannelError { problem, retry_after, permanent }, code }
}

/// Whether this is an id. Ids become part of URLs.
pub fn is_id(text: &str) -> bool {
    (1..=20).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_may_pass_is_tried_again_and_what_may_not_is_not() {
        let limited = json!({ "message": "slow down", "retry_after": 64.57, "global": false });
        for (status, body, wait, permanent) in [
            (429, limited.clone(), Some(64_570), false),
            (429, json!({ "retry_after": 1e300 }), Some(3_600_000), false),
            (429, json!({ "retry_after": -1.0 }), Some(2_000), false),
            (429, Value::Null, Some(2_000), false),
            (500, Value::Null, Some(2_000), false),
            (502, Value::Null, Some(2_000), false),
            (401, limited, None, true),
            (403, json!({ "code": 50_013 }), None, true),
            (404, json!({ "code": UNKNOWN_MESSAGE }), None, true),
            (400, json!({ "code": 50_035 }), None, true),
            (302, Value::Null, None, true),
        ] {
            let failed = refused(status, Some(Duration::from_secs(2)), &body);
            assert_eq!(failed.error.permanent, permanent, "{status}");
            let waits = failed.error.retry_after.map(|wait| wait.as_millis());
            assert_eq!(waits, wait, "{status} {body}");
        }
    }

    #[test]
    fn only_digits_go_into_an_address() {
        for bad in ["", "1/2", "12a", "..", "123456789012345678901", "@me"] {
            assert!(!is_id(bad), "{bad}");
        }
        assert!(is_id("1300000000000000000"));
    }
}
