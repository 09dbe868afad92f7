//! Runs a program with an argument list, never through a shell. After a time limit the program and
//! its children are killed.

use std::ffi::OsString;
use std::io;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, Command};
use tokio::time::error::Elapsed;

use crate::ChannelError;

/// The environment variables that a program gets: enough to find a desktop, no secret.
const ENVIRONMENT: [&str; 9] = [
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
const MAX_OUTPUT: u64 = 1024;
/// How long output is read after the program has ended.
const OUTPUT_DELAY: Duration = Duration::from_millis(100);

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
    let environment: Vec<(&str, OsString)> =
        ENVIRONMENT.iter().filter_map(|name| Some((*name, std::env::var_os(name)?))).collect();
    let spawned = Command::new(program)
        .args(arguments)
        .env_clear()
        .envs(environment)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .process_group(0)
        .kill_on_drop(true)
        .spawn();
    let mut child = spawned.map_err(|error| not_started(&error))?;
    let id = child.id().and_then(|id| i32::try_from(id).ok());
    let mut group = Group(id.and_then(Pid::from_raw));
    let (status, output) = communicate(&mut child, input, time).await;
    let status = status
        .map_err(|_| {
            ChannelError::again("the program did not finish within timeout_seconds and was killed")
        })?
        .map_err(|_| ChannelError::again("the exit status of the program could not be read"))?;
    group.0 = None;
    match status.code() {
        Some(0) => Ok(String::from_utf8_lossy(&output).into_owned()),
        Some(code) => {
            Err(ChannelError::again(format!("the program failed with exit status {code}")))
        }
        None => Err(ChannelError::again("the program was killed by a signal")),
    }
}

/// Writes the input, reads the output and waits for the end, at most this long.
async fn communicate(
    child: &mut Child,
    input: &str,
    time: Duration,
) -> (Result<io::Result<ExitStatus>, Elapsed>, Vec<u8>) {
    let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
    let mut output = Vec::new();
    let ending = async {
        if let Some(mut stdin) = stdin {
            // A program that does not read its input may still do its work.
            let _ = stdin.write_all(input.as_bytes()).await;
        }
        child.wait().await
    };
    let reading = async {
        if let Some(stdout) = stdout {
            let _ = stdout.take(MAX_OUTPUT).read_to_end(&mut output).await;
        }
    };
    let both = async {
        tokio::pin!(ending, reading);
        let mut is_read = false;
        let status = loop {
            tokio::select! {
                status = &mut ending => break status,
                () = &mut reading, if !is_read => is_read = true,
            }
        };
        if !is_read {
            // A child of the program may keep the output open for ever.
            let _ = tokio::time::timeout(OUTPUT_DELAY, reading).await;
        }
        status
    };
    let status = tokio::time::timeout(time, both).await;
    (status, output)
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
