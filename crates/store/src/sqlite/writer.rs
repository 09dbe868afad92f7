//! The writer thread: collects jobs, commits them together, and replies afterwards.

use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use countersign_ledger::merkle::Frontier;
use countersign_types::time::Clock;
use rusqlite::{Connection, params};

use super::batch::{Batch, CommitEffects};
use super::checkpointer::Checkpointer;
use super::errors::signed;
use super::job::{Job, Reply, Work};
use super::ledger;
use super::pending_entries::PendingEntries;
use super::shared::Shared;
use super::unsynced_passes::UnsyncedPass;
use crate::error::{StoreError, StoreResult};
use crate::record::TreeHead;

/// The delay before unsynced passes are committed again after a failed commit.
const RETRY_DELAY: Duration = Duration::from_millis(250);

/// The maximum number of deferred jobs in a commit: few enough to keep commits short, and enough
/// that thousands of requests can expire within a second.
const MAX_DEFERRED: usize = 64;

/// Texts that were removed from the store are removed from the log after this delay.
const TRUNCATE_DELAY: Duration = Duration::from_secs(1);

/// How long truncating the log waits for readers before it is retried.
const TRUNCATE_WAIT: Duration = Duration::from_millis(20);

/// The state of the writer thread.
pub(super) struct Writer {
    pub conn: Connection,
    pub clock: Arc<dyn Clock>,
    pub shared: Arc<Shared>,
    pub queue: Receiver<Job>,
    pub tree: Frontier,
    pub newest: i64,
    /// The number of deferred passes in the ledger, and the durable limit of those that may have
    /// returned.
    pub recorded: u64,
    pub reserved: u64,
    pub pending_entries: PendingEntries,
    pub checkpointer: Checkpointer,
    /// When the write-ahead log is to be truncated.
    pub truncate_log: Option<Instant>,
    #[expect(dead_code, reason = "the lock is held as long as the thread runs")]
    pub lock: File,
}

/// The writer's state after a commit.
struct CommitState {
    tree: Frontier,
    newest: i64,
    recorded: u64,
    reserved: u64,
    effects: CommitEffects,
}

impl Writer {
    /// Runs until the store is closed or dropped.
    pub fn run(mut self) {
        // However this thread ends, no caller keeps waiting.
        let shared = Arc::clone(&self.shared);
        let _ended = CloseOnExit(&shared);
        // When unsynced passes need a commit.
        let mut due: Option<Instant> = None;
        loop {
            let next =
                [due, self.shared.deferred.due(), self.truncate_log].into_iter().flatten().min();
            let received = match next {
                None => self.queue.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(at) => self.queue.recv_timeout(at.saturating_duration_since(Instant::now())),
            };
            let now = Instant::now();
            let past = |at: Option<Instant>| at.is_some_and(|at| at <= now);
            let wanted = match received {
                Ok(Job::Work(first)) => Some(vec![first]),
                Ok(Job::Wake) => {
                    let unsynced = self.shared.unsynced_passes.len();
                    if unsynced > 0 && due.is_none() {
                        due = Some(now + self.shared.options.pass_delay);
                    }
                    let enough = unsynced >= self.shared.options.pass_batch;
                    (enough || past(due)).then(Vec::new)
                }
                Err(RecvTimeoutError::Timeout) => {
                    (past(due) || past(self.shared.deferred.due())).then(Vec::new)
                }
                // The store was dropped without `close`: the effect of a crash.
                Err(RecvTimeoutError::Disconnected) => return,
            };
            if let Some(first) = wanted {
                let jobs = self.collect(first);
                self.commit(jobs, false);
                due = None;
            }
            if let Some(sender) = self.shared.take_close_request() {
                let _ = sender.send(self.close());
                return;
            }
            if self.truncate_log.is_some_and(|at| at <= Instant::now()) {
                self.truncate_log();
            }
            if due.is_none() && self.shared.unsynced_passes.len() > 0 {
                let failing = self.shared.failing.load(Ordering::Acquire);
                let wait = if failing { RETRY_DELAY } else { self.shared.options.pass_delay };
                due = Some(Instant::now() + wait);
            }
        }
    }

    /// Collects the jobs of the next commit.
    fn collect(&self, mut jobs: Vec<Work>) -> Vec<Work> {
        while jobs.len() < self.shared.options.max_batch {
            match self.queue.try_recv() {
                Ok(Job::Work(work)) => jobs.push(work),
                // Passes and deferred jobs are part of every commit.
                Ok(Job::Wake) => {}
                Err(_) => break,
            }
        }
        jobs.extend(self.shared.deferred.take(MAX_DEFERRED));
        jobs
    }

    /// Moves the log into the file and truncates it; until then it holds removed texts.
    fn truncate_log(&mut self) {
        // Waits only briefly for readers, because it is retried.
        let _ = self.conn.busy_timeout(TRUNCATE_WAIT);
        let sql = "PRAGMA wal_checkpoint(TRUNCATE)";
        let busy: Result<i64, _> = self.conn.query_row(sql, [], |row| row.get(0));
        let _ = self.conn.busy_timeout(self.shared.options.busy_timeout);
        self.truncate_log = (busy != Ok(0)).then(|| Instant::now() + TRUNCATE_DELAY);
    }

    /// Commits all remaining jobs, and marks that no pass is missing.
    fn close(&mut self) -> StoreResult<()> {
        loop {
            let jobs = self.collect(Vec::new());
            if jobs.is_empty() {
                break;
            }
            self.commit(jobs, false);
        }
        if !self.commit(Vec::new(), true) {
            return Err(StoreError::Unavailable("the last commit failed".to_owned()));
        }
        self.checkpointer.stop();
        // If this checkpoint fails, the next start repeats it.
        let _ = self.conn.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)");
        Ok(())
    }

    /// Makes one commit and then replies to its callers. Returns whether it succeeded.
    fn commit(&mut self, jobs: Vec<Work>, last: bool) -> bool {
        let passes = self.shared.unsynced_passes.take(last);
        if jobs.is_empty() && passes.is_empty() && !last {
            return true;
        }
        let mut replies = Vec::with_capacity(jobs.len());
        let result =
            catch_unwind(AssertUnwindSafe(|| self.transact(jobs, &passes, last, &mut replies)));
        let result = result.unwrap_or_else(|_| {
            Err(StoreError::Unavailable(
                "a write failed unexpectedly; see the log of the daemon".to_owned(),
            ))
        });
        if !self.conn.is_autocommit() {
            // An open transaction means that the commit failed.
            let _ = self.conn.execute_batch("ROLLBACK");
        }
        match result {
            Ok(state) => {
                self.publish(state, replies);
                self.checkpointer.wake_if_due(&self.conn);
                true
            }
            Err(error) => {
                self.shared.failing.store(true, Ordering::Release);
                self.shared.unsynced_passes.put_back(passes);
                for reply in replies {
                    reply(Some(error.clone()));
                }
                false
            }
        }
    }

    fn transact(
        &mut self,
        jobs: Vec<Work>,
        passes: &[UnsyncedPass],
        last: bool,
        replies: &mut Vec<Reply>,
    ) -> StoreResult<CommitState> {
        self.pending_entries.restart(self.newest);
        let begun = self.begin(passes);
        let ledger = (self.shared.head(), &self.shared.revocations);
        let mut batch = Batch::new(&self.conn, &mut self.pending_entries, ledger);
        for work in jobs {
            // After the transaction has failed, no more jobs run in it.
            let alive = begun.is_ok() && !batch.has_failed();
            replies.push(work(alive.then_some((&mut batch, &*self.clock))));
        }
        let effects = batch.finish();
        begun?;
        if self.conn.is_autocommit() {
            return Err(StoreError::Unavailable("the disk is full or failing".to_owned()));
        }
        if effects.must_abort {
            return Err(StoreError::Unavailable(
                "a write failed halfway and was rolled back".to_owned(),
            ));
        }
        let mut tree = self.tree.clone();
        ledger::write(&self.conn, &self.pending_entries, &mut tree)?;
        let count = u64::try_from(passes.len()).unwrap_or(u64::MAX);
        let recorded = self.recorded.saturating_add(count);
        let (unsynced, max) =
            (&self.shared.unsynced_passes, self.shared.options.max_unsynced_passes);
        let reserved =
            if last { recorded } else { unsynced.next_mark(self.reserved, max).max(recorded) };
        if (recorded, reserved) != (self.recorded, self.reserved) {
            self.conn
                .prepare_cached("UPDATE mark SET recorded = ?1, reserved = ?2")?
                .execute(params![signed(recorded)?, signed(reserved)?])?;
        }
        self.conn.prepare_cached("COMMIT")?.execute([])?;
        Ok(CommitState { tree, newest: self.pending_entries.newest(), recorded, reserved, effects })
    }

    fn begin(&mut self, passes: &[UnsyncedPass]) -> StoreResult<()> {
        self.conn.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        // A pass from before a rebase of the clock has a time that is still to come.
        let now = if passes.is_empty() { i64::MAX } else { self.clock.now().at.0 };
        for pass in passes {
            if pass.entry.at > now {
                let mut entry = pass.entry.clone();
                entry.at = now;
                self.pending_entries.push(&mut entry)?;
            } else if pass.entry.at >= self.pending_entries.newest() {
                self.pending_entries.add(&pass.text, &pass.entry)?;
            } else {
                self.pending_entries.push(&mut pass.entry.clone())?;
            }
        }
        Ok(())
    }

    /// Publishes a durable commit.
    fn publish(&mut self, state: CommitState, replies: Vec<Reply>) {
        let CommitState { tree, newest, recorded, reserved, effects } = state;
        if tree.size() != self.tree.size() {
            self.shared.set_head(TreeHead { size: tree.size(), root: tree.root() });
        }
        self.shared.revocations.add(self.pending_entries.revocations());
        self.tree = tree;
        self.newest = newest;
        self.shared.newest.store(newest, Ordering::Release);
        self.shared.commits.fetch_add(1, Ordering::Relaxed);
        if reserved != self.reserved {
            self.shared.unsynced_passes.allow(reserved);
        }
        (self.recorded, self.reserved) = (recorded, reserved);
        self.shared.failing.store(effects.write_failed, Ordering::Release);
        if effects.removed_text {
            self.truncate_log.get_or_insert(Instant::now() + TRUNCATE_DELAY);
        }
        // Waiters first. Events come before the replies, so that a caller that subscribes after its
        // reply receives no older event.
        for ended in &effects.ended {
            self.shared.waiters.notify(ended);
        }
        for event in effects.events {
            // There may be no subscriber.
            let _ = self.shared.events.send(event);
        }
        for reply in replies {
            reply(None);
        }
    }
}

/// Ends all waits when the writer thread ends.
struct CloseOnExit<'a>(&'a Shared);

impl Drop for CloseOnExit<'_> {
    fn drop(&mut self) {
        self.0.closed.store(true, Ordering::Release);
        self.0.deferred.close();
        self.0.waiters.close();
    }
}
