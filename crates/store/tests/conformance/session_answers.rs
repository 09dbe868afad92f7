//! Approvals for the rest of a session, and what sessions did before.

use countersign_json::canonical::Digest;
use countersign_ledger::entry::EntryKind;
use countersign_risk::session_answer::{RepositoryQuestion, SessionQuestion};
use countersign_store::{
    NewRequest, SESSION_IDLE, Store, StoreError, StoredRequest, StoredSessionMemory,
};
use countersign_types::id::Id;
use countersign_types::time::Timestamp;
use countersign_workflow::grant::{GrantShape, REPOSITORY_ANSWER_LASTS, SESSION_ANSWER_LASTS};
use countersign_workflow::request::{
    ApprovalScope, Choice, Event, Requester, State, Transition, TransitionError,
};
use rusqlite::{Connection, params};

use crate::setup::*;

fn keys(bytes: &[u8]) -> Vec<Digest> {
    bytes.iter().map(|byte| Digest::from_bytes([*byte; 32])).collect()
}

/// A request that asks about these topics.
pub fn asks(approve: u8, topics: &[u8]) -> NewRequest {
    let (answers, covered_by) = (keys(topics), keys(topics));
    let question = SessionQuestion { answers, covered_by, ..SessionQuestion::default() };
    NewRequest { session_question: question, ..asked(approve) }
}

pub fn for_session(person: &str) -> Event {
    let mut event = says(person, Choice::Approve);
    if let Event::Answer { scope, .. } = &mut event {
        *scope = ApprovalScope::Session;
    }
    event
}

async fn approved_for_session(store: &impl Store, topics: &[u8]) -> StoredRequest {
    let id = submit(store, asks(1, topics)).await.request.id;
    store.apply(id, for_session("ana"), context()).await.unwrap().stored
}

async fn active(store: &impl Store) -> Vec<Id> {
    store.grants(false).await.unwrap().into_iter().map(|grant| grant.id).collect()
}

async fn assert_inactive(store: &impl Store, id: Id) {
    assert_eq!(store.submit(granted(id)).await.unwrap_err(), StoreError::GrantInactive);
}

pub async fn an_approval_for_the_session_covers_its_session_until_revoked<P: Fixture>() {
    let fixture = P::new();
    let store = fixture.open();
    let stored = approved_for_session(&store, &[1, 2]).await;
    let id = stored.request.id;
    assert_eq!(stored.request.approval_scope(), ApprovalScope::Session);
    let grant = store.grants(false).await.unwrap().remove(0);
    assert_eq!((grant.id, grant.made_by.as_str()), (id, "ana"));
    assert_eq!(grant.shape, GrantShape::SameQuestion { keys: keys(&[1, 2]) });
    assert_eq!(grant.agent.as_deref(), Some("coder"));
    submit(&store, granted(id)).await;
    let mut other_session = granted(id);
    other_session.session = "s-2".to_owned();
    let mut other_agent = granted(id);
    other_agent.request.requester = Requester::Agent("other".to_owned());
    for new in [other_session, other_agent] {
        assert_eq!(store.submit(new).await.unwrap_err(), StoreError::GrantInactive);
    }
    drop(store);
    let store = fixture.open();
    assert_eq!(store.request(id).await.unwrap().unwrap(), stored);
    let used = submit(&store, granted(id)).await.request.id;
    let entries = verified(&store).await;
    let of = |id: Id, kind| {
        let id = id.to_string();
        let mut entries = entries.iter();
        entries.find(|entry| entry.kind == kind && entry.request.as_deref() == Some(&id)).unwrap()
    };
    let fact = |id, kind, name: &str| {
        let found = of(id, kind).facts.iter().find(|(key, _)| key == name);
        found.and_then(|(_, value)| value.as_str().map(ToOwned::to_owned)).unwrap()
    };
    assert_eq!(fact(id, EntryKind::Approve, "decided_scope"), "session");
    assert_eq!(fact(used, EntryKind::UsedGrant, "grant"), id.to_string());
    assert_eq!(fact(used, EntryKind::UsedGrant, "approved_for_session_by"), "ana");
    assert!(store.revoke_grant(id, "bo".to_owned(), context()).await.unwrap());
    assert_inactive(&store, id).await;
    assert_eq!(active(&store).await, []);
}

pub async fn several_people_approve_for_the_session_only_together<P: Fixture>() {
    let fixture = P::new();
    let store = fixture.open();
    for (first, scope) in [
        (says("ana", Choice::Approve), ApprovalScope::Once),
        (for_session("ana"), ApprovalScope::Session),
    ] {
        let id = submit(&store, asks(2, &[1])).await.request.id;
        let counted = store.apply(id, first, context()).await.unwrap().change;
        assert!(matches!(counted, Transition::ApprovalCounted { .. }));
        let ended = store.apply(id, for_session("bo"), context()).await.unwrap().stored;
        assert_eq!(ended.request.state, State::Approved);
        assert_eq!(ended.request.approval_scope(), scope);
        assert_eq!(active(&store).await.contains(&id), scope == ApprovalScope::Session);
    }
}

pub async fn a_call_that_asks_about_nothing_known_is_approved_once<P: Fixture>() {
    let fixture = P::new();
    let store = fixture.open();
    let id = submit(&store, asked(1)).await.request.id;
    let refused = store.apply(id, for_session("ana"), context()).await.unwrap_err();
    assert_eq!(refused, StoreError::Refused(TransitionError::NotForSession));
    assert_eq!(store.request(id).await.unwrap().unwrap().request.state, State::Pending);
    let grant = approved_for_session(&store, &[1]).await;
    let mut made = store.grants(false).await.unwrap().remove(0);
    made.id = fresh_id();
    assert!(store.create_grant(made, context()).await.is_err());
    assert_eq!(active(&store).await, [grant.request.id]);
}

pub async fn a_denial_ends_the_approvals_that_it_contradicts<P: Fixture>() {
    let fixture = P::new();
    let store = fixture.open();
    let one = approved_for_session(&store, &[1, 2]).await.request.id;
    let other = approved_for_session(&store, &[3]).await.request.id;
    let mut elsewhere = asks(1, &[3]);
    elsewhere.session = "s-2".to_owned();
    for denied in [asks(1, &[2, 9]), elsewhere] {
        let id = submit(&store, denied).await.request.id;
        store.apply(id, says("bo", Choice::Deny), context()).await.unwrap();
    }
    assert_inactive(&store, one).await;
    assert_eq!(active(&store).await, [other]);
    assert_eq!(kinds(&store).await.iter().filter(|kind| **kind == EntryKind::Revoke).count(), 1);
}

pub async fn an_approval_for_the_session_expires_and_is_bounded<P: Fixture>() {
    let fixture = P::new();
    let store = fixture.open();
    let first = approved_for_session(&store, &[1]).await.request.id;
    for topic in 2..=65 {
        approved_for_session(&store, &[topic]).await;
    }
    let left = active(&store).await;
    assert!(left.len() == 64 && !left.contains(&first));
    assert_inactive(&store, first).await;
    fixture.clock().forward(i64::try_from(SESSION_ANSWER_LASTS.0).unwrap());
    assert_inactive(&store, left[0]).await;
    assert_eq!(active(&store).await, []);
}

pub async fn session_memories_survive_and_are_forgotten_when_idle<P: Fixture>() {
    let fixture = P::new();
    let store = fixture.open();
    let memory = |agent: &str, text: &str| StoredSessionMemory {
        agent: agent.to_owned(),
        session: "s-1".to_owned(),
        memory: text.to_owned(),
        used: fixture.clock().at(),
    };
    for saved in [memory("coder", "a"), memory("other", "b"), memory("coder", "c")] {
        store.save_session_memory(saved).await.unwrap();
    }
    drop(store);
    let store = fixture.open();
    let texts = |all: Vec<StoredSessionMemory>| {
        let mut texts: Vec<String> = all.into_iter().map(|one| one.memory).collect();
        texts.sort();
        texts
    };
    assert_eq!(texts(store.session_memories().await.unwrap()), ["b", "c"]);
    fixture.clock().forward(i64::try_from(SESSION_IDLE.0).unwrap());
    assert_eq!(store.session_memories().await.unwrap(), []);
    store.save_session_memory(memory("coder", "d")).await.unwrap();
    assert_eq!(texts(store.session_memories().await.unwrap()), ["d"]);
    for number in 0..520 {
        let used = Timestamp(fixture.clock().at().0 + number);
        let saved =
            StoredSessionMemory { session: format!("n-{number}"), used, ..memory("coder", "e") };
        store.save_session_memory(saved).await.unwrap();
    }
    let left = store.session_memories().await.unwrap();
    assert!(left.len() == 512 && left.iter().all(|one| one.session != "n-1"));
}

/// Edits the file with another SQLite client, as a program with the user's rights could.
fn edit(fixture: &SqliteFixture, sql: &str, id: Id) {
    let conn = Connection::open(fixture.file()).unwrap();
    conn.execute_batch("DROP TRIGGER session_question_stays").unwrap();
    assert_eq!(conn.execute(sql, params![id.as_bytes()]).unwrap(), 1, "{sql}");
}

#[test]
fn a_forged_approval_for_the_session_covers_nothing() {
    run(async {
        let forged = "INSERT INTO given (id, shape, agent, session, made_by, made_at, expires) \
                      VALUES (?1, 'same_question', 'coder', 's-1', 'ana', 0, 9000000000000)";
        let wider = serde_json::to_string(&SessionQuestion {
            answers: keys(&[1, 7]),
            ..Default::default()
        });
        let wider = format!(
            "UPDATE request_text SET session_question = '{}' WHERE request = ?1",
            wider.unwrap()
        );
        let restored = "UPDATE given SET revoked = NULL WHERE id = ?1";
        let moved = "UPDATE given SET session = 's-2' WHERE id = ?1";
        let later = "UPDATE given SET expires = 9000000000000 WHERE id = ?1";
        for (name, sql) in [
            ("approved once", forged),
            ("wider keys", &*wider),
            ("revoked", restored),
            ("another session", moved),
            ("expired", later),
        ] {
            let fixture = SqliteFixture::new();
            let store = fixture.open();
            let once = name == "approved once";
            let id = submit(&store, asks(1, &[1])).await.request.id;
            let event = if once { says("ana", Choice::Approve) } else { for_session("ana") };
            store.apply(id, event, context()).await.unwrap();
            if name == "revoked" {
                store.revoke_grant(id, "ana".to_owned(), context()).await.unwrap();
            }
            if name == "expired" {
                fixture.clock().forward(i64::try_from(SESSION_ANSWER_LASTS.0).unwrap());
            }
            edit(&fixture, sql, id);
            let mut new = granted(id);
            if name == "another session" {
                new.session = "s-2".to_owned();
            }
            assert_eq!(store.submit(new).await.unwrap_err(), StoreError::GrantInactive, "{name}");
            assert_eq!(active(&store).await, [], "{name}");
            drop(store);
            assert_eq!(active(&fixture.open()).await, [], "{name}: after a restart");
        }
    });
}

/// A request that asks about a program in a repository.
fn asks_in(folder: &str) -> NewRequest {
    let mut new = asks(1, &[1]);
    let repository = RepositoryQuestion { folder: folder.to_owned(), answers: keys(&[1]) };
    new.session_question.repository = Some(repository);
    new
}

fn for_repository(person: &str) -> Event {
    let mut event = says(person, Choice::Approve);
    if let Event::Answer { scope, .. } = &mut event {
        *scope = ApprovalScope::Repository;
    }
    event
}

/// A call that the approval covers, in a repository and another session.
fn granted_in(id: Id, folder: &str) -> NewRequest {
    let question = asks_in(folder).session_question;
    NewRequest { session: "s-2".to_owned(), session_question: question, ..granted(id) }
}

pub async fn an_approval_for_the_repository_covers_its_repository_only<P: Fixture>() {
    let fixture = P::new();
    let store = fixture.open();
    let id = submit(&store, asks_in("/srv/shop")).await.request.id;
    store.apply(id, for_repository("ana"), context()).await.unwrap();
    let grant = store.grants(false).await.unwrap().remove(0);
    let shape = GrantShape::SameProgram { repository: "/srv/shop".to_owned(), keys: keys(&[1]) };
    assert_eq!((grant.id, grant.session, grant.shape), (id, None, shape));
    submit(&store, granted_in(id, "/srv/shop")).await;
    let mut other_agent = granted_in(id, "/srv/shop");
    other_agent.request.requester = Requester::Agent("other".to_owned());
    let no_repository = granted(id);
    for new in [granted_in(id, "/srv/other"), other_agent, no_repository] {
        assert_eq!(store.submit(new).await.unwrap_err(), StoreError::GrantInactive);
    }
    let plain = submit(&store, asks(1, &[1])).await.request.id;
    let refused = store.apply(plain, for_repository("ana"), context()).await;
    let expected = StoreError::Refused(TransitionError::NotForRepository);
    assert_eq!(refused.unwrap_err(), expected);
    fixture.clock().forward(i64::try_from(REPOSITORY_ANSWER_LASTS.0).unwrap());
    let late = store.submit(granted_in(id, "/srv/shop")).await;
    assert_eq!(late.unwrap_err(), StoreError::GrantInactive);
}

#[test]
fn a_forged_approval_for_the_repository_covers_nothing() {
    run(async {
        let forged = "INSERT INTO given (id, shape, agent, made_by, made_at, expires) \
                      VALUES (?1, 'same_program', 'coder', 'ana', 0, 9000000000000)";
        let widened = "UPDATE given SET shape = 'same_program', session = NULL WHERE id = ?1";
        let moved = "UPDATE request_text SET session_question = \
                     replace(session_question, '/srv/shop', '/srv/other') WHERE request = ?1";
        for (name, sql, event) in [
            ("approved once", forged, says("ana", Choice::Approve)),
            ("approved for the session", widened, for_session("ana")),
            ("another repository", moved, for_repository("ana")),
        ] {
            let fixture = SqliteFixture::new();
            let store = fixture.open();
            let id = submit(&store, asks_in("/srv/shop")).await.request.id;
            store.apply(id, event, context()).await.unwrap();
            edit(&fixture, sql, id);
            for folder in ["/srv/shop", "/srv/other"] {
                let used = store.submit(granted_in(id, folder)).await;
                assert_eq!(used.unwrap_err(), StoreError::GrantInactive, "{name} {folder}");
            }
            assert_eq!(active(&store).await, [], "{name}");
        }
    });
}
