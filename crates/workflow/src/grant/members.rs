//! Checks that a grant was given for every member of a call. Unknown members are not covered: a
//! grant for mail to oneself does not include attachments.

use countersign_json::Value;
use countersign_risk::segments::is_beside_a_command;
use countersign_risk::tools;

/// Members that name recipients: each address must be in the grant's list.
const RECIPIENTS: [&str; 7] = ["to", "cc", "bcc", "recipient", "recipients", "chat_id", "channel"];
/// Members that name the sender: the address must be in the list.
const SENDERS: [&str; 2] = ["from", "sender"];
/// Members of one line: a line break would add headers to a message.
const LINES: [&str; 2] = ["subject", "title"];
/// Members that are the message itself.
const TEXTS: [&str; 4] = ["body", "text", "message", "content"];

/// Last words of members that are one line as well: `from_name`, `reply_to_email`.
const LINE_ENDS: [&str; 2] = ["name", "email"];

fn named(names: &[&str], key: &str) -> bool {
    names.iter().any(|name| key.eq_ignore_ascii_case(name))
}

/// Whether a member is a message or its heading, which reach nobody by themselves.
pub(super) fn is_message_text(key: &str) -> bool {
    named(&TEXTS, key) || named(&LINES, key)
}

/// Whether a member names recipients.
pub(super) fn is_recipient(key: &str) -> bool {
    named(&RECIPIENTS, key)
}

/// Whether a member is a heading, a name or an address, by its whole name or its last word
/// (`email_subject`, `replyTo`).
pub(super) fn is_one_line(key: &str) -> bool {
    let is_line = |word: &str| {
        let lists: [&[&str]; 4] = [&LINES, &RECIPIENTS, &SENDERS, &LINE_ENDS];
        lists.into_iter().any(|names| named(names, word))
    };
    let last = key.rsplit(['_', '-', '.']).next().unwrap_or(key);
    let capital = last.rfind(|c: char| c.is_ascii_uppercase());
    let camel = capital.and_then(|at| last.get(at..)).unwrap_or(last);
    is_line(key) || is_line(last) || is_line(camel)
}

/// Whether a text has a line break or another control character.
pub(super) fn has_control(text: &str) -> bool {
    text.contains(|c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}'))
}

/// Whether a message has only known members and reaches only listed addresses.
pub(super) fn is_plain_message(
    arguments: &Value<'_>,
    is_listed: impl Fn(&str) -> bool + Copy,
) -> bool {
    let Some(members) = arguments.as_object() else { return false };
    members.iter().all(|(key, value)| {
        if named(&RECIPIENTS, key) {
            addresses(value, is_listed)
        } else if named(&SENDERS, key) {
            value.as_str().is_some_and(is_listed)
        } else if named(&LINES, key) {
            value.as_str().is_some_and(|text| !has_control(text))
        } else {
            named(&TEXTS, key) && value.as_str().is_some()
        }
    })
}

/// Whether every address of a text or a list is in the grant's list. False for any other value.
fn addresses(value: &Value<'_>, is_listed: impl Fn(&str) -> bool + Copy) -> bool {
    match value {
        Value::String(text) => text.split([',', ';']).all(|one| is_listed(one.trim())),
        Value::Array(list) => {
            list.iter().all(|item| matches!(item, Value::String(_)) && addresses(item, is_listed))
        }
        _ => false,
    }
}

/// The command of a call that is one plain command: it contains no shell syntax, and nothing next
/// to it affects what runs.
pub fn plain_command<'v>(tool: &str, arguments: &'v Value<'v>) -> Option<&'v str> {
    let (text, members) = tools::command_text(tool, arguments)?;
    let is_text = |value: &Value<'_>| value.as_str().is_some_and(|one| std::ptr::eq(one, text));
    let mut others = members.iter().filter(|(_, value)| !is_text(value));
    (others.all(|(key, _)| is_beside_a_command(key)) && is_plain(text)).then_some(text)
}

/// Whether a call is one plain command that begins with the words of one of these shapes. It may
/// contain no option that the shape does not name.
pub(super) fn is_plain_command(tool: &str, arguments: &Value<'_>, shapes: &[String]) -> bool {
    let Some(text) = plain_command(tool, arguments) else { return false };
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

/// Whether a text is narrow enough for a shape: a program and at least one more word, and no option
/// at its end that would take the next word.
pub fn is_command_shape(shape: &str) -> bool {
    let mut words = shape.split_ascii_whitespace();
    let last = shape.split_ascii_whitespace().next_back().unwrap_or_default();
    is_plain(shape) && words.next().is_some() && words.next().is_some() && !last.starts_with('-')
}

/// Characters without special meaning in any shell, and spaces.
pub(super) fn is_plain(text: &str) -> bool {
    let letter = |byte: u8| byte.is_ascii_alphanumeric() || b" _./:@,+-".contains(&byte);
    !text.is_empty() && text.bytes().all(letter)
}
