//! "Approve for this session" through the real daemon: asked once, and again wherever it does not
//! hold.

use proofs::http::{Client, Reply};
use proofs::installation::{TestInstallation, UNLIMITED};
use serde_json::{Value, json};

use crate::fixture::{Fixture, report_figures, shared};

fn command(text: &str, session: &str) -> Value {
    json!({
        "tool": "bash", "arguments": { "command": text }, "session": session,
        "cwd": "/srv/app", "permit": true,
    })
}

/// Approves a pending request; returns the reply.
fn approve(fixture: &Fixture, asked: &Reply, scope: &str) -> Reply {
    let said = json!({
        "choice": "approve", "scope": scope, "digest": asked.text("digest"),
        "reason": "as planned", "word": asked.text("phrase"),
    });
    let path = format!("/v1/requests/{}/decision", asked.text("id"));
    fixture.owner_client().post(&path, &said).unwrap()
}

fn submit(fixture: &Fixture, call: &Value) -> Reply {
    fixture.agent_client().post("/v1/requests", call).unwrap()
}

#[test]
fn an_approval_for_the_session_holds_for_that_session_across_restarts() {
    let _shared = shared();
    let folder = tempfile::tempdir().unwrap();
    let mut fixture = Fixture::new(TestInstallation::new(folder.path(), UNLIMITED).unwrap());
    let other = fixture.gate.agent(&fixture.owner, "other").unwrap();
    let delete = command("rm -rf src", "s1");

    let first = submit(&fixture, &delete);
    assert_eq!(first.text("state"), "pending", "{}", first.body);
    let said = approve(&fixture, &first, "session");
    assert_eq!(said.text("state"), "approved", "{}", said.body);

    let passes = |fixture: &Fixture| {
        let again = submit(fixture, &delete);
        assert_eq!(again.text("state"), "approved", "{}", again.body);
        assert_ne!(again.text("permit"), "", "{}", again.body);
        let text = again.body.to_string();
        assert!(text.contains("for this session, by owner"), "{text}");
    };
    passes(&fixture);
    let asks = |fixture: &Fixture| {
        assert_eq!(submit(fixture, &command("rm -rf src", "s2")).text("state"), "pending");
        assert_eq!(submit(fixture, &command("rm -rf docs", "s1")).text("state"), "pending");
        let mut stranger = Client::with(fixture.gate.agents, &other);
        let reply = stranger.post("/v1/requests", &delete).unwrap();
        assert_eq!(reply.text("state"), "pending", "another agent: {}", reply.body);
    };
    asks(&fixture);

    for crash in [false, true] {
        let Fixture { installation, gate, owner, agent } = fixture;
        let passphrase = gate.passphrase.clone();
        if crash {
            gate.kill().unwrap();
        } else {
            assert!(gate.stop().unwrap());
        }
        let mut gate = installation.start().unwrap();
        gate.passphrase = passphrase;
        fixture = Fixture { installation, gate, owner, agent };
        passes(&fixture);
        asks(&fixture);
    }

    // What is never approved for a session.
    let mail = json!({
        "tool": "send_email", "arguments": { "to": "bo@example.org", "body": "hi" },
        "session": "s1",
    });
    for call in [mail, command("rm -rf /", "s1")] {
        let asked = submit(&fixture, &call);
        let refused = approve(&fixture, &asked, "session");
        assert_eq!(refused.status, 409, "{}", refused.body);
        assert!(refused.text("detail").contains("cannot be approved for the session"));
    }

    let path = format!("/v1/grants/{}", first.text("id"));
    let revoked = fixture.owner_client().send("DELETE", &path, &[], None).unwrap();
    assert_eq!(revoked.status, 200, "{}", revoked.body);
    assert_eq!(submit(&fixture, &delete).text("state"), "pending", "revoked");
}

/// A session that repeats itself: how many questions are left.
#[test]
fn a_session_of_repeated_calls_asks_once_for_each_kind() {
    let _shared = shared();
    let folder = tempfile::tempdir().unwrap();
    let fixture = Fixture::new(TestInstallation::new(folder.path(), UNLIMITED).unwrap());
    let calls = [
        "rm -rf src/old",
        "git reset --hard HEAD~1",
        "docker rm -f web",
        "kubectl delete pod web-0",
        "cargo test",
        "cargo test && rm -rf src/old",
        "git reset --hard HEAD~1 && docker rm -f web",
        "git status",
    ];
    let rounds = 5;
    let count = |scope: &str, session: &str| {
        let mut questions = 0;
        for _ in 0..rounds {
            for call in calls {
                let reply = submit(&fixture, &command(call, session));
                if reply.text("state") == "pending" {
                    questions += 1;
                    let said = approve(&fixture, &reply, scope);
                    assert_eq!(said.text("state"), "approved", "{call}: {}", said.body);
                }
            }
        }
        questions
    };
    let (once, session) = (count("once", "one"), count("session", "two"));
    assert!(session * rounds <= once, "{session} of {once}");
    report_figures(&format!(
        "session answers: {} calls, {once} questions approved once, {session} for the session",
        calls.len() * rounds
    ));
}
