//! The ledger: order, proofs, unsynced passes, recorded gaps.

use std::sync::Arc;

use countersign_json::Value;
use countersign_ledger::entry::{Entry, EntryKind};
use countersign_ledger::merkle::{Frontier, verify_consistency, verify_inclusion};
use countersign_store::{
    ClockRebase, MODE_FACT, NewRequest, NewestEntries, POLICY_FACT, Redemption, SETTINGS_FACT,
    Store, StoreError, fact_of,
};
use countersign_types::tier::Tier;
use countersign_types::time::Millis;
use countersign_workflow::request::{Choice, EscalationTimes, Request, State, TransitionError};

use crate::hidden_entries::grant;
use crate::setup::*;

pub async fn the_ledger_verifies_and_its_proofs_hold<P: Fixture>() {
    let fixture = P::new();
    let store = fixture.open();
    for count in [1, 2, 700, 5, 300] {
        let entries = (0..count).map(|_| pass_entry()).collect();
        store.append(entries).await.unwrap();
    }
    let leaves = store.entries(0, 4_096).await.unwrap().leaves;
    let head = store.tree_head().await.unwrap();
    assert_eq!((leaves.len(), head.size), (1_008, 1_008));
    let mut roots = vec![Frontier::new().root()];
    let mut tree = Frontier::new();
    for leaf in &leaves {
        tree.append(*leaf);
        roots.push(tree.root());
    }
    for index in [0, 1, 255, 256, 257, 511, 512, 1_007_u16] {
        for size in [1, 2, 255, 256, 257, 700, 1_008_u16] {
            let (leaf, root) = (&leaves[usize::from(index)], &roots[usize::from(size)]);
            let (index, size) = (u64::from(index), u64::from(size));
            let proof = store.inclusion_proof(index, size).await.unwrap();
            match proof {
                Some(proof) => verify_inclusion(leaf, index, size, &proof, root).unwrap(),
                None => assert!(index >= size),
            }
            let proof = store.consistency_proof(size, 1_008).await.unwrap().unwrap();
            verify_consistency(size, root, 1_008, &head.root, &proof).unwrap();
        }
    }
    assert_eq!(store.inclusion_proof(0, 1_009).await.unwrap(), None);
    assert_eq!(store.consistency_proof(5, 1_009).await.unwrap(), None);
    assert_eq!(store.entries(1_000, 99).await.unwrap().entries.len(), 8);
    assert!(store.entries(1_008, 99).await.unwrap().entries.is_empty());
    drop(store);
    assert_eq!(fixture.open().tree_head().await.unwrap(), head);
}

pub async fn time_never_goes_back_and_an_unsettled_clock_approves_nothing<P: Fixture>() {
    let fixture = P::new();
    let store = fixture.open();
    let id = submit(&store, asked(1)).await.request.id;
    fixture.clock().forward(-10_000);
    // The clock claims to be settled, but is behind the newest entry.
    let behind = store.apply(id, says("ana", Choice::Approve), context()).await;
    assert_eq!(behind.unwrap_err(), StoreError::Refused(TransitionError::ClockUnreliable));
    store.append(vec![pass_entry()]).await.unwrap();
    store.apply(id, says("ana", Choice::Deny), context()).await.unwrap();
    let times: Vec<_> = verified(&store).await.iter().map(|entry| entry.at).collect();
    assert_eq!(times, [START, START, START]);
}

const YEAR: i64 = 365 * 86_400_000;

/// The clock was a year ahead for a while: what was made then ends with the rebase.
pub async fn a_rebased_clock_takes_the_rights_of_the_other_time_away<P: Fixture>() {
    let fixture = P::new();
    let store = fixture.open();
    let early = approved(&store, asked(1)).await.request.id;
    fixture.clock().forward(YEAR);
    let mut late = asked(1);
    let at = fixture.clock().at();
    late.request.schedule = EscalationTimes::default().schedule(at, Tier::Medium, false, None);
    let waits = late.clone();
    let late = approved(&store, late).await.request.id;
    let waits = NewRequest { request: Request { id: fresh_id(), ..waits.request }, ..waits };
    let waits = submit(&store, waits).await.request.id;
    store.create_grant(grant(None), context()).await.unwrap();
    assert_eq!(store.grants(false).await.unwrap().len(), 1);
    store.record_pass(pass_entry()).await.unwrap();
    fixture.clock().forward(-YEAR);
    let now = fixture.clock().at();
    let redeem = async |id| store.redeem(id, "coder".to_owned(), call(1), context()).await;
    assert!(redeem(late).await.is_err(), "nothing is redeemed before");
    // Neither the same time nor a later one is a rebase.
    let to = |to| ClockRebase { to, person: "ana".to_owned() };
    let later = now.plus(Millis(2 * 365 * 86_400_000));
    let later = store.rebase_clock(to(later), context()).await;
    assert!(matches!(later, Err(StoreError::Invalid(_))));
    store.rebase_clock(to(now), context()).await.unwrap();
    store.record_pass(pass_entry()).await.unwrap();
    for id in [early, late] {
        assert_eq!(redeem(id).await.unwrap(), Redemption::Expired);
    }
    assert_eq!(store.request(waits).await.unwrap().unwrap().request.state, State::Expired);
    assert!(store.grants(false).await.unwrap().is_empty());
    // What is approved now has a permit, also after the store is opened again.
    let mut new = asked(1);
    new.request.schedule = EscalationTimes::default().schedule(now, Tier::Medium, false, None);
    let new = approved(&store, new).await.request.id;
    drop(store);
    let store = fixture.open();
    let redeem = async |id| store.redeem(id, "coder".to_owned(), call(1), context()).await;
    for id in [early, late] {
        assert_eq!(redeem(id).await.unwrap(), Redemption::Expired);
    }
    // A permit of the other time stays void when the clock reaches that time.
    assert_eq!(redeem(new).await.unwrap(), Redemption::Accepted);
    fixture.clock().forward(YEAR);
    assert_eq!(redeem(late).await.unwrap(), Redemption::Expired);
    let entries = verified(&store).await;
    let rebased: Vec<_> =
        entries.iter().filter(|entry| entry.kind == EntryKind::ClockRebased).collect();
    assert_eq!((rebased.len(), rebased[0].person.as_deref()), (1, Some("ana")));
    assert_eq!(rebased[0].at, now.0);
}

pub async fn only_a_newer_checkpoint_is_stored<P: Fixture>() {
    let fixture = P::new();
    let store = fixture.open();
    store.append((0..9).map(|_| pass_entry()).collect()).await.unwrap();
    assert_eq!(store.checkpoint().await.unwrap(), None);
    for (size, note) in [(5, "five"), (5, "again"), (4, "four")] {
        store.save_checkpoint(size, note.to_owned()).await.unwrap();
        assert_eq!(store.checkpoint().await.unwrap().as_deref(), Some("five"));
    }
    assert!(store.save_checkpoint(10, "of more than there is".to_owned()).await.is_err());
    store.save_checkpoint(9, "nine".to_owned()).await.unwrap();
    assert_eq!(store.checkpoint().await.unwrap().as_deref(), Some("nine"));
}

pub async fn a_clean_stop_writes_all_passes<P: Fixture>() {
    let fixture = P::new();
    let store = Arc::new(fixture.open());
    let tasks: Vec<_> = (0..8)
        .map(|_| {
            let store = store.clone();
            tokio::spawn(async move {
                for _ in 0..1_500 {
                    store.record_pass(pass_entry()).await.unwrap();
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    let id = submit(&*store, asked(1)).await.request.id;
    store.close().await.unwrap();
    drop(store);
    let store = fixture.open();
    let kinds = kinds(&store).await;
    assert_eq!(kinds.iter().filter(|kind| **kind == EntryKind::Pass).count(), 12_000);
    assert!(!kinds.contains(&EntryKind::Gap));
    assert!(store.request(id).await.unwrap().is_some());
}

pub async fn a_crash_leaves_a_recorded_gap<P: Fixture>() {
    let fixture = P::new();
    let store = fixture.open();
    store.append(vec![pass_entry()]).await.unwrap();
    drop(store);
    // Without a pass nothing can be missing.
    let store = fixture.open();
    assert_eq!(kinds(&store).await, [EntryKind::Pass]);
    let mut answered = 1;
    for _ in 0..300 {
        store.record_pass(pass_entry()).await.unwrap();
        answered += 1;
    }
    drop(store);
    let store = fixture.open();
    let entries = verified(&store).await;
    let written = entries.iter().filter(|entry| entry.kind == EntryKind::Pass).count();
    let gap = entries.last().unwrap();
    assert_eq!(gap.kind, EntryKind::Gap);
    let fact = |wanted: &str| -> usize {
        let fact = gap.facts.iter().find(|(name, _)| name == wanted).unwrap();
        Value::as_number(&fact.1).unwrap().parse().unwrap()
    };
    assert_eq!(fact("after_entries"), written);
    assert!(answered - written <= fact("passes_at_most"), "{answered} {written} {gap:?}");
    assert!(fact("passes_at_most") <= 4_096 + 300);
    drop(store);
    let again = kinds(&fixture.open()).await;
    assert_eq!(again.iter().filter(|kind| **kind == EntryKind::Gap).count(), 1);
}

pub async fn an_entry_that_cannot_be_written_does_not_pass<P: Fixture>() {
    let fixture = P::new();
    let store = fixture.open();
    for _ in 0..2 {
        let mut long: Entry<'static> = pass_entry();
        long.facts = vec![("x".into(), Value::String("y".repeat(70_000).into()))];
        assert!(matches!(store.record_pass(long).await, Err(StoreError::Invalid(_))));
        // The second time a mark is reserved, so the pass is deferred.
        store.record_pass(pass_entry()).await.unwrap();
    }
    let mut long = pass_entry();
    long.facts = vec![("x".into(), Value::String("y".repeat(70_000).into()))];
    // All or nothing: the valid entry before it is not written either.
    assert!(store.append(vec![pass_entry(), long]).await.is_err());
    let mut bad = context();
    bad.facts = Some("[1]".to_owned());
    let mut new = asked(1);
    new.context = bad;
    assert!(matches!(store.submit(new).await, Err(StoreError::Invalid(_))));
    assert!(store.pending().await.unwrap().is_empty());
    store.close().await.unwrap();
    drop(store);
    assert_eq!(kinds(&fixture.open()).await, [EntryKind::Pass, EntryKind::Pass]);
}

pub async fn the_newest_entries_about_what_is_in_force_are_found<P: Fixture>() {
    let fixture = P::new();
    let store = fixture.open();
    assert_eq!(store.newest_entries().await.unwrap(), NewestEntries::default());
    let entry = |kind, name: &'static str, text: &'static str| {
        let mut entry = Entry::new(0, kind, context().policy);
        entry.facts.push((name.into(), Value::String(text.into())));
        entry
    };
    let config = |name, text| entry(EntryKind::Config, name, text);
    let entries = vec![
        config(MODE_FACT, "observe"),
        config(POLICY_FACT, "one"),
        config(MODE_FACT, "enforce"),
        config(SETTINGS_FACT, "set"),
        config("changes", "nothing about the mode"),
        entry(EntryKind::Frozen, "by", "ana"),
        entry(EntryKind::Thawed, "ended", "frozen"),
        entry(EntryKind::Acknowledge, "fault", "rolled back"),
        entry(EntryKind::Certificate, "action", "issue"),
        entry(EntryKind::Certificate, "action", "revoke"),
        // Another kind says nothing about the mode.
        entry(EntryKind::Pass, MODE_FACT, "observe"),
        entry(EntryKind::Outcome, "nested", "\"kind\":\"config\""),
    ];
    store.append(entries).await.unwrap();
    store.close().await.unwrap();
    let found = fixture.open().newest_entries().await.unwrap();
    let fact = |entry: &Option<Vec<u8>>, name| fact_of(entry.as_deref(), name);
    assert_eq!(fact(&found.mode, MODE_FACT).as_deref(), Some("enforce"));
    assert_eq!(fact(&found.policy, POLICY_FACT).as_deref(), Some("one"));
    assert_eq!(fact(&found.settings, SETTINGS_FACT).as_deref(), Some("set"));
    assert_eq!(fact(&found.freeze, "ended").as_deref(), Some("frozen"));
    assert_eq!(fact(&found.acknowledge, "fault").as_deref(), Some("rolled back"));
    let actions: Vec<Option<String>> =
        found.certificates.iter().map(|entry| fact_of(Some(entry), "action")).collect();
    assert_eq!(actions, [None, Some("issue".to_owned()), Some("revoke".to_owned())]);
}
