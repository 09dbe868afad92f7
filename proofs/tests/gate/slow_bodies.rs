//! Connections that send their body slowly do not lock people out, with few file descriptors.

use std::io::Write as _;
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use proofs::installation::TestInstallation;

use crate::fixture::{Fixture, alone, report_figures, size};

/// More than a process may open with `ulimit -n 1024`.
const CONNECTIONS: usize = 1_100;
const HEAD: &str = "POST /confirm HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: \
                    application/json\r\ncontent-length: 1000\r\n\r\n{";

/// Opens connections and sends a byte of each body now and then, again and again.
fn trickle(to: SocketAddr, is_over: &AtomicBool) {
    let mut open: Vec<TcpStream> = Vec::new();
    while !is_over.load(Ordering::Relaxed) {
        open.retain_mut(|stream| stream.write_all(b" ").is_ok());
        while open.len() < CONNECTIONS / 4 {
            let Ok(mut stream) = TcpStream::connect_timeout(&to, Duration::from_secs(1)) else {
                break;
            };
            let _ = stream.set_nonblocking(true);
            let head = HEAD.replace("127.0.0.1", &to.to_string());
            if stream.write_all(head.as_bytes()).is_ok() {
                open.push(stream);
            }
        }
        thread::sleep(Duration::from_millis(500));
    }
}

/// The 99th percentile of reading the list of pending requests so often.
fn p99(fixture: &Fixture, readings: usize) -> Duration {
    let mut took = Vec::new();
    while took.len() < readings {
        let start = Instant::now();
        // A connection of its own: a person who opens the inbox now.
        let reply = fixture.owner_client().get("/v1/requests?state=pending").unwrap();
        assert_eq!(reply.status, 200, "{}", reply.body);
        took.push(start.elapsed());
        thread::sleep(Duration::from_millis(20));
    }
    took.sort_unstable();
    *took.get(took.len() * 99 / 100).unwrap()
}

#[test]
fn people_are_served_while_a_flood_sends_its_bodies_slowly() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let script = "ulimit -n 1024; exec \"$0\" \"$@\"";
    let installation = TestInstallation::new(folder.path(), "").unwrap();
    let fixture = Fixture::new(installation.wrapped(&["bash", "-c", script]));
    // The long run takes 150 seconds.
    let (short, long) = (800, 6_500);
    let readings = size(short, long);
    let idle = p99(&fixture, 200);
    let (is_over, to) = (AtomicBool::new(false), fixture.gate.agents);
    let busy = thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| trickle(to, &is_over));
        }
        let busy = p99(&fixture, readings);
        is_over.store(true, Ordering::Relaxed);
        busy
    });
    report_figures(&format!(
        "slow bodies, {readings} readings: p99 {idle:?} idle, {busy:?} in a flood"
    ));
    // Every reading was answered. In a short run the machine's own noise decides how fast.
    if readings == long {
        assert!(busy <= idle * 2, "{idle:?} idle, {busy:?} in a flood");
    }
}
