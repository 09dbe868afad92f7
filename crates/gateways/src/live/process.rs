//! Starting programs for tests: found on a `PATH`, ended with all their children.

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};

/// The longest output that is read.
const MAX_OUTPUT: u64 = 1 << 20;

/// The exit code and the output of a program.
#[derive(Debug)]
pub struct ProgramOutput {
    /// Its exit code; none if it was killed.
    pub code: Option<i32>,
    /// Its standard output.
    pub out: String,
    /// Its standard error.
    pub err: String,
}

/// The first program with this name in the folders of a `PATH`.
pub fn find_program(program: &str, path: &str) -> Option<PathBuf> {
    let runs = |file: &PathBuf| {
        fs::metadata(file)
            .is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    };
    let folders = path.split(':').filter(|folder| !folder.is_empty());
    folders.map(|folder| Path::new(folder).join(program)).find(runs)
}

/// Runs a program with this input; `None` if it takes too long.
pub fn run_with_input(
    command: &mut Command,
    text: String,
    patience: Duration,
) -> io::Result<Option<ProgramOutput>> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let mut child = command.spawn()?;
    let id = child.id();
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let (sender, output) = channel();
    thread::spawn(move || {
        // A hook that does not read its input shows that by its answer.
        let _ = stdin.map(|mut pipe| pipe.write_all(text.as_bytes()));
        let errors = thread::spawn(move || read(stderr));
        let out = read(stdout);
        let err = errors.join().unwrap_or_default();
        let code = child.wait().ok().and_then(|status| status.code());
        let _ = sender.send(ProgramOutput { code, out, err });
    });
    match output.recv_timeout(patience) {
        Ok(output) => Ok(Some(output)),
        Err(RecvTimeoutError::Disconnected) => Err(io::Error::other("its output was lost")),
        Err(RecvTimeoutError::Timeout) => {
            end_group(id);
            Ok(None)
        }
    }
}

fn read(pipe: Option<impl io::Read>) -> String {
    let mut bytes = Vec::new();
    if let Some(pipe) = pipe {
        let _ = pipe.take(MAX_OUTPUT).read_to_end(&mut bytes);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Kills a process and every process of its group.
pub fn end_group(leader: u32) {
    if let Some(group) = i32::try_from(leader).ok().and_then(Pid::from_raw) {
        let _ = kill_process_group(group, Signal::KILL);
    }
}

/// The start of a text, short enough for one or two lines.
pub fn shorten(text: &str) -> String {
    const MAX_LENGTH: usize = 120;
    let mut letters = text.trim().chars();
    let start: String = letters.by_ref().take(MAX_LENGTH).collect();
    if letters.next().is_some() { format!("{start}…") } else { start }
}
