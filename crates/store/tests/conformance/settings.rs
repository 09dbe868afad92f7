//! Grants, crises, people, agents, logins, announcements.

use countersign_json::canonical::Digest;
use countersign_ledger::entry::EntryKind;
use countersign_store::{
    AttemptResult, CrisisSession, CrisisTakeover, DeliveryAttempt, Passkey, PushSubscription, Role,
    Store, StoreError, StoredAgent, StoredLogin, StoredPerson,
};
use countersign_types::tier::Tier;
use countersign_types::time::Timestamp;
use countersign_workflow::grant::{Grant, GrantShape};
use countersign_workflow::request::TransitionError;

use crate::people::{account, passkey, person};
use crate::setup::*;

fn grant(shape: GrantShape) -> Grant {
    Grant {
        id: fresh_id(),
        shape,
        agent: None,
        session: Some("s-1".to_owned()),
        made_by: "ana".to_owned(),
        made_at: Timestamp(START),
        expires: Some(Timestamp(START + 1_000)),
        uses_left: None,
        revoked: None,
        details: countersign_workflow::grant::GrantDetails::default(),
    }
}

pub async fn grants_are_active_until_expired_or_revoked<P: Fixture>() {
    let fixture = P::new();
    let store = fixture.open();
    let tool = || "send_email".to_owned();
    let shapes = [
        GrantShape::Exact { digest: call(3) },
        GrantShape::Action { tool: tool() },
        GrantShape::Targets { tool: tool(), targets: vec!["a@x".to_owned(), "b\"y".to_owned()] },
        GrantShape::ToSelf { tool: tool() },
    ];
    let mut given: Vec<Grant> = shapes.into_iter().map(grant).collect();
    for grant in &given {
        store.create_grant(grant.clone(), context()).await.unwrap();
    }
    given.reverse();
    assert_eq!(store.grants(false).await.unwrap(), given);
    let again = store.create_grant(given[0].clone(), context()).await;
    assert_eq!(again.unwrap_err(), StoreError::Exists("grant"));
    submit(&store, granted(given[0].id)).await;
    let mut critical = granted(given[0].id);
    critical.request.tier = Tier::Critical;
    let mut crisis = granted(given[0].id);
    crisis.request.crisis = true;
    let mut elsewhere = granted(given[0].id);
    elsewhere.session = "s-2".to_owned();
    for new in [critical, crisis, elsewhere, granted(fresh_id())] {
        assert_eq!(store.submit(new).await.unwrap_err(), StoreError::GrantInactive);
    }
    fixture.clock().settle(false);
    let unsettled = store.submit(granted(given[0].id)).await.unwrap_err();
    assert_eq!(unsettled, StoreError::Refused(TransitionError::ClockUnreliable));
    fixture.clock().settle(true);
    let ana = || "ana".to_owned();
    assert!(store.revoke_grant(given[1].id, ana(), context()).await.unwrap());
    assert!(!store.revoke_grant(given[1].id, ana(), context()).await.unwrap());
    let revoked = store.submit(granted(given[1].id)).await;
    assert_eq!(revoked.unwrap_err(), StoreError::GrantInactive);
    fixture.clock().forward(1_000);
    let expired = store.submit(granted(given[0].id)).await;
    assert_eq!(expired.unwrap_err(), StoreError::GrantInactive);
    assert!(store.grants(false).await.unwrap().is_empty());
    assert_eq!(store.grants(true).await.unwrap().len(), 4);
}

pub async fn a_crisis_level_only_rises_until_a_person_lifts_it<P: Fixture>() {
    let fixture = P::new();
    let store = fixture.open();
    let crisis = |level, imminent, since| CrisisSession {
        agent: "coder".to_owned(),
        session: "s-1".to_owned(),
        level,
        imminent,
        since: Timestamp(since),
    };
    assert!(store.begin_crisis(crisis(7, false, 1), context()).await.is_err());
    for (level, imminent, since) in [(3, true, 50), (2, false, 60)] {
        store.begin_crisis(crisis(level, imminent, since), context()).await.unwrap();
    }
    assert_eq!(store.crises().await.unwrap(), [crisis(3, true, 50)]);
    let lift = async || {
        let (agent, session) = ("coder".to_owned(), "s-1".to_owned());
        store.lift_crisis(agent, session, "ana".to_owned(), context()).await.unwrap()
    };
    assert!(lift().await);
    assert!(!lift().await);
    assert!(store.crises().await.unwrap().is_empty());
    let told = [EntryKind::CrisisBegin, EntryKind::CrisisBegin, EntryKind::CrisisLift];
    assert_eq!(kinds(&store).await, told);
}

pub async fn a_takeover_is_stored_until_the_crisis_is_lifted<P: Fixture>() {
    let fixture = P::new();
    let store = fixture.open();
    let names = || ("coder".to_owned(), "s-1".to_owned());
    let take = async |person: &str| {
        let ((agent, session), person) = (names(), person.to_owned());
        let taken = CrisisTakeover { agent, session, person, at: Timestamp(START) };
        store.take_over(taken, context()).await.unwrap()
    };
    assert!(!take("ana").await, "no crisis");
    let crisis = |level| CrisisSession {
        agent: names().0,
        session: names().1,
        level,
        imminent: false,
        since: Timestamp(START),
    };
    store.begin_crisis(crisis(2), context()).await.unwrap();
    assert!(take("ana").await && take("bo").await);
    // A further sign does not end it.
    store.begin_crisis(crisis(4), context()).await.unwrap();
    drop(store);
    let store = fixture.open();
    let found = store.takeovers().await.unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].person.as_str(), found[0].at), ("ana", Timestamp(START)));
    let (agent, session) = names();
    assert!(store.lift_crisis(agent, session, "ana".to_owned(), context()).await.unwrap());
    assert!(store.takeovers().await.unwrap().is_empty());
}

pub async fn people_agents_and_logins<P: Fixture>() {
    let fixture = P::new();
    let store = fixture.open();
    let mut ana = StoredPerson {
        name: "ana".to_owned(),
        role: Role::Administrator,
        passphrase: "$argon2id$x".to_owned(),
        added: Timestamp(START),
        role_since: Timestamp(START),
        active_from: Timestamp(START),
        revoked: None,
    };
    let login = |byte| StoredLogin {
        secret: Digest::from_bytes([byte; 32]),
        person: "ana".to_owned(),
        channel: "web".to_owned(),
        made: Timestamp(START),
        expires: Timestamp(START + 1_000),
        ended: None,
    };
    let early = store.save_login(login(1), context()).await;
    assert_eq!(early.unwrap_err(), StoreError::NotFound("person"));
    store.save_person(ana.clone(), context()).await.unwrap();
    for byte in [1, 2, 3] {
        store.save_login(login(byte), context()).await.unwrap();
    }
    let ended = StoredLogin { ended: Some(Timestamp(START)), ..login(2) };
    store.save_login(ended, context()).await.unwrap();
    // An ended login stays ended.
    store.save_login(login(2), context()).await.unwrap();
    assert_eq!(store.logins().await.unwrap(), [login(1), login(3)]);
    ana.revoked = Some(Timestamp(START));
    store.save_person(ana.clone(), context()).await.unwrap();
    assert!(store.logins().await.unwrap().is_empty());
    assert!(store.save_login(login(4), context()).await.is_err());
    assert_eq!(store.people().await.unwrap(), [ana]);
    let agent = StoredAgent {
        name: "coder".to_owned(),
        token: Some(Digest::of(b"token")),
        uid: Some(1_000),
        own_addresses: vec!["ana@example.org".to_owned()],
        added: Timestamp(START),
        expires: Some(Timestamp(START + 5)),
        revoked: None,
    };
    store.save_agent(agent.clone(), context()).await.unwrap();
    let thief = StoredAgent { name: "thief".to_owned(), ..agent.clone() };
    assert!(store.save_agent(thief, context()).await.is_err(), "one token, two agents");
    assert_eq!(store.agents().await.unwrap(), [agent]);
    verified(&store).await;
}

pub async fn announcements_are_retried_until_done<P: Fixture>() {
    let fixture = P::new();
    let store = fixture.open();
    let id = submit(&store, asked(1)).await.request.id;
    let seq = store.outbox(0, 5).await.unwrap()[0].seq;
    let tried = async |seq, channel: &str, result, done| {
        let attempt = DeliveryAttempt { seq, channel: channel.to_owned(), result, done };
        store.record_attempt(attempt, context()).await
    };
    let again = AttemptResult::Retry("429".to_owned(), Timestamp(START + 9));
    for _ in 0..2 {
        tried(seq, "telegram", again.clone(), false).await.unwrap();
    }
    let open = store.outbox(0, 5).await.unwrap();
    assert_eq!((open[0].tried[0].attempts, &open[0].tried[0].result), (2, &again));
    tried(seq, "telegram", AttemptResult::Failed("gone".to_owned()), false).await.unwrap();
    tried(seq, "web", AttemptResult::Delivered("m-1".to_owned()), true).await.unwrap();
    assert!(store.outbox(0, 5).await.unwrap().is_empty());
    let went = store.deliveries(id).await.unwrap();
    assert_eq!(went.iter().map(|d| d.attempts).collect::<Vec<_>>(), [3, 1]);
    assert_eq!(kinds(&store).await, [EntryKind::Ask, EntryKind::NotifyFailed, EntryKind::Notified]);
    let unknown = tried(99, "web", again, true).await;
    assert_eq!(unknown.unwrap_err(), StoreError::NotFound("announcement"));
}

fn subscription(person: &str) -> PushSubscription {
    PushSubscription {
        endpoint: "https://push.example.org/abc".to_owned(),
        person: person.to_owned(),
        public_key: vec![4; 65],
        secret: vec![7; 16],
        called: "Firefox on a phone".to_owned(),
        added: Timestamp(START),
        ended: None,
    }
}

pub async fn an_account_belongs_to_one_person<P: Fixture>() {
    let fixture = P::new();
    let store = fixture.open();
    let early = store.save_account(account("ana", "77"), context()).await;
    assert_eq!(early.unwrap_err(), StoreError::NotFound("person"));
    for name in ["ana", "bo"] {
        store.save_person(person(name), context()).await.unwrap();
    }
    store.save_account(account("ana", "77"), context()).await.unwrap();
    // The account stays linked until it is unlinked.
    let taken = store.save_account(account("bo", "77"), context()).await;
    assert_eq!(taken.unwrap_err(), StoreError::Exists("account"));
    assert_eq!(store.accounts().await.unwrap(), [account("ana", "77")]);
    let mut ended = account("ana", "77");
    ended.ended = Some(Timestamp(START + 1));
    store.save_account(ended, context()).await.unwrap();
    assert!(store.accounts().await.unwrap().is_empty());
    store.save_account(account("bo", "77"), context()).await.unwrap();
    assert_eq!(store.accounts().await.unwrap(), [account("bo", "77")]);
}

pub async fn a_passkey_keeps_its_key_and_its_end<P: Fixture>() {
    let fixture = P::new();
    let store = fixture.open();
    for name in ["ana", "bo"] {
        store.save_person(person(name), context()).await.unwrap();
    }
    store.save_passkey(passkey("ana"), context()).await.unwrap();
    let mut used = passkey("ana");
    (used.uses, used.used) = (5, Some(Timestamp(START + 5)));
    store.save_passkey(used.clone(), context()).await.unwrap();
    // The counter never decreases.
    let mut behind = used.clone();
    behind.uses = 4;
    store.save_passkey(behind, context()).await.unwrap();
    assert_eq!(store.passkeys().await.unwrap(), [used.clone()]);
    let other_key = Passkey { public_key: vec![9; 65], ..used.clone() };
    let other_person = Passkey { person: "bo".to_owned(), ..used.clone() };
    for other in [other_key, other_person] {
        let refused = store.save_passkey(other, context()).await;
        assert_eq!(refused.unwrap_err(), StoreError::Exists("passkey"));
    }
    let ended = Passkey { ended: Some(Timestamp(START + 9)), ..used.clone() };
    store.save_passkey(ended, context()).await.unwrap();
    assert!(store.passkeys().await.unwrap().is_empty());
    let again = store.save_passkey(used, context()).await;
    assert_eq!(again.unwrap_err(), StoreError::Exists("passkey"));
}

pub async fn revoking_a_person_ends_all_credentials<P: Fixture>() {
    let fixture = P::new();
    let store = fixture.open();
    store.save_person(person("ana"), context()).await.unwrap();
    store.save_account(account("ana", "77"), context()).await.unwrap();
    store.save_passkey(passkey("ana"), context()).await.unwrap();
    store.save_subscription(subscription("ana"), context()).await.unwrap();
    assert_eq!(store.subscriptions().await.unwrap(), [subscription("ana")]);
    let mut gone = person("ana");
    gone.revoked = Some(Timestamp(START + 1));
    store.save_person(gone, context()).await.unwrap();
    assert!(store.accounts().await.unwrap().is_empty());
    assert!(store.passkeys().await.unwrap().is_empty());
    assert!(store.subscriptions().await.unwrap().is_empty());
    for refused in [
        store.save_account(account("ana", "78"), context()).await,
        store.save_passkey(passkey("ana"), context()).await,
        store.save_subscription(subscription("ana"), context()).await,
    ] {
        assert_eq!(refused.unwrap_err(), StoreError::NotFound("person"));
    }
}
