//! Where a value under a secret name ends, and whether it must be hidden.

use super::marker::marker_length;
use super::scan::{BETWEEN, Scan, SecretRange, is_reference};
use super::tables;

/// Where a value without quotes ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stop {
    /// At white space or a symbol that ends a word.
    Word,
    /// At the end of the line.
    Line,
    /// At the end of this word of a list.
    Item,
}

/// The value that begins here, after white space. `code`: the value is in program text, where a
/// name or a function call is not a secret.
pub(super) fn value(
    scan: &Scan<'_>,
    at: usize,
    kind: &'static str,
    stop: Stop,
    code: bool,
) -> Option<SecretRange> {
    let rest = scan.bytes.get(at..)?;
    let start = at + rest.iter().take(16).take_while(|b| matches!(b, b' ' | b'\t')).count();
    let rest = scan.bytes.get(start..)?;
    let slashes = rest.iter().take(8).take_while(|&&b| b == b'\\').count();
    let quoted = rest.get(slashes).filter(|b| matches!(b, b'"' | b'\'')).copied();
    if stop == Stop::Item {
        return bare(scan, start, kind, Stop::Item, false);
    }
    if let Some(quote) = quoted {
        return within(scan, start + slashes + 1, quote, slashes, kind);
    }
    if matches!(rest.first(), Some(b'{' | b'[')) && !is_reference(word(rest)) {
        return nested(scan, start, kind);
    }
    bare(scan, start, kind, stop, code)
}

fn word(rest: &[u8]) -> &[u8] {
    let length = rest.iter().take(256).take_while(|b| !ends_word(**b)).count();
    rest.get(..length).unwrap_or_default()
}

fn ends_word(byte: u8) -> bool {
    byte <= b' ' || matches!(byte, b'"' | b'\'' | b'`' | b'&' | b';' | b'|' | b'<' | b'>')
}

/// Up to the closing quote, or to the end of the line if there is none.
fn within(
    scan: &Scan<'_>,
    start: usize,
    quote: u8,
    slashes: usize,
    kind: &'static str,
) -> Option<SecretRange> {
    let rest = scan.bytes.get(start..)?;
    let (mut run, mut end) = (0, None);
    let mut line = None;
    for (offset, &byte) in rest.iter().enumerate() {
        if byte == BETWEEN {
            break;
        }
        if byte == b'\n' && line.is_none() {
            line = Some(offset);
        }
        // A quote with more backslashes before it than the opening one is part of the value.
        if byte == quote && run <= slashes {
            end = Some(offset - run);
            break;
        }
        run = if byte == b'\\' { run + 1 } else { 0 };
        // A quote that is still open after this much text was not a quote.
        if offset > 4096 {
            break;
        }
    }
    let word = rest.iter().take_while(|b| !ends_word(**b)).count();
    let end = start + end.or(line).unwrap_or(word);
    // Nothing runs in single quotes; elsewhere a command must stay visible.
    let end = if quote == b'\'' { end } else { before_command(scan, start, end) };
    let (start, end) = after_scheme(scan, start, end);
    let text = scan.text.get(start..end)?;
    if is_hidden(text) {
        return None;
    }
    let said = quote != b'\'' && is_reference(text.as_bytes()) || is_worthless(text);
    (!said).then_some(SecretRange { start, end, kind, shape: false })
}

/// An object or list under a secret name, up to its closing bracket: its values, not its names.
fn nested(scan: &Scan<'_>, start: usize, kind: &'static str) -> Option<SecretRange> {
    let (mut depth, mut quote, mut escaped) = (0_u32, None, false);
    for (offset, &byte) in scan.bytes.get(start..)?.iter().enumerate().take(4096) {
        match (quote, byte) {
            (_, BETWEEN) => break,
            _ if escaped => escaped = false,
            (_, b'\\') => escaped = true,
            (Some(open), _) if open == byte => quote = None,
            (None, b'"' | b'\'') => quote = Some(byte),
            (None, b'{' | b'[') => depth += 1,
            (None, b'}' | b']') => {
                depth -= 1;
                if depth == 0 {
                    let end = start + offset + 1;
                    let text = scan.text.get(start..end)?;
                    let empty = text.bytes().all(|b| !b.is_ascii_alphanumeric());
                    let command = before_command(scan, start, end) < end;
                    return (!empty && !command).then_some(SecretRange {
                        start,
                        end,
                        kind,
                        shape: true,
                    });
                }
            }
            _ => {}
        }
    }
    bare(scan, start + 1, kind, Stop::Word, false)
}

fn bare(
    scan: &Scan<'_>,
    start: usize,
    kind: &'static str,
    stop: Stop,
    code: bool,
) -> Option<SecretRange> {
    let tail = scan.bytes.get(start..)?;
    let length = match stop {
        Stop::Word => word_length(scan, start),
        Stop::Line => {
            let ends = |b: u8| matches!(b, b'\n' | b'\r' | b'"' | b'\'' | BETWEEN);
            tail.iter().take_while(|b| !ends(**b)).count()
        }
        Stop::Item => tail.iter().take_while(|b| **b != BETWEEN).count(),
    };
    let mut end = start + length;
    if stop != Stop::Item {
        end = before_command(scan, start, end);
    }
    let (start, end) = match stop {
        Stop::Word => scheme_then_word(scan, start, end),
        _ => after_scheme(scan, start, end),
    };
    let text = scan.text.get(start..end)?;
    if is_hidden(text) {
        return None;
    }
    let text = match stop {
        // The backslash belongs to the quote after it.
        Stop::Word => text.trim_end_matches([',', ')', '}', ']', '\\']),
        _ => text.trim_end(),
    };
    let end = start + text.len();
    if text.is_empty() || is_reference(text.as_bytes()) || is_worthless(text) {
        return None;
    }
    if stop == Stop::Word && is_code(text, scan.bytes.get(end).copied(), code) {
        return None;
    }
    (!is_hidden(text)).then_some(SecretRange { start, end, kind, shape: false })
}

/// A function call or a member access: `get()`, `config.token`.
fn is_code(text: &str, next: Option<u8>, code: bool) -> bool {
    let name = |t: &str| {
        t.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && t.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b':'))
    };
    let head = text.find(['(', '[']).and_then(|at| text.get(..at));
    if let Some(head) = head {
        return name(head);
    }
    let called = matches!(next, Some(b'(' | b'[' | b')')) && text.len() < 64 && code;
    let digits = text.bytes().any(|b| b.is_ascii_digit());
    code && name(text) && (called || (text.contains('.') && !digits))
}

/// Where a command begins that would run inside the value; the end if there is none.
fn before_command(scan: &Scan<'_>, start: usize, end: usize) -> usize {
    let Some(text) = scan.text.get(start..end) else { return end };
    let found = text.find("$(").into_iter().chain(text.find('`')).chain(text.find("<(")).min();
    found.map_or(end, |at| start + at)
}

/// `Bearer abc`: the scheme stays visible.
fn after_scheme(scan: &Scan<'_>, start: usize, end: usize) -> (usize, usize) {
    let text = scan.text.get(start..end).unwrap_or_default();
    match text.split_once(' ') {
        Some((first, _)) if tables::is_scheme(first) => (start + first.len() + 1, end),
        _ => (start, end),
    }
}

/// The same if the value ended at the space after the scheme.
fn scheme_then_word(scan: &Scan<'_>, start: usize, end: usize) -> (usize, usize) {
    let scheme = scan.text.get(start..end).is_some_and(tables::is_scheme);
    if !scheme || scan.bytes.get(end) != Some(&b' ') {
        return (start, end);
    }
    let from = end + 1;
    (from, before_command(scan, from, from + word_length(scan, from)))
}

/// Whether only markers remain. A marker that a caller wrote before a secret hides nothing.
fn is_hidden(text: &str) -> bool {
    let mut rest = text;
    while let Some(tail) = rest.get(marker_length(rest)..).filter(|tail| tail.len() < rest.len()) {
        rest = tail;
    }
    rest.is_empty() && !text.is_empty()
}

/// The length of a word. A marker contains spaces, but is one piece of its word.
fn word_length(scan: &Scan<'_>, start: usize) -> usize {
    let mut at = start;
    while let Some(&byte) = scan.bytes.get(at) {
        let marker = if byte == 0xE2 { scan.text.get(at..).map_or(0, marker_length) } else { 0 };
        if marker == 0 && ends_word(byte) {
            break;
        }
        at += marker.max(1);
    }
    at - start
}

/// Cannot be a secret: a placeholder word or a mask.
fn is_worthless(text: &str) -> bool {
    let mask = |c: char| matches!(c, '*' | 'x' | 'X' | '.' | '•' | '#' | '-' | '_' | '…' | '?');
    let small = text.len() <= 2 && text.bytes().all(|b| b.is_ascii_digit());
    text.trim().is_empty() || small || text.chars().all(mask) || tables::is_plain(text)
}
