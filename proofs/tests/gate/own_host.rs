//! Two hosts, as network namespaces: an agent on one asks a gate on the other over TLS, a person
//! answers, and nothing between or beside them is believed.

use std::fs::{self, Permissions};
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use countersign_gateways::agents::AGENTS;
use countersign_json::base64;
use countersign_tls::{KeyPin, certificate_file, generate_key, issue_certificate, pem};
use countersign_types::time::Timestamp;
use proof_skip::{Cause, skip};
use proofs::installation::{RunningDaemon, TestInstallation, UNLIMITED};
use serde_json::{Value, json};

use crate::fixture::{report_figures, shared};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/gate/own_host.py");
const SDK: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../sdk/python/src");
/// `ip` is in one of the last two.
const PATH: &str = "/usr/bin:/bin:/usr/sbin:/sbin";
const GATE: &str = "10.77.0.1";
const AGENT: &str = "10.77.0.2";

/// Two network namespaces with one cable between them; removed with the proof.
struct Hosts {
    gate: String,
    agent: String,
}

impl Hosts {
    fn create() -> Option<Hosts> {
        let id = std::process::id();
        let hosts = Hosts { gate: format!("cs-gate-{id}"), agent: format!("cs-agent-{id}") };
        let (here, there) = (format!("csg{id}"), format!("csa{id}"));
        let ends = [(&hosts.gate, &here, GATE), (&hosts.agent, &there, AGENT)];
        let made = ends.iter().all(|(name, _, _)| ip(&["netns", "add", name]))
            && ip(&["link", "add", &here, "type", "veth", "peer", "name", &there])
            && ends.iter().all(|(name, link, address)| {
                ip(&["link", "set", link, "netns", name])
                    && ip(&["-n", name, "addr", "add", &format!("{address}/24"), "dev", link])
                    && ip(&["-n", name, "link", "set", link, "up"])
                    && ip(&["-n", name, "link", "set", "lo", "up"])
            });
        made.then_some(hosts)
    }

    fn run(name: &str, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", name]).arg(program);
        command
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        for name in [&self.gate, &self.agent] {
            ip(&["netns", "del", name]);
        }
    }
}

fn ip(words: &[&str]) -> bool {
    let mut command = Command::new("ip");
    let status = command.args(words).stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

/// The built `countersign`, beside the tests.
fn countersign() -> Option<PathBuf> {
    let here = std::env::current_exe().unwrap();
    let mut folders = here.ancestors().skip(1).take(2);
    folders.find_map(|at| Some(at.join("countersign")).filter(|at| at.is_file()))
}

/// The script on a host, with what it reads; started, not awaited.
fn start_script(host: &str, mode: &str, given: &Value) -> Child {
    let mut command = Hosts::run(host, "python3");
    command.arg(SCRIPT).arg(mode).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(given.to_string().as_bytes()).unwrap();
    child
}

fn finished(child: Child) -> Value {
    let output = child.wait_with_output().unwrap();
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|e| panic!("{e}: {}", String::from_utf8_lossy(&output.stderr)))
}

fn script(host: &str, mode: &str, given: &Value) -> Value {
    finished(start_script(host, mode, given))
}

/// A certificate and its key as PEM files.
fn write_identity(folder: &Path, name: &str, key: &[u8], certificate: &[u8]) -> [String; 2] {
    let text = pem(key).replace("CERTIFICATE", "PRIVATE KEY");
    let files = [(format!("{name}.crt"), pem(certificate)), (format!("{name}.key"), text)];
    files.map(|(name, text)| {
        let path = folder.join(name);
        fs::write(&path, text).unwrap();
        path.display().to_string()
    })
}

/// The hook's answer to a risky command.
fn hook(host: &str, program: &Path, given: &Value, address: &str) -> Output {
    let agent = AGENTS[0];
    let mut event: Value = (agent.hook.announce)("Bash", "session-1");
    event["tool_input"] = json!({ "command": "rm -rf /srv/data" });
    let mut command = Hosts::run(host, program);
    command.args(["hook", agent.name, "--patience", "10", "--daemon-key"]);
    command.arg(given["key"].as_str().unwrap()).env_clear().env("PATH", PATH);
    command.env("HOME", given["home"].as_str().unwrap()).env("COUNTERSIGN_AGENTS", address);
    command.env("COUNTERSIGN_AGENT_TOKEN", given["token"].as_str().unwrap_or_default());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(event.to_string().as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

fn is_allowed(output: &Output) -> bool {
    String::from_utf8_lossy(&output.stdout).contains("allow")
}

/// A gate that other hosts reach, on its host.
fn start_gate(folder: &Path, hosts: &Hosts) -> RunningDaemon {
    let installation = TestInstallation::new(folder, UNLIMITED).unwrap();
    let file = folder.join("countersign.toml");
    let listen = format!(
        "tls = true\nhosts = [\"{GATE}\", \"gate.test\"]\nconfirm_without_token = false\n\
         agents = \"{GATE}:6000\"\npeople = \"{GATE}:6001\"\n"
    );
    let text = fs::read_to_string(&file).unwrap();
    let (usual, text) = ("agents = \"127.0.0.1:0\"\npeople = \"127.0.0.1:0\"\n", text);
    fs::write(&file, text.replace(usual, &listen)).unwrap();
    installation.wrapped(&["ip", "netns", "exec", &hosts.gate]).start().unwrap()
}

/// What the scripts are given: addresses, pins, and the certificates of impostors.
fn lay_out(folder: &Path, gate: &RunningDaemon) -> Value {
    let state = folder.join("state");
    let certificate = state.join("tls.crt");
    let chain = certificate_file(&certificate).unwrap();
    let names = [GATE, AGENT, "gate.test", "localhost"].map(str::to_owned);
    let now = i64::try_from(std::time::UNIX_EPOCH.elapsed().unwrap().as_millis()).unwrap();
    let other = generate_key().unwrap();
    let impostor = issue_certificate(&other, &names, Timestamp(now)).unwrap();
    // An old backup has the right key and an expired certificate.
    let text = fs::read_to_string(state.join("tls.key")).unwrap();
    let genuine = base64::decode(text.trim_end().rsplit(' ').next().unwrap()).unwrap();
    let long_ago = Timestamp(now - 500 * 86_400_000);
    let expired = issue_certificate(&genuine, &names, long_ago).unwrap();
    let pinned = folder.join("daemon.pub");
    fs::copy(state.join("daemon.pub"), &pinned).unwrap();
    let pinned_certificate = folder.join("gate.crt");
    fs::copy(&certificate, &pinned_certificate).unwrap();
    fs::set_permissions(&pinned_certificate, Permissions::from_mode(0o644)).unwrap();
    let home = folder.join("home");
    fs::create_dir(&home).unwrap();
    json!({
        "sdk": SDK, "home": home, "key": pinned, "certificate": pinned_certificate,
        "pin": KeyPin::of_certificate(&chain[0]).unwrap().to_string(),
        "passphrase": gate.passphrase,
        "impostor": write_identity(folder, "impostor", &other, &impostor),
        "expired": write_identity(folder, "expired", &genuine, &expired),
    })
}

#[test]
fn an_agent_on_another_host_asks_over_tls_and_nothing_else_is_believed() {
    let _shared = shared();
    if !is_root() {
        return skip(Cause::Machine, "only root can create network namespaces");
    }
    for (program, option) in [("python3", "--version"), ("ip", "-V")] {
        if Command::new(program).arg(option).output().is_err() {
            return skip(Cause::Tool, &format!("{program} is not installed"));
        }
    }
    let Some(program) = countersign() else {
        return skip(Cause::Tool, "no `countersign` beside the tests: cargo build -p countersign");
    };
    let Some(hosts) = Hosts::create() else {
        return skip(Cause::Machine, "network namespaces cannot be created");
    };
    let folder = tempfile::tempdir().unwrap();
    let gate = start_gate(folder.path(), &hosts);
    let mut given = lay_out(folder.path(), &gate);
    let made = script(&hosts.gate, "person", &given);
    (given["owner"], given["token"]) = (made["owner"].clone(), made["token"].clone());
    let address = format!("https://{GATE}:6000#{}", given["pin"].as_str().unwrap());
    // Two clients of the SDK, one with a CA file, and the hook: a person approves each.
    given["count"] = json!(4);
    let person = start_script(&hosts.gate, "decide", &given);
    let asked = script(&hosts.agent, "ask", &given);
    let answer = hook(&hosts.agent, &program, &given, &address);
    assert!(is_allowed(&answer), "{answer:?}");
    for name in ["blocking", "asynchronous", "with a CA file"] {
        assert_eq!(asked[name], "owner", "{asked}");
    }
    let approved = finished(person);
    assert_eq!(approved["approved"].as_array().map(Vec::len), Some(4), "{approved}");
    let tried = attack(&hosts, &program, &mut given);
    report_figures(&format!("{tried} attempts from another host, none believed or approved"));
}

/// Every attempt from the agent's host; returns how many there were.
fn attack(hosts: &Hosts, program: &Path, given: &mut Value) -> usize {
    let result = script(&hosts.agent, "attack", given);
    let results = result["results"].as_object().unwrap();
    for (name, result) in results {
        assert_ne!(result, "believed", "{name}");
    }
    for (name, bytes) in result["heard"].as_object().unwrap() {
        assert_eq!(bytes, 0, "the SDK sent something to {name}");
    }
    assert_eq!(result["state"], "pending", "an agent decided its own request: {result}");
    // The same servers again, for the hook.
    given["serve"] = json!(60);
    let mut servers = start_script(&hosts.agent, "attack", given);
    let ready = std::io::BufReader::new(servers.stdout.as_mut().unwrap());
    let line = std::io::BufRead::lines(ready).next().unwrap().unwrap();
    let pin = given["pin"].as_str().unwrap();
    let addresses = [
        format!("https://{AGENT}:7000#{pin}"),
        format!("https://{AGENT}:7001#{pin}"),
        format!("https://{AGENT}:7001#ca:{}", given["certificate"].as_str().unwrap()),
        format!("http://{GATE}:6000"),
        format!("https://{GATE}:6000"),
        format!("https://{GATE}:6000#sha256:{}", "00".repeat(32)),
    ];
    for address in &addresses {
        let answer = hook(&hosts.agent, program, given, address);
        assert!(!is_allowed(&answer), "{address}: {answer:?}");
    }
    let _ = servers.kill();
    let _ = servers.wait();
    assert!(line.contains("refused"), "{line}");
    results.len() + addresses.len()
}

fn is_root() -> bool {
    let output = Command::new("id").arg("-u").output().unwrap();
    String::from_utf8_lossy(&output.stdout).trim() == "0"
}
