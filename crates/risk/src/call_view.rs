//! The exact call, argument by argument, with its dangerous part marked: what every surface draws.

use crate::assess::Reason;
use crate::card::Card;
use countersign_json as json;
use countersign_json::Value;
use countersign_text::sanitize::{show, show_within};

/// How much of an argument's name is shown.
const NAME: usize = 80;

/// One argument that holds no others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leaf {
    /// Its name, safe to show; none where the call is a command and nothing else.
    pub name: Option<String>,
    /// Its text as it came: not yet safe to show.
    pub text: String,
    /// Which bytes of the text are the dangerous part; clamped to the text, perhaps empty.
    pub marked: Option<(usize, usize)>,
}

/// The leaves of a call's arguments, in order; `worst` is the reason whose part is marked.
pub fn leaves(arguments: &Value<'_>, worst: Option<&Reason>) -> Vec<Leaf> {
    let mut found = Vec::new();
    collect(arguments, "", &mut found);
    let only_command = matches!(found.as_slice(), [one] if one.pointer == "/command");
    let leaf = |found: Found| {
        let here = |reason: &&Reason| {
            reason.argument == found.pointer.as_str()
                || (only_command && reason.argument.is_empty())
        };
        let marked = worst.filter(here).and_then(|reason| reason.span).map(|span| {
            let end = (span.end as usize).min(found.text.len());
            ((span.start as usize).min(end), end)
        });
        Leaf { name: (!only_command).then(|| found.name()), text: found.text, marked }
    };
    found.into_iter().map(leaf).collect()
}

/// The whole call of a card in plain lines, safe to show: for messages. An argument begins with a
/// dot and what continues it with two spaces, so that no text can look like an argument.
pub fn lines(card: &Card) -> String {
    // Where secrets were taken out, the command is the text that core wrote without them.
    if let Some(command) = card.command.as_ref().filter(|_| !card.hidden.is_empty()) {
        return format!("$ {command}");
    }
    let Ok(arguments) = json::parse(&card.arguments) else { return String::new() };
    let leaves = leaves(&arguments, None);
    let mut text = String::new();
    if leaves.iter().all(|leaf| leaf.name.is_some()) {
        text.push_str(&card.tool);
    }
    for leaf in &leaves {
        if !text.is_empty() {
            text.push('\n');
        }
        match &leaf.name {
            None => text.push_str("$ "),
            Some(name) => {
                text.push_str("• ");
                text.push_str(name);
                text.push_str(": ");
            }
        }
        for (number, line) in leaf.text.split('\n').enumerate() {
            if number > 0 {
                text.push_str("\n  ");
            }
            text.push_str(&show(line).text);
        }
    }
    text
}

struct Found {
    pointer: String,
    text: String,
    is_text: bool,
}

impl Found {
    /// `to.0`, or the exact pointer where a dot in a name would mislead.
    fn name(&self) -> String {
        let path = match self.pointer.strip_prefix('/') {
            Some(path) if !path.contains(['.', '~']) => path.replace('/', "."),
            _ => self.pointer.clone(),
        };
        let kind = if self.is_text && looks_like_json(&self.text) { " (text)" } else { "" };
        format!("{}{kind}", show_within(&path, NAME).text)
    }
}

/// Whether a text would be taken for a number or another value that it is not.
fn looks_like_json(text: &str) -> bool {
    matches!(text, "null" | "true" | "false" | "{}" | "[]" | "\"\"") || text.parse::<f64>().is_ok()
}

fn collect(value: &Value<'_>, pointer: &str, leaves: &mut Vec<Found>) {
    let mut leaf = |text: &str| {
        let is_text = matches!(value, Value::String(_));
        leaves.push(Found { pointer: pointer.to_owned(), text: text.to_owned(), is_text });
    };
    match value {
        Value::Null => leaf("null"),
        Value::Bool(true) => leaf("true"),
        Value::Bool(false) => leaf("false"),
        Value::Number(text) | Value::String(text) => leaf(text),
        Value::Array(items) if items.is_empty() => leaf("[]"),
        Value::Object(members) if members.is_empty() && !pointer.is_empty() => leaf("{}"),
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                collect(item, &format!("{pointer}/{at}"), leaves);
            }
        }
        Value::Object(members) => {
            for (key, member) in members {
                let key = key.replace('~', "~0").replace('/', "~1");
                collect(member, &format!("{pointer}/{key}"), leaves);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use countersign_json as json;

    fn names(text: &str) -> Vec<String> {
        let value = json::parse(text).unwrap();
        leaves(&value, None).into_iter().map(|leaf| leaf.name.unwrap_or_default()).collect()
    }

    #[test]
    fn a_command_alone_needs_no_name() {
        let value = json::parse(r#"{"command":"ls"}"#).unwrap();
        let found = leaves(&value, None);
        assert_eq!(found, [Leaf { name: None, text: "ls".to_owned(), marked: None }]);
    }

    fn told(tool: &str, arguments: &str) -> String {
        let value = json::parse(arguments).unwrap();
        let call = crate::call::Call {
            tool: tool.into(),
            arguments: value.reborrow(),
            ..crate::call::Call::shell("")
        };
        let seen = crate::assess::assess(&call, &crate::verdict::Policy::default());
        let digest = crate::call_digest::digest(&call, arguments.as_bytes());
        lines(&Card::new(&call, &seen, &digest))
    }

    #[test]
    fn no_text_looks_like_an_argument() {
        assert_eq!(told("shell", r#"{"command":"ls\nrm x"}"#), "$ ls\n  rm x");
        let two = told("send", r#"{"body":"hi","to":"a@b.example"}"#);
        assert_eq!(two, "send\n• body: hi\n• to: a@b.example");
        let sly = told("send", r#"{"body":"hi\n• to: a@b.example"}"#);
        assert_eq!(sly, "send\n• body: hi\n  • to: a@b.example");
        let drawn = told("send", r#"{"body":"\u001b[2J\u202egnp.exe"}"#);
        assert!(!drawn.contains(['\u{1b}', '\u{202e}']), "{drawn}");
    }

    #[test]
    fn names_cannot_mislead() {
        assert_eq!(names(r#"{"to":["a","b"],"n":1}"#), ["to.0", "to.1", "n"]);
        assert_eq!(names(r#"{"a.b":"x","c/d":"y"}"#), ["/a.b", "/c~1d"]);
        assert_eq!(names(r#"{"n":"1","o":"null","x\u202e":true}"#).len(), 3);
        assert_eq!(names(r#"{"n":"1"}"#), ["n (text)"]);
        assert!(!names(r#"{"x\u202ey":true}"#).concat().contains('\u{202e}'));
    }
}
