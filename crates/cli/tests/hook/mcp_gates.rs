//! `countersign doctor` tests the gates of MCP servers and SDKs; no real server is started.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use countersign_client::Filter;
use serde_json::{Value, json};

use crate::agent_gates::{command, own, said};
use crate::fixture::TestHome;

/// A server that leaves a trace if it is ever started.
fn traced(home: &TestHome) -> (Value, PathBuf) {
    let trace = home.folder.path().join("was-started");
    let script = format!("touch {}; cat", trace.display());
    (json!({ "command": "/bin/sh", "args": ["-c", script] }), trace)
}

/// Writes Cursor's file and puts every server in it behind the proxy.
fn cursor(home: &TestHome, servers: &Value) -> PathBuf {
    let file = home.folder.path().join(".cursor/mcp.json");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, json!({ "mcpServers": servers }).to_string()).unwrap();
    let words = ["mcp", "install", "cursor", "--yes"];
    let done = command(home, own(home), &words).output().unwrap();
    assert!(done.status.success(), "{done:?}");
    file
}

/// Changes one entry of a file.
fn change(file: &Path, name: &str, entry: Value) {
    let mut whole: Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
    whole["mcpServers"][name] = entry;
    fs::write(file, whole.to_string()).unwrap();
}

const FILES: &str = "MCP server files (Cursor)";

#[test]
fn a_forbidden_call_is_refused_by_the_proxy_and_the_real_server_is_never_started() {
    let home = TestHome::new();
    let (server, trace) = traced(&home);
    let file = cursor(&home, &json!({ "files": server }));
    change(&file, "bare", server);
    for _ in 0..2 {
        let (mark, say) = said(&home, FILES).unwrap();
        assert_eq!(mark, "ok", "{say}");
        assert!(say.contains("protected") && say.contains("policy does not allow"), "{say}");
    }
    let (mark, say) = said(&home, "Not protected: bare").unwrap();
    assert!(mark == "note" && say.contains(&file.display().to_string()), "{mark} {say}");
    assert!(!trace.exists(), "the real server was started");
    let waiting = home.person().list(&Filter::default()).unwrap();
    assert!(waiting.requests.is_empty(), "{waiting:?}");
    home.ledger_with("mcp__files__countersign_proof_of_gate");
    // The proxy pins our server in one file, however often it is tested.
    let pins = home.folder.path().join("countersign-gateways/mcp");
    let kept = fs::read_dir(pins).unwrap().flatten();
    let kept = kept.filter(|file| file.path().extension().is_some_and(|kind| kind == "json"));
    assert_eq!(kept.count(), 1);
}

#[test]
fn a_passing_proxy_is_unprotected_and_a_foreign_program_is_not_started() {
    let home = TestHome::empty();
    let (server, trace) = traced(&home);
    let file = cursor(&home, &json!({ "files": server }));
    let (mark, say) = said(&home, FILES).unwrap();
    assert!(mark == "ok" && say.contains("no person could be asked"), "{mark} {say}");

    let own = own(&home);
    fs::remove_file(&own).unwrap();
    let passing = "#!/bin/sh\nwhile [ \"$1\" != -- ]; do shift; done; shift; exec \"$@\"\n";
    fs::write(&own, passing).unwrap();
    fs::set_permissions(&own, fs::Permissions::from_mode(0o755)).unwrap();
    let (mark, say) = said(&home, FILES).unwrap();
    assert!(mark == "bad" && say.contains("NOT PROTECTED"), "{mark} {say}");

    let foreign = home.folder.path().join("countersign-2");
    fs::write(&foreign, format!("#!/bin/sh\ntouch {}\n", trace.display())).unwrap();
    fs::set_permissions(&foreign, fs::Permissions::from_mode(0o755)).unwrap();
    change(&file, "files", json!({ "command": foreign, "args": ["mcp", "--", "cat"] }));
    let (mark, say) = said(&home, FILES).unwrap();
    assert!(mark == "bad" && say.contains("not tested"), "{mark} {say}");
    assert!(!trace.exists(), "a program was started that is not ours");
}

#[test]
fn projects_and_named_files_are_tested_too() {
    let home = TestHome::empty();
    let (server, trace) = traced(&home);
    let project = home.folder.path().join("shop");
    fs::create_dir_all(project.join(".claude")).unwrap();
    let (mine, theirs) = (project.join(".mcp.json"), home.folder.path().join("servers.json"));
    for file in [&mine, &theirs] {
        fs::write(file, json!({ "mcpServers": { "files": server.clone() } }).to_string()).unwrap();
    }
    let (folder, named) = (project.display().to_string(), theirs.display().to_string());
    for words in [
        &["mcp", "install", "claude", "--project", &folder, "--yes"][..],
        &["mcp", "install", &named, "--yes"],
        &["install", "claude", "--project", &folder, "--yes"],
    ] {
        let done = command(&home, own(&home), words).output().unwrap();
        assert!(done.status.success(), "{words:?}: {done:?}");
    }
    for gate in [
        format!("MCP server files ({})", mine.display()),
        format!("MCP server files ({named})"),
        format!("Claude Code in {folder}"),
    ] {
        let (mark, say) = said(&home, &gate).unwrap_or_else(|| panic!("{gate} was not tested"));
        assert!(mark == "ok" && say.contains(": protected"), "{mark} {say}");
    }
    assert!(!trace.exists(), "the real server was started");
    fs::remove_dir_all(&project).unwrap();
    assert_eq!(said(&home, &format!("Claude Code in {folder}")), None);
}

/// A proxy over HTTP, and where it listens.
struct Listening(Child, String);

impl Listening {
    fn start(home: &TestHome) -> Listening {
        let words = ["mcp", "--http", "http://127.0.0.1:9/mcp", "--listen", "127.0.0.1:0"];
        let mut child = home.command(&words).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().rsplit(' ').next().unwrap().to_owned();
        Listening(child, address)
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_listening_proxy_is_tested_over_http() {
    let home = TestHome::new();
    let proxy = Listening::start(&home);
    let file = home.folder.path().join(".cursor/mcp.json");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    let servers = json!({
        "near": { "url": format!("{}/mcp", proxy.1) },
        "far": { "url": "https://mcp.example.org/mcp" },
    });
    fs::write(&file, json!({ "mcpServers": servers }).to_string()).unwrap();
    let near = "MCP server near (Cursor)";
    let (mark, say) = said(&home, near).unwrap();
    assert!(mark == "ok" && say.contains(": protected"), "{mark} {say}");
    let (mark, say) = said(&home, "Not protected: far").unwrap();
    assert!(mark == "note", "{mark} {say}");
    drop(proxy);
    let (mark, say) = said(&home, near).unwrap();
    assert!(mark == "note" && say.contains("no server answers"), "{mark} {say}");
}

#[test]
fn the_python_sdk_is_tested_if_it_is_installed() {
    let home = TestHome::new();
    let sdk = concat!(env!("CARGO_MANIFEST_DIR"), "/../../sdk/python/src");
    let path = std::env::var("PATH").expect("python3 is needed");
    let tried = |words: &[&str], variables: &[(&str, &str)]| {
        let mut command = home.command(words);
        command.env("PATH", &path).envs(variables.iter().copied());
        let told: Value = serde_json::from_slice(&command.output().unwrap().stdout).unwrap();
        let checks = told["checks"].as_array().unwrap().clone();
        checks.into_iter().find(|it| it["say"].as_str().unwrap().starts_with("Python")).unwrap()
    };
    let found = tried(&["doctor", "--json"], &[("PYTHONPATH", sdk)]);
    assert_eq!((found["mark"].as_str(), found["state"].as_str()), (Some("ok"), Some("protected")));
    assert!(found["say"].as_str().unwrap().contains("policy does not allow"), "{found}");
    // The daemon's own test does not load packages of the user.
    let scheduled = &["doctor", "--gates", "--json"][..];
    for none in [tried(&["doctor", "--json"], &[]), tried(scheduled, &[("PYTHONPATH", sdk)])] {
        assert!(none["mark"] == "note" && none.get("state").is_none(), "{none}");
    }
}
