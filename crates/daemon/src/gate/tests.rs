//! The gate as a whole, over a real store: what passes, what waits, and that nothing else runs.

use std::sync::Arc;
use std::time::Duration;

use countersign_risk::call::Call;
use countersign_risk::route::Pass;
use countersign_risk::word_pair::word_pair;
use countersign_store::{
    Applied, CrisisSession, Redemption, RequestQuery, Store as _, StoreError, StoredRequest,
};
use countersign_types::id::Id;
use countersign_types::time::Timestamp;
use countersign_workflow::assurance::{Authority, RequiredAssurance, Tenure};
use countersign_workflow::request::{
    ApprovalScope, Choice, Decider, Event, State, Transition, TransitionError,
};

use super::*;
use crate::notifier::test_notifier::until;
use crate::random;
use crate::test_daemon::TestDaemon;

mod command_grants;
mod disconnects;
mod dropped_changes;
mod feedback;
mod judge;
mod judge_late;
mod judge_opinions;
mod policy;
mod policy_demands;
mod project_rules;
mod repository_answers;
mod reviews;
mod safeguards;
mod session_answers;
mod tokenless;
mod tool_call_grants;
mod unattended;
mod waiting;

const READ: &str = r#"{"command":"ls -la"}"#;
const DELETE: &str = r#"{"command":"rm -rf /tmp/build"}"#;
const ROOT: &str = r#"{"command":"rm -rf /"}"#;
const MESSAGE: &str =
    r#"{"tool":"send_message","arguments":{"to":"bo","text":"hi"},"session":"s1"}"#;
const MAIL: &str = r#"{"tool":"send_email","arguments":{"to":"ana@example.org","body":"hi"}}"#;

fn caller(agent: &str) -> Caller {
    Caller { own_addresses: ["ana@example.org".to_owned()].into(), ..Caller::named(agent) }
}

fn question(text: &'static str) -> CallSubmission<'static> {
    // Leaked: a test's call may live as long as the test.
    let value = Box::leak(Box::new(countersign_json::parse(text).unwrap()));
    CallSubmission {
        call: Call::from_json(value).unwrap(),
        raw: text.as_bytes(),
        time: None,
        key: None,
        group: None,
        projects: CallProjects::default(),
        permit: false,
        join: JoinOptions::default(),
        snapshot: None,
        detail: &|| "{}".to_owned(),
    }
}

async fn submit(gate: &Gate, text: &'static str) -> Result<GateAnswer, Rejection> {
    gate.submit(question(text), &caller("claude")).await
}

/// The request that a question became.
async fn kept(gate: &Gate, text: &'static str) -> StoredRequest {
    match submit(gate, text).await.unwrap() {
        GateAnswer::Kept(stored) => *stored,
        GateAnswer::Passed(passed) => panic!("{text} passed: {:?}", passed.why),
    }
}

fn answer(stored: &StoredRequest, person: &str, choice: Choice, reason: &str) -> Event {
    Event::Answer {
        person: person.to_owned(),
        choice,
        scope: ApprovalScope::Once,
        seen: stored.request.digest,
        edited: None,
        channel: "web".to_owned(),
        reason: reason.to_owned(),
        word: word_pair(&stored.request.digest.canonical).to_string(),
        standing: (
            Authority::login(false, Tenure::from(Timestamp(0))),
            RequiredAssurance::default(),
        ),
    }
}

async fn decide(
    daemon: &TestDaemon,
    stored: &StoredRequest,
    choice: Choice,
) -> Result<Applied, StoreError> {
    let event = answer(stored, "owner", choice, "");
    daemon.gate.decide(stored.request.id, event, daemon.note()).await
}

#[tokio::test]
async fn harmless_calls_pass_and_are_recorded() {
    let daemon = TestDaemon::default().await;
    assert!(matches!(submit(&daemon.gate, READ).await, Ok(GateAnswer::Passed(_))));
    // The line rides the next commit.
    daemon.gate.store().append(Vec::new()).await.unwrap();
    until("the pass is recorded", async || daemon.count("pass").await == 1).await;
    assert_eq!(daemon.gate.open_requests(), 0);
}

#[tokio::test]
async fn decisions_wake_the_waiting_caller() {
    let daemon = TestDaemon::default().await;
    for (choice, state) in [(Choice::Approve, State::Approved), (Choice::Deny, State::Denied)] {
        let stored = kept(&daemon.gate, DELETE).await;
        assert_eq!((stored.request.state, daemon.gate.open_requests()), (State::Pending, 1));
        let (gate, id) = (Arc::clone(&daemon.gate), stored.request.id);
        let waiter = tokio::spawn(async move { gate.wait(id, Duration::from_secs(20)).await });
        // Tests run on one thread: the caller waits before this goes on. A wait that ended before
        // the decision would return a pending request.
        tokio::task::yield_now().await;
        decide(&daemon, &stored, choice).await.unwrap();
        assert_eq!(waiter.await.unwrap().unwrap().request.state, state);
        assert_eq!(daemon.gate.open_requests(), 0);
        let late = decide(&daemon, &stored, Choice::Approve).await;
        assert_eq!(late.unwrap_err(), StoreError::Refused(TransitionError::Ended(state)));
    }
}

#[tokio::test]
async fn a_short_wait_returns_the_pending_request() {
    let daemon = TestDaemon::default().await;
    let stored = kept(&daemon.gate, DELETE).await;
    let waited = daemon.gate.wait(stored.request.id, Duration::from_millis(20)).await.unwrap();
    assert_eq!(waited.request.state, State::Pending);
    let nothing = daemon.gate.wait(Id::from_bytes([7; 16]), Duration::from_millis(20)).await;
    assert!(nothing.is_err());
}

#[tokio::test]
async fn an_unanswered_request_expires() {
    let daemon = TestDaemon::with("", "[times]\nusual_seconds = 1\n").await;
    let (stop, stopping) = tokio::sync::watch::channel(false);
    let watch = tokio::spawn(crate::watch::run(Arc::clone(&daemon.gate), stopping));
    let stored = kept(&daemon.gate, DELETE).await;
    let ended = daemon.gate.wait(stored.request.id, Duration::from_secs(10)).await.unwrap();
    assert_eq!(ended.request.state, State::Expired);
    let late = decide(&daemon, &stored, Choice::Approve).await;
    assert_eq!(late.unwrap_err(), StoreError::Refused(TransitionError::Ended(State::Expired)));
    stop.send(true).unwrap();
    watch.await.unwrap();
    assert_eq!(daemon.gate.open_requests(), 0);
}

#[tokio::test]
async fn only_the_requester_can_cancel() {
    let daemon = TestDaemon::default().await;
    let stored = kept(&daemon.gate, DELETE).await;
    let id = stored.request.id;
    let other = daemon.gate.cancel(id, &caller("codex")).await;
    assert_eq!(other.unwrap_err(), StoreError::Refused(TransitionError::NotRequester));
    let applied = daemon.gate.cancel(id, &caller("claude")).await.unwrap();
    assert!(matches!(applied.change, Transition::Ended(_)));
    assert_eq!(applied.stored.request.state, State::Cancelled);
}

#[tokio::test]
async fn the_same_idempotency_key_returns_the_same_request() {
    let daemon = TestDaemon::with("", "[flood]\nasks_per_minute = 2\n").await;
    let keyed = async |text, key: &str| {
        let question = CallSubmission { key: Some(key.to_owned()), ..question(text) };
        daemon.gate.submit(question, &caller("claude")).await
    };
    let id = |answer: Result<GateAnswer, Rejection>| match answer.unwrap() {
        GateAnswer::Kept(stored) => stored.request.id,
        GateAnswer::Passed(_) => panic!("passed"),
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
    let read = id(keyed(READ, "r").await);
    assert_eq!(id(keyed(READ, "r").await), read);
    let entry_only = async |key: &str, permit| {
        let join = JoinOptions { entry_only: true, ..JoinOptions::default() };
        let key = Some(key.to_owned());
        let question = CallSubmission { key, permit, join, ..question(READ) };
        daemon.gate.submit(question, &caller("claude")).await
    };
    assert!(matches!(entry_only("e", false).await, Ok(GateAnswer::Passed(_))));
    assert_eq!(id(entry_only("r", false).await), read, "the key has a request");
    id(entry_only("p", true).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn parallel_equal_questions_become_one_request() {
    let daemon = TestDaemon::default().await;
    let submission: Vec<_> = (0..50)
        .map(|_| {
            let gate = Arc::clone(&daemon.gate);
            tokio::spawn(async move { kept(&gate, DELETE).await.request.id })
        })
        .collect();
    let mut ids = std::collections::HashSet::new();
    for ask in submission {
        ids.insert(ask.await.unwrap());
    }
    assert_eq!((ids.len(), daemon.gate.open_requests()), (1, 1));
    // Another agent's is another question, and after the end it is a new one.
    let other = daemon.gate.submit(question(DELETE), &caller("codex")).await.unwrap();
    assert!(matches!(other, GateAnswer::Kept(stored) if !ids.contains(&stored.request.id)));
    let pending = daemon.gate.store().pending().await.unwrap();
    decide(&daemon, &pending[0], Choice::Approve).await.unwrap();
    assert!(!ids.contains(&kept(&daemon.gate, DELETE).await.request.id));
}

async fn give(daemon: &TestDaemon, uses_left: Option<u32>) -> Id {
    let now = daemon.now();
    let grant = countersign_workflow::grant::Grant {
        id: random::id(now).unwrap(),
        shape: countersign_workflow::grant::GrantShape::Action { tool: "send_message".to_owned() },
        agent: None,
        session: None,
        made_by: "owner".to_owned(),
        made_at: now,
        expires: None,
        uses_left,
        revoked: None,
        details: countersign_workflow::grant::GrantDetails::default(),
    };
    daemon.gate.store().create_grant(grant.clone(), daemon.note()).await.unwrap();
    daemon.gate.grants().add(grant.clone());
    grant.id
}

#[tokio::test]
async fn a_counted_grant_covers_its_calls_until_used_up() {
    let daemon = TestDaemon::default().await;
    let counted = give(&daemon, Some(2)).await;
    for _ in 0..2 {
        let stored = kept(&daemon.gate, MESSAGE).await;
        let by = stored.request.decision.map(|decision| decision.by);
        assert_eq!(by, Some(Decider::Grant(counted)));
    }
    assert_eq!(kept(&daemon.gate, MESSAGE).await.request.state, State::Pending);
    assert_eq!(kept(&daemon.gate, DELETE).await.request.state, State::Pending);
    assert_eq!(kept(&daemon.gate, ROOT).await.request.state, State::Pending);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_grant_for_one_use_covers_one_of_many_parallel_calls() {
    let daemon = TestDaemon::default().await;
    give(&daemon, Some(1)).await;
    let submission: Vec<_> = (0..20)
        .map(|_| {
            let gate = Arc::clone(&daemon.gate);
            tokio::spawn(async move { kept(&gate, MESSAGE).await.request.state })
        })
        .collect();
    let mut approved = 0;
    for ask in submission {
        approved += usize::from(ask.await.unwrap() == State::Approved);
    }
    assert_eq!(approved, 1);
}

#[tokio::test]
async fn mail_to_oneself_is_the_only_default_grant() {
    let daemon = TestDaemon::default().await;
    let stored = kept(&daemon.gate, MAIL).await;
    let decision = stored.request.decision.unwrap();
    assert_eq!(decision.reason, "whitelist:send_email");
    let stranger = Caller::named("codex");
    let asked = daemon.gate.submit(question(MAIL), &stranger).await.unwrap();
    assert!(matches!(asked, GateAnswer::Kept(stored) if stored.request.state == State::Pending));
}

#[tokio::test]
async fn in_a_crisis_neither_grants_nor_modes_pass_outbound_calls() {
    for mode in ["mode = \"enforce\"\n\n", "mode = \"observe\"\n\n"] {
        let daemon = TestDaemon::with("", mode).await;
        give(&daemon, None).await;
        daemon.gate.crises().begin(CrisisSession {
            agent: "claude".to_owned(),
            session: "s1".to_owned(),
            level: 4,
            imminent: false,
            since: daemon.now(),
        });
        let stored = kept(&daemon.gate, MESSAGE).await;
        assert!(stored.request.crisis && stored.request.state == State::Pending);
        let silent = decide(&daemon, &stored, Choice::Approve).await;
        assert_eq!(silent.unwrap_err(), StoreError::Refused(TransitionError::ReasonRequired));
        let event = answer(&stored, "owner", Choice::Approve, "I spoke with her");
        let applied = daemon.gate.decide(stored.request.id, event, daemon.note()).await.unwrap();
        assert_eq!(applied.stored.request.state, State::Approved);
        assert!(matches!(submit(&daemon.gate, READ).await, Ok(GateAnswer::Passed(_))));
    }
}

#[tokio::test]
async fn observe_mode_blocks_nothing_and_marks_calls() {
    let daemon = TestDaemon::with("", "mode = \"observe\"\n\n").await;
    let answer = submit(&daemon.gate, ROOT).await.unwrap();
    assert!(matches!(answer, GateAnswer::Passed(passed) if passed.why == Pass::Watching));
    assert_eq!(daemon.gate.open_requests(), 0);
}

#[tokio::test]
async fn a_closed_store_denies_everything() {
    let daemon = TestDaemon::default().await;
    give(&daemon, None).await;
    let stored = kept(&daemon.gate, DELETE).await;
    daemon.gate.store().close().await.unwrap();
    for call in [READ, DELETE, MESSAGE, ROOT, MAIL] {
        let rejection = submit(&daemon.gate, call).await.map(|_| ()).unwrap_err();
        assert!(matches!(rejection, Rejection::Unavailable(_)), "{call}: {rejection}");
        let question = CallSubmission { permit: true, ..question(call) };
        let rejection = daemon.gate.submit(question, &caller("claude")).await.map(|_| ());
        assert!(matches!(rejection.unwrap_err(), Rejection::Unavailable(_)), "{call}");
    }
    assert!(decide(&daemon, &stored, Choice::Approve).await.is_err());
    let id = stored.request.id;
    assert!(daemon.gate.wait(id, Duration::from_millis(50)).await.is_err());
    let redeemed = daemon.gate.redeem(id, "claude".to_owned(), stored.request.digest).await;
    assert!(!matches!(redeemed, Ok(Redemption::Accepted)));
}

#[tokio::test]
async fn a_clock_that_went_back_approves_nothing() {
    let daemon = TestDaemon::default().await;
    give(&daemon, None).await;
    daemon.gate.clock().not_before(Timestamp(daemon.now().0 + 3_600_000));
    let stored = kept(&daemon.gate, MESSAGE).await;
    assert_eq!(stored.request.state, State::Pending);
    let refused = decide(&daemon, &stored, Choice::Approve).await.unwrap_err();
    assert_eq!(refused, StoreError::Refused(TransitionError::ClockUnreliable));
    let permit = CallSubmission { permit: true, ..question(READ) };
    let rejection = daemon.gate.submit(permit, &caller("claude")).await.map(|_| ()).unwrap_err();
    assert_eq!(rejection, Rejection::ClockUnsettled);
    // A no needs no good clock.
    let denied = decide(&daemon, &stored, Choice::Deny).await.unwrap();
    assert_eq!(denied.stored.request.state, State::Denied);
}

#[tokio::test]
async fn log_lines_about_a_request_carry_its_id() {
    let path = tempfile::NamedTempFile::new().unwrap();
    let log = crate::config::LogConfig { level: "info".to_owned(), json: true, otlp: None };
    let log = crate::log::to(&log, path.reopen().unwrap());
    let _logging = tracing::dispatcher::set_default(&log);
    let daemon = TestDaemon::with("", "[flood]\ndenials = 1\n").await;
    let stored = kept(&daemon.gate, DELETE).await;
    // Another test may have met the span for the first time just before this log was there.
    tracing::callsite::rebuild_interest_cache();
    decide(&daemon, &stored, Choice::Deny).await.unwrap();
    let text = std::fs::read_to_string(path.path()).unwrap();
    let line = text.lines().find(|line| line.contains("an agent is in quarantine")).unwrap();
    let line: serde_json::Value = serde_json::from_str(line).unwrap();
    assert_eq!(line["span"]["name"], "request");
    assert_eq!(line["span"]["id"], stored.request.id.to_string());
}

#[tokio::test]
async fn denials_lead_to_quarantine_and_refusals_to_one_entry() {
    let section = "[flood]\ndenials = 3\nopen_per_agent = 2\n";
    let daemon = TestDaemon::with("", section).await;
    for _ in 0..3 {
        let stored = kept(&daemon.gate, DELETE).await;
        decide(&daemon, &stored, Choice::Deny).await.unwrap();
    }
    for _ in 0..50 {
        let rejection = submit(&daemon.gate, DELETE).await.map(|_| ()).unwrap_err();
        assert!(matches!(rejection, Rejection::Quarantined(_)), "{rejection}");
    }
    assert!(matches!(submit(&daemon.gate, READ).await, Ok(GateAnswer::Passed(_))));
    let other = daemon.gate.submit(question(DELETE), &caller("codex")).await;
    assert!(other.is_ok());
    assert_eq!(daemon.count("quarantine").await, 1);
    daemon.gate.log_refusals().await;
    daemon.gate.log_refusals().await;
    let told = daemon.ledger().await;
    let told: Vec<_> = told.iter().filter(|entry| !entry["facts"]["refused"].is_null()).collect();
    assert_eq!(told.len(), 1);
    assert_eq!((&told[0]["kind"], &told[0]["agent"]), (&"deny".into(), &"claude".into()));
    assert_eq!(told[0]["facts"], serde_json::json!({"refused": 50, "why": "quarantine"}));
}

#[tokio::test]
async fn a_flood_is_refused_slowly_and_blocks_nobody_else() {
    let daemon = TestDaemon::with("", "[flood]\nopen_per_agent = 1\n").await;
    kept(&daemon.gate, DELETE).await;
    // Time passes only when every task waits for it, however busy the machine is.
    tokio::time::pause();
    let (start, began) = (tokio::time::Instant::now(), std::time::Instant::now());
    let mut flood = tokio::task::JoinSet::new();
    for _ in 0..400 {
        let gate = Arc::clone(&daemon.gate);
        flood.spawn(async move { submit(&gate, ROOT).await.map(|_| ()).unwrap_err() });
    }
    while let Some(rejection) = flood.join_next().await {
        assert!(matches!(rejection.unwrap(), Rejection::TooManyQuestions(_)));
        if flood.len() == 200 {
            // The same call of another agent is asked about at once, and harmless calls pass.
            let other = daemon.gate.submit(question(ROOT), &caller("codex")).await;
            assert!(matches!(other, Ok(GateAnswer::Kept(_))));
            assert!(matches!(submit(&daemon.gate, READ).await, Ok(GateAnswer::Passed(_))));
        }
    }
    // The last of them waits for 0.3 s at most; if each kept the others from asking, for 45 s.
    let waited = tokio::time::Instant::now() - start;
    assert!(began.elapsed() + waited >= Duration::from_millis(290), "{waited:?}");
    assert!(waited <= Duration::from_secs(1), "{waited:?}");
}

#[tokio::test]
async fn dropped_submissions_are_still_counted() {
    let daemon = TestDaemon::with("", "[flood]\nasks_per_minute = 5\n").await;
    let (stop, stopping) = tokio::sync::watch::channel(false);
    let directory = Arc::clone(&daemon.api.directory);
    let follow = tokio::spawn(crate::auth::follow(directory, Arc::clone(&daemon.gate), stopping));
    // Tests run on one thread: it has subscribed before this goes on.
    tokio::task::yield_now().await;
    for number in 0..50 {
        let text = format!(r#"{{"command":"rm -rf /tmp/build{number}"}}"#);
        let asking = submit(&daemon.gate, Box::leak(text.into_boxed_str()));
        // Polled once: it is on its way to the store, and no one waits for it.
        let _ = tokio::time::timeout(Duration::ZERO, asking).await;
    }
    // The store writes in order: what was on its way is written before this agent is.
    daemon.agent("later", 1_000_000).await;
    let found = daemon.gate.store().find(RequestQuery::default()).await.unwrap().requests.len();
    assert!((1..=5).contains(&found), "{found}");
    until("every request is counted", async || daemon.gate.open_requests() == found).await;
    // An end that no one waited for is counted as well.
    for stored in daemon.gate.store().pending().await.unwrap() {
        let event = answer(&stored, "owner", Choice::Approve, "");
        daemon.gate.store().apply(stored.request.id, event, daemon.note()).await.unwrap();
    }
    until("no request is open", async || daemon.gate.open_requests() == 0).await;
    stop.send(true).unwrap();
    follow.await.unwrap();
}

#[tokio::test]
async fn changes_in_the_store_are_followed() {
    let daemon = TestDaemon::default().await;
    let (stop, stopping) = tokio::sync::watch::channel(false);
    let directory = Arc::clone(&daemon.api.directory);
    let follow = tokio::spawn(crate::auth::follow(directory, Arc::clone(&daemon.gate), stopping));
    let token = daemon.agent("claude", 1_000_000).await;
    assert!(daemon.api.directory.agent(&token, daemon.now()).is_ok());
    let mut agent = daemon.gate.store().agents().await.unwrap().remove(0);
    agent.revoked = Some(daemon.now());
    daemon.gate.store().save_agent(agent, daemon.note()).await.unwrap();
    let mut grant = daemon.gate.store().grants(false).await.unwrap().remove(0);
    grant.id = random::id(daemon.now()).unwrap();
    grant.made_by = "owner".to_owned();
    grant.shape =
        countersign_workflow::grant::GrantShape::Action { tool: "send_message".to_owned() };
    daemon.gate.store().create_grant(grant, daemon.note()).await.unwrap();
    // Changes are followed in order: with the last one all of them were.
    let other = daemon.agent("other", 1_000_000).await;
    let agents = daemon.gate.store().agents().await.unwrap();
    let mut last = agents.into_iter().find(|agent| agent.name == "other").unwrap();
    last.revoked = Some(daemon.now());
    daemon.gate.store().save_agent(last, daemon.note()).await.unwrap();
    let gone = |token: &str| daemon.api.directory.agent(token, daemon.now()).is_err();
    until("the last change is followed", async || gone(&other)).await;
    assert!(gone(&token));
    assert_eq!(kept(&daemon.gate, MESSAGE).await.request.state, State::Approved);
    stop.send(true).unwrap();
    follow.await.unwrap();
}
