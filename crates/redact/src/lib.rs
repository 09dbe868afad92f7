//! Removes secrets from texts before they are stored, displayed or logged: `⟨hidden: github token,
//! 40 characters⟩`.
//!
//! Rules in `rules/secrets.toml` describe the secrets. One pass, linear in the text. Only values
//! are removed: a command in place of a secret (`PASSWORD=$(curl … | sh)`) stays visible, so that
//! nothing dangerous can hide behind a name.

use std::borrow::Cow;
use std::fmt::Write as _;

use serde::Serialize;

use countersign_types::span::Span;

mod cards;
mod display;
mod joined;
mod known;
mod leaves;
mod names;
mod options;
mod reading;
mod related;
mod scan;
mod search;
mod tables;
mod value;

#[cfg(any(test, feature = "samples"))]
pub mod samples;

#[cfg(test)]
mod canary;
#[cfg(test)]
mod tests;

pub use display::{DisplayText, before_marker, neutralize_markers, sanitize_marked};
pub use related::{MarkedText, RelatedTexts};
pub use value::{RemovedSecrets, redact_related, redact_value};

/// The start of a marker; `sanitize` lets no caller's text look like it.
const OPEN: &str = "⟨hidden: ";
const CLOSE: &str = " characters⟩";

/// One secret that was removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Redaction {
    /// The kind of secret, for people.
    pub kind: &'static str,
    /// How many bytes of the source were removed.
    pub bytes: u32,
    /// The range of its marker in the result (in its own string, for a value).
    pub span: Span,
}

/// A text without its secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redacted<'a> {
    /// Borrowed if nothing was removed.
    pub text: Cow<'a, str>,
    /// What was removed, in the order of the text.
    pub hidden: Vec<Redaction>,
}

/// The text without its secrets. Redacting twice changes nothing more.
pub fn redact_text(text: &str) -> Redacted<'_> {
    apply(text, search::hits(text))
}

/// A range of the source that must be hidden.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Hit {
    start: usize,
    end: usize,
    kind: &'static str,
}

fn apply(text: &str, mut hits: Vec<Hit>) -> Redacted<'_> {
    if hits.is_empty() {
        return Redacted { text: Cow::Borrowed(text), hidden: Vec::new() };
    }
    hits.sort_unstable_by_key(|hit| (hit.start, hit.end));
    let mut out = String::with_capacity(text.len() + 32);
    let mut hidden = Vec::with_capacity(hits.len());
    let mut copied = 0;
    let mut hits = hits.into_iter().peekable();
    while let Some(mut hit) = hits.next() {
        // Overlapping hits are one secret: separate cuts could leave a piece between them.
        while let Some(next) = hits.next_if(|next| next.start < hit.end) {
            hit.end = hit.end.max(next.end);
        }
        out.push_str(text.get(copied..hit.start).unwrap_or_default());
        let start = out.len();
        push_marker(&mut out, hit.kind, text.get(hit.start..hit.end).unwrap_or_default());
        hidden.push(Redaction {
            kind: hit.kind,
            bytes: u32::try_from(hit.end - hit.start).unwrap_or(u32::MAX),
            span: Span::new(start, out.len()),
        });
        copied = hit.end;
    }
    out.push_str(text.get(copied..).unwrap_or_default());
    Redacted { text: Cow::Owned(out), hidden }
}

fn push_marker(out: &mut String, kind: &str, secret: &str) {
    let _ = write!(out, "{OPEN}{kind}, {}{CLOSE}", secret.chars().count());
}

/// The marker for a whole value.
fn marker(kind: &str, secret: &str) -> String {
    let mut out = String::new();
    push_marker(&mut out, kind, secret);
    out
}

/// The length of the marker that the text begins with; 0 if there is none. Only the exact form
/// counts, so that no secret can pass the search inside a marker.
fn marker_length(text: &str) -> usize {
    let Some(rest) = text.strip_prefix(OPEN) else { return 0 };
    // The search is limited to the longest kind: many openings without an end must not each cost a
    // search of the whole text.
    let Some(length) = rest.bytes().take(tables::LONGEST_KIND + 1).position(|b| b == b',') else {
        return 0;
    };
    let Some((kind, rest)) = rest.split_at_checked(length) else { return 0 };
    let Some(rest) = rest.strip_prefix(", ").filter(|_| tables::is_kind(kind)) else { return 0 };
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let closed = rest.get(digits..).is_some_and(|rest| rest.starts_with(CLOSE));
    if !closed || !(1..=7).contains(&digits) {
        return 0;
    }
    OPEN.len() + kind.len() + 2 + digits + CLOSE.len()
}
