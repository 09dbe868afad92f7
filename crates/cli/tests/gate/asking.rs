//! `ask` and `cancel`: only an approval exits with 0.

use std::net::TcpListener;

use super::fake_daemon::{
    FakeDaemon, ID, alone, countersign, document, list, problem, stderr, stdout,
};

const ASK: [&str; 6] = ["ask", "--action", "send_email", "--payload", "{\"to\": \"a\"}", "--json"];

#[test]
fn an_answer_is_one_line_and_an_exit_code() {
    for (state, code, line) in [
        ("approved", 0, "approved by ana: as agreed\n"),
        ("denied", 1, "denied by ana: as agreed\n"),
        ("expired", 1, "expired: not answered in time; the call is not approved\n"),
        ("cancelled", 1, "cancelled\n"),
    ] {
        let wait = format!("GET /v1/requests/{ID}/wait");
        let daemon = FakeDaemon::new(&[
            ("POST /v1/requests", 201, document("pending", "HIGH").to_string()),
            (&wait, 200, document(state, "HIGH").to_string()),
        ]);
        let output = daemon.run(&["ask", "--action", "send_email", "--description", "weekly"]);
        assert_eq!(stdout(&output), line);
        assert_eq!(output.status.code(), Some(code));
        assert!(stderr(&output).starts_with("waiting for approval: "), "{}", stderr(&output));
        let sent = daemon.heard("POST /v1/requests").unwrap();
        assert!(sent.contains("\"tool\":\"send_email\",\"arguments\":{}"), "{sent}");
        assert!(sent.contains("\"description\":\"weekly\""), "{sent}");
    }
}

#[test]
fn every_other_response_is_not_approved() {
    let refused = problem(403, "refused", "the policy refuses this");
    let unsure = document("pending", "HIGH").to_string().replace("\"pending\"", "\"maybe\"");
    for answer in [(403, refused), (200, "{}".to_owned()), (200, unsure), (500, String::new())] {
        let daemon = FakeDaemon::new(&[("POST /v1/requests", answer.0, answer.1)]);
        let output = daemon.run(&ASK);
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).starts_with("countersign: denied: "), "{}", stderr(&output));
        let said: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
        assert_eq!(said["outcome"], "error");
    }
}

#[test]
fn without_a_daemon_nothing_is_approved() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    drop(listener);
    let output =
        alone(countersign().args(["ask", "--action", "x"]).env("COUNTERSIGN_AGENTS", &address))
            .output()
            .unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(stdout(&output), "");
    assert!(stderr(&output).contains("does not answer"), "{}", stderr(&output));
}

#[test]
fn bad_arguments_are_never_sent() {
    let daemon = FakeDaemon::new(&[]);
    for payload in ["[]", "{", "{\"a\":1,\"a\":2}", "@/nonexistent"] {
        let output = daemon.run(&["ask", "--action", "x", "--payload", payload]);
        assert_eq!(output.status.code(), Some(2), "{payload}");
    }
    assert!(daemon.heard.lock().unwrap().is_empty());
}

#[test]
fn a_request_is_cancelled_by_its_words() {
    let pending = document("pending", "HIGH");
    let words = pending["phrase"].as_str().unwrap().to_owned();
    let cancel = format!("POST /v1/requests/{ID}/cancel");
    let daemon = FakeDaemon::new(&[
        ("GET /v1/requests", 200, list(&[pending])),
        (&cancel, 200, document("cancelled", "HIGH").to_string()),
    ]);
    let output = daemon.run(&["cancel", &words]);
    assert_eq!(stdout(&output), format!("{words}: cancelled\n"));
    assert!(daemon.heard(&cancel).is_some());
    let output = daemon.run(&["cancel", "01h"]);
    assert_eq!(output.status.code(), Some(2));
}
