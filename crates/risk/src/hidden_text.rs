//! Characters in a text that nobody sees, or that look like others.

use std::borrow::Cow;

use crate::finding::{Finding, Findings, Span};
use crate::structural_findings::{CLIPBOARD, HIDDEN, StructuralRule};
use countersign_text::{HiddenKind, hidden};

/// Notes hidden characters in text for another shell.
pub(crate) fn note(text: &str, out: &mut Findings) {
    let clean = without_terminal_codes(text, out);
    look_alikes(&clean, out);
}

/// Whether the byte is in the text. Commands are short: a pass without an early end is quicker, as
/// it looks at many bytes at once.
pub(crate) fn holds(text: &str, byte: u8) -> bool {
    text.bytes().fold(0, |seen, b| seen | u8::from(b == byte)) != 0
}

/// Adds a structural finding.
pub(crate) fn add(out: &mut Findings, rule: &StructuralRule, span: Option<Span>) {
    out.add(Finding { span, ..rule.finding() });
}

/// Takes colour and title codes of a terminal away, so that what they cover is read.
pub(crate) fn without_terminal_codes<'t>(text: &'t str, out: &mut Findings) -> Cow<'t, str> {
    if !holds(text, 0x1b) {
        return Cow::Borrowed(text);
    }
    let mut clean = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\u{1b}') {
        clean.push_str(before);
        let end = if let Some(code) = after.strip_prefix('[') {
            1 + code.find(|c: char| ('@'..='~').contains(&c)).map_or(code.len(), |i| i + 1)
        } else if let Some(code) = after.strip_prefix(']') {
            if code.starts_with("52;") {
                add(out, &CLIPBOARD, None);
            }
            let bell = code.find('\u{7}').map(|i| i + 2);
            let string = code.find("\u{1b}\\").map(|i| i + 3);
            bell.into_iter().chain(string).min().unwrap_or(1 + code.len())
        } else {
            after.chars().next().map_or(0, char::len_utf8)
        };
        rest = after.get(end..).unwrap_or_default();
    }
    clean.push_str(rest);
    Cow::Owned(clean)
}

/// Characters nobody sees, or that look like others.
pub(crate) fn look_alikes(text: &str, out: &mut Findings) {
    for found in hidden(text) {
        let start = usize::try_from(found.span.start).unwrap_or(0);
        let before = text.get(..start).and_then(|t| t.chars().next_back());
        let sneaky = match found.kind {
            HiddenKind::Bidi | HiddenKind::Tag | HiddenKind::MixedScript => true,
            // Emoji are put together with joiners; plain letters have no reason for one.
            HiddenKind::ZeroWidth => before.is_none_or(|c| c.is_ascii()),
            HiddenKind::Control => !text.get(start..).is_some_and(|t| t.starts_with('\r')),
        };
        if sneaky {
            add(out, &HIDDEN, Some(found.span));
            return;
        }
    }
}
