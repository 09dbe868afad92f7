//! awk and sed programs: only what leaves the text they work on.

use std::borrow::Cow;

use super::expand::Arg;
use super::flow::{Flow, Taint};
use super::signs;
use super::streams::is_socket;
use super::tables::Touch;
use super::walk::Walker;
use crate::finding::Span;

/// `system("…")`, `"…" | getline`, `print | "…"`, `print > "…"`, `/inet/`.
pub(super) fn awk(walker: &mut Walker<'_, '_, '_, '_>, text: &str, span: Span) {
    if text.contains("/inet/") {
        walker.shared.sign(&signs::REVERSE_SHELL, Some(span));
    }
    let bytes = text.as_bytes();
    let mut at = 0;
    let mut before: Option<u8> = None;
    let mut call = false;
    while let Some(&b) = bytes.get(at) {
        match b {
            b'"' => {
                let start = at + 1;
                at = string_end(bytes, start);
                let literal = text.get(start..at).unwrap_or_default();
                let rest = text.get(at + 1..).unwrap_or_default().trim_start();
                let piped = rest.starts_with('|') && !rest.starts_with("||");
                if call || before == Some(b'|') || piped {
                    let command = super::escape::decode(literal, false);
                    walker.inside(&command, span, &Flow::none());
                } else if before == Some(b'>') {
                    write(walker, literal, span);
                }
                call = false;
                before = Some(b'"');
            }
            b'/' if matches!(
                before,
                None | Some(b'(' | b'{' | b';' | b'!' | b'~' | b',' | b'&')
            ) =>
            {
                at = regex_end(bytes, at + 1);
                before = Some(b'/');
            }
            b'#' => {
                while bytes.get(at).is_some_and(|b| *b != b'\n') {
                    at += 1;
                }
            }
            b's' if text.get(at..).is_some_and(|r| r.starts_with("system")) => {
                let rest = text.get(at + 6..).unwrap_or_default().trim_start();
                if let Some(rest) = rest.strip_prefix('(') {
                    call = rest.trim_start().starts_with('"');
                    if !call {
                        walker.shared.sign(&signs::UNSEEN_CODE, Some(span));
                    }
                }
                at += 5;
            }
            b' ' | b'\t' | b'\n' => {}
            other => before = Some(other),
        }
        at += 1;
    }
}

fn string_end(bytes: &[u8], mut at: usize) -> usize {
    while let Some(&b) = bytes.get(at) {
        match b {
            b'\\' => at += 1,
            b'"' => return at,
            _ => {}
        }
        at += 1;
    }
    at
}

fn regex_end(bytes: &[u8], mut at: usize) -> usize {
    while let Some(&b) = bytes.get(at) {
        match b {
            b'\\' => at += 1,
            b'/' | b'\n' => return at,
            _ => {}
        }
        at += 1;
    }
    at
}

fn write(walker: &mut Walker<'_, '_, '_, '_>, path: &str, span: Span) {
    if is_socket(path) {
        walker.shared.sign(&signs::RAW_SOCKET, Some(span));
        return;
    }
    let arg = Arg { text: Cow::Owned(path.to_owned()), span, taint: Taint::default(), glob: false };
    walker.touch(Touch::Write, &arg, false);
}

/// The commands `e` (run) and `w FILE`, and the flags `e` and `w FILE` of `s///`.
pub(super) fn sed(walker: &mut Walker<'_, '_, '_, '_>, text: &str, span: Span) {
    for line in text.split(['\n']) {
        sed_line(walker, line.trim_start(), span);
    }
}

fn sed_line(walker: &mut Walker<'_, '_, '_, '_>, line: &str, span: Span) {
    let mut rest = line;
    // A bound on commands in one line keeps this linear.
    for _ in 0..64 {
        rest = skip_address(rest).trim_start_matches([' ', '\t', '{', '}', ';', '!']);
        let Some(command) = rest.chars().next() else { return };
        let after = rest.get(command.len_utf8()..).unwrap_or_default();
        match command {
            'e' => {
                let text = after.trim();
                if text.is_empty() || text.starts_with([';', '}']) {
                    walker.shared.sign(&signs::UNSEEN_CODE, Some(span));
                } else {
                    walker.shared.sign(&signs::SHELL_TEXT, Some(span));
                    walker.inside(text, span, &Flow::none());
                }
                return;
            }
            'w' | 'W' => {
                write(walker, after.trim(), span);
                return;
            }
            's' => {
                let Some(flags) = after_substitution(after, 2) else { return };
                let end = flags.find([';', '}', '\n']).unwrap_or(flags.len());
                let mine = flags.get(..end).unwrap_or_default();
                if let Some((_, file)) = mine.split_once('w') {
                    write(walker, file.trim(), span);
                    return;
                }
                if mine.contains('e') {
                    walker.shared.sign(&signs::UNSEEN_CODE, Some(span));
                }
                rest = flags.get(end..).unwrap_or_default();
            }
            'y' => {
                let Some(flags) = after_substitution(after, 2) else { return };
                rest = flags;
            }
            'a' | 'i' | 'c' | 'r' | 'R' | 'b' | 't' | 'T' | ':' | '#' => return,
            _ => rest = after,
        }
    }
}

/// Past the parts of `s/a/b/`.
fn after_substitution(text: &str, parts: usize) -> Option<&str> {
    let mut chars = text.char_indices();
    let (_, close) = chars.next()?;
    let mut left = parts;
    let mut escaped = false;
    for (i, c) in chars {
        if escaped {
            escaped = false;
        } else if c == '\\' {
            escaped = true;
        } else if c == close {
            left -= 1;
            if left == 0 {
                return text.get(i + c.len_utf8()..);
            }
        }
    }
    None
}

/// Past `1,5`, `$`, `/re/`, `/a/,/b/`.
fn skip_address(text: &str) -> &str {
    let mut rest = text.trim_start_matches([' ', '\t', ';', '{']);
    for _ in 0..4 {
        let start = rest;
        rest = rest.trim_start_matches(|c: char| {
            c.is_ascii_digit() || matches!(c, '$' | ',' | '~' | '+' | '!' | ' ')
        });
        if let Some(regex) = rest.strip_prefix('/') {
            let Some(after) = after_substitution(&format!("/{regex}"), 1).map(str::len) else {
                return "";
            };
            rest = rest.get(rest.len() - after..).unwrap_or_default();
            rest = rest.trim_start_matches(['I', 'M']);
        }
        if rest.len() == start.len() {
            break;
        }
    }
    rest
}
