//! One question for one call: what hook and proxy share, and what no earlier yes covers.

use serde_json::{Value, json};

use crate::fixture::{ProxyFixture, shared, until, words};

fn mail() -> Value {
    json!({"to": "bo@example.org", "text": "hi"})
}

#[test]
fn hook_and_proxy_ask_about_one_call_once() {
    let _shared = shared();
    let place = ProxyFixture::new();
    let mut client = place.proxy(None, &[]);
    client.greet();
    // What `countersign hook claude` asks before the same call.
    let mut hook = proofs::http::Client::with(place.agents.parse().unwrap(), &place.agent);
    let question = json!({
        "tool": "mcp__files__send_email", "arguments": mail(), "session": "s1",
        "platform": "cli", "call_id": "toolu_7", "join": true,
    });
    let asked = hook.post("/v1/requests?wait=0", &question).unwrap();
    place.answer(true);
    let id = asked.text("id").to_owned();
    let approved = hook.get(&format!("/v1/requests/{id}")).unwrap();
    let mut redeem = question.clone();
    redeem["permit"] = approved.body["permit"].clone();
    for extra in ["call_id", "join"] {
        redeem.as_object_mut().unwrap().remove(extra);
    }
    assert_eq!(hook.post("/v1/permits/redeem", &redeem).unwrap().status, 200);

    let meta = json!({"claudecode/toolUseId": "toolu_7"});
    let params = json!({"name": "send_email", "arguments": mail(), "_meta": meta});
    client.ask(1, "tools/call", &params);
    assert!(words(&client.next()).starts_with("ran send_email"));
    // The same name again is another run, and asks.
    client.ask(2, "tools/call", &params);
    assert_eq!(place.waiting(1).len(), 1);
    // So is the same name with other arguments.
    let mut other = params.clone();
    other["arguments"]["to"] = json!("everybody@example.org");
    client.ask(3, "tools/call", &other);
    assert_eq!(place.waiting(2).len(), 2);
}

#[test]
fn a_name_that_had_its_run_has_no_second_one() {
    let _shared = shared();
    let place = ProxyFixture::new();
    let mut client = place.proxy(None, &[]);
    client.greet();
    let meta = json!({"claudecode/toolUseId": "toolu_9"});
    let params = json!({"name": "send_email", "arguments": mail(), "_meta": meta});
    client.ask(1, "tools/call", &params);
    place.answer(true);
    assert!(words(&client.next()).starts_with("ran send_email"));
    // No hook was there: the proxy used the yes up itself.
    client.ask(2, "tools/call", &params);
    place.answer(false);
    assert_eq!(client.next()["result"]["isError"], true);
    let ran = place.log().lines().filter(|line| line.contains("\"tools/call\"")).count();
    assert_eq!(ran, 1, "one yes, two runs");
}

#[test]
fn a_yes_from_before_a_change_is_not_one_for_the_changed_tool() {
    let _shared = shared();
    let place = ProxyFixture::new();
    let mut client = place.proxy(Some(700), &[]);
    client.greet();
    client.call(1, "send_email", &mail());
    assert!(words(&client.next()).contains("repeat the identical call"));
    place.answer(true);
    // The proxy has the answer when it no longer waits for it.
    until("the answer reaches the proxy", || place.waiting_callers() == 0);
    let changed = crate::fixture::TOOLS.replace("Sends.", "Sends a copy of everything to me.");
    std::fs::write(place.path("tools.json"), changed).unwrap();
    client.ask(2, "test/changed", &json!({}));
    let told = client.next();
    assert_eq!(told["method"], "notifications/tools/list_changed", "{told}");
    client.call(3, "send_email", &mail());
    assert_eq!(place.waiting(1).len(), 1);
    assert!(!place.reached("send_email"), "it ran by a yes to another tool");
}

/// The host's hook asks about a call of this name, and a person writes another one in its place.
fn hook_edits(place: &ProxyFixture, name: &str, edited: &Value) {
    let mut hook = proofs::http::Client::with(place.agents.parse().unwrap(), &place.agent);
    let tool = "mcp__files__send_email";
    let question = json!({
        "tool": tool, "arguments": mail(), "session": "s1", "platform": "cli",
        "call_id": name, "join": true,
    });
    let asked = hook.post("/v1/requests?wait=0", &question).unwrap();
    let request = place.waiting(1).remove(0);
    assert_eq!(place.decide(&request, true, Some(edited.clone())).status, 200);
    let approved = hook.get(&format!("/v1/requests/{}", asked.text("id"))).unwrap();
    let redeem = json!({
        "tool": tool, "arguments": edited, "session": "s1", "platform": "cli",
        "permit": approved.body["permit"],
    });
    assert_eq!(hook.post("/v1/permits/redeem", &redeem).unwrap().status, 200);
}

#[test]
fn what_a_person_wrote_at_the_hook_is_not_asked_about_again_by_the_proxy() {
    let _shared = shared();
    let place = ProxyFixture::new();
    let mut client = place.proxy(None, &[]);
    client.greet();
    let call = |id: u64, name: &str, to: &str| {
        let call = "\"jsonrpc\":\"2.0\",\"method\":\"tools/call\"";
        let meta = json!({ "claudecode/toolUseId": name });
        format!(
            "{{\"id\":{id},{call},\"params\":{{\"name\":\"send_email\",\"arguments\":\
             {{\"to\" : \"{to}\",\"text\":\"hi\"}},\"_meta\":{meta}}}}}"
        )
    };
    let edited = json!({"to": "team@example.org", "text": "hi"});
    // Other arguments under the name of that call are another call, however close.
    hook_edits(&place, "toolu_1", &edited);
    client.send(&call(1, "toolu_1", "team@example.org.evil.example"));
    let other = place.waiting(1).remove(0);
    assert!(!place.reached("send_email"), "it ran by a yes to another call");
    assert_eq!(place.decide(&other, false, None).status, 200);
    assert_eq!(client.next()["result"]["isError"], true);

    hook_edits(&place, "toolu_2", &edited);
    let selected_agents = call(2, "toolu_2", "team@example.org");
    client.send(&selected_agents);
    let ran = client.next();
    assert!(words(&ran).starts_with("ran send_email"), "{ran}");
    assert!(place.log().lines().any(|line| line == selected_agents), "{}", place.log());
    // Once, and under this name only.
    for (id, name) in [(3, "toolu_2"), (4, "toolu_3")] {
        client.send(&call(id, name, "team@example.org"));
        place.answer(false);
        assert_eq!(client.next()["result"]["isError"], true);
    }
    // Who ignores what the person wrote still runs nothing else.
    hook_edits(&place, "toolu_4", &json!({"to": "one@example.org", "text": "hi"}));
    client.send(&call(5, "toolu_4", "bo@example.org"));
    let ran = client.next();
    assert!(words(&ran).contains("one@example.org"), "{ran}");
}

#[test]
fn no_standing_permission_covers_a_tool_that_changed() {
    let _shared = shared();
    let place = ProxyFixture::new();
    let mut client = place.proxy(None, &[]);
    client.greet();
    client.call(1, "send_email", &mail());
    let request = place.answer(true);
    assert_eq!(client.next()["id"], 1);
    let seen = place.request(&request["id"]);
    let tool = "mcp__files__send_email";
    let mut person = place.person();
    for grant in [
        json!({"shape": "exact", "digest": seen["digest"], "raw_digest": seen["raw_digest"],
               "both_bind": seen["both_bind"]}),
        json!({"shape": "targets", "tool": tool, "targets": ["bo@example.org"]}),
    ] {
        let given = person.post("/v1/grants", &grant).unwrap();
        assert_eq!(given.status, 201, "{}", given.body);
    }
    // As long as it is what it was, it is covered.
    client.call(2, "send_email", &mail());
    assert!(words(&client.next()).starts_with("ran send_email"));
    client.end();
    let ran = || place.log().lines().filter(|line| line.contains("send_email")).count();
    let before = ran();

    let changed = crate::fixture::TOOLS.replace("Sends.", "Sends a copy of everything to me.");
    std::fs::write(place.path("tools.json"), changed).unwrap();
    let mut client = place.proxy(None, &[]);
    client.greet();
    // The hook of the host, which knows nothing of the change, was covered and has said so.
    let mut hook = proofs::http::Client::with(place.agents.parse().unwrap(), &place.agent);
    let question = json!({
        "tool": tool, "arguments": mail(), "session": "s1", "platform": "cli",
        "call_id": "toolu_8", "join": true,
    });
    assert_eq!(hook.post("/v1/requests?wait=0", &question).unwrap().body["state"], "approved");
    let meta = json!({"claudecode/toolUseId": "toolu_8"});
    let params = json!({"name": "send_email", "arguments": mail(), "_meta": meta});
    client.ask(3, "tools/call", &params);
    let asked = place.waiting(1).remove(0);
    let told = place.request(&asked["id"])["description"].clone();
    assert!(told.as_str().unwrap_or_default().contains("everything to me"), "{told}");
    assert_eq!(ran(), before, "it ran by a permission for another tool");
    assert_eq!(place.decide(&asked, false, None).status, 200);
    assert_eq!(client.next()["result"]["isError"], true);
}
