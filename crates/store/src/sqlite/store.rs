//! The SQLite store: its threads, and how reads and writes reach them.

use std::fmt;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use countersign_ledger::entry::{Entry, MAX_ENTRY};
use countersign_types::time::{Clock, Timestamp};
use rusqlite::Connection;
use tokio::sync::oneshot;

use super::batch::{Atomicity, Batch};
use super::checkpointer::Checkpointer;
use super::gap;
use super::job::{Job, Reply, Work};
use super::ledger;
use super::open;
use super::options::SqliteOptions;
use super::pending_entries::PendingEntries;
use super::people;
use super::readers::Readers;
use super::revocations::Revocations;
use super::row_record::PowerRow as _;
use super::shared::Shared;
use super::unsynced_passes::{UnsyncedPass, UnsyncedPasses};
use super::writer::Writer;
use crate::error::{OpenError, StoreError, StoreResult};
use crate::record::TreeHead;

/// Bytes that a deferred pass leaves free, because a later time may be longer than its own.
const ROOM_FOR_TIME: usize = 32;

/// A store in a file on this machine. Only `close` stops it cleanly: dropping it has the effect of
/// a crash.
pub struct SqliteStore {
    pub(super) shared: Arc<Shared>,
    pub(super) clock: Arc<dyn Clock>,
    jobs: Option<SyncSender<Job>>,
    readers: Readers,
    writer: Mutex<Option<JoinHandle<()>>>,
}

impl SqliteStore {
    /// Opens or creates a store. After an unclean stop, the ledger first gets an entry about passes
    /// that may be missing.
    pub fn open(
        path: &Path,
        clock: Arc<dyn Clock>,
        options: SqliteOptions,
    ) -> Result<SqliteStore, OpenError> {
        let (mut conn, lock) = open::writer(path, &options)?;
        let recorded = gap::record_gap(&mut conn, &*clock)?;
        let (tree, newest, _) = ledger::load(&conn)?;
        let head = TreeHead { size: tree.size(), root: tree.root() };
        let ledger = (head, Revocations::read(&conn, head)?);
        let logins = people::logins(&conn, clock.now().at)?;
        ledger.1.keep_logins(&logins.iter().map(|row| row.record().key).collect());
        let (jobs, queue) = sync_channel(options.queue_limit);
        let readers = Readers::start(path, &options)?;
        let checkpointer = Checkpointer::start(path, &options)?;
        let unsynced_passes = UnsyncedPasses::starting_at(recorded);
        let shared = Arc::new(Shared::new(options, unsynced_passes, newest, ledger));
        let writer = Writer {
            conn,
            clock: Arc::clone(&clock),
            shared: Arc::clone(&shared),
            queue,
            tree,
            newest,
            recorded,
            reserved: recorded,
            pending_entries: PendingEntries::default(),
            checkpointer,
            truncate_log: None,
            lock,
        };
        let thread = std::thread::Builder::new().name("store-write".to_owned());
        let thread = thread.spawn(move || writer.run());
        let thread = thread.map_err(|e| OpenError::Failed(e.to_string()))?;
        let writer = Mutex::new(Some(thread));
        Ok(SqliteStore { shared, clock, jobs: Some(jobs), readers, writer })
    }

    /// The time of the newest entry, which the clock must not precede; `None` for an empty ledger.
    pub fn newest_time(&self) -> Option<Timestamp> {
        let newest = self.shared.newest.load(Ordering::Acquire);
        (newest != i64::MIN).then_some(Timestamp(newest))
    }

    /// The number of commits since the store was opened.
    pub fn commits(&self) -> u64 {
        self.shared.commits.load(Ordering::Relaxed)
    }

    /// The number of callers that wait for the end of a request.
    pub fn waiting(&self) -> usize {
        self.shared.waiters.count()
    }

    /// Runs work in the next commit and returns its result afterwards. The work may fail halfway,
    /// and is then rolled back to its savepoint.
    pub(super) async fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Batch<'_>) -> StoreResult<T> + Send + 'static,
    ) -> StoreResult<T> {
        self.enqueue(Atomicity::Savepoint, None, work).await
    }

    /// Like `write`, for work that checks everything before it changes a row.
    pub(super) async fn write_validated<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Batch<'_>) -> StoreResult<T> + Send + 'static,
    ) -> StoreResult<T> {
        self.enqueue(Atomicity::ValidatesFirst, None, work).await
    }

    /// Like `write_validated`, for work that may wait this long to share another commit.
    pub(super) async fn write_deferred<T: Send + 'static>(
        &self,
        max_delay: Duration,
        work: impl FnOnce(&mut Batch<'_>) -> StoreResult<T> + Send + 'static,
    ) -> StoreResult<T> {
        self.enqueue(Atomicity::ValidatesFirst, Some(max_delay), work).await
    }

    async fn enqueue<T: Send + 'static>(
        &self,
        atomicity: Atomicity,
        max_delay: Option<Duration>,
        work: impl FnOnce(&mut Batch<'_>) -> StoreResult<T> + Send + 'static,
    ) -> StoreResult<T> {
        self.check_open()?;
        let (sender, result) = oneshot::channel();
        let work: Work = Box::new(move |within| {
            let done = within.map(|(batch, clock)| batch.job(clock, atomicity, work));
            let reply: Reply = Box::new(move |failed| {
                let not_run = || {
                    let reason = "the transaction had failed before this write";
                    Err(StoreError::Unavailable(reason.to_owned()))
                };
                // The caller may have stopped waiting.
                let _ = sender.send(match failed {
                    Some(error) => Err(error),
                    None => done.unwrap_or_else(not_run),
                });
            });
            reply
        });
        match max_delay {
            None => self.send(Job::Work(work))?,
            Some(max_delay) => {
                self.shared.deferred.push(work, max_delay, self.shared.options.queue_limit)?;
                // If the queue is full, the writer is awake anyway.
                let _ = self.send(Job::Wake);
            }
        }
        result.await.unwrap_or_else(|_| Err(writer_stopped()))
    }

    fn send(&self, job: Job) -> StoreResult<()> {
        match self.jobs.as_ref().map(|jobs| jobs.try_send(job)) {
            Some(Ok(())) => Ok(()),
            Some(Err(TrySendError::Full(_))) => Err(StoreError::Overloaded),
            Some(Err(TrySendError::Disconnected(_))) | None => Err(StoreError::Closed),
        }
    }

    pub(super) async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> StoreResult<T> + Send + 'static,
    ) -> StoreResult<T> {
        self.check_open()?;
        self.readers.read(work).await
    }

    /// Like `read`, for work that compares rows with the ledger up to a head.
    pub(super) async fn read_recorded<T: Send + 'static>(
        &self,
        work: impl Fn(&Connection, TreeHead) -> StoreResult<T> + Clone + Send + 'static,
    ) -> StoreResult<T> {
        // The head is read before the snapshot, so that the snapshot contains its tree.
        let (head, first) = (self.shared.head(), work.clone());
        match self.read(move |conn| first(conn, head)).await {
            Err(StoreError::Unrecorded(_)) => {}
            other => return other,
        }
        // The approval may be in a commit that was not published yet. This write follows it.
        self.write_validated(|_| Ok(())).await?;
        let head = self.shared.head();
        self.read(move |conn| work(conn, head)).await
    }

    pub(super) fn check_open(&self) -> StoreResult<()> {
        if self.shared.closed.load(Ordering::Acquire) { Err(StoreError::Closed) } else { Ok(()) }
    }

    /// Records a pass: without waiting for its commit where that is allowed, otherwise with it.
    pub(super) async fn push_pass(&self, mut entry: Entry<'static>) -> StoreResult<()> {
        self.check_open()?;
        if self.may_defer_pass() {
            entry.at = self.clock.now().at.0;
            // Encoded before the reply, so that an entry that cannot be written does not pass.
            let text = entry.encode().map_err(|e| StoreError::Invalid(e.to_string()))?;
            if text.len() > MAX_ENTRY - ROOM_FOR_TIME {
                return Err(StoreError::Invalid("a ledger entry is too long".to_owned()));
            }
            match self.shared.unsynced_passes.try_push(UnsyncedPass { text, entry }) {
                Ok(unsynced) => {
                    if unsynced == 1 || unsynced == self.shared.options.pass_batch {
                        // If the queue is full, the writer is awake anyway.
                        let _ = self.send(Job::Wake);
                    }
                    return Ok(());
                }
                Err(pass) => entry = pass.entry,
            }
        }
        self.write_validated(move |batch| batch.append(entry)).await
    }

    /// Whether a pass may return before its commit.
    fn may_defer_pass(&self) -> bool {
        !self.shared.options.sync_passes && !self.shared.failing.load(Ordering::Acquire)
    }

    /// Whether the last commit succeeded; tries a new one if it failed.
    pub(super) async fn probe(&self) -> bool {
        if self.check_open().is_err() {
            return false;
        }
        if !self.shared.failing.load(Ordering::Acquire) {
            return true;
        }
        let probe = self.write(|batch| {
            // As much space as a large request needs; the pages are free for the next one then.
            batch.conn.execute("INSERT INTO probe VALUES (zeroblob(65536))", [])?;
            batch.conn.execute("DELETE FROM probe", [])?;
            Ok(())
        });
        probe.await.is_ok()
    }

    /// Stops the writer after a last commit.
    pub(super) async fn stop(&self) -> StoreResult<()> {
        if self.shared.closed.swap(true, Ordering::AcqRel) {
            return Err(StoreError::Closed);
        }
        let (sender, result) = oneshot::channel();
        self.shared.request_close(sender);
        // If the queue is full, the writer sees the request after its next commit.
        let _ = self.send(Job::Wake);
        let closed = result.await.unwrap_or_else(|_| Err(writer_stopped()));
        self.join();
        closed
    }

    fn join(&self) {
        let thread = self.writer.lock().unwrap_or_else(PoisonError::into_inner).take();
        // A panic of the writer was reported to its callers.
        let _ = thread.map(JoinHandle::join);
    }
}

fn writer_stopped() -> StoreError {
    StoreError::Unavailable("the writer thread stopped; restart the daemon".to_owned())
}

impl Drop for SqliteStore {
    fn drop(&mut self) {
        self.jobs = None;
        self.join();
    }
}

impl fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteStore").field("head", &self.shared.head()).finish_non_exhaustive()
    }
}
