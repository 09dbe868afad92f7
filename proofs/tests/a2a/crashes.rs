//! `kill -9` of the node and of the daemon in every state: nothing runs twice, nothing is lost.

use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use countersign_a2a::{OutgoingTask, RemoteAgent};
use countersign_tls::rustls::ClientConfig;
use proofs::installation::UNLIMITED;
use serde_json::json;

use crate::fixture::{Fleet, HANG, RunningNode, lines, raw, state, until};

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

/// Writes one line for each run; a task with "wait" in its text waits until a file exists.
fn waiting(folder: &str) -> String {
    format!(
        "import json,sys,os,time\nt=json.load(sys.stdin)\n\
         open('{folder}/runs','a').write(t['task']+'\\n')\n\
         while 'wait' in t['task'] and not os.path.exists('{folder}/go'): time.sleep(0.02)\n\
         print('done')"
    )
}

#[test]
fn a_crash_of_the_daemon_loses_no_task_and_runs_none_twice() {
    let mut fleet = Fleet::start();
    let folder = fleet.folder.path().display().to_string();
    let runs = fleet.folder.path().join("runs");
    let node = fleet.node(&waiting(&folder), &json!({ "agents": fleet.socket() }));
    let alice = fleet.peer(&fleet.issue("alice"), &node);
    let send = |text: &str| alice.send(&task(text)).unwrap()["id"].as_str().unwrap().to_owned();
    let is = |id: &str, wanted: &str| {
        until(wanted, || (state(&alice.get(id).unwrap()) == wanted).then_some(()));
    };

    // One task runs, one waits for a person, and one was denied.
    let runs_now = send("Run and wait");
    fleet.approve("Run and wait");
    is(&runs_now, "TASK_STATE_WORKING");
    until("the run", || (lines(&runs) == 1).then_some(()));
    let asked = send("Asked before");
    let question = fleet.asked_about("Asked before");
    is(&asked, "TASK_STATE_AUTH_REQUIRED");
    let denied = send("Denied before");
    fleet.decide(&fleet.asked_about("Denied before"), "deny");
    is(&denied, "TASK_STATE_REJECTED");

    fleet.kill_daemon();
    // Without a gate nothing starts, nothing is refused for good, and the sender is answered.
    let late = send("Sent without a daemon");
    assert_eq!(state(&alice.get(&late).unwrap()), "TASK_STATE_SUBMITTED");
    assert_eq!(state(&alice.get(&asked).unwrap()), "TASK_STATE_AUTH_REQUIRED");
    std::fs::write(fleet.folder.path().join("go"), "").unwrap();
    is(&runs_now, "TASK_STATE_COMPLETED");
    assert_eq!(lines(&runs), 1, "nothing else ran");
    fleet.start_daemon();

    // The same question is answered, once, and the late one is asked about once.
    let late_question = fleet.asked_about("Sent without a daemon");
    assert_eq!(fleet.pending().len(), 2);
    fleet.decide(&question, "approve");
    is(&asked, "TASK_STATE_COMPLETED");
    fleet.decide(&late_question, "approve");
    is(&late, "TASK_STATE_COMPLETED");
    assert!(fleet.pending().is_empty());
    assert_eq!(state(&alice.get(&denied).unwrap()), "TASK_STATE_REJECTED");
    let text = std::fs::read_to_string(&runs).unwrap();
    assert_eq!(text, "Run and wait\nAsked before\nSent without a daemon\n");
    // The result that came while there was no daemon is in the story as well.
    until("the report", || fleet.page("/fleet").contains("Run and wait").then_some(()));
    until("the report", || (fleet.page("/fleet").matches("Completed").count() == 3).then_some(()));
}

#[test]
fn a_crash_of_the_daemon_right_after_an_approval_runs_the_task_once() {
    let mut fleet = Fleet::start();
    let folder = fleet.folder.path().display().to_string();
    let runs = fleet.folder.path().join("runs");
    let node = fleet.node(&waiting(&folder), &json!({ "agents": fleet.socket() }));
    let alice = fleet.peer(&fleet.issue("alice"), &node);
    for round in 0..3 {
        let text = format!("Round {round}");
        let sent = alice.send(&task(&text)).unwrap();
        let id = sent["id"].as_str().unwrap();
        fleet.approve(&text);
        fleet.kill_daemon();
        fleet.start_daemon();
        let done = alice.wait(id, (HANG, Duration::from_millis(50)), |_, _| {}).unwrap();
        assert_eq!(state(&done), "TASK_STATE_COMPLETED", "{done}");
        assert_eq!(lines(&runs), round + 1);
    }
}

/// Lets every delegated task pass.
const TASKS_PASS: &str = "[policy]\npermit_up_to = \"MEDIUM\"\n[[policy.rule]]\nname = \"tasks\"\n\
                          decision = \"allow\"\ntools = [\"delegate_task\"]\n";

/// Sends a task and waits for its end, in a thread of its own: the node may be killed before.
fn send_and_wait(config: &Arc<ClientConfig>, node: &RunningNode, text: &str) {
    let mut stream = node.connect(config);
    let body = json!({
        "jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": { "message": {
            "messageId": text, "role": "ROLE_USER", "parts": [{ "text": text }],
        } },
    });
    std::thread::spawn(move || raw(&mut stream, "POST /a2a/rpc", &body.to_string()));
}

/// The states of a peer's tasks, the one that changed last first.
fn states(peer: &RemoteAgent) -> Vec<String> {
    let page = peer.call("ListTasks", &json!({})).unwrap();
    page["tasks"].as_array().unwrap().iter().map(|task| state(task).to_owned()).collect()
}

#[test]
fn a_task_whose_sender_waits_survives_a_crash_and_runs_once() {
    let mut fleet = Fleet::with(&format!("{UNLIMITED}{TASKS_PASS}"));
    let folder = fleet.folder.path().display().to_string();
    let runs = fleet.folder.path().join("runs");
    let (script, files) = (waiting(&folder), fleet.issue("alice"));
    let node = fleet.node(&script, &json!({ "agents": fleet.socket() }));
    let place = json!({ "agents": fleet.socket(), "port": node.address.port() });
    let (alice, config) = (fleet.peer(&files, &node), fleet.client_config(&files));

    // While it runs: it is not started again, also if its sender repeats the message.
    send_and_wait(&config, &node, "Run and wait");
    until("the run", || (lines(&runs) == 1).then_some(()));
    drop(node);
    std::fs::write(fleet.folder.path().join("go"), "").unwrap();
    let node = fleet.node(&script, &place);
    assert_eq!(states(&alice), ["TASK_STATE_FAILED"]);
    send_and_wait(&config, &node, "Run and wait");

    // Before the gate has answered: it goes on after the crash.
    fleet.kill_daemon();
    send_and_wait(&config, &node, "Taken before");
    until("the task", || (states(&alice).len() == 2).then_some(()));
    drop(node);
    fleet.start_daemon();
    let _node = fleet.node(&script, &place);
    until("its end", || (states(&alice)[0] == "TASK_STATE_COMPLETED").then_some(()));
    assert_eq!(std::fs::read_to_string(&runs).unwrap(), "Run and wait\nTaken before\n");
}

#[test]
fn a_task_that_may_have_run_before_a_power_failure_does_not_run_again() {
    let mut fleet = Fleet::with(&format!("{UNLIMITED}{TASKS_PASS}"));
    let folder = fleet.folder.path().display().to_string();
    let (script, files) = (waiting(&folder), fleet.issue("alice"));
    let node = fleet.node(&script, &json!({ "agents": fleet.socket() }));
    let place = json!({ "agents": fleet.socket(), "port": node.address.port() });
    let (alice, config) = (fleet.peer(&files, &node), fleet.client_config(&files));
    fleet.kill_daemon();
    send_and_wait(&config, &node, "Taken before the failure");
    until("the task", || (states(&alice).len() == 1).then_some(()));
    drop(node);
    // As if the machine had been started again, and the file had lost the later states.
    let change = "import sqlite3,sys; c=sqlite3.connect(sys.argv[1]); n=c.execute(\"UPDATE tasks \
                  SET document=json_set(document,'$.boot','x') WHERE ended=0\").rowcount; \
                  c.commit(); sys.exit(n-1)";
    let tasks = fleet.folder.path().join("tasks.db");
    let changed = Command::new("python3").args(["-c", change]).arg(&tasks).status().unwrap();
    assert!(changed.success());
    fleet.start_daemon();
    let _node = fleet.node(&script, &place);
    assert_eq!(states(&alice), ["TASK_STATE_FAILED"]);
    assert_eq!(lines(&fleet.folder.path().join("runs")), 0);
}
