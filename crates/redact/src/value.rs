//! Removes secrets from JSON: by the names of members, and by the form of texts.

use std::borrow::Cow;

use super::joined::joined;
use super::known::{Known, hits};
use super::marker::{marker, marker_length};
use super::names;
use super::redacted::{Hit, Redacted, Redaction, apply};
use super::related::RelatedTexts;
use super::scan::BETWEEN;

use countersign_json::{self as json, Value};
use countersign_types::span::Span;

/// How deeply JSON in texts in JSON is searched.
const DEEPEST: u8 = 4;

/// Shorter secrets are not searched for elsewhere: they would match parts of ordinary words.
const SHORTEST: usize = 4;

/// The same for parts of secrets.
const PIECE: usize = 8;

/// What was removed, and the secrets themselves: they may also occur in texts about the call.
#[derive(Default)]
pub(super) struct Found<'k> {
    pub hidden: Vec<Redaction>,
    pub secrets: Vec<(&'static str, String)>,
    /// Secrets that are already known, hidden wherever they occur.
    pub known: Option<&'k Known<'k>>,
}

impl Found<'_> {
    /// Hides what the search finds in a text.
    pub(super) fn text<'t>(&mut self, text: &'t str) -> Cow<'t, str> {
        let hits = hits(text, self.known);
        self.remember(text, &hits);
        let Redacted { text, hidden } = apply(text, hits);
        self.hidden.extend(hidden);
        text
    }

    fn remember(&mut self, text: &str, hits: &[Hit]) {
        for hit in hits {
            self.secret(hit.kind, text.get(hit.start..hit.end).unwrap_or_default());
        }
    }

    fn secret(&mut self, kind: &'static str, text: &str) {
        // The lines of a key, or the text after a slash in it, may look like names of programs.
        for piece in text.split([' ', '\n', '\r', '\t', '/']) {
            if piece.len() >= PIECE && piece.len() < text.len() {
                self.keep(kind, piece);
            }
        }
        self.keep(kind, text);
    }

    fn keep(&mut self, kind: &'static str, text: &str) {
        if text.len() >= SHORTEST && !self.secrets.iter().any(|(_, old)| old == text) {
            self.secrets.push((kind, text.to_owned()));
        }
    }
}

/// The value without its secrets, and what was removed.
///
/// Keys stay as they are, unless they look like a secret themselves. A value under a secret name is
/// replaced whatever it is, except `null`, the empty text and a reference to a variable; in an
/// object or a list, every value is replaced. A secret is also hidden wherever else it occurs.
pub fn redact_value(value: &Value<'_>) -> (Value<'static>, Vec<Redaction>) {
    let (value, found) = redact_all(value);
    (value, found.hidden)
}

/// The secrets of one value, for texts that may repeat them.
pub struct RemovedSecrets {
    /// What was hidden in the value.
    pub hidden: Vec<Redaction>,
    secrets: Vec<(&'static str, String)>,
}

impl RemovedSecrets {
    /// Redacts texts about the value.
    pub fn related_texts(&self) -> RelatedTexts<'_> {
        RelatedTexts::of(&self.secrets)
    }
}

/// The value without its secrets, and the means to remove the same secrets from texts about it.
pub fn redact_related(value: &Value<'_>) -> (Value<'static>, RemovedSecrets) {
    let (value, Found { hidden, mut secrets, .. }) = redact_all(value);
    // The longest first: a part must not break the whole that contains it.
    secrets.sort_by_key(|(_, secret)| std::cmp::Reverse(secret.len()));
    (value, RemovedSecrets { hidden, secrets })
}

/// The same as `redact_value`, and the secrets.
fn redact_all(value: &Value<'_>) -> (Value<'static>, Found<'static>) {
    let mut found = Found::default();
    let clean = redact(value, 0, &mut found);
    let known = Known::of(&found.secrets);
    if known.is_empty() {
        return (clean, found);
    }
    let mut again = Found { known: Some(&known), ..Found::default() };
    let clean = redact(value, 0, &mut again);
    let Found { hidden, .. } = again;
    (clean, Found { hidden, secrets: found.secrets, known: None })
}

fn redact(value: &Value<'_>, nested: u8, found: &mut Found<'_>) -> Value<'static> {
    match value {
        Value::Null => Value::Null,
        Value::Bool(truth) => Value::Bool(*truth),
        Value::Number(digits) => {
            let before = found.hidden.len();
            let text = Cow::Owned(found.text(digits).into_owned());
            let clean = found.hidden.len() == before;
            if clean { Value::Number(text) } else { Value::String(text) }
        }
        Value::String(text) => Value::String(Cow::Owned(string(text, nested, found))),
        Value::Array(items) => array(items, nested, found),
        Value::Object(members) => {
            object(members, found, |key, member, found| under(key, member, nested, found))
        }
    }
}

type Members<'v> = [(Cow<'v, str>, Value<'v>)];

/// An object with its members changed; keys that look like a secret are hidden.
fn object(
    members: &Members<'_>,
    found: &mut Found<'_>,
    change: impl Fn(&str, &Value<'_>, &mut Found<'_>) -> Value<'static>,
) -> Value<'static> {
    let mut kept: Vec<(Cow<'static, str>, Value<'static>)> = Vec::with_capacity(members.len());
    for (key, member) in members {
        let mut name = found.text(key).into_owned();
        // Two keys may become equal once they are hidden.
        if name != **key && kept.iter().any(|(other, _)| *other == name) {
            name = format!("{name} {}", kept.len() + 1);
        }
        kept.push((Cow::Owned(name), change(key, member, found)));
    }
    Value::Object(kept)
}

/// A member by its name.
fn under(key: &str, member: &Value<'_>, nested: u8, found: &mut Found<'_>) -> Value<'static> {
    match names::lookup(key.as_bytes()) {
        Some(name) => secret(member, name.kind, found),
        None => redact(member, nested, found),
    }
}

/// A value under a secret name. In an object or a list every value is hidden, but not the
/// structure: an agent must not be able to hide what a person must see by calling it a password.
fn secret(member: &Value<'_>, kind: &'static str, found: &mut Found<'_>) -> Value<'static> {
    let written = match member {
        Value::Array(items) => {
            return Value::Array(items.iter().map(|item| secret(item, kind, found)).collect());
        }
        Value::Object(members) => {
            return object(members, found, |_, inner, found| secret(inner, kind, found));
        }
        Value::Null => return Value::Null,
        Value::String(text) => {
            let said = text.is_empty()
                || marker_length(text) == text.len()
                || is_variable(text.as_bytes());
            if said {
                return Value::String(Cow::Owned(text.to_string()));
            }
            Cow::Borrowed(&**text)
        }
        other => Cow::Owned(other.to_json()),
    };
    let text = marker(kind, &written);
    found.hidden.push(Redaction {
        kind,
        bytes: u32::try_from(written.len()).unwrap_or(u32::MAX),
        span: Span::new(0, text.len()),
    });
    match member {
        Value::Number(digits) => found.secret(kind, digits),
        other => other.strings(|_, leaf| found.secret(kind, leaf)),
    }
    Value::String(Cow::Owned(text))
}

/// `$NAME` or `${NAME}`, nothing else.
fn is_variable(text: &[u8]) -> bool {
    let ([b'$', b'{', name @ .., b'}'] | [b'$', name @ ..]) = text else { return false };
    let part = |b: &u8| b.is_ascii_uppercase() || b.is_ascii_digit() || *b == b'_';
    name.first().is_some_and(u8::is_ascii_uppercase) && name.iter().all(part)
}

fn string(text: &str, nested: u8, found: &mut Found<'_>) -> String {
    inner(text, nested, found).unwrap_or_else(|| found.text(text).into_owned())
}

/// JSON inside a text is parsed as JSON: its escapes could carry a secret past the search.
fn inner(text: &str, nested: u8, found: &mut Found<'_>) -> Option<String> {
    if nested >= DEEPEST || !text.trim_start().starts_with(['{', '[']) {
        return None;
    }
    let inner = json::parse(text).ok()?;
    let before = found.hidden.len();
    let clean = redact(&inner, nested + 1, found);
    (found.hidden.len() > before).then(|| clean.to_json())
}

fn array(items: &[Value<'_>], nested: u8, found: &mut Found<'_>) -> Value<'static> {
    let each = |found: &mut Found<'_>| {
        Value::Array(items.iter().map(|item| redact(item, nested, found)).collect())
    };
    let Some(text) = joined(items) else { return each(found) };
    let hits = hits(&text, found.known);
    // A hit across the end of a word would remove the boundary.
    let crosses = |hit: &Hit| {
        text.as_bytes().get(hit.start..hit.end).is_none_or(|secret| secret.contains(&BETWEEN))
    };
    if hits.iter().any(crosses) {
        return each(found);
    }
    found.remember(&text, &hits);
    let Redacted { text: clean, hidden } = apply(&text, hits);
    let mut words = Vec::with_capacity(items.len());
    let mut hidden = hidden.into_iter().peekable();
    let mut start = 0;
    for word in clean.split(char::from(BETWEEN)) {
        let end = start + word.len();
        while let Some(mut one) = hidden.next_if(|one| (one.span.start as usize) < end) {
            let (from, to) = (one.span.start as usize, one.span.end as usize);
            one.span = Span::new(from.saturating_sub(start), to.saturating_sub(start));
            found.hidden.push(one);
        }
        start = end + 1;
        let word = inner(word, nested, found).unwrap_or_else(|| word.to_owned());
        words.push(Value::String(Cow::Owned(word)));
    }
    Value::Array(words)
}
