//! The values inside an object or list in a text: the values are hidden, the structure stays
//! visible.

use std::ops::Range;

use super::marker::marker_length;

/// The first byte of a marker.
const MARKER: u8 = 0xE2;

/// Every value between two offsets: strings without their quotes, numbers, bare words. A word
/// followed by a colon is a name, not a value.
pub(super) fn of(text: &str, start: usize, end: usize) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let marker = |at: usize| text.get(at..end).map_or(0, marker_length);
    let mut found = Vec::new();
    let mut at = start;
    while at < end {
        let Some(&byte) = bytes.get(at) else { break };
        let hidden = if byte == MARKER { marker(at) } else { 0 };
        if hidden > 0 {
            at += hidden;
            continue;
        }
        let slashes = run_of(bytes, at, end, b'\\');
        let quote = bytes.get(at + slashes).filter(|b| matches!(b, b'"' | b'\'')).copied();
        let (value, next) = if let Some(quote) = quote {
            let from = at + slashes + 1;
            let to = closing(bytes, from, end, quote, slashes);
            (from..to, to + slashes + 1)
        } else if is_sign(byte) {
            at += 1;
            continue;
        } else {
            let rest = bytes.get(at..end).unwrap_or_default();
            let goes_on =
                |&(i, b): &(usize, &u8)| !is_sign(*b) && (*b != MARKER || marker(at + i) == 0);
            let length = rest.iter().enumerate().take_while(goes_on).count().max(1);
            (at..at + length, at + length)
        };
        let rest = bytes.get(next..end).unwrap_or_default();
        let is_name = rest.iter().find(|b| **b > b' ') == Some(&b':');
        if !is_name && !is_told(bytes.get(value.clone()).unwrap_or_default()) {
            found.push(value);
        }
        at = next.max(at + 1);
    }
    found
}

fn is_sign(byte: u8) -> bool {
    byte <= b' ' || matches!(byte, b'{' | b'}' | b'[' | b']' | b',' | b':' | b'"' | b'\'' | b'\\')
}

fn run_of(bytes: &[u8], at: usize, end: usize, sign: u8) -> usize {
    bytes.get(at..end).unwrap_or_default().iter().take_while(|b| **b == sign).count()
}

/// Where the string ends: before a quote with no more backslashes than the opening one.
fn closing(bytes: &[u8], from: usize, end: usize, quote: u8, slashes: usize) -> usize {
    let mut run = 0;
    for (offset, &byte) in bytes.get(from..end).unwrap_or_default().iter().enumerate() {
        if byte == quote && run <= slashes {
            return from + offset - run;
        }
        run = if byte == b'\\' { run + 1 } else { 0 };
    }
    end
}

/// Contains no information: empty, `null`, `true`, `false`.
fn is_told(value: &[u8]) -> bool {
    matches!(value, b"" | b"null" | b"true" | b"false")
}
