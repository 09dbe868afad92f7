//! A git repository into which checkpoints are committed; its owner has to push it.

use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use super::error::WitnessError;

/// The file in the repository.
const FILE: &str = "checkpoint";
/// How long git may take.
const PATIENCE: Duration = Duration::from_secs(10);
const STEP: Duration = Duration::from_millis(10);

/// Writes the checkpoint and commits it. git is run with an argument list, never through a shell.
pub fn commit(folder: &Path, size: u64, note: &str) -> Result<(), WitnessError> {
    std::fs::write(folder.join(FILE), note)?;
    run(folder, &["add", "--", FILE])?;
    run(folder, &["commit", "--quiet", "-m", &format!("{size} entries"), "--", FILE])
}

fn run(folder: &Path, words: &[&str]) -> Result<(), WitnessError> {
    // No hook of the repository runs with our permissions, and git prompts for nothing.
    let ours = [
        "core.hooksPath=/dev/null",
        "user.name=countersign",
        "user.email=countersign@localhost",
        "commit.gpgSign=false",
    ];
    let mut command = Command::new("git");
    command.arg("-C").arg(folder);
    for setting in ours {
        command.args(["-c", setting]);
    }
    let mut child = command
        .args(words)
        .env("GIT_TERMINAL_PROMPT", "0")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let mut waited = Duration::ZERO;
    loop {
        if let Some(status) = child.try_wait()? {
            let failed = || WitnessError::Git(format!("ended with {status}"));
            return if status.success() { Ok(()) } else { Err(failed()) };
        }
        if waited >= PATIENCE {
            // It may have ended in between.
            let _ = child.kill();
            let _ = child.wait();
            return Err(WitnessError::Git("did not finish in time".to_owned()));
        }
        sleep(STEP);
        waited += STEP;
    }
}
