//! Edited calls that several people must approve.

use countersign_ledger::entry::EntryKind;
use countersign_risk::word_pair::word_pair;
use countersign_store::{EditRecord, Redemption, Store, StoreError, WriteContext};
use countersign_types::id::Id;
use countersign_types::tier::Tier;
use countersign_workflow::request::{
    Choice, EditedCall, Event, Quorum, State, Transition, TransitionError,
};
use rusqlite::{Connection, params};

use crate::setup::*;

const AGENT: &str = "coder";
const ARGUMENTS: &str = r#"{"to":"everybody"}"#;
const CARD: &str = r#"{"tier":"CRITICAL"}"#;

/// The edited call, with its text.
fn edited() -> WriteContext {
    let (arguments, card) = (ARGUMENTS.to_owned(), CARD.to_owned());
    WriteContext { edited: Some(EditRecord { arguments, card }), ..context() }
}

/// A person edits the call with this digest into another one.
fn edits(person: &str, (from, to): (u8, u8), tier: Tier, approve: u8) -> Event {
    let mut event = approves(person, from);
    if let Event::Answer { edited, word, .. } = &mut event {
        let quorum = Quorum { approve, deny: 1 };
        let digest = call(to);
        *edited = Some(EditedCall { digest, tier, crisis: false, quorum, assurance: None });
        *word = word_pair(&digest.canonical).to_string();
    }
    event
}

/// A person approves the call with this digest.
fn approves(person: &str, byte: u8) -> Event {
    let mut event = says(person, Choice::Approve);
    if let Event::Answer { seen, word, .. } = &mut event {
        *seen = call(byte);
        *word = word_pair(&call(byte).canonical).to_string();
    }
    event
}

/// A request for one person that ana edited into a CRITICAL call for two.
async fn proposed(store: &impl Store) -> Id {
    let id = submit(store, asked(1)).await.request.id;
    let event = edits("ana", (1, 9), Tier::Critical, 2);
    let applied = store.apply(id, event, edited()).await.unwrap();
    assert_eq!(applied.change, Transition::ApprovalCounted { approvals: 1, needed: 2 });
    assert_eq!(store.request(id).await.unwrap(), Some(applied.stored));
    id
}

fn refused(error: TransitionError) -> StoreError {
    StoreError::Refused(error)
}

pub async fn a_proposed_edit_is_approved_by_two_people_across_a_restart<P: Fixture>() {
    let fixture = P::new();
    let store = fixture.open();
    let id = proposed(&store).await;
    let before = store.request(id).await.unwrap().unwrap();
    assert_eq!((before.edited.as_ref(), before.permit_until), (None, None));
    assert_eq!(before.proposed.as_ref().unwrap().arguments, ARGUMENTS);
    // It is announced again, as the edited call.
    assert_eq!(store.outbox(0, 10).await.unwrap().len(), 2);
    drop(store);
    let store = fixture.open();
    assert_eq!(store.request(id).await.unwrap(), Some(before));
    let again = store.apply(id, approves("ana", 9), context()).await;
    assert_eq!(again.unwrap_err(), refused(TransitionError::AlreadyAnswered));
    let original = store.apply(id, approves("bo", 1), context()).await;
    assert_eq!(original.unwrap_err(), refused(TransitionError::DigestMismatch));
    let stored = store.apply(id, approves("bo", 9), context()).await.unwrap().stored;
    assert_eq!(stored.request.state, State::Approved);
    assert_eq!(stored.edited.as_deref(), Some(ARGUMENTS));
    assert_eq!(stored.edited_card.as_deref(), Some(CARD));
    assert_eq!(store.request(id).await.unwrap(), Some(stored));
    assert_eq!(
        kinds(&store).await,
        [EntryKind::Ask, EntryKind::Edit, EntryKind::Vote, EntryKind::Approve]
    );
    let entries = verified(&store).await;
    let calls: Vec<_> = entries.iter().map(|entry| entry.digest).collect();
    let (first, new) = (Some(call(1).canonical), Some(call(9).canonical));
    assert_eq!(calls, [first, new, new, new]);
    let people: Vec<_> = entries.iter().map(|entry| entry.person.as_deref()).collect();
    assert_eq!(people, [None, Some("ana"), Some("ana"), Some("bo")]);
    assert_eq!(store.compare_rows().await.unwrap().differences, 0);
    let old = store.redeem(id, AGENT.to_owned(), call(1), context()).await.unwrap();
    assert_eq!(old, Redemption::AnotherCall);
    let new = store.redeem(id, AGENT.to_owned(), call(9), context()).await.unwrap();
    assert_eq!(new, Redemption::Accepted);
}

pub async fn another_edit_replaces_a_proposed_one_and_its_votes<P: Fixture>() {
    let fixture = P::new();
    let store = fixture.open();
    let id = proposed(&store).await;
    store.apply(id, edits("bo", (9, 8), Tier::High, 2), edited()).await.unwrap();
    drop(store);
    let store = fixture.open();
    let stored = store.request(id).await.unwrap().unwrap();
    let people: Vec<_> = stored.request.votes.iter().map(|vote| vote.person.as_str()).collect();
    assert_eq!(people, ["bo"]);
    assert_eq!(store.compare_rows().await.unwrap().differences, 0);
    let old = store.apply(id, approves("cy", 9), context()).await;
    assert_eq!(old.unwrap_err(), refused(TransitionError::DigestMismatch));
    store.apply(id, approves("ana", 8), context()).await.unwrap();
    let used = store.redeem(id, AGENT.to_owned(), call(9), context()).await.unwrap();
    assert_eq!(used, Redemption::AnotherCall);
    // A milder edit that one person may approve ends the request with that person alone.
    let id = proposed(&store).await;
    let mild = edits("bo", (9, 7), Tier::Low, 1);
    let stored = store.apply(id, mild, edited()).await.unwrap().stored;
    assert_eq!((stored.request.state, &stored.proposed), (State::Approved, &None));
    assert_eq!(stored.request.votes.len(), 1);
    assert_eq!(store.request(id).await.unwrap(), Some(stored));
    assert_eq!(store.compare_rows().await.unwrap().differences, 0);
}

pub async fn a_denial_ends_a_proposed_edit_and_keeps_it<P: Fixture>() {
    let fixture = P::new();
    let store = fixture.open();
    for person in ["ana", "bo"] {
        let id = proposed(&store).await;
        let stored = store.apply(id, says(person, Choice::Deny), context()).await.unwrap().stored;
        assert_eq!((stored.request.state, &stored.edited), (State::Denied, &None), "{person}");
        assert_eq!(stored.proposed.as_ref().unwrap().card, CARD, "{person}");
        assert_eq!(store.request(id).await.unwrap(), Some(stored), "{person}");
    }
    assert_eq!(store.compare_rows().await.unwrap().differences, 0);
}

/// Two votes in one commit, as a group commit has them: the second is not refused because the first
/// is not in the tree yet.
pub async fn concurrent_votes_are_all_counted<P: Fixture>() {
    let fixture = P::new();
    let store = std::sync::Arc::new(fixture.open());
    for _ in 0..50 {
        let id = submit(&*store, asked(3)).await.request.id;
        let votes = ["ana", "bo", "cy"].map(|person| {
            let store = std::sync::Arc::clone(&store);
            tokio::spawn(async move { store.apply(id, approves(person, 1), context()).await })
        });
        for vote in votes {
            vote.await.unwrap().unwrap();
        }
        let stored = store.request(id).await.unwrap().unwrap();
        assert_eq!(stored.request.state, State::Approved);
    }
}

/// Rows that are changed in the file between the two votes.
const EDITS: [(&str, &str); 11] = [
    (
        "digest",
        "UPDATE proposed_edit SET digest = unhex(replace(hex(zeroblob(32)), '0', '7')) \
         WHERE request = ?1",
    ),
    ("person", "UPDATE proposed_edit SET person = 'eve' WHERE request = ?1"),
    ("tier", "UPDATE proposed_edit SET tier = 'LOW' WHERE request = ?1"),
    ("quorum", "UPDATE proposed_edit SET quorum_approve = 1 WHERE request = ?1"),
    ("more people", "UPDATE proposed_edit SET quorum_approve = 9 WHERE request = ?1"),
    ("assurance", "UPDATE proposed_edit SET assurance = 'reached' WHERE request = ?1"),
    ("arguments", "UPDATE proposed_edit SET arguments = '{}' WHERE request = ?1"),
    ("card", "UPDATE proposed_edit SET card = '{}' WHERE request = ?1"),
    ("removed", "DELETE FROM proposed_edit WHERE request = ?1"),
    ("voter", "UPDATE vote SET person = 'eve' WHERE request = ?1"),
    (
        "vote",
        "INSERT INTO vote SELECT request, 'eve', 1, choice, channel, reason, at, scope \
         FROM vote WHERE request = ?1",
    ),
];

#[test]
fn an_edited_row_of_a_proposed_edit_yields_no_permit() {
    run(async {
        for (name, sql) in EDITS {
            let fixture = SqliteFixture::new();
            let store = fixture.open();
            let id = submit(&store, asked(1)).await.request.id;
            let event = edits("ana", (1, 9), Tier::Critical, 3);
            store.apply(id, event, edited()).await.unwrap();
            let conn = Connection::open(fixture.file()).unwrap();
            conn.execute_batch(
                "PRAGMA ignore_check_constraints = ON; DROP TRIGGER proposed_edit_stays",
            )
            .unwrap();
            assert_eq!(conn.execute(sql, [id.as_bytes()]).unwrap(), 1, "{name}");
            if name == "vote" {
                let counted = "UPDATE request SET votes = 2 WHERE id = ?1";
                conn.execute(counted, [id.as_bytes()]).unwrap();
            }
            // Whatever is shown is what a person approves.
            let shown = store.request(id).await.unwrap().unwrap().request.current_digest();
            let byte = shown.canonical.as_bytes()[0];
            let unrecorded = StoreError::Unrecorded(id);
            for person in ["bo", "cy"] {
                let vote = store.apply(id, approves(person, byte), context()).await;
                assert_eq!(vote.unwrap_err(), unrecorded, "{name}");
            }
            let stored = store.request(id).await.unwrap().unwrap();
            assert_eq!(stored.request.state, State::Pending, "{name}");
            for digest in [call(1), call(7), call(9)] {
                let used = store.redeem(id, AGENT.to_owned(), digest, context()).await.unwrap();
                assert_eq!(used, Redemption::NotApproved(State::Pending), "{name}");
            }
            let differences = store.compare_rows().await.unwrap().differences;
            let is_vote = ["voter", "vote"].contains(&name);
            assert_eq!(differences, u64::from(!is_vote), "{name}");
            // It can still be denied.
            let denied = store.apply(id, says("dee", Choice::Deny), context()).await.unwrap();
            assert_eq!(denied.stored.request.state, State::Denied, "{name}");
        }
    });
}

/// A superseded edit whose rows are put back, with the vote for it.
#[test]
fn a_superseded_edit_cannot_be_put_back() {
    run(async {
        let fixture = SqliteFixture::new();
        let store = fixture.open();
        let id = proposed(&store).await;
        let conn = Connection::open(fixture.file()).unwrap();
        conn.execute_batch("CREATE TABLE old AS SELECT * FROM proposed_edit").unwrap();
        store.apply(id, edits("bo", (9, 8), Tier::High, 2), edited()).await.unwrap();
        conn.execute_batch(
            "DELETE FROM proposed_edit; INSERT INTO proposed_edit SELECT * FROM old; \
             UPDATE vote SET person = 'ana'",
        )
        .unwrap();
        let vote = store.apply(id, approves("cy", 9), context()).await;
        assert_eq!(vote.unwrap_err(), StoreError::Unrecorded(id));
    });
}

/// A vote for the original that is inserted into the file beside a true one.
#[test]
fn an_inserted_vote_does_not_count() {
    run(async {
        let fixture = SqliteFixture::new();
        let store = fixture.open();
        let id = submit(&store, asked(2)).await.request.id;
        let conn = Connection::open(fixture.file()).unwrap();
        let vote = "INSERT INTO vote VALUES (?1, 'ana', 0, 'approve', 'web', '', ?2, 'once')";
        conn.execute(vote, params![id.as_bytes(), START]).unwrap();
        conn.execute("UPDATE request SET votes = 1 WHERE id = ?1", [id.as_bytes()]).unwrap();
        let vote = store.apply(id, approves("bo", 1), context()).await;
        assert_eq!(vote.unwrap_err(), StoreError::Unrecorded(id));
    });
}
