//! A daemon with a judge, an owner and an agent.

use std::io::Write as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use countersign_json::canonical::Digest;
use countersign_risk::word_pair::word_pair;
use proofs::http::{Client, Reply};
use proofs::installation::{RunningDaemon, TestInstallation, UNLIMITED, binary};
use serde_json::{Value, json};

/// Prints figures even if the test passes.
pub fn report_figures(text: &str) {
    let _ = writeln!(std::io::stderr(), "    proof: {text}");
}

/// A running daemon and its credentials.
pub struct DaemonWithJudge {
    pub daemon: RunningDaemon,
    owner: String,
    agent: String,
    _folder: tempfile::TempDir,
}

/// The whole program where it is built, else the daemon alone.
fn program() -> PathBuf {
    let gate = binary().unwrap();
    let whole = gate.with_file_name("countersign");
    if whole.is_file() { whole } else { gate }
}

impl DaemonWithJudge {
    /// Starts the daemon with these sections.
    pub fn start(sections: &str) -> DaemonWithJudge {
        let folder = tempfile::tempdir().unwrap();
        let settings = format!("{UNLIMITED}{sections}");
        let installation =
            TestInstallation::new(&folder.path().join("installation"), &settings).unwrap();
        let daemon = installation.program(&program()).start().unwrap();
        let owner = daemon.owner().unwrap();
        let agent = daemon.agent(&owner, "coder").unwrap();
        DaemonWithJudge { daemon, owner, agent, _folder: folder }
    }

    /// What the agent hears about a call.
    pub fn ask(&self, call: &Value) -> Reply {
        let client = &mut Client::with(self.daemon.agents, &self.agent);
        client.post("/v1/requests", call).unwrap()
    }

    /// The agent's view of another route.
    pub fn post(&self, path: &str, body: &Value) -> Reply {
        Client::with(self.daemon.agents, &self.agent).post(path, body).unwrap()
    }

    fn person(&self) -> Client {
        let client = Client::with(self.daemon.people, &self.owner);
        client.confirmed(self.daemon.passphrase.as_deref().unwrap())
    }

    /// The owner's view of a route.
    pub fn read(&self, path: &str) -> Value {
        self.person().get(path).unwrap().body
    }

    /// The owner's decision.
    pub fn decide(&self, id: &str, digest: &str, yes: bool) -> u16 {
        let word = Digest::parse(digest).map(|digest| word_pair(&digest).to_string());
        let choice = if yes { "approve" } else { "deny" };
        let said = json!({
            "choice": choice, "digest": digest, "reason": "as planned",
            "word": word.unwrap_or_default(),
        });
        self.person().post(&format!("/v1/requests/{id}/decision"), &said).unwrap().status
    }

    /// How many entries of a kind the ledger has.
    pub fn count(&self, kind: &str) -> usize {
        let (mut from, mut found) = (0, 0);
        loop {
            let page = self.read(&format!("/v1/ledger/entries?from={from}&limit=1000"));
            let entries = page["entries"].as_array().cloned().unwrap_or_default();
            if entries.is_empty() {
                return found;
            }
            from += entries.len();
            found += entries.iter().filter(|entry| is_kind(entry, kind)).count();
        }
    }
}

/// Entries are documents, or their exact text.
fn is_kind(entry: &Value, kind: &str) -> bool {
    let text = entry.as_str().map_or_else(|| entry.to_string(), str::to_owned);
    text.contains(&format!("\"kind\":\"{kind}\""))
}

/// Waits until something holds.
pub fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_mins(1);
    while !holds() {
        assert!(Instant::now() < end, "{what}: did not happen in time");
        std::thread::sleep(Duration::from_millis(50));
    }
}
