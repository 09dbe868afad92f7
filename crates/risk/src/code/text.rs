//! Text without running it: the escapes of literals, and the usual string methods.

use crate::code::token::RAW;
use crate::code::value::{HOLE, Shape, TAINT_LOST, TEXT, Text, Value};

/// The content of a string literal, its escapes resolved.
pub(super) fn literal(raw: &str, flags: u8) -> Text<'_> {
    if !raw.contains('\\') {
        return Text::Src(raw);
    }
    if flags & RAW != 0 && !raw.contains("\\'") && !raw.contains("\\\\") {
        return Text::Src(raw);
    }
    Text::Own(unescape(raw).into())
}

fn unescape(raw: &str) -> String {
    let mut out = String::with_capacity(raw.len());
    let mut chars = raw.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some('n') => out.push('\n'),
            Some('t') => out.push('\t'),
            Some('r') => out.push('\r'),
            Some('e') => out.push('\u{1b}'),
            Some('x') => hex_escape(&mut chars, 2, &mut out),
            Some('u') => hex_escape(&mut chars, 4, &mut out),
            Some('U') => hex_escape(&mut chars, 8, &mut out),
            Some('\n') | None => {}
            Some(d @ '0'..='7') => octal(&mut chars, d, &mut out),
            Some(other) => out.push(other),
        }
    }
    out
}

fn hex_escape(chars: &mut std::str::Chars<'_>, width: usize, out: &mut String) {
    let rest = chars.as_str();
    let braced = rest.starts_with('{');
    if braced {
        chars.next();
    }
    let mut code = 0_u32;
    for _ in 0..if braced { 6 } else { width } {
        let Some(digit) = chars.as_str().chars().next().and_then(|c| c.to_digit(16)) else { break };
        code = (code << 4) | digit;
        chars.next();
    }
    if braced && chars.as_str().starts_with('}') {
        chars.next();
    }
    out.push(char::from_u32(code).unwrap_or(HOLE));
}

fn octal(chars: &mut std::str::Chars<'_>, first: char, out: &mut String) {
    let mut code = first.to_digit(8).unwrap_or(0);
    for _ in 0..2 {
        let Some(digit) = chars.as_str().chars().next().and_then(|c| c.to_digit(8)) else { break };
        code = code * 8 + digit;
        chars.next();
    }
    out.push(char::from_u32(code).unwrap_or(HOLE));
}

/// Character codes to text.
pub(super) fn from_codes<'v, 'a: 'v>(codes: impl Iterator<Item = &'v Value<'a>>) -> Option<String> {
    let mut out = String::new();
    for code in codes {
        for one in code.items.as_deref().unwrap_or(std::slice::from_ref(code)) {
            out.push(char::from_u32(u32::try_from(one.num?).ok()?)?);
        }
    }
    (!out.is_empty()).then_some(out)
}

/// Puts list entries together; entries that are not known become holes.
pub(super) fn join(separator: &str, list: &Value<'_>) -> Option<String> {
    let mut out = String::new();
    if list.items().is_empty() {
        return None;
    }
    for (n, item) in list.items().iter().enumerate() {
        if n > 0 {
            out.push_str(separator);
        }
        match item.text() {
            Some(text) => out.push_str(text),
            None => out.push(HOLE),
        }
        if TEXT.check(out.len()).is_err() {
            // Too long to be kept, which whoever keeps it will say.
            break;
        }
    }
    Some(out)
}

/// A string method applied to a known receiver; `None` when nothing is known of the result.
pub(super) fn method<'a>(name: &str, recv: &Value<'a>, args: &[Value<'a>]) -> Option<Value<'a>> {
    let first = args.first();
    let arg = first.and_then(Value::text);
    if recv.shape != Shape::One && name == "join" {
        return join(arg.unwrap_or(","), recv).map(|t| Value::of_text(t, recv.taint));
    }
    if recv.shape == Shape::List && name == "reverse" {
        let items = recv.items().iter().rev().cloned().collect();
        return Some(Value::of_items(items, Shape::List));
    }
    let text = recv.text()?;
    let new = match name {
        "join" => join(text, first?)?,
        "replace" | "gsub" | "replaceAll" | "sub" => {
            let (from, to) = (arg?, args.get(1).and_then(Value::text).unwrap_or(""));
            if from.is_empty() {
                return None;
            }
            if TEXT.check(text.matches(from).count() * to.len()).is_err() {
                return Some(Value::unknown(recv.taint | TAINT_LOST));
            }
            text.replace(from, to)
        }
        "strip" | "trim" | "rstrip" | "lstrip" | "chomp" | "trimEnd" => text.trim().to_owned(),
        "lower" | "toLowerCase" | "downcase" => text.to_lowercase(),
        "upper" | "toUpperCase" | "upcase" => text.to_uppercase(),
        "reverse" => text.chars().rev().collect(),
        "swapcase" => text.chars().map(swap).collect(),
        "concat" => format!("{text}{}", arg.unwrap_or("\u{1a}")),
        "format" => fill(text, args),
        "split" => {
            let parts = split(text, arg, recv.taint);
            return Some(Value::of_items(parts, Shape::List));
        }
        "decode" | "encode" | "toString" | "to_s" | "valueOf" | "read" | "expanduser"
        | "resolve" | "absolute" | "copy" | "slice" | "freeze" | "tobytes" => {
            return Some(Value { name: "", node: 0, ..recv.clone() });
        }
        _ => return None,
    };
    Some(Value::of_text(new, recv.taint))
}

fn swap(c: char) -> char {
    if c.is_ascii_lowercase() { c.to_ascii_uppercase() } else { c.to_ascii_lowercase() }
}

/// The pieces of a text.
pub(super) fn split<'a>(text: &str, by: Option<&str>, taint: u32) -> Vec<Value<'a>> {
    let value = |t: &str| Value::of_text(t.to_owned(), taint);
    match by {
        None => text.split_whitespace().map(value).collect(),
        Some("") => text.chars().map(|c| value(c.encode_utf8(&mut [0; 4]))).collect(),
        Some(by) => text.split(by).map(value).collect(),
    }
}

/// `{}`, `{0}`, `%s` filled in with what is known.
pub(super) fn fill(text: &str, args: &[Value<'_>]) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    let mut next = args.iter();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let hole = match c {
            '{' => {
                while chars.next().is_some_and(|c| c != '}') {}
                true
            }
            '%' if chars.peek().is_some_and(char::is_ascii_alphabetic) => {
                chars.next();
                true
            }
            _ => false,
        };
        if hole {
            match next.next().and_then(Value::text) {
                Some(known) => out.push_str(known),
                None => out.push(HOLE),
            }
        } else {
            out.push(c);
        }
        if TEXT.check(out.len()).is_err() {
            break;
        }
    }
    out
}
