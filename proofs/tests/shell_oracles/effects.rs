//! Bash itself as the oracle: generated commands that we let pass run in a sandbox, and none
//! of them may have an effect outside the workspace.

use std::fs;
use std::io::{BufRead, BufReader, Lines, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use countersign_risk::assess::assess;
use countersign_risk::call::Call;
use countersign_risk::context::Context;
use countersign_risk::verdict::{Policy, Verdict};
use countersign_types::tier::Tier;
use proof_skip::{Cause, skip};
use serde_json::Value;

use crate::bash;
use crate::commands::{Random, command};

const PROJECT: &str = "/home/user/project";

/// What the stand-ins for other programs must never be called with.
const DANGEROUS_WORDS: [&str; 8] =
    ["delete namespace", "DROP TABLE", "--force", "destroy", "shutdown", "mkfs", "sudo", "id_rsa"];

/// Places where not even one file may be changed by a command that passes. One ordinary file
/// elsewhere in the home folder is LOW by the rules for paths.
const PROTECTED: [&str; 8] = [
    "/etc",
    "/var",
    "/root",
    "/dev",
    "/home/user/.ssh",
    "/home/user/.aws",
    "/home/user/.bashrc",
    "/home/user/project",
];

/// A bash in namespaces of its own.
struct Sandbox {
    child: Child,
    stdin: ChildStdin,
    answers: Lines<BufReader<ChildStdout>>,
    root: std::path::PathBuf,
}

impl Sandbox {
    /// None (and a recorded skip) where this machine has no namespaces or no Python.
    fn start() -> Option<Sandbox> {
        let root = std::env::temp_dir().join(format!("countersign-oracle-{}", std::process::id()));
        fs::create_dir_all(&root).unwrap();
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/shell_oracles/sandbox.py");
        let child = Command::new("unshare")
            .args(["-U", "-r", "-m", "-n", "-p", "-f", "--kill-child", "python3", script])
            .arg(&root)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        let Ok(mut child) = child else {
            skip(Cause::Machine, "unshare is not installed");
            return None;
        };
        let stdin = child.stdin.take().unwrap();
        let mut answers = BufReader::new(child.stdout.take().unwrap()).lines();
        if answers.next().and_then(Result::ok).as_deref() != Some("ready") {
            let _ = child.kill();
            let _ = child.wait();
            skip(Cause::Machine, "this machine allows no namespaces for a sandbox");
            return None;
        }
        Some(Sandbox { child, stdin, answers, root })
    }

    fn run(&mut self, command: &str) -> Value {
        let line = serde_json::json!({ "command": command });
        writeln!(self.stdin, "{line}").unwrap();
        let answer = self.answers.next().unwrap_or_else(|| panic!("no answer to {command:?}"));
        serde_json::from_str(&answer.unwrap()).unwrap()
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_dir(&self.root);
    }
}

fn texts(answer: &Value, key: &str) -> Vec<String> {
    let list = answer[key].as_array().cloned().unwrap_or_default();
    list.iter().filter_map(|item| item.as_str().map(str::to_owned)).collect()
}

/// What a command did outside the workspace that one of this tier may not do.
fn effect(tier: Tier, answer: &Value) -> Option<String> {
    if answer["leaked"] == true {
        return Some("shows a secret".to_owned());
    }
    let dangerous = |call: &&String| DANGEROUS_WORDS.iter().any(|words| call.contains(words));
    if let Some(call) = texts(answer, "recorded").iter().find(dangerous) {
        return Some(format!("calls {call}"));
    }
    let changed = texts(answer, "changed");
    let protected = |path: &&String| PROTECTED.iter().any(|place| path.as_str().starts_with(place));
    if let Some(path) = changed.iter().find(protected) {
        return Some(format!("changes {path}"));
    }
    let gone = texts(answer, "gone");
    if gone.len() > 2 {
        return Some(format!("deletes {gone:?}"));
    }
    match changed.first() {
        Some(path) if tier == Tier::Safe => Some(format!("changes {path}")),
        _ => None,
    }
}

#[test]
fn no_command_that_passes_has_an_effect_outside_the_workspace() {
    if bash::missing() {
        return;
    }
    let Some(mut sandbox) = Sandbox::start() else { return };
    let commands = match std::env::var("PROOF").ok().as_deref() {
        Some("full") => 100_000,
        Some(number) => number.parse().unwrap_or(3_000),
        None => 3_000,
    };
    let mut random = Random(0x0dd5_eed5_1234_5671);
    let (mut ran, mut late, mut wrong) = (0usize, 0usize, Vec::new());
    for _ in 0..commands {
        let text = command(&mut random);
        let mut call = Call::shell(&text);
        call.context = Context { cwd: Some(PROJECT), project: Some(PROJECT), ..Context::default() };
        let assessed = assess(&call, &Policy::default());
        if assessed.verdict != Verdict::Allow {
            continue;
        }
        ran += 1;
        let answer = sandbox.run(&text);
        late += usize::from(answer["late"] == true);
        if let Some(effect) = effect(assessed.tier, &answer) {
            wrong.push(format!("{:?} {effect}: {text:?}", assessed.tier));
        }
    }
    println!(
        "{commands} commands, {ran} passed and ran, {late} ran too long, {} wrong",
        wrong.len()
    );
    assert!(ran * 10 > commands, "the generator makes too little that passes: {ran}");
    wrong.sort_by_key(String::len);
    wrong.truncate(80);
    assert!(wrong.is_empty(), "{wrong:#?}");
}
