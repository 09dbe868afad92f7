//! A call and its assessment without secrets: arguments, sentences, lists, and where they point.

use std::borrow::Cow;

use super::scan::BETWEEN;
use super::value::{Found, joined, redact};
use super::{Hidden, Redacted, marker, marker_length, redact_text};
use crate::assess::{Assessment, Reason};
use crate::call::Call;
use crate::finding::Span;
use crate::impact::{Impact, Touched};
use crate::json::Value;
use crate::show::show_within;

/// What a record of a call may hold.
#[derive(Debug, Clone)]
pub struct RedactedCall {
    /// The tool's name.
    pub tool: String,
    /// The arguments.
    pub arguments: Value<'static>,
    /// The working directory.
    pub cwd: Option<String>,
    /// The reasons; a span points at the same characters as before, or is gone.
    pub reasons: Vec<Reason>,
    /// What would be touched.
    pub impact: Impact,
    /// What was hidden in the arguments.
    pub hidden: Vec<Hidden>,
}

/// Everything a stored or shown record needs, without secrets.
pub fn redact_call(call: &Call<'_>, assessment: &Assessment) -> RedactedCall {
    let mut found = Found::default();
    let arguments = redact(&call.arguments, 0, &mut found);
    // The longest first: a piece must not break the whole that it is part of.
    found.secrets.sort_by_key(|(_, secret)| std::cmp::Reverse(secret.len()));
    let told = Told { secrets: &found.secrets };
    let reasons = assessment.reasons.iter().map(|reason| {
        let mut reason = Reason {
            say: told.sentence(&reason.say),
            safer: reason.safer.as_ref().map(|safer| told.sentence(safer)),
            ..reason.clone()
        };
        if !told.text(&reason.argument).1 {
            reason.argument = Cow::Borrowed("");
            reason.span = None;
        } else if let Some(span) = reason.span.filter(|_| !found.hidden.is_empty()) {
            reason.span = moved(&call.arguments, &arguments, &reason.argument, span);
        }
        reason
    });
    RedactedCall {
        tool: told.text(&call.tool).0.into_owned(),
        cwd: call.context.cwd.map(|cwd| told.text(cwd).0.into_owned()),
        reasons: reasons.collect(),
        impact: told.impact(&assessment.impact),
        arguments,
        hidden: found.hidden,
    }
}

/// Texts about the call, in which its secrets may be told again.
struct Told<'f> {
    secrets: &'f [(&'static str, String)],
}

impl Told<'_> {
    /// The text without secrets, and whether it had none.
    fn text<'t>(&self, text: &'t str) -> (Cow<'t, str>, bool) {
        let mut clean = Cow::Borrowed(text);
        for (kind, secret) in self.secrets {
            // The same characters as a secret of the call, whatever stands around them here.
            if clean.contains(secret.as_str()) && !kind.contains(secret.as_str()) {
                clean = Cow::Owned(clean.replace(secret.as_str(), &marker(kind, secret)));
            }
        }
        let Redacted { text: again, hidden } = redact_text(&clean);
        let same = hidden.is_empty() && matches!(clean, Cow::Borrowed(_));
        if hidden.is_empty() {
            return (clean, same);
        }
        (Cow::Owned(again.into_owned()), false)
    }

    fn sentence(&self, text: &Cow<'static, str>) -> Cow<'static, str> {
        match text {
            // Sentences of ours hold nothing of the call.
            Cow::Borrowed(fixed) => Cow::Borrowed(fixed),
            Cow::Owned(made) => Cow::Owned(self.text(made).0.into_owned()),
        }
    }

    fn touched(&self, list: &Touched) -> Touched {
        let listed = list.listed.iter().map(|entry| self.text(entry).0.into_owned());
        Touched { listed: listed.collect(), count: list.count }
    }

    fn impact(&self, impact: &Impact) -> Impact {
        Impact {
            money: impact.money.clone(),
            recipients: self.touched(&impact.recipients),
            deletes: self.touched(&impact.deletes),
            writes: self.touched(&impact.writes),
            rows: self.touched(&impact.rows),
            services: self.touched(&impact.services),
            secrets: self.touched(&impact.secrets),
            hosts: self.touched(&impact.hosts),
            programs: self.touched(&impact.programs),
            items: impact.items,
        }
    }
}

/// The place in the redacted arguments of what a span points at.
fn moved(old: &Value<'_>, new: &Value<'_>, argument: &str, span: Span) -> Option<Span> {
    let pointer = match (argument, old.as_object()) {
        // A reason about a call that is nothing but a command points into the command.
        ("", Some([(key, Value::String(_))])) if key == "command" => "/command",
        _ => argument,
    };
    match (old.pointer(pointer)?, new.pointer(pointer)?) {
        (Value::String(old), Value::String(new)) => remap(old, new, span),
        _ => None,
    }
}

/// The same characters after redaction; nothing where some of them are hidden and others not.
pub(crate) fn remap(old: &str, new: &str, span: Span) -> Option<Span> {
    if old == new {
        return Some(span);
    }
    let Redacted { text, hidden } = redact_text(old);
    if text != new {
        return None;
    }
    let start = place(&hidden, span.start, false)?;
    let end = place(&hidden, span.end, true)?;
    (start <= end).then_some(Span { start, end })
}

/// A place of the source in the result; none inside what was hidden.
fn place(hidden: &[Hidden], at: u32, is_end: bool) -> Option<u32> {
    let mut grown = 0_i64;
    for one in hidden {
        let from = u32::try_from(i64::from(one.span.start) - grown).ok()?;
        let to = from.checked_add(one.bytes)?;
        if at < from || (at == from && !is_end) {
            break;
        }
        if at == from {
            return Some(one.span.start);
        }
        if at < to {
            return None;
        }
        grown = i64::from(one.span.end) - i64::from(to);
    }
    u32::try_from(i64::from(at) + grown).ok()
}

/// The command of a call that is a command, as it may be shown; and how many bytes are cut off.
pub(crate) fn shown_command(arguments: &Value<'_>, limit: usize) -> Option<(String, usize)> {
    let names = ["command", "cmd", "script"];
    let command = names.into_iter().find_map(|name| arguments.get(name))?;
    match command {
        Value::String(text) => Some(shown(&redact_text(text), limit)),
        Value::Array(words) => {
            let joined = joined(words).or_else(|| match words.as_slice() {
                [Value::String(word)] => Some(word.to_string()),
                _ => None,
            })?;
            let found = redact_text(&joined);
            // As long as a blank, so that the places of the markers stay.
            let text = found.text.replace(char::from(BETWEEN), " ");
            Some(shown(&Redacted { text: Cow::Owned(text), hidden: found.hidden }, limit))
        }
        _ => None,
    }
}

/// A redacted text as it may be shown: our markers as they are, all else through `show`.
fn shown(found: &Redacted<'_>, limit: usize) -> (String, usize) {
    let (mut out, mut cut, mut at) = (String::new(), 0, 0);
    let ends = [Hidden { kind: "", bytes: 0, span: Span::new(found.text.len(), found.text.len()) }];
    for one in found.hidden.iter().chain(&ends) {
        let (start, end) = (one.span.start as usize, one.span.end as usize);
        let piece = found.text.get(at..start).unwrap_or_default();
        let mark = found.text.get(start..end).unwrap_or_default();
        at = end;
        if cut > 0 {
            cut += piece.len() + mark.len();
            continue;
        }
        let safe = show_within(piece, limit.saturating_sub(out.len()));
        out.push_str(&safe.text);
        cut += safe.hidden_bytes;
        if cut == 0 {
            debug_assert!(mark.is_empty() || marker_length(mark) == mark.len());
            out.push_str(mark);
        } else {
            cut += mark.len();
        }
    }
    (out, cut)
}
