//! Operators on texts whose result is known.

use super::value::{Kind, MAX_ITEMS, MAX_TEXT, PsValue};
use crate::flow::Taint;
use countersign_shell::UNKNOWN;

/// Whether a regular expression stands for its own text.
pub(super) fn is_literal(pattern: &str) -> bool {
    !pattern.contains(['\\', '^', '$', '.', '|', '?', '*', '+', '(', ')', '[', '{'])
}

/// Replaces without regard to case, as `-replace` does.
pub(super) fn replaced(text: &str, from: &str, to: &str) -> String {
    if !text.is_ascii() || !from.is_ascii() {
        return text.replace(from, to);
    }
    let (lower, from) = (text.to_ascii_lowercase(), from.to_ascii_lowercase());
    let mut out = String::new();
    let mut at = 0;
    while let Some(found) = lower.get(at..).and_then(|rest| rest.find(&from)) {
        out.push_str(text.get(at..at + found).unwrap_or_default());
        out.push_str(to);
        at += found + from.len();
        if out.len() > MAX_TEXT {
            return UNKNOWN.to_string();
        }
    }
    out.push_str(text.get(at..).unwrap_or_default());
    out
}

pub(super) fn range(from: &str, to: &str, taint: Taint) -> PsValue {
    let (Ok(from), Ok(to)) = (from.parse::<i64>(), to.parse::<i64>()) else {
        return PsValue::unknown(taint);
    };
    let short = usize::try_from(from.abs_diff(to)).is_ok_and(|n| n < MAX_ITEMS);
    if !short {
        return PsValue::unknown(taint);
    }
    let number = |n: i64| PsValue::text(n.to_string());
    let items: Vec<PsValue> = if from <= to {
        (from..=to).map(number).collect()
    } else {
        (to..=from).rev().map(number).collect()
    };
    PsValue::of(Kind::List(items), taint)
}

/// `"{1}{0}" -f a, b`; unknown parts stay unknown.
pub(super) fn formatted(format: &str, items: &[PsValue]) -> Option<String> {
    let mut out = String::new();
    let mut rest = format;
    while let Some(at) = rest.find(['{', '}']) {
        out.push_str(rest.get(..at)?);
        let brace = rest.get(at..=at)?;
        rest = rest.get(at + 1..)?;
        if rest.starts_with(brace) {
            out.push_str(brace);
            rest = rest.get(1..)?;
            continue;
        }
        if brace == "}" {
            return None;
        }
        let end = rest.find('}')?;
        let inside = rest.get(..end)?;
        let number = inside.split([',', ':']).next()?.trim();
        out.push_str(
            &items.get(number.parse::<usize>().ok()?).map(PsValue::string).unwrap_or_default(),
        );
        rest = rest.get(end + 1..)?;
        if out.len() > MAX_TEXT {
            return None;
        }
    }
    out.push_str(rest);
    Some(out)
}
