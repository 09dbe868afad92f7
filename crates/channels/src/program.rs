//! Runs a program with an argument list, never through a shell. After a time limit the program and
//! its children are killed.

use std::ffi::OsString;
use std::io;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::Command;

use crate::ChannelError;

/// The environment variables that a program gets: enough to find a desktop, no secret.
const KEPT: [&str; 9] = [
    "PATH",
    "HOME",
    "USER",
    "LANG",
    "LC_ALL",
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "XDG_RUNTIME_DIR",
    "DBUS_SESSION_BUS_ADDRESS",
];
/// The most output that is read, in bytes.
const MOST_OUTPUT: u64 = 1024;
/// How long output is read after the program has ended.
const LAST_WORDS: Duration = Duration::from_millis(100);

/// The process group of the program and its children; killed when this is dropped.
struct Group(Option<Pid>);

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(pid) = self.0.take() {
            // The group may have ended by itself.
            let _ = kill_process_group(pid, Signal::KILL);
        }
    }
}

/// Runs a program with a text on its standard input; returns its output if it succeeded.
pub async fn run(
    program: &str,
    arguments: &[String],
    input: &str,
    time: Duration,
) -> Result<String, ChannelError> {
    let kept: Vec<(&str, OsString)> =
        KEPT.iter().filter_map(|name| Some((*name, std::env::var_os(name)?))).collect();
    let spawned = Command::new(program)
        .args(arguments)
        .env_clear()
        .envs(kept)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .process_group(0)
        .kill_on_drop(true)
        .spawn();
    let mut child = spawned.map_err(|error| not_started(&error))?;
    let id = child.id().and_then(|id| i32::try_from(id).ok());
    let mut group = Group(id.and_then(Pid::from_raw));
    let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
    let mut said = Vec::new();
    let status = {
        let ending = async {
            if let Some(mut stdin) = stdin {
                // A program that does not read its input may still do its work.
                let _ = stdin.write_all(input.as_bytes()).await;
            }
            child.wait().await
        };
        let listening = async {
            if let Some(stdout) = stdout {
                let _ = stdout.take(MOST_OUTPUT).read_to_end(&mut said).await;
            }
        };
        let both = async {
            tokio::pin!(ending, listening);
            let mut heard = false;
            let status = loop {
                tokio::select! {
                    status = &mut ending => break status,
                    () = &mut listening, if !heard => heard = true,
                }
            };
            if !heard {
                // A child of the program may keep the output open for ever.
                let _ = tokio::time::timeout(LAST_WORDS, listening).await;
            }
            status
        };
        tokio::time::timeout(time, both).await
    };
    let status = status
        .map_err(|_| {
            ChannelError::again("the program did not finish within timeout_seconds and was killed")
        })?
        .map_err(|_| ChannelError::again("the exit status of the program could not be read"))?;
    group.0 = None;
    match status.code() {
        Some(0) => Ok(String::from_utf8_lossy(&said).into_owned()),
        Some(code) => {
            Err(ChannelError::again(format!("the program failed with exit status {code}")))
        }
        None => Err(ChannelError::again("the program was killed by a signal")),
    }
}

fn not_started(error: &io::Error) -> ChannelError {
    match error.kind() {
        io::ErrorKind::NotFound => {
            ChannelError::permanent("the program is not installed, or its path is wrong")
        }
        io::ErrorKind::PermissionDenied => {
            ChannelError::permanent("the program is not executable: check its permissions")
        }
        kind => ChannelError::again(format!("the program could not be started: {kind}")),
    }
}
