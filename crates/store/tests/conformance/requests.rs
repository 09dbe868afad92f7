//! Requests from submission to outcome.

use countersign_ledger::entry::EntryKind;
use countersign_store::{
    AnnouncementKind, AttemptResult, DeliveryAttempt, EditRecord, Redemption, RequestQuery, Store,
    StoreError, StoreEvent, SubmitResult, WriteContext,
};
use countersign_types::id::Id;
use countersign_types::tier::Tier;
use countersign_types::time::Timestamp;
use countersign_workflow::request::{
    AutomaticDecision, Choice, Decider, Decision, EditedCall, EscalationLevel, EscalationTimes,
    Event, Quorum, Requester, State, Transition, TransitionError,
};

use crate::setup::*;

pub async fn a_request_is_stored_with_entry_and_announcement<P: Fixture>() {
    let fixture = P::new();
    let store = fixture.open();
    let mut watch = store.subscribe();
    let new = asked(2);
    let stored = submit(&store, new.clone()).await;
    let id = stored.request.id;
    assert_eq!(stored.request, new.request);
    assert_eq!(store.request(id).await.unwrap().as_ref(), Some(&stored));
    assert_eq!(store.pending().await.unwrap(), [stored]);
    assert_eq!(watch.recv().await.unwrap(), StoreEvent::Asked(id));
    let first = store.apply(id, says("ana", Choice::Approve), context()).await.unwrap();
    assert_eq!(first.change, Transition::ApprovalCounted { approvals: 1, needed: 2 });
    assert_eq!(watch.recv().await.unwrap(), StoreEvent::Voted(id));
    let again = store.apply(id, says("ana", Choice::Approve), context()).await;
    assert_eq!(again.unwrap_err(), StoreError::Refused(TransitionError::AlreadyAnswered));
    fixture.clock().forward(60_000);
    let escalated = store.apply(id, Event::Time, context()).await.unwrap();
    assert_eq!(escalated.change, Transition::Escalated(EscalationLevel::Next));
    assert_eq!(store.apply(id, Event::Time, context()).await.unwrap().change, Transition::Nothing);
    let ended = store.apply(id, says("bob", Choice::Approve), context()).await.unwrap().stored;
    assert_eq!(ended.permit_until, Some(Timestamp(START + 120_000)));
    assert_eq!(store.request(id).await.unwrap(), Some(ended));
    assert!(store.pending().await.unwrap().is_empty());
    let outbox = store.outbox(0, 9).await.unwrap();
    let news: Vec<_> = outbox.iter().map(|out| out.news).collect();
    assert_eq!(
        news,
        [
            AnnouncementKind::Asked,
            AnnouncementKind::Escalated(EscalationLevel::Next),
            AnnouncementKind::Ended(State::Approved)
        ]
    );
    let told = [EntryKind::Ask, EntryKind::Vote, EntryKind::Escalate, EntryKind::Approve];
    assert_eq!(kinds(&store).await, told);
    assert_eq!(store.request_history(id).await.unwrap().len(), 4);
    let entries = verified(&store).await;
    assert_eq!(entries[3].person.as_deref(), Some("bob"));
    assert!(entries.iter().all(|entry| entry.facts.iter().any(|(name, _)| name == "points")));
    let missing = store.apply(fresh_id(), Event::Time, context()).await;
    assert_eq!(missing.unwrap_err(), StoreError::NotFound("request"));
}

pub async fn the_same_key_finds_the_same_request<P: Fixture>() {
    let fixture = P::new();
    let store = fixture.open();
    let keyed = || {
        let mut new = asked(1);
        new.idempotency = Some("k-1".to_owned());
        new
    };
    let first = submit(&store, keyed()).await;
    match store.submit(keyed()).await.unwrap() {
        SubmitResult::Existing(known) => assert_eq!(known, first),
        SubmitResult::New(new) => panic!("{new:?}"),
    }
    let coder = first.request.requester.clone();
    let found = store.request_by_key(coder.clone(), "k-1".to_owned()).await.unwrap();
    assert_eq!(found.as_ref(), Some(&first));
    assert_eq!(store.request_by_key(coder, "k-2".to_owned()).await.unwrap(), None);
    let eve = Requester::Agent("eve".to_owned());
    assert_eq!(store.request_by_key(eve, "k-1".to_owned()).await.unwrap(), None);
    let mut other = keyed();
    other.request.digest = call(2);
    assert_eq!(store.submit(other).await.unwrap_err(), StoreError::KeyReused);
    let mut foreign = keyed();
    foreign.request.requester = Requester::Agent("other".to_owned());
    submit(&store, foreign).await;
    let mut twice = asked(1);
    twice.request.id = first.request.id;
    assert_eq!(store.submit(twice).await.unwrap_err(), StoreError::Exists("request"));
    assert_eq!(kinds(&store).await, [EntryKind::Ask, EntryKind::Ask]);
}

pub async fn a_new_request_cannot_bring_a_decision<P: Fixture>() {
    let fixture = P::new();
    let store = fixture.open();
    let settled = |by: Decider, state: State| {
        let mut new = asked(1);
        new.request =
            new.request.decided_automatically(AutomaticDecision::Policy, Timestamp(START));
        new.request.state = state;
        let decision = new.request.decision.take().unwrap();
        new.request.decision = Some(Decision { by, state, ..decision });
        new
    };
    let people = Decider::People(vec!["eve".to_owned()]);
    let mut forged = vec![
        settled(people, State::Approved),
        settled(Decider::Requester, State::Approved),
        settled(Decider::Deadline, State::Expired),
    ];
    let mut bare = asked(1);
    bare.request.state = State::Approved;
    forged.push(bare);
    for new in forged {
        let answer = store.submit(new).await;
        assert!(matches!(answer, Err(StoreError::Invalid(_))), "{answer:?}");
    }
    assert!(store.find(RequestQuery::default()).await.unwrap().requests.is_empty());
    submit(&store, settled(Decider::Policy, State::Approved)).await;
    assert_eq!(kinds(&store).await, [EntryKind::Pass]);
}

pub async fn an_edited_approval_keeps_its_arguments<P: Fixture>() {
    let fixture = P::new();
    let store = fixture.open();
    let id = submit(&store, asked(1)).await.request.id;
    let mut event = says("ana", Choice::Approve);
    if let Event::Answer { edited, .. } = &mut event {
        *edited = Some(EditedCall {
            digest: call(9),
            tier: Tier::Medium,
            crisis: false,
            quorum: Quorum::default(),
            assurance: None,
        });
    }
    let without = store.apply(id, event.clone(), context()).await;
    assert!(matches!(without, Err(StoreError::Invalid(_))), "{without:?}");
    let (arguments, card) = (r#"{"to":"bo"}"#.to_owned(), r#"{"tier":"HIGH"}"#.to_owned());
    let with = WriteContext { edited: Some(EditRecord { arguments, card }), ..context() };
    let stored = store.apply(id, event, with).await.unwrap().stored;
    assert_eq!(stored.edited.as_deref(), Some(r#"{"to":"bo"}"#));
    assert_eq!(stored.edited_card.as_deref(), Some(r#"{"tier":"HIGH"}"#));
    assert_eq!(store.request(id).await.unwrap(), Some(stored));
    assert_eq!(kinds(&store).await, [EntryKind::Ask, EntryKind::Edit, EntryKind::Approve]);
    let old = store.redeem(id, "coder".to_owned(), call(1), context()).await.unwrap();
    assert_eq!(old, Redemption::AnotherCall);
    let new = store.redeem(id, "coder".to_owned(), call(9), context()).await.unwrap();
    assert_eq!(new, Redemption::Accepted);
}

pub async fn the_card_is_replaced_when_the_request_ends<P: Fixture>() {
    let fixture = P::new();
    let store = fixture.open();
    for event in [says("ana", Choice::Approve), says("ana", Choice::Deny), Event::Time] {
        let mut new = asked(1);
        new.card_after = Some(r#"{"brief":"Sends a message."}"#.to_owned());
        let stored = submit(&store, new.clone()).await;
        assert_eq!((&stored.card, &stored.brief), (&new.card, &new.brief));
        if matches!(event, Event::Time) {
            fixture.clock().forward(600_000);
        }
        let ended = store.apply(stored.request.id, event, context()).await.unwrap().stored;
        let left = Some(ended.card.clone());
        assert_eq!((left, ended.brief.as_str()), (new.card_after, "Sends a message."));
        assert_eq!(store.request(ended.request.id).await.unwrap(), Some(ended));
    }
}

pub async fn people_find_requests_page_by_page<P: Fixture>() {
    let fixture = P::new();
    let store = fixture.open();
    let group = fresh_id();
    let mut ids = Vec::new();
    for number in 0..7 {
        let mut new = asked(1);
        new.brief = format!("Message number {number}");
        new.group = (number % 2 == 0).then_some(group);
        ids.push(submit(&store, new).await.request.id);
    }
    ids.reverse();
    let first = store.find(RequestQuery { limit: 4, ..RequestQuery::default() }).await.unwrap();
    let second = RequestQuery { limit: 4, before: first.next, ..RequestQuery::default() };
    let second = store.find(second).await.unwrap();
    assert_eq!(second.next, None);
    let pages = first.requests.iter().chain(&second.requests);
    assert_eq!(pages.map(|stored| stored.request.id).collect::<Vec<_>>(), ids);
    let count = async |query: RequestQuery| store.find(query).await.unwrap().requests.len();
    assert_eq!(count(RequestQuery { group: Some(group), ..RequestQuery::default() }).await, 4);
    let text = |text: &str| RequestQuery { text: Some(text.to_owned()), ..RequestQuery::default() };
    assert_eq!(count(text("NUMBER 3")).await, 1);
    assert_eq!(count(text(ids[0].to_string().get(4..).unwrap())).await, 1);
    assert_eq!(count(text("%")).await, 0);
    let mut new = asked(1);
    new.request.digest = call(77);
    let arguments = r#"{"command":"chmod -R 777 \"/var/www\"","times":31415926}"#;
    new.card = serde_json::json!({ "arguments": arguments, "command": null }).to_string();
    new.session = "nightly-deploy".to_owned();
    new.request.requester = Requester::Agent("hermes".to_owned());
    let words = countersign_risk::word_pair::word_pair(&new.request.digest.canonical).to_string();
    submit(&store, new).await;
    let (first, second) = words.split_once('-').unwrap();
    let both = format!("{first} {second}");
    let texts = ["chmod -r 777 \"/var", "31415926", "NIGHTLY", "hermes", &words, second, &both];
    for wanted in texts {
        assert_eq!(count(text(wanted)).await, 1, "{wanted}");
    }
    assert_eq!(count(text("rm -rf /var/www")).await, 0);
    assert_eq!(
        count(RequestQuery { agent: Some("x".to_owned()), ..RequestQuery::default() }).await,
        0
    );
    assert_eq!(
        count(RequestQuery { state: Some(State::Denied), ..RequestQuery::default() }).await,
        0
    );
}

/// One search reads a bounded number of requests.
pub async fn a_truncated_search_can_be_continued<P: Fixture>() {
    const OTHERS: usize = 5_100;
    let fixture = P::new();
    let store = std::sync::Arc::new(fixture.open());
    let mut wanted = asked(1);
    wanted.brief = "Deletes the needle".to_owned();
    let wanted = submit(&*store, wanted).await.request.id;
    // The writer's queue is bounded: fewer at once than it holds.
    for _ in 0..OTHERS / 1_020 {
        let tasks: Vec<_> = (0..1_020)
            .map(|_| {
                let (store, new) = (store.clone(), asked(2));
                tokio::spawn(async move { store.submit(new).await.unwrap() })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
    }
    let query = |before| RequestQuery {
        text: Some("needle".to_owned()),
        before,
        ..RequestQuery::default()
    };
    let first = store.find(query(None)).await.unwrap();
    assert!(first.requests.is_empty() && first.truncated && first.next.is_some());
    let rest = store.find(query(first.next)).await.unwrap();
    let found: Vec<Id> = rest.requests.iter().map(|stored| stored.request.id).collect();
    assert_eq!((found, rest.truncated, rest.next), (vec![wanted], false, None));
    // A list without a text search is not truncated here.
    let all = store.find(RequestQuery { limit: 500, ..RequestQuery::default() }).await.unwrap();
    assert!(all.requests.len() == 500 && !all.truncated);
}

pub async fn similar_calls_are_counted_by_decision<P: Fixture>() {
    let fixture = P::new();
    let store = fixture.open();
    let ask = async |tool: &str, session: &str, agent: &str| {
        let mut new = asked(1);
        new.tool = tool.to_owned();
        new.session = session.to_owned();
        new.request.requester = Requester::Agent(agent.to_owned());
        new.request.schedule =
            EscalationTimes::default().schedule(fixture.clock().at(), Tier::Medium, false, None);
        submit(&store, new).await.request.id
    };
    let answer = async |id: Id, choice| {
        store.apply(id, says("ana", choice), context()).await.unwrap();
    };
    let old = ask("mail", "one", "coder").await;
    answer(old, Choice::Approve).await;
    fixture.clock().forward(60_000);
    let since = fixture.clock().at();
    let mut ended = Vec::new();
    for choice in [Choice::Approve, Choice::Deny, Choice::Approve] {
        let id = ask("mail", "two", "coder").await;
        answer(id, choice).await;
        ended.push(id);
    }
    for (tool, agent) in [("mail", "another"), ("post", "coder")] {
        answer(ask(tool, "two", agent).await, Choice::Approve).await;
    }
    let waits = ask("mail", "two", "coder").await;
    let this = ask("mail", "two", "coder").await;
    let similar = async |since| {
        let tool = ("mail".to_owned(), Tier::Medium);
        store.similar_calls("coder".to_owned(), tool, this, since).await.unwrap()
    };
    let found = similar(since).await;
    assert_eq!((found.approved, found.denied, found.expired), (2, 1, 0));
    let newest: Vec<Id> = found.newest.iter().map(|stored| stored.request.id).collect();
    assert_eq!(newest, [ended[2], ended[1], ended[0], old]);
    assert_eq!(similar(Timestamp(0)).await.approved, 3);
    // Calls of a lower tier are not counted.
    let grave = ("mail".to_owned(), Tier::High);
    let found = store.similar_calls("coder".to_owned(), grave, this, since).await.unwrap();
    assert_eq!((found.approved, found.newest.len()), (0, 0));
    // Later requests are not counted.
    answer(waits, Choice::Deny).await;
    let later = ask("mail", "two", "coder").await;
    answer(later, Choice::Deny).await;
    assert_eq!(similar(since).await.denied, 2);
    // A session is found by its name.
    let session =
        |name: &str| RequestQuery { session: Some(name.to_owned()), ..RequestQuery::default() };
    let one = store.find(session("one")).await.unwrap().requests;
    assert_eq!(one.iter().map(|stored| stored.request.id).collect::<Vec<_>>(), [old]);
    assert_eq!(store.find(session("two")).await.unwrap().requests.len(), 8);
    assert_eq!(store.find(session("")).await.unwrap().requests.len(), 0);
}

pub async fn a_permit_is_redeemed_once_in_time_by_its_agent_for_its_call<P: Fixture>() {
    let fixture = P::new();
    let store = fixture.open();
    let use_it = async |id, agent: &str, byte| {
        store.redeem(id, agent.to_owned(), call(byte), context()).await.unwrap()
    };
    let waits = submit(&store, asked(1)).await.request.id;
    assert_eq!(use_it(waits, "coder", 1).await, Redemption::NotApproved(State::Pending));
    let id = approved(&store, asked(1)).await.request.id;
    assert_eq!(use_it(id, "other", 1).await, Redemption::AnotherAgent);
    assert_eq!(use_it(id, "coder", 2).await, Redemption::AnotherCall);
    fixture.clock().settle(false);
    let unsettled = store.redeem(id, "coder".to_owned(), call(1), context()).await;
    assert_eq!(unsettled.unwrap_err(), StoreError::Refused(TransitionError::ClockUnreliable));
    fixture.clock().settle(true);
    fixture.clock().forward(59_999);
    assert_eq!(use_it(id, "coder", 1).await, Redemption::Accepted);
    assert_eq!(use_it(id, "coder", 1).await, Redemption::AlreadyUsed(Timestamp(START + 59_999)));
    let late = approved(&store, asked(1)).await.request.id;
    fixture.clock().forward(60_000);
    assert_eq!(use_it(late, "coder", 1).await, Redemption::Expired);
}

pub async fn approvals_are_unused_until_they_are_redeemed_or_expire<P: Fixture>() {
    let fixture = P::new();
    let store = fixture.open();
    submit(&store, asked(1)).await;
    let (first, second) =
        (approved(&store, asked(1)).await.request.id, approved(&store, asked(1)).await.request.id);
    let unused = async |after: i64| store.unused_approvals(Timestamp(START + after)).await.unwrap();
    assert_eq!(unused(0).await, [first.min(second), first.max(second)]);
    store.redeem(first, "coder".to_owned(), call(1), context()).await.unwrap();
    assert_eq!(unused(59_999).await, [second]);
    assert_eq!(unused(60_000).await, []);
}

pub async fn only_the_first_outcome_counts<P: Fixture>() {
    let fixture = P::new();
    let store = fixture.open();
    let waits = submit(&store, asked(1)).await.request.id;
    let report = async |id, agent: &str, word: &str| {
        store.record_outcome(id, agent.to_owned(), word.to_owned(), context()).await
    };
    assert!(matches!(report(waits, "coder", "1").await, Err(StoreError::Invalid(_))));
    let id = approved(&store, asked(1)).await.request.id;
    let foreign = report(id, "other", "1").await;
    assert_eq!(foreign.unwrap_err(), StoreError::NotFound("request"));
    for word in ["1", "2"] {
        assert_eq!(report(id, "coder", word).await.unwrap().outcome.as_deref(), Some("1"));
    }
    let outcomes = kinds(&store).await.into_iter().filter(|kind| *kind == EntryKind::Outcome);
    assert_eq!(outcomes.count(), 1);
}

pub async fn a_wait_ends_with_the_request_and_removes_its_waiter<P: Fixture>() {
    let fixture = P::new();
    let store = std::sync::Arc::new(fixture.open());
    let id = submit(&*store, asked(1)).await.request.id;
    let waits = tokio::spawn({
        let store = store.clone();
        async move { store.wait_for_end(id).await }
    });
    // A waiter that is dropped does not block the others.
    let gone = tokio::time::timeout(std::time::Duration::ZERO, store.wait_for_end(id)).await;
    assert!(gone.is_err());
    let ended = store.apply(id, says("ana", Choice::Deny), context()).await.unwrap().stored;
    assert_eq!(waits.await.unwrap().unwrap(), ended);
    assert_eq!(store.wait_for_end(id).await.unwrap(), ended);
    assert_eq!(store.wait_for_end(fresh_id()).await.unwrap_err(), StoreError::NotFound("request"));
    let other = submit(&*store, asked(1)).await.request.id;
    let mut waits = Box::pin(store.wait_for_end(other));
    assert!(tokio::time::timeout(std::time::Duration::ZERO, &mut waits).await.is_err());
    store.close().await.unwrap();
    assert_eq!(waits.await.unwrap_err(), StoreError::Closed);
    assert_eq!(store.wait_for_end(other).await.unwrap_err(), StoreError::Closed);
    assert_eq!(store.submit(asked(1)).await.unwrap_err(), StoreError::Closed);
    assert_eq!(store.record_pass(pass_entry()).await.unwrap_err(), StoreError::Closed);
    assert_eq!(store.close().await.unwrap_err(), StoreError::Closed);
}

pub async fn everything_is_there_after_reopening<P: Fixture>() {
    let fixture = P::new();
    let store = fixture.open();
    let id = submit(&store, asked(3)).await.request.id;
    store.apply(id, says("ana", Choice::Approve), context()).await.unwrap();
    fixture.clock().forward(61_000);
    store.apply(id, Event::Time, context()).await.unwrap();
    let over = approved(&store, asked(1)).await;
    let before = (store.pending().await.unwrap(), store.outbox(0, 99).await.unwrap());
    let head = store.tree_head().await.unwrap();
    drop(store);
    let store = fixture.open();
    let after = (store.pending().await.unwrap(), store.outbox(0, 99).await.unwrap());
    assert_eq!(before, after);
    assert_eq!(
        (after.0[0].request.level, after.0[0].request.votes.len()),
        (EscalationLevel::Next, 1)
    );
    assert_eq!(store.request(over.request.id).await.unwrap(), Some(over));
    assert_eq!(store.tree_head().await.unwrap(), head);
    verified(&store).await;
}

pub async fn a_drill_has_no_permit_and_no_outcome<P: Fixture>() {
    let fixture = P::new();
    let store = fixture.open();
    let drill = || {
        let mut new = asked(1);
        let (kind, shown) = ("force-push".to_owned(), "coder".to_owned());
        new.request.requester = Requester::Drill { kind, shown };
        new
    };
    let id = submit(&store, drill()).await.request.id;
    let read = store.request(id).await.unwrap().unwrap();
    assert_eq!(read.request.requester, drill().request.requester);
    let applied = store.apply(id, says("ana", Choice::Approve), context()).await.unwrap().stored;
    assert_eq!((applied.request.state, applied.permit_until), (State::Approved, None));
    assert_eq!(store.request(id).await.unwrap().unwrap(), applied);
    // Neither the agent on the card nor an agent with the drill's name can see it.
    for agent in ["coder", "drill"] {
        let used = store.redeem(id, agent.to_owned(), call(1), context()).await.unwrap();
        assert_eq!(used, Redemption::AnotherAgent, "{agent}");
        let told = store.record_outcome(id, agent.to_owned(), "{}".to_owned(), context()).await;
        assert_eq!(told.unwrap_err(), StoreError::NotFound("request"), "{agent}");
        let query = RequestQuery { agent: Some(agent.to_owned()), ..RequestQuery::default() };
        assert!(store.find(query).await.unwrap().requests.is_empty(), "{agent}");
        let tool = ("send_message".to_owned(), Tier::Medium);
        let similar = store.similar_calls(agent.to_owned(), tool, fresh_id(), Timestamp(0)).await;
        let similar = similar.unwrap();
        assert_eq!((similar.newest.len(), similar.approved), (0, 0), "{agent}");
    }
    // Its ledger entries are marked as a drill and name no agent.
    for entry in verified(&store).await {
        assert_eq!((entry.agent.as_deref(), entry.session.as_deref()), (Some("drill"), None));
        let says = entry.facts.iter().find(|(name, _)| name == "drill");
        assert_eq!(says.and_then(|(_, value)| value.as_str()), Some("force-push"));
    }
    let mut settled = drill();
    settled.request =
        settled.request.decided_automatically(AutomaticDecision::Policy, Timestamp(START));
    assert!(matches!(store.submit(settled).await, Err(StoreError::Invalid(_))));
}

pub async fn an_undelivered_message_is_announced_again<P: Fixture>() {
    let fixture = P::new();
    let store = fixture.open();
    let id = submit(&store, asked(1)).await.request.id;
    let seq = store.outbox(0, 9).await.unwrap()[0].seq;
    let arrived = |seq, channel: &str, name: &str, done| DeliveryAttempt {
        seq,
        channel: channel.to_owned(),
        result: AttemptResult::Delivered(name.to_owned()),
        done,
    };
    store.record_attempt(arrived(seq, "push", "P1", false), context()).await.unwrap();
    store.record_attempt(arrived(seq, "sms", "SM1", true), context()).await.unwrap();
    assert!(store.outbox(0, 9).await.unwrap().is_empty());
    let lost = async |channel: &str, name: &str| {
        let (channel, name) = (channel.to_owned(), name.to_owned());
        store.mark_undelivered(channel, name, "error 30003".to_owned(), context()).await.unwrap()
    };
    // A message of another channel, or an unknown one.
    assert_eq!((lost("push", "SM1").await, lost("sms", "SM2").await), (None, None));
    assert!(store.outbox(0, 9).await.unwrap().is_empty());
    let mut watch = store.subscribe();
    assert_eq!(lost("sms", "SM1").await, Some(id));
    assert_eq!(watch.recv().await.unwrap(), StoreEvent::Undelivered(id));
    let again = store.outbox(0, 9).await.unwrap().remove(0);
    assert!(again.seq > seq && again.news == AnnouncementKind::Asked && again.request == id);
    let told: Vec<_> = again.tried.iter().map(|one| (&*one.channel, one.result.clone())).collect();
    let failed = AttemptResult::Failed("error 30003".to_owned());
    let there = AttemptResult::Delivered("P1".to_owned());
    assert_eq!(told, [("push", there), ("sms", failed)]);
    assert_eq!(store.deliveries(id).await.unwrap(), again.tried, "no duplicate");
    assert_eq!(kinds(&store).await.last(), Some(&EntryKind::NotifyFailed));
    // A second report changes nothing.
    assert_eq!(lost("sms", "SM1").await, None);
    assert_eq!(store.outbox(0, 9).await.unwrap(), std::slice::from_ref(&again));
    // After an escalation everyone is notified again anyway.
    store.record_attempt(arrived(again.seq, "desk", "D1", true), context()).await.unwrap();
    fixture.clock().forward(60_000);
    store.apply(id, Event::Time, context()).await.unwrap();
    let escalation = store.outbox(0, 9).await.unwrap();
    assert_eq!(lost("desk", "D1").await, Some(id));
    assert_eq!(store.outbox(0, 9).await.unwrap(), escalation);
    store.record_attempt(arrived(escalation[0].seq, "sms", "SM9", true), context()).await.unwrap();
    store.apply(id, says("ana", Choice::Deny), context()).await.unwrap();
    assert_eq!(lost("sms", "SM9").await, None, "too late");
    verified(&store).await;
}
