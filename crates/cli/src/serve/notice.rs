//! What is printed when the daemon starts: addresses, protection level, and the passphrase once.

use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::path::PathBuf;

use countersign_client::split_authority;
use countersign_daemon::Notice;
use countersign_daemon::config::DaemonConfig;
use countersign_risk::verdict::Mode;

use crate::failure::Failure;
use crate::terminal::Paint;

/// What to do while there is no person.
pub const FIRST_PERSON: &str =
    "stop the daemon and run `countersign service first-passphrase` in a terminal";

/// The parts of the configuration that are printed.
pub struct Facts {
    mode: Mode,
    store: PathBuf,
    socket_for_others: bool,
    away: bool,
    /// The name under which other machines reach the APIs.
    host: Option<String>,
}

impl Facts {
    /// Of a configuration.
    pub fn of(config: &DaemonConfig) -> Facts {
        Facts {
            mode: config.rules.mode,
            store: config.store.clone(),
            socket_for_others: config.socket.as_ref().is_some_and(|s| s.mode & 0o077 != 0),
            away: !config.agents.ip().is_loopback(),
            host: config.hosts.first().cloned(),
        }
    }

    /// An address as people write it: one that stands for all addresses is replaced by the name.
    fn reached_at(&self, address: SocketAddr) -> String {
        match &self.host {
            Some(host) if address.ip().is_unspecified() => {
                format!("{}:{}", split_authority(host).0, address.port())
            }
            _ => address.to_string(),
        }
    }

    fn mode(&self) -> (&'static str, &'static str) {
        match self.mode {
            Mode::Observe => ("observe", "nothing is blocked, everything is recorded"),
            Mode::CrisisOnly => ("crisis_only", "only the crisis rules apply"),
            Mode::Enforce => ("enforce", "risky calls need approval"),
        }
    }

    /// What is known here; `countersign doctor`, run as the agent's user, knows more.
    fn protection(&self, uid: u32) -> (&'static str, String) {
        if self.away {
            let words = "separate host, if executors check permits";
            ("R2", words.to_owned())
        } else if self.socket_for_others {
            let words = format!("separate user, for agents that do not run as user {uid}");
            ("R1", words)
        } else {
            let words =
                format!("same user: agents that run as user {uid} could stop or bypass the gate");
            ("R0", words)
        }
    }
}

/// Prints it on standard output.
pub fn tell(notice: &Notice, facts: &Facts, nobody: bool, json: bool) -> Result<(), Failure> {
    let uid = rustix::process::getuid().as_raw();
    let (level, words) = facts.protection(uid);
    let (mode, meaning) = facts.mode();
    let passphrase = notice.passphrase.as_ref().map(|secret| secret.as_str());
    let stdout = io::stdout();
    let paint = Paint::of(&stdout);
    let mut out = stdout.lock();
    if json {
        let line = serde_json::json!({
            "agents": notice.agents.to_string(),
            "people": notice.people.to_string(),
            "socket": notice.socket,
            "tls": notice.pin,
            "store": facts.store,
            "mode": mode,
            "protection": level,
            "passphrase": passphrase,
        });
        writeln!(out, "{line}")?;
        return Ok(out.flush()?);
    }
    writeln!(out, "{}", paint.strong("Countersign is running."))?;
    let mut fact = |name: &str, text: String| {
        writeln!(out, "  {}  {text}", paint.faint(format!("{name:<10}")))
    };
    let scheme = if notice.pin.is_some() { "https" } else { "http" };
    fact("inbox", format!("{scheme}://{}/", facts.reached_at(notice.people)))?;
    fact("agents", format!("{scheme}://{}", facts.reached_at(notice.agents)))?;
    if let Some(pin) = &notice.pin {
        fact("tls", format!("clients pin {pin}"))?;
    }
    if let Some(socket) = &notice.socket {
        fact("socket", socket.display().to_string())?;
    }
    fact("mode", format!("{mode}: {meaning}"))?;
    fact("protection", format!("{level}, {words} (countersign doctor)"))?;
    fact("store", facts.store.display().to_string())?;
    if let Some(passphrase) = passphrase {
        writeln!(out)?;
        writeln!(out, "The passphrase of `owner`, shown only once and not stored:")?;
        writeln!(out, "\n    {}\n", paint.strong(passphrase))?;
        writeln!(out, "Keep it where no agent can read it. It can decide every request.")?;
    }
    if nobody {
        writeln!(out)?;
        writeln!(out, "No person can approve calls. `owner` was not created, because this output")?;
        writeln!(out, "is not a terminal: {FIRST_PERSON}.")?;
    }
    Ok(out.flush()?)
}
