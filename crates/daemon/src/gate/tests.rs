//! The gate as a whole, over a real store: what passes, what waits, and that nothing else runs.

use std::sync::Arc;
use std::time::{Duration, Instant};

use countersign_store::{Applied, CrisisSession, Redemption, RequestQuery};
use countersign_types::time::Timestamp;
use countersign_workflow::assurance::{Needs, Standing, Tenure};
use countersign_workflow::request::{Change, Choice, Decider, Event, Refusal, State};

use super::*;
use crate::chance;
use crate::house::House;

const READ: &str = r#"{"command":"ls -la"}"#;
const DELETE: &str = r#"{"command":"rm -rf /tmp/build"}"#;
const ROOT: &str = r#"{"command":"rm -rf /"}"#;
const MESSAGE: &str =
    r#"{"tool":"send_message","arguments":{"to":"bo","text":"hi"},"session":"s1"}"#;
const MAIL: &str = r#"{"tool":"send_email","arguments":{"to":"ana@example.org","body":"hi"}}"#;

fn caller(agent: &str) -> Caller {
    Caller { agent: agent.to_owned(), own_addresses: ["ana@example.org".to_owned()].into() }
}

fn question(text: &'static str) -> Question<'static> {
    // Leaked: a test's call may live as long as the test.
    let value = Box::leak(Box::new(countersign_json::parse(text).unwrap()));
    Question {
        call: Call::from_json(value).unwrap(),
        raw: text.as_bytes(),
        time: None,
        key: None,
        group: None,
        permit: false,
        join: Join::default(),
        detail: &|| "{}".to_owned(),
    }
}

async fn submit(gate: &Gate, text: &'static str) -> Result<Answer, Rejection> {
    gate.submit(question(text), &caller("claude")).await
}

/// The request that a question became.
async fn kept(gate: &Gate, text: &'static str) -> StoredRequest {
    match submit(gate, text).await.unwrap() {
        Answer::Kept(stored) => *stored,
        Answer::Passed(passed) => panic!("{text} passed: {:?}", passed.why),
    }
}

fn answer(stored: &StoredRequest, person: &str, choice: Choice, reason: &str) -> Event {
    Event::Answer {
        person: person.to_owned(),
        choice,
        seen: stored.request.digest,
        edited: None,
        channel: "web".to_owned(),
        reason: reason.to_owned(),
        standing: (Standing::login(false, Tenure::from(Timestamp(0))), Needs::default()),
    }
}

async fn decide(
    house: &House,
    stored: &StoredRequest,
    choice: Choice,
) -> Result<Applied, StoreError> {
    let event = answer(stored, "owner", choice, "");
    house.gate.decide(stored.request.id, event, house.note()).await
}

#[tokio::test]
async fn harmless_calls_pass_and_leave_a_line() {
    let house = House::usual().await;
    assert!(matches!(submit(&house.gate, READ).await, Ok(Answer::Passed(_))));
    // The line rides the next commit.
    house.gate.store().append(Vec::new()).await.unwrap();
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(house.count("pass").await, 1);
    assert_eq!(house.gate.open_requests(), 0);
}

#[tokio::test]
async fn an_approval_wakes_who_waits_and_a_denial_too() {
    let house = House::usual().await;
    for (choice, state) in [(Choice::Approve, State::Approved), (Choice::Deny, State::Denied)] {
        let stored = kept(&house.gate, DELETE).await;
        assert_eq!((stored.request.state, house.gate.open_requests()), (State::Pending, 1));
        let (gate, id) = (Arc::clone(&house.gate), stored.request.id);
        let waiter = tokio::spawn(async move { gate.wait(id, Duration::from_secs(20)).await });
        tokio::time::sleep(Duration::from_millis(30)).await;
        assert!(!waiter.is_finished());
        decide(&house, &stored, choice).await.unwrap();
        assert_eq!(waiter.await.unwrap().unwrap().request.state, state);
        assert_eq!(house.gate.open_requests(), 0);
        let late = decide(&house, &stored, Choice::Approve).await;
        assert_eq!(late.unwrap_err(), StoreError::Refused(Refusal::Ended(state)));
    }
}

#[tokio::test]
async fn who_waits_too_short_is_told_that_it_is_pending() {
    let house = House::usual().await;
    let stored = kept(&house.gate, DELETE).await;
    let waited = house.gate.wait(stored.request.id, Duration::from_millis(20)).await.unwrap();
    assert_eq!(waited.request.state, State::Pending);
    let nothing = house.gate.wait(Id::from_bytes([7; 16]), Duration::from_millis(20)).await;
    assert!(nothing.is_err());
}

#[tokio::test]
async fn silence_ends_in_a_no_by_the_watch() {
    let house = House::with("", "[times]\nusual_seconds = 1\n").await;
    let (stop, stopping) = tokio::sync::watch::channel(false);
    let watch = tokio::spawn(crate::watch::run(Arc::clone(&house.gate), stopping));
    let stored = kept(&house.gate, DELETE).await;
    let ended = house.gate.wait(stored.request.id, Duration::from_secs(10)).await.unwrap();
    assert_eq!(ended.request.state, State::Expired);
    let late = decide(&house, &stored, Choice::Approve).await;
    assert_eq!(late.unwrap_err(), StoreError::Refused(Refusal::Ended(State::Expired)));
    stop.send(true).unwrap();
    watch.await.unwrap();
    assert_eq!(house.gate.open_requests(), 0);
}

#[tokio::test]
async fn only_who_asked_takes_it_back() {
    let house = House::usual().await;
    let stored = kept(&house.gate, DELETE).await;
    let id = stored.request.id;
    let other = house.gate.cancel(id, &caller("codex")).await;
    assert_eq!(other.unwrap_err(), StoreError::Refused(Refusal::NotYours));
    let applied = house.gate.cancel(id, &caller("claude")).await.unwrap();
    assert!(matches!(applied.change, Change::Ended(_)));
    assert_eq!(applied.stored.request.state, State::Cancelled);
}

#[tokio::test]
async fn the_same_key_is_the_same_request() {
    let house = House::with("", "[flood]\nasks_per_minute = 2\n").await;
    let keyed = async |text, key: &str| {
        let question = Question { key: Some(key.to_owned()), ..question(text) };
        house.gate.submit(question, &caller("claude")).await
    };
    let id = |answer: Result<Answer, Rejection>| match answer.unwrap() {
        Answer::Kept(stored) => stored.request.id,
        Answer::Passed(_) => panic!("passed"),
    };
    let first = id(keyed(DELETE, "k").await);
    for _ in 0..10 {
        assert_eq!(id(keyed(DELETE, "k").await), first, "a retry asks nobody");
    }
    let other = keyed(MESSAGE, "k").await.unwrap_err();
    assert_eq!(other, Rejection::Unavailable(StoreError::KeyReused));
    assert_ne!(id(keyed(DELETE, "l").await), first);
    assert!(keyed(DELETE, "m").await.is_err());
    assert_eq!(id(keyed(DELETE, "k").await), first, "no limit holds for a retry");
    // A pass with a key is kept, so that it can be told again.
    assert_eq!(id(keyed(READ, "r").await), id(keyed(READ, "r").await));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_same_question_at_the_same_time_is_asked_once() {
    let house = House::usual().await;
    let asks: Vec<_> = (0..50)
        .map(|_| {
            let gate = Arc::clone(&house.gate);
            tokio::spawn(async move { kept(&gate, DELETE).await.request.id })
        })
        .collect();
    let mut ids = std::collections::HashSet::new();
    for ask in asks {
        ids.insert(ask.await.unwrap());
    }
    assert_eq!((ids.len(), house.gate.open_requests()), (1, 1));
    // Another agent's is another question, and after the end it is a new one.
    let other = house.gate.submit(question(DELETE), &caller("codex")).await.unwrap();
    assert!(matches!(other, Answer::Kept(stored) if !ids.contains(&stored.request.id)));
    let pending = house.gate.store().pending().await.unwrap();
    decide(&house, &pending[0], Choice::Approve).await.unwrap();
    assert!(!ids.contains(&kept(&house.gate, DELETE).await.request.id));
}

async fn give(house: &House, uses_left: Option<u32>) -> Id {
    let now = house.now();
    let grant = countersign_workflow::grant::Grant {
        id: chance::id(now).unwrap(),
        shape: countersign_workflow::grant::Shape::Action { tool: "send_message".to_owned() },
        agent: None,
        session: None,
        made_by: "owner".to_owned(),
        made_at: now,
        expires: None,
        uses_left,
        revoked: None,
    };
    house.gate.store().create_grant(grant.clone(), house.note()).await.unwrap();
    house.gate.grants().add(grant.clone());
    grant.id
}

#[tokio::test]
async fn a_grant_covers_what_it_speaks_of_until_it_is_used_up() {
    let house = House::usual().await;
    let counted = give(&house, Some(2)).await;
    for _ in 0..2 {
        let stored = kept(&house.gate, MESSAGE).await;
        let by = stored.request.decision.map(|decision| decision.by);
        assert_eq!(by, Some(Decider::Grant(counted)));
    }
    assert_eq!(kept(&house.gate, MESSAGE).await.request.state, State::Pending);
    assert_eq!(kept(&house.gate, DELETE).await.request.state, State::Pending);
    assert_eq!(kept(&house.gate, ROOT).await.request.state, State::Pending);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_grant_for_one_call_covers_one_of_many_at_once() {
    let house = House::usual().await;
    give(&house, Some(1)).await;
    let asks: Vec<_> = (0..20)
        .map(|_| {
            let gate = Arc::clone(&house.gate);
            tokio::spawn(async move { kept(&gate, MESSAGE).await.request.state })
        })
        .collect();
    let mut approved = 0;
    for ask in asks {
        approved += usize::from(ask.await.unwrap() == State::Approved);
    }
    assert_eq!(approved, 1);
}

#[tokio::test]
async fn mail_to_oneself_is_the_only_thing_the_seed_lets_through() {
    let house = House::usual().await;
    let stored = kept(&house.gate, MAIL).await;
    let decision = stored.request.decision.unwrap();
    assert_eq!(decision.reason, "whitelist:send_email");
    let stranger = Caller { agent: "codex".to_owned(), own_addresses: [].into() };
    let asked = house.gate.submit(question(MAIL), &stranger).await.unwrap();
    assert!(matches!(asked, Answer::Kept(stored) if stored.request.state == State::Pending));
}

#[tokio::test]
async fn the_whitelist_file_counts_while_it_can_be_trusted() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("w.json");
    let write = |text: &str| std::fs::write(&file, text).unwrap();
    let listed = r#"{"send_message":{"targets":["bo"]}}"#;
    write(listed);
    let section = format!("[whitelist]\nfile = \"{}\"\n", file.display());
    let house = House::with("", &section).await;
    let rules = || (*house.gate.rules()).clone();
    let stored = kept(&house.gate, MESSAGE).await;
    let decision = stored.request.decision.unwrap();
    assert_eq!(decision.reason, "whitelist:send_message");
    // The file stands for the defaults.
    assert_eq!(kept(&house.gate, MAIL).await.request.state, State::Pending);
    for bad in [r#"{"send_message":{"targets":"bo"}}"#, "", r#"{"send_message":{}}"#] {
        write(bad);
        house.gate.change_rules(rules()).await.unwrap();
        let stored = kept(&house.gate, MESSAGE).await;
        assert_eq!(stored.request.state, State::Pending, "{bad}");
        // A bad file does not fall back to the defaults either.
        assert_eq!(kept(&house.gate, MAIL).await.request.state, State::Pending, "{bad}");
        decide(&house, &stored, Choice::Approve).await.unwrap();
        write(listed);
        house.gate.change_rules(rules()).await.unwrap();
        assert_eq!(kept(&house.gate, MESSAGE).await.request.state, State::Approved);
    }
    // What a person took back does not return with the file.
    let Decider::Grant(id) = decision.by else { panic!("{:?}", decision.by) };
    assert!(house.gate.store().revoke_grant(id, "owner".into(), house.note()).await.unwrap());
    house.gate.change_rules(rules()).await.unwrap();
    assert_eq!(kept(&house.gate, MESSAGE).await.request.state, State::Pending);
}

#[tokio::test]
async fn in_a_crisis_no_grant_and_no_mode_lets_anything_out() {
    for mode in ["mode = \"enforce\"\n\n", "mode = \"observe\"\n\n"] {
        let house = House::with("", mode).await;
        give(&house, None).await;
        house.gate.crises().begin(CrisisSession {
            agent: "claude".to_owned(),
            session: "s1".to_owned(),
            level: 4,
            imminent: false,
            since: house.now(),
        });
        let stored = kept(&house.gate, MESSAGE).await;
        assert!(stored.request.crisis && stored.request.state == State::Pending);
        let silent = decide(&house, &stored, Choice::Approve).await;
        assert_eq!(silent.unwrap_err(), StoreError::Refused(Refusal::ReasonNeeded));
        let event = answer(&stored, "owner", Choice::Approve, "I spoke with her");
        let applied = house.gate.decide(stored.request.id, event, house.note()).await.unwrap();
        assert_eq!(applied.stored.request.state, State::Approved);
        assert!(matches!(submit(&house.gate, READ).await, Ok(Answer::Passed(_))));
    }
}

#[tokio::test]
async fn observing_blocks_nothing_and_says_that_it_would_have_asked() {
    let house = House::with("", "mode = \"observe\"\n\n").await;
    let answer = submit(&house.gate, ROOT).await.unwrap();
    assert!(matches!(answer, Answer::Passed(passed) if passed.why == Pass::Watching));
    assert_eq!(house.gate.open_requests(), 0);
}

#[tokio::test]
async fn no_store_means_no() {
    let house = House::usual().await;
    give(&house, None).await;
    let stored = kept(&house.gate, DELETE).await;
    house.gate.store().close().await.unwrap();
    for call in [READ, DELETE, MESSAGE, ROOT, MAIL] {
        let held = submit(&house.gate, call).await.map(|_| ()).unwrap_err();
        assert!(matches!(held, Rejection::Unavailable(_)), "{call}: {held}");
        let question = Question { permit: true, ..question(call) };
        let held = house.gate.submit(question, &caller("claude")).await.map(|_| ());
        assert!(matches!(held.unwrap_err(), Rejection::Unavailable(_)), "{call}");
    }
    assert!(decide(&house, &stored, Choice::Approve).await.is_err());
    let id = stored.request.id;
    assert!(house.gate.wait(id, Duration::from_millis(50)).await.is_err());
    let redeemed = house.gate.redeem(id, "claude".to_owned(), stored.request.digest).await;
    assert!(!matches!(redeemed, Ok(Redemption::Accepted)));
}

#[tokio::test]
async fn a_clock_that_went_back_approves_nothing() {
    let house = House::usual().await;
    give(&house, None).await;
    house.gate.clock().not_before(Timestamp(house.now().0 + 3_600_000));
    let stored = kept(&house.gate, MESSAGE).await;
    assert_eq!(stored.request.state, State::Pending);
    let refused = decide(&house, &stored, Choice::Approve).await.unwrap_err();
    assert_eq!(refused, StoreError::Refused(Refusal::ClockUnsettled));
    let permit = Question { permit: true, ..question(READ) };
    let held = house.gate.submit(permit, &caller("claude")).await.map(|_| ()).unwrap_err();
    assert_eq!(held, Rejection::ClockUnsettled);
    // A no needs no good clock.
    let denied = decide(&house, &stored, Choice::Deny).await.unwrap();
    assert_eq!(denied.stored.request.state, State::Denied);
}

#[tokio::test]
async fn what_is_logged_about_a_request_says_which() {
    let path = tempfile::NamedTempFile::new().unwrap();
    let log = crate::config::Log { level: "info".to_owned(), json: true, otlp: None };
    let log = crate::log::to(&log, path.reopen().unwrap());
    let _logging = tracing::dispatcher::set_default(&log);
    let house = House::with("", "[flood]\ndenials = 1\n").await;
    let stored = kept(&house.gate, DELETE).await;
    // Another test may have met the span for the first time just before this log was there.
    tracing::callsite::rebuild_interest_cache();
    decide(&house, &stored, Choice::Deny).await.unwrap();
    let text = std::fs::read_to_string(path.path()).unwrap();
    let line = text.lines().find(|line| line.contains("denied too often")).unwrap();
    let line: serde_json::Value = serde_json::from_str(line).unwrap();
    assert_eq!(line["span"]["name"], "request");
    assert_eq!(line["span"]["id"], stored.request.id.to_string());
}

#[tokio::test]
async fn denials_end_in_quarantine_and_refusals_in_one_line() {
    let section = "[flood]\ndenials = 3\nopen_per_agent = 2\n";
    let house = House::with("", section).await;
    for _ in 0..3 {
        let stored = kept(&house.gate, DELETE).await;
        decide(&house, &stored, Choice::Deny).await.unwrap();
    }
    for _ in 0..50 {
        let held = submit(&house.gate, DELETE).await.map(|_| ()).unwrap_err();
        assert!(matches!(held, Rejection::Quarantined(_)), "{held}");
    }
    assert!(matches!(submit(&house.gate, READ).await, Ok(Answer::Passed(_))));
    let other = house.gate.submit(question(DELETE), &caller("codex")).await;
    assert!(other.is_ok());
    assert_eq!(house.count("quarantine").await, 1);
    house.gate.tell_refusals().await;
    house.gate.tell_refusals().await;
    let told = house.ledger().await;
    let told: Vec<_> = told.iter().filter(|entry| !entry["facts"]["refused"].is_null()).collect();
    assert_eq!(told.len(), 1);
    assert_eq!((&told[0]["kind"], &told[0]["agent"]), (&"deny".into(), &"claude".into()));
    assert_eq!(told[0]["facts"], serde_json::json!({"refused": 50, "why": "quarantine"}));
}

#[tokio::test]
async fn a_flood_is_told_no_one_by_one_and_nobody_waits_for_it() {
    let house = House::with("", "[flood]\nopen_per_agent = 1\n").await;
    kept(&house.gate, DELETE).await;
    let start = std::time::Instant::now();
    let mut flood = tokio::task::JoinSet::new();
    for _ in 0..400 {
        let gate = Arc::clone(&house.gate);
        flood.spawn(async move { submit(&gate, ROOT).await.map(|_| ()).unwrap_err() });
    }
    while let Some(held) = flood.join_next().await {
        assert!(matches!(held.unwrap(), Rejection::TooManyQuestions(_)));
        if flood.len() == 200 {
            // The same question of somebody else is asked at once, and what is harmless passes.
            let other = house.gate.submit(question(ROOT), &caller("codex")).await;
            assert!(matches!(other, Ok(Answer::Kept(_))));
            assert!(matches!(submit(&house.gate, READ).await, Ok(Answer::Passed(_))));
        }
    }
    // The last of them waits for 0.3 s; had each kept the others from asking, it were 45 s.
    assert!(start.elapsed() >= Duration::from_millis(290), "{:?}", start.elapsed());
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
}

/// Waits until something holds that another task brings about.
async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(30);
    while !holds() {
        assert!(Instant::now() < end, "not within 30 s: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn who_asks_and_breaks_off_has_asked() {
    let house = House::with("", "[flood]\nasks_per_minute = 5\n").await;
    let (stop, stopping) = tokio::sync::watch::channel(false);
    let book = Arc::clone(&house.api.book);
    let follow = tokio::spawn(crate::auth::follow(book, Arc::clone(&house.gate), stopping));
    tokio::time::sleep(Duration::from_millis(50)).await;
    for number in 0..50 {
        let text = format!(r#"{{"command":"rm -rf /tmp/build{number}"}}"#);
        let asking = submit(&house.gate, Box::leak(text.into_boxed_str()));
        // Polled once: it is on its way to the store, and nobody waits for it.
        let _ = tokio::time::timeout(Duration::ZERO, asking).await;
    }
    // The store writes in order: what was on its way is written before this agent is.
    house.agent("later", 1_000_000).await;
    let found = house.gate.store().find(RequestQuery::default()).await.unwrap().requests.len();
    assert!((1..=5).contains(&found), "{found}");
    until("every request is counted", || house.gate.open_requests() == found).await;
    // An end that nobody waited for is counted as well.
    for stored in house.gate.store().pending().await.unwrap() {
        let event = answer(&stored, "owner", Choice::Approve, "");
        house.gate.store().apply(stored.request.id, event, house.note()).await.unwrap();
    }
    until("no request is open", || house.gate.open_requests() == 0).await;
    stop.send(true).unwrap();
    follow.await.unwrap();
}

#[tokio::test]
async fn what_changes_in_the_store_is_followed() {
    let house = House::usual().await;
    let (stop, stopping) = tokio::sync::watch::channel(false);
    let book = Arc::clone(&house.api.book);
    let follow = tokio::spawn(crate::auth::follow(book, Arc::clone(&house.gate), stopping));
    let token = house.agent("claude", 1_000_000).await;
    assert!(house.api.book.agent(&token, house.now()).is_ok());
    let mut agent = house.gate.store().agents().await.unwrap().remove(0);
    agent.revoked = Some(house.now());
    house.gate.store().save_agent(agent, house.note()).await.unwrap();
    let mut grant = house.gate.store().grants(false).await.unwrap().remove(0);
    grant.id = chance::id(house.now()).unwrap();
    grant.made_by = "owner".to_owned();
    grant.shape = countersign_workflow::grant::Shape::Action { tool: "send_message".to_owned() };
    house.gate.store().create_grant(grant, house.note()).await.unwrap();
    // Changes are followed in order: with the last one all of them were.
    let other = house.agent("other", 1_000_000).await;
    let agents = house.gate.store().agents().await.unwrap();
    let mut last = agents.into_iter().find(|agent| agent.name == "other").unwrap();
    last.revoked = Some(house.now());
    house.gate.store().save_agent(last, house.note()).await.unwrap();
    let gone = |token: &str| house.api.book.agent(token, house.now()).is_err();
    until("the last change is followed", || gone(&other)).await;
    assert!(gone(&token));
    assert_eq!(kept(&house.gate, MESSAGE).await.request.state, State::Approved);
    stop.send(true).unwrap();
    follow.await.unwrap();
}
