//! The commands for people: output is sanitized, and nothing is approved by accident.

use std::os::unix::fs::PermissionsExt as _;

use super::fake_daemon::{
    FakeDaemon, ID, alone, countersign, document, list, problem, stderr, stdout,
};

fn daemon(tier: &str) -> (FakeDaemon, String) {
    let pending = document("pending", tier);
    let words = pending["phrase"].as_str().unwrap().to_owned();
    (answers(&pending, &document("approved", tier)), words)
}

/// A daemon with one pending request, and its final state.
fn answers(pending: &serde_json::Value, decided: &serde_json::Value) -> FakeDaemon {
    let one = format!("GET /v1/requests/{ID}");
    let decision = format!("POST /v1/requests/{ID}/decision");
    FakeDaemon::new(&[
        ("GET /v1/requests", 200, list(std::slice::from_ref(pending))),
        (&one, 200, pending.to_string()),
        (&decision, 200, decided.to_string()),
    ])
}

#[test]
fn pending_requests_are_listed_sanitized() {
    let (daemon, words) = daemon("HIGH");
    let output = daemon.run(&["pending"]);
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(text.contains(&words) && text.contains("Deletes everything in /srv."), "{text}");
    assert!(!text.contains('\u{1b}'), "{text:?}");
    let shown = stdout(&daemon.run(&["show", &words]));
    assert!(shown.contains(ID) && !shown.contains(['\u{1b}', '\u{202e}']), "{shown:?}");
    let json: serde_json::Value =
        serde_json::from_slice(&daemon.run(&["pending", "--json"]).stdout).unwrap();
    assert_eq!(json["requests"][0]["id"], ID);
}

#[test]
fn an_approval_needs_a_terminal_or_a_flag_and_carries_the_shown_digest() {
    let (daemon, words) = daemon("HIGH");
    let output = daemon.run(&["approve", &words]);
    assert_eq!(output.status.code(), Some(2), "{}", stdout(&output));
    assert!(daemon.heard(&format!("POST /v1/requests/{ID}/decision")).is_none());
    let output = daemon.change(&["approve", &words, "--yes", "--for", "30"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let sent = daemon.heard(&format!("POST /v1/requests/{ID}/decision")).unwrap();
    let body: serde_json::Value =
        serde_json::from_str(sent.split_once("decision ").unwrap().1).unwrap();
    assert_eq!(body["digest"], document("pending", "HIGH")["digest"]);
    assert_eq!(body["choice"], "approve");
    let grant = serde_json::json!({ "shape": "exact", "scope": "until", "minutes": 30 });
    assert_eq!(body["grant"], grant);
    assert_eq!(body["word"], words);
}

#[test]
fn parts_are_approved_by_their_numbers() {
    let (daemon, words) = daemon("HIGH");
    let given = ["approve", &words, "--yes", "--only", "2", "--only", "3", "--session"];
    let output = daemon.run(&given);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let sent = daemon.heard(&format!("POST /v1/requests/{ID}/decision")).unwrap();
    let body: serde_json::Value =
        serde_json::from_str(sent.split_once("decision ").unwrap().1).unwrap();
    assert_eq!(body["segments"], serde_json::json!([2, 3]));
    assert_eq!((&body["scope"], &body["choice"]), (&"session".into(), &"approve".into()));
    for wrong in [["--only", "2", "--for", "30"], ["--only", "2", "--repository", "--yes"]] {
        let output = daemon.run(&[&["approve", &words, "--yes"][..], &wrong[..]].concat());
        assert_eq!(output.status.code(), Some(2), "{}", stdout(&output));
    }
}

#[test]
fn high_needs_its_word_even_with_yes() {
    let (daemon, words) = daemon("HIGH");
    let decision = format!("POST /v1/requests/{ID}/decision");
    for given in [&["approve", ID, "--yes"][..], &["approve", ID, "--yes", "--word", "yes"]] {
        let output = daemon.run(given);
        assert_eq!(output.status.code(), Some(2), "{}", stdout(&output));
        assert!(stderr(&output).contains("--word"), "{}", stderr(&output));
        assert!(daemon.heard(&decision).is_none());
    }
    let first = words.split('-').next().unwrap();
    let output = daemon.run(&["approve", ID, "--yes", "--word", first]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let sent = daemon.heard(&decision).unwrap();
    assert!(sent.contains(&format!("\"word\":\"{first}\"")), "{sent}");
}

#[test]
fn critical_needs_a_reason_even_with_yes() {
    for tier in ["CRITICAL", "SOMETHING NEW"] {
        let (daemon, _) = daemon(tier);
        let output = daemon.run(&["approve", ID, "--yes"]);
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).contains("--reason"), "{}", stderr(&output));
        assert!(daemon.heard(&format!("POST /v1/requests/{ID}/decision")).is_none());
        let output = daemon.run(&["approve", ID, "--yes", "--reason", "agreed"]);
        assert_eq!(output.status.code(), Some(0));
    }
}

#[test]
fn in_a_crisis_a_reason_is_asked_for_whatever_the_tier() {
    let mut pending = document("pending", "MEDIUM");
    pending["crisis"] = true.into();
    let daemon = answers(&pending, &document("approved", "MEDIUM"));
    let output = daemon.run(&["approve", ID, "--yes"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("--reason"), "{}", stderr(&output));
    assert!(daemon.heard(&format!("POST /v1/requests/{ID}/decision")).is_none());
    let output = daemon.run(&["approve", ID, "--yes", "--reason", "she asked for it"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}

#[test]
fn a_drill_says_what_it_was_once_it_is_answered() {
    let mut decided = document("denied", "HIGH");
    let words = "This was a drill: hermes asked for nothing, and nothing runs.";
    decided["drill"] = serde_json::json!({ "name": "destroy", "caught": true, "words": words });
    let daemon = answers(&document("pending", "HIGH"), &decided);
    let output = daemon.run(&["deny", ID]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stdout(&output).contains(words), "{}", stdout(&output));
    let daemon = answers(&decided, &decided);
    let history = stdout(&daemon.run(&["history"]));
    assert!(history.contains("(a drill) Deletes everything"), "{history}");
    assert!(stdout(&daemon.run(&["show", ID])).contains(words));
}

#[test]
fn all_is_never_approved_without_a_person_at_a_terminal() {
    let (daemon, _) = daemon("MEDIUM");
    let output = daemon.run(&["approve", "--all", "--reason", "x"]);
    assert_eq!(output.status.code(), Some(2), "{}", stdout(&output));
    assert!(daemon.heard("POST").is_none());
    let output = daemon.run(&["approve", "--all", "--yes"]);
    assert_eq!(output.status.code(), Some(2), "{}", stdout(&output));
    assert!(daemon.heard("POST").is_none());
}

#[test]
fn the_given_text_must_match_one_request() {
    let mut other = document("pending", "HIGH");
    other["id"] = "01hf3zq9x8y7w6v5t4s3r2q1p1".into();
    let daemon =
        FakeDaemon::new(&[("GET /v1/requests", 200, list(&[document("pending", "HIGH"), other]))]);
    for (text, why) in [
        ("01hf3z", "several requests match"),
        ("01h", "at least 4 characters"),
        ("0000000", "no request has"),
        ("no-words", "no request has"),
    ] {
        let output = daemon.run(&["deny", text]);
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).contains(why), "{text}: {}", stderr(&output));
    }
    assert!(daemon.heard("POST").is_none());
}

#[test]
fn without_a_credential_nothing_is_asked_of_the_daemon() {
    let daemon = FakeDaemon::new(&[]);
    let output =
        alone(countersign().args(["pending"]).env("COUNTERSIGN_PEOPLE", &daemon.address)).output();
    let output = output.unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("authentication required"), "{}", stderr(&output));
    assert!(daemon.heard.lock().unwrap().is_empty());
}

#[test]
fn a_token_file_that_others_can_read_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("token");
    std::fs::write(&file, "csp_test\n").unwrap();
    let (daemon, _) = daemon("HIGH");
    let name = file.to_str().unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    let output = daemon.run(&["pending", "--token-file", name]);
    assert!(stderr(&output).contains("other users can read"), "{}", stderr(&output));
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    assert_eq!(daemon.run(&["pending", "--token-file", name]).status.code(), Some(0));
}

#[test]
fn a_rejection_is_one_line() {
    let one = format!("GET /v1/requests/{ID}");
    let decision = format!("POST /v1/requests/{ID}/decision");
    let daemon = FakeDaemon::new(&[
        (&one, 200, document("pending", "MEDIUM").to_string()),
        (&decision, 409, problem(409, "conflict", "the request has ended: expired")),
    ]);
    let output = daemon.run(&["approve", ID, "--yes"]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(stderr(&output), "countersign: the request has ended: expired\n");
}

const STATS: &str = r#"{"open":2,"last_24_hours":{"by_state":{"approved":9,"denied":3,"pending":2},
    "by_tier":{"HIGH":13,"MEDIUM":1},"by_agent":{"coder\u001b[2J":14},"answers":12,
    "answer_ms_median":24377,"answer_ms_p90":190000,"partial":false,"calls":{}},
    "since_start":{"calls":{"passes":1190,"asks":14,"refusals":0,"questions_per_100":"1.1"}}}"#;
const STATS_ON_SCREEN: &str = "2 waiting

The last 24 hours
  questions  14
  so far     9 approved, 3 denied, 2 pending
  tiers      13 HIGH, 1 MEDIUM
  agents     14 coder⟨ESC⟩[2J
  answered   after median 24 s, 90th percentile 3 min

Since the daemon started
  calls  1190 passed, 14 asked, 0 rejected
  asked  1.1 of 100 calls
";

#[test]
fn secrets_are_shown_once_and_lists_are_lines() {
    let daemon = FakeDaemon::new(&[
        ("POST /v1/people", 201, r#"{"name":"ana","passphrase":"seven plain words"}"#.to_owned()),
        ("POST /v1/agents", 201, r#"{"name":"bot","token":"csa_abc"}"#.to_owned()),
        ("GET /v1/grants", 200, r#"{"grants":[]}"#.to_owned()),
        ("GET /v1/crises", 200, r#"{"crises":[]}"#.to_owned()),
        (
            "GET /v1/people",
            200,
            r#"{"people":[{"name":"owner","role":"administrator"}]}"#.to_owned(),
        ),
        ("GET /v1/stats", 200, STATS.to_owned()),
    ]);
    let added = stdout(&daemon.change(&["people", "add", "ana"]));
    assert!(added.starts_with("seven plain words\n"), "{added}");
    let added = stdout(&daemon.change(&["agents", "add", "bot", "--days", "9"]));
    assert!(added.starts_with("csa_abc\n"), "{added}");
    assert!(daemon.heard("POST /v1/agents").unwrap().contains("\"days\":9"));
    assert!(stdout(&daemon.run(&["grants", "list"])).contains("No grants"));
    assert!(stdout(&daemon.run(&["crises", "list"])).contains("No session"));
    assert_eq!(stdout(&daemon.run(&["people", "list"])), "owner  administrator\n");
    assert_eq!(stdout(&daemon.run(&["stats"])), STATS_ON_SCREEN);
}
