//! Fixtures: a folder with a store, a test clock, and requests.

use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};

use countersign_json::canonical::{CallDigest, Digest};
use countersign_ledger::entry::{Entry, EntryKind};
use countersign_ledger::verify::Verifier;
use countersign_risk::session_answer::SessionQuestion;
use countersign_risk::word_pair::word_pair;
use countersign_store::{
    NewRequest, SqliteOptions, SqliteStore, Store, StoredRequest, SubmitResult, WriteContext,
};
use countersign_types::id::Id;
use countersign_types::tier::Tier;
use countersign_types::time::{Clock, Millis, Moment, Timestamp};
use countersign_workflow::assurance::{Authority, RequiredAssurance, Tenure};
use countersign_workflow::request::{
    ApprovalScope, AutomaticDecision, Choice, EscalationTimes, Event, Quorum, Request, Requester,
    State, Terms,
};

pub const START: i64 = 1_800_000_000_000;

pub struct TestClock {
    now: AtomicI64,
    settled: AtomicBool,
    pub breaks: AtomicBool,
}

impl TestClock {
    pub fn forward(&self, millis: i64) {
        self.now.fetch_add(millis, Ordering::SeqCst);
    }

    pub fn settle(&self, settled: bool) {
        self.settled.store(settled, Ordering::SeqCst);
    }

    pub fn at(&self) -> Timestamp {
        Timestamp(self.now.load(Ordering::SeqCst))
    }
}

impl Clock for TestClock {
    fn now(&self) -> Moment {
        assert!(!self.breaks.swap(false, Ordering::SeqCst), "the test clock panics once");
        Moment { at: self.at(), reliable: self.settled.load(Ordering::SeqCst) }
    }
}

/// A fixture for stores of one backend.
pub trait Fixture: Send + Sync + 'static {
    type Backend: Store;

    fn new() -> Self;
    fn open(&self) -> Self::Backend;
    fn clock(&self) -> &TestClock;
}

pub struct SqliteFixture {
    pub folder: tempfile::TempDir,
    pub clock: Arc<TestClock>,
    pub options: SqliteOptions,
}

impl SqliteFixture {
    pub fn file(&self) -> PathBuf {
        self.folder.path().join("store/countersign.db")
    }
}

impl Fixture for SqliteFixture {
    type Backend = SqliteStore;

    fn new() -> Self {
        let clock = TestClock {
            now: AtomicI64::new(START),
            settled: AtomicBool::new(true),
            breaks: AtomicBool::new(false),
        };
        let folder = tempfile::tempdir().unwrap();
        SqliteFixture { folder, clock: Arc::new(clock), options: SqliteOptions::default() }
    }

    fn open(&self) -> SqliteStore {
        let clock: Arc<dyn Clock> = self.clock.clone();
        SqliteStore::open(&self.file(), clock, self.options.clone()).unwrap()
    }

    fn clock(&self) -> &TestClock {
        &self.clock
    }
}

pub fn run(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = { runtime }.worker_threads(4).enable_time().build().unwrap();
    let limit = std::time::Duration::from_mins(2);
    runtime
        .block_on(async { tokio::time::timeout(limit, test).await })
        .expect("the test timed out");
}

pub fn call(byte: u8) -> CallDigest {
    let digest = Digest::from_bytes([byte; 32]);
    CallDigest { canonical: digest, raw: digest, both_bind: false }
}

pub fn context() -> WriteContext {
    let facts = Some(r#"{"points":210,"why":["écrit"]}"#.to_owned());
    WriteContext { policy: Digest::of(b"policy"), facts, edited: None }
}

static IDS: AtomicU64 = AtomicU64::new(1);

pub fn fresh_id() -> Id {
    let number = IDS.fetch_add(1, Ordering::SeqCst).to_be_bytes();
    let mut random = [0; 10];
    random[2..].copy_from_slice(&number);
    Id::new(Timestamp(START), random)
}

pub fn terms(tier: Tier, approve: u8) -> Terms {
    Terms { tier, crisis: false, quorum: Quorum { approve, deny: 1 }, own_approval: false }
}

pub fn asked(approve: u8) -> NewRequest {
    let schedule = EscalationTimes::default().schedule(Timestamp(START), Tier::Medium, false, None);
    let requester = Requester::Agent("coder".to_owned());
    let request =
        Request::new(fresh_id(), requester, call(1), terms(Tier::Medium, approve), schedule);
    NewRequest {
        request,
        tool: "send_message".to_owned(),
        session: "s-1".to_owned(),
        brief: "Sends a message to Bo.".to_owned(),
        card: r#"{"title":"Sends a message"}"#.to_owned(),
        card_after: None,
        detail: "{}".to_owned(),
        idempotency: None,
        group: None,
        session_question: SessionQuestion::default(),
        further_grants: Vec::new(),
        grant_cost: countersign_workflow::grant::GrantCost::default(),
        permit_for: Millis::from_seconds(60),
        review: None,
        context: context(),
    }
}

pub fn granted(grant: Id) -> NewRequest {
    let mut new = asked(1);
    new.request =
        new.request.decided_automatically(AutomaticDecision::Grant(grant), Timestamp(START));
    new
}

pub async fn submit(store: &impl Store, new: NewRequest) -> StoredRequest {
    match store.submit(new).await.unwrap() {
        SubmitResult::New(stored) => stored,
        SubmitResult::Existing(stored) => panic!("already exists: {stored:?}"),
    }
}

pub fn says(person: &str, choice: Choice) -> Event {
    Event::Answer {
        person: person.to_owned(),
        choice,
        scope: ApprovalScope::Once,
        seen: call(1),
        edited: None,
        channel: "web".to_owned(),
        reason: "looked at it".to_owned(),
        word: word_pair(&call(1).canonical).to_string(),
        standing: (
            Authority::login(false, Tenure::from(Timestamp(START))),
            RequiredAssurance::default(),
        ),
    }
}

pub fn pass_entry() -> Entry<'static> {
    let mut entry = Entry::new(0, EntryKind::Pass, Digest::of(b"policy"));
    entry.agent = Some("coder".into());
    entry.digest = Some(Digest::of(b"call"));
    entry
}

/// All entries, verified with the ledger crate.
pub async fn verified(store: &impl Store) -> Vec<Entry<'static>> {
    let head = store.tree_head().await.unwrap();
    let mut verifier = Verifier::new();
    let mut entries = Vec::new();
    while verifier.size() < head.size {
        let slice = store.entries(verifier.size(), 100).await.unwrap();
        assert!(!slice.entries.is_empty());
        for bytes in slice.entries {
            verifier.feed(&bytes).unwrap();
            let bytes: &'static [u8] = Box::leak(bytes.into_boxed_slice());
            entries.push(Entry::decode(bytes).unwrap());
        }
    }
    assert_eq!((verifier.size(), verifier.root()), (head.size, head.root));
    entries
}

pub async fn kinds(store: &impl Store) -> Vec<EntryKind> {
    verified(store).await.iter().map(|entry| entry.kind).collect()
}

pub async fn approved(store: &impl Store, new: NewRequest) -> StoredRequest {
    let id = submit(store, new).await.request.id;
    let applied = store.apply(id, says("ana", Choice::Approve), context()).await.unwrap();
    assert_eq!(applied.stored.request.state, State::Approved);
    applied.stored
}
