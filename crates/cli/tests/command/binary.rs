//! The real binary, used like people and scripts do.

use std::io::Write;
use std::process::{Command, Output, Stdio};

/// The built binary, without the caller's colour settings.
pub fn countersign() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_countersign"));
    command.env_remove("NO_COLOR").env("TERM", "xterm-256color");
    // Without the daemon and configuration of the machine: port 1 is closed.
    for name in ["TOKEN", "AGENT_TOKEN", "CONFIG", "STATE"] {
        command.env_remove(format!("COUNTERSIGN_{name}"));
    }
    command.env("COUNTERSIGN_AGENTS", "127.0.0.1:1").env("COUNTERSIGN_PEOPLE", "127.0.0.1:1");
    command.env("HOME", "/nonexistent");
    command
}

/// Runs it with arguments.
pub fn run(args: &[&str]) -> Output {
    countersign().args(args).stdin(Stdio::null()).output().unwrap()
}

/// Runs it with arguments and standard input.
pub fn run_with(args: &[&str], input: &[u8]) -> Output {
    let mut child = countersign()
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    let writer = std::thread::spawn(move || {
        // The child may reject the input before it has read everything.
        let _ = stdin.write_all(&input);
    });
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    output
}

/// Standard output as text.
pub fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// Standard error as text.
pub fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// Asserts a rejection: exit code 2, one line on standard error, nothing on standard output.
pub fn assert_refused(output: &Output, part: &str) {
    let error = stderr(output);
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert_eq!(stdout(output), "");
    assert_eq!(error.matches('\n').count(), 1, "one line: {error:?}");
    assert!(error.starts_with("countersign: ") && error.contains(part), "{error}");
}

/// A file in the build's own folder for temporary files.
pub fn scratch(name: &str) -> std::path::PathBuf {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
    std::fs::create_dir_all(folder).unwrap();
    folder.join(name)
}
