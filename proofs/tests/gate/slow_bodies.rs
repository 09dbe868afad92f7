//! Connections that send their body slowly do not lock people out, with few file descriptors, on
//! whichever port they are.

use std::io::Write as _;
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use proofs::installation::TestInstallation;

use crate::fixture::{Fixture, alone, report_figures, size};

/// More than a process may open with `ulimit -n 1024`.
const CONNECTIONS: usize = 1_100;
const THREADS: usize = 4;
/// How often each connection sends a byte.
const EVERY: Duration = Duration::from_millis(500);

/// Keeps connections open and sends a byte of each body now and then, each in its own time. One
/// that was closed is opened again.
fn trickle(to: SocketAddr, path: &str, is_over: &AtomicBool) {
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: {to}\r\ncontent-type: application/json\r\n\
         content-length: 1000\r\n\r\n{{"
    );
    let open = || {
        let mut stream = TcpStream::connect_timeout(&to, Duration::from_secs(1)).ok()?;
        stream.set_nonblocking(true).ok()?;
        stream.write_all(head.as_bytes()).ok()?;
        Some(stream)
    };
    let mut streams: Vec<Option<TcpStream>> = Vec::new();
    streams.resize_with(CONNECTIONS / THREADS, || None);
    let pause = EVERY / u32::try_from(streams.len()).unwrap();
    let mut next = 0;
    while !is_over.load(Ordering::Relaxed) {
        let stream = &mut streams[next];
        if stream.as_mut().is_none_or(|stream| stream.write_all(b" ").is_err()) {
            *stream = open();
        }
        next = (next + 1) % streams.len();
        thread::sleep(pause);
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
    // The long run takes 150 seconds for each port.
    let (short, long) = (400, 6_500);
    let readings = size(short, long);
    for port in ["agents", "people"] {
        let folder = tempfile::tempdir().unwrap();
        let script = "ulimit -n 1024; exec \"$0\" \"$@\"";
        let installation = TestInstallation::new(folder.path(), "").unwrap();
        let fixture = Fixture::new(installation.wrapped(&["bash", "-c", script]));
        let (to, path) = match port {
            "agents" => (fixture.gate.agents, "/confirm"),
            _ => (fixture.gate.people, "/v1/login"),
        };
        let (idle, is_over) = (p99(&fixture, 200), AtomicBool::new(false));
        let busy = thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| trickle(to, path, &is_over));
            }
            let busy = p99(&fixture, readings);
            // A person can sign in as well.
            let signed_in = fixture.gate.owner();
            is_over.store(true, Ordering::Relaxed);
            signed_in.unwrap();
            busy
        });
        report_figures(&format!(
            "slow bodies at the {port}' port, {readings} readings: p99 {idle:?} idle, {busy:?} in \
             a flood"
        ));
        // Every reading was answered. In a short run the machine's own noise decides how fast.
        if readings == long {
            assert!(busy <= idle * 2, "{port}: {idle:?} idle, {busy:?} in a flood");
        }
    }
}
