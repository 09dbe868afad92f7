//! Text search in everything that a card shows of a request.

use std::borrow::Cow;

use countersign_json::canonical::Digest;
use countersign_risk::word_pair::word_pair;
use countersign_types::id::Id;
use rusqlite::Row;
use serde::Deserialize;
use serde_json::Value;

use crate::error::StoreResult;

/// A text to search for, in lower case.
pub(super) struct TextSearch {
    text: String,
    /// The same, as the two words of a request are written.
    phrase: String,
}

/// The parts of a card that are searched; both are redacted.
#[derive(Deserialize)]
struct CardTexts<'c> {
    #[serde(borrow, default)]
    arguments: Cow<'c, str>,
    #[serde(borrow, default)]
    command: Option<Cow<'c, str>>,
}

impl TextSearch {
    /// `None` for an empty text.
    pub fn new(text: &str) -> Option<TextSearch> {
        let text = text.trim().to_lowercase();
        let phrase = text.split_whitespace().collect::<Vec<_>>().join("-");
        (!text.is_empty()).then_some(TextSearch { text, phrase })
    }

    /// Whether a row contains the text, and how many bytes were read.
    pub fn matches(&self, id: Id, row: &Row<'_>) -> StoreResult<(bool, usize)> {
        let digest = Digest::from_bytes(row.get(2)?);
        let words = word_pair(&digest).to_string();
        let mut text = format!("{id}\n{words}\n");
        for at in 3..=6 {
            add(&mut text, row.get_ref(at)?.as_str().unwrap_or_default());
        }
        for at in 7..=8 {
            if let Some(card) = row.get_ref(at)?.as_str_or_null().ok().flatten() {
                add_card(&mut text, card);
            }
        }
        let read = text.len();
        let text = text.to_lowercase();
        Ok((text.contains(&self.text) || words == self.phrase, read))
    }
}

fn add(text: &mut String, part: &str) {
    text.push_str(part);
    text.push('\n');
}

/// Adds the command and the arguments: as JSON, so that a number is found as it was written, and
/// each text as a person reads it.
fn add_card(text: &mut String, card: &str) {
    let Ok(card) = serde_json::from_str::<CardTexts<'_>>(card) else { return };
    add(text, &card.arguments);
    if let Some(command) = &card.command {
        add(text, command);
    }
    if let Ok(arguments) = serde_json::from_str::<Value>(&card.arguments) {
        add_texts(text, &arguments);
    }
}

fn add_texts(text: &mut String, value: &Value) {
    match value {
        Value::String(part) => add(text, part),
        Value::Array(items) => items.iter().for_each(|item| add_texts(text, item)),
        Value::Object(members) => members.values().for_each(|member| add_texts(text, member)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_found_as_a_person_reads_it() {
        let mut text = String::new();
        let arguments =
            r#"{"a":["x \"y\"",{"b":12345678901234567890}],"command":"rm -rf /srv/\u00e4"}"#;
        let card = serde_json::json!({ "arguments": arguments, "command": "rm -rf /srv/ä" });
        add_card(&mut text, &card.to_string());
        for part in ["x \"y\"", "12345678901234567890", "rm -rf /srv/ä"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        add_card(&mut text, "no card");
    }
}
