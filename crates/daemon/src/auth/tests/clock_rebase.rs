//! A clock that was far ahead for a while: nothing is approved until an administrator rebases it,
//! and nothing of the other time gives a right afterwards.

use countersign_types::time::{Clock as _, Timestamp};
use serde_json::{Value, json};

use super::rollback::{MEDIUM, approve, ask, is_ready, permit, redeem};
use crate::test_daemon::{ApiSide, TestDaemon};

const YEAR: u64 = 365 * 86_400_000;
const LINE: &str = "POST /v1/ledger/clock";

fn body(time: Timestamp) -> Value {
    json!({"reason": "the battery of the clock was empty", "time": time})
}

/// A permit of the right time and one of a time a year ahead; the clock is right again.
async fn was_ahead() -> (TestDaemon, [Value; 2]) {
    let daemon = TestDaemon::default().await;
    let (owner, agent) = (daemon.owner().await, daemon.agent("claude", 1_000_000).await);
    let asked = ask(&daemon, &agent, MEDIUM).await;
    assert_eq!(approve(&daemon, &owner, &asked).await, 200);
    let early = permit(&daemon, &agent, &asked).await;
    let clock = daemon.gate.clock();
    // The only way to an approval in the future: the clock was right then.
    clock.pretend(YEAR.cast_signed());
    let (owner, agent) = (daemon.owner().await, daemon.agent("later", 1_000_000).await);
    let asked = ask(&daemon, &agent, MEDIUM).await;
    assert_eq!(approve(&daemon, &owner, &asked).await, 200);
    let late = permit(&daemon, &agent, &asked).await;
    clock.pretend(0);
    (daemon, [early, late])
}

#[tokio::test(flavor = "multi_thread")]
async fn only_an_administrator_with_a_proof_rebases_the_clock() {
    let (daemon, permits) = Box::pin(was_ahead()).await;
    let daemon = daemon.restart("", |_| {}).await;
    let system = daemon.gate.clock().system_time();
    assert!(daemon.now().0 > system.0 + 1_000_000 && !is_ready(&daemon).await);
    let (owner, agent) = (daemon.owner().await, daemon.agent("claude", 1_000_000).await);
    let asked = ask(&daemon, &agent, MEDIUM).await;
    assert_eq!(approve(&daemon, &owner, &asked).await, 503);
    for permit in &permits {
        assert_ne!(redeem(&daemon, &agent, permit).await, 200);
    }
    let stolen = daemon.by(&owner, ApiSide::People, LINE, Some(body(system))).await;
    assert_eq!(stolen.body["type"], "urn:countersign:problem:step-up-required");
    daemon.person("bo", countersign_store::Role::Approver).await;
    let approver = daemon.login("bo", "terminal", 3_600_000).await;
    assert_eq!(daemon.change(&approver, LINE, Some(body(system))).await.status, 403);
    // A person who sees another time than the machine does not rebase.
    let other = Timestamp(system.0 - 3_600_000);
    assert_eq!(daemon.change(&owner, LINE, Some(body(other))).await.status, 409);
    assert!(!daemon.gate.clock().now().reliable && daemon.count("clock_rebased").await == 0);
    let done = daemon.change(&owner, LINE, Some(body(system))).await;
    assert_eq!(done.status, 200, "{:?}", done.body);
    assert_eq!(daemon.count("clock_rebased").await, 1);
    // This process is about to stop, and approves nothing.
    assert!(!is_ready(&daemon).await);
    daemon.gate.integrity().restart_requested().await;
    let daemon = daemon.restart("", |_| {}).await;
    assert!(is_ready(&daemon).await);
    let signed_out = daemon.by(&owner, ApiSide::People, "GET /v1/ledger/rows", None).await;
    assert_eq!(signed_out.status, 401, "logins of the other time have ended");
    let owner = daemon.owner().await;
    let rows = daemon.by(&owner, ApiSide::People, "GET /v1/ledger/rows", None).await;
    assert_eq!(rows.body["differences"], 0, "{:?}", rows.body);
    for permit in &permits {
        assert_ne!(redeem(&daemon, &agent, permit).await, 200);
    }
    assert_eq!(
        daemon.change(&owner, LINE, Some(body(daemon.now()))).await.status,
        409,
        "not behind"
    );
    let agent = daemon.agent("claude", 1_000_000).await;
    let asked = ask(&daemon, &agent, MEDIUM).await;
    assert_eq!(approve(&daemon, &owner, &asked).await, 200);
    let permit = permit(&daemon, &agent, &asked).await;
    assert_eq!(redeem(&daemon, &agent, &permit).await, 200);
}

/// An acknowledgement of the other time voids no approval of the right one.
#[tokio::test(flavor = "multi_thread")]
async fn approvals_after_a_rebase_have_permits_despite_an_acknowledgement() {
    let (daemon, _) = Box::pin(was_ahead()).await;
    let mark = daemon.state().join("ledger.mark");
    let daemon = daemon.restart("", |_| std::fs::write(mark, "x").unwrap()).await;
    let owner = daemon.owner().await;
    // The other fault comes first.
    let time = daemon.gate.clock().system_time();
    assert_eq!(daemon.change(&owner, LINE, Some(body(time))).await.status, 503);
    let line = "POST /v1/ledger/acknowledge";
    let done = daemon.change(&owner, line, Some(json!({"reason": "a test"}))).await;
    assert_eq!(done.status, 200, "{:?}", done.body);
    assert_eq!(daemon.change(&owner, LINE, Some(body(time))).await.status, 200);
    let daemon = daemon.restart("", |_| {}).await;
    let (owner, agent) = (daemon.owner().await, daemon.agent("claude", 1_000_000).await);
    let asked = ask(&daemon, &agent, MEDIUM).await;
    assert_eq!(approve(&daemon, &owner, &asked).await, 200);
    let permit = permit(&daemon, &agent, &asked).await;
    assert_eq!(redeem(&daemon, &agent, &permit).await, 200);
}
