//! Answers that a webhook's receiver posts back, signed as Standard Webhooks 1.0 requires. The
//! receiver vouches for the account; a person has linked the account before.

use countersign_json as json;
use countersign_json::Value;
use countersign_workflow::assurance::Assurance;
use serde_json::json;

use crate::secret::Secrets;
use crate::{
    Announcement, ChannelError, ChannelFuture, HookError, HookRequest, HookResponse, PersonReply,
    ReceivedReplies, ReplyContent, ReplyReceiver,
};

/// The largest difference between the receiver's clock and ours, in seconds.
const TOLERANCE: u64 = 300;
/// The longest body, message id, account, and reason.
const BODY: usize = 16 * 1024;
const ID: usize = 200;
const ACCOUNT: usize = 200;
const REASON: usize = 2_000;

/// The return path from a receiver.
#[derive(Debug)]
pub struct Callback {
    secrets: Secrets,
}

/// Whether the message has the whole call.
pub fn is_whole(news: &Announcement) -> bool {
    !news.call.is_empty() && news.folded == 0
}

impl Callback {
    pub fn new(secrets: Secrets) -> Callback {
        Callback { secrets }
    }

    /// The id of a message that the receiver signed within the time window.
    fn proven<'a>(&self, posted: &HookRequest<'a>) -> Option<&'a str> {
        let id = (posted.header)("webhook-id")?;
        let time = (posted.header)("webhook-timestamp")?;
        let signature = (posted.header)("webhook-signature")?;
        let seconds: i64 = time.parse().ok()?;
        // The signature covers the text of the number, so only its canonical form is accepted.
        let in_time = posted.now.seconds().abs_diff(seconds) <= TOLERANCE;
        let plain = !id.is_empty() && id.len() <= ID && seconds.to_string() == time;
        let holds = plain
            && in_time
            && posted.body.len() <= BODY
            && self.secrets.holds(id, seconds, posted.body, signature);
        holds.then_some(id)
    }
}

impl ReplyReceiver for Callback {
    fn assurance(&self) -> Assurance {
        Assurance::Linked
    }

    fn shows_whole_call(&self, news: &Announcement) -> bool {
        is_whole(news)
    }

    fn receive(&self, posted: &HookRequest<'_>) -> Result<ReceivedReplies, HookError> {
        let id = self.proven(posted).ok_or(HookError::Forged)?;
        let body = json::parse_bytes(posted.body).map_err(|_| HookError::Unreadable)?;
        let (account, content) = read(&body).ok_or(HookError::Unreadable)?;
        let received = PersonReply {
            display_name: account.clone(),
            account,
            content,
            key: id.to_owned(),
            reply_to: String::new(),
        };
        // The response to a reply that was received before.
        let again = json!({ "heard": false, "reply": "This reply was already received." });
        Ok(ReceivedReplies { replies: vec![received], response: HookResponse::json(&again) })
    }

    fn hook_response(&self, _received: &PersonReply, reply: &str) -> Option<HookResponse> {
        Some(HookResponse::json(&json!({ "heard": true, "reply": reply })))
    }

    fn reply<'a>(&'a self, _received: &'a PersonReply, _reply: &'a str) -> ChannelFuture<'a, ()> {
        // The HTTP response has the whole answer.
        Box::pin(async {
            Err(ChannelError::permanent(
                "a webhook's receiver gets its reply in the HTTP response only",
            ))
        })
    }

    fn command_text(&self, name: &str) -> String {
        name.to_owned()
    }
}

/// The account and its reply; nothing unless every member is known and consistent.
fn read(body: &Value<'_>) -> Option<(String, ReplyContent)> {
    let members = body.as_object()?;
    let known = ["account", "decision", "button", "reason", "words", "link"];
    if !members
        .iter()
        .all(|(name, value)| known.contains(&name.as_ref()) && value.as_str().is_some())
    {
        return None;
    }
    let text = |name: &str| body.get(name).and_then(Value::as_str);
    let account = text("account")?;
    let fits = !account.is_empty() && account.len() <= ACCOUNT;
    if !fits || account.chars().any(char::is_control) {
        return None;
    }
    let content = match (text("link"), text("decision"), text("button"), text("reason")) {
        (Some(code), None, None, None) if text("words").is_none() => {
            ReplyContent::Link(code.to_owned())
        }
        (None, Some(decision), Some(button), reason) => {
            let begins = match decision {
                "approve" => "a:",
                "deny" => "d:",
                _ => return None,
            };
            let reason = reason.unwrap_or_default();
            // A button that contradicts the decision next to it is rejected.
            let words = text("words").unwrap_or_default();
            if !button.starts_with(begins) || reason.len() > REASON || words.len() > REASON {
                return None;
            }
            let (button, reason, words) = (button.to_owned(), reason.to_owned(), words.to_owned());
            ReplyContent::Reasoned { button, reason, words }
        }
        _ => return None,
    };
    Some((account.to_owned(), content))
}

#[cfg(test)]
mod tests {
    use countersign_types::time::Timestamp;

    use super::*;

    const NOW: i64 = 1_794_700_000;

    fn secrets() -> Secrets {
        Secrets::from_text("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    }

    fn heard(body: &str, at: i64) -> Result<ReceivedReplies, HookError> {
        let signature = secrets().sign("m1", at, body);
        let at = at.to_string();
        let header = |name: &str| match name {
            "webhook-id" => Some("m1"),
            "webhook-timestamp" => Some(at.as_str()),
            "webhook-signature" => Some(signature.as_str()),
            _ => None,
        };
        let now = Timestamp(NOW * 1000);
        let posted = HookRequest { url: "", header: &header, body: body.as_bytes(), now };
        Callback::new(secrets()).receive(&posted)
    }

    #[test]
    fn signed_and_valid_replies_are_received() {
        let body = r#"{"account":"ana@corp","decision":"deny","button":"d:1:x","reason":"no"}"#;
        let received = heard(body, NOW).unwrap().replies.remove(0);
        let (button, reason) = ("d:1:x".to_owned(), "no".to_owned());
        assert_eq!(
            received.content,
            ReplyContent::Reasoned { button, reason, words: String::new() }
        );
        assert_eq!((received.account.as_str(), received.key.as_str()), ("ana@corp", "m1"));
        let link = heard(r#"{"account":"ana@corp","link":"AB12"}"#, NOW).unwrap().replies.remove(0);
        assert_eq!(link.content, ReplyContent::Link("AB12".to_owned()));
    }

    #[test]
    fn outdated_or_invalid_replies_are_rejected() {
        let body = r#"{"account":"ana","decision":"deny","button":"d:1:x"}"#;
        for away in [-301, 301, 86_400, i64::MAX - NOW, i64::MIN + NOW] {
            assert_eq!(heard(body, NOW + away), Err(HookError::Forged), "{away}");
        }
        assert!(heard(body, NOW - 300).is_ok() && heard(body, NOW + 300).is_ok());
        for body in [
            "",
            "[]",
            "{}",
            r#"{"account":"ana"}"#,
            r#"{"decision":"deny","button":"d:1:x"}"#,
            r#"{"account":"","decision":"deny","button":"d:1:x"}"#,
            r#"{"account":"a\nb","decision":"deny","button":"d:1:x"}"#,
            r#"{"account":7,"decision":"deny","button":"d:1:x"}"#,
            r#"{"account":"ana","decision":"maybe","button":"d:1:x"}"#,
            r#"{"account":"ana","decision":"deny"}"#,
            r#"{"account":"ana","decision":"deny","button":"a:1:x"}"#,
            r#"{"account":"ana","decision":"approve","button":"d:1:x"}"#,
            r#"{"account":"ana","account":"bo","decision":"deny","button":"d:1:x"}"#,
            r#"{"account":"ana","decision":"deny","button":"d:1:x","link":"AB12"}"#,
            r#"{"account":"ana","decision":"deny","button":"d:1:x","admin":"yes"}"#,
        ] {
            assert_eq!(heard(body, NOW), Err(HookError::Unreadable), "{body}");
        }
    }
}
