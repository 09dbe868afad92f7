//! Tests the gates of MCP servers: a forbidden call through each proxy in a client's file.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

use countersign_daemon::config::paths::EnvironmentVariables as _;
use countersign_daemon::proof::GateState;
use countersign_gateways::agents;
use countersign_gateways::install::record::{InstallRecord, InstalledFile};
use countersign_gateways::install::{InstallScope, PatchError};
use countersign_gateways::live::probe::{ProbeResult, find_program};
use countersign_gateways::live::probe_mcp::{self, UrlProbeResult};
use countersign_gateways::mcp::install::listed::{ListedServer, ServerAccess, listed_in};

use super::check::Check;
use crate::gate::reach::{self, ProcessEnvironment};

/// A proxy that takes longer for a call without a question does not work.
const PATIENCE: Duration = Duration::from_secs(15);
/// The start of the keys of `countersign mcp install` in the record.
const MCP: &str = "mcp ";
/// The number of tests in parallel.
const MAX_PARALLEL: usize = 4;

/// One server in one client's file.
struct ServerGate {
    name: String,
    install: String,
    file: PathBuf,
    server: ListedServer,
    /// The program that the installer wrote into that file.
    wrote: Option<String>,
}

/// A file with servers: its owner, the command that puts them behind the proxy, the servers.
struct Listing {
    of: String,
    install: String,
    file: PathBuf,
    servers: Result<Vec<ListedServer>, PatchError>,
}

/// Tests every server in the clients' files of this user, and in the files that
/// `countersign mcp install` changed: those of projects, and those that were given by path.
pub fn test(checks: &mut Vec<Check>) {
    let Ok(scope) = InstallScope::new(None, |name| ProcessEnvironment.get(name)) else { return };
    // Without a record only this program is started.
    let record = InstallRecord::read(&reach::gateways_folder()).ok();
    let written: Vec<&InstalledFile> = record
        .iter()
        .flat_map(InstallRecord::entries)
        .filter(|it| it.agent.starts_with(MCP))
        .collect();
    let mut entries = Vec::new();
    for Listing { of, install, file, servers } in listings(&scope, &written) {
        let wrote = written.iter().find(|it| it.path == file).map(|it| it.program.clone());
        match servers {
            Ok(servers) => entries.extend(servers.into_iter().map(|server| ServerGate {
                name: format!("MCP server {} ({of})", server.name),
                install: install.clone(),
                file: file.clone(),
                server,
                wrote: wrote.clone(),
            })),
            Err(why) => checks.push(Check::note(
                format!("{}: its MCP servers were not tested: {why}.", file.display()),
                "correct the file",
            )),
        }
    }
    for some in entries.chunks(MAX_PARALLEL) {
        checks.extend(thread::scope(|scope| {
            let running: Vec<_> = some.iter().map(|gate| scope.spawn(|| gate.test())).collect();
            let lost = || Check::bad("The test of an MCP server crashed.", "countersign doctor");
            let ended = running.into_iter().map(|test| test.join().unwrap_or_else(|_| lost()));
            ended.collect::<Vec<_>>()
        }));
    }
}

fn listings(scope: &InstallScope, written: &[&InstalledFile]) -> Vec<Listing> {
    let mut found = Vec::new();
    for client in agents::mcp_clients() {
        found.extend(client.listed(scope).into_iter().map(|(file, servers)| Listing {
            of: client.title.to_owned(),
            install: format!("countersign mcp install {}", client.name),
            file,
            servers,
        }));
    }
    for entry in written {
        let is_new = found.iter().all(|known| known.file != entry.path);
        if is_new && entry.path.is_file() {
            let file = entry.path.display();
            found.push(Listing {
                of: file.to_string(),
                install: format!("countersign mcp install {file}"),
                file: entry.path.clone(),
                servers: listed_in(&entry.path),
            });
        }
    }
    found
}

impl ServerGate {
    fn test(&self) -> Check {
        match &self.server.reached {
            ServerAccess::Proxy(words) => {
                Check::of_gate(&self.name, self.through(words), &self.install)
            }
            ServerAccess::Command => self.no_gate(&self.install),
            ServerAccess::Url(url) => self.at_url(url),
        }
    }

    fn no_gate(&self, remedy: &str) -> Check {
        let (name, file) = (&self.server.name, self.file.display());
        let say =
            format!("Not protected: {name} in {file} has no proxy, so its calls run unchecked.");
        Check::note(say, remedy).about(&self.name, GateState::NoGate)
    }

    /// Starts the proxy with the arguments in the file and our own server behind it.
    fn through(&self, words: &[String]) -> ProbeResult {
        let [program, rest @ ..] = words else {
            return ProbeResult::Untested("the entry contains no program".to_owned());
        };
        if let Err(why) = self.is_ours(program) {
            return ProbeResult::Untested(why);
        }
        let mut command = Command::new(program);
        command.args(rest).args(probe_mcp::server());
        let is_passed_on = |name: &str| {
            // Only variables that say where the daemon is; others could load code into us.
            name.starts_with("COUNTERSIGN_") || name.starts_with("XDG_") || name == "HOME"
        };
        command.envs(self.server.variables.iter().filter(|(name, _)| is_passed_on(name)).cloned());
        probe_mcp::probe(&mut command, PATIENCE)
    }

    /// Only this program or the installed one is started: an agent could have written another
    /// program into the file.
    fn is_ours(&self, program: &str) -> Result<(), String> {
        let path = ProcessEnvironment.get("PATH").unwrap_or_default();
        let found = if program.contains('/') {
            Some(PathBuf::from(program))
        } else {
            find_program(program, &path)
        };
        let Some(found) = found else {
            return Err(format!("`{program}` is not on the PATH"));
        };
        let whole = |path: &Path| fs::canonicalize(path).ok();
        let this = env::current_exe().ok().and_then(|path| whole(&path));
        let is_this = this.is_some() && whole(&found) == this;
        if is_this || self.wrote.as_deref() == Some(program) {
            return Ok(());
        }
        let file = self.file.display();
        Err(format!("{file} starts `{program}`, not the Countersign that runs now"))
    }

    fn at_url(&self, url: &str) -> Check {
        let remedy = "put `countersign mcp --http URL --listen 127.0.0.1:PORT` in front of it";
        if probe_mcp::local_address(url).is_none() {
            return self.no_gate(remedy);
        }
        match probe_mcp::probe_url(url, PATIENCE) {
            UrlProbeResult::Protected(why) => {
                Check::of_gate(&self.name, ProbeResult::Protected(why), remedy)
            }
            UrlProbeResult::NotTheProxy => self.no_gate(remedy),
            // A server that is not running runs no calls, so it is not a gate.
            UrlProbeResult::NoAnswer(why) => Check::note(
                format!("{}: not tested: no server answers at {url} ({why}).", self.name),
                "start the proxy: countersign mcp --http URL --listen 127.0.0.1:PORT",
            ),
        }
    }
}
