//! Charges the records of passes and refusals to the agent that causes them.

use countersign_json::Value;
use countersign_ledger::entry::Entry;
use countersign_store::NewRequest;
use countersign_types::time::Clock as _;

use super::Rejection;
use super::asking_agent::{counted_as, label_in};
use super::flood::FloodRefusal;
use super::state::Gate;

/// About the bytes of a ledger entry with its hash and its place in the tree, without its texts.
const ENTRY: u64 = 512;
/// About the bytes of a stored request with its entries and indexes, without its texts.
const REQUEST: u64 = 3_072;

impl Gate {
    /// Takes room for the entry of a call that passes or is refused.
    pub(super) async fn charge_entry(
        &self,
        counted: &str,
        entry: &Entry<'_>,
    ) -> Result<(), Rejection> {
        let facts = entry.facts.iter().map(|(name, value)| match value {
            Value::String(text) => name.len() + text.len(),
            _ => name.len(),
        });
        let names = entry.agent.as_deref().map_or(0, str::len)
            + entry.session.as_deref().map_or(0, str::len);
        self.charge_disk(counted, ENTRY + (facts.sum::<usize>() + names) as u64).await
    }

    /// Takes room for a request that is decided without a person.
    pub(super) async fn charge_request(&self, new: &NewRequest) -> Result<(), Rejection> {
        let texts = [&new.card, &new.detail, &new.brief, &new.session, &new.tool];
        let bytes = texts.iter().map(|text| text.len() as u64).sum::<u64>();
        let label = label_in(&new.detail);
        let counted = counted_as(new.request.requester.name(), label.as_deref());
        self.charge_disk(&counted, REQUEST + bytes).await
    }

    /// Takes room for calls that a gateway let pass. Without room they stay in the queue of the
    /// gateway, and further calls have to ask this daemon once the queue is full.
    pub async fn charge_reported(&self, agent: &str, calls: usize) -> Result<(), Rejection> {
        self.charge_disk(agent, (ENTRY + 128).saturating_mul(calls as u64)).await
    }

    async fn charge_disk(&self, counted: &str, bytes: u64) -> Result<(), Rejection> {
        let now = self.clock.now().at;
        match self.flood.charge(&self.rules().flood, counted, bytes, now) {
            Ok(()) => Ok(()),
            // Boxed, because the future of a call that passes must stay small.
            Err(refusal) => Err(Box::pin(delayed(refusal)).await),
        }
    }
}

async fn delayed(refusal: FloodRefusal) -> Rejection {
    tokio::time::sleep(refusal.wait).await;
    refusal.rejection
}
