//! Programs that verify what we verify: asked line by line.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

/// Where `./test` puts what the proofs of people's answers use.
pub fn tools() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../target")
}

/// Runs a program that answers each line of JSON with `true` or `false`.
pub fn verified(program: &mut Command, cases: &[Value]) -> Vec<bool> {
    spoken(program, cases).iter().map(|line| line == "true").collect()
}

/// Runs a program that answers each line of JSON with a line.
pub fn spoken(program: &mut Command, cases: &[Value]) -> Vec<String> {
    let mut child = program.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let lines = cases.iter().map(|case| format!("{case}\n")).collect::<Vec<_>>().concat();
    let mut input = child.stdin.take().unwrap();
    let writing = std::thread::spawn(move || input.write_all(lines.as_bytes()));
    let out = child.wait_with_output().unwrap();
    writing.join().unwrap().unwrap();
    assert!(out.status.success(), "the verifier failed");
    let text = String::from_utf8(out.stdout).unwrap();
    text.lines().map(str::to_owned).collect()
}
