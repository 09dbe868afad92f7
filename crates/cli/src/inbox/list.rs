//! What waits, by urgency, and the one that is looked at: nothing moves under the finger.

use std::cmp::Reverse;

use countersign_client::{Request, State};

use crate::core_api::Tier;
use crate::gate::page;

/// How long an answered request stays to be read, in milliseconds.
const STAYS: u64 = 5000;

/// A request in the list.
#[derive(Debug, Clone)]
pub struct Entry {
    /// Its id.
    pub id: String,
    /// As the daemon told it last.
    pub request: Request,
    /// When we heard that it is over.
    pub ended: Option<u64>,
    /// An answer is on its way.
    pub sending: bool,
}

impl Entry {
    /// Whether it still waits for an answer.
    pub fn waits(&self) -> bool {
        self.ended.is_none() && self.request.state == State::Pending
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
        let texts =
            [&brief, &request.phrase, &request.agent, &request.tool, &request.tier, session];
        texts.iter().any(|text| text.to_lowercase().contains(filter))
    }
}

/// What comes first: crises, then the graver, then what ends earlier.
pub type Rank = (Reverse<usize>, i64);

/// The rank of a request. A tier that is not known counts as the gravest.
pub fn rank(request: &Request) -> Rank {
    let tier = Tier::parse(&request.tier);
    let tier = tier.and_then(|tier| Tier::ALL.iter().position(|&one| one == tier));
    let tier = tier.unwrap_or(Tier::ALL.len());
    (Reverse(tier + if request.crisis { 8 } else { 0 }), request.deadline.millis())
}

/// The list.
#[derive(Debug, Default)]
pub struct List {
    entries: Vec<Entry>,
    selected: Option<String>,
    filter: String,
    top: usize,
}

impl List {
    /// Those that fit the filter, in order.
    pub fn shown(&self) -> impl Iterator<Item = &Entry> {
        let filter = self.filter.to_lowercase();
        self.entries.iter().filter(move |entry| entry.fits(&filter))
    }

    /// How many wait, whatever the filter.
    pub fn waiting(&self) -> usize {
        self.entries.iter().filter(|entry| entry.waits()).count()
    }

    /// The one that is looked at.
    pub fn current(&self) -> Option<&Entry> {
        let id = self.selected.as_deref()?;
        self.entries.iter().find(|entry| entry.id == id)
    }

    /// A request by its id.
    pub fn by_id(&self, id: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.id == id)
    }

    /// What is looked for.
    pub fn filter(&self) -> &str {
        &self.filter
    }

    /// The first row that is drawn.
    pub fn top(&self) -> usize {
        self.top
    }

    /// Where the one that is looked at stands among those shown.
    pub fn position(&self) -> Option<usize> {
        let id = self.selected.as_deref()?;
        self.shown().position(|entry| entry.id == id)
    }

    /// Everything that waits, read anew. True if something moved under the selection.
    pub fn replace(&mut self, requests: Vec<Request>, now: u64) -> bool {
        self.keeping(|entries| {
            let mut fresh: Vec<Entry> = Vec::with_capacity(requests.len());
            for request in requests {
                let Some(id) = request.id.clone() else { continue };
                let old = entries.iter().find(|entry| entry.id == id);
                let sending = old.is_some_and(|entry| entry.sending);
                // What is over stays over.
                if old.is_some_and(|entry| entry.request.state != State::Pending) {
                    continue;
                }
                if request.state == State::Pending && fresh.iter().all(|one| one.id != id) {
                    fresh.push(Entry { id, request, ended: None, sending });
                }
            }
            // What waited and is not told of any more is over; it stays a while to say so.
            for mut old in entries.drain(..) {
                if fresh.iter().all(|entry| entry.id != old.id) {
                    old.ended = old.ended.or(Some(now));
                    fresh.push(old);
                }
            }
            fresh.sort_by_key(Entry::rank);
            *entries = fresh;
        })
    }

    /// One request as it stands now. True if something moved under the selection.
    pub fn put(&mut self, request: Request, now: u64) -> bool {
        let Some(id) = request.id.clone() else { return false };
        let over = request.state != State::Pending;
        self.keeping(|entries| {
            if let Some(entry) = entries.iter_mut().find(|entry| entry.id == id) {
                // What is over stays over: an older word that comes late changes nothing.
                if entry.request.state == State::Pending {
                    entry.request = request;
                }
                if over {
                    entry.ended = entry.ended.or(Some(now));
                }
                entry.sending &= !over;
            } else if !over {
                let entry = Entry { id, request, ended: None, sending: false };
                let rank = entry.rank();
                let at = entries.partition_point(|other| other.rank() <= rank);
                entries.insert(at, entry);
            }
        })
    }

    /// Takes out what has been over for a while. True if something moved under the selection.
    pub fn tidy(&mut self, now: u64) -> bool {
        let gone = |entry: &Entry| entry.ended.is_some_and(|at| now.saturating_sub(at) >= STAYS);
        self.entries.iter().any(gone) && self.keeping(|entries| entries.retain(|one| !gone(one)))
    }

    /// An answer to this one is on its way, or has come back.
    pub fn set_sending(&mut self, id: &str, sending: bool) {
        if let Some(entry) = self.entries.iter_mut().find(|entry| entry.id == id) {
            entry.sending = sending;
        }
    }

    /// Looks for something else. True if another one is looked at now.
    pub fn set_filter(&mut self, filter: String) -> bool {
        let before = self.selected.clone();
        self.filter = filter;
        if self.position().is_none() {
            self.selected = self.id_at(0);
            self.top = 0;
        }
        self.selected != before
    }

    /// Moves by so many rows, or to an end.
    pub fn step(&mut self, by: isize) {
        let last = self.shown().count().saturating_sub(1);
        let at = self.position().unwrap_or(0).saturating_add_signed(by).min(last);
        self.selected = self.id_at(at);
    }

    fn id_at(&self, at: usize) -> Option<String> {
        self.shown().nth(at).map(|entry| entry.id.clone())
    }

    /// Fits the list to so many rows. True if the selected one came to stand elsewhere.
    pub fn fit(&mut self, rows: usize) -> bool {
        let before = self.top;
        let count = self.shown().count();
        self.top = self.top.min(count.saturating_sub(rows));
        if let Some(at) = self.position().filter(|_| rows > 0) {
            self.top = self.top.min(at).max((at + 1).saturating_sub(rows));
        }
        self.top != before
    }

    /// Changes the list around the one that is looked at, which stays where it is on the screen
    /// if it can. True if it could not, or if it is another one now.
    fn keeping(&mut self, change: impl FnOnce(&mut Vec<Entry>)) -> bool {
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
                // Its neighbour takes its place.
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
