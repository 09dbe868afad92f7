//! `countersign a2a serve`: takes tasks of other agents.

use std::io::Write as _;
use std::net::{IpAddr, SocketAddr};
use std::process::ExitCode;
use std::time::Duration;

use countersign_a2a::{
    A2aNode, CardSettings, McpTool, NodeGate, NodeServer, NodeSettings, TaskEndpoint, TaskExecutor,
    TaskProgram,
};
use countersign_daemon::config::paths::EnvironmentVariables as _;
use zeroize::Zeroizing;

use super::args_a2a::A2aServe;
use super::fleet;
use crate::failure::Failure;
use crate::gate::reach::ProcessEnvironment;
use crate::gate::{page, reach};

/// Runs `countersign a2a serve`.
pub fn serve(args: &A2aServe) -> Result<ExitCode, Failure> {
    let files = fleet::files(&args.identity)?;
    let name = files.agent().map_err(failed)?;
    let gate = NodeGate {
        agent: reach::agent(&args.asker)?.keeping_connections(),
        inbox: reach::configured_people().ok().map(|people| people.to_string()),
        deadline: args.deadline,
    };
    let settings = NodeSettings {
        name: name.clone(),
        max_depth: args.max_depth,
        policies: fleet::policies(args.peers.as_deref())?,
        concurrent: args.concurrent.max(1),
        answer_within: Duration::from_secs(args.answer_within),
        push_to_private: args.executor.push_private,
    };
    let executor = executor(args)?;
    let file = match &args.tasks {
        Some(file) => file.clone(),
        None => reach::gateways_folder().join(format!("a2a-{name}.db")),
    };
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder)
            .map_err(|error| Failure::at(&folder.display().to_string(), error))?;
    }
    let listen = address(args)?;
    let url = args.url.clone().unwrap_or_else(|| format!("https://{listen}"));
    let url = url.trim_end_matches('/').to_owned();
    let description = args.description.clone();
    let card = CardSettings { name, description, url, is_strict: args.strict_card };
    let authority = fleet::authority(&args.identity, args.asker.agents.as_deref())?;
    let log = tracing_subscriber::fmt().with_writer(std::io::stderr).with_target(false);
    // A log that is set up already stays.
    let _ = log.try_init();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let node = A2aNode::open(settings, gate, executor, &file)
            .map_err(|error| Failure::at(&file.display().to_string(), error))?;
        let policies = Some(fleet::policy_file(args.peers.as_deref()));
        let revocation_age = Duration::from_secs(args.revocation_age);
        let server = NodeServer { listen, files, authority, card, policies, revocation_age, node };
        let serving = server.serve(|address| {
            // Standard output may be closed.
            let _ = writeln!(std::io::stdout(), "A2A task server listening on https://{address}");
        });
        tokio::select! {
            served = serving => served.map_err(failed),
            _ = tokio::signal::ctrl_c() => Ok(()),
        }
    })?;
    Ok(ExitCode::SUCCESS)
}

fn failed(error: impl std::fmt::Display) -> Failure {
    Failure::Input(page::safe(&error.to_string(), 2000))
}

/// What runs tasks.
fn executor(args: &A2aServe) -> Result<TaskExecutor, Failure> {
    let time = Duration::from_secs(args.time_limit);
    if let Some(url) = &args.executor.endpoint {
        let token = args.executor.endpoint_token.as_deref().map(reach::secret_file).transpose()?;
        let token = token.map(Zeroizing::new);
        let made = TaskEndpoint::new(url, token, time, args.executor.endpoint_private);
        return made
            .map(TaskExecutor::Endpoint)
            .map_err(|why| Failure::Input(format!("--endpoint: {why}")));
    }
    let program = TaskProgram {
        command: args.command.clone(),
        time,
        memory_kib: args.memory_limit.map(|limit| limit.saturating_mul(1024)),
    };
    Ok(match &args.executor.mcp_tool {
        None => TaskExecutor::Program(program),
        Some(tool) => TaskExecutor::Mcp(McpTool {
            server: program,
            tool: tool.clone(),
            argument: args.executor.mcp_argument.clone(),
        }),
    })
}

/// The address to listen on.
fn address(args: &A2aServe) -> Result<SocketAddr, Failure> {
    let variable = |name: &str| ProcessEnvironment.get(name);
    let bad = |name: &str| Failure::Input(format!("{name} is not valid"));
    let host = match (args.host, variable("COUNTERSIGN_A2A_HOST")) {
        (Some(host), _) => host,
        (None, Some(text)) => text.parse().map_err(|_| bad("COUNTERSIGN_A2A_HOST"))?,
        (None, None) => IpAddr::from([127, 0, 0, 1]),
    };
    let port = match (args.port, variable("COUNTERSIGN_A2A_PORT")) {
        (Some(port), _) => port,
        (None, Some(text)) => text.parse().map_err(|_| bad("COUNTERSIGN_A2A_PORT"))?,
        (None, None) => 9443,
    };
    Ok(SocketAddr::new(host, port))
}
