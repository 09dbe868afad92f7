//! The one thread that writes: takes what waits, commits it together, and only then answers.

use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use countersign_ledger::merkle::Frontier;
use countersign_types::time::Clock;
use rusqlite::{Connection, params};

use super::batch::{After, Batch};
use super::draft::Draft;
use super::fault::signed;
use super::fold::Fold;
use super::ledger;
use super::passes::Ride;
use super::shared::Shared;
use crate::StoreResult;
use crate::error::StoreError;
use crate::record::TreeHead;

/// Tells the caller: what came of it, or that the commit failed.
pub(super) type Answer = Box<dyn FnOnce(Option<StoreError>) + Send>;

/// Does the work inside a commit; without one it only says whom to tell.
pub(super) type Work = Box<dyn FnOnce(Option<(&mut Batch<'_>, &dyn Clock)>) -> Answer + Send>;

/// What is sent to the writer.
pub(super) enum Job {
    /// Something to be committed.
    Work(Work),
    /// Passes ride, or the store is to be closed: look.
    Nudge,
}

/// After a failed commit, passes that were answered are tried again after so long.
const AGAIN: Duration = Duration::from_millis(250);

/// So many jobs that let others go first are taken into one commit: few enough that somebody who
/// comes meanwhile waits for a short one, and enough that thousands expire within a second.
const LATER_AT_ONCE: usize = 64;

/// Words that were taken out of the store are gone from the log as well after so long.
const FORGET: Duration = Duration::from_secs(1);

/// How long forgetting waits for readers, before it is tried again.
const FORGET_WAIT: Duration = Duration::from_millis(20);

/// The thread's own things.
pub(super) struct Writer {
    pub conn: Connection,
    pub clock: Arc<dyn Clock>,
    pub shared: Arc<Shared>,
    pub queue: Receiver<Job>,
    pub tree: Frontier,
    pub newest: i64,
    /// Passes in the ledger that rode, and passes that may have been answered.
    pub recorded: u64,
    pub reserved: u64,
    pub draft: Draft,
    pub fold: Fold,
    /// When the log is to be emptied.
    pub forget: Option<Instant>,
    #[expect(dead_code, reason = "held as long as the thread lives")]
    pub lock: File,
}

/// What a commit will have changed.
struct Reached {
    tree: Frontier,
    newest: i64,
    recorded: u64,
    reserved: u64,
    after: After,
}

impl Writer {
    /// Runs until the store is closed or dropped.
    pub fn run(mut self) {
        // Whatever ends this thread: nobody is left waiting for it.
        let shared = Arc::clone(&self.shared);
        let _ended = GivesUp(&shared);
        // When passes that ride want a commit.
        let mut due: Option<Instant> = None;
        loop {
            let next = [due, self.shared.later.due(), self.forget].into_iter().flatten().min();
            let received = match next {
                None => self.queue.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(at) => self.queue.recv_timeout(at.saturating_duration_since(Instant::now())),
            };
            let now = Instant::now();
            let past = |at: Option<Instant>| at.is_some_and(|at| at <= now);
            let wanted = match received {
                Ok(Job::Work(first)) => Some(vec![first]),
                Ok(Job::Nudge) => {
                    let riding = self.shared.passes.len();
                    if riding > 0 && due.is_none() {
                        due = Some(now + self.shared.options.ride);
                    }
                    let enough = riding >= self.shared.options.riders;
                    (enough || past(due)).then(Vec::new)
                }
                Err(RecvTimeoutError::Timeout) => {
                    (past(due) || past(self.shared.later.due())).then(Vec::new)
                }
                // Dropped without being closed: as after a crash.
                Err(RecvTimeoutError::Disconnected) => return,
            };
            if let Some(first) = wanted {
                let jobs = self.gather(first);
                self.commit(jobs, false);
                due = None;
            }
            if let Some(answer) = self.shared.closing() {
                let _ = answer.send(self.close());
                return;
            }
            if self.forget.is_some_and(|at| at <= Instant::now()) {
                self.forget();
            }
            if due.is_none() && self.shared.passes.len() > 0 {
                let failing = self.shared.failing.load(Ordering::Acquire);
                let wait = if failing { AGAIN } else { self.shared.options.ride };
                due = Some(Instant::now() + wait);
            }
        }
    }

    fn gather(&self, mut jobs: Vec<Work>) -> Vec<Work> {
        while jobs.len() < self.shared.options.batch {
            match self.queue.try_recv() {
                Ok(Job::Work(work)) => jobs.push(work),
                // What it speaks of is taken along below.
                Ok(Job::Nudge) => {}
                Err(_) => break,
            }
        }
        jobs.extend(self.shared.later.take(LATER_AT_ONCE));
        jobs
    }

    /// Folds the log into the file and empties it: until then it still holds what was replaced.
    fn forget(&mut self) {
        // Whoever reads is not waited for long; it is tried again.
        let _ = self.conn.busy_timeout(FORGET_WAIT);
        let sql = "PRAGMA wal_checkpoint(TRUNCATE)";
        let held: Result<i64, _> = self.conn.query_row(sql, [], |row| row.get(0));
        let _ = self.conn.busy_timeout(self.shared.options.busy);
        self.forget = (held != Ok(0)).then(|| Instant::now() + FORGET);
    }

    /// Whatever came in before the end is committed; then the mark says that nothing is missing.
    fn close(&mut self) -> StoreResult<()> {
        loop {
            let jobs = self.gather(Vec::new());
            if jobs.is_empty() {
                break;
            }
            self.commit(jobs, false);
        }
        if !self.commit(Vec::new(), true) {
            return Err(StoreError::Unavailable("the last commit failed".to_owned()));
        }
        self.fold.end();
        // The log is folded into the file; if that fails, the next start does it.
        let _ = self.conn.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)");
        Ok(())
    }

    /// One commit. Answers come after it, or say that it failed.
    fn commit(&mut self, jobs: Vec<Work>, last: bool) -> bool {
        let rides = self.shared.passes.take(last);
        if jobs.is_empty() && rides.is_empty() && !last {
            return true;
        }
        let mut answers = Vec::with_capacity(jobs.len());
        let tried =
            catch_unwind(AssertUnwindSafe(|| self.transact(jobs, &rides, last, &mut answers)));
        let tried = tried.unwrap_or_else(|_| {
            Err(StoreError::Unavailable("the writer broke off in the middle".to_owned()))
        });
        if !self.conn.is_autocommit() {
            // A transaction that is still open has failed.
            let _ = self.conn.execute_batch("ROLLBACK");
        }
        match tried {
            Ok(reached) => {
                self.publish(reached, answers);
                self.fold.look(&self.conn);
                true
            }
            Err(error) => {
                self.shared.failing.store(true, Ordering::Release);
                self.shared.passes.put_back(rides);
                for answer in answers {
                    answer(Some(error.clone()));
                }
                false
            }
        }
    }

    fn transact(
        &mut self,
        jobs: Vec<Work>,
        rides: &[Ride],
        last: bool,
        answers: &mut Vec<Answer>,
    ) -> StoreResult<Reached> {
        self.draft.restart(self.newest);
        let begun = self.begin(rides);
        let mut batch = Batch::new(&self.conn, &mut self.draft, self.tree.size());
        for work in jobs {
            // Once the transaction is given up, nothing more is tried in it.
            let alive = begun.is_ok() && !batch.is_broken();
            answers.push(work(alive.then_some((&mut batch, &*self.clock))));
        }
        let after = batch.finish();
        begun?;
        if self.conn.is_autocommit() {
            return Err(StoreError::Unavailable("the disk is full or fails".to_owned()));
        }
        if after.broken {
            return Err(StoreError::Unavailable("a change broke off halfway".to_owned()));
        }
        let mut tree = self.tree.clone();
        ledger::write(&self.conn, &self.draft, &mut tree)?;
        let rode = u64::try_from(rides.len()).unwrap_or(u64::MAX);
        let recorded = self.recorded.saturating_add(rode);
        let (passes, reserve) = (&self.shared.passes, self.shared.options.reserve);
        let reserved =
            if last { recorded } else { passes.next_mark(self.reserved, reserve).max(recorded) };
        if (recorded, reserved) != (self.recorded, self.reserved) {
            self.conn
                .prepare_cached("UPDATE mark SET recorded = ?1, reserved = ?2")?
                .execute(params![signed(recorded)?, signed(reserved)?])?;
        }
        self.conn.prepare_cached("COMMIT")?.execute([])?;
        Ok(Reached { tree, newest: self.draft.newest(), recorded, reserved, after })
    }

    fn begin(&mut self, rides: &[Ride]) -> StoreResult<()> {
        self.conn.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        for ride in rides {
            if ride.entry.at >= self.draft.newest() {
                self.draft.add(&ride.text, &ride.entry)?;
            } else {
                self.draft.push(&mut ride.entry.clone())?;
            }
        }
        Ok(())
    }

    /// It is durable: now it may be told.
    fn publish(&mut self, reached: Reached, answers: Vec<Answer>) {
        let Reached { tree, newest, recorded, reserved, after } = reached;
        if tree.size() != self.tree.size() {
            self.shared.set_head(TreeHead { size: tree.size(), root: tree.root() });
        }
        self.tree = tree;
        self.newest = newest;
        self.shared.newest.store(newest, Ordering::Release);
        self.shared.commits.fetch_add(1, Ordering::Relaxed);
        if reserved != self.reserved {
            self.shared.passes.allow(reserved);
        }
        (self.recorded, self.reserved) = (recorded, reserved);
        self.shared.failing.store(after.lost, Ordering::Release);
        if after.forgot {
            self.forget.get_or_insert(Instant::now() + FORGET);
        }
        // First who waits for an end. Then the news, so that whoever has its answer and watches
        // from then on hears nothing older than that.
        for ended in &after.ended {
            self.shared.waiting.wake(ended);
        }
        for news in after.news {
            // Nobody may be watching.
            let _ = self.shared.news.send(news);
        }
        for answer in answers {
            answer(None);
        }
    }
}

/// Wakes everybody with nothing when the writer ends.
struct GivesUp<'a>(&'a Shared);

impl Drop for GivesUp<'_> {
    fn drop(&mut self) {
        self.0.closed.store(true, Ordering::Release);
        self.0.later.give_up();
        self.0.waiting.give_up();
    }
}
