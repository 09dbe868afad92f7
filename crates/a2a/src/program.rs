//! Runs an approved task with a program that gets the task as JSON on its standard input and writes
//! its result to standard output, with limits of time and memory.

use std::io;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, Command};

use crate::artifact::{artifact, task_input};
use crate::task::DelegatedTask;

/// The most that is read of a result, and of the error output.
const MAX_OUTPUT: u64 = 1 << 20;
pub(crate) const MAX_ERROR: u64 = 16 << 10;
/// How long output is read after the program has ended.
const LAST_OUTPUT: Duration = Duration::from_secs(1);
/// The variable with the chain of requesters, for a program that delegates further.
pub const CHAIN_VARIABLE: &str = "COUNTERSIGN_A2A_CHAIN";
/// Sets the memory limit, then becomes the program: `ulimit` has no safe equivalent in Rust.
const LIMITED: &str = "ulimit -v \"$0\" || exit 126; exec \"$@\"";

/// The program that runs tasks, and its limits.
#[derive(Debug, Clone)]
pub struct TaskProgram {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// How long one task may take.
    pub time: Duration,
    /// How much memory it may use, in KiB; `None` for no limit.
    pub memory_kib: Option<u64>,
}

/// The process group of a task; killed when this is dropped.
pub(crate) struct TaskGroup(Option<Pid>);

impl Drop for TaskGroup {
    fn drop(&mut self) {
        if let Some(pid) = self.0.take() {
            // The group may have ended by itself.
            let _ = kill_process_group(pid, Signal::KILL);
        }
    }
}

impl TaskProgram {
    /// Runs a task and returns its artifact, or why it failed.
    pub async fn run(&self, task: &DelegatedTask, text: &str) -> Result<Value, String> {
        let started = self.start(task)?;
        let input = task_input(task, text).to_string();
        let ended = tokio::time::timeout(self.time, communicate(started, &input)).await;
        let (status, output, errors) = ended
            .map_err(|_| format!("it did not end within {} seconds", self.time.as_secs()))?
            .map_err(|error| format!("the program failed: {error}"))?;
        if status.success() {
            Ok(artifact(&String::from_utf8_lossy(&output)))
        } else {
            Err(failure(status, &String::from_utf8_lossy(&errors)))
        }
    }

    /// Starts the program for a task.
    pub(crate) fn start(&self, task: &DelegatedTask) -> Result<(Child, TaskGroup), String> {
        let mut command = self.command(task)?;
        let child =
            command.spawn().map_err(|error| format!("the program was not started: {error}"))?;
        let id = child.id().and_then(|id| i32::try_from(id).ok());
        let group = TaskGroup(id.and_then(Pid::from_raw));
        Ok((child, group))
    }

    fn command(&self, task: &DelegatedTask) -> Result<Command, String> {
        let (program, arguments) =
            self.command.split_first().ok_or("no program is configured for tasks")?;
        let mut command = match self.memory_kib {
            None => Command::new(program),
            Some(limit) => {
                let mut shell = Command::new("/bin/sh");
                shell.args(["-c", LIMITED, &limit.to_string()]).arg(program);
                shell
            }
        };
        command
            .args(arguments)
            .env(CHAIN_VARIABLE, task.chain.join(","))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true);
        Ok(command)
    }
}

async fn communicate(
    (mut child, group): (Child, TaskGroup),
    input: &str,
) -> io::Result<(ExitStatus, Vec<u8>, Vec<u8>)> {
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let writing = async {
        if let Some(mut stdin) = stdin {
            // A program that does not read its input may still do its work.
            let _ = stdin.write_all(input.as_bytes()).await;
        }
    };
    let ending = async {
        let status = child.wait().await;
        // Children that the program left behind end with it, and with them its output.
        drop(group);
        status
    };
    let running = async { tokio::join!(writing, ending).1 };
    let (mut output, mut errors) = (Vec::new(), Vec::new());
    let status = {
        let reading = async {
            tokio::join!(
                read_bounded(stdout, MAX_OUTPUT, &mut output),
                read_bounded(stderr, MAX_ERROR, &mut errors)
            )
        };
        tokio::pin!(running, reading);
        tokio::select! {
            status = &mut running => {
                // A child in a group of its own may keep the output open.
                let _ = tokio::time::timeout(LAST_OUTPUT, &mut reading).await;
                status
            }
            _ = &mut reading => running.await,
        }
    };
    Ok((status?, output, errors))
}

/// The start of an output; the rest is read and dropped, so that the program is not held up.
pub(crate) async fn bounded(from: Option<impl AsyncRead + Unpin>, limit: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    read_bounded(from, limit, &mut bytes).await;
    bytes
}

async fn read_bounded(from: Option<impl AsyncRead + Unpin>, limit: u64, bytes: &mut Vec<u8>) {
    if let Some(mut from) = from {
        let _ = (&mut from).take(limit).read_to_end(bytes).await;
        let _ = tokio::io::copy(&mut from, &mut tokio::io::sink()).await;
    }
}

/// The last line of an error output, shortened.
pub(crate) fn last_line(errors: &str) -> String {
    let line = errors.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default();
    line.trim().chars().take(500).collect()
}

fn failure(status: ExitStatus, errors: &str) -> String {
    let line = last_line(errors);
    let how = match status.code() {
        Some(code) => format!("the program ended with exit code {code}"),
        None => "the program was killed by a signal".to_owned(),
    };
    if line.is_empty() { how } else { format!("{how}: {line}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::test_task;

    fn program(script: &str, seconds: u64, memory_kib: Option<u64>) -> TaskProgram {
        let command = ["/bin/sh", "-c", script].map(ToOwned::to_owned).to_vec();
        TaskProgram { command, time: Duration::from_secs(seconds), memory_kib }
    }

    #[tokio::test]
    async fn results_failures_and_limits() {
        let echo = program("cat; printf ' %s' \"$COUNTERSIGN_A2A_CHAIN\"", 20, Some(1 << 20));
        let text =
            echo.run(&test_task(), "do it").await.unwrap()["text"].as_str().unwrap().to_owned();
        assert!(text.contains("\"task\":\"do it\"") && text.ends_with(" alice"), "{text}");
        let error =
            program("echo boom >&2; exit 3", 20, None).run(&test_task(), "x").await.unwrap_err();
        assert_eq!(error, "the program ended with exit code 3: boom");
        // A child that is left behind holds nothing up, also in a group of its own.
        for left in ["sleep 60 & echo done", "setsid sleep 60 & echo done"] {
            let ended = program(left, 20, None).run(&test_task(), "x").await;
            assert_eq!(ended.unwrap()["text"], "done", "{left}");
        }
        let error = program("sleep 60", 1, None).run(&test_task(), "x").await.unwrap_err();
        assert_eq!(error, "it did not end within 1 seconds");
        let hungry =
            program("x=$(head -c 300000000 /dev/zero | tr '\\0' a); echo $?", 20, Some(65_536));
        assert!(hungry.run(&test_task(), "x").await.is_err());
    }
}
