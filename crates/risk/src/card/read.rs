//! A card back from its JSON: every field, of its type, nothing else.

use std::fmt;

use super::field_names::{CLASSES, DOUBTS, EFFECTS, FACTORS, FIELDS, LISTS, PLATFORMS};
use super::segments::{CardSegment, MAX_SEGMENTS};
use super::{Card, LARGEST, REASONS, RedactedKind};
use crate::assess::Reason;
use crate::context::Environment;
use crate::effect::Effects;
use crate::finding::Span;
use crate::impact::{CountedList, Impact, LISTED, Money};
use crate::word_pair::word_pair;
use countersign_json::Value;
use countersign_json::canonical::Digest;
use countersign_types::tier::{Points, Tier};

/// Why a value is no card: the field that is missing, wrong, or not ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CardError(pub String);

impl fmt::Display for CardError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the card's {} is missing, wrong or unknown", self.0)
    }
}

impl std::error::Error for CardError {}

type Read<T> = Result<T, CardError>;

impl Card {
    /// Reads a card strictly. What contradicts itself (tier and points, phrase and digest) is
    /// refused: a card that was changed must not be shown.
    pub fn from_json(value: &Value<'_>) -> Result<Card, CardError> {
        only(value, &FIELDS, "")?;
        if value.to_json().len() > LARGEST {
            return Err(wrong("size"));
        }
        let digest = digest(value, "digest")?;
        let points = points(value, "points")?;
        let card = Card {
            brief: string(value, "brief")?,
            tool: string(value, "tool")?,
            arguments: string(value, "arguments")?,
            command: optional(value, "command")?,
            tier: tier(value)?,
            points,
            risk: number(value, "risk")?,
            confidence: number(value, "confidence")?,
            reasons: list(value, "reasons", REASONS)?.iter().map(reason).collect::<Read<_>>()?,
            impact: impact(value.get("impact").ok_or_else(|| wrong("impact"))?)?,
            effects: words(value, "effects", &EFFECTS)?.into_iter().collect::<Effects>(),
            side_effect_class: word(value, "side_effect_class", &CLASSES)?,
            reversible: truth(value, "reversible")?,
            doubts: words(value, "doubts", &DOUBTS)?,
            hidden: list(value, "hidden", 256)?.iter().map(hidden).collect::<Read<_>>()?,
            folded: whole(value, "folded")?,
            digest,
            raw_digest: self::digest(value, "raw_digest")?,
            both_bind: truth(value, "both_bind")?,
            phrase: string(value, "phrase")?,
            platform: word(value, "platform", &PLATFORMS)?,
            cwd: optional(value, "cwd")?,
            environment: Environment::parse(text(value, "environment")?)
                .filter(|e| text(value, "environment") == Ok(e.label()))
                .ok_or_else(|| wrong("environment"))?,
            facts: texts(value, "facts")?,
            plan: texts(value, "plan")?,
            segments: segments(value)?,
        };
        let same = |a: f64, b: f64| (a - b).abs() < 1e-9;
        if card.tier != points.tier() || !same(card.risk, points.risk()) {
            return Err(wrong("tier"));
        }
        if card.phrase != word_pair(&digest).to_string() {
            return Err(wrong("phrase"));
        }
        if !(0.0..=1.0).contains(&card.confidence) {
            return Err(wrong("confidence"));
        }
        Ok(card)
    }
}

fn wrong(field: &str) -> CardError {
    CardError(field.to_owned())
}

/// An object with these members only.
fn only(value: &Value<'_>, fields: &[&str], what: &str) -> Read<()> {
    let members = value.as_object().ok_or_else(|| wrong(what))?;
    match members.iter().find(|(key, _)| !fields.contains(&&**key)) {
        Some((key, _)) => Err(wrong(&countersign_text::sanitize::sanitize_within(key, 64).text)),
        None => Ok(()),
    }
}

fn text<'v>(value: &'v Value<'_>, field: &str) -> Read<&'v str> {
    value.get(field).and_then(Value::as_str).ok_or_else(|| wrong(field))
}

fn string(value: &Value<'_>, field: &str) -> Read<String> {
    text(value, field).map(str::to_owned)
}

/// A text or `null`.
fn optional(value: &Value<'_>, field: &str) -> Read<Option<String>> {
    match value.get(field) {
        Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.to_string())),
        _ => Err(wrong(field)),
    }
}

fn truth(value: &Value<'_>, field: &str) -> Read<bool> {
    value.get(field).and_then(Value::as_bool).ok_or_else(|| wrong(field))
}

fn number(value: &Value<'_>, field: &str) -> Read<f64> {
    let digits = value.get(field).and_then(Value::as_number).ok_or_else(|| wrong(field))?;
    digits.parse().ok().filter(|n: &f64| n.is_finite()).ok_or_else(|| wrong(field))
}

fn whole(value: &Value<'_>, field: &str) -> Read<u64> {
    let digits = value.get(field).and_then(Value::as_number).ok_or_else(|| wrong(field))?;
    digits.parse().map_err(|_| wrong(field))
}

fn small(value: &Value<'_>, field: &str) -> Read<u32> {
    u32::try_from(whole(value, field)?).map_err(|_| wrong(field))
}

fn points(value: &Value<'_>, field: &str) -> Read<Points> {
    let wanted = number(value, field)?;
    let fits = |n: &u16| (Points(*n).value() - wanted).abs() < 1e-9;
    (0..=Points::MAX.0).find(fits).map(Points).ok_or_else(|| wrong(field))
}

fn digest(value: &Value<'_>, field: &str) -> Read<Digest> {
    Digest::parse(text(value, field)?).map_err(|_| wrong(field))
}

fn list<'v, 'a>(value: &'v Value<'a>, field: &str, most: usize) -> Read<&'v [Value<'a>]> {
    let items = value.get(field).and_then(Value::as_array).ok_or_else(|| wrong(field))?;
    if items.len() > most { Err(wrong(field)) } else { Ok(items) }
}

fn named<T: Copy>(found: Option<&str>, field: &str, table: &[(&str, T)]) -> Read<T> {
    let entry = table.iter().find(|(name, _)| Some(*name) == found);
    entry.map(|(_, it)| *it).ok_or_else(|| wrong(field))
}

fn word<T: Copy>(value: &Value<'_>, field: &str, table: &[(&str, T)]) -> Read<T> {
    named(Some(text(value, field)?), field, table)
}

fn words<T: Copy>(value: &Value<'_>, field: &str, table: &[(&str, T)]) -> Read<Vec<T>> {
    list(value, field, table.len())?.iter().map(|w| named(w.as_str(), field, table)).collect()
}

fn hidden(value: &Value<'_>) -> Read<RedactedKind> {
    only(value, &["kind", "count"], "hidden")?;
    Ok(RedactedKind { kind: string(value, "kind")?, count: small(value, "count")? })
}

fn reason(value: &Value<'_>) -> Read<Reason> {
    only(value, &["code", "factor", "weight", "say", "safer", "argument", "span"], "reasons")?;
    let span = match value.get("span") {
        None => None,
        Some(span) => {
            only(span, &["start", "end"], "span")?;
            let span = Span { start: small(span, "start")?, end: small(span, "end")? };
            Some(span).filter(|s| s.start <= s.end).ok_or_else(|| wrong("span")).map(Some)?
        }
    };
    let suggestion = value.get("safer").map(|_| string(value, "safer")).transpose()?;
    let argument = value.get("argument").map(|_| string(value, "argument")).transpose()?;
    Ok(Reason {
        code: string(value, "code")?.into(),
        factor: word(value, "factor", &FACTORS)?,
        weight: points(value, "weight")?,
        message: string(value, "say")?.into(),
        suggestion: suggestion.map(Into::into),
        argument: argument.unwrap_or_default().into(),
        span,
    })
}

fn impact(value: &Value<'_>) -> Read<Impact> {
    only(value, &LISTS, "impact")?;
    let touched = |field: &str| -> Read<CountedList> {
        let Some(found) = value.get(field) else { return Ok(CountedList::default()) };
        only(found, &["listed", "count"], field)?;
        let entry = |e: &Value<'_>| e.as_str().map(str::to_owned).ok_or_else(|| wrong(field));
        let listed = list(found, "listed", LISTED)?.iter().map(entry).collect::<Read<_>>()?;
        Ok(CountedList { listed, count: small(found, "count")? })
    };
    let money = match value.get("money") {
        None => Vec::new(),
        Some(_) => list(value, "money", LISTED)?
            .iter()
            .map(|one| {
                only(one, &["amount", "currency"], "money")?;
                let currency = optional(one, "currency")?;
                Ok(Money { amount: string(one, "amount")?, currency })
            })
            .collect::<Read<_>>()?,
    };
    Ok(Impact {
        money,
        recipients: touched("recipients")?,
        deletes: touched("deletes")?,
        writes: touched("writes")?,
        rows: touched("rows")?,
        services: touched("services")?,
        secrets: touched("secrets")?,
        hosts: touched("hosts")?,
        programs: touched("programs")?,
        items: value.get("items").map(|_| small(value, "items")).transpose()?,
    })
}

/// The lines of a member that most cards, or those of older versions, do not have.
fn texts(value: &Value<'_>, field: &str) -> Read<Vec<String>> {
    if value.get(field).is_none() {
        return Ok(Vec::new());
    }
    let text = |item: &Value<'_>| item.as_str().map(str::to_owned).ok_or_else(|| wrong(field));
    list(value, field, REASONS)?.iter().map(text).collect()
}

fn tier(value: &Value<'_>) -> Read<Tier> {
    let found = Tier::ALL.into_iter().find(|tier| text(value, "tier") == Ok(tier.label()));
    found.ok_or_else(|| wrong("tier"))
}

/// The parts of a command; most cards have none.
fn segments(value: &Value<'_>) -> Read<Vec<CardSegment>> {
    if value.get("segments").is_none() {
        return Ok(Vec::new());
    }
    let segment = |one: &Value<'_>| {
        only(one, &["text", "tier", "asks", "approved"], "segments")?;
        Ok(CardSegment {
            text: string(one, "text")?,
            tier: tier(one)?,
            asks: truth(one, "asks")?,
            approved: truth(one, "approved")?,
        })
    };
    list(value, "segments", MAX_SEGMENTS)?.iter().map(segment).collect()
}
