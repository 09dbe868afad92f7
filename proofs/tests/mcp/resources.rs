//! Resources and prompts: they pass and are recorded, or are asked about like a tool call.

use std::time::{Duration, Instant};

use proofs::http::Client;
use serde_json::{Value, json};

use crate::fixture::{ProxyFixture, shared};
use crate::http::proxy;
use crate::web::Web;

const KEY: &str = "file:///home/bo/.ssh/id_rsa";

/// Waits until the ledger names these tools as passed.
fn in_ledger(place: &ProxyFixture, tools: [&str; 2]) {
    let end = Instant::now() + Duration::from_mins(2);
    let mut hook = Client::with(place.agents.parse().unwrap(), &place.agent);
    let mut number = 0;
    loop {
        number += 1;
        // What passed is in the ledger with the next thing that has to be.
        let ask = json!({"tool": "send_email", "arguments": {"to": "bo", "n": number}});
        let asked = hook.post("/v1/requests?wait=0", &ask).unwrap();
        let id = asked.text("id").to_owned();
        let cancelled = hook.post(&format!("/v1/requests/{id}/cancel"), &json!({})).unwrap();
        assert_eq!(cancelled.status, 200, "{}", cancelled.body);
        let entries = place.person().get("/v1/ledger/entries?limit=100").unwrap().body.to_string();
        if tools.iter().all(|tool| entries.contains(tool)) {
            assert!(!entries.contains("note://a"), "no word of it stays");
            return;
        }
        assert!(Instant::now() < end, "{entries}");
        std::thread::sleep(Duration::from_millis(200));
    }
}

#[test]
fn what_is_looked_at_passes_and_is_in_the_ledger_but_a_key_is_asked_about() {
    let _shared = shared();
    let place = ProxyFixture::new();
    let mut client = place.proxy(None, &[("VERSION", "2025-03-26")]);
    client.greet();
    let odd = r#"{ "jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"note://a" }}"#;
    client.send(odd);
    assert_eq!(client.next(), json!({"jsonrpc": "2.0", "id": 1, "result": {}}));
    assert!(place.log().lines().any(|line| line == odd));
    client.ask(2, "prompts/get", &json!({"name": "greet", "arguments": {"who": "bo"}}));
    assert_eq!(client.next()["id"], 2);
    // The server says itself what is wrong.
    client.ask(3, "resources/read", &json!({"path": "a"}));
    assert_eq!(client.next()["id"], 3);
    in_ledger(&place, ["mcp__files__resources_read", "mcp__files__prompts_get"]);

    client.ask(4, "resources/read", &json!({"uri": KEY}));
    let request = place.waiting(1).remove(0);
    assert_eq!(request["tool"], "mcp__files__resources_read");
    place.answer(false);
    let denied = client.next();
    assert!(denied["result"].is_null(), "{denied}");
    let why = denied["error"]["message"].as_str().unwrap_or_default();
    assert!(why.contains("as planned"), "{denied}");
    // A server that reads its members without regard to case would read this one.
    client.ask(40, "resources/read", &json!({"URI": KEY}));
    let refused = client.next();
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
    assert!(!place.log().contains("\"URI\""), "{}", place.log());
    // Nor does it get through under another name, or among others.
    client.ask(5, "resources/read", &json!({"uri": "note://a", "URI": KEY}));
    assert_eq!(client.next()["error"]["code"], -32602);
    let read = |id: u64, uri: &str| {
        let params = json!({ "uri": uri });
        json!({"jsonrpc": "2.0", "id": id, "method": "resources/read", "params": params})
    };
    client.send(&json!([read(6, KEY), read(7, "note://b")]).to_string());
    let answer = client.next();
    assert_eq!(answer[0]["error"]["code"], -32600, "{answer}");
    assert_eq!((&answer[1]["id"], &answer[1]["result"]), (&json!(7), &json!({})), "{answer}");
    assert!(!place.log().contains("id_rsa"), "{}", place.log());

    let line = read(8, KEY).to_string();
    client.send(&line);
    place.answer(true);
    assert_eq!(client.next()["result"], json!({}));
    assert!(place.log().lines().any(|logged| logged == line));
}

#[test]
fn what_is_looked_at_over_http_is_held_to_the_same() {
    let _shared = shared();
    let place = ProxyFixture::new();
    let web = Web::new();
    let (_proxy, address) = proxy(&place, web.port, None);
    let mut client = Client::new(address);
    let mut ask = |method: &str, params: Value| {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let accept = [("accept", "application/json")];
        client.send("POST", "/mcp", &accept, Some(&body.to_string())).unwrap().body
    };
    assert_eq!(ask("resources/read", json!({"uri": "note://a"}))["result"], json!({}));
    assert_eq!(ask("prompts/get", json!({"name": "greet"}))["result"], json!({}));
    in_ledger(&place, ["mcp__files__resources_read", "mcp__files__prompts_get"]);
    std::thread::scope(|scope| {
        scope.spawn(|| place.answer(false));
        let denied = ask("resources/read", json!({"uri": KEY.replace("file", "FILE")}));
        let why = denied["error"]["message"].as_str().unwrap_or_default();
        assert!(why.contains("as planned"), "{denied}");
    });
    let batch = json!([{"jsonrpc": "2.0", "id": 1, "method": "resources/read",
                        "params": {"uri": KEY}}]);
    let accept = [("accept", "application/json")];
    let mut client = Client::new(address);
    let reply = client.send("POST", "/mcp", &accept, Some(&batch.to_string())).unwrap();
    assert_eq!(reply.body[0]["error"]["code"], -32600, "{}", reply.body);
    assert!(!web.log().iter().any(|body| body.contains("id_rsa")), "{:?}", web.log());
}
