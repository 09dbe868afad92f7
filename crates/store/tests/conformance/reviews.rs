//! Reviews of calls that ran before a person looked: each snapshot once, each end once.

use countersign_json::canonical::Digest;
use countersign_ledger::entry::EntryKind;
use countersign_store::{NewRequest, NewReview, Store, StoreError, StoredReview, SubmitResult};
use countersign_types::id::Id;
use countersign_types::tier::Tier;
use countersign_types::time::{Millis, Timestamp};
use countersign_workflow::request::{AutomaticDecision, Requester};
use countersign_workflow::review::{ReviewEvent, ReviewState};
use rusqlite::{Connection, params};

use crate::setup::*;

const WINDOW: u32 = 3_600;

fn review(byte: u8) -> NewReview {
    NewReview {
        snapshot: "3f9a01c2".to_owned(),
        folder: "/home/ana/.local/state/countersign-gateways/undo".to_owned(),
        before: Digest::from_bytes([byte; 32]),
        files: 2,
        bytes: 4_000,
        window: Millis::from_seconds(WINDOW),
    }
}

fn ran_first(byte: u8) -> NewRequest {
    let mut new = asked(1);
    new.request = new.request.decided_automatically(AutomaticDecision::Policy, Timestamp(START));
    NewRequest { review: Some(review(byte)), ..new }
}

fn keep() -> ReviewEvent {
    ReviewEvent::Keep { person: "ana".to_owned() }
}

fn reject() -> ReviewEvent {
    ReviewEvent::Reject { person: "ana".to_owned(), force: false }
}

async fn begun(store: &impl Store, byte: u8) -> Id {
    submit(store, ran_first(byte)).await.request.id
}

async fn open(store: &impl Store) -> Vec<StoredReview> {
    store.reviews(None).await.unwrap()
}

pub async fn a_review_is_stored_with_its_request<P: Fixture>() {
    let fixture = P::new();
    let store = fixture.open();
    let id = begun(&store, 1).await;
    assert_eq!(kinds(&store).await, [EntryKind::Pass, EntryKind::ReviewBegin]);
    let found = store.review(id).await.unwrap().unwrap();
    assert_eq!((found.agent.as_str(), found.tool.as_str()), ("coder", "send_message"));
    assert_eq!((found.state, found.until.0 - found.opened.0), (ReviewState::Open, 3_600_000));
    assert_eq!(open(&store).await, std::slice::from_ref(&found));
    // The same snapshot counts once, also with another request, and nothing of it is stored.
    let again = store.submit(ran_first(1)).await;
    assert_eq!(again.unwrap_err(), StoreError::Exists("snapshot"));
    assert_eq!(kinds(&store).await.len(), 2);
    store.close().await.unwrap();
    let store = fixture.open();
    assert_eq!(store.review(id).await.unwrap(), Some(found));
    assert_eq!(store.review(fresh_id()).await.unwrap(), None);
}

pub async fn only_low_calls_that_the_rules_approved_can_be_reviewed<P: Fixture>() {
    let fixture = P::new();
    let store = fixture.open();
    let with = |change: fn(&mut NewRequest)| {
        let mut new = ran_first(1);
        change(&mut new);
        new
    };
    for new in [
        NewRequest { review: Some(review(1)), ..asked(1) },
        with(|new| new.request.tier = Tier::High),
        with(|new| new.request.crisis = true),
        with(|new| new.request.requester = Requester::Person("ana".to_owned())),
    ] {
        let refused = store.submit(new).await;
        assert!(matches!(refused, Err(StoreError::Invalid(_))), "{refused:?}");
    }
    assert!(kinds(&store).await.is_empty());
}

pub async fn a_review_ends_once_and_every_step_is_recorded<P: Fixture>() {
    let fixture = P::new();
    let store = fixture.open();
    let id = begun(&store, 1).await;
    let result = ReviewEvent::Result { after: [9; 32], changed: true };
    let said = |event: ReviewEvent| store.apply_review(id, event, context());
    let after = said(result).await.unwrap();
    assert_eq!((after.state, after.after), (ReviewState::Open, Some(Digest::from_bytes([9; 32]))));
    // A second report does not replace the first one.
    let other = ReviewEvent::Result { after: [8; 32], changed: true };
    assert_eq!(said(other).await.unwrap().after, after.after);
    let rejected = said(reject()).await.unwrap();
    assert_eq!(
        (rejected.state, rejected.person.as_deref()),
        (ReviewState::RollingBack, Some("ana"))
    );
    assert!(said(keep()).await.is_err());
    let failed = ReviewEvent::RollBackFailed { why: "the disk is full".to_owned() };
    let failed = said(failed).await.unwrap();
    assert_eq!((failed.state, failed.note.as_str()), (ReviewState::Open, "the disk is full"));
    said(reject()).await.unwrap();
    let done = said(ReviewEvent::RolledBack { files: 2 }).await.unwrap();
    assert_eq!((done.state, done.ended.is_some()), (ReviewState::RolledBack, true));
    for event in [keep(), reject(), ReviewEvent::WindowEnded] {
        assert!(said(event).await.is_err());
    }
    assert!(open(&store).await.is_empty());
    assert_eq!(store.reviews(Some(Timestamp(START))).await.unwrap(), [done]);
    let expected = [
        EntryKind::Pass,
        EntryKind::ReviewBegin,
        EntryKind::ReviewResult,
        EntryKind::RollBack,
        EntryKind::RollBack,
        EntryKind::RollBack,
        EntryKind::ReviewEnd,
    ];
    assert_eq!(kinds(&store).await, expected);
}

pub async fn silence_is_never_recorded_as_a_persons_answer<P: Fixture>() {
    let fixture = P::new();
    let store = fixture.open();
    let id = begun(&store, 1).await;
    let early = store.apply_review(id, ReviewEvent::WindowEnded, context()).await;
    assert!(early.is_err(), "the time is not over");
    fixture.clock().forward(i64::from(WINDOW) * 1_000);
    let ended = store.apply_review(id, ReviewEvent::WindowEnded, context()).await.unwrap();
    assert_eq!((ended.state, ended.person), (ReviewState::NotReviewed, None));
    let last = verified(&store).await.pop().unwrap();
    assert_eq!((last.kind, last.person), (EntryKind::ReviewEnd, None));
    // A call that changed nothing needs no one.
    let id = begun(&store, 2).await;
    let result = ReviewEvent::Result { after: [2; 32], changed: false };
    let ended = store.apply_review(id, result, context()).await.unwrap();
    assert_eq!((ended.state, ended.person), (ReviewState::Unchanged, None));
}

/// A row that was pointed at another snapshot is not believed.
#[test]
fn an_edited_review_is_not_believed() {
    run(async {
        let fixture = SqliteFixture::new();
        let store = fixture.open();
        let id = begun(&store, 1).await;
        let other = match store.submit(ran_first(2)).await.unwrap() {
            SubmitResult::New(stored) | SubmitResult::Existing(stored) => stored.request.id,
        };
        let conn = Connection::open(fixture.file()).unwrap();
        let sql = "UPDATE review SET snapshot = 'ffffffff' WHERE request = ?1";
        assert!(conn.execute(sql, [id.as_bytes()]).is_err(), "the schema keeps it");
        conn.execute("DROP TRIGGER review_is_bound", []).unwrap();
        for sql in [
            "UPDATE review SET snapshot = 'ffffffff' WHERE request = ?1",
            "UPDATE review SET folder = '/tmp/forged' WHERE request = ?1",
        ] {
            conn.execute(sql, [id.as_bytes()]).unwrap();
            assert_eq!(store.review(id).await.unwrap_err(), StoreError::Unrecorded(id));
        }
        assert!(store.review(other).await.unwrap().is_some());
        let sql = "UPDATE review SET before = ?2 WHERE request = ?1";
        conn.execute(sql, params![other.as_bytes(), [7_u8; 32]]).unwrap();
        assert_eq!(store.review(other).await.unwrap_err(), StoreError::Unrecorded(other));
    });
}
