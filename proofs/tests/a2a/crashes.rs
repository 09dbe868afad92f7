//! `kill -9` of the node in every state: nothing runs twice, nothing is lost.

use std::time::Duration;

use countersign_a2a::OutgoingTask;
use serde_json::json;

use crate::fixture::{Fleet, HANG, lines, state, until};

/// Writes one line for each run, then waits until a file exists.
fn counting(folder: &str) -> String {
    format!(
        "import json,sys,os,time\nt=json.load(sys.stdin)\n\
         open('{folder}/runs','a').write(t['taskId']+'\\n')\n\
         while not os.path.exists('{folder}/go'): time.sleep(0.02)\n\
         print('done')"
    )
}

fn task(text: &str) -> OutgoingTask {
    OutgoingTask { text: text.to_owned(), ..OutgoingTask::default() }
}

#[test]
fn a_task_survives_a_crash_in_every_state() {
    let fleet = Fleet::start();
    let folder = fleet.folder.path().display().to_string();
    let runs = fleet.folder.path().join("runs");
    let script = counting(&folder);
    let files = fleet.issue("alice");
    let node = fleet.node(&script, &json!({}));
    let port = json!({ "port": node.address.port() });
    let alice = fleet.peer(&files, &node);

    // Before a person has answered: the question is the same after the restart.
    let sent = alice.send(&task("First")).unwrap();
    let id = sent["id"].as_str().unwrap().to_owned();
    let question = fleet.asked_about("First");
    drop(node);
    // The person answers while the node is down.
    fleet.decide(&question, "approve");
    let node = fleet.node(&script, &port);
    until("the run", || (lines(&runs) == 1).then_some(()));
    assert_eq!(state(&alice.get(&id).unwrap()), "TASK_STATE_WORKING");

    // While it runs: it is not started again, and its sender hears that.
    drop(node);
    let node = fleet.node(&script, &port);
    let failed = alice.wait(&id, (HANG, Duration::from_millis(50)), |_, _| {}).unwrap();
    assert_eq!(state(&failed), "TASK_STATE_FAILED");
    let note = failed["status"]["message"]["parts"][0]["text"].as_str().unwrap().to_owned();
    assert!(note.contains("not started again"), "{note}");
    assert_eq!(lines(&runs), 1, "it ran once");
    until("the report", || {
        let reported = &fleet.request(&question)["reported"];
        (reported["status"] == "error").then_some(())
    });

    // While a person decides: still the only question, and approvable.
    let sent = alice.send(&task("Second")).unwrap();
    let second = sent["id"].as_str().unwrap().to_owned();
    fleet.asked_about("Second");
    drop(node);
    let node = fleet.node(&script, &port);
    until("one question", || (fleet.pending().len() == 1).then_some(()));
    std::fs::write(fleet.folder.path().join("go"), "").unwrap();
    fleet.approve("Second");
    let done = alice.wait(&second, (HANG, Duration::from_millis(50)), |_, _| {}).unwrap();
    assert_eq!(state(&done), "TASK_STATE_COMPLETED");
    assert_eq!(lines(&runs), 2);

    // After its end: the result stays.
    drop(node);
    let _node = fleet.node(&script, &port);
    assert_eq!(state(&alice.get(&second).unwrap()), "TASK_STATE_COMPLETED");
    assert_eq!(state(&alice.get(&id).unwrap()), "TASK_STATE_FAILED");
    assert_eq!(lines(&runs), 2, "nothing runs again");
}

#[test]
fn a_crash_right_after_the_answer_loses_no_task() {
    let fleet = Fleet::start();
    let files = fleet.issue("alice");
    let mut sent = Vec::new();
    let mut port = json!({});
    for round in 0..5 {
        let node = fleet.node("print('x')", &port);
        port = json!({ "port": node.address.port() });
        let alice = fleet.peer(&files, &node);
        for number in 0..4 {
            let task = alice.send(&task(&format!("Round {round} {number}"))).unwrap();
            sent.push(task["id"].as_str().unwrap().to_owned());
        }
        // Killed at once: the answers were durable.
        drop(node);
    }
    let node = fleet.node("print('x')", &port);
    let alice = fleet.peer(&files, &node);
    for id in &sent {
        assert!(!state(&alice.get(id).unwrap()).is_empty(), "{id}");
    }
    until("one question for each", || (fleet.pending().len() == sent.len()).then_some(()));
}
