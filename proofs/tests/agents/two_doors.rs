//! One call, two doors: the agent's hook and the proxy before its server. People are asked once.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use countersign_gateways::live::{Model, Proposal, Scratch, Subject, named};
use proofs::house::House;
use proofs::http::Client;
use serde_json::{Value, json};

use crate::bench::{PATIENCE, alone, one_of, path, program};
use crate::gated::{answer, is_at_home, waiting};
use crate::installed::{countersign, install, own};

const TOOLS: &str = r#"[{"name": "delete_file", "description": "Deletes a file.",
    "inputSchema": {"type": "object", "properties": {"path": {"type": "string"}}}}]"#;

/// The call of the server's tool, as this agent's model proposes it.
fn proposal(agent: &str) -> Proposal {
    let arguments = json!({ "path": "precious/letter" });
    match agent {
        "codex" => Proposal { tool: "delete_file", family: Some("mcp__files"), arguments },
        _ => Proposal::own("mcp__files__delete_file", arguments),
    }
}

/// Tells the agent of a server, and puts the proxy before it as people do.
fn serve(subject: &Subject, scratch: &Scratch) {
    let server = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mcp/server.py");
    let (log, tools) = (scratch.home().join("log"), scratch.home().join("tools.json"));
    fs::write(&tools, TOOLS).unwrap();
    if subject.name == "codex" {
        let config = scratch.home().join(".codex/config.toml");
        let text = fs::read_to_string(&config).unwrap();
        let server = format!(
            "\n[mcp_servers.files]\ncommand = \"python3\"\nargs = [{server:?}]\n\
             env = {{ LOG = {log:?}, TOOLS = {tools:?} }}\n"
        );
        fs::write(config, text + &server).unwrap();
    } else {
        let config = scratch.home().join(".claude.json");
        let mut all: Value = serde_json::from_slice(&fs::read(&config).unwrap()).unwrap();
        all["mcpServers"] = json!({ "files": {
            "command": "python3", "args": [server], "env": { "LOG": log, "TOOLS": tools },
        } });
        fs::write(config, all.to_string()).unwrap();
    }
    let done = Command::new(own(scratch))
        .args(["mcp", "install", subject.name, "--yes"])
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
fn runs(scratch: &Scratch) -> usize {
    let log = fs::read_to_string(scratch.home().join("log")).unwrap_or_default();
    log.lines().filter(|line| line.contains("\"tools/call\"")).count()
}

/// The agent proposes the same call twice: a person approves the first and denies the second.
#[test]
fn a_hook_and_a_proxy_before_one_call_ask_once() {
    let _alone = alone();
    for subject in ["claude", "codex"].into_iter().filter(|name| one_of("AGENT", name)) {
        ask_once(named(subject).unwrap());
    }
}

fn ask_once(subject: &Subject) {
    let (Some(countersign), Some(program)) = (countersign(), program(subject)) else { return };
    let folder = tempfile::tempdir().unwrap();
    let house = House::new(&folder.path().join("house"), "").unwrap();
    let gate = house.start().unwrap();
    let owner = gate.owner().unwrap();
    let mut people = Client::with(gate.people, &owner);
    let model = Model::insisting(proposal(subject.name), 2).unwrap();
    let mut scratch = Scratch::new(&folder.path().join("agent"), model.address()).unwrap();
    // Claude Code would start before its servers, and let its model search for their tools.
    for name in ["ENABLE_TOOL_SEARCH", "MCP_CONNECTION_NONBLOCKING"] {
        scratch.variables.push((name.to_owned(), "false".to_owned()));
    }
    (subject.furnish)(&scratch).unwrap();
    install(subject, &scratch, &countersign);
    serve(subject, &scratch);
    // What the proxy has changed in the agent's files must not have cost the hook its trust.
    install(subject, &scratch, &countersign);
    is_at_home(&scratch, &folder.path().join("house"));
    let begun = Instant::now();
    let run = thread::scope(|scope| {
        let running = scope.spawn(|| subject.run(&program, &scratch, &path(), |t| t < PATIENCE));
        for choice in ["approve", "deny"] {
            let Some(request) = asked(&mut people, || running.is_finished()) else { break };
            answer(&mut people, &request, choice);
        }
        running.join().unwrap().unwrap()
    });
    let seen = model.seen();
    let all = Client::with(gate.people, &owner).get("/v1/requests").unwrap();
    let requests = all.body["requests"].as_array().cloned().unwrap_or_default();
    let tell = || format!("{}: {run:?} {seen:#?} {requests:#?}", subject.name);
    println!("{:9} two doors, two calls   {:?}", subject.name, begun.elapsed());
    assert_eq!(requests.len(), 2, "one question for each call: {}", tell());
    assert!(run.ended && seen.told.len() == 2, "{}", tell());
    assert_eq!(runs(&scratch), 1, "what was approved ran, once: {}", tell());
    assert!(seen.told[0].contains("ran delete_file"), "{}", tell());
    assert!(seen.told[1].contains("I keep letters"), "{}", tell());
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
