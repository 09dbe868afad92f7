//! What whoever starts the daemon is told: where, how protected, and the passphrase, once.

use std::io::{self, Write as _};
use std::path::PathBuf;

use countersign_daemon::Notice;
use countersign_daemon::config::DaemonConfig;
use countersign_risk::verdict::Mode;

use crate::failure::Failure;
use crate::terminal::Paint;

/// What the configuration says that is worth telling.
pub struct Facts {
    mode: Mode,
    store: PathBuf,
    socket_for_others: bool,
    away: bool,
}

impl Facts {
    /// Of a configuration.
    pub fn of(config: &DaemonConfig) -> Facts {
        Facts {
            mode: config.rules.mode,
            store: config.store.clone(),
            socket_for_others: config.socket.as_ref().is_some_and(|s| s.mode & 0o077 != 0),
            away: !config.agents.ip().is_loopback(),
        }
    }

    fn mode(&self) -> (&'static str, &'static str) {
        match self.mode {
            Mode::Observe => ("observe", "nothing is blocked, everything is written down"),
            Mode::CrisisOnly => ("crisis_only", "only the crisis rules hold"),
            Mode::Enforce => ("enforce", "risky calls wait for a person"),
        }
    }

    /// What can be known from here; `countersign doctor` as the agent's user knows more.
    fn protection(&self, uid: u32) -> (&'static str, String) {
        if self.away {
            let words = "own host for agents elsewhere, if whoever runs calls checks permits";
            ("R2", words.to_owned())
        } else if self.socket_for_others {
            let words = format!("own user, for agents that do not run as user {uid}");
            ("R1", words)
        } else {
            let words = format!(
                "same user: agents that run as user {uid} could stop the gate or act without asking"
            );
            ("R0", words)
        }
    }
}

/// Tells it on standard output.
pub fn tell(notice: &Notice, facts: &Facts, json: bool) -> Result<(), Failure> {
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
            "store": facts.store,
            "mode": mode,
            "protection": level,
            "passphrase": passphrase,
        });
        writeln!(out, "{line}")?;
        return Ok(out.flush()?);
    }
    writeln!(out, "{}", paint.strong("Countersign is up."))?;
    let mut fact = |name: &str, text: String| {
        writeln!(out, "  {}  {text}", paint.faint(format!("{name:<10}")))
    };
    fact("inbox", format!("http://{}/", notice.people))?;
    fact("agents", format!("http://{}", notice.agents))?;
    if let Some(socket) = &notice.socket {
        fact("socket", socket.display().to_string())?;
    }
    fact("mode", format!("{mode}: {meaning}"))?;
    fact("protection", format!("{level}, {words} (countersign doctor)"))?;
    fact("store", facts.store.display().to_string())?;
    if let Some(passphrase) = passphrase {
        writeln!(out)?;
        writeln!(out, "The passphrase of `owner`, shown this once and kept nowhere:")?;
        writeln!(out, "\n    {}\n", paint.strong(passphrase))?;
        writeln!(out, "Write it down where no agent can read it. It answers every request.")?;
    }
    Ok(out.flush()?)
}
