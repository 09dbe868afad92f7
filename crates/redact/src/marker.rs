//! The marker that takes the place of a secret: `⟨hidden: github token, 40 characters⟩`.

use std::fmt::Write as _;

use super::tables;

/// The start of a marker; `sanitize` lets no caller's text look like it.
pub(super) const OPEN: &str = "⟨hidden: ";
pub(super) const CLOSE: &str = " characters⟩";

/// Appends the marker for a secret.
pub(super) fn push_marker(out: &mut String, kind: &str, secret: &str) {
    let _ = write!(out, "{OPEN}{kind}, {}{CLOSE}", secret.chars().count());
}

/// The marker for a whole value.
pub(super) fn marker(kind: &str, secret: &str) -> String {
    let mut out = String::new();
    push_marker(&mut out, kind, secret);
    out
}

/// The length of the marker that the text begins with; 0 if there is none. Only the exact form
/// counts, so that no secret can pass the search inside a marker.
pub(super) fn marker_length(text: &str) -> usize {
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
