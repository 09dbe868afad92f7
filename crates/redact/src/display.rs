//! Redacted texts for display: our markers stay as they are, everything else is sanitized.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::ops::Range;

use super::marker::{CLOSE, OPEN, marker_length};
use super::tables;
use countersign_text::sanitize::sanitize_within;

/// The longest marker: its kind, a comma and a space, seven digits.
const LONGEST: usize = OPEN.len() + tables::LONGEST_KIND + 9 + CLOSE.len();

/// A text that is safe to display, and how many of its bytes are cut off.
#[derive(Debug, Clone)]
pub struct DisplayText {
    /// What may be displayed.
    pub text: String,
    /// How many bytes of the source are cut off.
    pub cut: usize,
}

/// Sanitizes a text about a call. Every such text went through `neutralize_markers` before it was
/// redacted, so each marker in it is ours.
pub fn sanitize_marked(text: &str, limit: usize) -> DisplayText {
    let (mut spans, mut at) = (Vec::new(), 0);
    while let Some(place) = text.get(at..).and_then(|rest| rest.find(OPEN)) {
        let length = text.get(at + place..).map_or(0, marker_length);
        if length > 0 {
            spans.push(at + place..at + place + length);
        }
        at += place + length.max(OPEN.len());
    }
    sanitize_around(text, &spans, limit)
}

/// Sanitizes a redacted text whose markers have these ranges, in order. A marker is kept entirely
/// or not at all.
pub(super) fn sanitize_around(text: &str, markers: &[Range<usize>], limit: usize) -> DisplayText {
    let mut out = String::new();
    let mut at = 0;
    let end = text.len()..text.len();
    for span in markers.iter().chain([&end]) {
        let piece = text.get(at..span.start).unwrap_or_default();
        let marker = text.get(span.clone()).unwrap_or_default();
        let safe = sanitize_within(piece, limit.saturating_sub(out.len()));
        let whole = safe.hidden_bytes == 0;
        if whole && out.len() + safe.text.len() + marker.len() <= limit {
            out.push_str(&safe.text);
            out.push_str(marker);
            at = span.end;
            continue;
        }
        let note = format!("⟨{} more bytes⟩", safe.hidden_bytes);
        let kept = if whole { &*safe.text } else { safe.text.trim_end_matches(&*note) };
        let cut = text.len() - span.start + safe.hidden_bytes;
        out.push_str(kept);
        let _ = write!(out, "⟨{cut} more bytes⟩");
        return DisplayText { text: out, cut };
    }
    DisplayText { text: out, cut: 0 }
}

/// The offset, or the start of the marker that the offset would split.
pub fn before_marker(text: &str, place: usize) -> usize {
    let reach = LONGEST.min(place);
    let starts = (1..=reach).map(|back| place - back);
    let cut =
        |start: &usize| text.get(*start..).is_some_and(|rest| start + marker_length(rest) > place);
    starts.into_iter().find(cut).unwrap_or(place)
}

/// A caller's text in which nothing looks like our markers.
pub fn neutralize_markers(text: &str) -> Cow<'_, str> {
    if text.contains(OPEN) {
        Cow::Owned(text.replace(OPEN, OPEN.trim_end()))
    } else {
        Cow::Borrowed(text)
    }
}
