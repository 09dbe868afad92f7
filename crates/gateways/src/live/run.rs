//! One run of a real agent: started in its scratch home, watched, ended when it takes too long.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use super::{Scratch, Subject};

/// How often it is looked at.
const GLANCE: Duration = Duration::from_millis(50);

/// Nothing listens there: what is not for the model goes nowhere.
const NOWHERE: &str = "http://127.0.0.1:9";

/// What came of a run.
#[derive(Debug, Clone)]
pub struct Run {
    /// Whether it ended by itself, in time.
    pub ended: bool,
    /// How long it took.
    pub took: Duration,
    /// What it said.
    pub said: String,
}

/// Where a program is, by the folders of a `PATH`.
pub fn find(program: &str, path: &str) -> Option<PathBuf> {
    let runs = |file: &PathBuf| {
        fs::metadata(file)
            .is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    };
    let folders = path.split(':').filter(|folder| !folder.is_empty());
    folders.map(|folder| Path::new(folder).join(program)).find(runs)
}

impl Subject {
    /// Starts the program in its scratch home and waits until it ends, or for so long as `wait`
    /// says after a time; whatever it started ends with it.
    pub fn run(
        &self,
        program: &Path,
        scratch: &Scratch,
        path: &str,
        wait: impl Fn(Duration) -> bool,
    ) -> io::Result<Run> {
        let said = scratch.folder.join("said");
        let out = File::create(&said)?;
        let start = (self.start)(scratch);
        let begun = Instant::now();
        let mut child = Command::new(program)
            .args(start.words)
            .args(&scratch.words)
            .env_clear()
            .envs([("PATH", path), ("LANG", "C.UTF-8"), ("TERM", "dumb"), ("NO_COLOR", "1")])
            .envs([("HTTP_PROXY", NOWHERE), ("HTTPS_PROXY", NOWHERE)])
            .envs([("NO_PROXY", "127.0.0.1,localhost"), ("CI", "1")])
            .env("HOME", scratch.home())
            .envs(start.variables)
            .envs(scratch.variables.iter().cloned())
            .current_dir(scratch.project())
            .stdin(Stdio::null())
            .stdout(out.try_clone()?)
            .stderr(out)
            .process_group(0)
            .spawn()?;
        let mut ended = false;
        while !ended && wait(begun.elapsed()) {
            thread::sleep(GLANCE);
            ended = child.try_wait()?.is_some();
        }
        let took = begun.elapsed();
        // What it left running in its group must not outlive the proof.
        end_group(child.id());
        child.wait()?;
        let said = String::from_utf8_lossy(&fs::read(said)?).into_owned();
        Ok(Run { ended, took, said })
    }
}

/// Ends a process and all that belongs to its group.
pub fn end_group(leader: u32) {
    if let Some(group) = i32::try_from(leader).ok().and_then(Pid::from_raw) {
        let _ = kill_process_group(group, Signal::KILL);
    }
}
