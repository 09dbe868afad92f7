//! Plants secrets of every kind in random texts and values: none may remain readable.

use countersign_json::Value;

use super::samples::{Dice, plant, survivors};
use super::*;

/// The text somewhere in a value, sometimes under a secret name.
fn wrap(text: String, dice: &mut Dice) -> Value<'static> {
    let leaf = Value::String(text.into());
    let noise = || Value::String("ls -la".into());
    match dice.below(5) {
        0 => leaf,
        1 => Value::Array(vec![noise(), leaf, Value::Null]),
        2 => Value::Array(vec![noise(), leaf]),
        3 => Value::Object(vec![("x".into(), noise()), ("note".into(), leaf)]),
        _ => Value::String(Value::Object(vec![("deep".into(), leaf)]).to_json().into()),
    }
}

#[test]
fn no_planted_secret_survives() {
    let mut dice = Dice(7);
    let mut seen = Vec::new();
    for _ in 0..4000 {
        let (text, secrets) = plant(&mut dice);
        let shown = redact_text(&text).text.into_owned();
        if survivors(&shown, &secrets) {
            seen.push(format!("text: {text}\n   as {shown}"));
        }
        let value = wrap(text, &mut dice);
        let shown = redact_value(&value).0.to_json();
        if survivors(&shown, &secrets) {
            seen.push(format!("value: {value}\n   as {shown}"));
        }
    }
    seen.sort();
    assert!(seen.is_empty(), "{} survive:\n{}", seen.len(), seen.join("\n"));
}
