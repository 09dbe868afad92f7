//! Fake daemons that approve everything: on the port, on the socket, behind an environment
//! variable. The hook and the MCP proxy believe none of them.

use std::io::{BufRead as _, BufReader, Read, Write};
use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use countersign_json::base64;
use countersign_json::canonical::Digest;
use countersign_ledger::response_signature::{SignedExchange, write_public_key};
use ed25519_dalek::{Signer as _, SigningKey};
use serde_json::{Value, json};

use super::fixture::{RISKY, TestHome, bash};

/// The key of the impostor, which no client pins.
fn impostor_key() -> SigningKey {
    SigningKey::from_bytes(&[8; 32])
}

/// Makes the signature of an answer, from what the client sent.
type Forgery = fn(&SignedExchange<'_>, &Mutex<Vec<String>>) -> Option<String>;

const FORGERIES: [(&str, Forgery); 3] = [
    ("no signature", |_, _| None),
    ("a signature of another key", |exchange, _| {
        let signature = impostor_key().sign(exchange.signing_input().as_bytes());
        Some(base64::encode_url(&signature.to_bytes()))
    }),
    ("a genuine signature of another response", |_, genuine| genuine.lock().unwrap().pop()),
];

/// A call that passed, approved by the rules; and an approval that was redeemed.
fn approval() -> String {
    let time = "2026-11-14T23:59:59.999Z";
    json!({
        "id": null, "state": "approved", "tool": "Bash", "brief": null, "tier": "SAFE",
        "decision": { "result": "approved", "by": { "kind": "policy" }, "scope": "once",
                      "channel": "", "reason": "", "at": time },
        "points": 0.0, "risk": 0.0, "confidence": 1.0, "phrase": "olive-tractor", "digest": "a",
        "raw_digest": "b", "both_bind": false, "agent": "claude", "session": "", "group": null,
        "crisis": false, "created": time, "deadline": time, "level": "first",
        "quorum": { "approve": 0, "deny": 0 }, "approvals": 0, "permit": null,
        "permit_until": null, "edited_arguments": null, "redeemed": null, "reported": null,
        "observed": false,
    })
    .to_string()
}

/// Answers each request on this stream with an approval. Returns whether there was a request.
fn approve(stream: impl Read + Write, forgery: Forgery, genuine: &Mutex<Vec<String>>) {
    let mut input = BufReader::new(stream);
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        if input.read_line(&mut line).unwrap_or(0) == 0 || line == "\r\n" {
            break;
        }
        if let Some(value) = line.to_lowercase().strip_prefix("content-length: ") {
            length = value.trim().parse().unwrap();
        }
        head.push_str(&line);
    }
    let mut body = vec![0; length];
    input.read_exact(&mut body).unwrap();
    let header = |name: &str| {
        let line = head.lines().find(|line| line.to_lowercase().starts_with(name));
        line.and_then(|line| line.split_once(": ")).map_or("", |(_, value)| value.trim())
    };
    let mut words = head.split(' ');
    let answer = approval();
    let exchange = SignedExchange {
        nonce: header("countersign-nonce"),
        method: words.next().unwrap_or_default(),
        target: words.next().unwrap_or_default(),
        credential: header("authorization"),
        request: Digest::of(&body),
        status: 200,
        response: Digest::of(answer.as_bytes()),
    };
    let signature = forgery(&exchange, genuine);
    let signature =
        signature.map_or_else(String::new, |text| format!("Countersign-Signature: {text}\r\n"));
    let _ = write!(
        input.get_mut(),
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\
         {signature}\r\n{answer}",
        answer.len(),
    );
}

/// Signatures that the real daemon made for other calls, to be replayed.
fn genuine_signatures(home: &TestHome) -> Vec<String> {
    let socket = home.folder.path().join("state/agents.sock");
    let signature = |count: usize| {
        let mut stream = std::os::unix::net::UnixStream::connect(&socket).unwrap();
        let body = json!({ "command": "ls" }).to_string();
        let nonce = "n".repeat(22 + count);
        write!(
            stream,
            "POST /v1/requests?wait=0 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
             Content-Type: application/json\r\nCountersign-Nonce: {nonce}\r\n\
             Content-Length: {}\r\n\r\n{body}",
            body.len(),
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let line = answer.lines().find_map(|line| line.strip_prefix("countersign-signature: "));
        line.unwrap_or_else(|| panic!("no signature: {answer}")).to_owned()
    };
    (0..20).map(signature).collect()
}

/// A home whose daemon was killed, and signatures that the daemon made before.
fn bereft() -> (TestHome, Arc<Mutex<Vec<String>>>) {
    let mut home = TestHome::new();
    let genuine = genuine_signatures(&home);
    home.kill();
    (home, Arc::new(Mutex::new(genuine)))
}

/// An impostor on a TCP port.
fn on_port(forgery: Forgery, genuine: &Arc<Mutex<Vec<String>>>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let genuine = Arc::clone(genuine);
    std::thread::spawn(move || {
        listener.incoming().flatten().for_each(|stream| approve(stream, forgery, &genuine));
    });
    address
}

/// An impostor on a socket, in place of the daemon's.
fn on_socket(path: &Path, forgery: Forgery, genuine: &Arc<Mutex<Vec<String>>>) {
    let _ = std::fs::remove_file(path);
    let listener = UnixListener::bind(path).unwrap();
    let genuine = Arc::clone(genuine);
    std::thread::spawn(move || {
        listener.incoming().flatten().for_each(|stream| approve(stream, forgery, &genuine));
    });
}

/// The hook's output for a risky call in this environment.
fn hook(home: &TestHome, variables: &[(&str, &str)]) -> super::fixture::HookOutput {
    let mut command = home.command(&["hook", "claude", "--patience", "20"]);
    command.envs(variables.iter().copied());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let input = bash(RISKY, "toolu_1").to_string();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    super::fixture::HookOutput::of(child)
}

#[test]
fn the_hook_believes_no_impostor() {
    let (home, genuine) = bereft();
    let evil = tempfile::tempdir().unwrap();
    let key = write_public_key(impostor_key().verifying_key().as_bytes());
    std::fs::write(evil.path().join("daemon.pub"), &key).unwrap();
    let evil_folder = evil.path().to_str().unwrap();
    for (name, forgery) in FORGERIES {
        let address = on_port(forgery, &genuine);
        let reason = hook(&home, &[("COUNTERSIGN_AGENTS", &address)]).denied();
        assert!(reason.contains("not trusted"), "{name}: {reason}");
        // A token makes the hook use the port; it changes nothing.
        let variables = [("COUNTERSIGN_AGENTS", &*address), ("COUNTERSIGN_AGENT_TOKEN", "csa_x")];
        assert!(hook(&home, &variables).denied().contains("not trusted"), "{name}");
        on_socket(&home.folder.path().join("state/agents.sock"), forgery, &genuine);
        assert!(hook(&home, &[]).denied().contains("not trusted"), "{name}");
        // No variable of Countersign or of the folders chooses another key.
        let socket = evil.path().join("agents.sock");
        on_socket(&socket, forgery, &genuine);
        let config = evil.path().join("countersign.toml");
        std::fs::write(&config, "").unwrap();
        let variables = [
            ("COUNTERSIGN_STATE", evil_folder),
            ("COUNTERSIGN_CONFIG", config.to_str().unwrap()),
            ("XDG_STATE_HOME", evil_folder),
            ("XDG_CONFIG_HOME", evil_folder),
            ("COUNTERSIGN_DAEMON_KEY", evil_folder),
        ];
        assert!(hook(&home, &variables).denied().contains("not trusted"), "{name}");
    }
}

#[test]
fn the_mcp_proxy_believes_no_impostor() {
    let (home, genuine) = bereft();
    for (name, forgery) in FORGERIES {
        let address = on_port(forgery, &genuine);
        let ran = home.folder.path().join("ran");
        let server = format!("while read -r line; do echo \"$line\" >> {}; done", ran.display());
        let words = ["mcp", "--server", "files", "--agents", &address, "--", "sh", "-c", &server];
        let mut child = home
            .command(&words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let call = json!({
            "jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": { "name": "delete_everything", "arguments": { "path": "/srv" } },
        });
        writeln!(child.stdin.as_mut().unwrap(), "{call}").unwrap();
        let mut answer = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut answer).unwrap();
        let answer: Value = serde_json::from_str(&answer).unwrap();
        assert!(answer.to_string().contains("not trusted"), "{name}: {answer}");
        drop(child.stdin.take());
        end(&child.id().to_string());
        child.wait().unwrap();
        let passed = std::fs::read_to_string(&ran).unwrap_or_default();
        assert!(!passed.contains("tools/call"), "{name}: {passed}");
    }
}

/// Whether the daemon's answer to a harmless question is believed, and the error if not.
fn believed(home: &TestHome) -> (bool, String) {
    let output = home.command(&["ask", "--command", "ls"]).output().unwrap();
    (output.status.success(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn after_a_rotation_only_the_new_key_is_believed() {
    let mut home = TestHome::new();
    let read = |path: &str| std::fs::read_to_string(home.folder.path().join(path)).unwrap();
    let old = read("state/daemon.pub");
    assert_eq!(believed(&home), (true, String::new()));
    let rotated = home.command(&["keys", "rotate"]).output().unwrap();
    assert!(rotated.status.success(), "{rotated:?}");
    // Until the restart the daemon and its clients keep the old key.
    assert_eq!(read("state/daemon.pub"), old);
    assert!(believed(&home).0);
    home.kill();
    home.start();
    let new = std::fs::read_to_string(home.folder.path().join("state/daemon.pub")).unwrap();
    assert_ne!(new, old);
    // A copy of the old key does not believe the new daemon.
    let (is_believed, error) = believed(&home);
    assert!(!is_believed && error.contains("not trusted"), "{error}");
    let reason = home.says(&["claude", "--patience", "20"], &bash(RISKY, "toolu_1")).denied();
    assert!(reason.contains("not trusted"), "{reason}");
    // Pinning another key needs an explicit word.
    let file = home.folder.path().join("state/daemon.pub");
    let file = file.to_str().unwrap();
    let refused = home.command(&["keys", "trust", file]).output().unwrap();
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    assert!(home.command(&["keys", "trust", file, "--replace"]).status().unwrap().success());
    assert!(believed(&home).0);
    let shown = home.command(&["keys", "show"]).output().unwrap();
    assert_eq!(String::from_utf8(shown.stdout).unwrap(), new);
    // The old key: a copy of it believes nothing any more.
    let pinned = home.folder.path().join(".config/countersign/daemon.pub");
    std::fs::write(&pinned, &old).unwrap();
    assert!(!believed(&home).0);
}

#[test]
fn a_pinned_key_follows_the_signatures_of_a_rotation() {
    let mut home = TestHome::new();
    let run = |home: &TestHome, words: &[&str]| home.command(words).output().unwrap();
    let pinned = home.folder.path().join(".config/countersign/daemon.pub");
    let state = home.folder.path().join("state/daemon.pub");
    let read = |file: &std::path::Path| std::fs::read_to_string(file).unwrap();
    let first = read(&pinned);
    // Two rotations: the chain has two statements.
    for _ in 0..2 {
        assert!(run(&home, &["keys", "rotate"]).status.success());
        home.kill();
        home.start();
    }
    let (is_believed, error) = believed(&home);
    assert!(!is_believed && error.contains("keys trust --rotated"), "{error}");
    let reason = home.says(&["claude", "--patience", "20"], &bash(RISKY, "toolu_1")).denied();
    assert!(reason.contains("keys trust --rotated"), "{reason}");
    // Statements without the signature of the pinned key are worth nothing.
    let printed = run(&home, &["keys", "rotations"]).stdout;
    let statements = String::from_utf8(printed).unwrap();
    assert_eq!(statements.lines().count(), 2, "{statements}");
    let file = home.folder.path().join("statements");
    let file_name = file.to_str().unwrap();
    let second_only = statements.lines().nth(1).unwrap().to_owned();
    for (name, text) in [("empty", String::new()), ("not from the pinned key", second_only)] {
        std::fs::write(&file, text).unwrap();
        let refused = run(&home, &["keys", "trust", "--rotated", file_name]);
        assert_eq!(refused.status.code(), Some(2), "{name}: {refused:?}");
        assert_eq!(read(&pinned), first, "{name}");
    }
    let trusted = run(&home, &["keys", "trust", "--rotated"]);
    assert!(trusted.status.success(), "{trusted:?}");
    assert_eq!(read(&pinned), read(&state));
    assert!(believed(&home).0);
    // From a file, the same.
    std::fs::write(&pinned, &first).unwrap();
    std::fs::write(&file, &statements).unwrap();
    assert!(run(&home, &["keys", "trust", "--rotated", file_name]).status.success());
    assert_eq!(read(&pinned), read(&state));
    // A key that others may have signs nothing.
    assert!(run(&home, &["keys", "rotate", "--compromised"]).status.success());
    home.kill();
    home.start();
    let before = read(&pinned);
    let refused = run(&home, &["keys", "trust", "--rotated"]);
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    assert_eq!(read(&pinned), before);
    assert!(!believed(&home).0);
}

#[test]
fn agents_of_the_daemons_own_user_follow_a_rotation() {
    let mut home = TestHome::new();
    std::fs::remove_file(home.folder.path().join(".config/countersign/daemon.pub")).unwrap();
    assert!(!believed(&home).0, "COUNTERSIGN_STATE must not choose the key");
    let standard = home.folder.path().join(".local/state");
    std::fs::create_dir_all(&standard).unwrap();
    let state = home.folder.path().join("state");
    std::os::unix::fs::symlink(&state, standard.join("countersign")).unwrap();
    assert_eq!(believed(&home), (true, String::new()));
    assert!(home.command(&["keys", "rotate"]).status().unwrap().success());
    home.kill();
    home.start();
    std::fs::remove_file(home.folder.path().join(".config/countersign/daemon.pub")).unwrap();
    assert_eq!(believed(&home), (true, String::new()));
}

#[test]
fn a_folder_without_a_daemon_gets_no_key() {
    let home = TestHome::empty();
    let rotated = home.command(&["keys", "rotate"]).output().unwrap();
    assert_eq!(rotated.status.code(), Some(2), "{rotated:?}");
    assert!(!home.folder.path().join("state/response.key").exists());
}

/// Ends a proxy whose server does not end by itself.
fn end(id: &str) {
    let _ = Command::new("kill").arg(id).status();
}
