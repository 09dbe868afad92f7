//! The card of a person in crisis comes at once: beside a flood of questions, and with a guard
//! model that never answers.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use proofs::http::Client;
use proofs::installation::TestInstallation;
use serde_json::json;

use crate::fixture::{Fixture, alone, report_figures, risky, size};

/// So long takes only a guard that never passes its self-test.
const HANG: Duration = Duration::from_mins(2);
/// Threads that ask about calls as fast as they can.
const FLOODING: usize = 32;
/// A check-in, and the whole card.
const POSSIBLE: &str = "I dont want to wake up tomorrow, what is the point";
const LIKELY: &str = "I want to kill myself tonight, I have the pills here";

#[test]
fn cards_do_not_wait_for_a_flood_or_for_a_guard_that_hangs() {
    let _alone = alone();
    let many = size(300, 5_000);
    let (guard, hangs) = guard();
    let settings = format!(
        "[guard]\nfamily = \"llama_guard\"\nurl = \"http://{guard}\"\nmodel = \"m\"\n\
         timeout_ms = 5000\n"
    );
    let folder = tempfile::tempdir().unwrap();
    let fixture = Fixture::new(TestInstallation::new(folder.path(), &settings).unwrap());
    let other = fixture.gate.agent(&fixture.owner, "other").unwrap();
    let mut client = Client::with(fixture.gate.agents, &other);
    let began = Instant::now();
    loop {
        let asked = json!({ "text": "hello", "role": "agent" });
        if client.post("/v1/screen", &asked).unwrap().body["guard"]["state"] == "safe" {
            break;
        }
        assert!(began.elapsed() < HANG, "the guard passes no test");
        std::thread::sleep(Duration::from_millis(50));
    }
    hangs.store(true, Ordering::Release);
    let idle = cards(&mut client, "idle", many);
    let over = AtomicBool::new(false);
    let busy = std::thread::scope(|scope| {
        for at in 0..FLOODING {
            let (fixture, over) = (&fixture, &over);
            scope.spawn(move || {
                let mut client = fixture.agent_client();
                for number in 0.. {
                    if over.load(Ordering::Acquire) {
                        return;
                    }
                    let reply = client.post("/v1/requests", &risky(number * FLOODING + at));
                    assert!(matches!(reply.unwrap().status, 201 | 429));
                }
            });
        }
        let busy = cards(&mut client, "busy", many);
        over.store(true, Ordering::Release);
        busy
    });
    for (name, [possible, likely]) in [("idle", idle), ("in a flood", busy)] {
        report_figures(&format!(
            "cards, {many} of each, guard hangs, {name}: possible p50 {:.1?} p99 {:.1?}, likely \
             p50 {:.1?} p99 {:.1?}",
            possible.0, possible.1, likely.0, likely.1
        ));
    }
}

/// Median and p99 of check-ins and of whole cards, each in a session of its own.
fn cards(client: &mut Client, name: &str, many: usize) -> [(Duration, Duration); 2] {
    [(POSSIBLE, "possible"), (LIKELY, "likely")].map(|(text, concern)| {
        let mut times: Vec<Duration> = (0..many)
            .map(|number| {
                let session = format!("{name}-{concern}-{number}");
                let asked = Instant::now();
                let reply = client
                    .post("/v1/screen", &json!({ "text": text, "session": session }))
                    .unwrap();
                let took = asked.elapsed();
                assert_eq!(reply.text("concern"), concern, "{}", reply.body);
                assert!(reply.body["card"]["text"].is_string(), "{}", reply.body);
                std::thread::sleep(Duration::from_millis(2));
                took
            })
            .collect();
        times.sort_unstable();
        (times[times.len() / 2], times[times.len() * 99 / 100])
    })
}

/// A stand-in for a guard model: it passes its self-test, and answers nothing once it hangs.
fn guard() -> (std::net::SocketAddr, Arc<AtomicBool>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (address, hangs) = (listener.local_addr().unwrap(), Arc::new(AtomicBool::new(false)));
    let shared = Arc::clone(&hangs);
    std::thread::spawn(move || {
        let mut open = Vec::new();
        for stream in listener.incoming().map_while(Result::ok) {
            if shared.load(Ordering::Acquire) {
                open.push(stream);
            } else {
                std::thread::spawn(move || answer(stream));
            }
        }
    });
    (address, hangs)
}

fn answer(mut stream: TcpStream) {
    let (mut bytes, mut buffer) = (Vec::new(), [0; 8192]);
    while !String::from_utf8_lossy(&bytes).contains("\"truncate\"") {
        match stream.read(&mut buffer) {
            Ok(read) if read > 0 => bytes.extend_from_slice(&buffer[..read]),
            _ => return,
        }
    }
    let text = String::from_utf8_lossy(&bytes).to_string();
    let said = text.split("<BEGIN CONVERSATION>").nth(1).unwrap_or_default();
    let said = said.split("<END CONVERSATION>").next().unwrap_or_default();
    let self_harm = ["yourself", "want to die"].iter().any(|sign| said.contains(sign));
    let word = match (self_harm, said.contains("bomb")) {
        (true, _) => "unsafe\\nS11",
        (_, true) => "unsafe\\nS9",
        _ => "safe",
    };
    let body = format!(r#"{{"model":"m","response":"{word}","done":true,"done_reason":"stop"}}"#);
    let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len());
    let _ = stream.write_all(format!("{head}{body}").as_bytes());
}
