//! A daemon in a temporary folder, which tests start, kill and restart.

use std::ffi::OsString;
use std::fs;
use std::io::{self, BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::http::Client;

/// Settings without rate limits, for proofs that do not test them.
pub const UNLIMITED: &str = "[flood]\nopen_per_agent = 10000000\nasks_per_minute = 10000000\n\
                              asks_per_hour = 10000000\ndenials = 10000000\n";

const LISTEN: &str = "[listen]\nagents = \"127.0.0.1:0\"\npeople = \"127.0.0.1:0\"\n";

/// The daemon's program: `gate`, or the one that `COUNTERSIGN_GATE` names, such as `countersign`.
pub fn binary() -> io::Result<PathBuf> {
    if let Some(named) = std::env::var_os("COUNTERSIGN_GATE") {
        return Ok(named.into());
    }
    // Tests are in target/…/deps, programs in its parent folder.
    let here = std::env::current_exe()?;
    let folders = here.ancestors().skip(1).take(2);
    let mut found = folders.map(|folder| folder.join("gate")).filter(|path| path.is_file());
    found.next().ok_or_else(|| failed("no `gate`: cargo build -p proofs --bin gate"))
}

fn failed(what: impl Into<String>) -> io::Error {
    io::Error::other(what.into())
}

/// A folder with a configuration and the state of a daemon.
#[derive(Debug)]
pub struct TestInstallation {
    folder: PathBuf,
    program: Option<PathBuf>,
    wrapper: Vec<OsString>,
    environment: Vec<(OsString, OsString)>,
}

/// A running daemon. Dropping it kills it.
#[derive(Debug)]
pub struct RunningDaemon {
    child: Child,
    /// The address of the agent API.
    pub agents: SocketAddr,
    /// The address of the people API.
    pub people: SocketAddr,
    /// The owner's passphrase, at the first start.
    pub passphrase: Option<String>,
}

impl TestInstallation {
    /// In this folder, with further settings.
    pub fn new(folder: &Path, settings: &str) -> io::Result<TestInstallation> {
        fs::create_dir_all(folder)?;
        let socket = folder.join("run/agents.sock");
        let endpoints = format!("{LISTEN}socket = {:?}\n", socket.display().to_string());
        // Tests of the agents on this machine are off.
        let text = format!("{endpoints}{settings}\n[doctor]\nevery_hours = 0\n");
        fs::write(folder.join("countersign.toml"), text)?;
        Ok(TestInstallation {
            folder: folder.to_owned(),
            program: None,
            wrapper: Vec::new(),
            environment: Vec::new(),
        })
    }

    /// Started through another program, such as strace.
    #[must_use]
    pub fn wrapped(mut self, words: &[&str]) -> TestInstallation {
        self.wrapper = words.iter().map(OsString::from).collect();
        self
    }

    /// Started from a copy of the daemon's program.
    #[must_use]
    pub fn program(mut self, path: &Path) -> TestInstallation {
        self.program = Some(path.to_owned());
        self
    }

    /// With a variable in its environment.
    #[must_use]
    pub fn variable(mut self, name: &str, value: &str) -> TestInstallation {
        self.environment.push((name.into(), value.into()));
        self
    }

    /// The database.
    pub fn store(&self) -> PathBuf {
        self.folder.join("state/countersign.db")
    }

    /// The arguments of the program: `countersign` needs more than `gate`.
    fn arguments(&self, program: &Path) -> Vec<OsString> {
        let whole = program.file_name().is_some_and(|name| name == "countersign");
        if !whole {
            return vec![self.folder.clone().into_os_string()];
        }
        let words = ["serve", "--json", "--print-passphrase", "--config"];
        let mut words: Vec<OsString> = words.map(Into::into).to_vec();
        words.push(self.folder.join("countersign.toml").into_os_string());
        words.extend(["--state".into(), self.folder.join("state").into_os_string()]);
        words
    }

    /// Starts the daemon and waits until it listens.
    pub fn start(&self) -> io::Result<RunningDaemon> {
        let program = self.program.clone().map_or_else(binary, Ok)?;
        let arguments = self.arguments(&program);
        let mut words = self.wrapper.iter().cloned().chain([program.into_os_string()]);
        let first = words.next().ok_or_else(|| failed("no program"))?;
        let mut command = Command::new(first);
        command.args(words).args(arguments).stdin(Stdio::null()).stdout(Stdio::piped());
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        let mut child = command.spawn()?;
        let out = child.stdout.take().ok_or_else(|| failed("no output"))?;
        let mut line = String::new();
        BufReader::new(out).read_line(&mut line)?;
        let told: Value = serde_json::from_str(&line).map_err(|_| {
            let _ = child.kill();
            failed(format!("the daemon did not start: {line}"))
        })?;
        let text = |name: &str| told.get(name).and_then(Value::as_str);
        let endpoint = |name: &str| text(name).and_then(|text| text.parse().ok());
        let endpoints = endpoint("agents").zip(endpoint("people"));
        let (agents, people) = endpoints.ok_or_else(|| failed(format!("no endpoints: {line}")))?;
        let passphrase = text("passphrase").map(ToOwned::to_owned);
        Ok(RunningDaemon { child, agents, people, passphrase })
    }
}

impl RunningDaemon {
    /// The id of its process, or of the wrapper's.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Signs the owner in; returns the token.
    pub fn owner(&self) -> io::Result<String> {
        let passphrase = self.passphrase.as_deref().ok_or_else(|| failed("no passphrase"))?;
        let said = json!({ "name": "owner", "passphrase": passphrase, "channel": "terminal" });
        self.made(None, "/v1/login", &said)
    }

    /// Adds an agent as an administrator; returns its token.
    pub fn agent(&self, owner: &str, name: &str) -> io::Result<String> {
        self.made(Some(owner), "/v1/agents", &json!({ "name": name }))
    }

    fn made(&self, token: Option<&str>, path: &str, said: &Value) -> io::Result<String> {
        let mut client = Client::new(self.people);
        if let Some(token) = token {
            client = Client::with(self.people, token);
            if let Some(passphrase) = &self.passphrase {
                client = client.confirmed(passphrase);
            }
        }
        let reply = client.post(path, said)?;
        match reply.text("token") {
            "" => Err(failed(format!("{path}: {} {}", reply.status, reply.body))),
            token => Ok(token.to_owned()),
        }
    }

    /// Kills it (SIGKILL).
    pub fn kill(mut self) -> io::Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    /// Stops it (SIGTERM) and waits. Returns whether it exited with success.
    pub fn stop(mut self) -> io::Result<bool> {
        let id = self.child.id().to_string();
        Command::new("kill").args(["-TERM", &id]).status()?;
        let until = Instant::now() + Duration::from_mins(2);
        while Instant::now() < until {
            if let Some(status) = self.child.try_wait()? {
                return Ok(status.success());
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Err(failed("the daemon does not stop"))
    }

    /// Whether it is running.
    pub fn is_alive(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Its memory, in KiB.
    pub fn memory(&self) -> io::Result<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let figure = line.and_then(|line| line.split_whitespace().next());
        figure.and_then(|figure| figure.parse().ok()).ok_or_else(|| failed("no VmRSS"))
    }
}

impl Drop for RunningDaemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
