//! `{a,b}` and `{1..3}`: one word that becomes several.

use crate::limit::{Excess, Limit};
use countersign_shell::UNKNOWN;

/// How many bytes the braces of one word may become, with every step on the way.
const MAX_BRACES: usize = 1024 * 1024;
/// How many fields one word may become.
pub(super) const FIELDS: Limit = Limit::new("words made from one", 2048);
/// How many numbers of `{1..n}` are written out; those between the first and the last stand as one
/// unknown word.
const MAX_RANGE: usize = 512;

/// `{a,b}` and `{1..3}`, outermost first, bounded; false where a word too long was left as it is.
pub(super) fn brace(text: &str, out: &mut Vec<String>) -> Result<bool, Excess> {
    let mut work = vec![text.to_owned()];
    let (mut bytes, mut whole) = (MAX_BRACES, true);
    while let Some(text) = work.pop() {
        FIELDS.check(out.len() + work.len() + 1)?;
        match split_brace(&text) {
            None => out.push(text),
            Some((_, middle, _)) if middle.len() * text.len() > bytes => {
                whole = false;
                out.push(text);
            }
            Some((before, middle, after)) => {
                bytes -= middle.len() * text.len();
                for choice in middle.into_iter().rev() {
                    work.push(format!("{before}{choice}{after}"));
                }
            }
        }
    }
    Ok(whole)
}

/// The text before the first brace, the words that it may become, and the text behind it.
fn split_brace(text: &str) -> Option<(&str, Vec<String>, &str)> {
    let open = text.find('{')?;
    let (mut depth, mut commas, mut close) = (0usize, Vec::new(), None);
    for (i, b) in text.bytes().enumerate().skip(open) {
        match b {
            b'{' => depth += 1,
            b'}' => {
                depth -= 1;
                if depth == 0 {
                    close = Some(i);
                    break;
                }
            }
            b',' if depth == 1 => commas.push(i),
            _ => {}
        }
    }
    let close = close?;
    let before = text.get(..open)?;
    let inner = text.get(open + 1..close)?;
    let after = text.get(close + 1..)?;
    if !commas.is_empty() {
        let mut choices = Vec::new();
        let mut from = open + 1;
        for comma in commas.into_iter().chain([close]) {
            choices.push(text.get(from..comma)?.to_owned());
            from = comma + 1;
        }
        return Some((before, choices, after));
    }
    Some((before, range(inner)?, after))
}

/// The words of `1..9` or `a..f`, with a step behind a second `..`.
fn range(inner: &str) -> Option<Vec<String>> {
    let (a, b) = inner.split_once("..")?;
    let (b, step) = b.split_once("..").unwrap_or((b, "1"));
    let step = step.parse::<i32>().ok()?.unsigned_abs().max(1) as usize;
    if let (Ok(a), Ok(b)) = (a.parse::<i32>(), b.parse::<i32>()) {
        let (low, high) = (a.min(b), a.max(b));
        let mut choices: Vec<String> =
            (low..=high).step_by(step).take(MAX_RANGE).map(|n| n.to_string()).collect();
        let length = usize::try_from(i64::from(high) - i64::from(low)).unwrap_or(usize::MAX);
        if length / step >= MAX_RANGE {
            choices.push(UNKNOWN.to_string());
            choices.push(high.to_string());
        }
        return Some(choices);
    }
    let (mut ca, mut cb) = (a.chars(), b.chars());
    match (ca.next(), ca.next(), cb.next(), cb.next()) {
        (Some(x), None, Some(y), None) if x.is_ascii_alphabetic() && y.is_ascii_alphabetic() => {
            Some((x.min(y)..=x.max(y)).step_by(step).map(String::from).collect())
        }
        _ => None,
    }
}
