//! A call and its assessment without secrets: arguments, sentences, lists, and where they point.

use std::borrow::Cow;
use std::ops::Range;

use super::known::Known;
use super::scan::BETWEEN;
use super::shown::{Marked, foreign, show_around};
use super::value::{hits, joined, redact_all};
use super::{Hidden, Redacted, apply, marker, redact_text};
use crate::assess::{Assessment, Reason};
use crate::call::Call;
use crate::finding::Span;
use crate::impact::{Impact, Money, Touched};
use crate::json::Value;

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
    /// The command of a call that is a command, and where its markers stand.
    command: Option<(String, Vec<Range<usize>>)>,
}

/// Everything a stored or shown record needs, without secrets.
pub fn redact_call(call: &Call<'_>, assessment: &Assessment) -> RedactedCall {
    let (arguments, mut found) = redact_all(&call.arguments);
    // The longest first: a piece must not break the whole that it is part of.
    found.secrets.sort_by_key(|(_, secret)| std::cmp::Reverse(secret.len()));
    let told = Told { secrets: &found.secrets };
    let known = Known::of(&found.secrets);
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
            reason.span = moved(&call.arguments, &arguments, &reason.argument, span, &known);
        }
        reason
    });
    RedactedCall {
        tool: told.text(&call.tool).0.into_owned(),
        cwd: call.context.cwd.map(|cwd| told.text(cwd).0.into_owned()),
        reasons: reasons.collect(),
        impact: told.impact(&assessment.impact),
        command: command(&call.arguments, &known),
        arguments,
        hidden: found.hidden,
    }
}

/// Texts about the call, in which its secrets may be told again.
struct Told<'f> {
    secrets: &'f [(&'static str, String)],
}

impl Told<'_> {
    /// The text without secrets and without markers that are not ours; whether it had none.
    fn text<'t>(&self, text: &'t str) -> (Cow<'t, str>, bool) {
        let mut clean = foreign(text);
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

    fn money(&self, money: &Money) -> Money {
        let currency = money.currency.as_ref();
        Money {
            amount: self.text(&money.amount).0.into_owned(),
            currency: currency.map(|name| self.text(name).0.into_owned()),
        }
    }

    fn impact(&self, impact: &Impact) -> Impact {
        Impact {
            money: impact.money.iter().map(|one| self.money(one)).collect(),
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
fn moved(
    old: &Value<'_>,
    new: &Value<'_>,
    argument: &str,
    span: Span,
    known: &Known<'_>,
) -> Option<Span> {
    let pointer = match (argument, old.as_object()) {
        // A reason about a call that is nothing but a command points into the command.
        ("", Some([(key, Value::String(_))])) if key == "command" => "/command",
        _ => argument,
    };
    match (old.pointer(pointer)?, new.pointer(pointer)?) {
        (Value::String(old), Value::String(new)) => remap(old, new, span, known),
        _ => None,
    }
}

/// The same characters after redaction; nothing where some of them are hidden and others not.
pub(crate) fn remap(old: &str, new: &str, span: Span, known: &Known<'_>) -> Option<Span> {
    if old == new {
        return Some(span);
    }
    let Redacted { text, hidden } = apply(old, hits(old, Some(known)));
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

/// The command of a call that is a command, without secrets, and where its markers stand: what
/// somebody else wrote in their form is none.
fn command(arguments: &Value<'_>, known: &Known<'_>) -> Option<(String, Vec<Range<usize>>)> {
    let names = ["command", "cmd", "script"];
    let command = names.into_iter().find_map(|name| arguments.get(name))?;
    let text = match command {
        Value::String(text) => Cow::Borrowed(&**text),
        Value::Array(words) => Cow::Owned(joined(words).or_else(|| match words.as_slice() {
            [Value::String(word)] => Some(word.to_string()),
            _ => None,
        })?),
        _ => return None,
    };
    let Redacted { text, hidden } = apply(&text, hits(&text, Some(known)));
    let spans = hidden.iter().map(|one| one.span.start as usize..one.span.end as usize);
    // A blank is as long as the sign between two words: the places of the markers stay.
    Some((text.replace(char::from(BETWEEN), " "), spans.collect()))
}

/// The command as it may be shown.
pub(crate) fn shown_command(clean: &RedactedCall, limit: usize) -> Option<Marked> {
    clean.command.as_ref().map(|(text, markers)| show_around(text, markers, limit))
}
