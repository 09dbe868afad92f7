//! The small program before the large one: the same words, and never a yes that is its own.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::fixture::{HookOutput, RISKY, TestHome, bash};

const SMALL: &str = env!("CARGO_BIN_EXE_countersign-hook");
const LARGE: &str = env!("CARGO_BIN_EXE_countersign");

fn says(home: &TestHome, program: &Path, words: &[&str], input: &[u8]) -> HookOutput {
    let mut command = Command::new(program);
    command.args(words).env_clear().env("HOME", home.folder.path());
    command.env("COUNTERSIGN_STATE", home.folder.path().join("state"));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut pipe = child.stdin.take().unwrap();
    // One that refuses too long an input does not read it to its end.
    let _ = pipe.write_all(input);
    drop(pipe);
    HookOutput::of(child)
}

fn message(text: &str) -> Value {
    json!({ "hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt": text })
}

#[test]
fn both_programs_say_the_same() {
    let home = TestHome::empty();
    let after = |command: &str| {
        json!({
            "hook_event_name": "PostToolUse", "session_id": "s", "cwd": "/srv",
            "tool_name": "Bash", "tool_input": { "command": command },
            "tool_response": { "stdout": "" },
        })
    };
    let call = |command: &str| json!({ "tool": "terminal", "arguments": { "command": command } });
    let batch = |commands: &[&str]| {
        let calls: Vec<Value> = commands.iter().map(|command| call(command)).collect();
        json!({ "event": "batch", "session": "s", "calls": calls })
    };
    let claude: &[&str] = &["hook", "claude", "--patience", "3"];
    let hermes: &[&str] = &["hook", "plugin", "--agent", "hermes", "--patience", "3"];
    let mut cases: Vec<(&[&str], Vec<u8>)> = Vec::new();
    for input in [
        bash("ls", "t"),
        bash(RISKY, "t"),
        bash("", "t"),
        // Too long for the small one to assess by itself.
        bash(&format!("echo {}", "x".repeat(100_000)), "t"),
        bash(&format!("{RISKY} {}", "x".repeat(100_000)), "t"),
        after("ls"),
        after(RISKY),
        message("please sort my photos"),
        message("I want to kill myself tonight"),
        json!({ "hook_event_name": "SomethingNew" }),
        json!([]),
    ] {
        cases.push((claude, input.to_string().into_bytes()));
    }
    for input in [batch(&["ls", "pwd"]), batch(&["ls", RISKY]), batch(&[RISKY, RISKY]), batch(&[])]
    {
        cases.push((hermes, input.to_string().into_bytes()));
    }
    for broken in [&b""[..], b"{", b"\xff\xfe", b"{\"a\":1,\"a\":2}", b"null"] {
        cases.push((claude, broken.to_vec()));
    }
    let words: [&[&str]; 6] = [
        &["hook"],
        &["hook", "nobody"],
        &["hook", "--help"],
        &["hook", "claude", "--patience", "soon"],
        &["hook", "plugin"],
        &["hook", "claude", "--agent", "x"],
    ];
    cases.extend(words.map(|words| (words, bash("ls", "t").to_string().into_bytes())));
    for (words, input) in cases {
        let [small, large] =
            [SMALL, LARGE].map(|program| says(&home, Path::new(program), words, &input));
        let shown = String::from_utf8_lossy(&input);
        assert_eq!(
            (small.code, &small.out, &small.err),
            (large.code, &large.out, &large.err),
            "{words:?} {shown}"
        );
        assert_ne!(small.code, Some(1), "{words:?} {shown}");
    }
}

#[test]
fn without_the_program_that_asks_only_what_reads_passes() {
    let home = TestHome::empty();
    let alone = home.folder.path().join("countersign-hook");
    fs::copy(SMALL, &alone).unwrap();
    let words = ["hook", "claude", "--patience", "3"];
    let said = |input: &Value| says(&home, &alone, &words, input.to_string().as_bytes());
    assert_eq!(said(&bash("ls", "t")).out, "{}");
    let risky = said(&bash(RISKY, "t"));
    assert!(risky.denied().contains("`countersign` could not be started"), "{risky:?}");
    // Help does not hang on it.
    let help = said(&message("I want to kill myself tonight"));
    assert!(help.out.contains("help"), "{help:?}");
    let said = says(&home, &alone, &["hook", "--help"], b"");
    assert_eq!((said.code, said.out.as_str()), (Some(2), ""), "{said:?}");
    // No other caller can use it.
    for words in [&["assess", "ls"][..], &["--version"], &[]] {
        let said = says(&home, Path::new(SMALL), words, b"");
        assert_eq!((said.code, said.out.as_str()), (Some(2), ""), "{words:?} {said:?}");
    }
}

#[test]
fn a_pipe_in_the_place_of_the_spool_is_not_waited_for() {
    let home = TestHome::empty();
    let gateways = home.folder.path().join("countersign-gateways");
    fs::create_dir(&gateways).unwrap();
    let made = Command::new("mkfifo").arg(gateways.join("passes.jsonl")).status().unwrap();
    assert!(made.success());
    let input = bash("ls", "t").to_string();
    let words = ["hook", "claude", "--patience", "3"];
    let said = says(&home, Path::new(SMALL), &words, input.as_bytes());
    assert!(said.denied().contains("no person could be asked"), "{said:?}");
}
