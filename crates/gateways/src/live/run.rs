//! One run of a real agent in its scratch home.

use std::fs::{self, File};
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::process::{end_group, find_program};
use crate::agents::live_test::{LiveTest, ScratchHome};
use crate::agents::{AGENTS, AgentDescriptor};

/// How often the process is checked.
const CHECK_INTERVAL: Duration = Duration::from_millis(50);

/// A proxy where nothing listens: requests that are not for the model fail at once.
const NO_PROXY_SERVER: &str = "http://127.0.0.1:9";

/// An agent that can be started without a network.
#[derive(Debug, Clone, Copy)]
pub struct LiveAgent {
    /// The agent.
    pub agent: &'static AgentDescriptor,
    /// How it is started.
    pub test: &'static LiveTest,
}

/// The result of a run.
#[derive(Debug, Clone)]
pub struct AgentRun {
    /// Whether it exited by itself, in time.
    pub ended: bool,
    /// How long it took.
    pub took: Duration,
    /// Its output.
    pub output: String,
}

/// Every agent that can be started without a network.
pub fn live_agents() -> impl Iterator<Item = LiveAgent> {
    AGENTS.into_iter().filter_map(|agent| agent.live.as_ref().map(|test| LiveAgent { agent, test }))
}

impl LiveAgent {
    /// Its program on a `PATH`.
    pub fn program(&self, path: &str) -> Option<PathBuf> {
        self.agent.programs.iter().find_map(|name| find_program(name, path))
    }

    /// Starts the program in its scratch home and waits until it exits, or until `wait` returns
    /// false for the time since the start. Its child processes end with it.
    pub fn run(
        &self,
        program: &Path,
        scratch: &ScratchHome,
        path: &str,
        wait: impl Fn(Duration) -> bool,
    ) -> io::Result<AgentRun> {
        let output = scratch.folder.join("output");
        let out = File::create(&output)?;
        let launch = (self.test.launch)(scratch);
        let started = Instant::now();
        let mut child = Command::new(program)
            .args(launch.arguments)
            .args(&scratch.arguments)
            .env_clear()
            .envs([("PATH", path), ("LANG", "C.UTF-8"), ("TERM", "dumb"), ("NO_COLOR", "1")])
            .envs([("HTTP_PROXY", NO_PROXY_SERVER), ("HTTPS_PROXY", NO_PROXY_SERVER)])
            .envs([("NO_PROXY", "127.0.0.1,localhost"), ("CI", "1")])
            .env("HOME", scratch.home())
            .envs(launch.variables)
            .envs(scratch.variables.iter().cloned())
            .current_dir(scratch.project())
            .stdin(Stdio::null())
            .stdout(out.try_clone()?)
            .stderr(out)
            .process_group(0)
            .spawn()?;
        let mut ended = false;
        while !ended && wait(started.elapsed()) {
            thread::sleep(CHECK_INTERVAL);
            ended = child.try_wait()?.is_some();
        }
        let took = started.elapsed();
        // Processes that it left running must not outlive the test.
        end_group(child.id());
        child.wait()?;
        let output = String::from_utf8_lossy(&fs::read(output)?).into_owned();
        Ok(AgentRun { ended, took, output })
    }
}
