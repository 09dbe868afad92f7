//! One call passes two gates, the agent's hook and the MCP proxy. People are asked once.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use countersign_gateways::agents::live_test::ScratchHome;
use countersign_gateways::agents::tool_call::ModelToolCall;
use countersign_gateways::live::model::StandInModel;
use countersign_gateways::live::run::{LiveAgent, live_agents};
use proofs::http::Client;
use proofs::installation::TestInstallation;
use serde_json::{Value, json};

use crate::agent_run::{PATIENCE, alone, one_of, path, program};
use crate::fixtures::{McpServer, SettingsFile, live_fixture};
use crate::gated::{answer, configure_home, waiting};
use crate::installed::{countersign, install, own};

const TOOLS: &str = r#"[{"name": "delete_file", "description": "Deletes a file.",
    "inputSchema": {"type": "object", "properties": {"path": {"type": "string"}}}}]"#;

/// Adds a server to the agent's files, and puts the proxy before it with our own command.
fn serve(live: LiveAgent, scratch: &mut ScratchHome, settings: &SettingsFile) {
    let server = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mcp/server.py");
    let (log, tools) = (scratch.home().join("log"), scratch.home().join("tools.json"));
    fs::write(&tools, TOOLS).unwrap();
    let text = |path: &Path| Value::from(path.display().to_string());
    let values = [("{server}", text(&server)), ("{log}", text(&log)), ("{tools}", text(&tools))];
    settings.add(scratch, &values);
    let done = Command::new(own(scratch))
        .args(["mcp", "install", live.agent.name, "--yes"])
        .env_clear()
        .env("PATH", path())
        .env("HOME", scratch.home())
        .current_dir(scratch.project())
        .output()
        .unwrap();
    let said = [done.stdout, done.stderr].concat();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&said));
}

/// How often the server was told to delete.
fn runs(scratch: &ScratchHome) -> usize {
    let log = fs::read_to_string(scratch.home().join("log")).unwrap_or_default();
    log.lines().filter(|line| line.contains("\"tools/call\"")).count()
}

/// The agent proposes the same call twice: a person approves the first and denies the second.
#[test]
fn a_hook_and_a_proxy_before_one_call_ask_once() {
    let _alone = alone();
    for live in live_agents().filter(|live| one_of("AGENT", live.agent.name)) {
        if let Some(server) = live_fixture(live.agent.name).mcp_server {
            ask_once(live, &server);
        }
    }
}

fn ask_once(live: LiveAgent, server: &McpServer) {
    let (Some(countersign), Some(program)) = (countersign(), program(live)) else { return };
    let folder = tempfile::tempdir().unwrap();
    let installation = TestInstallation::new(&folder.path().join("installation"), "").unwrap();
    let gate = installation.start().unwrap();
    let owner = gate.owner().unwrap();
    let mut people = Client::with(gate.people, &owner);
    let call = ModelToolCall {
        tool: server.call.tool.clone(),
        namespace: server.call.namespace.clone(),
        arguments: json!({ "path": "precious/letter" }),
    };
    let model = StandInModel::start_repeating(call, 2).unwrap();
    let mut scratch = ScratchHome::new(&folder.path().join("agent"), model.address()).unwrap();
    (live.test.prepare_home)(&scratch).unwrap();
    configure_home(&scratch, &folder.path().join("installation"));
    install(live, &scratch, &countersign);
    serve(live, &mut scratch, &server.settings);
    // What the proxy has changed in the agent's files must not have cost the hook its trust.
    install(live, &scratch, &countersign);
    let begun = Instant::now();
    let run = thread::scope(|scope| {
        let running = scope.spawn(|| live.run(&program, &scratch, &path(), |t| t < PATIENCE));
        for choice in ["approve", "deny"] {
            let Some(request) = asked(&mut people, || running.is_finished()) else { break };
            answer(&mut people, &request, choice);
        }
        running.join().unwrap().unwrap()
    });
    let log = model.log();
    let all = Client::with(gate.people, &owner).get("/v1/requests").unwrap();
    let requests = all.body["requests"].as_array().cloned().unwrap_or_default();
    let tell = || format!("{}: {run:?} {log:#?} {requests:#?}", live.agent.name);
    println!("{:9} two gates, two calls   {:?}", live.agent.name, begun.elapsed());
    assert_eq!(requests.len(), 2, "one question for each call: {}", tell());
    assert!(run.ended && log.results.len() == 2, "{}", tell());
    assert_eq!(runs(&scratch), 1, "what was approved ran, once: {}", tell());
    assert!(log.results[0].contains("ran delete_file"), "{}", tell());
    assert!(log.results[1].contains("I keep letters"), "{}", tell());
}

/// What people are asked, once somebody asks.
fn asked(people: &mut Client, over: impl Fn() -> bool) -> Option<Value> {
    while !over() {
        if let Some(request) = waiting(people) {
            return Some(request);
        }
        thread::sleep(Duration::from_millis(50));
    }
    None
}
