//! A text with markers in place of its secrets.

use std::borrow::Cow;

use serde::Serialize;

use countersign_types::span::Span;

use super::marker::push_marker;

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

/// A range of the source that must be hidden.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Hit {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) kind: &'static str,
}

/// The text with a marker in place of each hit.
pub(super) fn apply(text: &str, mut hits: Vec<Hit>) -> Redacted<'_> {
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
