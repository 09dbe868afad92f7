//! Ledger entries and their facts.

use std::borrow::Cow;

use countersign_json as json;
use countersign_json::Value;
use countersign_ledger::entry::{Entry, EntryKind};
use countersign_workflow::request::{DRILL, Request, Requester};

use crate::error::{StoreError, StoreResult};
use crate::record::WriteContext;

/// A fact of an entry.
pub(super) type Fact<'a> = (Cow<'a, str>, Value<'a>);

/// The maximum length of a text fact in bytes.
const MAX_TEXT_FACT: usize = 4_096;

/// An entry with the context's policy, the store's facts and the context's. The store's facts take
/// precedence.
pub(super) fn entry<'a>(
    kind: EntryKind,
    context: &'a WriteContext,
    store_facts: Vec<Fact<'a>>,
) -> StoreResult<Entry<'a>> {
    let mut entry = Entry::new(0, kind, context.policy);
    entry.facts = store_facts;
    if let Some(text) = &context.facts {
        let facts = json::parse(text).map_err(|e| StoreError::Invalid(format!("facts: {e}")))?;
        let Value::Object(facts) = facts else {
            return Err(StoreError::Invalid("facts must be a JSON object".to_owned()));
        };
        for (name, value) in facts {
            if !entry.facts.iter().any(|(existing, _)| *existing == name) {
                entry.facts.push((name, value));
            }
        }
    }
    Ok(entry)
}

/// A text as a fact, cut so that people's texts do not make an entry too long.
pub(super) fn text_fact<'a>(name: &'static str, text: &'a str) -> Fact<'a> {
    let end = text.floor_char_boundary(MAX_TEXT_FACT);
    (Cow::Borrowed(name), Value::String(Cow::Borrowed(text.get(..end).unwrap_or_default())))
}

/// A number as a fact.
pub(super) fn number_fact<'a>(name: &'static str, number: impl Into<u64>) -> Fact<'a> {
    (Cow::Borrowed(name), Value::Number(Cow::Owned(number.into().to_string())))
}

/// Sets the requester, session, request and digest of an entry.
pub(super) fn set_request<'a>(
    entry: &mut Entry<'a>,
    request: &'a Request,
    session: &'a str,
    id: &'a str,
) {
    match &request.requester {
        Requester::Agent(name) => entry.agent = Some(Cow::Borrowed(name)),
        Requester::Person(name) => entry.person = Some(Cow::Borrowed(name)),
        Requester::Drill { .. } => entry.agent = Some(Cow::Borrowed(DRILL)),
    }
    // A drill belongs to no session.
    if !request.requester.is_drill() {
        entry.session = Some(Cow::Borrowed(session));
    }
    entry.request = Some(Cow::Borrowed(id));
    entry.digest = Some(request.digest.canonical);
}
