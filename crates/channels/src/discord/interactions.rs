//! Interactions: Discord posts a pressed button or our slash command to our hook.

use std::time::Duration;

use ed25519_dalek::{Signature, VerifyingKey};
use serde_json::{Value, json};

use super::{api, render};
use crate::chat::{ALREADY_RECEIVED, IN_RESPONSE, from_hex, is_fresh};
use crate::{HookError, HookRequest, HookResponse, PersonReply, ReceivedReplies, ReplyContent};

/// Our slash command and its only option.
pub const COMMAND: &str = "countersign";
const OPTION: &str = "say";

/// Types of interactions.
const PING: u64 = 1;
const APPLICATION_COMMAND: u64 = 2;
const MESSAGE_COMPONENT: u64 = 3;
/// Types of responses.
const PONG: u64 = 1;
const MESSAGE: u64 = 4;
const NOTHING_NEW: u64 = 6;
/// Only the person who pressed the button sees the response.
const PRIVATE: u64 = 64;

/// The definition of our slash command.
pub fn command() -> Value {
    json!({
        "name": COMMAND,
        "type": 1,
        "description": "Approve or deny requests of agents",
        "options": [{
            "type": 3,
            "name": OPTION,
            "description": "approve, deny, pending or link, followed by the two words or the code",
            "required": true,
        }],
    })
}

/// Parses an interaction that Discord signed recently.
pub fn receive(
    key: &VerifyingKey,
    posted: &HookRequest<'_>,
    open_for: Duration,
) -> Result<ReceivedReplies, HookError> {
    let header = |name| (posted.header)(name).ok_or(HookError::Forged);
    let seconds = header("x-signature-timestamp")?;
    let signature = from_hex::<64>(header("x-signature-ed25519")?).ok_or(HookError::Forged)?;
    if !is_fresh(posted.now, seconds, open_for) {
        return Err(HookError::Forged);
    }
    let signed = [seconds.as_bytes(), posted.body].concat();
    let signature = Signature::from_bytes(&signature);
    key.verify_strict(&signed, &signature).map_err(|_| HookError::Forged)?;
    let body: Value = serde_json::from_slice(posted.body).map_err(|_| HookError::Unreadable)?;
    read(&body).ok_or(HookError::Unreadable)
}

fn read(body: &Value) -> Option<ReceivedReplies> {
    let content = match body.get("type")?.as_u64()? {
        PING => {
            let response = HookResponse::json(&json!({ "type": PONG }));
            return Some(ReceivedReplies { replies: Vec::new(), response });
        }
        MESSAGE_COMPONENT => {
            ReplyContent::Button(body.pointer("/data/custom_id")?.as_str()?.to_owned())
        }
        APPLICATION_COMMAND => typed(body.get("data")?),
        _ => return None,
    };
    let is_button = matches!(content, ReplyContent::Button(_));
    // In a server the user is inside the member, in a direct message it is not.
    let user = body.pointer("/member/user").or_else(|| body.get("user"))?;
    let text = |value: &Value, name: &str| Some(value.get(name)?.as_str()?.to_owned());
    let account = text(user, "id").filter(|id| api::is_id(id))?;
    let display_name =
        text(user, "global_name").or_else(|| text(user, "username")).unwrap_or_default();
    let key = format!("interaction {}", text(body, "id")?);
    let received =
        PersonReply { account, display_name, content, key, reply_to: IN_RESPONSE.to_owned() };
    // Used only for a duplicate.
    let response = if is_button {
        HookResponse::json(&json!({ "type": NOTHING_NEW }))
    } else {
        response(ALREADY_RECEIVED)
    };
    Some(ReceivedReplies { replies: vec![received], response })
}

/// `/countersign say: approve olive-tractor`.
fn typed(data: &Value) -> ReplyContent {
    let ours = data.get("name").and_then(Value::as_str) == Some(COMMAND);
    let options = data.get("options").and_then(Value::as_array);
    let say = options
        .into_iter()
        .flatten()
        .find(|option| option.get("name").and_then(Value::as_str) == Some(OPTION));
    let text = say.and_then(|option| option.get("value")).and_then(Value::as_str);
    let content = text
        .filter(|_| ours)
        .and_then(|text| ReplyContent::parse('/', &format!("/{}", text.trim())));
    content.unwrap_or(ReplyContent::Help)
}

/// A response that only the sender sees.
pub fn response(reply: &str) -> HookResponse {
    let mut data = render::reply(reply);
    if let Some(fields) = data.as_object_mut() {
        fields.insert("flags".to_owned(), json!(PRIVATE));
        fields.insert("allowed_mentions".to_owned(), json!({ "parse": [] }));
    }
    HookResponse::json(&json!({ "type": MESSAGE, "data": data }))
}

#[cfg(test)]
mod tests {
    use countersign_types::time::Timestamp;
    use ed25519_dalek::{Signer as _, SigningKey};

    use super::*;
    use crate::RequestRef;

    const NOW: Timestamp = Timestamp(1_794_700_000_000);

    fn heard(seconds: &str, signature: &str, body: &str) -> Result<ReceivedReplies, HookError> {
        let key = SigningKey::from_bytes(&[7; 32]).verifying_key();
        let header = |name: &str| match name {
            "x-signature-timestamp" => Some(seconds),
            "x-signature-ed25519" => Some(signature),
            _ => None,
        };
        let posted = HookRequest { url: "", header: &header, body: body.as_bytes(), now: NOW };
        receive(&key, &posted, Duration::from_hours(1))
    }

    fn sign(seconds: &str, body: &str) -> String {
        let key = SigningKey::from_bytes(&[7; 32]);
        let signature = key.sign(format!("{seconds}{body}").as_bytes()).to_bytes();
        signature.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat()
    }

    fn signed(body: &str) -> Result<ReceivedReplies, HookError> {
        heard("1794700000", &sign("1794700000", body), body)
    }

    #[test]
    fn discords_question_whether_we_are_there_is_answered() {
        let heard = signed(r#"{"id":"1","type":1}"#).unwrap();
        assert_eq!((heard.response.body.as_str(), heard.replies.len()), (r#"{"type":1}"#, 0));
    }

    #[test]
    fn a_button_and_a_command_are_read_with_who_said_them() {
        let button = r#"{"id":"5","type":3,"data":{"custom_id":"a:b:c"},
            "member":{"user":{"id":"77","username":"ana"}},"user":{"id":"78"}}"#;
        let received = signed(button).unwrap().replies.remove(0);
        assert_eq!((received.account.as_str(), received.display_name.as_str()), ("77", "ana"));
        assert_eq!(received.content, ReplyContent::Button("a:b:c".to_owned()));
        let say = |name: &str, text: &str| {
            let body = json!({
                "id": "6", "type": 2, "user": { "id": "77" },
                "data": { "name": name, "options": [{ "name": "say", "value": text }] },
            });
            signed(&body.to_string()).unwrap().replies.remove(0).content
        };
        let name = "olive-tractor".to_owned();
        let which = RequestRef { name, reason: "it is fine".to_owned() };
        assert_eq!(
            say("countersign", " approve olive-tractor it is fine"),
            ReplyContent::Approve(which)
        );
        assert_eq!(say("countersign", "what"), ReplyContent::Help);
        assert_eq!(say("other", "approve olive-tractor"), ReplyContent::Help);
    }

    #[test]
    fn what_is_changed_late_or_unsigned_is_not_discords() {
        let body = r#"{"id":"1","type":1}"#;
        let good = sign("1794700000", body);
        assert!(heard("1794700000", &good, body).is_ok());
        for (seconds, signature, body) in [
            ("1794700001", good.as_str(), body),
            ("1794700000", good.as_str(), r#"{"id":"1","type":1} "#),
            ("1794700000", "", body),
            ("1794700000", good.get(2..).unwrap(), body),
            ("1794700000", &sign("1794700000", "{}"), body),
            ("1794699000", &sign("1794699000", body), body),
            ("1794701000", &sign("1794701000", body), body),
        ] {
            assert_eq!(heard(seconds, signature, body), Err(HookError::Forged), "{seconds}");
        }
        for odd in ["", "{}", "[]", r#"{"type":3}"#, r#"{"type":9,"id":"1"}"#, "null"] {
            assert_eq!(signed(odd), Err(HookError::Unreadable), "{odd}");
        }
        let nobody = r#"{"id":"5","type":3,"data":{"custom_id":"a:b:c"},"user":{"id":"../x"}}"#;
        assert_eq!(signed(nobody), Err(HookError::Unreadable));
    }
}
