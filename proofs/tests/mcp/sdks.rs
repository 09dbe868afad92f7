//! The official SDKs, clients and servers, both eras: what they see direct and through the proxy.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use proof_skip::{Cause, skip};
use serde_json::Value;

use crate::fixture::{ProxyFixture, report_figures, shared};

pub fn target(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../target").join(name)
}

pub fn here(name: &str) -> String {
    format!("{}/tests/mcp/{name}", env!("CARGO_MANIFEST_DIR"))
}

pub fn python() -> Option<String> {
    let python = target("mcp-venv/bin/python");
    python.is_file().then(|| python.display().to_string())
}

pub fn node() -> Option<String> {
    let node = target("mcp/node_modules/.bin/node");
    node.exists().then(|| node.display().to_string())
}

fn everything() -> Vec<String> {
    let tools = target("mcp/node_modules/@modelcontextprotocol/server-everything/dist/index.js");
    vec![node().unwrap(), tools.display().to_string()]
}

/// Says yes to whatever waits, until it is dropped.
pub struct ApproveAll(Arc<AtomicBool>, Option<std::thread::JoinHandle<()>>);

impl ApproveAll {
    pub fn new(place: &ProxyFixture) -> ApproveAll {
        ApproveAll::after(place, Duration::ZERO)
    }

    /// Takes so long to think about each.
    fn after(place: &ProxyFixture, thought: Duration) -> ApproveAll {
        let over = Arc::new(AtomicBool::new(false));
        let (stop, mut person) = (Arc::clone(&over), place.person());
        let thread = std::thread::spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                let list = person.get("/v1/requests?state=pending").unwrap();
                for request in list.body["requests"].as_array().into_iter().flatten() {
                    std::thread::sleep(thought);
                    let id = request["id"].as_str().unwrap();
                    let said = serde_json::json!({
                        "choice": "approve", "digest": request["digest"], "reason": "a proof",
                        "word": request["phrase"],
                    });
                    let _ = person.post(&format!("/v1/requests/{id}/decision"), &said);
                }
                std::thread::sleep(Duration::from_millis(10));
            }
        });
        ApproveAll(over, Some(thread))
    }
}

impl Drop for ApproveAll {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
        let _ = self.1.take().map(std::thread::JoinHandle::join);
    }
}

pub fn run(words: &[String]) -> Value {
    let out =
        Command::new(&words[0]).args(&words[1..]).env("TOOLS", target("mcp")).output().unwrap();
    let text = String::from_utf8_lossy(&out.stdout);
    let line = text.lines().last().unwrap_or_default();
    serde_json::from_str(line)
        .unwrap_or_else(|_| panic!("{words:?}: {text}\n{}", String::from_utf8_lossy(&out.stderr)))
}

/// Compares what a client sees of a server, direct and through the proxy.
fn compare(place: &ProxyFixture, what: &str, client: &[String], server: &[String]) {
    let direct = run(&[client, server].concat());
    let mut through = client.to_vec();
    through.extend(place.proxy_words(None));
    through.extend(server.iter().cloned());
    let proxied = run(&through);
    let parts = direct.as_object().unwrap();
    for (part, value) in parts {
        assert_eq!(*value, proxied[part], "{what}: {part}");
    }
    assert_eq!(parts.len(), proxied.as_object().unwrap().len());
    let version = direct["version"].as_str().unwrap_or_default();
    report_figures(&format!("{what}: {} parts alike, direct and through {version}", parts.len()));
}

#[test]
fn python_clients_see_the_same_in_both_eras() {
    let Some(python) = python() else {
        return skip(Cause::Tool, "the Python MCP SDK is not installed");
    };
    let _shared = shared();
    let place = ProxyFixture::new();
    let _yes = ApproveAll::new(&place);
    let server = [python.clone(), here("sdk_server.py")];
    for mode in ["legacy", "auto", "2026-07-28"] {
        let client = [&python, &here("sdk_client.py"), mode, "stdio"].map(ToString::to_string);
        compare(&place, &format!("Python client ({mode})"), &client, &server);
    }
}

#[test]
fn typescript_clients_see_the_same_in_both_eras() {
    let (Some(node), Some(python)) = (node(), python()) else {
        return skip(Cause::Tool, "the MCP SDKs are not installed");
    };
    let _shared = shared();
    let place = ProxyFixture::new();
    let _yes = ApproveAll::new(&place);
    for era in ["v1", "v2", "auto"] {
        let client = [&node, &here("sdk_client.mjs"), era, "stdio"].map(ToString::to_string);
        compare(&place, &format!("TypeScript client ({era}), everything"), &client, &everything());
        let server = [python.clone(), here("sdk_server.py")];
        compare(&place, &format!("TypeScript client ({era}), Python server"), &client, &server);
    }
}

#[test]
fn a_modern_client_that_is_parked_comes_back_by_itself() {
    let Some(python) = python() else {
        return skip(Cause::Tool, "the Python MCP SDK is not installed");
    };
    let _shared = shared();
    let place = ProxyFixture::new();
    // Longer than one leg of the proxy's patience, shorter than the client's ten.
    let _yes = ApproveAll::after(&place, Duration::from_millis(1500));
    let mut words =
        [&python, &here("sdk_client.py"), "2026-07-28", "stdio"].map(String::from).to_vec();
    words.extend(place.proxy_words(Some(600)));
    words.extend([python.clone(), here("sdk_server.py")]);
    let said = run(&words);
    assert_eq!(said["send"]["structuredContent"]["to"], "bo", "{}", said["send"]);
    report_figures("a Python client that was parked came back by itself, and its call ran");
}
