//! Parts of a compound command that a person approved while denying the whole.

use countersign_json::canonical::Digest;
use countersign_ledger::entry::EntryKind;
use countersign_risk::session_answer::{PartQuestion, SessionQuestion};
use countersign_risk::word_pair::word_pair;
use countersign_store::{NewRequest, Store, StoreError, StoredRequest};
use countersign_types::tier::Tier;
use countersign_types::time::{Millis, Timestamp};
use countersign_workflow::assurance::{Authority, RequiredAssurance, Tenure};
use countersign_workflow::grant::{Grant, GrantDetails, GrantShape, PartShape};
use countersign_workflow::request::{
    ApprovalScope, Choice, Event, PartsAnswer, State, TransitionError,
};

use crate::setup::*;

fn key(byte: u8) -> Digest {
    Digest::from_bytes([byte; 32])
}

/// A command with two parts: a MEDIUM one and one of this tier.
fn command(tier: Tier) -> NewRequest {
    let part = |byte, tier: Tier| PartQuestion {
        key: key(byte),
        tier: tier.label().to_owned(),
        asks: true,
        answers: vec![key(byte + 100)],
    };
    let parts = vec![part(1, Tier::Medium), part(2, tier)];
    let covered_by = vec![key(1), key(2), key(101), key(102)];
    let question = SessionQuestion { covered_by, parts, ..SessionQuestion::default() };
    let mut new = NewRequest { session_question: question, ..asked(1) };
    new.request.tier = tier;
    new
}

/// A grant for a part of a request.
fn part(stored: &StoredRequest, number: u8, for_session: bool) -> Grant {
    let question = &stored.session_question.parts[usize::from(number) - 1];
    let shape = PartShape::once(stored.request.id, number, question);
    let shape = if for_session { shape.for_session(question) } else { shape };
    Grant {
        id: fresh_id(),
        shape: GrantShape::Part(Box::new(shape)),
        agent: Some("coder".to_owned()),
        session: Some("s-1".to_owned()),
        made_by: "ana".to_owned(),
        made_at: Timestamp(START),
        expires: Some(Timestamp(START).plus(Millis::from_seconds(3_600))),
        uses_left: (!for_session).then_some(1),
        revoked: None,
        details: GrantDetails { shown: Some("git push".to_owned()), ..GrantDetails::default() },
    }
}

fn approves(grants: Vec<Grant>, tier: Tier) -> Event {
    let scope = ApprovalScope::Once;
    Event::AnswerParts(Box::new(PartsAnswer {
        person: "ana".to_owned(),
        seen: call(1),
        channel: "web".to_owned(),
        told: "Approved only: `git push`".to_owned(),
        reason: "agreed".to_owned(),
        word: word_pair(&call(1).canonical).to_string(),
        scope,
        standing: (
            Authority::login(false, Tenure::from(Timestamp(START))),
            RequiredAssurance::default(),
        ),
        tier,
        people: 1,
        grants,
    }))
}

pub async fn an_approved_part_is_a_grant_of_its_own_for_one_call<P: Fixture>() {
    let fixture = P::new();
    let store = fixture.open();
    let asked = submit(&store, command(Tier::High)).await;
    let grant = part(&asked, 1, false);
    let event = approves(vec![grant.clone()], Tier::Medium);
    let stored = store.apply(asked.request.id, event, context()).await.unwrap().stored;
    assert_eq!(stored.request.state, State::Denied);
    assert_eq!(stored.permit_until, None);
    drop(store);
    let store = fixture.open();
    assert_eq!(store.grants(false).await.unwrap(), std::slice::from_ref(&grant));
    submit(&store, granted(grant.id)).await;
    let again = store.submit(granted(grant.id)).await.unwrap_err();
    assert_eq!(again, StoreError::GrantInactive);
    let kinds = kinds(&store).await;
    let count = |kind| kinds.iter().filter(|known| **known == kind).count();
    assert_eq!((count(EntryKind::Deny), count(EntryKind::Grant)), (1, 1));
    assert_eq!(store.compare_rows().await.unwrap().differences, 0);
}

pub async fn a_part_of_another_request_agent_or_person_is_refused<P: Fixture>() {
    let fixture = P::new();
    let store = fixture.open();
    let asked = submit(&store, command(Tier::High)).await;
    let good = part(&asked, 1, false);
    let changed = |change: &dyn Fn(&mut PartShape)| {
        let GrantShape::Part(mut shape) = good.shape.clone() else { panic!("{good:?}") };
        change(&mut shape);
        Grant { shape: GrantShape::Part(shape), ..good.clone() }
    };
    let wrong = [
        changed(&|shape| shape.key = key(9)),
        changed(&|shape| shape.number = 3),
        changed(&|shape| shape.number = 0),
        changed(&|shape| shape.tier = "LOW".to_owned()),
        changed(&|shape| shape.keys = vec![key(101)]),
        changed(&|shape| shape.request = fresh_id().to_string()),
        Grant { agent: Some("other".to_owned()), ..good.clone() },
        Grant { agent: None, ..good.clone() },
        Grant { session: Some("s-2".to_owned()), ..good.clone() },
        Grant { session: None, ..good.clone() },
        Grant { uses_left: None, ..good.clone() },
        Grant { uses_left: Some(2), ..good.clone() },
        Grant { made_by: "bo".to_owned(), ..good.clone() },
        Grant { shape: GrantShape::Exact { digest: call(1) }, ..good.clone() },
    ];
    let none = StoreError::Refused(TransitionError::NoParts);
    for grant in wrong {
        let event = approves(vec![grant.clone()], Tier::Medium);
        let refused = store.apply(asked.request.id, event, context()).await.unwrap_err();
        assert_eq!(refused, none, "{grant:?}");
    }
    // The HIGH part is not approved as if it were MEDIUM.
    let event = approves(vec![part(&asked, 2, false)], Tier::Medium);
    assert_eq!(store.apply(asked.request.id, event, context()).await.unwrap_err(), none);
    let plain = submit(&store, crate::setup::asked(1)).await.request.id;
    let event = approves(Vec::new(), Tier::Medium);
    assert_eq!(store.apply(plain, event, context()).await.unwrap_err(), none);
    assert_eq!(store.grants(true).await.unwrap(), []);
    assert_eq!(store.request(plain).await.unwrap().unwrap().request.state, State::Pending);
}

pub async fn only_a_part_that_was_approved_once_covers_critical<P: Fixture>() {
    let fixture = P::new();
    let store = fixture.open();
    let asked = submit(&store, command(Tier::Critical)).await;
    let critical = |grant: &Grant| {
        let mut new = granted(grant.id);
        new.request.tier = Tier::Critical;
        new
    };
    let exact = Grant {
        id: fresh_id(),
        shape: GrantShape::Exact { digest: call(1) },
        ..part(&asked, 1, false)
    };
    store.create_grant(exact.clone(), context()).await.unwrap();
    assert_eq!(store.submit(critical(&exact)).await.unwrap_err(), StoreError::GrantInactive);
    let once = part(&asked, 2, false);
    let event = approves(vec![once.clone()], Tier::Critical);
    store.apply(asked.request.id, event, context()).await.unwrap();
    submit(&store, critical(&once)).await;
    assert_eq!(store.submit(critical(&once)).await.unwrap_err(), StoreError::GrantInactive);
}

pub async fn a_denial_ends_approved_parts_that_it_contradicts<P: Fixture>() {
    let fixture = P::new();
    let store = fixture.open();
    for for_session in [false, true] {
        let asked = submit(&store, command(Tier::High)).await;
        let grant = part(&asked, 1, for_session);
        let event = approves(vec![grant.clone()], Tier::Medium);
        store.apply(asked.request.id, event, context()).await.unwrap();
        // The same command with the same part approved again ends nothing.
        let again = submit(&store, command(Tier::High)).await;
        let event = approves(vec![part(&again, 1, for_session)], Tier::Medium);
        store.apply(again.request.id, event, context()).await.unwrap();
        assert_eq!(store.grants(false).await.unwrap().len(), 2);
        let denied = submit(&store, command(Tier::High)).await.request.id;
        store.apply(denied, says("ana", Choice::Deny), context()).await.unwrap();
        assert_eq!(store.grants(false).await.unwrap(), []);
        assert_eq!(store.submit(granted(grant.id)).await.unwrap_err(), StoreError::GrantInactive);
    }
    assert_eq!(store.compare_rows().await.unwrap().differences, 0);
}
