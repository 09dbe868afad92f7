//! Environment variables among the arguments of a tool that runs programs.

use super::arguments::Reader;
use super::place::Place;
use super::program::joined;
use super::values::is_plain;
use countersign_json::Value;

impl Reader<'_, '_> {
    /// Environment variables of what is run. Some of them make programs load other code.
    pub(super) fn env(&mut self, value: &Value<'_>, place: &Place<'_>) {
        match value {
            Value::Object(members) => {
                for (name, value) in members {
                    match value {
                        Value::String(text) => self.variable(name, text),
                        Value::Number(_) | Value::Bool(_) | Value::Null => self.variable(name, ""),
                        Value::Array(_) | Value::Object(_) => self.unread(),
                    }
                }
            }
            Value::Array(list) => {
                for (index, item) in list.iter().enumerate() {
                    match item {
                        Value::String(text) => match text.split_once('=') {
                            Some((name, value)) => self.variable(name, value),
                            None => self.unread(),
                        },
                        // `{"name": "A", "value": "b"}`
                        Value::Object(_) => {
                            let text = |key| item.get(key).and_then(Value::as_str);
                            match (text("name").or(text("key")), text("value")) {
                                (Some(name), Some(value)) => self.variable(name, value),
                                _ => self.unlisted(item, &place.item(index), true),
                            }
                        }
                        _ => self.unread(),
                    }
                }
            }
            other => {
                if !is_plain(other) {
                    self.unlisted(other, place, true);
                }
            }
        }
    }

    fn variable(&mut self, name: &str, value: &str) {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if name.is_empty() || !name.chars().all(plain) {
            self.unread();
            return;
        }
        self.made_shell(&format!("export {name}={}", joined(&[value])));
        if value.contains(|c: char| c.is_whitespace() || ";|&$`()<>".contains(c)) {
            self.unread();
        }
    }
}
