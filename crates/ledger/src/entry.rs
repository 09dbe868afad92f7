//! One entry of the ledger: canonical JSON (RFC 8785), parsed strictly.

use std::borrow::Cow;

use countersign_json::canonical::{self as canon, Canonical, Digest};
use countersign_json::{self as json, MAX_DEPTH, Value, write_string};

mod error;
mod kind;

#[cfg(test)]
mod tests;

pub use error::EntryError;
pub use kind::EntryKind;

/// The longest entry.
pub const MAX_ENTRY: usize = 64 << 10;

/// The format version, the member `v` of every entry.
const VERSION: &str = "1";

/// The latest time that every JSON parser reads as an exact integer: 2^53 - 1 milliseconds.
const MAX_TIME: i64 = (1 << 53) - 1;

/// What happened, when, under which policy, to whom.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry<'a> {
    /// Milliseconds since 1970 by the daemon's clock.
    pub at: i64,
    /// What happened.
    pub kind: EntryKind,
    /// The hash of the policy in force.
    pub policy: Digest,
    /// The agent that asked.
    pub agent: Option<Cow<'a, str>>,
    /// The agent's session.
    pub session: Option<Cow<'a, str>>,
    /// The person who acted.
    pub person: Option<Cow<'a, str>>,
    /// The id of the request.
    pub request: Option<Cow<'a, str>>,
    /// The canonical digest of the call.
    pub digest: Option<Digest>,
    /// Further facts by name, each name once. Numbers must be exact as `f64`.
    pub facts: Vec<(Cow<'a, str>, Value<'a>)>,
}

impl<'a> Entry<'a> {
    /// An entry with only a kind, a time and a policy.
    pub const fn new(at: i64, kind: EntryKind, policy: Digest) -> Entry<'a> {
        Entry {
            at,
            kind,
            policy,
            agent: None,
            session: None,
            person: None,
            request: None,
            digest: None,
            facts: Vec::new(),
        }
    }

    /// The entry as canonical JSON.
    pub fn encode(&self) -> Result<String, EntryError> {
        let mut out = String::with_capacity(384);
        self.encode_into(&mut out)?;
        Ok(out)
    }

    /// Like `encode`, into an existing buffer. On an error the buffer is empty.
    pub fn encode_into(&self, out: &mut String) -> Result<(), EntryError> {
        out.clear();
        let written = self.write(out);
        if written.is_err() {
            out.clear();
        }
        written
    }

    /// Members in canonical order.
    fn write(&self, out: &mut String) -> Result<(), EntryError> {
        if !(-MAX_TIME..=MAX_TIME).contains(&self.at) {
            return Err(EntryError::Time);
        }
        out.push('{');
        member("\"agent\":", self.agent.as_deref(), out);
        out.push_str("\"at\":");
        push_whole(self.at, out);
        if let Some(digest) = &self.digest {
            out.push_str(",\"digest\":\"");
            digest.push_hex(out);
            out.push('"');
        }
        if !self.facts.is_empty() {
            out.push_str(",\"facts\":");
            write_facts(&self.facts, out)?;
        }
        out.push_str(",\"kind\":\"");
        out.push_str(self.kind.as_str());
        out.push_str("\",");
        member("\"person\":", self.person.as_deref(), out);
        out.push_str("\"policy\":\"");
        self.policy.push_hex(out);
        out.push_str("\",");
        member("\"request\":", self.request.as_deref(), out);
        member("\"session\":", self.session.as_deref(), out);
        out.push_str("\"v\":");
        out.push_str(VERSION);
        out.push('}');
        if out.len() > MAX_ENTRY { Err(EntryError::TooLong { bytes: out.len() }) } else { Ok(()) }
    }

    /// Parses an entry. Only the bytes that `encode` writes are accepted.
    pub fn decode(bytes: &'a [u8]) -> Result<Entry<'a>, EntryError> {
        Entry::decode_with(bytes, &mut String::new())
    }

    /// Like `decode`, with a buffer for the comparison that the caller can reuse.
    pub fn decode_with(bytes: &'a [u8], room: &mut String) -> Result<Entry<'a>, EntryError> {
        if bytes.len() > MAX_ENTRY {
            return Err(EntryError::TooLong { bytes: bytes.len() });
        }
        let entry = Entry::from_value(json::parse_bytes(bytes).map_err(EntryError::Json)?)?;
        entry.encode_into(room)?;
        if room.as_bytes() == bytes { Ok(entry) } else { Err(EntryError::NotCanonical) }
    }

    fn from_value(value: Value<'a>) -> Result<Entry<'a>, EntryError> {
        let Value::Object(members) = value else { return Err(EntryError::NoObject) };
        // The version first: nothing is known about other versions.
        let version = members.iter().find(|(key, _)| key == "v").map(|(_, version)| version);
        if version.and_then(Value::as_number) != Some(VERSION) {
            return Err(EntryError::Version);
        }
        let (mut at, mut kind, mut policy) = (None, None, None);
        let mut entry = Entry::new(0, EntryKind::Start, Digest::from_bytes([0; 32]));
        for (key, value) in members {
            match &*key {
                "v" => {}
                "at" => at = Some(whole(&value).ok_or(EntryError::Time)?),
                "kind" => kind = Some(kind_of(text("kind", value)?)?),
                "policy" => policy = Some(digest("policy", value)?),
                "digest" => entry.digest = Some(digest("digest", value)?),
                "agent" => entry.agent = Some(text("agent", value)?),
                "session" => entry.session = Some(text("session", value)?),
                "person" => entry.person = Some(text("person", value)?),
                "request" => entry.request = Some(text("request", value)?),
                "facts" => match value {
                    Value::Object(facts) => entry.facts = facts,
                    _ => return Err(EntryError::Member("facts")),
                },
                _ => return Err(EntryError::Unknown(key.into_owned())),
            }
        }
        entry.at = at.ok_or(EntryError::Missing("at"))?;
        entry.kind = kind.ok_or(EntryError::Missing("kind"))?;
        entry.policy = policy.ok_or(EntryError::Missing("policy"))?;
        Ok(entry)
    }
}

/// A member and its comma, if it has a value.
fn member(key: &str, text: Option<&str>, out: &mut String) {
    if let Some(text) = text {
        out.push_str(key);
        write_string(text, out);
        out.push(',');
    }
}

/// Facts may come from any caller: facts that could not be parsed back are not written.
fn write_facts(facts: &[(Cow<'_, str>, Value<'_>)], out: &mut String) -> Result<(), EntryError> {
    if facts.iter().any(|(_, value)| deeper_than(value, MAX_DEPTH - 2)) {
        return Err(EntryError::TooDeep);
    }
    if !unique_keys(facts) {
        return Err(EntryError::Twice);
    }
    let mut canonical = Canonical { text: std::mem::take(out), exact: false };
    canon::write_members(facts, &mut canonical);
    *out = canonical.text;
    if canonical.exact { Err(EntryError::Number) } else { Ok(()) }
}

fn deeper_than(value: &Value<'_>, depth: usize) -> bool {
    let Some(below) = depth.checked_sub(1) else {
        return matches!(value, Value::Array(_) | Value::Object(_));
    };
    match value {
        Value::Array(items) => items.iter().any(|item| deeper_than(item, below)),
        Value::Object(members) => members.iter().any(|(_, value)| deeper_than(value, below)),
        _ => false,
    }
}

/// Whether no object in these facts names a member twice.
fn unique_keys(members: &[(Cow<'_, str>, Value<'_>)]) -> bool {
    let strictly_sorted = members.is_sorted_by(|(a, _), (b, _)| a < b);
    let unique = strictly_sorted || {
        let mut keys: Vec<&str> = members.iter().map(|(key, _)| key.as_ref()).collect();
        keys.sort_unstable();
        keys.is_sorted_by(|a, b| a < b)
    };
    unique && members.iter().all(|(_, value)| unique_inside(value))
}

fn unique_inside(value: &Value<'_>) -> bool {
    match value {
        Value::Object(members) => unique_keys(members),
        Value::Array(items) => items.iter().all(unique_inside),
        _ => true,
    }
}

fn push_whole(number: i64, out: &mut String) {
    let mut digits = [0_u8; 20];
    let mut rest = number.unsigned_abs();
    let mut used = 0;
    for place in digits.iter_mut().rev() {
        *place = b'0' + u8::try_from(rest % 10).unwrap_or(0);
        rest /= 10;
        used += 1;
        if rest == 0 {
            break;
        }
    }
    if number < 0 {
        out.push('-');
    }
    out.extend(digits.iter().skip(20 - used).map(|&digit| char::from(digit)));
}

fn whole(value: &Value<'_>) -> Option<i64> {
    value.as_number()?.parse().ok()
}

fn text<'a>(name: &'static str, value: Value<'a>) -> Result<Cow<'a, str>, EntryError> {
    match value {
        Value::String(text) => Ok(text),
        _ => Err(EntryError::Member(name)),
    }
}

fn digest(name: &'static str, value: Value<'_>) -> Result<Digest, EntryError> {
    Digest::parse(&text(name, value)?).map_err(|_| EntryError::Member(name))
}

fn kind_of(word: Cow<'_, str>) -> Result<EntryKind, EntryError> {
    EntryKind::parse(&word).ok_or_else(|| EntryError::Kind(word.into_owned()))
}
