//! Tests the gates of agents: a forbidden call through every installed hook or plugin.

use std::env;
use std::io::{self, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use countersign_client::Endpoint;
use countersign_daemon::config::paths::EnvironmentVariables as _;
use countersign_daemon::proof::GateState;
use countersign_gateways::agents::{self, AGENTS, AgentDescriptor};
use countersign_gateways::install::record::InstallRecord;
use countersign_gateways::install::{HookCommand, InstallScope, MAX_PATIENCE};
use countersign_gateways::live::broken_hooks::{HookCondition, LiveTestBench};
use countersign_gateways::live::probe::{self, ProbeResult};
use countersign_gateways::live::run::{LiveAgent, live_agents};
use countersign_gateways::status::{self, AgentStatus, Protection};

use super::check::Check;
use crate::gate::reach::{self, ProcessEnvironment};
use crate::hook_program::hook_program;

/// A hook that takes longer for a call without a question does not work.
const PATIENCE: Duration = Duration::from_secs(15);

/// Sends the forbidden call through the command in each agent's files.
pub fn test(checks: &mut Vec<Check>) {
    let scope = InstallScope::new(None, |name| ProcessEnvironment.get(name));
    let program = scope.as_ref().ok().and_then(|scope| hook_program(scope).ok());
    let record = InstallRecord::read(&reach::gateways_folder()).ok();
    let (Some(program), Ok(scope), Some(record)) = (program, scope, record) else {
        let say = "No agent's gate was tested, because the agents' files could not be read.";
        checks.push(Check::bad(say, "countersign status"));
        return;
    };
    let daemon_key = Some(reach::installed_key());
    let current = HookCommand { program, patience: MAX_PATIENCE, daemon_key };
    let mut gates: Vec<AgentGate> =
        AGENTS.iter().map(|agent| AgentGate::new(agent, &scope, &current, &record)).collect();
    for entry in record.entries() {
        let Some((name, project)) = entry.agent.split_once(" in ") else { continue };
        let known = gates.iter().any(|gate| gate.key == entry.agent);
        let scope =
            InstallScope::new(Some(Path::new(project)), |name| ProcessEnvironment.get(name));
        // A project that was removed has no agent.
        if let (false, Some(agent), Ok(scope)) = (known, agents::named(name), scope) {
            gates.push(AgentGate::new(agent, &scope, &current, &record));
        }
    }
    // In parallel, because without a daemon each test takes a moment.
    let results: Vec<_> = thread::scope(|scope| {
        let running: Vec<_> = gates.iter().map(|gate| scope.spawn(|| gate.test())).collect();
        let lost = || Check::bad("The test of an agent's gate crashed.", "countersign doctor");
        running.into_iter().map(|test| test.join().unwrap_or_else(|_| Some(lost()))).collect()
    });
    checks.extend(results.into_iter().flatten());
}

/// The gate of one agent, for this user or in one project.
struct AgentGate {
    agent: &'static AgentDescriptor,
    key: String,
    name: String,
    install: String,
    status: AgentStatus,
    written: HookCommand,
}

impl AgentGate {
    fn new(
        agent: &'static AgentDescriptor,
        scope: &InstallScope,
        current: &HookCommand,
        record: &InstallRecord,
    ) -> AgentGate {
        let status = status::inspect(agent, scope, current, record);
        let key = scope.key(agent.name);
        let paths = status.files.iter().map(PathBuf::as_path);
        let written = record.command(&key, paths).unwrap_or_else(|| current.clone());
        let install = match scope.project() {
            None => format!("countersign install {}", agent.name),
            Some(folder) => {
                format!("countersign install {} --project {}", agent.name, folder.display())
            }
        };
        AgentGate { agent, name: scope.key(agent.title), key, install, status, written }
    }

    fn test(&self) -> Option<Check> {
        let AgentGate { agent, name, install, status, .. } = self;
        match status.state {
            Protection::Absent => return None,
            Protection::NoGate => {
                let say = format!("{name}: not protected: no gate is installed.");
                return Some(Check::note(say, install).about(name, GateState::NoGate));
            }
            Protection::Unprotected => {
                let say = format!("{name}: NOT PROTECTED: {}.", status.why.join("; "));
                return Some(Check::bad(say, install).about(name, GateState::Unprotected));
            }
            Protection::Protected => {}
        }
        let mut command = probe::command(agent, &self.written);
        let result = probe::probe(agent, &mut command, PATIENCE);
        Some(Check::of_gate(name, result, install))
    }
}

/// Starts each installed agent against a stand-in model, its gate intact and broken.
pub fn live(agent_api: &Endpoint, checks: &mut Vec<Check>) {
    let path = ProcessEnvironment.get("PATH").unwrap_or_default();
    let Ok(countersign) = env::current_exe() else {
        let say = "No agent was started: the file of this program was removed.";
        checks.push(Check::bad(say, "start countersign again"));
        return;
    };
    let agent_api = Some(agent_api.address());
    let bench = LiveTestBench { countersign: &countersign, path: &path, agent_api };
    for live in live_agents() {
        checks.push(started(live, &bench));
    }
    let others = AGENTS.iter().filter(|agent| agent.live.is_none());
    let titles: Vec<&str> = others.map(|agent| agent.title).collect();
    if !titles.is_empty() {
        checks.push(Check::note(
            format!("Not tested live: {}. There is no live test for it.", titles.join(", ")),
            "let it call the tool countersign_proof_of_gate: the call must be refused",
        ));
    }
}

fn started(live: LiveAgent, bench: &LiveTestBench<'_>) -> Check {
    let title = live.agent.title;
    let Some(program) = live.program(bench.path) else {
        let names = live.agent.programs.join("` or `");
        let say = format!("{title}: not tested live: `{names}` is not on the PATH.");
        return Check::note(say, "nothing to do if you do not use it");
    };
    let mut blocked = Vec::new();
    for hook in HookCondition::ALL {
        let words = hook.words();
        if io::stderr().is_terminal() {
            // One agent takes a minute or more.
            let _ = writeln!(io::stderr(), "Starting {title} with {words} …");
        }
        match bench.test(live, &program, hook) {
            Ok(ProbeResult::Protected(_)) => blocked.push(words),
            Ok(ProbeResult::Unprotected(why)) => {
                let say = format!("{title}, started: NOT PROTECTED: {why}.");
                return Check::bad(say, "see docs/agents for the limits of this agent");
            }
            Ok(ProbeResult::Untested(why)) => {
                let say = format!("{title}, started: not tested with {words}: {why}");
                return Check::bad(say, "update it or report a bug: this version may be too new");
            }
            Err(error) => {
                let say = format!("{title}, started: not tested with {words}: {error}.");
                return Check::bad(say, "countersign status");
            }
        }
    }
    let blocked = blocked.join(", ");
    Check::ok(format!("{title}, started: protected. The call did not run with {blocked}."))
}
