//! Whether every member of a call is one that a grant was given for. What is not known here is not
//! covered: a grant for mail to oneself says nothing about attachments.

use countersign_json::Value;
use countersign_risk::tools;

/// Members that name whom a message reaches: each address in them must be on the grant's list.
const RECIPIENTS: [&str; 7] = ["to", "cc", "bcc", "recipient", "recipients", "chat_id", "channel"];
/// Members that name the sender: only an address on the list.
const SENDERS: [&str; 2] = ["from", "sender"];
/// Members of one line: a line break in one would add headers to a message.
const LINES: [&str; 2] = ["subject", "title"];
/// Members that are the message itself.
const TEXTS: [&str; 4] = ["body", "text", "message", "content"];
/// Members of a command that change nothing about what runs.
const BESIDE_A_COMMAND: [&str; 5] =
    ["description", "explanation", "timeout", "timeout_ms", "timeout_seconds"];

/// Whether a message holds only members that are known, and reaches only who is on the list.
pub(super) fn is_plain_message(
    arguments: &Value<'_>,
    is_listed: impl Fn(&str) -> bool + Copy,
) -> bool {
    let Some(members) = arguments.as_object() else { return false };
    let named = |names: &[&str], key: &str| names.iter().any(|name| key.eq_ignore_ascii_case(name));
    members.iter().all(|(key, value)| {
        if named(&RECIPIENTS, key) {
            addresses(value, is_listed)
        } else if named(&SENDERS, key) {
            value.as_str().is_some_and(is_listed)
        } else if named(&LINES, key) {
            value.as_str().is_some_and(|text| !text.contains(char::is_control))
        } else {
            named(&TEXTS, key) && value.as_str().is_some()
        }
    })
}

/// Whether every address of a text or a list is on the grant's list. Anything else is not.
fn addresses(value: &Value<'_>, is_listed: impl Fn(&str) -> bool + Copy) -> bool {
    match value {
        Value::String(text) => text.split([',', ';']).all(|one| is_listed(one.trim())),
        Value::Array(list) => {
            list.iter().all(|item| matches!(item, Value::String(_)) && addresses(item, is_listed))
        }
        _ => false,
    }
}

/// Whether a call is one plain command that begins with the words of one of these shapes. Nothing
/// that means something to a shell may stand in it, and no option that the shape does not name.
pub(super) fn is_plain_command(tool: &str, arguments: &Value<'_>, shapes: &[String]) -> bool {
    let Some((text, members)) = tools::command_text(tool, arguments) else { return false };
    let beside = |key: &str| BESIDE_A_COMMAND.iter().any(|name| key.eq_ignore_ascii_case(name));
    let is_text = |value: &Value<'_>| value.as_str().is_some_and(|one| std::ptr::eq(one, text));
    let mut others = members.iter().filter(|(_, value)| !is_text(value));
    if !others.all(|(key, _)| beside(key)) || !is_plain(text) {
        return false;
    }
    let words: Vec<&str> = text.split_ascii_whitespace().collect();
    shapes.iter().filter(|shape| is_command_shape(shape)).any(|shape| {
        let wanted: Vec<&str> = shape.split_ascii_whitespace().collect();
        let (Some(head), Some(rest)) = (words.get(..wanted.len()), words.get(wanted.len()..))
        else {
            return false;
        };
        head == wanted && rest.iter().all(|word| !word.starts_with('-'))
    })
}

/// Whether this names commands narrowly enough to be a shape: a program and at least one further
/// word, and no option at its end that would take whatever follows.
pub fn is_command_shape(shape: &str) -> bool {
    let mut words = shape.split_ascii_whitespace();
    let last = shape.split_ascii_whitespace().next_back().unwrap_or_default();
    is_plain(shape) && words.next().is_some() && words.next().is_some() && !last.starts_with('-')
}

/// Letters that mean only themselves to every shell, and single spaces between them.
fn is_plain(text: &str) -> bool {
    let letter = |byte: u8| byte.is_ascii_alphanumeric() || b" _./:@,+-".contains(&byte);
    !text.is_empty() && text.bytes().all(letter)
}
