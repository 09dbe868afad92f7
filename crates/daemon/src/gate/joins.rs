//! One call, asked about more than once: a retry joins its request, two doors share one.
//!
//! A hook that loses patience comes back with the same call; a hook and a proxy see the same call
//! one after the other. Neither may bother a person twice. All of this is memory only: what a
//! restart forgets is asked again.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::sync::{Mutex, MutexGuard, PoisonError};

use countersign_json::canonical::{CallDigest, Digest};
use countersign_store::StoredRequest;
use countersign_types::id::Id;

/// So many of each kind are remembered.
const MOST: usize = 10_000;

/// Agent, session and both digests.
type Same = (String, String, Digest, Digest);
/// Agent and the host's own name for the call.
type Named = (String, String);

/// What was asked about lately.
#[derive(Debug, Default)]
pub struct Joins {
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    /// By the name that the agent's host gave the call.
    named: Few<Named>,
    /// Approved by a person, and perhaps nobody was there any more to hear it.
    approved: Few<Same>,
    /// Newest request of each call, for what is said of it afterwards.
    newest: Few<Same>,
}

impl Joins {
    /// The request of the call that the host calls so.
    pub fn named(&self, agent: &str, call_id: &str) -> Option<Id> {
        self.lock().named.get(&(agent.to_owned(), call_id.to_owned()))
    }

    /// From now on the host's name means this request.
    pub fn name(&self, agent: &str, call_id: &str, id: Id) {
        self.lock().named.keep((agent.to_owned(), call_id.to_owned()), id);
    }

    /// The request for the very same call that a person approved.
    pub fn approved(&self, agent: &str, session: &str, digest: &CallDigest) -> Option<Id> {
        self.lock().approved.get(&same(agent, session, digest))
    }

    /// The newest request for the very same call.
    pub fn newest(&self, agent: &str, session: &str, digest: &CallDigest) -> Option<Id> {
        self.lock().newest.get(&same(agent, session, digest))
    }

    /// A request is open.
    pub fn opened(&self, stored: &StoredRequest) {
        self.lock().newest.keep(key(stored), stored.request.id);
    }

    /// A person approved it.
    pub fn has_approval(&self, stored: &StoredRequest) {
        self.lock().approved.keep(key(stored), stored.request.id);
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn same(agent: &str, session: &str, digest: &CallDigest) -> Same {
    (agent.to_owned(), session.to_owned(), digest.canonical, digest.raw)
}

fn key(stored: &StoredRequest) -> Same {
    same(stored.request.requester.name(), &stored.session, &stored.request.digest)
}

/// A map that forgets its oldest.
#[derive(Debug)]
struct Few<K> {
    ids: HashMap<K, Id>,
    order: VecDeque<K>,
}

impl<K> Default for Few<K> {
    fn default() -> Few<K> {
        Few { ids: HashMap::new(), order: VecDeque::new() }
    }
}

impl<K: Clone + Eq + Hash> Few<K> {
    fn get(&self, key: &K) -> Option<Id> {
        self.ids.get(key).copied()
    }

    fn keep(&mut self, key: K, id: Id) {
        if self.ids.insert(key.clone(), id).is_none() {
            self.order.push_back(key);
        }
        if self.order.len() > MOST
            && let Some(oldest) = self.order.pop_front()
        {
            self.ids.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use countersign_types::time::Timestamp;

    #[test]
    fn the_oldest_are_forgotten_and_one_agent_never_hears_of_anothers_call() {
        let joins = Joins::default();
        let first = crate::chance::id(Timestamp(1)).unwrap();
        joins.name("a", "call", first);
        assert_eq!(joins.named("a", "call"), Some(first));
        assert_eq!(joins.named("b", "call"), None);
        for number in 0..MOST {
            joins.name("a", &number.to_string(), first);
        }
        assert_eq!(joins.named("a", "call"), None);
        assert_eq!(joins.lock().named.ids.len(), MOST);
    }
}
