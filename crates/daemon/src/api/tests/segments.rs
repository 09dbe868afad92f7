//! Parts of a compound command approved alone, and every way to stretch such an approval.

use super::*;
use crate::test_gate::FLOOD;

const BOTH: &str = "git push --force && rm -rf ../data";
const PUSH: &str = "git push --force";
const DELETE: &str = "rm -rf ../data";

fn call(command: &str, session: &str, cwd: &str) -> Value {
    json!({
        "tool": "bash", "arguments": { "command": command }, "session": session, "cwd": cwd,
    })
}

impl TestApi {
    async fn proposes(&self, command: &str) -> Value {
        self.proposes_in(command, "s1", "/srv/app").await
    }

    async fn proposes_in(&self, command: &str, session: &str, cwd: &str) -> Value {
        let (status, document) =
            self.agent("POST", "/v1/requests", call(command, session, cwd)).await;
        assert!(status.is_success(), "{command}: {document}");
        document
    }

    /// Ana approves some parts.
    async fn approve_parts(&self, asked: &Value, extra: Value) -> (StatusCode, Value) {
        let mut body = json!({
            "choice": "approve", "digest": asked["digest"], "word": asked["phrase"],
        });
        for (name, value) in extra.as_object().unwrap() {
            body[name] = value.clone();
        }
        let path = format!("/v1/requests/{}/decision", asked["id"].as_str().unwrap());
        self.person("POST", &path, body).await
    }

    async fn card(&self, asked: &Value) -> Value {
        let path = format!("/v1/requests/{}", asked["id"].as_str().unwrap());
        self.person("GET", &path, Value::Null).await.1["card"].clone()
    }

    /// How many parts were granted.
    async fn parts(&self) -> usize {
        let grants = self.ledger_facts("grant").await;
        grants.iter().filter(|entry| entry["facts"]["shape"] == "part").count()
    }

    async fn ledger_facts(&self, kind: &str) -> Vec<Value> {
        let slice = self.api.gate.store().entries(0, 1_000).await.unwrap();
        let entries = slice.entries.iter().map(|bytes| serde_json::from_slice(bytes).unwrap());
        entries.filter(|entry: &Value| entry["kind"] == kind).collect()
    }
}

#[tokio::test]
async fn an_approved_part_runs_alone_once_and_the_whole_does_not() {
    let api = TestApi::with(FLOOD).await;
    let asked = api.proposes(BOTH).await;
    assert_eq!(asked["state"], "pending", "{asked}");
    let card = api.card(&asked).await;
    let texts: Vec<&str> = card["segments"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["text"].as_str().unwrap())
        .collect();
    assert_eq!(texts, [PUSH, DELETE]);
    let (status, decided) = api.approve_parts(&asked, json!({ "segments": [1] })).await;
    assert_eq!(status, StatusCode::OK, "{decided}");
    assert_eq!(decided["state"], "denied");
    let told = decided["decision"]["reason"].as_str().unwrap();
    assert_eq!(
        told,
        "Approved only: `git push --force`; not approved: `rm -rf ../data`. Propose the approved \
         part alone, exactly as written."
    );
    // The ledger says which parts.
    let denial = api.ledger_facts("deny").await.pop().unwrap();
    assert_eq!(denial["facts"]["segments"]["approved"], json!([1]), "{denial}");
    assert_eq!(denial["facts"]["segments"]["denied"], json!([2]));
    assert_eq!(api.parts().await, 1);
    // Neither the whole, nor the other part, nor the part somewhere else.
    for document in [
        api.proposes(BOTH).await,
        api.proposes(DELETE).await,
        api.proposes_in(PUSH, "s2", "/srv/app").await,
        api.proposes_in(PUSH, "s1", "/srv/other").await,
        api.proposes("git push --force origin").await,
        api.proposes("X=1 git push --force").await,
        api.proposes("git push --force; rm -rf ../other").await,
    ] {
        assert_eq!(document["state"], "pending", "{document}");
    }
    let other =
        api.agents("POST", "/v1/requests", Some(OTHER_TOKEN), &[], call(PUSH, "s1", "/srv/app"));
    assert_eq!(read(other.await).await.1["state"], "pending");
    let alone = api.proposes(PUSH).await;
    assert_eq!(alone["state"], "approved", "{alone}");
    assert_eq!(alone["decision"]["by"]["kind"], "grant");
    assert!(alone["permit"].is_string(), "{alone}");
    let again = api.proposes(PUSH).await;
    assert_eq!(again["state"], "pending", "approved once: {again}");
}

#[tokio::test]
async fn a_part_for_the_session_does_not_ask_in_another_command() {
    let api = TestApi::with(FLOOD).await;
    let asked = api.proposes(BOTH).await;
    let body = json!({ "segments": [1], "scope": "session" });
    let (status, decided) = api.approve_parts(&asked, body).await;
    assert_eq!(status, StatusCode::OK, "{decided}");
    for _ in 0..2 {
        assert_eq!(api.proposes(PUSH).await["state"], "approved");
        assert_eq!(api.proposes("git status && git push --force").await["state"], "approved");
    }
    let asked = api.proposes("git push --force && rm -rf ../other").await;
    assert_eq!(asked["state"], "pending");
    let card = api.card(&asked).await;
    let approved: Vec<&Value> =
        card["segments"].as_array().unwrap().iter().map(|one| &one["approved"]).collect();
    assert_eq!(approved, [&json!(true), &json!(false)]);
    // A denial of the part ends the approval.
    let path = format!("/v1/requests/{}/decision", asked["id"].as_str().unwrap());
    let denied = api.person("POST", &path, json!({ "choice": "deny" })).await;
    assert_eq!(denied.0, StatusCode::OK);
    assert_eq!(api.proposes(PUSH).await["state"], "pending");
}

#[tokio::test]
async fn a_critical_part_is_approved_once_and_never_for_the_session() {
    let api = TestApi::with(FLOOD).await;
    let asked = api.proposes("rm -rf / && git push --force").await;
    let card = api.card(&asked).await;
    assert_eq!(card["segments"][0]["tier"], "CRITICAL", "{card}");
    let session = json!({ "segments": [1], "scope": "session", "reason": "agreed" });
    let (status, problem) = api.approve_parts(&asked, session).await;
    assert_eq!(status, StatusCode::CONFLICT, "{problem}");
    let (status, problem) = api.approve_parts(&asked, json!({ "segments": [1] })).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "a reason is required: {problem}");
    let body = json!({ "segments": [1], "reason": "the machine is thrown away" });
    let (status, decided) = api.approve_parts(&asked, body).await;
    assert_eq!(status, StatusCode::OK, "{decided}");
    assert_eq!(api.proposes("rm -rf /").await["state"], "approved");
    assert_eq!(api.proposes("rm -rf /").await["state"], "pending");
}

#[tokio::test]
async fn answers_that_stretch_a_part_are_refused() {
    let api = TestApi::with(FLOOD).await;
    let asked = api.proposes(BOTH).await;
    for (extra, expected) in [
        (json!({ "segments": [] }), 400),
        (json!({ "segments": [0] }), 409),
        (json!({ "segments": [3] }), 409),
        (json!({ "segments": [1, 2] }), 400),
        (json!({ "segments": ["1"] }), 400),
        (json!({ "segments": [1], "scope": "repository" }), 409),
        (json!({ "segments": [1], "grant": { "shape": "exact", "scope": "session" } }), 400),
        (json!({ "segments": [1], "edited_arguments": { "command": "ls" } }), 400),
        (json!({ "segments": [1], "choice": "deny" }), 400),
        (json!({ "segments": [1], "digest": null }), 400),
        (json!({ "segments": [1], "word": "wrong" }), 422),
        (json!({ "segments": [1], "digest": Digest::of(b"other") }), 409),
    ] {
        let (status, problem) = api.approve_parts(&asked, extra.clone()).await;
        assert_eq!(status.as_u16(), expected, "{extra}: {problem}");
    }
    assert_eq!(api.parts().await, 0);
    // Commands whose parts depend on each other have none.
    for command in ["cd / && rm -rf x", "X=/; rm -rf \"$X\"", "rm -rf ../data"] {
        let asked = api.proposes(command).await;
        assert_eq!(api.card(&asked).await.get("segments"), None, "{command}");
        let (status, problem) = api.approve_parts(&asked, json!({ "segments": [1] })).await;
        assert_eq!(status, StatusCode::CONFLICT, "{command}: {problem}");
    }
}

#[tokio::test]
async fn a_denial_of_the_part_ends_its_unused_approval() {
    let api = TestApi::with(FLOOD).await;
    let asked = api.proposes(BOTH).await;
    api.approve_parts(&asked, json!({ "segments": [1] })).await;
    // A command with the part asks about the other part, and is denied as a whole.
    let other = api.proposes("git push --force && rm -rf ../other").await;
    let path = format!("/v1/requests/{}/decision", other["id"].as_str().unwrap());
    api.person("POST", &path, json!({ "choice": "deny" })).await;
    assert_eq!(api.proposes(PUSH).await["state"], "pending");
}

#[tokio::test]
async fn the_inbox_shows_parts_and_digests() {
    let gate = crate::test_gate::test_gate().await;
    let ask = async |command: &str| {
        let body = call(command, "s1", "/srv/app").to_string();
        let asked = gate.agent(crate::test_gate::AGENT, "/v1/requests", &body).await;
        assert_eq!(asked.status, 201, "{}", asked.text);
        asked.json()["id"].as_str().unwrap().to_owned()
    };
    let id = ask("ls -la; git push --force && rm -rf ../data").await;
    let page = gate.person(&format!("/?r={id}"), "").await.text;
    assert_eq!(page.matches("Approve only this part").count(), 2, "{page}");
    assert!(page.contains("1 part that needs no answer"), "{page}");
    assert!(!page.contains("class=\"digest\""), "one question is no burst");
    for number in 1..=3 {
        ask(&format!("frobnicate {number}")).await;
    }
    let page = gate.person("/", "").await.text;
    assert!(page.contains("4 questions from coder in session s1"), "{page}");
    assert!(page.contains("Deny all 4") && page.contains("1 HIGH, 3 MEDIUM"), "{page}");
    let page = gate.person("/review?agent=coder&session=s1", "").await.text;
    assert_eq!(page.matches("name=\"chosen\"").count(), 3, "HIGH is answered alone: {page}");
    assert!(page.contains("Answer alone"), "{page}");
    let page = gate.person("/review?agent=coder&session=other", "").await.text;
    assert!(!page.contains("name=\"chosen\"") && !page.contains("Answer alone"), "{page}");
}
