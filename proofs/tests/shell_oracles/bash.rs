//! `bash -n` as the oracle of what is shell and what is not. Nothing is ever run: `-n` only reads.

use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use proof_skip::{Cause, skip};

/// Whether bash is missing; without it the running test is recorded as skipped.
pub fn missing() -> bool {
    let there = Command::new("bash").arg("--version").output().is_ok_and(|o| o.status.success());
    if !there {
        skip(Cause::Tool, "bash is not installed");
    }
    !there
}

/// Whether bash reads a text to its end.
pub fn accepts(text: &str) -> bool {
    let mut child = Command::new("bash")
        .args(["--norc", "-O", "extglob", "-n"])
        .env_clear()
        .env("LC_ALL", "C.UTF-8")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // Bash may stop reading at the first error.
    let _ = child.stdin.take().unwrap().write_all(text.as_bytes());
    let done = child.wait_with_output().unwrap();
    // What is wrong inside `[[ … ]]` is said but leaves no status; a here-document without end is
    // only warned of.
    let said = String::from_utf8_lossy(&done.stderr);
    done.status.success() && said.lines().all(|line| line.contains("warning:"))
}

/// The same for many texts, on two threads.
pub fn accepts_all(texts: &[String]) -> Vec<bool> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut found = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(text) = texts.get(at) else { return found };
            found.push((at, accepts(text)));
        }
    };
    let mut all = thread::scope(|scope| {
        let other = scope.spawn(work);
        let mut found = work();
        found.extend(other.join().unwrap());
        found
    });
    all.sort_unstable();
    all.into_iter().map(|(_, accepted)| accepted).collect()
}
