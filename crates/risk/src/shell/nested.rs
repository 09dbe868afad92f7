//! Words taken apart that hold a command: an option's value, what stands behind a prefix.

use std::borrow::Cow;

use super::arg::Arg;
use crate::finding::Span;
use crate::flow::Taint;

/// How many commands are looked for in one word.
const MAX_TEXTS: usize = 16;

/// The words as one shell text.
pub(super) fn joined<'t>(words: &[Arg<'t>], span: Span) -> Arg<'t> {
    let mut text = String::new();
    let mut taint = Taint::default();
    for (i, arg) in words.iter().enumerate() {
        if i > 0 {
            text.push(' ');
        }
        text.push_str(&arg.text);
        taint = taint.and(arg.taint);
    }
    Arg { text: Cow::Owned(text), span, taint, glob: false }
}

/// The value attached to an option: `--exec=x`, `-cx`; empty if the next word is its value, as in
/// `--exec x` or `-qc x`; `None` if the word is not this option.
pub(super) fn option_value<'w>(word: &'w str, option: &str) -> Option<&'w str> {
    if word == option {
        return Some("");
    }
    if let Some(rest) = word.strip_prefix(option) {
        if option.len() == 2 {
            return Some(rest.strip_prefix('=').unwrap_or(rest));
        }
        return rest.strip_prefix('=');
    }
    let letter = option.strip_prefix('-').filter(|o| o.len() == 1)?;
    let cluster = word.strip_prefix('-').filter(|w| !w.starts_with('-') && w.len() <= 4)?;
    let letters = cluster.bytes().all(|b| b.is_ascii_alphabetic());
    (letters && cluster.ends_with(letter)).then_some("")
}

/// The texts that stand behind a prefix. Its star stands for anything up to what follows it, so the
/// prefix may be found more than once. A prefix that opens a quote or bracket ends where that is
/// closed.
pub(super) fn texts_behind(text: &str, prefix: &str) -> Vec<String> {
    let mut texts = Vec::new();
    let Some((head, tail)) = prefix.split_once('*') else {
        texts.extend(text.strip_prefix(prefix).map(|rest| closed(rest, prefix)));
        return texts;
    };
    let Some(mut rest) = text.strip_prefix(head) else { return texts };
    while let Some(at) = rest.find(tail).filter(|_| texts.len() < MAX_TEXTS) {
        rest = rest.get(at + tail.len()..).unwrap_or_default();
        texts.push(closed(rest, tail));
    }
    texts
}

/// The text up to the end of what the prefix opened, with escapes of that language undone.
fn closed(text: &str, prefix: &str) -> String {
    let end = match prefix.chars().last() {
        Some(quote @ ('"' | '\'' | '`')) => {
            let mut escaped = false;
            text.find(|c: char| {
                let ends = c == quote && !escaped;
                escaped = c == '\\' && !escaped;
                ends
            })
        }
        Some('(') => text.rfind(')'),
        Some('[') => text.rfind(']'),
        Some('{') => text.rfind('}'),
        _ => return text.to_owned(),
    };
    let inner = text.get(..end.unwrap_or(text.len())).unwrap_or_default();
    inner.replace("\\r", "\n").replace("\\n", "\n").replace("\\\"", "\"").replace("\\'", "'")
}

/// The texts in double or single quotes, in order.
pub(super) fn quoted(code: &str) -> Vec<String> {
    let mut texts = Vec::new();
    let mut rest = code;
    while let Some(at) = rest.find(['"', '\'']).filter(|_| texts.len() < MAX_TEXTS) {
        let quote = rest.get(at..=at).unwrap_or_default();
        let inside = rest.get(at + 1..).unwrap_or_default();
        let text = closed(inside, quote);
        let end = inside.find(quote).map_or(inside.len(), |end| end + 1);
        rest = inside.get(end.max(text.len() + 1).min(inside.len())..).unwrap_or_default();
        texts.push(text);
    }
    texts
}

/// Whether the first word of a text, behind assignments and marks, passes this test.
pub(super) fn begins_command(text: &str, is_program: impl Fn(&str) -> bool) -> bool {
    let text = text.trim_start_matches([' ', '!', ':', '|', '(', '{', '\\', '"', '\'']);
    let mut words = text.split_whitespace();
    words.find(|word| !is_assignment(word)).is_some_and(is_program)
}

pub(super) fn is_assignment(text: &str) -> bool {
    text.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
    })
}
