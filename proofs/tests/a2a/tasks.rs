//! A task from its sender through the gate to its result, in every version of the protocol.

use countersign_a2a::{AgentUrl, OutgoingTask, RemoteAgent};
use serde_json::{Value, json};

use crate::fixture::{ECHO, Fleet, HANG, raw, state, until};

fn task(text: &str) -> OutgoingTask {
    OutgoingTask { text: text.to_owned(), ..OutgoingTask::default() }
}

#[test]
fn an_approved_task_runs_and_a_denied_one_does_not() {
    let fleet = Fleet::start();
    let node = fleet.node(ECHO, &json!({}));
    let alice = fleet.peer(&fleet.issue("alice"), &node);
    let card = alice.card().unwrap();
    assert_eq!(card["name"], "bob");

    let sent = alice.send(&task("Analyze README.md")).unwrap();
    let id = sent["id"].as_str().unwrap().to_owned();
    let question = fleet.asked_about("Analyze README.md");
    let waiting = until("the question", || {
        let task = alice.get(&id).unwrap();
        (state(&task) == "TASK_STATE_AUTH_REQUIRED").then_some(task)
    });
    let told = &waiting["status"]["message"];
    let note = told["parts"][0]["text"].as_str().unwrap();
    let words = question["phrase"].as_str().unwrap();
    let request = question["id"].as_str().unwrap();
    assert!(note.contains(words) && note.contains(request), "{note}");
    assert_eq!(told["metadata"]["countersign"]["request"], request);
    assert!(note.contains(&format!("http://inbox.example/requests/{request}")), "{note}");
    fleet.decide(&question, "approve");
    let done = alice.wait(&id, (HANG, std::time::Duration::from_millis(50)), |_, _| {}).unwrap();
    assert_eq!(state(&done), "TASK_STATE_COMPLETED");
    assert_eq!(done["artifacts"][0]["parts"][0]["text"], "analysis:Analyze README.md");

    let sent = alice.send(&task("Delete everything")).unwrap();
    let id = sent["id"].as_str().unwrap().to_owned();
    fleet.decide(&fleet.asked_about("Delete everything"), "deny");
    let done = alice.wait(&id, (HANG, std::time::Duration::from_millis(50)), |_, _| {}).unwrap();
    assert_eq!(state(&done), "TASK_STATE_REJECTED");
    let note = done["status"]["message"]["parts"][0]["text"].as_str().unwrap();
    assert!(note.contains("because"), "{note}");
    assert!(done.get("artifacts").is_none());
}

#[test]
fn a_canceled_task_leaves_no_question() {
    let fleet = Fleet::start();
    let node = fleet.node(ECHO, &json!({}));
    let alice = fleet.peer(&fleet.issue("alice"), &node);
    let sent = alice.send(&task("Wait for me")).unwrap();
    fleet.asked_about("Wait for me");
    let canceled = alice.cancel(sent["id"].as_str().unwrap()).unwrap();
    assert_eq!(state(&canceled), "TASK_STATE_CANCELED");
    until("the end of the question", || fleet.pending().is_empty().then_some(()));
    let again = alice.cancel(sent["id"].as_str().unwrap()).unwrap_err().to_string();
    assert!(again.contains("cannot be canceled"), "{again}");
}

#[test]
fn older_names_streams_and_the_http_binding_give_the_same_task() {
    let fleet = Fleet::start();
    let node = fleet.node(ECHO, &json!({}));
    let config = fleet.client_config(&fleet.issue("alice"));
    let mut stream = node.connect(&config);
    let body = json!({
        "jsonrpc": "2.0", "id": 1, "method": "message/send", "params": {
            "message": {
                "kind": "message", "messageId": "m1", "role": "user",
                "parts": [{ "kind": "text", "text": "Old names" }],
            },
            "configuration": { "blocking": false },
        },
    });
    let text = raw(&mut stream, "POST /a2a/rpc", &body.to_string()).unwrap();
    let answer: Value = serde_json::from_str(text.split_once("\r\n\r\n").unwrap().1).unwrap();
    let id = answer["result"]["id"].as_str().unwrap().to_owned();
    assert_eq!((&answer["result"]["kind"], &answer["id"]), (&json!("task"), &json!(1)));
    // The stream stays open until the person has decided and the task has ended.
    let mut subscriber = node.connect(&config);
    let body =
        json!({ "jsonrpc": "2.0", "id": 2, "method": "SubscribeToTask", "params": { "id": id } });
    let reading = std::thread::spawn(move || {
        raw(&mut subscriber, "POST /a2a/rpc", &body.to_string()).unwrap()
    });
    fleet.approve("Old names");
    let events = reading.join().unwrap();
    assert!(events.contains("text/event-stream"), "{events}");
    assert!(
        events.contains("TASK_STATE_COMPLETED") && events.contains("artifactUpdate"),
        "{events}"
    );
    let text = raw(&mut stream, &format!("GET /a2a/http/tasks/{id}"), "").unwrap();
    assert!(text.contains("TASK_STATE_COMPLETED") && text.contains("analysis:Old names"), "{text}");
    let text = raw(&mut stream, "GET /a2a/http/tasks?pageSize=5", "").unwrap();
    assert!(text.contains(&id), "{text}");
    let text = raw(&mut stream, "GET /a2a/http/tasks?historyLength=1", "").unwrap();
    assert!(text.contains("\"history\""), "{text}");
    let late = "GET /a2a/http/tasks?statusTimestampAfter=2100-01-01T00:00:00Z";
    let text = raw(&mut stream, late, "").unwrap();
    assert!(text.contains("\"totalSize\":0"), "{text}");
    for path in [format!("GET /a2a/http/tasks/{id}"), "GET /a2a/http/tasks".to_owned()] {
        let other = format!("{path} HTTP/1.1\r\nA2A-Version: 7.0\r\nX: x");
        let text = raw(&mut stream, &other, "").unwrap();
        assert!(text.contains("VERSION_NOT_SUPPORTED"), "{path}: {text}");
    }
    let body = json!({ "jsonrpc": "2.0", "id": 3, "method": "tasks/get", "params": { "id": id } });
    let text = raw(&mut stream, "POST /a2a/rpc", &body.to_string()).unwrap();
    assert!(text.contains("\"state\":\"completed\""), "{text}");
}

#[test]
fn a_message_answers_a_task_and_the_address_in_the_card_finds_it() {
    let fleet = Fleet::start();
    let node = fleet.node("print('{\"message\":\"Hello back\"}')", &json!({}));
    let files = fleet.issue("alice");
    let alice = fleet.peer(&files, &node);
    let card = alice.card().unwrap();
    let named = card["supportedInterfaces"][0]["url"].as_str().unwrap().to_owned();
    let direct = RemoteAgent::new(AgentUrl::parse(&named).unwrap(), fleet.client_config(&files));
    assert_eq!(direct.card().unwrap()["name"], "bob");
    let direct = direct.following(&card);
    let body = json!({
        "message": { "messageId": "1", "role": "ROLE_USER", "parts": [{ "text": "Greet" }] },
    });
    // A person decides first: the blocking send returns the task.
    let waiting = direct.call("SendMessage", &body).unwrap();
    assert_eq!(state(&waiting["task"]), "TASK_STATE_AUTH_REQUIRED", "{waiting}");
    fleet.approve("Greet");
    let id = waiting["task"]["id"].as_str().unwrap();
    let done = direct.wait(id, (HANG, std::time::Duration::from_millis(50)), |_, _| {}).unwrap();
    assert_eq!(done["status"]["message"]["parts"][0]["text"], "Hello back");
    assert!(done.get("artifacts").is_none(), "{done}");
    // Repeated, the send is answered with the message.
    let answered = direct.call("SendMessage", &body).unwrap();
    assert_eq!(answered["message"]["parts"][0]["text"], "Hello back", "{answered}");
    assert_eq!(answered["message"]["role"], "ROLE_AGENT");
    // A card that names another host changes nothing.
    let moved = json!({ "supportedInterfaces": [
        { "url": "https://evil.example/a2a/rpc", "protocolBinding": "JSONRPC" },
    ] });
    assert_eq!(state(&direct.following(&moved).get(id).unwrap()), "TASK_STATE_COMPLETED");
}

#[test]
fn the_label_of_a_requester_is_shown_to_the_person() {
    let fleet = Fleet::start();
    let node = fleet.node(ECHO, &json!({}));
    let alice = fleet.peer(&fleet.issue("alice"), &node);
    let requester = Some("nightly job".to_owned());
    alice.send(&OutgoingTask { requester, ..task("Labelled") }).unwrap();
    let card = fleet.asked_about("Labelled")["card"].to_string();
    assert!(card.contains("requester_label") && card.contains("nightly job"), "{card}");
}

#[test]
fn a_chain_is_shown_to_the_person_and_a_loop_is_refused() {
    let fleet = Fleet::start();
    let node = fleet.node(ECHO, &json!({}));
    let alice = fleet.peer(&fleet.issue("alice"), &node);
    let chained = |chain: &[&str], text: &str| {
        let chain = chain.iter().map(ToString::to_string).collect();
        alice.send(&OutgoingTask { chain, ..task(text) })
    };
    chained(&["carol", "alice"], "Long way").unwrap();
    let card = fleet.asked_about("Long way")["card"].to_string();
    assert!(card.contains("carol") && card.contains("alice"), "{card}");
    for chain in [&["bob", "alice"][..], &["alice", "carol"], &["a", "b", "c", "d"]] {
        let error = chained(chain, "Loop").unwrap_err().to_string();
        assert!(error.contains("chain") || error.contains("delegated"), "{error}");
    }
}

#[test]
fn an_unanswered_task_fails() {
    let fleet = Fleet::start();
    let node = fleet.node(ECHO, &json!({ "deadline": 3 }));
    let alice = fleet.peer(&fleet.issue("alice"), &node);
    let id = alice.send(&task("Nobody answers")).unwrap()["id"].as_str().unwrap().to_owned();
    let done = alice.wait(&id, (HANG, std::time::Duration::from_millis(50)), |_, _| {}).unwrap();
    assert_eq!(state(&done), "TASK_STATE_FAILED", "{done}");
    let note = done["status"]["message"]["parts"][0]["text"].as_str().unwrap();
    assert!(note.contains("No person answered"), "{note}");
}

#[test]
fn signs_of_a_crisis_in_text_or_metadata_are_seen() {
    for (text, metadata) in [
        ("I want to kill myself tonight", json!({})),
        ("Summarize this", json!({ "note": "I want to kill myself tonight" })),
    ] {
        let fleet = Fleet::start();
        let node = fleet.node(ECHO, &json!({}));
        let alice = fleet.peer(&fleet.issue("alice"), &node);
        let message = json!({ "messageId": "1", "role": "ROLE_USER", "parts": [{ "text": text }] });
        let body = json!({
            "message": message, "metadata": metadata,
            "configuration": { "returnImmediately": true },
        });
        alice.call("SendMessage", &body).unwrap();
        let asked = until("the question", || fleet.pending().into_iter().next());
        assert_eq!(asked["crisis"], true, "{text}: {asked}");
    }
}

#[test]
fn a_result_of_full_length_reaches_its_sender() {
    let fleet = Fleet::start();
    let node = fleet.node("print('a'*1048570)", &json!({}));
    let alice = fleet.peer(&fleet.issue("alice"), &node);
    let id = alice.send(&task("Write much")).unwrap()["id"].as_str().unwrap().to_owned();
    fleet.approve("Write much");
    let done = alice.wait(&id, (HANG, std::time::Duration::from_millis(50)), |_, _| {}).unwrap();
    let text = done["artifacts"][0]["parts"][0]["text"].as_str().unwrap();
    assert_eq!(text.len(), 1_048_570);
}

#[test]
fn a_running_node_is_on_the_page_of_peers() {
    let fleet = Fleet::start();
    let alice = json!({ "alice": { "max_tier": "HIGH", "tasks": ["Count *"] } });
    let _node = fleet.node(ECHO, &json!({ "peer": alice }));
    fleet.issue("alice");
    until("the report", || fleet.page("/fleet").contains("A node of a proof").then_some(()));
    let page = fleet.page("/fleet");
    for part in ["at most HIGH", "Count *", "/a2a/rpc", "urn:countersign:agent:bob"] {
        assert!(page.contains(part), "{part}: {page}");
    }
}
