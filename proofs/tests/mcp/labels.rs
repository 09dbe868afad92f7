//! Labels: a person says once what the tools of a server do.

use proof_skip::{Cause, skip};
use serde_json::{Value, json};

use crate::fixture::{ProxyFixture, modern, shared, until, words};
use crate::sdks::{here, python};

/// The only server that the daemon knows.
fn server(place: &ProxyFixture) -> Value {
    let list = place.person().get("/v1/servers").unwrap().body;
    let servers = list["servers"].as_array().unwrap();
    assert_eq!(servers.len(), 1, "{list}");
    servers[0].clone()
}

fn label(place: &ProxyFixture, tool: &str, label: &str) {
    let server = server(place);
    let path = format!("/v1/servers/{}/labels", server["id"].as_str().unwrap());
    let body = json!({
        "listing": server["listing"], "labels": [{"tool": tool, "label": label}],
    });
    let reply = place.person().post(&path, &body).unwrap();
    assert_eq!(reply.status, 200, "{}", reply.body);
}

#[test]
fn a_tool_of_the_official_sdk_runs_without_a_question_once_it_is_labelled() {
    let Some(python) = python() else {
        return skip(Cause::Tool, "the Python MCP SDK is not installed");
    };
    let _shared = shared();
    for is_modern in [false, true] {
        let place = ProxyFixture::new();
        let mut start = place.proxy_words(None);
        start.extend([python.clone(), here("sdk_server.py")]);
        let mut client = place.start(&start, &[]);
        if !is_modern {
            client.greet();
        }
        let mut call = |id: u32| {
            let mut params = json!({"name": "in_steps", "arguments": {}});
            if is_modern {
                params["_meta"] = modern();
            }
            client.ask(id, "tools/call", &params);
        };
        call(1);
        let request = place.answer(false);
        assert_eq!(request["tool"], "mcp__files__in_steps");
        let shown = server(&place);
        assert!(!shown["called"].is_null() && shown["tool_count"] == 5, "{shown}");
        label(&place, "in_steps", "reads");
        call(2);
        let denied = client.next();
        assert_eq!((&denied["id"], &denied["result"]["isError"]), (&json!(1), &json!(true)));
        let answer = client.next();
        assert_eq!((&answer["id"], words(&answer)), (&json!(2), "done"), "{answer}");
    }
}

#[test]
fn a_label_raises_a_harmless_name_and_ends_when_the_tool_changes() {
    let _shared = shared();
    let place = ProxyFixture::new();
    let tools = |said: &str| {
        let list = json!([
            {"name": "zorp", "description": said, "inputSchema": {"type": "object"}},
            {"name": "get_zorp", "description": said, "inputSchema": {"type": "object"}},
        ]);
        std::fs::write(place.path("tools.json"), list.to_string()).unwrap();
    };
    tools("Zorps.");
    let mut client = place.proxy(None, &[]);
    client.greet();
    client.call(1, "get_zorp", &json!({}));
    assert!(words(&client.next()).starts_with("ran get_zorp"));
    label(&place, "zorp", "reads");
    label(&place, "get_zorp", "sends");
    client.call(2, "zorp", &json!({"city": "Graz"}));
    assert!(words(&client.next()).starts_with("ran zorp"));
    // The arguments of a labelled tool are assessed like those of any other.
    client.call(3, "zorp", &json!({"command": "rm -rf / --no-preserve-root"}));
    place.answer(false);
    assert_eq!(client.next()["result"]["isError"], true);
    // The running proxy learns labels within seconds.
    let mut id = 4;
    until("a question about the label", || {
        client.call(id, "get_zorp", &json!({}));
        id += 1;
        let pending = place.person().get("/v1/requests?state=pending").unwrap().body;
        let asked = pending["requests"].as_array().is_some_and(|list| !list.is_empty());
        if !asked {
            let _ = client.within(std::time::Duration::from_millis(300));
        }
        asked
    });
    drop(client);

    tools("Deletes everything.");
    let mut client = place.proxy(None, &[]);
    client.greet();
    client.call(1, "zorp", &json!({"city": "Linz"}));
    until("a question about the changed tool", || {
        let pending = place.person().get("/v1/requests?state=pending").unwrap().body;
        let list = pending["requests"].as_array().cloned().unwrap_or_default();
        list.iter().any(|request| request["tool"] == "mcp__files__zorp")
    });
}
