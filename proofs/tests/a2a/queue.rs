//! Approved tasks that cannot start at once: behind a long one, or while the node is down.

use std::time::{Duration, Instant};

use countersign_a2a::{OutgoingTask, RemoteAgent};
use proofs::installation::UNLIMITED;
use serde_json::{Value, json};

use crate::fixture::{ECHO, Fleet, HANG, state, until};

fn send(peer: &RemoteAgent, text: &str) -> String {
    let task = OutgoingTask { text: text.to_owned(), ..OutgoingTask::default() };
    peer.send(&task).unwrap()["id"].as_str().unwrap().to_owned()
}

fn ended(peer: &RemoteAgent, id: &str) -> Value {
    peer.wait(id, (HANG, Duration::from_millis(50)), |_, _| {}).unwrap()
}

#[test]
fn an_approved_task_waits_longer_than_an_ordinary_permit_lasts() {
    let fleet = Fleet::with(&format!("{UNLIMITED}[permits]\nseconds = 2\n"));
    let slow = "import json,sys,time; t=json.load(sys.stdin)\n\
                if 'Slow' in t['task']: time.sleep(5)\nprint('done')";
    let node = fleet.node(slow, &json!({ "concurrent": 1 }));
    let port = json!({ "port": node.address.port() });
    let alice = fleet.peer(&fleet.issue("alice"), &node);
    let first = send(&alice, "Slow work");
    fleet.approve("Slow work");
    until("the start", || {
        (state(&alice.get(&first).unwrap()) == "TASK_STATE_WORKING").then_some(())
    });
    let second = send(&alice, "Short work");
    fleet.approve("Short work");
    assert_eq!(state(&ended(&alice, &first)), "TASK_STATE_COMPLETED");
    let done = ended(&alice, &second);
    assert_eq!(state(&done), "TASK_STATE_COMPLETED", "{done}");

    // The node is down while a person approves, and for a while after that.
    let third = send(&alice, "Later work");
    let question = fleet.asked_about("Later work");
    drop(node);
    fleet.decide(&question, "approve");
    let start = Instant::now();
    until("some time", || (start.elapsed() > Duration::from_secs(4)).then_some(()));
    let _node = fleet.node(slow, &port);
    let done = ended(&alice, &third);
    assert_eq!(state(&done), "TASK_STATE_COMPLETED", "{done}");
}

#[test]
fn a_queued_task_does_not_start_in_a_freeze() {
    let fleet = Fleet::start();
    let folder = fleet.folder.path().display().to_string();
    let script = format!(
        "import json,sys,os,time\nt=json.load(sys.stdin)\n\
         open('{folder}/runs','a').write('x\\n')\n\
         while not os.path.exists('{folder}/go'): time.sleep(0.02)\nprint('done')"
    );
    let node = fleet.node(&script, &json!({ "concurrent": 1 }));
    let alice = fleet.peer(&fleet.issue("alice"), &node);
    let first = send(&alice, "Slow work");
    fleet.approve("Slow work");
    until("the start", || {
        (state(&alice.get(&first).unwrap()) == "TASK_STATE_WORKING").then_some(())
    });
    let second = send(&alice, "Short work");
    fleet.approve("Short work");
    let (status, said) = fleet.change("/v1/freeze", &json!({}));
    assert!(status < 300, "{status} {said}");
    std::fs::write(fleet.folder.path().join("go"), "").unwrap();
    assert_eq!(state(&ended(&alice, &second)), "TASK_STATE_FAILED");
    assert_eq!(crate::fixture::lines(&fleet.folder.path().join("runs")), 1);
}

#[test]
fn a_gate_that_only_observes_lets_tasks_run() {
    for mode in ["observe", "crisis_only"] {
        let fleet = Fleet::with_mode(mode, UNLIMITED);
        let node = fleet.node(ECHO, &json!({}));
        let alice = fleet.peer(&fleet.issue("alice"), &node);
        let done = ended(&alice, &send(&alice, "Count the files"));
        assert_eq!(state(&done), "TASK_STATE_COMPLETED", "{mode}: {done}");
        assert!(fleet.pending().is_empty());
    }
}

/// Lets every delegated task pass.
const TASKS_PASS: &str = "[policy]\npermit_up_to = \"MEDIUM\"\n[[policy.rule]]\nname = \"tasks\"\n\
                          decision = \"allow\"\ntools = [\"delegate_task\"]\n";

#[test]
fn in_a_crisis_an_approved_task_runs_in_every_mode() {
    for mode in ["observe", "crisis_only", "enforce"] {
        let fleet = Fleet::with_mode(mode, UNLIMITED);
        let node = fleet.node(ECHO, &json!({}));
        let alice = fleet.peer(&fleet.issue("alice"), &node);
        let text = "I want to kill myself tonight";
        let id = send(&alice, text);
        let asked = fleet.asked_about(text);
        assert_eq!(asked["crisis"], true, "{mode}: {asked}");
        until("the question", || {
            (state(&alice.get(&id).unwrap()) == "TASK_STATE_AUTH_REQUIRED").then_some(())
        });
        let (status, said) = fleet.decide(&asked, "approve");
        assert_eq!(status, 200, "{mode}: {said}");
        let done = ended(&alice, &id);
        assert_eq!(state(&done), "TASK_STATE_COMPLETED", "{mode}: {done}");
        assert!(!fleet.request(&asked)["redeemed"].is_null(), "{mode}: the permit was used");
    }
}

#[test]
fn a_task_that_a_rule_lets_pass_runs_at_once_but_not_in_a_freeze() {
    let fleet = Fleet::with(&format!("{UNLIMITED}{TASKS_PASS}"));
    let folder = fleet.folder.path().display().to_string();
    let script = format!(
        "import json,sys,os,time\nt=json.load(sys.stdin)\n\
         open('{folder}/runs','a').write('x\\n')\n\
         while 'Slow' in t['task'] and not os.path.exists('{folder}/go'): time.sleep(0.02)\n\
         print('done')"
    );
    let node = fleet.node(&script, &json!({ "concurrent": 1 }));
    let alice = fleet.peer(&fleet.issue("alice"), &node);
    assert_eq!(state(&ended(&alice, &send(&alice, "Count"))), "TASK_STATE_COMPLETED");
    let first = send(&alice, "Slow work");
    until("the start", || {
        (state(&alice.get(&first).unwrap()) == "TASK_STATE_WORKING").then_some(())
    });
    // It passed before the freeze, and waits for its turn.
    let second = send(&alice, "Short work");
    let start = Instant::now();
    until("its wait", || (start.elapsed() > Duration::from_secs(2)).then_some(()));
    let (status, said) = fleet.change("/v1/freeze", &json!({}));
    assert!(status < 300, "{status} {said}");
    std::fs::write(fleet.folder.path().join("go"), "").unwrap();
    let refused = ended(&alice, &second);
    assert_eq!(state(&refused), "TASK_STATE_REJECTED", "{refused}");
    assert_eq!(crate::fixture::lines(&fleet.folder.path().join("runs")), 2);
    assert!(fleet.pending().is_empty());
}
