//! Removes the secrets that were found in a value from texts about that value.

use std::borrow::Cow;
use std::ops::Range;

use countersign_json::Value;
use countersign_types::span::Span;

use crate::display::{DisplayText, neutralize_markers, sanitize_around};
use crate::joined::joined;
use crate::known::{Known, hits};
use crate::marker::marker;
use crate::redact_text;
use crate::redacted::{Redacted, Redaction, apply};
use crate::scan::BETWEEN;

/// Removes the secrets of one value from sentences, paths and commands that repeat them.
pub struct RelatedTexts<'s> {
    secrets: &'s [(&'static str, String)],
    known: Known<'s>,
}

/// A redacted text and where its markers are.
#[derive(Debug, Clone)]
pub struct MarkedText {
    text: String,
    markers: Vec<Range<usize>>,
}

impl MarkedText {
    /// The text made safe to display, at most `limit` bytes long.
    pub fn sanitized(&self, limit: usize) -> DisplayText {
        sanitize_around(&self.text, &self.markers, limit)
    }
}

impl<'s> RelatedTexts<'s> {
    pub(crate) fn of(secrets: &'s [(&'static str, String)]) -> RelatedTexts<'s> {
        RelatedTexts { secrets, known: Known::of(secrets) }
    }

    /// The text without secrets and without forged markers; true if nothing was changed.
    pub fn text<'t>(&self, text: &'t str) -> (Cow<'t, str>, bool) {
        let mut clean = neutralize_markers(text);
        for (kind, secret) in self.secrets {
            // Replaced wherever the same characters occur, regardless of what surrounds them here.
            if clean.contains(secret.as_str()) && !kind.contains(secret.as_str()) {
                clean = Cow::Owned(clean.replace(secret.as_str(), &marker(kind, secret)));
            }
        }
        let Redacted { text: again, hidden } = redact_text(&clean);
        let same = hidden.is_empty() && matches!(clean, Cow::Borrowed(_));
        if hidden.is_empty() {
            return (clean, same);
        }
        (Cow::Owned(again.into_owned()), false)
    }

    /// Moves a span of `old` to the same characters of its redacted form `new`; `None` if some of
    /// them are hidden and others are not.
    pub fn remap(&self, old: &str, new: &str, span: Span) -> Option<Span> {
        if old == new {
            return Some(span);
        }
        let Redacted { text, hidden } = apply(old, hits(old, Some(&self.known)));
        if text != new {
            return None;
        }
        let start = place(&hidden, span.start, false)?;
        let end = place(&hidden, span.end, true)?;
        (start <= end).then_some(Span { start, end })
    }

    /// A command given as a string or as a list of words, redacted. The offsets of the markers are
    /// kept, because a caller may have written text that looks like a marker.
    pub fn command(&self, command: &Value<'_>) -> Option<MarkedText> {
        let text = match command {
            Value::String(text) => Cow::Borrowed(&**text),
            Value::Array(words) => {
                Cow::Owned(joined(words).or_else(|| match words.as_slice() {
                    [Value::String(word)] => Some(word.to_string()),
                    _ => None,
                })?)
            }
            _ => return None,
        };
        let Redacted { text, hidden } = apply(&text, hits(&text, Some(&self.known)));
        let markers = hidden.iter().map(|one| one.span.start as usize..one.span.end as usize);
        // A space is as long as the separator between two words, so the markers keep their offsets.
        let text = text.replace(char::from(BETWEEN), " ");
        Some(MarkedText { text, markers: markers.collect() })
    }
}

/// Where an offset of the source is in the result; `None` inside a hidden secret.
fn place(hidden: &[Redaction], at: u32, is_end: bool) -> Option<u32> {
    let mut grown = 0_i64;
    for one in hidden {
        let from = u32::try_from(i64::from(one.span.start) - grown).ok()?;
        let to = from.checked_add(one.bytes)?;
        if at < from || (at == from && !is_end) {
            break;
        }
        if at == from {
            return Some(one.span.start);
        }
        if at < to {
            return None;
        }
        grown = i64::from(one.span.end) - i64::from(to);
    }
    u32::try_from(i64::from(at) + grown).ok()
}
