//! What the judge knew before a restart: the ledger has its opinions and people's decisions.

use std::collections::HashMap;

use countersign_judge::{Comparison, ModelVerdict, PersonChoice};
use countersign_ledger::entry::{Entry, EntryKind};
use countersign_store::{RequestQuery, Store as _, StoreError, StoredRequest};
use countersign_types::id::Id;
use countersign_types::tier::Tier;

use super::state::Gate;
use crate::judge::{ModelJudge, ShownOpinion, choice_of};

/// The number of ledger entries that are read at once.
const SLICE: u32 = 60;
/// The most entries that are read: older opinions are no longer counted.
const MAX_ENTRIES: u64 = 200_000;
/// The newest requests from which the judge learns examples and denials.
const MAX_REQUESTS: u32 = 500;

impl Gate {
    /// Gives the judge what people decided before the start.
    pub async fn restore_judge(&self, judge: &ModelJudge) -> Result<(), StoreError> {
        let query = RequestQuery { limit: MAX_REQUESTS, ..RequestQuery::default() };
        let mut newest = self.store.find(query).await?.requests;
        newest.reverse();
        let decided: Vec<(StoredRequest, PersonChoice)> = newest
            .into_iter()
            .filter_map(|stored| choice_of(&stored).map(|choice| (stored, choice)))
            .collect();
        let compared = self.earlier_comparison(judge.identity()).await?;
        judge.restore(&decided, compared);
        self.restore_shown_opinions().await
    }

    /// Shows the opinions on pending requests again.
    async fn restore_shown_opinions(&self) -> Result<(), StoreError> {
        for stored in self.store.pending().await? {
            let id = stored.request.id;
            let history = self.store.request_history(id).await?;
            let told = history.iter().find_map(|told| shown_in(&told.entry, stored.request.tier));
            if let Some(told) = told {
                self.judge.show(id, &told);
            }
        }
        Ok(())
    }

    /// How earlier opinions of this judge compare with people's decisions.
    async fn earlier_comparison(&self, identity: &str) -> Result<Comparison, StoreError> {
        let mut opinions: HashMap<Id, ModelVerdict> = HashMap::new();
        let head = self.store.tree_head().await?.size;
        let oldest = head.saturating_sub(MAX_ENTRIES);
        let mut next = oldest;
        while next < head {
            let slice = self.store.entries(next, SLICE).await?;
            if slice.entries.is_empty() {
                break;
            }
            next += slice.entries.len() as u64;
            for bytes in &slice.entries {
                let Ok(entry) = Entry::decode(bytes) else { continue };
                if let Some((id, verdict)) = opinion_of(&entry, identity) {
                    opinions.insert(id, verdict);
                }
            }
        }
        let mut compared = Comparison::default();
        for (id, verdict) in opinions {
            let stored = self.store.request(id).await?;
            if let Some(choice) = stored.as_ref().and_then(choice_of) {
                compared.add(verdict, choice);
            }
        }
        Ok(compared)
    }
}

/// The opinion in an entry that people see while they decide: one that is not compared with their
/// decision.
fn shown_in(bytes: &[u8], tier: Tier) -> Option<ShownOpinion> {
    let entry = Entry::decode(bytes).ok().filter(|it| it.kind == EntryKind::JudgeOpinion)?;
    let (_, facts) = entry.facts.iter().find(|(name, _)| name == "judge")?;
    let facts: serde_json::Value = serde_json::from_str(&facts.to_json()).ok()?;
    let compared = facts.get("compared").and_then(serde_json::Value::as_bool);
    (compared == Some(false)).then(|| ShownOpinion::read(&facts, tier)).flatten()
}

/// The opinion in an entry, if it is this judge's and counts.
fn opinion_of(entry: &Entry<'_>, identity: &str) -> Option<(Id, ModelVerdict)> {
    if entry.kind != EntryKind::JudgeOpinion {
        return None;
    }
    let (_, facts) = entry.facts.iter().find(|(name, _)| name == "judge")?;
    let word = |name: &str| facts.get(name).and_then(countersign_json::Value::as_str);
    let compared = facts.get("compared").and_then(countersign_json::Value::as_bool);
    if word("judge") != Some(identity) || compared != Some(true) {
        return None;
    }
    let id = entry.request.as_deref().and_then(Id::parse)?;
    Some((id, ModelVerdict::parse(word("verdict")?)?))
}
