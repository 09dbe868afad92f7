//! An edit that needs several people is put to them: attacks first.

use countersign_store::Role;
use serde_json::{Value, json};

use crate::test_daemon::{ApiSide, TestDaemon, TestReply};

const TWO: &str = "[quorum]\ncritical = 2\n";
const GRAVE: &str = "rm -rf /";

/// A daemon with three people, and a MEDIUM or HIGH call that waits for one of them.
struct EditedRequest {
    daemon: TestDaemon,
    agent: String,
    /// Tokens of the owner, bo and cy.
    people: [String; 3],
    asked: Value,
}

impl EditedRequest {
    async fn new() -> EditedRequest {
        let daemon = TestDaemon::with("", TWO).await;
        for name in ["bo", "cy"] {
            daemon.person(name, Role::Approver).await;
        }
        let owner = daemon.owner().await;
        let bo = daemon.login("bo", "terminal", 3_600_000).await;
        let cy = daemon.login("cy", "terminal", 3_600_000).await;
        let agent = daemon.agent("claude", 1_000_000).await;
        let asked = ask(&daemon, &agent, "git push origin main --force-with-lease").await;
        assert_ne!(asked["tier"], "CRITICAL", "{asked}");
        EditedRequest { daemon, agent, people: [owner, bo, cy], asked }
    }

    fn line(&self, what: &str) -> String {
        format!("POST /v1/requests/{}/{what}", self.asked["id"].as_str().unwrap())
    }

    async fn post(&self, who: usize, what: &str, body: Value) -> TestReply {
        self.daemon.by(&self.people[who], ApiSide::People, &self.line(what), Some(body)).await
    }

    /// The request as people see it.
    async fn shown(&self) -> Value {
        let line = format!("GET /v1/requests/{}", self.asked["id"].as_str().unwrap());
        self.daemon.by(&self.people[2], ApiSide::People, &line, None).await.body
    }

    /// A person edits the shown call; returns the card of the edit and the answer.
    async fn edit(&self, who: usize, command: &str) -> (Value, TestReply) {
        let seen = self.shown().await["digest"].clone();
        let mut body = json!({"digest": seen, "edited_arguments": {"command": command}});
        let card = self.post(who, "edit", body.clone()).await.body;
        body["choice"] = json!("approve");
        body["reason"] = json!("I looked");
        body["edited_digest"] = card["digest"].clone();
        body["word"] = card["phrase"].clone();
        let reply = self.post(who, "decision", body).await;
        (card, reply)
    }

    async fn approve(&self, who: usize, digest: &Value) -> TestReply {
        let body = json!({"choice": "approve", "digest": digest, "reason": "I looked"});
        self.post(who, "decision", body).await
    }

    /// The permit that the agent gets; null if there is none.
    async fn permit(&self) -> Value {
        let line = format!("GET /v1/requests/{}", self.asked["id"].as_str().unwrap());
        let reply = self.daemon.by(&self.agent, ApiSide::Agents, &line, None).await;
        reply.body["permit"].clone()
    }
}

async fn ask(daemon: &TestDaemon, agent: &str, command: &str) -> Value {
    let call = json!({"tool": "terminal", "arguments": {"command": command}});
    daemon.by(agent, ApiSide::Agents, "POST /v1/requests", Some(call)).await.body
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_to_a_riskier_call_is_put_to_its_quorum() {
    let test = EditedRequest::new().await;
    let (card, reply) = test.edit(0, GRAVE).await;
    assert_eq!((&card["tier"], reply.status.as_u16()), (&json!("CRITICAL"), 200), "{reply:?}");
    assert_eq!((&reply.body["state"], test.permit().await), (&json!("pending"), Value::Null));
    // The person who edited it cannot approve it again, and the original is not approved.
    assert_eq!(test.approve(0, &card["digest"]).await.status, 409);
    assert_eq!(test.approve(1, &test.asked["digest"]).await.status, 409);
    let body = json!({"choice": "approve", "digest": card["digest"]});
    assert_eq!(test.post(1, "decision", body).await.status, 422, "CRITICAL needs a reason");
    let grant = json!({"shape": "exact", "scope": "session"});
    for (name, value) in [("grant", grant), ("scope", json!("session"))] {
        let mut body = json!({"choice": "approve", "digest": card["digest"], "reason": "fine"});
        body[name] = value;
        assert_eq!(test.post(1, "decision", body).await.status, 409, "{name}");
    }
    let list = json!([{"id": test.asked["id"], "digest": card["digest"]}]);
    let together = json!({"choice": "approve", "reason": "all", "requests": list});
    let line = "POST /v1/decisions";
    let reply = test.daemon.by(&test.people[1], ApiSide::People, line, Some(together)).await;
    assert_eq!(reply.body["results"][0]["state"], Value::Null, "{reply:?}");
    assert_eq!(test.permit().await, Value::Null);
    let reply = test.approve(1, &card["digest"]).await;
    assert_eq!((reply.status.as_u16(), &reply.body["state"]), (200, &json!("approved")));
    assert_eq!(reply.body["decision"]["by"]["people"], json!(["owner", "bo"]));
    assert_eq!(reply.body["edited_arguments"], json!({"command": GRAVE}));
    assert_eq!(reply.body["edited"]["digest"], card["digest"]);
    assert!(test.permit().await.is_string());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_edit_is_shown_beside_the_original_with_its_author() {
    let test = EditedRequest::new().await;
    let before = test.shown().await;
    assert_eq!(before["proposed_edit"], Value::Null);
    let (card, _) = test.edit(0, GRAVE).await;
    let shown = test.shown().await;
    for (name, value) in [("digest", "digest"), ("tier", "tier"), ("phrase", "phrase")] {
        assert_eq!(shown[name], card[value], "{name}");
        assert_eq!(shown["proposed_edit"]["edited"][name], card[value], "{name}");
        assert_eq!(shown["proposed_edit"]["original"][name], before[value], "{name}");
    }
    assert_eq!((&shown["card"], &shown["original_card"]), (&card, &before["card"]));
    assert_eq!((&shown["quorum"]["approve"], &shown["approvals"]), (&json!(2), &json!(1)));
    let edit = &shown["proposed_edit"];
    assert_eq!((&edit["by"], &edit["needed"]), (&json!("owner"), &json!(2)));
    assert_eq!(shown["session_scope"], false);
    // The agent sees its own call, and no edit.
    let line = format!("GET /v1/requests/{}", test.asked["id"].as_str().unwrap());
    let own = test.daemon.by(&test.agent, ApiSide::Agents, &line, None).await.body;
    assert_eq!((&own["digest"], &own["proposed_edit"]), (&test.asked["digest"], &Value::Null));
    assert_eq!(own["edited_arguments"], Value::Null);
    for path in ["/requests/", "/inbox/card/"] {
        let path = format!("{path}{}", test.asked["id"].as_str().unwrap());
        let page = test.daemon.page(&test.people[1], &path).await;
        for text in [
            "Edited by owner",
            "It needs 2 approvals; 1 missing",
            "Original call (it does not run)",
            "force-with-lease",
            card["digest"].as_str().unwrap(),
            card["brief"].as_str().unwrap(),
        ] {
            assert!(page.contains(text), "{path} has no {text:?}: {page}");
        }
        assert!(!page.contains("data-scope"), "{path}");
    }
    // After a denial it is shown as an edit that was not approved.
    let body = json!({"choice": "deny", "digest": card["digest"]});
    assert_eq!(test.post(1, "decision", body).await.body["state"], "denied");
    let shown = test.shown().await;
    assert_eq!((&shown["digest"], &shown["proposed_card"]), (&before["digest"], &card));
    let path = format!("/requests/{}", test.asked["id"].as_str().unwrap());
    let page = test.daemon.page(&test.people[1], &path).await;
    assert!(page.contains("Proposed edit by owner (it was not approved)"), "{page}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_between_the_votes_keeps_the_edit() {
    let test = EditedRequest::new().await;
    let (card, _) = test.edit(0, GRAVE).await;
    let EditedRequest { daemon, agent, people, asked } = test;
    let daemon = daemon.restart(TWO, |_| {}).await;
    let test = EditedRequest { daemon, agent, people, asked };
    assert_eq!(test.approve(0, &card["digest"]).await.status, 409);
    assert_eq!(test.approve(2, &test.asked["digest"]).await.status, 409);
    let reply = test.approve(2, &card["digest"]).await;
    assert_eq!(reply.body["state"], "approved", "{reply:?}");
    let kinds = ["edit", "vote", "approve"];
    let entries = test.daemon.ledger().await;
    let entries: Vec<&Value> =
        entries.iter().filter(|one| kinds.iter().any(|kind| one["kind"] == *kind)).collect();
    assert_eq!(entries.len(), 3, "{entries:?}");
    assert!(entries.iter().all(|entry| entry["digest"] == card["digest"]), "{entries:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_back_to_a_milder_call_does_not_take_the_votes_along() {
    let test = EditedRequest::new().await;
    let (grave, _) = test.edit(0, GRAVE).await;
    // Another grave call: the vote of the owner was for the first one.
    let (other, reply) = test.edit(1, "rm -rf /usr").await;
    assert_eq!((reply.status.as_u16(), &reply.body["state"]), (200, &json!("pending")));
    assert_eq!(reply.body["approvals"], 1);
    assert_eq!(test.approve(2, &grave["digest"]).await.status, 409);
    // The owner may approve the new one.
    assert_eq!(test.approve(0, &other["digest"]).await.body["state"], "approved");
    let shown = test.shown().await;
    assert_eq!(shown["decision"]["by"]["people"], json!(["bo", "owner"]));
    assert_eq!(shown["edited_arguments"], json!({"command": "rm -rf /usr"}));
}

#[tokio::test(flavor = "multi_thread")]
async fn anybody_ends_it_with_a_denial() {
    for (who, original) in [(0, true), (1, false), (2, true)] {
        let test = EditedRequest::new().await;
        let (card, _) = test.edit(0, GRAVE).await;
        let digest = if original { &test.asked["digest"] } else { &card["digest"] };
        let body = json!({"choice": "deny", "digest": digest});
        let reply = test.post(who, "decision", body).await;
        assert_eq!(reply.body["state"], "denied", "{reply:?}");
        assert_eq!((test.permit().await, &reply.body["edited"]), (Value::Null, &Value::Null));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_original_api_approves_no_edit_that_it_cannot_name() {
    let test = EditedRequest::new().await;
    test.edit(0, GRAVE).await;
    for digest in [Value::Null, test.asked["digest"].clone()] {
        let mut body = json!({"request_id": test.asked["id"], "approved": true, "reason": "ok"});
        if !digest.is_null() {
            body["digest"] = digest;
        }
        let reply =
            test.daemon.by(&test.people[1], ApiSide::People, "POST /respond", Some(body)).await;
        assert_eq!(reply.status, 409, "{reply:?}");
    }
}
