//! Shared by the proofs: sizes, locks, a daemon with an owner and an agent, and example calls.

use std::io::Write as _;
use std::path::Path;
use std::process::Command;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use countersign_json::canonical::Digest;
use countersign_risk::word_pair::word_pair;
use proof_skip::{Cause, skip};
use proofs::http::{Client, Reply};
use proofs::installation::{RunningDaemon, TestInstallation};
use serde_json::{Value, json};

static MACHINE: RwLock<()> = RwLock::new(());

/// For a proof that measures: no other proof of this program runs at the same time.
pub fn alone() -> RwLockWriteGuard<'static, ()> {
    MACHINE.write().unwrap_or_else(PoisonError::into_inner)
}

/// For a proof that mostly waits: others run at the same time, each with its own folder and ports.
pub fn shared() -> RwLockReadGuard<'static, ()> {
    MACHINE.read().unwrap_or_else(PoisonError::into_inner)
}

/// The usual size, or the full one with `PROOF=full`; `PROOF=N` means N.
pub fn size(usual: usize, full: usize) -> usize {
    match std::env::var("PROOF").ok().as_deref() {
        Some("full") => full,
        Some(number) => number.parse().unwrap_or(usual),
        None => usual,
    }
}

/// Prints figures even if the test passes.
pub fn report_figures(text: &str) {
    let _ = writeln!(std::io::stderr(), "    proof: {text}");
}

/// A daemon with its owner and one agent.
pub struct Fixture {
    pub installation: TestInstallation,
    pub gate: RunningDaemon,
    pub owner: String,
    pub agent: String,
}

impl Fixture {
    pub fn new(installation: TestInstallation) -> Fixture {
        let gate = installation.start().unwrap();
        let owner = gate.owner().unwrap();
        let agent = gate.agent(&owner, "coder").unwrap();
        Fixture { installation, gate, owner, agent }
    }

    /// A client of the agent API.
    pub fn agent_client(&self) -> Client {
        Client::with(self.gate.agents, &self.agent)
    }

    /// The owner's client of the people API.
    pub fn owner_client(&self) -> Client {
        let client = Client::with(self.gate.people, &self.owner);
        match &self.gate.passphrase {
            Some(passphrase) => client.confirmed(passphrase),
            None => client,
        }
    }
}

/// A call that needs a decision; each number is another call.
pub fn risky(number: usize) -> Value {
    json!({
        "tool": "send_message",
        "arguments": { "to": "bo@example.org", "text": format!("The report number {number}.") },
    })
}

/// A call that passes.
pub fn harmless() -> Value {
    json!({ "tool": "terminal", "command": "git status" })
}

/// The same with a deadline.
pub fn within(mut call: Value, seconds: f64) -> Value {
    call["timeout_seconds"] = json!(seconds);
    call
}

/// Approves or denies a request.
pub fn decide(client: &mut Client, id: &str, digest: &str, yes: bool) -> std::io::Result<Reply> {
    let choice = if yes { "approve" } else { "deny" };
    // The person types the two words, which follow from the digest.
    let word = Digest::parse(digest).map(|digest| word_pair(&digest).to_string());
    let word = word.unwrap_or_default();
    let said = json!({ "choice": choice, "digest": digest, "reason": "as planned", "word": word });
    client.post(&format!("/v1/requests/{id}/decision"), &said)
}

/// A simple random number generator.
pub struct Rng(pub u64);

impl Rng {
    pub fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % end
    }

    pub fn small(&mut self, end: u16) -> u16 {
        u16::try_from(self.below(end.into())).unwrap()
    }
}

/// Chromium, installed by `./test`.
pub const BROWSER: &str = "/usr/bin/chromium";
/// Its driver, also installed by `./test`.
pub const DRIVER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../target/browser");

/// Whether a browser is installed; otherwise the running test is recorded as skipped.
pub fn has_browser(proof: &str) -> bool {
    let driver = Path::new(DRIVER).join("node_modules/playwright-core");
    let there = driver.is_dir() && Path::new(BROWSER).is_file();
    if !there {
        skip(Cause::Tool, &format!("{proof}: Chromium or playwright-core is not installed"));
    }
    there
}

/// Runs a script of this folder that drives a browser, and prints its output.
pub fn browse(proof: &str, script: &str, fixture: &Fixture, further: &[(&str, &str)]) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(script);
    let out = Command::new("node")
        .arg(script)
        .env("TOOLS", DRIVER)
        .env("BROWSER", BROWSER)
        .env("PEOPLE", format!("http://{}", fixture.gate.people))
        .env("PORT", fixture.gate.people.port().to_string())
        .env("AGENTS", format!("http://{}", fixture.gate.agents))
        .env("AGENT_TOKEN", &fixture.agent)
        .env("PASSPHRASE", fixture.gate.passphrase.as_deref().unwrap())
        .envs(further.iter().copied())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&out.stdout);
    assert!(out.status.success(), "{text}\n{}", String::from_utf8_lossy(&out.stderr));
    for line in text.lines() {
        report_figures(&format!("{proof}: {line}"));
    }
}

/// Whether a program is on the PATH.
pub fn has(program: &str) -> bool {
    std::env::var_os("PATH").is_some_and(|path| {
        std::env::split_paths(&path).any(|folder| Path::new(&folder).join(program).is_file())
    })
}

/// Runs a program to its end.
pub fn run(words: &[&str]) -> (bool, String) {
    let out = Command::new(words[0]).args(&words[1..]).output().unwrap();
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    (out.status.success(), text + &String::from_utf8_lossy(&out.stderr))
}
