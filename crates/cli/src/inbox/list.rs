//! Pending requests by urgency, and the selected one, which does not move while a person types.

use std::cmp::Reverse;

use countersign_client::{RequestRecord, RequestStatus};

use crate::engine::Tier;
use crate::gate::page;

/// How long an ended request stays visible, in milliseconds.
const STAYS: u64 = 5000;

/// A request in the list.
#[derive(Debug, Clone)]
pub struct ListEntry {
    /// Its id.
    pub id: String,
    /// As last received from the daemon.
    pub request: RequestRecord,
    /// When it ended.
    pub ended: Option<u64>,
    /// An answer is being sent.
    pub sending: bool,
}

impl ListEntry {
    /// Whether it is still pending.
    pub fn waits(&self) -> bool {
        self.ended.is_none() && self.request.state == RequestStatus::Pending
    }

    fn rank(&self) -> Rank {
        rank(&self.request)
    }

    fn fits(&self, filter: &str) -> bool {
        if filter.is_empty() {
            return true;
        }
        let request = &self.request;
        let brief = page::brief(request);
        let session = request.session.as_deref().unwrap_or_default();
        let asking = request.asking_name();
        let texts = [&brief, &request.phrase, &asking, &request.tool, &request.tier, session];
        texts.iter().any(|text| text.to_lowercase().contains(filter))
    }
}

/// The order: crises, then higher tiers, then earlier deadlines.
pub type Rank = (Reverse<usize>, i64);

/// The rank of a request. An unknown tier counts as the highest.
pub fn rank(request: &RequestRecord) -> Rank {
    let tier = Tier::parse(&request.tier);
    let tier = tier.and_then(|tier| Tier::ALL.iter().position(|&one| one == tier));
    let tier = tier.unwrap_or(Tier::ALL.len());
    (Reverse(tier + if request.crisis { 8 } else { 0 }), request.deadline.millis())
}

/// The list.
#[derive(Debug, Default)]
pub struct RequestList {
    entries: Vec<ListEntry>,
    selected: Option<String>,
    filter: String,
    top: usize,
}

impl RequestList {
    /// The requests that match the filter, in order.
    pub fn shown(&self) -> impl Iterator<Item = &ListEntry> {
        let filter = self.filter.to_lowercase();
        self.entries.iter().filter(move |entry| entry.fits(&filter))
    }

    /// The number of pending requests, regardless of the filter.
    pub fn waiting(&self) -> usize {
        self.entries.iter().filter(|entry| entry.waits()).count()
    }

    /// The selected request.
    pub fn current(&self) -> Option<&ListEntry> {
        let id = self.selected.as_deref()?;
        self.entries.iter().find(|entry| entry.id == id)
    }

    /// A request by its id.
    pub fn by_id(&self, id: &str) -> Option<&ListEntry> {
        self.entries.iter().find(|entry| entry.id == id)
    }

    /// The filter.
    pub fn filter(&self) -> &str {
        &self.filter
    }

    /// The first row that is drawn.
    pub fn top(&self) -> usize {
        self.top
    }

    /// The position of the selected request among those shown.
    pub fn position(&self) -> Option<usize> {
        let id = self.selected.as_deref()?;
        self.shown().position(|entry| entry.id == id)
    }

    /// Replaces the list with reloaded requests. True if something moved under the selection.
    pub fn replace(&mut self, requests: Vec<RequestRecord>, now: u64) -> bool {
        self.keeping(|entries| {
            let mut fresh: Vec<ListEntry> = Vec::with_capacity(requests.len());
            for request in requests {
                let Some(id) = request.id.clone() else { continue };
                let old = entries.iter().find(|entry| entry.id == id);
                let sending = old.is_some_and(|entry| entry.sending);
                // An ended request stays ended.
                if old.is_some_and(|entry| entry.request.state != RequestStatus::Pending) {
                    continue;
                }
                if request.state == RequestStatus::Pending && fresh.iter().all(|one| one.id != id) {
                    fresh.push(ListEntry { id, request, ended: None, sending });
                }
            }
            // A request that is no longer listed has ended; it stays visible for a while.
            for mut old in entries.drain(..) {
                if fresh.iter().all(|entry| entry.id != old.id) {
                    old.ended = old.ended.or(Some(now));
                    fresh.push(old);
                }
            }
            fresh.sort_by_key(ListEntry::rank);
            *entries = fresh;
        })
    }

    /// Updates one request. True if something moved under the selection.
    pub fn put(&mut self, request: RequestRecord, now: u64) -> bool {
        let Some(id) = request.id.clone() else { return false };
        let over = request.state != RequestStatus::Pending;
        self.keeping(|entries| {
            if let Some(entry) = entries.iter_mut().find(|entry| entry.id == id) {
                // An ended request stays ended: a late update changes nothing.
                if entry.request.state == RequestStatus::Pending {
                    entry.request = request;
                }
                if over {
                    entry.ended = entry.ended.or(Some(now));
                }
                entry.sending &= !over;
            } else if !over {
                let entry = ListEntry { id, request, ended: None, sending: false };
                let rank = entry.rank();
                let at = entries.partition_point(|other| other.rank() <= rank);
                entries.insert(at, entry);
            }
        })
    }

    /// Removes requests that ended a while ago. True if something moved under the selection.
    pub fn tidy(&mut self, now: u64) -> bool {
        let gone =
            |entry: &ListEntry| entry.ended.is_some_and(|at| now.saturating_sub(at) >= STAYS);
        self.entries.iter().any(gone) && self.keeping(|entries| entries.retain(|one| !gone(one)))
    }

    /// Marks that an answer is being sent, or has been received.
    pub fn set_sending(&mut self, id: &str, sending: bool) {
        if let Some(entry) = self.entries.iter_mut().find(|entry| entry.id == id) {
            entry.sending = sending;
        }
    }

    /// Sets the filter. True if another request is selected now.
    pub fn set_filter(&mut self, filter: String) -> bool {
        let before = self.selected.clone();
        self.filter = filter;
        if self.position().is_none() {
            self.selected = self.id_at(0);
            self.top = 0;
        }
        self.selected != before
    }

    /// Moves by this many rows, or to an end.
    pub fn step(&mut self, by: isize) {
        let last = self.shown().count().saturating_sub(1);
        let at = self.position().unwrap_or(0).saturating_add_signed(by).min(last);
        self.selected = self.id_at(at);
    }

    fn id_at(&self, at: usize) -> Option<String> {
        self.shown().nth(at).map(|entry| entry.id.clone())
    }

    /// Fits the list to this many rows. True if the selected one moved.
    pub fn fit(&mut self, rows: usize) -> bool {
        let before = self.top;
        let count = self.shown().count();
        self.top = self.top.min(count.saturating_sub(rows));
        if let Some(at) = self.position().filter(|_| rows > 0) {
            self.top = self.top.min(at).max((at + 1).saturating_sub(rows));
        }
        self.top != before
    }

    /// Changes the list and keeps the selected request at its place on the screen if possible. True
    /// if it moved, or if another one is selected now.
    fn keeping(&mut self, change: impl FnOnce(&mut Vec<ListEntry>)) -> bool {
        let before = self.position();
        change(&mut self.entries);
        match (before, self.position()) {
            (Some(old), Some(new)) => {
                let row = old.saturating_sub(self.top);
                self.top = new.saturating_sub(row);
                new - self.top != row
            }
            (_, Some(_)) => true,
            (old, None) => {
                // The next request takes its place.
                let last = self.shown().count().saturating_sub(1);
                let at = old.unwrap_or(0).min(last);
                let next = self.id_at(at);
                let changed = next != self.selected;
                self.selected = next;
                changed
            }
        }
    }
}
