//! The doors of MCP servers: the forbidden call through each proxy that stands in a client's file.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

use countersign_daemon::config::paths::EnvironmentVariables as _;
use countersign_daemon::proof::GateState;
use countersign_gateways::install::record::{Entry as Written, Record};
use countersign_gateways::install::{Misread, Place};
use countersign_gateways::live::find;
use countersign_gateways::live::knock::Found;
use countersign_gateways::live::knock_mcp::{self, AtUrl};
use countersign_gateways::mcp::install::CLIENTS;
use countersign_gateways::mcp::install::listed::{Listed, Reached, listed_in};

use super::Check;
use crate::gate::reach::{self, ProcessEnvironment};

/// A proxy that takes longer for a call that nobody is asked about is no gate.
const PATIENCE: Duration = Duration::from_secs(15);
/// How the record calls what `countersign mcp install` wrote.
const MCP: &str = "mcp ";
/// So many are tried side by side.
const AT_ONCE: usize = 4;

/// One server in one client's file.
struct Entry {
    door: String,
    install: String,
    file: PathBuf,
    server: Listed,
    /// The program that we once wrote into that file.
    wrote: Option<String>,
}

/// A file with servers: whose, what puts them behind the proxy, and what it lists.
struct Listing {
    of: String,
    install: String,
    file: PathBuf,
    servers: Result<Vec<Listed>, Misread>,
}

/// Tries every server in the clients' files of this person, and in the files that
/// `countersign mcp install` once changed: those of projects, and those that were named.
pub fn knock(checks: &mut Vec<Check>) {
    let Ok(place) = Place::new(None, |name| ProcessEnvironment.get(name)) else { return };
    // Without a record only this very program is started.
    let record = Record::look(&reach::gateways_folder()).ok();
    let written: Vec<&Written> =
        record.iter().flat_map(Record::entries).filter(|it| it.agent.starts_with(MCP)).collect();
    let mut entries = Vec::new();
    for Listing { of, install, file, servers } in listings(&place, &written) {
        let wrote = written.iter().find(|it| it.path == file).map(|it| it.program.clone());
        match servers {
            Ok(servers) => entries.extend(servers.into_iter().map(|server| Entry {
                door: format!("MCP server {} ({of})", server.name),
                install: install.clone(),
                file: file.clone(),
                server,
                wrote: wrote.clone(),
            })),
            Err(why) => checks.push(Check::note(
                format!("{}: its MCP servers were not tried: {why}.", file.display()),
                "mend the file",
            )),
        }
    }
    for some in entries.chunks(AT_ONCE) {
        checks.extend(thread::scope(|scope| {
            let tried: Vec<_> = some.iter().map(|entry| scope.spawn(|| entry.tried())).collect();
            let lost = || Check::bad("An MCP server's door was lost while tried.", "try again");
            let ended = tried.into_iter().map(|one| one.join().unwrap_or_else(|_| lost()));
            ended.collect::<Vec<_>>()
        }));
    }
}

fn listings(place: &Place, written: &[&Written]) -> Vec<Listing> {
    let mut found = Vec::new();
    for client in &CLIENTS {
        found.extend(client.listed(place).into_iter().map(|(file, servers)| Listing {
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

impl Entry {
    fn tried(&self) -> Check {
        match &self.server.reached {
            Reached::Proxy(words) => Check::tried(&self.door, self.through(words), &self.install),
            Reached::Command => self.not_gated(&self.install),
            Reached::Url(url) => self.at_url(url),
        }
    }

    fn not_gated(&self, remedy: &str) -> Check {
        let (name, file) = (&self.server.name, self.file.display());
        let say = format!("Not gated: {name} in {file}. What it is told to do is not asked about.");
        Check::note(say, remedy).at(&self.door, GateState::NotInstalled)
    }

    /// Starts the proxy as it stands in the file, with a server of ours behind it.
    fn through(&self, words: &[String]) -> Found {
        let [program, rest @ ..] = words else {
            return Found::NeverTested("no program is named".to_owned());
        };
        if let Err(why) = self.is_ours(program) {
            return Found::NeverTested(why);
        }
        let mut command = Command::new(program);
        command.args(rest).args(knock_mcp::server());
        let means = |name: &str| {
            // What says where the daemon is. Others could load foreign code into us.
            name.starts_with("COUNTERSIGN_") || name.starts_with("XDG_") || name == "HOME"
        };
        command.envs(self.server.variables.iter().filter(|(name, _)| means(name)).cloned());
        knock_mcp::knock(&mut command, PATIENCE)
    }

    /// Only this program, or the one that was installed, is started: an agent could have written
    /// another one there to have it run.
    fn is_ours(&self, program: &str) -> Result<(), String> {
        let path = ProcessEnvironment.get("PATH").unwrap_or_default();
        let found =
            if program.contains('/') { Some(PathBuf::from(program)) } else { find(program, &path) };
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
        Err(format!("{file} starts `{program}`, which is not the Countersign that runs now"))
    }

    fn at_url(&self, url: &str) -> Check {
        let remedy = "put `countersign mcp --http URL --listen 127.0.0.1:PORT` before it";
        if knock_mcp::here(url).is_none() {
            return self.not_gated(remedy);
        }
        match knock_mcp::knock_http(url, PATIENCE) {
            AtUrl::Shut(why) => Check::tried(&self.door, Found::Shut(why), remedy),
            AtUrl::SomebodyElse => self.not_gated(remedy),
            // Who listens to nobody runs nothing: not known as a door.
            AtUrl::Silent(why) => Check::note(
                format!("{}: never tested: nobody answers at {url} ({why}).", self.door),
                "start the proxy: countersign mcp --http URL --listen 127.0.0.1:PORT",
            ),
        }
    }
}
