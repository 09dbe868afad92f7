//! Deduplication: a retry joins its pending request, and two gateways share one.
//!
//! A hook that timed out retries the same call; a hook and a proxy see the same call one after the
//! other. People must not be asked twice. This is in memory only. After a restart, only the
//! approvals that no one used are known again.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::sync::{Mutex, MutexGuard, PoisonError};

use countersign_json::canonical::{CallDigest, Digest};
use countersign_store::{Backend, Store as _, StoreError, StoredRequest};
use countersign_types::id::Id;
use countersign_types::time::Timestamp;

/// The maximum number of entries of each kind.
const MAX_REMEMBERED: usize = 10_000;

/// Agent, session and both digests.
type CallKey = (String, String, Digest, Digest);
/// The agent and the host's id of the call.
type CallIdKey = (String, String);

/// Recent requests by call.
#[derive(Debug, Default)]
pub struct Deduplication {
    known: Mutex<Remembered>,
}

#[derive(Debug, Default)]
struct Remembered {
    /// By the host's id of the call.
    named: BoundedMap<CallIdKey>,
    /// Approved requests whose agent may no longer have been waiting.
    approved: BoundedMap<CallKey>,
    /// The newest request of each call, for reported outcomes.
    newest: BoundedMap<CallKey>,
}

impl Deduplication {
    /// Continues after a restart with the approvals that the ledger confirms and no one used.
    pub async fn restore(store: &Backend, now: Timestamp) -> Result<Deduplication, StoreError> {
        let found = Deduplication::default();
        for id in store.unused_approvals(now).await? {
            match store.request(id).await {
                Ok(Some(stored)) if stored.redeemed.is_none() => found.has_approval(&stored),
                // The row was edited: it approves nothing, and the others are not affected.
                Ok(_) | Err(StoreError::Unrecorded(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(found)
    }

    /// The request with the host's id of the call.
    pub fn named(&self, agent: &str, call_id: &str) -> Option<Id> {
        self.lock().named.get(&(agent.to_owned(), call_id.to_owned()))
    }

    /// Records the host's id of the call of this request.
    pub fn name(&self, agent: &str, call_id: &str, id: Id) {
        self.lock().named.keep((agent.to_owned(), call_id.to_owned()), id);
    }

    /// The request for the same call that a person approved.
    pub fn approved(&self, agent: &str, session: &str, digest: &CallDigest) -> Option<Id> {
        self.lock().approved.get(&same(agent, session, digest))
    }

    /// The newest request for the same call.
    pub fn newest(&self, agent: &str, session: &str, digest: &CallDigest) -> Option<Id> {
        self.lock().newest.get(&same(agent, session, digest))
    }

    /// Records a pending request.
    pub fn opened(&self, stored: &StoredRequest) {
        self.lock().newest.keep(key(stored), stored.request.id);
    }

    /// Records an approval.
    pub fn has_approval(&self, stored: &StoredRequest) {
        self.lock().approved.keep(key(stored), stored.request.id);
    }

    fn lock(&self) -> MutexGuard<'_, Remembered> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn same(agent: &str, session: &str, digest: &CallDigest) -> CallKey {
    (agent.to_owned(), session.to_owned(), digest.canonical, digest.raw)
}

fn key(stored: &StoredRequest) -> CallKey {
    same(stored.request.requester.name(), &stored.session, &stored.request.digest)
}

/// A bounded map that drops its oldest entry.
#[derive(Debug)]
struct BoundedMap<K> {
    ids: HashMap<K, Id>,
    order: VecDeque<K>,
}

impl<K> Default for BoundedMap<K> {
    fn default() -> BoundedMap<K> {
        BoundedMap { ids: HashMap::new(), order: VecDeque::new() }
    }
}

impl<K: Clone + Eq + Hash> BoundedMap<K> {
    fn get(&self, key: &K) -> Option<Id> {
        self.ids.get(key).copied()
    }

    fn keep(&mut self, key: K, id: Id) {
        if self.ids.insert(key.clone(), id).is_none() {
            self.order.push_back(key);
        }
        if self.order.len() > MAX_REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.ids.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_entries_are_dropped_and_agents_are_separate() {
        let deduplication = Deduplication::default();
        let first = crate::random::id(Timestamp(1)).unwrap();
        deduplication.name("a", "call", first);
        assert_eq!(deduplication.named("a", "call"), Some(first));
        assert_eq!(deduplication.named("b", "call"), None);
        for number in 0..MAX_REMEMBERED {
            deduplication.name("a", &number.to_string(), first);
        }
        assert_eq!(deduplication.named("a", "call"), None);
        assert_eq!(deduplication.lock().named.ids.len(), MAX_REMEMBERED);
    }
}
