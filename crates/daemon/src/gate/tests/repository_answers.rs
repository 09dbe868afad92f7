//! Approvals for a repository: what they cover, and every way to stretch them.

use std::fs;
use std::path::{Path, PathBuf};

use countersign_risk::call::Call;
use countersign_store::{Store as _, StoreError, StoredRequest};
use countersign_workflow::grant::GrantShape;
use countersign_workflow::request::{
    ApprovalScope, Choice, Decider, Event, State, TransitionError,
};

use super::{answer, caller};
use crate::gate::{CallProjects, CallSubmission, Caller, GateAnswer, JoinOptions};
use crate::test_daemon::TestDaemon;

/// Two repositories and a folder beside them.
struct Projects {
    _folder: tempfile::TempDir,
    shop: PathBuf,
    other: PathBuf,
    loose: PathBuf,
}

impl Projects {
    fn new() -> Projects {
        let folder = tempfile::tempdir().unwrap();
        let base = fs::canonicalize(folder.path()).unwrap();
        let (shop, other, loose) = (base.join("shop"), base.join("other"), base.join("loose"));
        for repository in [&shop, &other] {
            fs::create_dir_all(repository.join(".git")).unwrap();
            fs::create_dir_all(repository.join("src")).unwrap();
        }
        fs::create_dir_all(&loose).unwrap();
        Projects { _folder: folder, shop, other, loose }
    }
}

/// A shell call of a session, in a folder.
fn shell(command: &str, session: &str, cwd: &Path) -> serde_json::Value {
    serde_json::json!({
        "tool": "bash", "arguments": { "command": command }, "session": session, "cwd": cwd,
    })
}

fn hook(agent: &str) -> Caller {
    Caller { is_socket_peer: true, ..caller(agent) }
}

async fn ask(daemon: &TestDaemon, caller: &Caller, call: &serde_json::Value) -> StoredRequest {
    let text = call.to_string();
    let value = countersign_json::parse(&text).unwrap();
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
    match daemon.gate.submit(submission, caller).await.unwrap() {
        GateAnswer::Kept(stored) => *stored,
        GateAnswer::Passed(_) => panic!("passed: {text}"),
    }
}

/// Whether a person is asked about the call. The question is left pending.
async fn asks(daemon: &TestDaemon, call: &serde_json::Value) -> bool {
    ask(daemon, &hook("claude"), call).await.request.state == State::Pending
}

fn for_repository(stored: &StoredRequest) -> Event {
    let mut event = answer(stored, "owner", Choice::Approve, "");
    if let Event::Answer { scope, .. } = &mut event {
        *scope = ApprovalScope::Repository;
    }
    event
}

async fn approve(daemon: &TestDaemon, call: &serde_json::Value) -> StoredRequest {
    let stored = ask(daemon, &hook("claude"), call).await;
    assert_eq!(stored.request.state, State::Pending, "{call}");
    let event = for_repository(&stored);
    daemon.gate.decide(stored.request.id, event, daemon.note()).await.unwrap().stored
}

#[tokio::test]
async fn a_program_passes_in_every_session_of_its_repository_and_after_a_restart() {
    let (daemon, projects) = (TestDaemon::default().await, Projects::new());
    let approved = approve(&daemon, &shell("frobnicate --all", "s1", &projects.shop)).await;
    assert_eq!(approved.request.approval_scope(), ApprovalScope::Repository);
    let sub = projects.shop.join("src");
    let again = ask(&daemon, &hook("claude"), &shell("frobnicate x", "s2", &sub)).await;
    let decision = again.request.decision.unwrap();
    assert_eq!(decision.by, Decider::Grant(approved.request.id));
    assert_eq!(decision.reason, "for this repository, by owner");
    let ledger = daemon.ledger().await;
    let used = ledger.iter().find(|entry| entry["kind"] == "used_grant").unwrap();
    assert_eq!(used["facts"]["approved_for_repository_by"], "owner");
    let grants = daemon.gate.store().grants(false).await.unwrap();
    let grant = grants.iter().find(|grant| grant.id == approved.request.id).unwrap();
    let GrantShape::SameProgram { repository, .. } = &grant.shape else { panic!("{grant:?}") };
    assert_eq!(Path::new(repository), projects.shop);
    let daemon = daemon.restart("", |_| ()).await;
    assert!(!asks(&daemon, &shell("frobnicate y", "s3", &projects.shop)).await);
}

#[tokio::test]
async fn other_repositories_agents_and_programs_ask() {
    let (daemon, projects) = (TestDaemon::default().await, Projects::new());
    approve(&daemon, &shell("frobnicate --all", "s1", &projects.shop)).await;
    for (command, folder) in [
        ("frobnicate x", &projects.other),
        ("frobnicate x", &projects.loose),
        ("frobnicate x", &projects.shop.join("../other")),
        ("frobnicate2 x", &projects.shop),
        ("frobnicate x; rm -rf ~/work", &projects.shop),
        ("frobnicate ~/.ssh/id_rsa", &projects.shop),
        ("sudo frobnicate x", &projects.shop),
        ("PATH=/tmp/x:$PATH frobnicate", &projects.shop),
    ] {
        assert!(asks(&daemon, &shell(command, "s2", folder)).await, "{command} {folder:?}");
    }
    let call = shell("frobnicate x", "s2", &projects.shop);
    assert_eq!(ask(&daemon, &hook("codex"), &call).await.request.state, State::Pending);
    // A caller that the kernel does not vouch for may claim any folder.
    assert_eq!(ask(&daemon, &caller("claude"), &call).await.request.state, State::Pending);
}

#[tokio::test]
async fn a_claimed_project_and_a_moved_link_cover_nothing() {
    let (daemon, projects) = (TestDaemon::default().await, Projects::new());
    let link = projects.loose.join("link");
    std::os::unix::fs::symlink(&projects.shop, &link).unwrap();
    approve(&daemon, &shell("frobnicate --all", "s1", &link)).await;
    assert!(!asks(&daemon, &shell("frobnicate x", "s1", &projects.shop)).await);
    for folder in [&projects.other, &projects.loose] {
        let mut call = shell("frobnicate x", "s1", folder);
        call["project"] = serde_json::json!(projects.shop);
        assert!(asks(&daemon, &call).await, "{folder:?}");
    }
    fs::remove_file(&link).unwrap();
    std::os::unix::fs::symlink(&projects.other, &link).unwrap();
    assert!(asks(&daemon, &shell("frobnicate x", "s1", &link)).await);
}

#[tokio::test]
async fn only_the_first_use_of_a_program_is_approved_for_the_repository() {
    let (daemon, projects) = (TestDaemon::default().await, Projects::new());
    let refused = async |stored: StoredRequest| {
        let event = for_repository(&stored);
        let refused = daemon.gate.decide(stored.request.id, event, daemon.note()).await;
        let expected = StoreError::Refused(TransitionError::NotForRepository);
        assert_eq!(refused.unwrap_err(), expected, "{}", stored.brief);
    };
    for command in ["rm -rf src", "/tmp/tool x", "frobnicate delete all", "git push --force"] {
        let call = shell(command, "s1", &projects.shop);
        refused(ask(&daemon, &hook("claude"), &call).await).await;
    }
    refused(ask(&daemon, &hook("claude"), &shell("frobnicate", "s1", &projects.loose)).await).await;
    refused(ask(&daemon, &caller("claude"), &shell("frobnicate", "s2", &projects.shop)).await)
        .await;
}

#[tokio::test]
async fn a_revoked_approval_a_denial_and_a_freeze_end_it() {
    let (daemon, projects) = (TestDaemon::default().await, Projects::new());
    let call = |words: &str| shell(&format!("frobnicate {words}"), "s1", &projects.shop);
    let approved = approve(&daemon, &call("a")).await.request.id;
    let (store, owner) = (daemon.gate.store(), "owner".to_owned());
    assert!(store.revoke_grant(approved, owner, daemon.note()).await.unwrap());
    assert!(asks(&daemon, &call("b")).await, "revoked");
    approve(&daemon, &call("c")).await;
    assert!(!asks(&daemon, &call("d")).await);
    let more = shell("frobnicate e; rm -rf src", "s2", &projects.shop);
    let more = ask(&daemon, &hook("claude"), &more).await;
    let deny = answer(&more, "owner", Choice::Deny, "");
    daemon.gate.decide(more.request.id, deny, daemon.note()).await.unwrap();
    assert!(asks(&daemon, &call("f")).await, "denied");
    approve(&daemon, &call("g")).await;
    daemon.gate.freeze("owner", daemon.note()).await.unwrap();
    let text = call("h").to_string();
    let value = countersign_json::parse(&text).unwrap();
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
    assert!(daemon.gate.submit(submission, &hook("claude")).await.is_err(), "frozen");
}
