//! A thousand planted secrets go through the gate: none is in the log, the files or a response.

use std::io::Write;
use std::sync::{Arc, Mutex};

use super::*;
use crate::test_gate::{AGENT, test_gate};

#[derive(Clone, Default)]
struct SharedBuffer(Arc<Mutex<Vec<u8>>>);

impl Write for SharedBuffer {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Letters and digits that no other text has: the same number gives the same secret.
fn secret(seed: usize, length: usize) -> String {
    let mut state = seed as u64 * 2 + 1;
    let mut text = String::from("Zq7");
    while text.len() < length {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let place = usize::try_from(state >> 33).unwrap() % 62;
        let letters = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
        text.push(char::from(letters[place]));
    }
    text
}

fn call(n: usize, secret: &str) -> String {
    let bare = secret;
    let token = format!("ghp_{secret}{}", "a1B2".repeat(5));
    match n % 10 {
        0 => format!(r#"{{"command":"PGPASSWORD={bare} psql -c 'DROP TABLE t'"}}"#),
        1 => format!(
            r#"{{"command":"curl -u bob:{bare} https://a.example -d {bare}; rm -rf {bare}"}}"#
        ),
        2 => format!(
            r#"{{"tool":"send_email","arguments":{{"to":"b@example.com","password":"{bare}"}}}}"#
        ),
        3 => format!(r#"{{"tool":"x","arguments":{{"token":{{"a":["{bare}"]}},"{token}":1}}}}"#),
        4 => format!(r#"{{"command":"git push https://{token}@h.example/r --force"}}"#),
        5 => format!(r#"{{"tool":"run {token}","arguments":{{"q":"x"}}}}"#),
        6 => format!(r#"{{"command":"rm -rf /srv/x","description":"with password={bare}"}}"#),
        7 => format!(r#"{{"command":"rm -rf y","cwd":"/srv/{token}"}}"#),
        8 => format!(r#"{{"command":"ls {token}"}}"#),
        _ => format!(r#"{{"command":["mysql","--password","{bare}","-e","DROP DATABASE d"]}}"#),
    }
}

#[test]
fn no_secret_is_logged_stored_or_returned() {
    let buffer = SharedBuffer::default();
    let writing = buffer.clone();
    let log = LogConfig { level: "trace".to_owned(), json: true, otlp: None };
    // For all threads: logs of other tests do no harm.
    tracing::dispatcher::set_global_default(to(&log, move || writing.clone())).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (mut seen, secrets) = runtime.block_on(async {
        let gate = test_gate().await;
        let mut seen = Vec::new();
        let mut secrets = Vec::new();
        for n in 0..1000 {
            let secret = secret(n, 20);
            let response = gate.agent(AGENT, "/v1/requests", &call(n, &secret)).await;
            assert!(response.status < 300, "{}", response.text);
            let id = response.json()["id"].as_str().map(ToOwned::to_owned);
            if let Some(id) = id {
                let read = gate.person(&format!("/v1/requests/{id}"), "").await;
                assert_eq!(read.status, 200);
                seen.extend(read.text.into_bytes());
                let told = format!("{{\"status\":\"ok\",\"summary\":\"password={secret}\"}}");
                gate.agent(AGENT, &format!("/v1/requests/{id}/outcome"), &told).await;
            }
            secrets.push(secret);
        }
        let bad = format!("{{\"tool\":\"x\",\"password\":\"{}\"}}", secrets[0]);
        seen.extend(gate.agent(AGENT, "/v1/requests", &bad).await.text.into_bytes());
        seen.extend(gate.person("/v1/ledger/entries?limit=1000", "").await.text.into_bytes());
        seen.extend(gate.person("/metrics", "").await.text.into_bytes());
        seen.extend(gate.person("/v1/stats", "").await.text.into_bytes());
        countersign_store::Store::close(gate.gate.store()).await.unwrap();
        for file in std::fs::read_dir(gate.folder.path()).unwrap() {
            seen.extend(std::fs::read(file.unwrap().path()).unwrap());
        }
        (seen, secrets)
    });
    let log = buffer.0.lock().unwrap().clone();
    assert!(String::from_utf8_lossy(&log).contains("a request was stored"), "nothing was logged");
    seen.extend(log);
    // One pass over everything: all secrets begin alike.
    let all: std::collections::HashSet<&[u8]> = secrets.iter().map(String::as_bytes).collect();
    let found =
        seen.windows(20).filter(|window| window.starts_with(b"Zq7") && all.contains(window));
    let found: Vec<_> = found.map(|secret| String::from_utf8_lossy(secret).into_owned()).collect();
    let which: Vec<usize> =
        found.iter().map(|f| secrets.iter().position(|s| s == f).unwrap() % 10).collect();
    assert!(found.is_empty(), "{} seen, of forms {which:?}", found.len());
}
