//! What a drill must never cause, through every interface.

use countersign_json as json;
use countersign_risk::verdict::Policy;
use countersign_risk::word_pair::word_pair;
use countersign_store::{RequestQuery, Store as _, StoredRequest};
use countersign_workflow::request::{DRILL, State};
use serde_json::{Value, json};

use super::*;
use crate::notifier::test_notifier::{ReceiverBehavior, TestNotifier, WebhookReceiver, until};
use crate::test_daemon::{ApiSide, TestDaemon};

/// A real request of an agent, so that a drill can show that agent.
const USUAL: &str = r#"{"command":"scp notes.txt ana@203.0.113.9:","session":"s1"}"#;

struct Conditions {
    daemon: TestDaemon,
    agent: String,
    owner: String,
    /// The agent's real request, which is pending.
    typical: String,
}

async fn conditions(sections: &str) -> Conditions {
    let daemon = TestDaemon::with("", sections).await;
    let agent = daemon.agent("coder", 3_600_000).await;
    let owner = daemon.owner().await;
    let body = serde_json::from_str(USUAL).ok();
    let asked = daemon.by(&agent, ApiSide::Agents, "POST /v1/requests", body).await;
    assert_eq!(asked.status, 201, "{}", asked.body);
    let typical = asked.body["id"].as_str().unwrap().to_owned();
    Conditions { daemon, agent, owner, typical }
}

impl Conditions {
    async fn person(&self, line: &str, body: Option<Value>) -> Value {
        let reply = self.daemon.by(&self.owner, ApiSide::People, line, body).await;
        assert!(reply.status.is_success(), "{line}: {}", reply.body);
        reply.body
    }

    async fn create_now(&self) -> axum::http::StatusCode {
        let reply =
            self.daemon.by(&self.owner, ApiSide::People, "POST /v1/drills", Some(json!({}))).await;
        reply.status
    }

    /// The drill with this name, not a random one.
    async fn drill(&self, name: &str) -> StoredRequest {
        let others = catalog::all().iter().filter(|drill| drill.name != name);
        let mut seen = Vec::new();
        let template = self.daemon.gate.store().pending().await.unwrap().remove(0);
        for drill in others {
            let mut one = template.clone();
            let (kind, shown) = (drill.name.clone(), "coder".to_owned());
            one.request.requester = Requester::Drill { kind, shown };
            seen.push(one);
        }
        make(&self.daemon.gate, true, &seen).await.unwrap()
    }

    async fn decide(&self, stored: &StoredRequest, choice: &str, more: Value) -> Value {
        let mut body = json!({
            "choice": choice, "reason": "looks fine",
            "digest": stored.request.digest.canonical,
            "word": word_pair(&stored.request.digest.canonical),
        });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let line = format!("POST /v1/requests/{}/decision", stored.request.id);
        self.person(&line, Some(body)).await
    }

    async fn stands(&self, id: countersign_types::id::Id) -> StoredRequest {
        self.daemon.gate.store().request(id).await.unwrap().unwrap()
    }
}

#[test]
fn every_drill_has_the_tier_it_names() {
    assert!(catalog::all().len() >= 9);
    for tier in ["MEDIUM", "HIGH", "CRITICAL"] {
        assert!(catalog::all().iter().filter(|drill| drill.tier == tier).count() >= 3, "{tier}");
    }
    for drill in catalog::all() {
        let (tool, arguments) = drill.call();
        let call = Call {
            tool: Cow::Borrowed(tool),
            arguments: json::parse(&arguments).unwrap(),
            context: Context { platform: Platform::Api, ..Context::default() },
            ..Call::shell("")
        };
        let shown = format!("{arguments}{}", drill.says).to_lowercase();
        assert!(!shown.contains("drill"), "{} gives itself away", drill.name);
        let seen = countersign_risk::assess::assess(&call, &Policy::default());
        assert_eq!(seen.tier.label(), drill.tier, "{}", drill.name);
        assert!(drill.noticed.len() < 120 && !drill.noticed.ends_with('.'), "{}", drill.name);
    }
}

#[tokio::test]
async fn an_approved_drill_permits_nothing_and_is_explained() {
    let conditions = conditions("").await;
    let drill = conditions.drill("force-push").await;
    let id = drill.request.id;
    // Until it is decided, people see it as a real request.
    let line = format!("GET /v1/requests/{id}");
    let before = conditions.person(&line, None).await;
    assert_eq!((&before["agent"], &before["drill"]), (&json!("coder"), &Value::Null));
    assert_eq!((&before["session"], &before["tier"]), (&json!("s1"), &json!("HIGH")));
    let text = before.to_string().to_lowercase().replace("\"drill\":null", "");
    assert!(!text.contains("drill"), "{before}");
    let given = conditions.person("GET /v1/grants?all=true", None).await;
    let grant = json!({ "grant": { "shape": "exact", "scope": "session" } });
    let after = conditions.decide(&drill, "approve", grant).await;
    assert_eq!((&after["state"], &after["permit_until"]), (&json!("approved"), &Value::Null));
    assert_eq!(after["drill"]["caught"], false);
    let words = after["drill"]["words"].as_str().unwrap();
    assert!(words.starts_with("This was a drill: coder asked for nothing"), "{words}");
    assert!(words.contains("--force on main"), "{words}");
    // No grant, although the decision asked for one.
    assert_eq!(after["grant"], Value::Null);
    assert_eq!(conditions.person("GET /v1/grants?all=true", None).await, given);
    assert_eq!(conditions.daemon.count("grant").await, 1, "the whitelist's");
    let stored = conditions.stands(id).await;
    assert!(stored.permit_until.is_none() && stored.redeemed.is_none());
}

#[tokio::test]
async fn agents_cannot_find_a_drill() {
    let conditions = conditions("").await;
    let drill = conditions.drill("two-tables").await;
    let id = drill.request.id;
    let lines = [
        (format!("GET /v1/requests/{id}"), None),
        (format!("GET /v1/requests/{id}/wait?seconds=1"), None),
        (format!("POST /v1/requests/{id}/cancel"), Some(json!({}))),
        (format!("POST /v1/requests/{id}/outcome"), Some(json!({ "status": "ok" }))),
    ];
    for answered in [false, true] {
        if answered {
            conditions.decide(&drill, "approve", json!({})).await;
        }
        for (line, body) in lines.clone() {
            let reply = conditions.daemon.by(&conditions.agent, ApiSide::Agents, &line, body).await;
            assert_eq!(reply.status, 404, "{line}: {}", reply.body);
        }
        let list = conditions
            .daemon
            .by(&conditions.agent, ApiSide::Agents, "GET /pending", None)
            .await
            .body;
        assert!(!list.to_string().contains(&id.to_string()), "{list}");
    }
    // A real request for the same call is separate.
    let (tool, arguments) = catalog::find("two-tables").unwrap().call();
    let arguments: Value = serde_json::from_str(&arguments).unwrap();
    let same = json!({ "tool": tool, "arguments": arguments, "session": "s1" });
    let asked = conditions
        .daemon
        .by(&conditions.agent, ApiSide::Agents, "POST /v1/requests", Some(same))
        .await;
    assert_eq!((&asked.body["state"], &asked.body["permit"]), (&json!("pending"), &Value::Null));
    assert_ne!(asked.body["digest"], json!(drill.request.digest.canonical));
    // No agent can have its name.
    let body = Some(json!({ "name": "Drill" }));
    let made = conditions.daemon.change(&conditions.owner, "POST /v1/agents", body).await;
    assert_eq!(made.status, 400, "{}", made.body);
}

#[tokio::test]
async fn nothing_is_counted_or_learned_from_a_drill() {
    let conditions = conditions("[flood]\nopen_per_agent = 2\ndenials = 1\n").await;
    let gate = &conditions.daemon.gate;
    assert_eq!(gate.open_requests(), 1);
    let drill = conditions.drill("environment-file").await;
    gate.record_event(StoreEvent::Asked(drill.request.id)).await.unwrap();
    gate.recount_open().await.unwrap();
    assert_eq!(gate.open_requests(), 1, "it takes no place of an agent's");
    let ended = gate.metrics().totals("countersign_requests_ended_total");
    let after = conditions.decide(&drill, "deny", json!({})).await;
    assert_eq!(after["drill"]["caught"], true);
    gate.recount_open().await.unwrap();
    assert_eq!(
        conditions.daemon.count("quarantine").await,
        0,
        "a no to a drill is held against nobody"
    );
    assert_eq!(gate.metrics().totals("countersign_requests_ended_total"), ended);
    let body = serde_json::from_str(&USUAL.replace("notes", "other")).ok();
    let asked =
        conditions.daemon.by(&conditions.agent, ApiSide::Agents, "POST /v1/requests", body).await;
    assert_eq!(asked.status, 201, "{}", asked.body);
    // Thresholds, counts and similar calls do not include it.
    let thresholds = conditions.person("GET /v1/calibration", None).await;
    assert_eq!(thresholds["buckets"], json!([]));
    let day = conditions.person("GET /v1/stats", None).await["last_24_hours"].clone();
    assert_eq!((&day["by_agent"], &day["answers"]), (&json!({ "coder": 2 }), &json!(0)));
    let tool = (drill.tool.clone(), drill.request.tier);
    let now = gate.clock().now().at;
    let later = crate::random::id(now).unwrap();
    for agent in ["coder", DRILL] {
        let similar =
            gate.store().similar_calls(agent.to_owned(), tool.clone(), later, Timestamp(0));
        assert!(similar.await.unwrap().newest.is_empty(), "{agent}");
    }
    let query = RequestQuery { agent: Some("coder".to_owned()), ..RequestQuery::default() };
    assert_eq!(gate.store().find(query).await.unwrap().requests.len(), 2);
}

#[tokio::test]
async fn the_ledger_marks_a_drill_from_the_start() {
    let conditions = conditions("").await;
    let drill = conditions.drill("one-space").await;
    let id = json!(drill.request.id);
    let told = |ledger: Vec<Value>| -> Vec<Value> {
        ledger.into_iter().filter(|entry| entry["request"] == id).collect()
    };
    let open = told(conditions.daemon.ledger().await);
    assert_eq!(open.len(), 1);
    assert_eq!((&open[0]["kind"], &open[0]["agent"]), (&json!("ask"), &json!("drill")));
    assert_eq!(open[0]["facts"]["drill"], "one-space");
    // The page of the request does not reveal it.
    let entry = serde_json::to_vec(&open[0]).unwrap();
    let shown = String::from_utf8(without_drill_marks(&entry, "coder")).unwrap();
    assert!(shown.contains("coder") && !shown.contains("drill"), "{shown}");
    conditions.decide(&drill, "approve", json!({})).await;
    let over = told(conditions.daemon.ledger().await);
    let last = over.last().unwrap();
    assert_eq!((&last["kind"], &last["facts"]["drill"]), (&json!("approve"), &json!("one-space")));
    assert_eq!(last["person"], "owner");
}

#[tokio::test]
async fn one_drill_at_a_time_and_it_is_cancelled_for_risky_requests() {
    let conditions = conditions("").await;
    let (first, second) = tokio::join!(conditions.create_now(), conditions.create_now());
    assert_eq!([first, second].iter().filter(|status| **status == 201).count(), 1);
    assert_eq!(conditions.create_now().await, 409);
    let open = conditions.daemon.gate.open_drill().unwrap();
    assert_eq!(
        conditions.stands(open).await.request.schedule.level_at(conditions.daemon.now()).index(),
        0
    );
    // A MEDIUM request may be pending at the same time.
    cancel_for_graver(&conditions.daemon.gate).await.unwrap();
    assert_eq!(conditions.stands(open).await.request.state, State::Pending);
    let grave = json!({ "command": "git push --force origin main" });
    conditions
        .daemon
        .by(&conditions.agent, ApiSide::Agents, "POST /v1/requests", Some(grave))
        .await;
    cancel_for_graver(&conditions.daemon.gate).await.unwrap();
    let stored = conditions.stands(open).await;
    assert_eq!(stored.request.state, State::Cancelled);
    assert!(explain(&stored).unwrap().contains("a request of a higher tier arrived"));
    assert_eq!(conditions.daemon.gate.open_drill(), None);
    assert_eq!(conditions.create_now().await, 409, "something HIGH waits");
}

#[tokio::test]
async fn no_drill_in_a_crisis_or_without_an_agent() {
    let conditions = conditions("").await;
    let text = json!({ "text": "I want to end my life tonight", "session": "s2" });
    let seen = conditions
        .daemon
        .by(&conditions.agent, ApiSide::Agents, "POST /v1/screen", Some(text))
        .await;
    assert!(seen.status.is_success(), "{}", seen.body);
    assert!(!conditions.daemon.gate.crises().list().is_empty());
    assert_eq!(conditions.create_now().await, 409);
    // No agent has asked yet, so the card has no agent to show.
    let daemon = TestDaemon::default().await;
    assert!(matches!(create_now(&daemon.gate).await, Err(DrillRefusal::NoAgent)));
}

#[tokio::test]
async fn only_an_administrator_sends_a_drill() {
    let conditions = conditions("").await;
    conditions.daemon.person("bo", countersign_store::Role::Approver).await;
    let bo = conditions.daemon.login("bo", "terminal", 3_600_000).await;
    for (token, side, status) in [
        (&bo, ApiSide::People, 403),
        (&conditions.agent, ApiSide::People, 403),
        (&conditions.owner, ApiSide::Agents, 404),
    ] {
        let reply = conditions.daemon.by(token, side, "POST /v1/drills", Some(json!({}))).await;
        assert_eq!(reply.status, status, "{}", reply.body);
    }
    let pending = conditions.daemon.gate.store().pending().await.unwrap();
    assert_eq!(pending.len(), 1);
    assert_eq!(pending[0].request.id.to_string(), conditions.typical);
}

#[tokio::test]
async fn a_drill_does_not_escalate_and_its_messages_explain_it() {
    let folder = tempfile::tempdir().unwrap();
    let (first, further) = (
        WebhookReceiver::start(ReceiverBehavior::Answers(200)).await,
        WebhookReceiver::start(ReceiverBehavior::Answers(200)).await,
    );
    let text = format!(
        "[escalation]\nfirst = [\"first\"]\nnext = [\"further\"]\n{}{}",
        first.channel("first", folder.path()),
        further.channel("further", folder.path())
    );
    let notifier = TestNotifier::open(folder.path(), &text).await.start().start_deadlines();
    let typical = notifier.ask("scp notes.txt ana@203.0.113.9:").await;
    notifier.deny(&typical).await;
    notifier.outbox_is_empty().await;
    for reached in [true, false] {
        if !reached {
            *first.behavior.lock().unwrap() = ReceiverBehavior::Answers(302);
        }
        let before = first.got().len();
        let drill = create_now(&notifier.gate).await.unwrap();
        until("the question", async || first.got().len() > before).await;
        notifier.outbox_is_empty().await;
        let asked = first.got()[before].1["data"].clone();
        assert_eq!((&asked["agent"], &asked["ended"]), (&json!("coder"), &Value::Null));
        if reached {
            notifier.deny(&drill).await;
            until("the end", async || first.got().len() > before + 1).await;
            let ended = first.got()[before + 1].1["data"]["ended"].clone();
            assert!(ended["drill"].as_str().unwrap().starts_with("This was a drill"), "{ended}");
        } else {
            // The deadline passes without an escalation.
            notifier.jump(299);
            crate::watch::process_due(&notifier.gate).await;
            assert_eq!(notifier.stored(&drill).await.request.level.index(), 0);
            notifier.jump(2);
            until("its end", async || {
                notifier.stored(&drill).await.request.state == State::Expired
            })
            .await;
        }
    }
    assert!(further.got().is_empty(), "{:?}", further.kinds());
}
