//! A task that asks its sender a question: the answer passes the gate like a new task.

use std::time::Duration;

use countersign_a2a::{DelegationError, OutgoingTask, RemoteAgent};
use serde_json::{Value, json};

use crate::fixture::{Fleet, HANG, lines, state, until};

/// Asks once, then repeats everything it heard; writes one line for each run.
fn asking(folder: &str) -> String {
    format!(
        "import json,sys\nt=json.load(sys.stdin)\nopen('{folder}/runs','a').write('x\\n')\n\
         said=t['history']+[t['task']]\n\
         print(json.dumps({{'text':' then '.join(said)}} if t['history'] else \
         {{'input_required':'Which branch?'}}))"
    )
}

fn answer(
    peer: &RemoteAgent,
    id: &str,
    message: &str,
    context: Option<&str>,
) -> Result<Value, DelegationError> {
    let mut body = json!({
        "message": {
            "messageId": message, "role": "ROLE_USER", "taskId": id,
            "parts": [{ "text": format!("Take {message}") }],
        },
        "configuration": { "returnImmediately": true },
    });
    if let Some(context) = context {
        body["message"]["contextId"] = json!(context);
    }
    peer.call("SendMessage", &body)
}

#[test]
fn an_answer_belongs_to_its_task_and_waits_for_a_person_again() {
    let fleet = Fleet::start();
    let folder = fleet.folder.path().display().to_string();
    let runs = fleet.folder.path().join("runs");
    let script = asking(&folder);
    let node = fleet.node(&script, &json!({}));
    let port = json!({ "port": node.address.port() });
    let files = fleet.issue("alice");
    let alice = fleet.peer(&files, &node);
    let mallory = fleet.peer(&fleet.issue("mallory"), &node);
    let task = OutgoingTask { text: "Merge it".to_owned(), ..OutgoingTask::default() };
    let id = alice.send(&task).unwrap()["id"].as_str().unwrap().to_owned();
    let early = answer(&alice, &id, "early", None).unwrap_err().to_string();
    assert!(early.contains("asked no question"), "{early}");
    fleet.approve("Merge it");
    let asked = until("the question", || {
        let task = alice.get(&id).unwrap();
        (state(&task) == "TASK_STATE_INPUT_REQUIRED").then_some(task)
    });
    assert_eq!(asked["status"]["message"]["parts"][0]["text"], "Which branch?");

    // Nobody else answers, and not in another conversation; a crash keeps the question.
    let error = answer(&mallory, &id, "evil", None).unwrap_err().to_string();
    assert!(error.contains("task not found"), "{error}");
    let error = answer(&alice, &id, "main", Some("other")).unwrap_err().to_string();
    assert!(error.contains("contextId"), "{error}");
    drop(node);
    let _node = fleet.node(&script, &port);
    assert_eq!(state(&alice.get(&id).unwrap()), "TASK_STATE_INPUT_REQUIRED");

    // The answer is another question to a person; sent twice, it is the same.
    answer(&alice, &id, "main", asked["contextId"].as_str()).unwrap();
    let question = fleet.asked_about("Take main");
    assert!(question["card"].to_string().contains("Merge it"), "{question}");
    answer(&alice, &id, "main", None).unwrap();
    assert_eq!((fleet.pending().len(), lines(&runs)), (1, 1));
    let other = json!({ "message": {
        "messageId": "main", "role": "ROLE_USER", "taskId": id, "parts": [{ "text": "Other" }],
    } });
    let error = alice.call("SendMessage", &other).unwrap_err().to_string();
    assert!(error.contains("messageId"), "{error}");
    fleet.decide(&question, "approve");
    let done = alice.wait(&id, (HANG, Duration::from_millis(50)), |_, _| {}).unwrap();
    assert_eq!(state(&done), "TASK_STATE_COMPLETED");
    assert_eq!(done["artifacts"][0]["parts"][0]["text"], "Merge it then Take main");
    assert_eq!(done["history"].as_array().unwrap().len(), 2);
    let short = alice.call("GetTask", &json!({ "id": id, "historyLength": 1 })).unwrap();
    assert_eq!(short["history"][0]["parts"][0]["text"], "Take main");
    assert_eq!(short["history"].as_array().unwrap().len(), 1);
    assert_eq!(lines(&runs), 2, "each text ran once");
    let late = answer(&alice, &id, "late", None).unwrap_err().to_string();
    assert!(late.contains("asked no question"), "{late}");
}

#[test]
fn a_denied_answer_ends_the_task() {
    let fleet = Fleet::start();
    let folder = fleet.folder.path().display().to_string();
    let runs = fleet.folder.path().join("runs");
    let node = fleet.node(&asking(&folder), &json!({}));
    let alice = fleet.peer(&fleet.issue("alice"), &node);
    let task = OutgoingTask { text: "Deploy it".to_owned(), ..OutgoingTask::default() };
    let id = alice.send(&task).unwrap()["id"].as_str().unwrap().to_owned();
    fleet.approve("Deploy it");
    until("the question", || {
        (state(&alice.get(&id).unwrap()) == "TASK_STATE_INPUT_REQUIRED").then_some(())
    });
    answer(&alice, &id, "production", None).unwrap();
    fleet.decide(&fleet.asked_about("Take production"), "deny");
    let done = alice.wait(&id, (HANG, Duration::from_millis(50)), |_, _| {}).unwrap();
    assert_eq!((state(&done), lines(&runs)), ("TASK_STATE_REJECTED", 1));
}

#[test]
fn a_question_without_an_answer_expires_and_the_client_answers_one() {
    let fleet = Fleet::start();
    let script = "import json,sys; t=json.load(sys.stdin); \
                  print(json.dumps({'text': t['task']} if t['history'] else \
                  {'input_required': 'Which branch?'}))";
    let node = fleet.node(script, &json!({ "answer_within": 5 }));
    let alice = fleet.peer(&fleet.issue("alice"), &node);
    let send = |text: &str, answers: Option<String>| {
        let task = OutgoingTask { text: text.to_owned(), answers, ..OutgoingTask::default() };
        let sent = alice.send(&task).unwrap();
        fleet.approve(text);
        let id = sent["id"].as_str().unwrap().to_owned();
        alice.wait(&id, (HANG, Duration::from_millis(50)), |_, _| {}).unwrap()
    };
    let asked = send("Merge it", None);
    assert_eq!(state(&asked), "TASK_STATE_INPUT_REQUIRED");
    let done = send("The main one", asked["id"].as_str().map(ToOwned::to_owned));
    assert_eq!(state(&done), "TASK_STATE_COMPLETED", "{done}");
    assert_eq!(done["id"], asked["id"]);
    let asked = send("Merge the other", None);
    let id = asked["id"].as_str().unwrap();
    until("the end", || (state(&alice.get(id).unwrap()) == "TASK_STATE_FAILED").then_some(()));
    let note = alice.get(id).unwrap()["status"]["message"]["parts"][0]["text"].clone();
    assert_eq!(note, "Its sender did not answer in time.");
}
