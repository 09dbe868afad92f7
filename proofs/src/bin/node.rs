//! An A2A node without the command line: a JSON object with its settings as the only argument.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use countersign_a2a::{
    A2aNode, CardSettings, FleetFiles, McpTool, NodeGate, NodeServer, NodeSettings, PeerPolicies,
    PeerPolicy, TaskEndpoint, TaskExecutor, TaskProgram,
};
use countersign_client::{AgentClient, DaemonKey, Endpoint};
use serde_json::Value;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), String> {
    let text = std::env::args().nth(1).ok_or("node SETTINGS")?;
    let all: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    let word = |name: &str| all.get(name).and_then(Value::as_str).unwrap_or_default();
    let number = |name: &str| all.get(name).and_then(Value::as_u64);
    let endpoint = Endpoint::parse(word("agents")).map_err(|error| error.to_string())?;
    let key = DaemonKey::read(Path::new(word("daemon_key")));
    let agent = AgentClient::new(endpoint.clone(), Some(word("token").to_owned()));
    let agent = agent.trusting(key).keeping_connections();
    let name = word("name").to_owned();
    let settings = settings(&all, &name)?;
    let executor = executor(&all)?;
    let inbox = Some("http://inbox.example".to_owned());
    let deadline = number("deadline").and_then(|seconds| u32::try_from(seconds).ok());
    let gate = NodeGate { agent, inbox, deadline: deadline.unwrap_or(300) };
    let port = number("port").and_then(|port| u16::try_from(port).ok()).unwrap_or_default();
    let server_of = |node| NodeServer {
        listen: std::net::SocketAddr::from(([127, 0, 0, 1], port)),
        files: FleetFiles::in_folder(Path::new(word("pki")), &name),
        authority: endpoint,
        card: CardSettings {
            name: name.clone(),
            description: "A node of a proof".to_owned(),
            url: format!("https://127.0.0.1:{port}"),
            is_strict: false,
        },
        policies: all.get("policies").and_then(Value::as_str).map(PathBuf::from),
        revocation_age: Duration::from_secs(number("revocation_age").unwrap_or(60)),
        node,
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    runtime.block_on(async {
        let node = A2aNode::open(settings, gate, executor, &PathBuf::from(word("tasks")));
        let node = node.map_err(|error| error.to_string())?;
        let served = server_of(node).serve(|address| println!("{address}")).await;
        served.map_err(|error| error.to_string())
    })
}

fn executor(all: &Value) -> Result<TaskExecutor, String> {
    let time = Duration::from_mins(1);
    if let Some(url) = all.get("endpoint").and_then(Value::as_str) {
        return Ok(TaskExecutor::Endpoint(TaskEndpoint::new(url, None, time, true)?));
    }
    let words = all.get("command").and_then(Value::as_array).cloned().unwrap_or_default();
    let command = words.iter().filter_map(Value::as_str).map(ToOwned::to_owned).collect();
    let program = TaskProgram { command, time, memory_kib: None };
    Ok(match all.get("mcp_tool").and_then(Value::as_str) {
        None => TaskExecutor::Program(program),
        Some(tool) => TaskExecutor::Mcp(McpTool {
            server: program,
            tool: tool.to_owned(),
            argument: "task".to_owned(),
        }),
    })
}

fn settings(all: &Value, name: &str) -> Result<NodeSettings, String> {
    let number = |name: &str| all.get(name).and_then(Value::as_u64);
    let policies = all.get("peer").cloned().unwrap_or_else(|| serde_json::json!({}));
    let peer = serde_json::from_value(policies).map_err(|error| error.to_string())?;
    let default = PeerPolicy {
        open_tasks: Some(number("open_tasks").unwrap_or(10_000)),
        per_minute: Some(number("per_minute").unwrap_or(100_000)),
        per_day: Some(number("per_day").unwrap_or(100_000)),
        ..PeerPolicy::default()
    };
    let policies = PeerPolicies { default, peer };
    let push_to_private = all.get("push_to_private").and_then(Value::as_bool).unwrap_or(false);
    let name = name.to_owned();
    let concurrent = number("concurrent").and_then(|count| usize::try_from(count).ok());
    let concurrent = concurrent.unwrap_or(16);
    let answer_within = Duration::from_secs(number("answer_within").unwrap_or(86_400));
    Ok(NodeSettings { name, max_depth: 4, policies, concurrent, answer_within, push_to_private })
}
