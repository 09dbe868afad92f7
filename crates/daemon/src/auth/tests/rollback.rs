//! A store that is not the one that was signed last: nothing is approved or redeemed until an
//! administrator acknowledges it.

use std::fs;
use std::path::Path;
use std::pin::Pin;

use countersign_store::{OfflineLedger, Store as _};
use serde_json::{Value, json};

use crate::test_daemon::{ApiSide, TestDaemon};

pub const MEDIUM: &str = "systemctl restart nginx";
const DATABASE: &str = "countersign.db";

pub fn call(command: &str) -> Value {
    json!({"tool": "terminal", "arguments": {"command": command}})
}

pub async fn ask(daemon: &TestDaemon, agent: &str, command: &str) -> Value {
    let asked = daemon.by(agent, ApiSide::Agents, "POST /v1/requests", Some(call(command))).await;
    assert_eq!(asked.status, 201, "{:?}", asked.body);
    asked.body
}

pub async fn approve(daemon: &TestDaemon, owner: &str, asked: &Value) -> u16 {
    let line = format!("POST /v1/requests/{}/decision", asked["id"].as_str().unwrap());
    let body = json!({"choice": "approve", "digest": asked["digest"], "word": asked["phrase"]});
    daemon.by(owner, ApiSide::People, &line, Some(body)).await.status.as_u16()
}

/// The permit of an approved request.
pub async fn permit(daemon: &TestDaemon, agent: &str, asked: &Value) -> Value {
    let line = format!("GET /v1/requests/{}", asked["id"].as_str().unwrap());
    daemon.by(agent, ApiSide::Agents, &line, None).await.body["permit"].clone()
}

pub async fn redeem(daemon: &TestDaemon, agent: &str, permit: &Value) -> u16 {
    let mut body = call(MEDIUM);
    body["permit"] = permit.clone();
    let line = "POST /v1/permits/redeem";
    daemon.by(agent, ApiSide::Agents, line, Some(body)).await.status.as_u16()
}

/// Copies the files of the store.
fn copy(from: &Path, to: &Path) {
    for end in ["", "-wal", "-shm"] {
        let name = format!("{DATABASE}{end}");
        let _ = fs::remove_file(to.join(&name));
        if from.join(&name).exists() {
            fs::copy(from.join(&name), to.join(&name)).unwrap();
        }
    }
}

/// Closes the store, so that everything is in its file, and starts again after a change of the
/// state folder.
pub fn restart_with(
    daemon: TestDaemon,
    meanwhile: impl FnOnce(&Path),
) -> Pin<Box<impl Future<Output = TestDaemon>>> {
    Box::pin(async move {
        daemon.gate.store().close().await.unwrap();
        daemon.restart("", meanwhile).await
    })
}

pub async fn is_ready(daemon: &TestDaemon) -> bool {
    let sides = [ApiSide::Agents, ApiSide::People];
    let mut ready = Vec::new();
    for side in sides {
        ready.push(daemon.ask(side, "GET /ready", &[], None).await.status == 200);
    }
    assert_eq!(ready[0], ready[1]);
    ready[0]
}

/// Nothing is approved, and denying works.
async fn assert_halted(daemon: &TestDaemon, agent: &str, owner: &str) {
    assert!(!is_ready(daemon).await);
    let asked = ask(daemon, agent, "systemctl restart other").await;
    assert_eq!(approve(daemon, owner, &asked).await, 503);
    let line = format!("POST /v1/requests/{}/decision", asked["id"].as_str().unwrap());
    let denied = daemon.by(owner, ApiSide::People, &line, Some(json!({"choice": "deny"}))).await;
    assert_eq!(denied.body["state"], "denied", "{:?}", denied.body);
    // A call that the rules let pass gets no permit either.
    let body = json!({"command": "git status", "permit": true});
    let passed = daemon.by(agent, ApiSide::Agents, "POST /v1/requests", Some(body)).await;
    assert_eq!(passed.body["permit"], Value::Null, "{:?}", passed.body);
    let page = daemon.by(owner, ApiSide::People, "GET /v1/ledger/rows", None).await;
    assert_eq!(page.status, 200, "people can still read");
}

/// Only an administrator with a proof ends the halt.
async fn acknowledge(daemon: &TestDaemon, owner: &str) {
    let line = "POST /v1/ledger/acknowledge";
    let body = Some(json!({"reason": "I restored a backup"}));
    let stolen = daemon.by(owner, ApiSide::People, line, body.clone()).await;
    assert_eq!(stolen.body["type"], "urn:countersign:problem:step-up-required");
    assert!(!is_ready(daemon).await);
    let empty = daemon.change(owner, line, Some(json!({"reason": " "}))).await;
    assert_eq!(empty.status, 400);
    let done = daemon.change(owner, line, body).await;
    assert_eq!(done.status, 200, "{:?}", done.body);
    assert!(is_ready(daemon).await);
    assert_eq!(daemon.count("acknowledge").await, 1);
}

struct Used {
    daemon: TestDaemon,
    agent: String,
    owner: String,
    permit: Value,
    /// A copy of the store from before the permit was used.
    before: tempfile::TempDir,
}

/// A permit that was used, and a copy from before.
async fn used() -> Used {
    let daemon = TestDaemon::default().await;
    let (owner, agent) = (daemon.owner().await, daemon.agent("claude", 1_000_000).await);
    let asked = ask(&daemon, &agent, MEDIUM).await;
    assert_eq!(approve(&daemon, &owner, &asked).await, 200);
    let permit = permit(&daemon, &agent, &asked).await;
    assert!(permit.is_string(), "{asked}");
    sign(&daemon).await;
    let before = tempfile::tempdir().unwrap();
    copy(&daemon.state(), before.path());
    assert_eq!(redeem(&daemon, &agent, &permit).await, 200);
    Used { daemon, agent, owner, permit, before }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restored_copy_does_not_redeem_a_used_permit_again() {
    let Used { daemon, agent, owner, permit, before } = used().await;
    let daemon = daemon.restart("", |state| copy(before.path(), state)).await;
    assert_eq!(redeem(&daemon, &agent, &permit).await, 503);
    assert_halted(&daemon, &agent, &owner).await;
    // A restart does not help.
    let daemon = daemon.restart("", |_| {}).await;
    assert_eq!(redeem(&daemon, &agent, &permit).await, 503);
    acknowledge(&daemon, &owner).await;
    // The store does not know that the permit was used, so it stays void.
    assert_eq!(redeem(&daemon, &agent, &permit).await, 409);
    // An acknowledged store is trusted after the next start too.
    let daemon = daemon.restart("", |_| {}).await;
    assert!(is_ready(&daemon).await);
    assert_eq!(redeem(&daemon, &agent, &permit).await, 409);
    // New approvals have permits again.
    let asked = ask(&daemon, &agent, MEDIUM).await;
    assert_eq!(approve(&daemon, &owner, &asked).await, 200);
    let permit = super::rollback::permit(&daemon, &agent, &asked).await;
    assert_eq!(redeem(&daemon, &agent, &permit).await, 200);
}

/// Puts the files of a running daemon back, as after a power failure, with the log cut to this
/// length. Returns how many entries are left.
fn put_back(live: &Path, state: &Path, length: u64) -> usize {
    copy(live, state);
    // SQLite builds the index of the log again.
    fs::remove_file(state.join(format!("{DATABASE}-shm"))).unwrap();
    let log = state.join(format!("{DATABASE}-wal"));
    fs::OpenOptions::new().write(true).open(log).unwrap().set_len(length).unwrap();
    let store = OfflineLedger::open(&state.join(DATABASE)).unwrap();
    store.entries(0, 4_096).unwrap().entries.len()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cut_log_is_noticed() {
    for is_cut in [false, true] {
        let Used { daemon, agent, owner, permit, before } = used().await;
        // Copied while the daemon runs: one that stops moves the log into the file.
        let live = tempfile::tempdir().unwrap();
        copy(&daemon.state(), live.path());
        let length =
            |folder: &Path| fs::metadata(folder.join(format!("{DATABASE}-wal"))).unwrap().len();
        let (cut, whole) = (length(before.path()), length(live.path()));
        assert!(0 < cut && cut < whole, "the use of the permit is in the log: {cut} of {whole}");
        let entries = usize::try_from(daemon.gate.store().tree_head().await.unwrap().size).unwrap();
        let (length, mut left) = (if is_cut { cut } else { whole }, 0);
        let daemon = daemon.restart("", |state| left = put_back(live.path(), state, length)).await;
        if is_cut {
            assert!(0 < left && left < entries, "entries are lost: {left} of {entries}");
            assert_eq!(redeem(&daemon, &agent, &permit).await, 503);
            assert_halted(&daemon, &agent, &owner).await;
        } else {
            assert_eq!(left, entries);
            assert_eq!(redeem(&daemon, &agent, &permit).await, 409, "it was used");
            assert!(is_ready(&daemon).await);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_store_is_noticed() {
    let Used { daemon, .. } = used().await;
    let daemon = daemon
        .restart("", |state| {
            for end in ["", "-wal", "-shm"] {
                let _ = fs::remove_file(state.join(format!("{DATABASE}{end}")));
            }
        })
        .await;
    let (owner, agent) = (daemon.owner().await, daemon.agent("claude", 1_000_000).await);
    assert_halted(&daemon, &agent, &owner).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_or_forged_mark_is_noticed() {
    for change in ["delete", "forge", "other key"] {
        let Used { daemon, agent, owner, permit, before } = used().await;
        let daemon = daemon
            .restart("", |state| {
                copy(before.path(), state);
                let mark = state.join("ledger.mark");
                match change {
                    "delete" => fs::remove_file(&mark).unwrap(),
                    "forge" => {
                        let text = fs::read_to_string(&mark).unwrap();
                        let mut lines: Vec<&str> = text.lines().collect();
                        lines[1] = "1";
                        fs::write(&mark, lines.join("\n") + "\n").unwrap();
                    }
                    _ => fs::remove_file(state.join("signing.key")).unwrap(),
                }
            })
            .await;
        assert_ne!(redeem(&daemon, &agent, &permit).await, 200, "{change}");
        assert_halted(&daemon, &agent, &owner).await;
    }
}

/// Checkpoints are signed while the daemon serves; these tests do not serve.
async fn sign(daemon: &TestDaemon) {
    let store = daemon.gate.store();
    let head = store.tree_head().await.unwrap();
    let note = daemon.api.keys.checkpoint(head.size, head.root).unwrap();
    daemon.gate.raise_mark().await.unwrap();
    store.save_checkpoint(head.size, note).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_old_mark_is_noticed() {
    let daemon = TestDaemon::default().await;
    let (owner, agent) = (daemon.owner().await, daemon.agent("claude", 1_000_000).await);
    let mark = fs::read(daemon.state().join("ledger.mark")).unwrap();
    ask(&daemon, &agent, MEDIUM).await;
    sign(&daemon).await;
    let daemon = daemon.restart("", |state| fs::write(state.join("ledger.mark"), mark).unwrap());
    assert_halted(&daemon.await, &agent, &owner).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_is_replaced_while_the_daemon_runs_is_noticed() {
    let Used { daemon, agent, owner, before, .. } = used().await;
    assert_eq!(daemon.gate.check_file(), None);
    let store = daemon.state().join(DATABASE);
    fs::remove_file(&store).unwrap();
    fs::copy(before.path().join(DATABASE), &store).unwrap();
    let fault = daemon.gate.check_file().expect("another file");
    assert!(daemon.gate.integrity().halt(fault));
    assert_halted(&daemon, &agent, &owner).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clean_restart_and_a_crash_are_not_reported() {
    let Used { daemon, agent, owner, .. } = used().await;
    let daemon = daemon.restart("", |_| {}).await;
    assert!(is_ready(&daemon).await);
    let asked = ask(&daemon, &agent, "systemctl restart other").await;
    assert_eq!(approve(&daemon, &owner, &asked).await, 200);
    assert!(permit(&daemon, &agent, &asked).await.is_string());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_entry_is_noticed() {
    let Used { daemon, agent, owner, permit, .. } = used().await;
    // A closed store has everything in its file.
    daemon.gate.store().close().await.unwrap();
    let daemon = daemon
        .restart("", |state| {
            let file = state.join(DATABASE);
            let mut bytes = fs::read(&file).unwrap();
            let (used, unused) = (b"\"kind\":\"redeem\"", b"\"kind\":\"permit\"");
            let places: Vec<usize> =
                (0..bytes.len() - used.len()).filter(|at| bytes[*at..].starts_with(used)).collect();
            assert!(!places.is_empty());
            for at in places {
                bytes[at..at + used.len()].copy_from_slice(unused);
            }
            fs::write(&file, bytes).unwrap();
        })
        .await;
    assert_halted(&daemon, &agent, &owner).await;
    let ready = daemon.ask(ApiSide::Agents, "GET /ready", &[], None).await;
    assert!(ready.body.to_string().contains("entries of the ledger were changed"));
    assert_eq!(redeem(&daemon, &agent, &permit).await, 503);
    acknowledge(&daemon, &owner).await;
    // The ledger does not say any more that the permit was used, so it stays void.
    assert_eq!(redeem(&daemon, &agent, &permit).await, 409);
    let daemon = daemon.restart("", |_| {}).await;
    assert!(!is_ready(&daemon).await, "the ledger is still a changed one");
}
