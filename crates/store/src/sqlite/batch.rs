//! One commit as its jobs see it: the connection, the time, the entries and what to tell later.

use std::borrow::Cow;

use countersign_json as json;
use countersign_json::Value;
use countersign_ledger::entry::{Entry, Kind};
use countersign_types::time::{Clock, Moment, Timestamp};
use rusqlite::Connection;

use super::draft::Draft;
use crate::StoreResult;
use crate::error::StoreError;
use crate::record::{StoredRequest, WriteContext};
use crate::wake::StoreEvent;

/// A fact of an entry.
pub(super) type Fact<'a> = (Cow<'a, str>, Value<'a>);

/// The longest text of a person that stands in an entry.
const MAX_WORDS: usize = 4_096;

/// One commit.
pub(super) struct Batch<'c> {
    /// The writing connection, inside the transaction.
    pub conn: &'c Connection,
    /// The time of the job that runs.
    pub now: Moment,
    draft: &'c mut Draft,
    base: u64,
    after: After,
}

/// How much a job may have done when it fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Care {
    /// It refuses whatever it refuses before it changes a row. If it breaks off behind that after
    /// all, nothing of the whole commit is kept.
    RefusesFirst,
    /// It may be refused halfway, so it gets a savepoint, which costs a copy of every page.
    Savepoint,
}

/// What is told once the commit is durable.
#[derive(Default)]
pub(super) struct After {
    /// To whoever watches.
    pub news: Vec<StoreEvent>,
    /// To whoever waits.
    pub ended: Vec<StoredRequest>,
    /// Some job could not be written although the commit went through: the disk is nearly full.
    pub lost: bool,
    /// Some job broke off halfway: nothing of this commit may be kept.
    pub broken: bool,
    /// Words were taken out of the store, which the log still holds.
    pub forgot: bool,
}

impl<'c> Batch<'c> {
    /// A commit that has begun, behind so many entries of the ledger.
    pub fn new(conn: &'c Connection, draft: &'c mut Draft, base: u64) -> Batch<'c> {
        let now = Moment::settled(Timestamp(draft.newest()));
        Batch { conn, now, draft, base, after: After::default() }
    }

    /// Lets a job happen wholly or not at all.
    pub fn job<T>(
        &mut self,
        clock: &dyn Clock,
        care: Care,
        work: impl FnOnce(&mut Batch<'_>) -> StoreResult<T>,
    ) -> StoreResult<T> {
        self.now = stamp(clock.now(), self.draft.newest());
        let (news, ended) = (self.after.news.len(), self.after.ended.len());
        let (place, changes) = (self.draft.place(), self.conn.total_changes());
        let savepoint = care == Care::Savepoint;
        if savepoint {
            self.conn.prepare_cached("SAVEPOINT job")?.execute([])?;
        }
        let done = work(self);
        if let Err(error) = &done {
            self.after.lost |= matches!(error, StoreError::Unavailable(_));
            self.draft.rewind(place);
            self.after.news.truncate(news);
            self.after.ended.truncate(ended);
            // SQLite gives the whole transaction up by itself when the disk is full.
            if self.conn.is_autocommit() {
                return Err(StoreError::Unavailable(error.to_string()));
            }
            if savepoint {
                self.conn.prepare_cached("ROLLBACK TO job")?.execute([])?;
            } else if self.conn.total_changes() != changes {
                self.after.broken = true;
            }
        }
        if savepoint {
            self.conn.prepare_cached("RELEASE job")?.execute([])?;
        }
        done
    }

    /// Whether nothing of this commit can be kept.
    pub fn is_broken(&self) -> bool {
        self.after.broken || self.conn.is_autocommit()
    }

    /// How many entries the ledger has with what was written so far.
    pub fn entries(&self) -> u64 {
        self.base + self.draft.count()
    }

    /// Words were taken out of the store.
    pub fn forgot(&mut self) {
        self.after.forgot = true;
    }

    /// Adds an entry with the time of this job.
    pub fn write(&mut self, mut entry: Entry<'_>) -> StoreResult<()> {
        entry.at = self.now.at.0;
        self.draft.push(&mut entry)
    }

    /// Tells it after the commit.
    pub fn tell(&mut self, news: StoreEvent) {
        self.after.news.push(news);
    }

    /// Wakes those who wait for this end, after the commit.
    pub fn end(&mut self, stored: StoredRequest) {
        self.tell(StoreEvent::Ended(stored.request.id, stored.request.state));
        self.after.ended.push(stored);
    }

    /// What is to be told, and the entries.
    pub fn finish(self) -> After {
        self.after
    }
}

/// A clock that stands behind what is written is not to be trusted with an approval.
fn stamp(now: Moment, newest: i64) -> Moment {
    if now.at.0 >= newest { now } else { Moment { at: Timestamp(newest), settled: false } }
}

/// An entry under a note's policy with our facts and the note's; ours count where both speak.
pub(super) fn entry<'a>(
    kind: Kind,
    note: &'a WriteContext,
    ours: Vec<Fact<'a>>,
) -> StoreResult<Entry<'a>> {
    let mut entry = Entry::new(0, kind, note.policy);
    entry.facts = ours;
    if let Some(text) = &note.facts {
        let facts = json::parse(text).map_err(|e| StoreError::Unfit(format!("facts: {e}")))?;
        let Value::Object(facts) = facts else {
            return Err(StoreError::Unfit("facts must be an object".to_owned()));
        };
        for (name, value) in facts {
            if !entry.facts.iter().any(|(ours, _)| *ours == name) {
                entry.facts.push((name, value));
            }
        }
    }
    Ok(entry)
}

/// A fact that is a text. What people wrote is cut where an entry would get too long.
pub(super) fn words<'a>(name: &'static str, text: &'a str) -> Fact<'a> {
    let end = text.floor_char_boundary(MAX_WORDS);
    (Cow::Borrowed(name), Value::String(Cow::Borrowed(text.get(..end).unwrap_or_default())))
}

/// A fact that is a number.
pub(super) fn number<'a>(name: &'static str, number: impl Into<u64>) -> Fact<'a> {
    (Cow::Borrowed(name), Value::Number(Cow::Owned(number.into().to_string())))
}
