//! Limits of the machine: locks that another process holds, threads and connections that fail.

use std::fs::File;
use std::io::Read as _;
use std::net::TcpListener;
use std::process::Command;
use std::time::{Duration, Instant};

use proofs::http::Client;
use serde_json::{Value, json};

use crate::fixture::{ProxyFixture, shared, until, words};
use crate::http::{Server, listening, post, proxy};
use crate::web::Web;

fn message(method: &str) -> String {
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": {}}).to_string()
}

#[test]
fn a_locked_record_of_tools_delays_nobody_else() {
    let _shared = shared();
    let place = ProxyFixture::new();
    let web = Web::new();
    let (_proxy, address) = proxy(&place, web.port, None);
    let list = |client: &mut Client| {
        let accept = [("accept", "application/json")];
        client.send("POST", "/mcp", &accept, Some(&message("tools/list"))).unwrap()
    };
    assert_eq!(list(&mut Client::new(address)).status, 200);
    let folder = place.path("state/mcp");
    let lock = std::fs::read_dir(folder).unwrap().flatten().map(|file| file.path());
    let lock = lock.into_iter().find(|path| path.extension().is_some_and(|kind| kind == "lock"));
    let lock = File::open(lock.unwrap()).unwrap();
    lock.lock().unwrap();
    std::thread::scope(|scope| {
        let listed = scope.spawn(|| list(&mut Client::new(address)));
        let before = web.log().len();
        until("the list of the server", || web.log().len() > before);
        // So many that the proxy meets the lock meanwhile; the list waits for it.
        let mut other = Client::new(address);
        let accept = [("accept", "application/json")];
        for _ in 0..20 {
            let answer = other.send("POST", "/mcp", &accept, Some(&message("ping"))).unwrap();
            assert_eq!(answer.status, 200);
        }
        assert!(!listed.is_finished(), "the other client waited for the lock");
        lock.unlock().unwrap();
        assert_eq!(listed.join().unwrap().status, 200);
    });
}

#[test]
fn a_server_that_never_ends_the_tls_handshake_is_given_up_on() {
    let _shared = shared();
    let place = ProxyFixture::new();
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut command_words = place.proxy_words(None);
    command_words.push(format!("https://{}/mcp", silent.local_addr().unwrap()));
    let (_proxy, address): (Server, _) = listening(&command_words);
    let (head, mut body) = post(address, "", &message("ping"));
    assert!(head.starts_with("HTTP/1.1 502"), "{head}");
    let mut text = [0; 300];
    let count = body.read(&mut text).unwrap();
    let text = String::from_utf8_lossy(&text[..count]).into_owned();
    assert!(text.contains("cannot be reached"), "{text}");
}

/// How much memory a process has reserved, in bytes.
fn reserved(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmSize:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
}

#[test]
fn a_call_is_refused_if_no_thread_can_wait_for_its_answer() {
    let _shared = shared();
    let place = ProxyFixture::new();
    let mut client = place.proxy(None, &[]);
    client.greet();
    let process = client.child.id();
    // Room for messages, none for the stack of another thread.
    let limit = format!("--as={}", reserved(process) + (200 << 10));
    let set = Command::new("prlimit").args(["--pid", &process.to_string(), &limit]).status();
    assert!(set.unwrap().success());
    // The stacks of threads that have ended are used again: a few calls may wait.
    let count = 12;
    for id in 0..count {
        client.call(id, "send_email", &json!({"to": "bo@example.org", "n": id}));
    }
    client.ask("ping", "ping", &json!({}));
    let (mut refused, mut is_alive) = (0, false);
    // Every call is refused, or it waits for a person; none is forgotten.
    let end = Instant::now() + Duration::from_mins(2);
    while !is_alive || refused + place.waiting(0).len() < count {
        assert!(Instant::now() < end, "{refused} refused, {} wait", place.waiting(0).len());
        let Some(line) = client.within(Duration::from_millis(50)) else { continue };
        let answer: Value = serde_json::from_str(&line).unwrap();
        if answer["id"] == "ping" {
            is_alive = true;
            continue;
        }
        assert_eq!(answer["result"]["isError"], true, "{answer}");
        assert!(words(&answer).contains("Nothing was approved"), "{answer}");
        refused += 1;
    }
    assert!(refused >= count - 4, "{refused} of {count}");
    assert!(!place.reached("send_email"));
}
