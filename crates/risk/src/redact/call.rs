//! A call and its assessment without secrets: arguments, sentences, lists, and where they point.

use std::borrow::Cow;

use countersign_redact::{DisplayText, MarkedText, Redaction, RelatedTexts, redact_related};

use crate::assess::{Assessment, Reason};
use crate::call::Call;
use crate::finding::Span;
use crate::headline::{Headline, Part};
use crate::impact::{CountedList, Impact, Money};
use countersign_json::Value;

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
    /// What the findings act on, by name.
    pub(crate) headlines: Vec<Headline>,
    /// What was hidden in the arguments.
    pub hidden: Vec<Redaction>,
    /// The command of a call that is a command.
    command: Option<MarkedText>,
}

/// Everything a stored or shown record needs, without secrets.
pub fn redact_call(call: &Call<'_>, assessment: &Assessment) -> RedactedCall {
    let (arguments, removed) = redact_related(&call.arguments);
    let related = removed.related_texts();
    let reasons = assessment.reasons.iter().map(|reason| {
        let mut reason = Reason {
            message: sentence(&related, &reason.message),
            suggestion: reason.suggestion.as_ref().map(|suggestion| sentence(&related, suggestion)),
            ..reason.clone()
        };
        if !related.text(&reason.argument).1 {
            reason.argument = Cow::Borrowed("");
            reason.span = None;
        } else if let Some(span) = reason.span.filter(|_| !removed.hidden.is_empty()) {
            reason.span = moved(&call.arguments, &arguments, &reason.argument, span, &related);
        }
        reason
    });
    RedactedCall {
        tool: related.text(&call.tool).0.into_owned(),
        cwd: call.context.cwd.map(|cwd| related.text(cwd).0.into_owned()),
        reasons: reasons.collect(),
        impact: impact(&related, &assessment.impact),
        headlines: assessment.headlines.iter().map(|one| headline(&related, one)).collect(),
        command: command(&call.arguments).and_then(|command| related.command(command)),
        hidden: removed.hidden.clone(),
        arguments,
    }
}

#[expect(clippy::ptr_arg, reason = "a borrowed sentence is a constant, an owned one was composed")]
fn sentence(related: &RelatedTexts<'_>, text: &Cow<'static, str>) -> Cow<'static, str> {
    match text {
        // Constant sentences contain nothing of the call.
        Cow::Borrowed(fixed) => Cow::Borrowed(fixed),
        Cow::Owned(made) => Cow::Owned(related.text(made).0.into_owned()),
    }
}

fn touched(related: &RelatedTexts<'_>, list: &CountedList) -> CountedList {
    let listed = list.listed.iter().map(|entry| related.text(entry).0.into_owned());
    CountedList { listed: listed.collect(), count: list.count }
}

fn headline(related: &RelatedTexts<'_>, headline: &Headline) -> Headline {
    let parts = headline.parts.iter().map(|part| match part {
        Part::Text(text) => Part::Text(text),
        Part::Object(object) => Part::Object(touched(related, object)),
    });
    Headline { parts: parts.collect(), ..headline.clone() }
}

fn money(related: &RelatedTexts<'_>, money: &Money) -> Money {
    let currency = money.currency.as_ref();
    Money {
        amount: related.text(&money.amount).0.into_owned(),
        currency: currency.map(|name| related.text(name).0.into_owned()),
    }
}

fn impact(related: &RelatedTexts<'_>, impact: &Impact) -> Impact {
    Impact {
        money: impact.money.iter().map(|one| money(related, one)).collect(),
        recipients: touched(related, &impact.recipients),
        deletes: touched(related, &impact.deletes),
        writes: touched(related, &impact.writes),
        rows: touched(related, &impact.rows),
        services: touched(related, &impact.services),
        secrets: touched(related, &impact.secrets),
        hosts: touched(related, &impact.hosts),
        programs: touched(related, &impact.programs),
        items: impact.items,
    }
}

/// The place in the redacted arguments of what a span points at.
fn moved(
    old: &Value<'_>,
    new: &Value<'_>,
    argument: &str,
    span: Span,
    related: &RelatedTexts<'_>,
) -> Option<Span> {
    let pointer = match (argument, old.as_object()) {
        // A reason about a call that is nothing but a command points into the command.
        ("", Some([(key, Value::String(_))])) if key == "command" => "/command",
        _ => argument,
    };
    match (old.pointer(pointer)?, new.pointer(pointer)?) {
        (Value::String(old), Value::String(new)) => related.remap(old, new, span),
        _ => None,
    }
}

/// The argument that holds the command, in a call that is one.
fn command<'v, 'a>(arguments: &'v Value<'a>) -> Option<&'v Value<'a>> {
    ["command", "cmd", "script"].into_iter().find_map(|name| arguments.get(name))
}

/// The command as it may be shown.
pub(crate) fn shown_command(clean: &RedactedCall, limit: usize) -> Option<DisplayText> {
    clean.command.as_ref().map(|command| command.sanitized(limit))
}
