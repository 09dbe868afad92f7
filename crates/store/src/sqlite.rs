//! The store on SQLite: one thread writes with group commit, a few read.

mod apply;
mod batch;
mod draft;
mod fault;
mod find;
mod fold;
mod grants;
mod later;
mod ledger;
mod offline;
mod open;
mod options;
mod outbox;
mod passes;
mod people;
mod read;
mod requests;
mod row;
mod schema;
mod search;
mod shared;
mod ways;
mod writer;

use std::fmt;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use countersign_json::canonical::{CallDigest, Digest};
use countersign_ledger::entry::{Entry, Kind, MAX_ENTRY};
use countersign_types::id::Id;
use countersign_types::tier::Tier;
use countersign_types::time::{Clock, Timestamp};
use countersign_workflow::grant::Grant;
use countersign_workflow::request::{Event, Requester};
use rusqlite::Connection;
use tokio::sync::{broadcast, oneshot};

use crate::{
    Applied, CrisisSession, DeliveryAttempt, DeliveryStatus, IndexedEntry, LedgerSlice,
    LinkedAccount, MerkleProof, NewRequest, OpenError, OutboxEntry, Passkey, PushSubscription,
    Redemption, RequestPage, RequestQuery, SimilarCalls, Store, StoreError, StoreEvent,
    StoreResult, StoredAgent, StoredLogin, StoredPerson, StoredRequest, Submission, TreeHead,
    WriteContext,
};
use batch::{Batch, Care, number};
use draft::Draft;
use fold::Fold;
use passes::{Passes, Ride};
use read::Readers;
use shared::Shared;
use writer::{Answer, Job, Work, Writer};

pub use offline::OfflineLedger;
pub use options::SqliteOptions;

/// Room that an entry leaves for a later time than its own.
const ROOM_FOR_TIME: usize = 32;

/// A store in a file of this machine. Only `close` is a clean end: dropping it leaves what a crash
/// leaves.
pub struct SqliteStore {
    shared: Arc<Shared>,
    clock: Arc<dyn Clock>,
    jobs: Option<SyncSender<Job>>,
    readers: Readers,
    writer: Mutex<Option<JoinHandle<()>>>,
}

impl SqliteStore {
    /// Opens or makes a store. After a stop that was not clean, the ledger is told so first.
    pub fn open(
        path: &Path,
        clock: Arc<dyn Clock>,
        options: SqliteOptions,
    ) -> Result<SqliteStore, OpenError> {
        let (mut conn, lock) = open::writer(path, &options)?;
        let recorded = tell_gap(&mut conn, &*clock)?;
        let (tree, newest, _) = ledger::load(&conn)?;
        let head = TreeHead { size: tree.size(), root: tree.root() };
        let (jobs, queue) = sync_channel(options.queue);
        let readers = Readers::start(path, &options)?;
        let fold = Fold::start(path, &options)?;
        let passes = Passes::starting_at(recorded);
        let shared = Arc::new(Shared::new(options, passes, newest, head));
        let writer = Writer {
            conn,
            clock: Arc::clone(&clock),
            shared: Arc::clone(&shared),
            queue,
            tree,
            newest,
            recorded,
            reserved: recorded,
            draft: Draft::default(),
            fold,
            forget: None,
            lock,
        };
        let thread = std::thread::Builder::new().name("store-write".to_owned());
        let thread = thread.spawn(move || writer.run());
        let thread = thread.map_err(|e| OpenError::Failed(e.to_string()))?;
        let writer = Mutex::new(Some(thread));
        Ok(SqliteStore { shared, clock, jobs: Some(jobs), readers, writer })
    }

    /// The time of the newest entry, from which a clock must go on; none in an empty ledger.
    pub fn newest_time(&self) -> Option<Timestamp> {
        let newest = self.shared.newest.load(Ordering::Acquire);
        (newest != i64::MIN).then_some(Timestamp(newest))
    }

    /// How many commits there were since it was opened.
    pub fn commits(&self) -> u64 {
        self.shared.commits.load(Ordering::Relaxed)
    }

    /// How many callers wait for the end of a request.
    pub fn waiting(&self) -> usize {
        self.shared.waiting.count()
    }

    /// Has work done in the next commit and tells its answer after it. It may be refused halfway.
    async fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Batch<'_>) -> StoreResult<T> + Send + 'static,
    ) -> StoreResult<T> {
        self.asked(Care::Savepoint, None, work).await
    }

    /// The same for work that changes nothing before all that can be refused was refused.
    async fn write_light<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Batch<'_>) -> StoreResult<T> + Send + 'static,
    ) -> StoreResult<T> {
        self.asked(Care::RefusesFirst, None, work).await
    }

    /// The same for work that nobody waits for as long as this: it lets others go first.
    async fn write_later<T: Send + 'static>(
        &self,
        patience: Duration,
        work: impl FnOnce(&mut Batch<'_>) -> StoreResult<T> + Send + 'static,
    ) -> StoreResult<T> {
        self.asked(Care::RefusesFirst, Some(patience), work).await
    }

    async fn asked<T: Send + 'static>(
        &self,
        care: Care,
        patience: Option<Duration>,
        work: impl FnOnce(&mut Batch<'_>) -> StoreResult<T> + Send + 'static,
    ) -> StoreResult<T> {
        self.open_still()?;
        let (answer, answered) = oneshot::channel();
        let work: Work = Box::new(move |within| {
            let done = within.map(|(batch, clock)| batch.job(clock, care, work));
            let tell: Answer = Box::new(move |failed| {
                let lost = || Err(StoreError::Unavailable("it was not tried".to_owned()));
                // Who went away needs no answer.
                let _ = answer.send(match failed {
                    Some(error) => Err(error),
                    None => done.unwrap_or_else(lost),
                });
            });
            tell
        });
        match patience {
            None => self.send(Job::Work(work))?,
            Some(patience) => {
                self.shared.later.push(work, patience, self.shared.options.queue)?;
                // If the queue is full, the writer comes by anyway.
                let _ = self.send(Job::Nudge);
            }
        }
        let broken = |_| Err(StoreError::Unavailable("the writer broke off".to_owned()));
        answered.await.unwrap_or_else(broken)
    }

    fn send(&self, job: Job) -> StoreResult<()> {
        match self.jobs.as_ref().map(|jobs| jobs.try_send(job)) {
            Some(Ok(())) => Ok(()),
            Some(Err(TrySendError::Full(_))) => Err(StoreError::Overloaded),
            Some(Err(TrySendError::Disconnected(_))) | None => Err(StoreError::Closed),
        }
    }

    async fn look<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> StoreResult<T> + Send + 'static,
    ) -> StoreResult<T> {
        self.open_still()?;
        self.readers.look(work).await
    }

    fn open_still(&self) -> StoreResult<()> {
        if self.shared.closed.load(Ordering::Acquire) { Err(StoreError::Closed) } else { Ok(()) }
    }

    /// Whether a pass may be answered before its commit.
    fn may_ride(&self) -> bool {
        !self.shared.options.strict && !self.shared.failing.load(Ordering::Acquire)
    }
}

/// If passes may have been answered and not written, says how many at most, and after which entry.
fn tell_gap(conn: &mut Connection, clock: &dyn Clock) -> Result<u64, OpenError> {
    let marks = conn.query_row("SELECT recorded, reserved FROM mark", [], |row| {
        Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?))
    })?;
    let (recorded, reserved) = (fault::unsigned(marks.0)?, fault::unsigned(marks.1)?);
    if reserved <= recorded {
        return Ok(recorded);
    }
    let (mut tree, newest, last) = ledger::load(conn)?;
    let policy = match &last {
        Some(last) => Entry::decode(last).map_err(|e| fault::corrupt(e.to_string()))?.policy,
        None => Digest::from_bytes([0; 32]),
    };
    let mut draft = Draft::default();
    draft.restart(newest);
    let mut entry = Entry::new(clock.now().at.0, Kind::Gap, policy);
    entry.facts =
        vec![number("after_entries", tree.size()), number("passes_at_most", reserved - recorded)];
    draft.push(&mut entry)?;
    let step = conn.transaction()?;
    ledger::write(&step, &draft, &mut tree)?;
    step.execute("UPDATE mark SET recorded = reserved", [])?;
    step.commit()?;
    Ok(reserved)
}

impl Store for SqliteStore {
    async fn submit(&self, new: NewRequest) -> StoreResult<Submission> {
        // Whether a grant still covers it is seen only when it is used.
        if new.request.decision.is_some() {
            return self.write(move |batch| requests::submit(batch, new)).await;
        }
        self.write_light(move |batch| requests::submit(batch, new)).await
    }

    async fn apply(&self, id: Id, event: Event, note: WriteContext) -> StoreResult<Applied> {
        let time = matches!(event, Event::Time);
        let work = move |batch: &mut Batch<'_>| apply::apply(batch, id, event, &note);
        // When time passes for many at once, nobody who asks or answers stands behind them.
        if time {
            return self.write_later(Duration::ZERO, work).await;
        }
        self.write_light(work).await
    }

    async fn wait_for_end(&self, id: Id) -> StoreResult<StoredRequest> {
        let waiter = self.shared.waiting.join(id);
        let stored = self.request(id).await?.ok_or(StoreError::NotFound("request"))?;
        if stored.request.state.has_ended() {
            return Ok(stored);
        }
        waiter.woken().await.ok_or(StoreError::Closed)
    }

    async fn request(&self, id: Id) -> StoreResult<Option<StoredRequest>> {
        self.look(move |conn| Ok(row::load(conn, id)?.map(|found| found.stored))).await
    }

    async fn request_by_key(
        &self,
        requester: Requester,
        key: String,
    ) -> StoreResult<Option<StoredRequest>> {
        self.look(move |conn| requests::by_key(conn, &requester, &key)).await
    }

    async fn pending(&self) -> StoreResult<Vec<StoredRequest>> {
        self.look(row::pending).await
    }

    async fn deadlines(&self) -> StoreResult<Vec<(Id, Timestamp)>> {
        self.look(row::due).await
    }

    async fn find(&self, query: RequestQuery) -> StoreResult<RequestPage> {
        self.look(move |conn| find::find(conn, &query)).await
    }

    async fn similar_calls(
        &self,
        agent: String,
        tool: (String, Tier),
        before: Id,
        since: Timestamp,
    ) -> StoreResult<SimilarCalls> {
        self.look(move |conn| find::similar(conn, &agent, &tool, before, since)).await
    }

    async fn redeem(
        &self,
        id: Id,
        agent: String,
        digest: CallDigest,
        note: WriteContext,
    ) -> StoreResult<Redemption> {
        self.write_light(move |batch| apply::redeem(batch, id, &agent, &digest, &note)).await
    }

    async fn record_outcome(
        &self,
        id: Id,
        agent: String,
        outcome: String,
        note: WriteContext,
    ) -> StoreResult<StoredRequest> {
        self.write_light(move |batch| apply::outcome(batch, id, &agent, outcome, &note)).await
    }

    async fn record_pass(&self, mut entry: Entry<'static>) -> StoreResult<()> {
        self.open_still()?;
        if self.may_ride() {
            entry.at = self.clock.now().at.0;
            // Before it is answered, so that what cannot be written does not pass.
            let text = entry.encode().map_err(|e| StoreError::Unfit(e.to_string()))?;
            if text.len() > MAX_ENTRY - ROOM_FOR_TIME {
                return Err(StoreError::Unfit("an entry is too long".to_owned()));
            }
            match self.shared.passes.board(Ride { text, entry }) {
                Ok(riding) => {
                    if riding == 1 || riding == self.shared.options.riders {
                        // If the queue is full, the writer comes by anyway.
                        let _ = self.send(Job::Nudge);
                    }
                    return Ok(());
                }
                Err(ride) => entry = ride.entry,
            }
        }
        self.write_light(move |batch| batch.write(entry)).await
    }

    async fn append(&self, entries: Vec<Entry<'static>>) -> StoreResult<()> {
        let work = move |batch: &mut Batch<'_>| {
            entries.into_iter().try_for_each(|entry| batch.write(entry))
        };
        self.write_light(work).await
    }

    async fn create_grant(&self, grant: Grant, note: WriteContext) -> StoreResult<()> {
        self.write(move |batch| grants::give(batch, &grant, &note)).await
    }

    async fn revoke_grant(&self, id: Id, person: String, note: WriteContext) -> StoreResult<bool> {
        self.write(move |batch| grants::revoke(batch, id, &person, &note)).await
    }

    async fn grants(&self, all: bool) -> StoreResult<Vec<Grant>> {
        let now = self.clock.now().at;
        self.look(move |conn| grants::grants(conn, now, all)).await
    }

    async fn begin_crisis(&self, crisis: CrisisSession, note: WriteContext) -> StoreResult<()> {
        self.write(move |batch| grants::begin_crisis(batch, &crisis, &note)).await
    }

    async fn lift_crisis(
        &self,
        agent: String,
        session: String,
        person: String,
        note: WriteContext,
    ) -> StoreResult<bool> {
        self.write(move |batch| grants::lift_crisis(batch, &agent, &session, &person, &note)).await
    }

    async fn crises(&self) -> StoreResult<Vec<CrisisSession>> {
        self.look(grants::crises).await
    }

    async fn save_person(&self, person: StoredPerson, note: WriteContext) -> StoreResult<()> {
        self.write(move |batch| people::keep_person(batch, &person, &note)).await
    }

    async fn people(&self) -> StoreResult<Vec<StoredPerson>> {
        self.look(people::people).await
    }

    async fn save_agent(&self, agent: StoredAgent, note: WriteContext) -> StoreResult<()> {
        self.write(move |batch| people::keep_agent(batch, &agent, &note)).await
    }

    async fn agents(&self) -> StoreResult<Vec<StoredAgent>> {
        self.look(people::agents).await
    }

    async fn save_login(&self, login: StoredLogin, note: WriteContext) -> StoreResult<()> {
        self.write(move |batch| people::keep_login(batch, &login, &note)).await
    }

    async fn logins(&self) -> StoreResult<Vec<StoredLogin>> {
        let now = self.clock.now().at;
        self.look(move |conn| people::logins(conn, now)).await
    }

    async fn save_account(&self, account: LinkedAccount, note: WriteContext) -> StoreResult<()> {
        self.write(move |batch| ways::keep_account(batch, &account, &note)).await
    }

    async fn accounts(&self) -> StoreResult<Vec<LinkedAccount>> {
        self.look(ways::accounts).await
    }

    async fn save_passkey(&self, passkey: Passkey, note: WriteContext) -> StoreResult<()> {
        self.write(move |batch| ways::keep_passkey(batch, &passkey, &note)).await
    }

    async fn passkeys(&self) -> StoreResult<Vec<Passkey>> {
        self.look(ways::passkeys).await
    }

    async fn save_subscription(
        &self,
        subscription: PushSubscription,
        note: WriteContext,
    ) -> StoreResult<()> {
        self.write(move |batch| ways::keep_subscription(batch, &subscription, &note)).await
    }

    async fn subscriptions(&self) -> StoreResult<Vec<PushSubscription>> {
        self.look(ways::subscriptions).await
    }

    async fn outbox(&self, after: u64, limit: u32) -> StoreResult<Vec<OutboxEntry>> {
        self.look(move |conn| outbox::outbox(conn, after, limit)).await
    }

    async fn record_attempt(
        &self,
        attempt: DeliveryAttempt,
        note: WriteContext,
    ) -> StoreResult<()> {
        let work = move |batch: &mut Batch<'_>| outbox::attempted(batch, &attempt, &note);
        self.write_later(self.shared.options.ride, work).await
    }

    async fn mark_undelivered(
        &self,
        channel: String,
        message: String,
        why: String,
        note: WriteContext,
    ) -> StoreResult<Option<Id>> {
        self.write(move |batch| outbox::undelivered(batch, (&channel, &message), &why, &note)).await
    }

    async fn deliveries(&self, request: Id) -> StoreResult<Vec<DeliveryStatus>> {
        self.look(move |conn| outbox::deliveries(conn, request)).await
    }

    async fn entries(&self, from: u64, limit: u32) -> StoreResult<LedgerSlice> {
        self.look(move |conn| ledger::entries(conn, from, limit)).await
    }

    async fn request_history(&self, request: Id) -> StoreResult<Vec<IndexedEntry>> {
        self.look(move |conn| ledger::story(conn, request)).await
    }

    async fn tree_head(&self) -> StoreResult<TreeHead> {
        self.open_still()?;
        Ok(self.shared.head())
    }

    async fn inclusion_proof(&self, index: u64, size: u64) -> StoreResult<MerkleProof> {
        let committed = self.shared.head().size;
        self.look(move |conn| ledger::inclusion(conn, committed, index, size)).await
    }

    async fn consistency_proof(&self, old: u64, new: u64) -> StoreResult<MerkleProof> {
        let committed = self.shared.head().size;
        self.look(move |conn| ledger::consistency(conn, committed, old, new)).await
    }

    async fn save_checkpoint(&self, size: u64, note: String) -> StoreResult<()> {
        if size > self.shared.head().size {
            return Err(StoreError::Unfit(format!("there are no {size} entries")));
        }
        self.write(move |batch| ledger::keep_checkpoint(batch.conn, size, &note)).await
    }

    async fn checkpoint(&self) -> StoreResult<Option<String>> {
        self.look(ledger::checkpoint).await
    }

    fn subscribe(&self) -> broadcast::Receiver<StoreEvent> {
        self.shared.news.subscribe()
    }

    async fn is_healthy(&self) -> bool {
        if self.open_still().is_err() {
            return false;
        }
        if !self.shared.failing.load(Ordering::Acquire) {
            return true;
        }
        let probe = self.write(|batch| {
            // As much as a large request needs; the pages are free for the next one then.
            batch.conn.execute("INSERT INTO probe VALUES (zeroblob(65536))", [])?;
            batch.conn.execute("DELETE FROM probe", [])?;
            Ok(())
        });
        probe.await.is_ok()
    }

    async fn close(&self) -> StoreResult<()> {
        if self.shared.closed.swap(true, Ordering::AcqRel) {
            return Err(StoreError::Closed);
        }
        let (answer, answered) = oneshot::channel();
        self.shared.close(answer);
        // If the queue is full, the writer looks after its next commit anyway.
        let _ = self.send(Job::Nudge);
        let broken = |_| Err(StoreError::Unavailable("the writer broke off".to_owned()));
        let closed = answered.await.unwrap_or_else(broken);
        self.join();
        closed
    }
}

impl SqliteStore {
    fn join(&self) {
        let thread = self.writer.lock().unwrap_or_else(PoisonError::into_inner).take();
        // A panic in there was told to its callers.
        let _ = thread.map(JoinHandle::join);
    }
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
