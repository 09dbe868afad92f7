//! The doors of MCP servers: the forbidden call through each proxy that stands in a client's file.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

use countersign_daemon::config::paths::Variables as _;
use countersign_daemon::proof::DoorState;
use countersign_gateways::install::Place;
use countersign_gateways::install::record::Record;
use countersign_gateways::live::find;
use countersign_gateways::live::knock::Found;
use countersign_gateways::live::knock_mcp::{self, AtUrl};
use countersign_gateways::mcp::install::listed::{Listed, Reached};
use countersign_gateways::mcp::install::{CLIENTS, McpClient};

use super::Check;
use crate::gate::reach::{self, Surroundings};

/// A proxy that takes longer for a call that nobody is asked about is no gate.
const PATIENCE: Duration = Duration::from_secs(15);
/// So many are tried side by side.
const AT_ONCE: usize = 4;

/// One server in one client's file.
struct Entry {
    client: &'static McpClient,
    file: PathBuf,
    server: Listed,
    /// The program that we once wrote into that file.
    wrote: Option<String>,
}

/// Tries every server that stands in a client's file for this person.
pub fn knock(checks: &mut Vec<Check>) {
    let Ok(place) = Place::new(None, |name| Surroundings.get(name)) else { return };
    // Without a record only this very program is started.
    let record = Record::look(&reach::gateways_folder()).ok();
    let mut entries = Vec::new();
    for client in &CLIENTS {
        for (file, listed) in client.listed(&place) {
            let key = place.key(&format!("mcp {}", client.title));
            let wrote = record.as_ref().and_then(|record| record.about(&key, &file));
            let wrote = wrote.map(|entry| entry.program.clone());
            match listed {
                Ok(servers) => entries.extend(servers.into_iter().map(|server| {
                    let (file, wrote) = (file.clone(), wrote.clone());
                    Entry { client, file, server, wrote }
                })),
                Err(why) => checks.push(Check::note(
                    format!("{}: its MCP servers were not tried: {why}.", file.display()),
                    "mend the file",
                )),
            }
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

impl Entry {
    fn tried(&self) -> Check {
        let door = format!("MCP server {} ({})", self.server.name, self.client.title);
        let install = format!("countersign mcp install {}", self.client.name);
        match &self.server.reached {
            Reached::Proxy(words) => Check::tried(&door, self.through(words), &install),
            Reached::Command => self.not_gated(&door, &install),
            Reached::Url(url) => self.at_url(&door, url),
        }
    }

    fn not_gated(&self, door: &str, remedy: &str) -> Check {
        let (name, file) = (&self.server.name, self.file.display());
        let say = format!("Not gated: {name} in {file}. What it is told to do is not asked about.");
        Check::note(say, remedy).at(door, DoorState::NotGated)
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
        let path = Surroundings.get("PATH").unwrap_or_default();
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

    fn at_url(&self, door: &str, url: &str) -> Check {
        let remedy = "put `countersign mcp --http URL --listen 127.0.0.1:PORT` before it";
        if knock_mcp::here(url).is_none() {
            return self.not_gated(door, remedy);
        }
        match knock_mcp::knock_http(url, PATIENCE) {
            AtUrl::Shut(why) => Check::tried(door, Found::Shut(why), remedy),
            AtUrl::SomebodyElse => self.not_gated(door, remedy),
            // Who listens to nobody runs nothing: not known as a door.
            AtUrl::Silent(why) => Check::note(
                format!("{door}: never tested: nobody answers at {url} ({why})."),
                "start the proxy: countersign mcp --http URL --listen 127.0.0.1:PORT",
            ),
        }
    }
}
