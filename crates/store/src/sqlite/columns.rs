//! Values as columns store them, and back. A value that no version of Countersign writes is an
//! error.

use countersign_json::canonical::{CallDigest, Digest};
use countersign_types::id::Id;
use countersign_types::tier::Tier;
use countersign_types::time::Timestamp;
use countersign_workflow::request::{Decider, Decision, EscalationLevel, Requester, State};
use rusqlite::Row;
use rusqlite::types::FromSql;

use super::errors::corrupt;
use crate::error::{StoreError, StoreResult};

/// Reads the columns of a row from left to right.
pub(super) struct Columns<'r, 's> {
    row: &'r Row<'s>,
    next: usize,
}

impl<'r, 's> Columns<'r, 's> {
    pub fn of(row: &'r Row<'s>) -> Columns<'r, 's> {
        Columns { row, next: 0 }
    }

    pub fn next<T: FromSql>(&mut self) -> StoreResult<T> {
        let value = self.row.get(self.next)?;
        self.next += 1;
        Ok(value)
    }

    pub fn skip(&mut self, count: usize) {
        self.next += count;
    }

    /// A fixed word, borrowed from the row.
    pub fn word(&mut self) -> StoreResult<&'r str> {
        let value = self.row.get_ref(self.next)?.as_str().map_err(|e| corrupt(e.to_string()))?;
        self.next += 1;
        Ok(value)
    }

    pub fn time(&mut self) -> StoreResult<Timestamp> {
        self.next().map(Timestamp)
    }

    pub fn maybe_time(&mut self) -> StoreResult<Option<Timestamp>> {
        Ok(self.next::<Option<i64>>()?.map(Timestamp))
    }

    pub fn digest(&mut self) -> StoreResult<Digest> {
        self.next().map(Digest::from_bytes)
    }

    pub fn call(&mut self) -> StoreResult<CallDigest> {
        Ok(CallDigest { canonical: self.digest()?, raw: self.digest()?, both_bind: self.next()? })
    }

    pub fn maybe_id(&mut self) -> StoreResult<Option<Id>> {
        Ok(self.next::<Option<[u8; 16]>>()?.map(Id::from_bytes))
    }

    pub fn state(&mut self) -> StoreResult<State> {
        let word = self.word()?;
        State::parse(word).ok_or_else(|| corrupt(format!("unknown state `{word}`")))
    }
}

/// The decision columns of a request's row; all NULL without a decision.
#[derive(Default)]
pub(super) struct DecisionColumns<'d> {
    pub decider: Option<&'static str>,
    pub people: Option<String>,
    pub grant_id: Option<&'d [u8; 16]>,
    pub channel: Option<&'d str>,
    pub reason: Option<&'d str>,
    pub at: Option<i64>,
    pub digest: Option<&'d [u8; 32]>,
    pub raw: Option<&'d [u8; 32]>,
    pub both_bind: Option<bool>,
}

impl<'d> DecisionColumns<'d> {
    pub fn of(decision: &'d Decision) -> StoreResult<DecisionColumns<'d>> {
        let (decider, people, grant_id) = match &decision.by {
            Decider::People(people) => ("people", Some(texts_json(people)?), None),
            Decider::Deadline => ("deadline", None, None),
            Decider::Requester => ("requester", None, None),
            // A decision of the judge is stored as one of the policy whose channel is the judge.
            Decider::Policy | Decider::Judge(_) => ("policy", None, None),
            Decider::Grant(grant_id) => ("grant", None, Some(grant_id.as_bytes())),
        };
        let reason = match &decision.by {
            Decider::Judge(model) => model,
            _ => &decision.reason,
        };
        Ok(DecisionColumns {
            decider: Some(decider),
            people,
            grant_id,
            channel: Some(&decision.channel),
            reason: Some(reason),
            at: Some(decision.at.0),
            digest: Some(decision.digest.canonical.as_bytes()),
            raw: Some(decision.digest.raw.as_bytes()),
            both_bind: Some(decision.digest.both_bind),
        })
    }
}

/// The stored kind of a requester. A drill is stored as a person's request, so that no agent finds
/// it.
pub(super) fn requester_kind(requester: &Requester) -> &'static str {
    match requester {
        Requester::Agent(_) => "agent",
        Requester::Person(_) | Requester::Drill { .. } => "person",
    }
}

/// The kind of drill, if the request is one.
pub(super) fn drill_kind(requester: &Requester) -> Option<&str> {
    match requester {
        Requester::Drill { kind, .. } => Some(kind),
        Requester::Agent(_) | Requester::Person(_) => None,
    }
}

/// A stored tier.
pub(super) fn tier(word: &str) -> StoreResult<Tier> {
    let tier = Tier::ALL.into_iter().find(|tier| tier.label() == word);
    tier.ok_or_else(|| corrupt(format!("unknown tier `{word}`")))
}

/// A stored escalation level.
pub(super) fn level(index: u32) -> StoreResult<EscalationLevel> {
    EscalationLevel::from_index(index).ok_or_else(|| corrupt(format!("unknown level {index}")))
}

/// Texts stored as a JSON array.
pub(super) fn texts(json: &str) -> StoreResult<Vec<String>> {
    serde_json::from_str(json).map_err(|e| corrupt(format!("invalid list of texts: {e}")))
}

/// Texts as a JSON array.
pub(super) fn texts_json(texts: &[String]) -> StoreResult<String> {
    serde_json::to_string(texts).map_err(|e| StoreError::Invalid(e.to_string()))
}
