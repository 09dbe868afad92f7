//! Grants for commands of one form: given for a request, learned from approvals, ended by a denial.

use serde_json::{Value, json};

use crate::test_daemon::{ApiSide, TestDaemon};

const LEARN: &str =
    "[learning]\nautomatic = true\napprovals = 3\n[flood]\nasks_per_minute = 1000\n";

struct Fixture {
    daemon: TestDaemon,
    owner: String,
    agent: String,
}

impl Fixture {
    async fn new(sections: &str) -> Fixture {
        let daemon = TestDaemon::with("", sections).await;
        let (owner, agent) = (daemon.owner().await, daemon.agent("coder", 900_000_000).await);
        Fixture { daemon, owner, agent }
    }

    async fn ask(&self, command: &str) -> Value {
        let body = json!({ "tool": "terminal", "arguments": { "command": command } });
        self.daemon.by(&self.agent, ApiSide::Agents, "POST /v1/requests", Some(body)).await.body
    }

    async fn people(&self, line: &str) -> Value {
        self.daemon.by(&self.owner, ApiSide::People, line, None).await.body
    }

    async fn answer(&self, command: &str, choice: &str) -> Value {
        let asked = self.ask(command).await;
        assert_eq!(asked["state"], "pending", "{command}: {asked}");
        let line = format!("POST /v1/requests/{}/decision", asked["id"].as_str().unwrap());
        let body = json!({ "choice": choice, "digest": asked["digest"] });
        let reply = self.daemon.by(&self.owner, ApiSide::People, &line, Some(body)).await;
        assert_eq!(reply.status, 200, "{command}: {}", reply.body);
        asked
    }

    async fn give(&self, body: Value) -> (u16, Value) {
        let reply = self.daemon.change(&self.owner, "POST /v1/grants", Some(body)).await;
        (reply.status.as_u16(), reply.body)
    }

    async fn passes(&self, command: &str) -> bool {
        self.ask(command).await["state"] == "approved"
    }

    async fn grants(&self) -> Vec<Value> {
        self.people("GET /v1/grants").await["grants"].as_array().unwrap().clone()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_grants_commands_of_one_form_and_sees_what_it_allows() {
    let fixture = Fixture::new("").await;
    fixture.answer("frobnicate task 11", "deny").await;
    fixture.answer("frobnicate task 12", "approve").await;
    let asked = fixture.ask("frobnicate task 13").await;
    let id = asked["id"].as_str().unwrap();
    let found = fixture.people(&format!("GET /v1/requests/{id}/grants")).await;
    let shapes = found["shapes"].as_array().unwrap();
    assert_eq!(shapes.len(), 2, "{found}");
    assert_eq!(shapes[1]["patterns"], json!(["frobnicate task <number>"]), "{found}");
    let also = &shapes[1]["also_allows"];
    assert_eq!((&also["approved"], &also["denied"]), (&json!(1), &json!(1)), "{found}");
    assert_eq!(also["examples"][0]["command"], "frobnicate task 11", "the denied one first");
    assert_eq!(also["examples"][0]["denied"], true);
    let grant = |pattern: &str| {
        json!({
            "shape": "command", "request": id, "pattern": pattern, "agent": "coder",
            "minutes": 60, "per_hour": 3,
        })
    };
    for (pattern, why) in [
        ("frobnicate task <path>", "another hole"),
        ("frobnicate <word> <number>", "a hole after the program"),
        ("frobnicate task", "fewer words"),
        ("frobnicate task $(id)", "shell syntax"),
        ("<word>", "no program"),
    ] {
        assert_eq!(fixture.give(grant(pattern)).await.0, 409, "{why}");
    }
    let (status, given) = fixture.give(grant("frobnicate task <number>")).await;
    assert_eq!((status, &given["words"]), (201, &json!("`frobnicate task <number>`")), "{given}");
    assert!(fixture.passes("frobnicate task 1").await);
    for other in ["frobnicate task all", "frobnicate task 1 2", "sudo frobnicate task 1"] {
        assert!(!fixture.passes(other).await, "{other}");
    }
    // Three calls in an hour, then people are asked again; the next hour it covers more.
    assert!(fixture.passes("frobnicate task 2").await && fixture.passes("frobnicate task 3").await);
    assert!(!fixture.passes("frobnicate task 4").await, "the rate limit");
    let listed = fixture.grants().await;
    let listed = listed.iter().find(|one| one["shape"] == "command").unwrap();
    assert!(listed["last_used"].is_string(), "{listed}");
    assert_eq!(listed["per_hour"], 3, "{listed}");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_pattern_is_granted_for_what_was_denied_or_is_critical() {
    let fixture = Fixture::new("").await;
    let denied = fixture.answer("frobnicate task 1", "deny").await;
    let critical = fixture.ask("rm -rf /").await;
    let compound = fixture.ask("frobnicate a; frobnicate b").await;
    for (asked, pattern) in
        [(denied, "frobnicate task <number>"), (critical, "rm -rf /"), (compound, "frobnicate a")]
    {
        let body = json!({ "shape": "command", "request": asked["id"], "pattern": pattern });
        assert_eq!(fixture.give(body).await.0, 409, "{pattern}");
    }
    let by_agent = json!({ "shape": "command", "request": "x", "pattern": "a b" });
    let line = "POST /v1/grants";
    let reply = fixture.daemon.by(&fixture.agent, ApiSide::People, line, Some(by_agent)).await;
    assert!([401, 403].contains(&reply.status.as_u16()), "{}", reply.body);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_exact_grant_shows_its_command() {
    let fixture = Fixture::new("").await;
    let asked = fixture.ask("frobnicate --all").await;
    let body = json!({
        "shape": "exact", "digest": asked["digest"], "raw_digest": asked["raw_digest"],
        "both_bind": asked["both_bind"], "request": asked["id"], "agent": "coder",
    });
    let (status, given) = fixture.give(body.clone()).await;
    assert_eq!(status, 201, "{given}");
    assert_eq!(given["words"], "exactly `frobnicate --all`", "{given}");
    let other = fixture.ask("frobnicate --other").await;
    let mut body = body;
    body["request"] = other["id"].clone();
    assert_eq!(fixture.give(body).await.0, 409, "the text of another call");
}

/// The agent asks for many harmless commands, to have others of the form pass.
#[tokio::test(flavor = "multi_thread")]
async fn farmed_approvals_learn_only_what_was_shown_and_a_denial_ends_it() {
    let fixture = Fixture::new(LEARN).await;
    for number in [1, 2] {
        fixture.answer(&format!("frobnicate task {number}"), "approve").await;
    }
    assert!(!fixture.passes("frobnicate task 9").await, "two approvals are too few");
    fixture.answer("frobnicate task 3", "approve").await;
    let learned = fixture.grants().await;
    let learned: Vec<_> =
        learned.iter().filter(|one| one["made_by"] == "learned from approvals").collect();
    assert_eq!(learned.len(), 1, "{learned:?}");
    assert!(learned[0]["expires"].is_string(), "{learned:?}");
    let news = fixture.daemon.gate.news().take();
    assert!(news.iter().any(|text| text.contains("frobnicate task 1")), "{news:?}");
    assert!(fixture.passes("frobnicate task 1").await);
    for other in ["frobnicate task 4", "frobnicate task 1 --force", "frobnicate drop 1"] {
        assert!(!fixture.passes(other).await, "{other} was never shown");
    }
    // HIGH is never learned.
    for _ in 0..5 {
        fixture.answer_high("rm -rf /srv/build").await;
    }
    assert!(!fixture.passes("rm -rf /srv/build").await);
    // One denial of the form ends it, and the count starts again.
    fixture.answer("frobnicate task 5", "deny").await;
    assert!(!fixture.passes("frobnicate task 1").await, "a denial ends the learned grant");
    fixture.daemon.forward(1_000);
    fixture.answer("frobnicate task 2", "approve").await;
    assert!(!fixture.passes("frobnicate task 3").await);
    assert!(fixture.daemon.count("grant").await >= 1 && fixture.daemon.count("revoke").await >= 1);
}

impl Fixture {
    async fn answer_high(&self, command: &str) {
        let asked = self.ask(command).await;
        assert_eq!(asked["state"], "pending", "{command} passed: {asked}");
        let word = asked["phrase"].as_str().unwrap_or_default();
        let line = format!("POST /v1/requests/{}/decision", asked["id"].as_str().unwrap());
        let body = json!({ "choice": "approve", "digest": asked["digest"], "word": word });
        let reply = self.daemon.by(&self.owner, ApiSide::People, &line, Some(body)).await;
        assert_eq!(reply.status, 200, "{command}: {}", reply.body);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_regretted_call_ends_the_learned_grant_of_its_form() {
    let fixture = Fixture::new(LEARN).await;
    for number in [1, 2, 3] {
        fixture.answer(&format!("frobnicate task {number}"), "approve").await;
    }
    let learned = async || {
        let grants = fixture.grants().await;
        grants.iter().filter(|one| one["made_by"] == "learned from approvals").count()
    };
    assert_eq!(learned().await, 1);
    let ran = fixture.ask("frobnicate task 2").await;
    assert_eq!(ran["decision"]["by"]["kind"], "grant", "{ran}");
    let id = ran["id"].as_str().unwrap();
    let outcome = format!("POST /v1/requests/{id}/outcome");
    let body = Some(json!({ "status": "ok" }));
    let reply = fixture.daemon.by(&fixture.agent, ApiSide::Agents, &outcome, body).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    let say = async |right: bool| {
        let line = format!("POST /v1/requests/{id}/feedback");
        let body = Some(json!({ "right": right }));
        fixture.daemon.by(&fixture.owner, ApiSide::People, &line, body).await.body
    };
    assert_eq!(say(true).await["revoked"], json!([]), "praise changes nothing");
    assert_eq!(learned().await, 1);
    let said = say(false).await;
    assert_eq!(said["revoked"].as_array().unwrap().len(), 1, "{said}");
    assert_eq!(learned().await, 0);
    assert!(
        !fixture.passes("frobnicate task 1").await && !fixture.passes("frobnicate task 2").await
    );
    let entries = fixture.daemon.ledger().await;
    let revoked = entries.iter().rfind(|entry| entry["kind"] == "revoke").unwrap();
    assert_eq!(revoked["facts"]["regretted"], id, "{revoked}");
    assert_eq!(revoked["person"], "owner");
}
