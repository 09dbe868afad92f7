//! Tasks that an HTTP endpoint or a tool of an MCP server runs, through the gate like all others.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::time::Duration;

use countersign_a2a::OutgoingTask;
use serde_json::{Value, json};

use crate::fixture::{ECHO, Fleet, HANG, RunningNode, state};

/// A server with the tool `ask`.
const MCP: &str = r#"
import json, sys
for line in sys.stdin:
    m = json.loads(line)
    if m.get("method") == "initialize":
        print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": {}}), flush=True)
    elif m.get("method") == "tools/call":
        said = m["params"]["arguments"]["task"]
        content = [{"type": "text", "text": "tool:" + said}]
        result = {"content": content, "isError": "fail" in said}
        print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": result}), flush=True)
"#;

/// Answers one request after another: with the task's text, or with 500 if it says so.
fn endpoint() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/run", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let (mut text, mut room) = (String::new(), [0; 4096]);
            let task: Value = loop {
                let count = stream.read(&mut room).unwrap();
                text.push_str(&String::from_utf8_lossy(&room[..count]));
                let body = text.split_once("\r\n\r\n").map(|(_, body)| body);
                if let Some(Ok(task)) = body.map(serde_json::from_str) {
                    break task;
                }
                assert!(count > 0, "{text}");
            };
            let said = task["task"].as_str().unwrap();
            let (status, body) = if said.contains("fail") {
                ("500 x", "no way".to_owned())
            } else {
                ("200 OK", json!({ "text": format!("endpoint:{said}") }).to_string())
            };
            let length = body.len();
            let head = format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\n\r\n");
            stream.write_all((head + &body).as_bytes()).unwrap();
        }
    });
    url
}

/// A task that a person approved, after it has ended.
fn ended(fleet: &Fleet, node: &RunningNode, agent: &str, text: &str) -> Value {
    let peer = fleet.peer(&fleet.issue(agent), node);
    let task = OutgoingTask { text: text.to_owned(), ..OutgoingTask::default() };
    let id = peer.send(&task).unwrap()["id"].as_str().unwrap().to_owned();
    fleet.approve(text);
    peer.wait(&id, (HANG, Duration::from_millis(50)), |_, _| {}).unwrap()
}

#[test]
fn an_endpoint_and_a_tool_run_tasks_and_their_failures_are_told() {
    let fleet = Fleet::start();
    let settings = [
        (json!({ "endpoint": endpoint() }), "endpoint", "status 500: no way"),
        (
            json!({ "command": ["python3", "-c", MCP], "mcp_tool": "ask" }),
            "tool",
            "tool:please fail",
        ),
    ];
    for (settings, name, why) in settings {
        let node = fleet.node(ECHO, &settings);
        let done = ended(&fleet, &node, &format!("{name}-a"), &format!("work with {name}"));
        assert_eq!(state(&done), "TASK_STATE_COMPLETED", "{done}");
        let text = format!("{name}:work with {name}");
        assert_eq!(done["artifacts"][0]["parts"][0]["text"], text);
        let failed = ended(&fleet, &node, &format!("{name}-b"), "please fail");
        assert_eq!(state(&failed), "TASK_STATE_FAILED", "{failed}");
        let note = failed["status"]["message"]["parts"][0]["text"].as_str().unwrap();
        assert!(note.contains(why), "{note}");
        drop(node);
    }
}
