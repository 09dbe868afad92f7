//! `AuthZEN`: decisions, offers bound to one call, approvals used once.

use super::*;
use countersign_types::time::{Clock as _, Millis, Timestamp};
use countersign_workflow::assurance::{Authority, RequiredAssurance, Tenure};
use countersign_workflow::request::{ApprovalScope, Choice, Event};

const EVALUATE: &str = "/access/v1/evaluation";

fn asks(command: &str) -> Value {
    json!({
        "subject": { "type": "agent", "id": CODER },
        "action": { "name": "tools/call" },
        "resource": { "type": "tool", "id": "shell",
                      "properties": { "arguments": { "command": command } } },
    })
}

async fn evaluate(api: &TestApi, body: Value) -> Value {
    let (status, answer) = api.agent("POST", EVALUATE, body).await;
    assert_eq!(status, StatusCode::OK, "{answer}");
    answer
}

/// The access request that a denial offers.
fn wanted(body: &Value, denied: &Value) -> Value {
    let offer = &denied["context"]["access_request"];
    let mut wanted = body.clone();
    wanted["denial"] = json!({
        "evaluation_id": denied["context"]["evaluation_id"],
        "evaluated_at": denied["context"]["evaluated_at"],
        "reason": denied["context"]["reason"],
        "expires_at": offer["expires_at"],
        "binding_token": offer["binding_token"],
        "template": offer["template"],
    });
    wanted
}

async fn approved(api: &TestApi, body: &Value) -> Value {
    let denied = evaluate(api, body.clone()).await;
    assert_eq!(denied["context"]["reason"], "approval_required", "{denied}");
    let (status, task) = api.agent("POST", "/access/v1/requests", wanted(body, &denied)).await;
    assert_eq!(status, StatusCode::ACCEPTED, "{task}");
    let id = task["task"]["id"].as_str().unwrap().to_owned();
    let (_, document) = api.agent("GET", &format!("/v1/requests/{id}"), Value::Null).await;
    let (status, _) = api.approve(&document).await;
    assert_eq!(status, StatusCode::OK);
    let (_, task) = api.agent("GET", &format!("/access/v1/requests/{id}"), Value::Null).await;
    assert_eq!(task["task"]["status"], "approved");
    assert_eq!(task["result"]["mode"], "reevaluate");
    task["result"]["approval"].clone()
}

fn with_approval(mut body: Value, approval: &Value) -> Value {
    body["context"]["approval"] = approval.clone();
    body
}

#[tokio::test]
async fn harmless_calls_are_permitted_and_risky_ones_offer_a_request() {
    let api = TestApi::new().await;
    assert_eq!(evaluate(&api, asks("ls -la")).await["decision"], true);
    let denied = evaluate(&api, asks("rm -rf /srv/x")).await;
    let context = &denied["context"];
    assert_eq!((&denied["decision"], &context["next_action"]), (&json!(false), &json!("request")));
    let offer = &context["access_request"];
    assert_eq!(offer["endpoint"], "http://127.0.0.1:6000/access/v1/requests");
    assert!(offer["display"]["description"].as_str().unwrap().len() > 5);
    assert_eq!(api.api.gate.open_requests(), 0, "an evaluation asks nobody");
    api.grant("send_message").await;
    let mut granted = asks("");
    granted["resource"] = json!({ "type": "tool", "id": "send_message",
        "properties": { "to": "bo", "text": "hi" } });
    let answer = evaluate(&api, granted).await;
    assert_eq!(
        (&answer["decision"], &answer["context"]["reason"]),
        (&json!(true), &json!("grant"))
    );
    let used = api.agent("GET", "/v1/requests", Value::Null).await.1["requests"][0].clone();
    assert_eq!(used["permit"], Value::Null, "the grant's one use was this evaluation");
}

#[tokio::test]
async fn the_subject_must_be_the_caller_and_unknown_input_is_denied() {
    let api = TestApi::new().await;
    for (pointer, value, reason) in [
        ("/subject/id", "other", "subject_mismatch"),
        ("/action/name", "delete", "unsupported_action"),
        ("/resource/type", "document", "unsupported_resource"),
    ] {
        let mut body = asks("ls");
        *body.pointer_mut(pointer).unwrap() = json!(value);
        let answer = evaluate(&api, body).await;
        assert_eq!(
            (&answer["decision"], &answer["context"]["reason"]),
            (&json!(false), &json!(reason))
        );
    }
    for (pointer, value) in [
        ("/subject", json!("coder")),
        ("/subject", json!({ "id": CODER })),
        ("/action", json!({})),
        ("/resource", json!({ "type": "tool" })),
        ("/resource/properties", json!([])),
        ("/resource/properties/arguments", json!("ls")),
        ("/resource/properties/arguments", json!(null)),
    ] {
        let mut body = asks("ls");
        *body.pointer_mut(pointer).unwrap() = value.clone();
        let (status, answer) = api.agent("POST", EVALUATE, body).await;
        if pointer.ends_with("arguments") && value.is_null() {
            assert_eq!(status, StatusCode::BAD_REQUEST, "{answer}");
        }
        assert!(status == StatusCode::BAD_REQUEST, "{pointer} {value}: {answer}");
    }
    let mut body = asks("ls");
    body["context"] = json!({ "arguments": { "command": "rm -rf /" } });
    let (status, _) = api.agent("POST", EVALUATE, body).await;
    assert_eq!(status, StatusCode::BAD_REQUEST, "two different calls in one");
    let mut body = asks("ls");
    body["resource"]["properties"] = json!({ "command": "rm -rf /srv/x" });
    assert_eq!(evaluate(&api, body).await["decision"], false, "properties are arguments too");
    let mut body = asks("ls");
    body["extra"] = json!(1);
    assert_eq!(api.agent("POST", EVALUATE, body).await.0, StatusCode::BAD_REQUEST);
    let response = api.agents("POST", EVALUATE, None, &[("x-request-id", "r-7")], asks("ls"));
    let response = response.await;
    assert_eq!(response.status(), StatusCode::UNAUTHORIZED);
    assert_eq!(header_of(response.headers(), "x-request-id"), "r-7", "on errors as well");
}

#[tokio::test]
async fn an_approval_permits_the_same_call_once() {
    let api = TestApi::new().await;
    let body = asks("rm -rf /srv/x");
    let approval = approved(&api, &body).await;
    let reason = |answer: &Value| answer["context"]["reason"].as_str().unwrap().to_owned();
    let other = evaluate(&api, with_approval(asks("rm -rf /srv/y"), &approval)).await;
    assert_eq!((&other["decision"], reason(&other)), (&json!(false), "out_of_scope".to_owned()));
    assert!(other["context"]["access_request"]["binding_token"].is_string(), "asks again");
    let mut stranger = with_approval(body.clone(), &approval);
    stranger["subject"]["id"] = json!("other");
    let sent = api.agents("POST", EVALUATE, Some(OTHER_TOKEN), &[], stranger).await;
    let (_, stranger) = read(sent).await;
    assert_eq!(
        (&stranger["decision"], reason(&stranger)),
        (&json!(false), "approval_unverifiable".to_owned())
    );
    let both = with_approval(body.clone(), &approval);
    let (one, two) = tokio::join!(evaluate(&api, both.clone()), evaluate(&api, both.clone()));
    let yes = [&one, &two].iter().filter(|answer| answer["decision"] == true).count();
    assert_eq!(yes, 1, "exactly one use: {one} {two}");
    let late = evaluate(&api, both).await;
    assert_eq!((&late["decision"], reason(&late)), (&json!(false), "approval_expired".to_owned()));
    for id in ["x", "00000000000000000000000000"] {
        let answer = evaluate(&api, with_approval(body.clone(), &json!({ "id": id }))).await;
        assert_eq!(reason(&answer), "approval_unverifiable");
    }
}

#[tokio::test]
async fn an_approval_expires() {
    let api = TestApi::with("[permits]\nseconds = 1\n").await;
    let body = asks("rm -rf /srv/x");
    let approval = approved(&api, &body).await;
    let clock = api.api.gate.clock();
    clock.not_before(clock.now().at.plus(Millis::from_seconds(2)));
    let late = evaluate(&api, with_approval(body, &approval)).await;
    assert_eq!(
        (&late["decision"], &late["context"]["reason"]),
        (&json!(false), &json!("approval_expired"))
    );
}

#[tokio::test]
async fn a_pending_or_cancelled_request_permits_nothing() {
    let api = TestApi::new().await;
    let body = asks("rm -rf /srv/x");
    let denied = evaluate(&api, body.clone()).await;
    let (_, task) = api.agent("POST", "/access/v1/requests", wanted(&body, &denied)).await;
    let id = task["task"]["id"].as_str().unwrap();
    let again = with_approval(body.clone(), &json!({ "id": id }));
    let answer = evaluate(&api, again.clone()).await;
    assert_eq!(
        (&answer["decision"], &answer["context"]["reason"]),
        (&json!(false), &json!("grant_pending"))
    );
    let place = format!("/access/v1/requests/{id}");
    let sent = api.agents("GET", &place, Some(OTHER_TOKEN), &[], Value::Null).await;
    assert_eq!(sent.status(), StatusCode::NOT_FOUND, "another agent's task");
    let (status, gone) = api.agent("POST", &format!("{place}/cancel"), Value::Null).await;
    assert_eq!((status, &gone["task"]["status"]), (StatusCode::OK, &json!("cancelled")));
    assert_eq!(gone.get("result"), None);
    let (status, twice) = api.agent("POST", &format!("{place}/cancel"), json!({})).await;
    assert_eq!(status, StatusCode::CONFLICT);
    assert!(twice["type"].as_str().unwrap().ends_with(":invalid_task_state"), "{twice}");
    let answer = evaluate(&api, again).await;
    assert_eq!(
        (&answer["decision"], &answer["context"]["reason"]),
        (&json!(false), &json!("policy_denied"))
    );
}

#[tokio::test]
async fn an_offer_is_for_the_call_that_was_denied() {
    let api = TestApi::new().await;
    let body = asks("rm -rf /srv/x");
    let denied = evaluate(&api, body.clone()).await;
    let good = wanted(&body, &denied);
    let place = "/access/v1/requests";
    let changes: [(&str, Value); 6] = [
        ("/resource/properties/arguments/command", json!("rm -rf /")),
        ("/resource/id", json!("bash")),
        ("/denial/expires_at", json!("2099-01-01T00:00:00.000Z")),
        ("/denial/evaluation_id", json!("00000000000000000000000000")),
        ("/denial/binding_token", json!("x")),
        ("/denial/template", json!("another")),
    ];
    for (pointer, value) in changes {
        let mut bad = good.clone();
        *bad.pointer_mut(pointer).unwrap() = value;
        let (status, problem) = api.agent("POST", place, bad).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{pointer}");
        assert!(problem["type"].as_str().unwrap().ends_with(":invalid_denial_binding"));
    }
    let mut without = good.clone();
    without.as_object_mut().unwrap().remove("denial");
    assert_eq!(api.agent("POST", place, without).await.0, StatusCode::BAD_REQUEST);
    let mut calls_back = good.clone();
    calls_back["callback"] = json!({ "endpoint": "http://169.254.169.254/" });
    assert_eq!(api.agent("POST", place, calls_back).await.0, StatusCode::BAD_REQUEST);
    let sent = api.agents("POST", place, Some(OTHER_TOKEN), &[], good.clone()).await;
    assert_eq!(sent.status(), StatusCode::FORBIDDEN, "another agent's offer");
    assert_eq!(api.api.gate.open_requests(), 0);
    let key = [("idempotency-key", "k")];
    let mut ids = Vec::new();
    for _ in 0..2 {
        let sent = api.agents("POST", place, Some(CODER_TOKEN), &key, good.clone()).await;
        assert_eq!(sent.status(), StatusCode::ACCEPTED);
        let location = header_of(sent.headers(), "location");
        let (_, task) = read(sent).await;
        assert_eq!(task["task"]["status_endpoint"], location.as_str());
        ids.push(task["task"]["id"].clone());
    }
    assert_eq!(ids[0], ids[1]);
    let body = asks("rm -rf /srv/y");
    let denied = evaluate(&api, body.clone()).await;
    let sent = api.agents("POST", place, Some(CODER_TOKEN), &key, wanted(&body, &denied)).await;
    let (status, problem) = read(sent).await;
    assert_eq!(status, StatusCode::CONFLICT);
    assert!(problem["type"].as_str().unwrap().ends_with(":duplicate_request"));
}

#[tokio::test]
async fn an_edited_approval_is_for_the_edited_call() {
    let api = TestApi::new().await;
    let body = asks("rm -rf /srv/x");
    let denied = evaluate(&api, body.clone()).await;
    let (_, task) = api.agent("POST", "/access/v1/requests", wanted(&body, &denied)).await;
    let id = task["task"]["id"].as_str().unwrap();
    let (_, document) = api.agent("GET", &format!("/v1/requests/{id}"), Value::Null).await;
    let mut answer = json!({ "digest": document["digest"],
        "edited_arguments": { "command": "rm -rf /srv/x/tmp" } });
    let path = format!("/v1/requests/{id}/edit");
    let (_, checked) = api.person("POST", &path, answer.clone()).await;
    answer["choice"] = json!("approve");
    answer["edited_digest"] = checked["digest"].clone();
    answer["word"] = checked["phrase"].clone();
    api.person("POST", &format!("/v1/requests/{id}/decision"), answer).await;
    let (_, task) = api.agent("GET", &format!("/access/v1/requests/{id}"), Value::Null).await;
    let result = &task["result"];
    assert_eq!(result["edited_arguments"]["command"], "rm -rf /srv/x/tmp", "{task}");
    let plain = evaluate(&api, with_approval(body, &result["approval"])).await;
    assert_eq!(plain["context"]["reason"], "out_of_scope");
    let edited = with_approval(asks("rm -rf /srv/x/tmp"), &result["approval"]);
    assert_eq!(evaluate(&api, edited).await["decision"], true);
}

#[tokio::test]
async fn an_approval_from_before_a_crisis_does_not_count_in_it() {
    let api = TestApi::new().await;
    let mut body = asks("");
    body["resource"] = json!({ "type": "tool", "id": "send_message",
        "properties": { "arguments": { "to": "bo", "text": "hi" } } });
    body["context"] = json!({ "session": "s" });
    let approval = approved(&api, &body).await;
    let screen = json!({ "text": "I want to kill myself tonight", "session": "s" });
    api.agent("POST", "/v1/screen", screen).await;
    let answer = evaluate(&api, with_approval(body, &approval)).await;
    assert_eq!(
        (&answer["decision"], &answer["context"]["reason"]),
        (&json!(false), &json!("out_of_scope")),
        "{answer}"
    );
}

#[tokio::test]
async fn several_evaluations_keep_order_and_semantic() {
    let api = TestApi::new().await;
    let tool = |command: &str| json!({ "resource": asks(command)["resource"] });
    let several = |semantic: Option<&str>| {
        let mut body = asks("");
        body.as_object_mut().unwrap().remove("resource");
        body["evaluations"] = json!([tool("ls"), tool("rm -rf /srv/x"), tool("pwd")]);
        if let Some(semantic) = semantic {
            body["options"] = json!({ "evaluations_semantic": semantic });
        }
        body
    };
    for (semantic, decisions) in [
        (None, vec![true, false, true]),
        (Some("execute_all"), vec![true, false, true]),
        (Some("deny_on_first_deny"), vec![true, false]),
        (Some("permit_on_first_permit"), vec![true]),
    ] {
        let (status, answer) = api.agent("POST", "/access/v1/evaluations", several(semantic)).await;
        assert_eq!(status, StatusCode::OK, "{answer}");
        let list = answer["evaluations"].as_array().unwrap();
        let made: Vec<_> = list.iter().map(|one| one["decision"].as_bool().unwrap()).collect();
        assert_eq!(made, decisions, "{semantic:?}");
    }
    let (status, _) = api.agent("POST", "/access/v1/evaluations", several(Some("whatever"))).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    let (_, single) = api.agent("POST", "/access/v1/evaluations", asks("ls")).await;
    assert_eq!(single["decision"], true, "without a list it is one evaluation");
    let mut bad = several(None);
    bad["evaluations"][2] = json!({ "resource": 7 });
    let (status, _) = api.agent("POST", "/access/v1/evaluations", bad).await;
    assert_eq!(status, StatusCode::BAD_REQUEST, "one bad one, and none is decided");
    let (_, known) = api.agent("GET", "/.well-known/authzen-configuration", Value::Null).await;
    assert_eq!(known["access_evaluation_endpoint"], "http://127.0.0.1:6000/access/v1/evaluation");
    assert_eq!(known["capabilities"], json!(["urn:openid:authzen:capability:access-request"]));
}

#[tokio::test]
async fn a_denied_request_stays_denied() {
    let api = TestApi::new().await;
    let body = asks("rm -rf /srv/x");
    let denied = evaluate(&api, body.clone()).await;
    let (_, task) = api.agent("POST", "/access/v1/requests", wanted(&body, &denied)).await;
    let id = countersign_types::id::Id::parse(task["task"]["id"].as_str().unwrap()).unwrap();
    let stored = api.api.gate.store().request(id).await.unwrap().unwrap();
    let event = Event::Answer {
        person: "ana".to_owned(),
        choice: Choice::Deny,
        scope: ApprovalScope::Once,
        seen: stored.request.digest,
        edited: None,
        channel: "web".to_owned(),
        reason: String::new(),
        word: String::new(),
        standing: (
            Authority::login(false, Tenure::from(Timestamp(0))),
            RequiredAssurance::default(),
        ),
    };
    api.api.gate.decide(id, event, note()).await.unwrap();
    let answer = evaluate(&api, with_approval(body, &json!({ "id": id }))).await;
    assert_eq!(
        (&answer["decision"], &answer["context"]["reason"]),
        (&json!(false), &json!("policy_denied"))
    );
}
