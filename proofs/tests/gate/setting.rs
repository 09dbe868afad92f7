//! What the proofs share: sizes, one at a time, who is there, calls that ask and calls that pass.

use std::io::Write as _;
use std::path::Path;
use std::process::Command;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use countersign_json::canonical::Digest;
use countersign_risk::word_pair::word_pair;
use proof_skip::{Cause, skip};
use proofs::house::{Gate, House};
use proofs::http::{Client, Reply};
use serde_json::{Value, json};

static MACHINE: RwLock<()> = RwLock::new(());

/// For a proof that measures: no other proof of this program runs beside it.
pub fn alone() -> RwLockWriteGuard<'static, ()> {
    MACHINE.write().unwrap_or_else(PoisonError::into_inner)
}

/// For a proof that mostly waits: others like it run beside it. Each has its own folder and ports.
pub fn shared() -> RwLockReadGuard<'static, ()> {
    MACHINE.read().unwrap_or_else(PoisonError::into_inner)
}

/// The usual size, or the whole one with `PROOF=full`; `PROOF=` and a number means that number.
pub fn size(usual: usize, full: usize) -> usize {
    match std::env::var("PROOF").ok().as_deref() {
        Some("full") => full,
        Some(number) => number.parse().unwrap_or(usual),
        None => usual,
    }
}

/// Figures are said even when the test passes.
pub fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "    proof: {text}");
}

/// A gate, its owner and one agent.
pub struct Setting {
    pub house: House,
    pub gate: Gate,
    pub owner: String,
    pub agent: String,
}

impl Setting {
    pub fn new(house: House) -> Setting {
        let gate = house.start().unwrap();
        let owner = gate.owner().unwrap();
        let agent = gate.agent(&owner, "coder").unwrap();
        Setting { house, gate, owner, agent }
    }

    /// The agent at its door.
    pub fn asks(&self) -> Client {
        Client::with(self.gate.agents, &self.agent)
    }

    /// The owner at the people's door.
    pub fn decides(&self) -> Client {
        let client = Client::with(self.gate.people, &self.owner);
        match &self.gate.passphrase {
            Some(passphrase) => client.confirmed(passphrase),
            None => client,
        }
    }
}

/// A call that a person has to be asked about; each number is another call.
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

/// Says yes or no to a request that was shown.
pub fn decide(client: &mut Client, id: &str, digest: &str, yes: bool) -> std::io::Result<Reply> {
    let choice = if yes { "approve" } else { "deny" };
    // The person types the two words, which follow from the digest.
    let word = Digest::parse(digest).map(|digest| word_pair(&digest).to_string());
    let word = word.unwrap_or_default();
    let said = json!({ "choice": choice, "digest": digest, "reason": "as planned", "word": word });
    client.post(&format!("/v1/requests/{id}/decision"), &said)
}

/// Small random numbers that need no quality.
pub struct Dice(pub u64);

impl Dice {
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
/// What drives it, installed by `./test` as well.
pub const DRIVER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../target/browser");

/// Whether there is a browser; without one the running test is recorded as skipped.
pub fn has_browser(proof: &str) -> bool {
    let driver = Path::new(DRIVER).join("node_modules/playwright-core");
    let there = driver.is_dir() && Path::new(BROWSER).is_file();
    if !there {
        skip(Cause::Tool, &format!("{proof}: Chromium or playwright-core is not installed"));
    }
    there
}

/// Runs a script of this folder that drives a browser before a gate, and says what it says.
pub fn browse(proof: &str, script: &str, setting: &Setting, further: &[(&str, &str)]) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(script);
    let out = Command::new("node")
        .arg(script)
        .env("TOOLS", DRIVER)
        .env("BROWSER", BROWSER)
        .env("PEOPLE", format!("http://{}", setting.gate.people))
        .env("PORT", setting.gate.people.port().to_string())
        .env("AGENTS", format!("http://{}", setting.gate.agents))
        .env("AGENT_TOKEN", &setting.agent)
        .env("PASSPHRASE", setting.gate.passphrase.as_deref().unwrap())
        .envs(further.iter().copied())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&out.stdout);
    assert!(out.status.success(), "{text}\n{}", String::from_utf8_lossy(&out.stderr));
    for line in text.lines() {
        say(&format!("{proof}: {line}"));
    }
}

/// Whether a program is there.
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
