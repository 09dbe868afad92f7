//! How long `countersign import` takes for 10,000 logged calls of two agents.
//!
//! `cargo build --release -p countersign && cargo run --release -p benches --bin import`

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use countersign_risk::rules;
use serde_json::{Value, json};

const CALLS: usize = 10_000;
const SESSION: usize = 500;

fn main() -> Result<(), String> {
    let folder = std::env::temp_dir().join(format!("countersign-import-{}", std::process::id()));
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let logs = [
        ("Claude Code", claude_line as fn(usize, &str) -> Value, false),
        ("Codex", codex_line, true),
    ];
    for (name, line, has_start) in logs {
        let file = folder.join(format!("{}.jsonl", name.len()));
        std::fs::write(&file, log(line, has_start)).map_err(|error| error.to_string())?;
        println!("{name}: {}", measured(&file)?);
    }
    std::fs::remove_dir_all(&folder).map_err(|error| error.to_string())
}

/// The calls of a log: the examples of the shipped rules, again and again.
fn log(line: fn(usize, &str) -> Value, has_start: bool) -> String {
    let of_rule =
        |rule: rules::RuleInfo| rule.examples.iter().chain(rule.counter_examples).copied();
    let examples: Vec<&str> = rules::commands().flat_map(of_rule).collect();
    let mut text = String::new();
    for (number, command) in examples.iter().cycle().take(CALLS).enumerate() {
        if has_start && number % SESSION == 0 {
            let id = format!("s{}", number / SESSION);
            let start = json!({ "id": id, "cwd": "/home/ana/shop" });
            let _ = writeln!(text, "{}", json!({ "type": "session_meta", "payload": start }));
        }
        let _ = writeln!(text, "{}", line(number, command));
    }
    text
}

fn claude_line(number: usize, command: &str) -> Value {
    let input = json!({ "command": command });
    let id = format!("toolu_{number}");
    let block = json!({ "type": "tool_use", "id": id, "name": "Bash", "input": input });
    let session = format!("s{}", number / SESSION);
    let message = json!({ "role": "assistant", "content": [block] });
    json!({
        "type": "assistant", "sessionId": session, "cwd": "/home/ana/shop", "message": message,
    })
}

fn codex_line(number: usize, command: &str) -> Value {
    let arguments = json!({ "command": ["bash", "-lc", command] }).to_string();
    let id = format!("call_{number}");
    let call =
        json!({ "type": "function_call", "name": "shell", "arguments": arguments, "call_id": id });
    json!({ "type": "response_item", "payload": call })
}

/// Runs the command beside this one on a log.
fn measured(file: &Path) -> Result<String, String> {
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    let program = own.with_file_name("countersign");
    let start = Instant::now();
    let done = Command::new(&program).arg("import").arg(file).arg("--json").output();
    let took = start.elapsed();
    let done = done.map_err(|error| format!("{}: {error}", program.display()))?;
    let report: Value = serde_json::from_slice(&done.stdout).map_err(|error| error.to_string())?;
    let figure = |name: &str| report.pointer(name).and_then(Value::as_u64).unwrap_or_default();
    let (calls, asked) = (figure("/calls"), figure("/asked/total"));
    Ok(format!("{calls} calls, {asked} asked, {:.2} s", took.as_secs_f64()))
}
