//! The newest requests, read page by page up to a limit.

use countersign_store::{Backend, RequestQuery, Store as _, StoreError, StoredRequest};
use countersign_types::time::Timestamp;

const PAGE: u32 = 500;

/// Requests since a time, newest first.
#[derive(Debug)]
pub struct Recent {
    /// Requests of agents.
    pub requests: Vec<StoredRequest>,
    /// Drills.
    pub drills: Vec<StoredRequest>,
    /// Whether more requests exist than were read.
    pub partial: bool,
}

/// Requests since a time, at most about this many.
pub async fn recent(store: &Backend, since: Timestamp, most: usize) -> Result<Recent, StoreError> {
    let mut found = Recent { requests: Vec::new(), drills: Vec::new(), partial: false };
    let mut before = None;
    while found.requests.len() < most {
        let page =
            store.find(RequestQuery { before, limit: PAGE, ..RequestQuery::default() }).await?;
        let is_recent = |stored: &StoredRequest| stored.request.schedule.created >= since;
        let older = page.requests.iter().any(|stored| !is_recent(stored));
        let (drills, requests): (Vec<_>, Vec<_>) = page
            .requests
            .into_iter()
            .filter(is_recent)
            .partition(|stored| stored.request.requester.is_drill());
        found.requests.extend(requests);
        found.drills.extend(drills);
        before = page.next;
        if older || before.is_none() {
            return Ok(found);
        }
    }
    Ok(Recent { partial: true, ..found })
}
