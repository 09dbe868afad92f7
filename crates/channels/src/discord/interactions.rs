//! Interactions: what Discord posts to our hook when somebody presses a button or says our command.

use std::time::Duration;

use ed25519_dalek::{Signature, VerifyingKey};
use serde_json::{Value, json};

use super::{platform, write};
use crate::chat::{from_hex, is_fresh};
use crate::{Heard, NotHeard, Posted, Posting, Said, Word};

/// Our command, and the one thing that is said with it.
pub const COMMAND: &str = "countersign";
const SAY: &str = "say";
/// Where the reply goes: back with the same exchange.
pub const HERE: &str = "here";

/// Kinds of interactions.
const PING: u64 = 1;
const APPLICATION_COMMAND: u64 = 2;
const MESSAGE_COMPONENT: u64 = 3;
/// Kinds of answers.
const PONG: u64 = 1;
const MESSAGE: u64 = 4;
const NOTHING_NEW: u64 = 6;
/// Only who pressed the button sees the answer.
const PRIVATE: u64 = 64;

/// Our command as Discord is told of it.
pub fn command() -> Value {
    json!({
        "name": COMMAND,
        "type": 1,
        "description": "Answer what an agent asks",
        "options": [{
            "type": 3,
            "name": SAY,
            "description": "approve, deny, pending or link, and what it is about",
            "required": true,
        }],
    })
}

/// Reads an interaction, if Discord signed it about now.
pub fn hear(
    key: &VerifyingKey,
    posted: &Posted<'_>,
    open_for: Duration,
) -> Result<Heard, NotHeard> {
    let header = |name| (posted.header)(name).ok_or(NotHeard::Forged);
    let seconds = header("x-signature-timestamp")?;
    let signature = from_hex::<64>(header("x-signature-ed25519")?).ok_or(NotHeard::Forged)?;
    if !is_fresh(posted.now, seconds, open_for) {
        return Err(NotHeard::Forged);
    }
    let signed = [seconds.as_bytes(), posted.body].concat();
    let signature = Signature::from_bytes(&signature);
    key.verify_strict(&signed, &signature).map_err(|_| NotHeard::Forged)?;
    let body: Value = serde_json::from_slice(posted.body).map_err(|_| NotHeard::Unreadable)?;
    read(&body).ok_or(NotHeard::Unreadable)
}

fn read(body: &Value) -> Option<Heard> {
    let said = match body.get("type")?.as_u64()? {
        PING => {
            let answer = Posting::json(&json!({ "type": PONG }));
            return Some(Heard { words: Vec::new(), answer });
        }
        MESSAGE_COMPONENT => Said::Button(body.pointer("/data/custom_id")?.as_str()?.to_owned()),
        APPLICATION_COMMAND => typed(body.get("data")?),
        _ => return None,
    };
    let is_button = matches!(said, Said::Button(_));
    // In a server the user is inside the member, in a direct message it is not.
    let user = body.pointer("/member/user").or_else(|| body.get("user"))?;
    let text = |value: &Value, name: &str| Some(value.get(name)?.as_str()?.to_owned());
    let account = text(user, "id").filter(|id| platform::is_id(id))?;
    let called = text(user, "global_name").or_else(|| text(user, "username")).unwrap_or_default();
    let key = format!("interaction {}", text(body, "id")?);
    let word = Word { account, called, said, key, reply_to: HERE.to_owned() };
    // Goes back only for what was heard before.
    let answer = if is_button {
        Posting::json(&json!({ "type": NOTHING_NEW }))
    } else {
        answer("This was heard already.")
    };
    Some(Heard { words: vec![word], answer })
}

/// `/countersign say: approve olive-tractor`.
fn typed(data: &Value) -> Said {
    let ours = data.get("name").and_then(Value::as_str) == Some(COMMAND);
    let options = data.get("options").and_then(Value::as_array);
    let say = options
        .into_iter()
        .flatten()
        .find(|option| option.get("name").and_then(Value::as_str) == Some(SAY));
    let text = say.and_then(|option| option.get("value")).and_then(Value::as_str);
    let said =
        text.filter(|_| ours).and_then(|text| Said::parse('/', &format!("/{}", text.trim())));
    said.unwrap_or(Said::Help)
}

/// What goes back to who said something, for nobody else to see.
pub fn answer(reply: &str) -> Posting {
    let mut data = write::reply(reply);
    if let Some(fields) = data.as_object_mut() {
        fields.insert("flags".to_owned(), json!(PRIVATE));
        fields.insert("allowed_mentions".to_owned(), json!({ "parse": [] }));
    }
    Posting::json(&json!({ "type": MESSAGE, "data": data }))
}

#[cfg(test)]
mod tests {
    use countersign_types::time::Timestamp;
    use ed25519_dalek::{Signer as _, SigningKey};

    use super::*;
    use crate::Which;

    const NOW: Timestamp = Timestamp(1_794_700_000_000);

    fn heard(seconds: &str, signature: &str, body: &str) -> Result<Heard, NotHeard> {
        let key = SigningKey::from_bytes(&[7; 32]).verifying_key();
        let header = |name: &str| match name {
            "x-signature-timestamp" => Some(seconds),
            "x-signature-ed25519" => Some(signature),
            _ => None,
        };
        let posted = Posted { url: "", header: &header, body: body.as_bytes(), now: NOW };
        hear(&key, &posted, Duration::from_hours(1))
    }

    fn sign(seconds: &str, body: &str) -> String {
        let key = SigningKey::from_bytes(&[7; 32]);
        let signature = key.sign(format!("{seconds}{body}").as_bytes()).to_bytes();
        signature.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat()
    }

    fn signed(body: &str) -> Result<Heard, NotHeard> {
        heard("1794700000", &sign("1794700000", body), body)
    }

    #[test]
    fn discords_question_whether_we_are_there_is_answered() {
        let heard = signed(r#"{"id":"1","type":1}"#).unwrap();
        assert_eq!((heard.answer.body.as_str(), heard.words.len()), (r#"{"type":1}"#, 0));
    }

    #[test]
    fn a_button_and_a_command_are_read_with_who_said_them() {
        let button = r#"{"id":"5","type":3,"data":{"custom_id":"a:b:c"},
            "member":{"user":{"id":"77","username":"ana"}},"user":{"id":"78"}}"#;
        let word = signed(button).unwrap().words.remove(0);
        assert_eq!((word.account.as_str(), word.called.as_str()), ("77", "ana"));
        assert_eq!(word.said, Said::Button("a:b:c".to_owned()));
        let say = |name: &str, text: &str| {
            let body = json!({
                "id": "6", "type": 2, "user": { "id": "77" },
                "data": { "name": name, "options": [{ "name": "say", "value": text }] },
            });
            signed(&body.to_string()).unwrap().words.remove(0).said
        };
        let name = "olive-tractor".to_owned();
        let which = Which { name, reason: "it is fine".to_owned() };
        assert_eq!(say("countersign", " approve olive-tractor it is fine"), Said::Approve(which));
        assert_eq!(say("countersign", "what"), Said::Help);
        assert_eq!(say("other", "approve olive-tractor"), Said::Help);
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
            assert_eq!(heard(seconds, signature, body), Err(NotHeard::Forged), "{seconds}");
        }
        for odd in ["", "{}", "[]", r#"{"type":3}"#, r#"{"type":9,"id":"1"}"#, "null"] {
            assert_eq!(signed(odd), Err(NotHeard::Unreadable), "{odd}");
        }
        let nobody = r#"{"id":"5","type":3,"data":{"custom_id":"a:b:c"},"user":{"id":"../x"}}"#;
        assert_eq!(signed(nobody), Err(NotHeard::Unreadable));
    }
}
