//! Arguments cut to what a card can hold; what is cut off is counted.

use std::borrow::Cow;

use countersign_json::Value;
use countersign_redact::before_marker;

/// Arguments as a card holds them.
pub(super) struct Folded {
    pub value: Value<'static>,
    /// Bytes of the arguments that are missing.
    pub bytes: u64,
}

/// Cuts a value so that its JSON, as a string inside other JSON, takes at most `room` bytes.
pub(super) fn fold(value: &Value<'static>, room: usize) -> Folded {
    let mut folder = Folder { room, bytes: 0 };
    let value = folder.value(value).unwrap_or(Value::Null);
    Folded { value, bytes: folder.bytes }
}

struct Folder {
    room: usize,
    bytes: u64,
}

/// The bytes that a character takes in JSON inside JSON.
fn cost(c: char) -> usize {
    match c {
        '"' | '\\' => 4,
        '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 3,
        '\0'..='\u{1F}' => 7,
        other => other.len_utf8(),
    }
}

impl Folder {
    fn take(&mut self, bytes: usize) -> bool {
        let fits = bytes <= self.room;
        if fits {
            self.room -= bytes;
        }
        fits
    }

    /// Counts what is left out.
    fn leave(&mut self, value: &Value<'_>) {
        self.bytes += value.to_json().len() as u64;
    }

    fn value(&mut self, value: &Value<'static>) -> Option<Value<'static>> {
        let kept = match value {
            Value::Null | Value::Bool(_) => self.take(6).then(|| value.clone()),
            // The canonical form of a number may be longer than what was written.
            Value::Number(digits) => self.take(digits.len() + 32).then(|| value.clone()),
            Value::String(text) => self.text(text).map(|text| Value::String(Cow::Owned(text))),
            Value::Array(items) if self.take(4) => {
                let mut kept = Vec::new();
                for item in items {
                    kept.extend(self.value(item));
                }
                return Some(Value::Array(kept));
            }
            Value::Object(members) if self.take(4) => {
                let mut kept = Vec::new();
                for (key, member) in members {
                    let price = key.chars().map(cost).sum::<usize>() + 6;
                    if !self.take(price) {
                        self.bytes += key.len() as u64;
                        self.leave(member);
                    } else if let Some(member) = self.value(member) {
                        kept.push((key.clone(), member));
                    }
                }
                return Some(Value::Object(kept));
            }
            Value::Array(_) | Value::Object(_) => None,
        };
        if kept.is_none() {
            self.leave(value);
        }
        kept
    }

    /// As much of the text as there is room for, with a note of how much is missing.
    fn text(&mut self, text: &str) -> Option<String> {
        if !self.take(48) {
            return None;
        }
        let mut end = text.len();
        for (at, c) in text.char_indices() {
            if !self.take(cost(c)) {
                end = at;
                break;
            }
        }
        // Half a marker would look like one of the caller's.
        let end = if end < text.len() { before_marker(text, end) } else { end };
        let (kept, cut) = text.split_at(end);
        if cut.is_empty() {
            return Some(kept.to_owned());
        }
        self.bytes += cut.len() as u64;
        Some(format!("{kept}⟨{} more bytes⟩", cut.len()))
    }
}
