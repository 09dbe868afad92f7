//! Approvals for the rest of a session: what they cover, and every way to stretch them.

use countersign_json::canonical::Digest;
use countersign_risk::call::Call;
use countersign_store::{Store as _, StoreError, StoredRequest};
use countersign_workflow::request::{
    ApprovalScope, Choice, Decider, EditedCall, Event, Quorum, State, TransitionError,
};

use super::{answer, caller};
use crate::gate::{CallProjects, CallSubmission, GateAnswer, JoinOptions};
use crate::test_daemon::TestDaemon;

/// A shell call of a session, in a folder.
fn shell(command: &str, session: &str, cwd: &str) -> String {
    let call = serde_json::json!({
        "tool": "bash", "arguments": { "command": command }, "session": session,
        "cwd": cwd,
    });
    call.to_string()
}

fn deletes(session: &str) -> String {
    shell("rm -rf src", session, "/app")
}

async fn submit(daemon: &TestDaemon, agent: &str, text: &str) -> GateAnswer {
    let value = countersign_json::parse(text).unwrap();
    let submission = CallSubmission {
        call: Call::from_json(&value).unwrap(),
        raw: text.as_bytes(),
        time: None,
        key: None,
        group: None,
        projects: CallProjects::default(),
        permit: false,
        join: JoinOptions::default(),
        snapshot: None,
        detail: &|| "{}".to_owned(),
    };
    daemon.gate.submit(submission, &caller(agent)).await.unwrap()
}

/// The request that a call became.
async fn asked(daemon: &TestDaemon, agent: &str, text: &str) -> StoredRequest {
    match submit(daemon, agent, text).await {
        GateAnswer::Kept(stored) => *stored,
        GateAnswer::Passed(_) => panic!("passed: {text}"),
    }
}

/// Whether a person is asked about the call. The question is left pending.
async fn asks(daemon: &TestDaemon, text: &str) -> bool {
    match submit(daemon, "claude", text).await {
        GateAnswer::Kept(stored) => stored.request.state == State::Pending,
        GateAnswer::Passed(_) => false,
    }
}

fn for_session(stored: &StoredRequest) -> Event {
    let mut event = answer(stored, "owner", Choice::Approve, "");
    if let Event::Answer { scope, .. } = &mut event {
        *scope = ApprovalScope::Session;
    }
    event
}

async fn approve_for_session(daemon: &TestDaemon, text: &str) -> StoredRequest {
    let stored = asked(daemon, "claude", text).await;
    assert_eq!(stored.request.state, State::Pending, "{text}");
    let event = for_session(&stored);
    daemon.gate.decide(stored.request.id, event, daemon.note()).await.unwrap().stored
}

#[tokio::test]
async fn the_same_call_passes_in_its_session_and_after_a_restart() {
    let daemon = TestDaemon::default().await;
    let approved = approve_for_session(&daemon, &deletes("s1")).await;
    let again = asked(&daemon, "claude", &deletes("s1")).await;
    let decision = again.request.decision.unwrap();
    assert_eq!(decision.by, Decider::Grant(approved.request.id));
    assert_eq!(decision.reason, "for this session, by owner");
    assert!(again.permit_until.is_some(), "it has a permit like a granted call");
    let ledger = daemon.ledger().await;
    let used = ledger.iter().find(|entry| entry["kind"] == "used_grant").unwrap();
    assert_eq!(used["facts"]["grant"], approved.request.id.to_string());
    assert_eq!(used["facts"]["approved_for_session_by"], "owner");
    // Around the approved command nothing else is asked about.
    assert!(!asks(&daemon, &shell("ls && rm -rf src", "s1", "/app")).await);
    let daemon = daemon.restart("", |_| ()).await;
    assert!(!asks(&daemon, &deletes("s1")).await, "after a restart");
}

#[tokio::test]
async fn answers_cover_a_call_together() {
    let daemon = TestDaemon::default().await;
    approve_for_session(&daemon, &deletes("s1")).await;
    let both = shell("rm -rf src && rm -rf docs", "s1", "/app");
    assert!(asks(&daemon, &both).await);
    approve_for_session(&daemon, &shell("rm -rf docs", "s1", "/app")).await;
    let decided = asked(&daemon, "claude", &shell("rm -rf docs; rm -rf src", "s1", "/app")).await;
    assert_eq!(decided.request.state, State::Approved);
    let ledger = daemon.ledger().await;
    let used = ledger.iter().find(|entry| entry["kind"] == "used_grant").unwrap();
    assert!(used["facts"]["further_grants"].is_string(), "{used}");
}

#[tokio::test]
async fn other_sessions_agents_folders_and_commands_ask() {
    let daemon = TestDaemon::default().await;
    approve_for_session(&daemon, &deletes("s1")).await;
    for other in [
        deletes("s2"),
        deletes(""),
        shell("rm -rf src", "s1", "/other"),
        shell("rm -rf docs", "s1", "/app"),
        shell("rm -rf src docs", "s1", "/app"),
        shell("rm -rf src && rm -rf docs", "s1", "/app"),
    ] {
        assert!(asks(&daemon, &other).await, "{other}");
    }
    // Another agent may name the same session, and may claim another name in the call.
    let stored = asked(&daemon, "codex", &deletes("s1")).await;
    assert_eq!(stored.request.state, State::Pending);
    let claimed = deletes("s1").replacen('{', "{\"agent\":\"claude\",", 1);
    let stored = asked(&daemon, "mallory", &claimed).await;
    assert_eq!(stored.request.state, State::Pending);
}

#[tokio::test]
async fn a_changed_script_asks_again() {
    let daemon = TestDaemon::default().await;
    let write = |text: &str| shell(&format!("echo '{text}' > clean.sh"), "s1", "/app");
    let run = shell("bash clean.sh", "s1", "/app");
    assert!(!asks(&daemon, &write("rm -rf src")).await);
    approve_for_session(&daemon, &run).await;
    assert!(!asks(&daemon, &run).await);
    assert!(!asks(&daemon, &write("rm -rf docs")).await);
    assert!(asks(&daemon, &run).await);
}

/// A grant for commands names words, and a script behind them may say something else each time.
#[tokio::test]
async fn a_grant_for_commands_covers_no_script() {
    let daemon = TestDaemon::default().await;
    let owner = daemon.owner().await;
    let grant = serde_json::json!({
        "shape": "targets", "tool": "bash", "targets": ["bash restart.sh", "systemctl restart"],
    });
    assert_eq!(daemon.change(&owner, "POST /v1/grants", Some(grant)).await.status, 201);
    let write = shell("echo 'systemctl restart nginx' > restart.sh", "s1", "/app");
    assert!(!asks(&daemon, &write).await);
    let run = asked(&daemon, "claude", &shell("bash restart.sh", "s1", "/app")).await;
    let tier = run.request.tier;
    assert_eq!((run.request.state, tier.label()), (State::Pending, "MEDIUM"));
    assert!(!asks(&daemon, &shell("systemctl restart nginx", "s1", "/app")).await);
}

/// An agent may claim to have written a harmless script. That answers no question.
#[tokio::test]
async fn a_claimed_script_is_not_covered_by_an_answer_about_something_else() {
    let daemon = TestDaemon::default().await;
    approve_for_session(&daemon, &deletes("s1")).await;
    let claim = shell("echo 'echo hi' > /tmp/x.sh", "s1", "/app");
    assert!(!asks(&daemon, &claim).await);
    assert!(asks(&daemon, &shell("bash /tmp/x.sh && rm -rf src", "s1", "/app")).await);
}

#[tokio::test]
async fn grave_calls_messages_money_and_own_settings_are_approved_each_time() {
    let daemon = TestDaemon::default().await;
    let tool = |tool: &str, arguments: &str| {
        format!(r#"{{"tool":"{tool}","arguments":{arguments},"session":"s1"}}"#)
    };
    for never in [
        shell("rm -rf /", "s1", "/app"),
        tool("send_message", r#"{"to":"bo","text":"hi"}"#),
        tool("send_email", r#"{"to":"eve@example.com","body":"hi"}"#),
        tool("crypto_tx", r#"{"to":"0xabc","amount":"1"}"#),
        shell("echo '{}' > .claude/settings.json", "s1", "/app"),
        shell("rm -rf src", "", "/app"),
    ] {
        let stored = asked(&daemon, "claude", &never).await;
        assert_eq!(stored.request.state, State::Pending, "{never}");
        let mut event = for_session(&stored);
        if let Event::Answer { reason, .. } = &mut event {
            *reason = "it is fine".to_owned();
        }
        let refused = daemon.gate.decide(stored.request.id, event, daemon.note()).await;
        let expected = StoreError::Refused(TransitionError::NotForSession);
        assert_eq!(refused.unwrap_err(), expected, "{never}");
        let once = answer(&stored, "owner", Choice::Approve, "it is fine");
        daemon.gate.decide(stored.request.id, once, daemon.note()).await.unwrap();
        assert!(asks(&daemon, &never).await, "{never}");
    }
}

#[tokio::test]
async fn an_edited_call_is_approved_once() {
    let daemon = TestDaemon::default().await;
    let stored = asked(&daemon, "claude", &deletes("s1")).await;
    let mut event = for_session(&stored);
    if let Event::Answer { edited, word, .. } = &mut event {
        let canonical = Digest::of(b"edited");
        *word = countersign_risk::word_pair::word_pair(&canonical).to_string();
        let digest = countersign_json::canonical::CallDigest { canonical, ..stored.request.digest };
        let (tier, quorum) = (stored.request.tier, Quorum::default());
        *edited = Some(EditedCall { digest, tier, crisis: false, quorum, assurance: None });
    }
    let note = countersign_store::WriteContext {
        edited: Some(countersign_store::EditRecord {
            arguments: "{}".to_owned(),
            card: "{}".to_owned(),
        }),
        ..daemon.note()
    };
    let refused = daemon.gate.decide(stored.request.id, event, note).await;
    assert_eq!(refused.unwrap_err(), StoreError::Refused(TransitionError::EditForSession));
}

#[tokio::test]
async fn a_revoked_answer_and_a_later_denial_end_it() {
    let daemon = TestDaemon::default().await;
    let approved = approve_for_session(&daemon, &deletes("s1")).await.request.id;
    let (store, owner) = (daemon.gate.store(), "owner".to_owned());
    assert!(store.revoke_grant(approved, owner, daemon.note()).await.unwrap());
    // The cache still knows it; the store does not accept it.
    assert!(asks(&daemon, &deletes("s1")).await);
    approve_for_session(&daemon, &deletes("s1")).await;
    assert!(!asks(&daemon, &deletes("s1")).await);
    let more = asked(&daemon, "claude", &shell("rm -rf src docs", "s1", "/app")).await;
    let deny = answer(&more, "owner", Choice::Deny, "");
    daemon.gate.decide(more.request.id, deny, daemon.note()).await.unwrap();
    assert!(asks(&daemon, &deletes("s1")).await, "the denied call has the same topic");
    assert_eq!(daemon.count("revoke").await, 2);
}

#[tokio::test]
async fn a_crisis_suspends_the_answers() {
    let daemon = TestDaemon::default().await;
    approve_for_session(&daemon, &deletes("s1")).await;
    let crisis = countersign_store::CrisisSession {
        agent: "claude".to_owned(),
        session: "s1".to_owned(),
        level: 4,
        imminent: true,
        since: daemon.now(),
    };
    daemon.gate.crises().begin(crisis);
    assert!(asks(&daemon, &deletes("s1")).await);
}
