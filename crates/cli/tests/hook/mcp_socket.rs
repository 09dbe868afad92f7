//! A proxy as MCP clients start it: without `XDG_RUNTIME_DIR`, which both official SDKs strip.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

/// A server with one tool that only tells on standard output that it was called.
const SERVER: &str = r#"
while IFS= read -r line; do
  id=${line#*\"id\":}
  id=${id%%[,\}]*}
  case $line in
  *'"method":"initialize"'*) result='{"protocolVersion":"2025-11-25","capabilities":{}}' ;;
  *'"method":"tools/list"'*)
    result='{"tools":[{"name":"countersign_proof_of_gate","inputSchema":{"type":"object"}}]}' ;;
  *'"method":"tools/call"'*) result='{"content":[{"type":"text","text":"it ran"}]}' ;;
  *) continue ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
"#;

struct Daemon(Child);

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn countersign(home: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_countersign"));
    command.args(words).env_clear().env("HOME", home).current_dir(home);
    command
}

fn start_daemon(home: &Path, runtime: &Path) -> Daemon {
    let words = ["serve", "--json", "--agents", "127.0.0.1:0", "--people", "127.0.0.1:0"];
    let mut command = countersign(home, &words);
    command.env("XDG_RUNTIME_DIR", runtime).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut child = command.stderr(Stdio::null()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.contains("people"), "{line}");
    Daemon(child)
}

/// What a proxy answers to the call that the daemon refuses without asking anyone.
fn refusal(mut proxy: Command) -> String {
    let mut child = proxy.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let call = json!({"name": "countersign_proof_of_gate", "arguments": {}});
    for (id, method, params) in
        [(1, "initialize", json!({})), (2, "tools/list", json!({})), (3, "tools/call", call)]
    {
        let text = format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"{method}\",\"params\":{params}}}\n"
        );
        input.write_all(text.as_bytes()).unwrap();
    }
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let messages = lines.map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
    let answer = { messages }.find(|message| message["id"] == 3).unwrap();
    drop(input);
    child.wait().unwrap();
    answer["result"]["content"][0]["text"].as_str().unwrap().to_owned()
}

#[test]
fn an_installed_proxy_finds_the_daemon_without_variables() {
    let folder = tempfile::tempdir().unwrap();
    let (home, runtime) = (folder.path().join("home"), folder.path().join("run"));
    fs::create_dir_all(home.join(".cursor")).unwrap();
    fs::create_dir_all(&runtime).unwrap();
    let _daemon = start_daemon(&home, &runtime);
    let file = home.join(".cursor/mcp.json");
    let server = json!({ "command": "/bin/sh", "args": ["-c", SERVER] });
    fs::write(&file, json!({ "mcpServers": { "files": server } }).to_string()).unwrap();
    let mut install = countersign(&home, &["mcp", "install", "cursor", "--yes"]);
    let done = install.env("XDG_RUNTIME_DIR", &runtime).output().unwrap();
    assert!(done.status.success(), "{done:?}");
    let written: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    let entry = &written["mcpServers"]["files"];
    let words = entry["args"].as_array().unwrap().iter().map(|word| word.as_str().unwrap());
    let mut proxy = Command::new(entry["command"].as_str().unwrap());
    proxy.args(words).env_clear().env("HOME", &home);
    let refusal = refusal(proxy);
    assert!(!refusal.contains("no person could be asked"), "{refusal}");
}

#[test]
fn a_proxy_finds_a_daemon_that_has_no_runtime_folder() {
    let folder = tempfile::tempdir().unwrap();
    let (home, runtime) = (folder.path().join("home"), folder.path().join("run"));
    fs::create_dir_all(&home).unwrap();
    // The daemon's socket is in its state folder then.
    let _daemon = start_daemon(&home, Path::new(""));
    let server = ["mcp", "--server", "files", "--", "/bin/sh", "-c", SERVER];
    let mut proxy = countersign(&home, &server);
    proxy.env("XDG_RUNTIME_DIR", runtime);
    let refusal = refusal(proxy);
    assert!(!refusal.contains("no person could be asked"), "{refusal}");
}
