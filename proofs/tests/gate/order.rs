//! Under strace: no decided answer leaves before its commit was synced to the disk.

use std::collections::HashMap;
use std::path::Path;
use std::time::{Duration, Instant};

use proof_skip::{Cause, skip};
use proofs::installation::{TestInstallation, UNLIMITED};

use crate::fixture::{Fixture, decide, has, report_figures, risky, shared, size};

#[test]
fn a_decided_answer_leaves_after_its_commit_reached_the_disk() {
    let _shared = shared();
    if !has("strace") {
        return skip(Cause::Tool, "strace is not installed");
    }
    let many = size(100, 1_000);
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("trace");
    let installation =
        TestInstallation::new(&folder.path().join("installation"), UNLIMITED).unwrap();
    let calls = "trace=fsync,fdatasync,pwrite64,sendto,sendmsg,write,writev,recvfrom,read";
    let installation = installation.wrapped(&[
        "strace",
        "-f",
        "-y",
        "-s",
        "16384",
        "-e",
        calls,
        "-o",
        trace.to_str().unwrap(),
    ]);
    let fixture = Fixture::new(installation);
    let mut ends = HashMap::new();
    for number in 0..many {
        let (mut agent_client, mut waits, mut owner_client) =
            (fixture.agent_client(), fixture.agent_client(), fixture.owner_client());
        let reply = agent_client.post("/v1/requests", &risky(number)).unwrap();
        let (id, digest) = (reply.text("id").to_owned(), reply.text("digest").to_owned());
        waits.write("GET", &format!("/v1/requests/{id}/wait?seconds=60"), &[], None).unwrap();
        let decided = decide(&mut owner_client, &id, &digest, number % 3 != 0).unwrap();
        let waited = waits.read().unwrap();
        assert_eq!((decided.status, waited.status), (200, 200), "{}", decided.body);
        assert_eq!(decided.text("state"), waited.text("state"));
        ends.insert(id, decided.text("state").to_owned());
    }
    // Dropping kills strace only; asked to stop, it lets the daemon end.
    stop(&fixture);
    let answers = read(&trace, &ends);
    assert_eq!(answers, 2 * many, "answers found in the trace");
    report_figures(&format!(
        "order: {answers} of {} decided answers left after fdatasync",
        2 * many
    ));
}

/// The daemon is strace's child: SIGTERM goes to it.
fn stop(fixture: &Fixture) {
    let children = format!("/proc/{0}/task/{0}/children", fixture.gate.id());
    let child = std::fs::read_to_string(children).unwrap();
    for id in child.split_whitespace() {
        crate::fixture::run(&["kill", "-TERM", id]);
    }
    let gone = || !std::path::Path::new(&format!("/proc/{}", child.trim())).exists();
    let end = Instant::now() + Duration::from_mins(2);
    while !gone() {
        assert!(Instant::now() < end, "the daemon does not stop");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The position of the decided request in the trace.
#[derive(Default)]
struct Steps<'t> {
    id: &'t str,
    /// The thread that wrote its end into the log, once it has.
    written: Option<&'t str>,
    synced: bool,
}

/// Reads the trace in order; counts the answers that say how a request ended. Its own commit is
/// known by the page that holds its end in the ledger; other commits happen at the same time.
fn read(trace: &Path, ends: &HashMap<String, String>) -> usize {
    let text = String::from_utf8_lossy(&std::fs::read(trace).unwrap()).into_owned();
    let (mut steps, mut answers) = (Steps::default(), 0);
    // A call that another thread's line interrupts is finished later: whose commit it was.
    let mut syncing: HashMap<&str, &str> = HashMap::new();
    for line in text.lines() {
        let Some((thread, call)) = line.split_once(' ') else { continue };
        let call = call.trim_start();
        let is = |names: &[&str]| names.iter().any(|name| call.starts_with(name));
        if let Some((before, _)) = call.split_once("/decision HTTP") {
            let id = before.rsplit('/').next().unwrap_or_default();
            steps = Steps { id, ..Steps::default() };
        } else if is(&["pwrite64("]) && call.contains("countersign.db-wal>") {
            if steps.written.is_none() && holds_the_end(call, steps.id) {
                steps.written = Some(thread);
            }
        } else if is(&["fdatasync(", "fsync("]) && call.contains("countersign.db-wal>") {
            if steps.written != Some(thread) {
                continue;
            }
            if call.contains("<unfinished") {
                syncing.insert(thread, steps.id);
            } else {
                steps.synced |= call.ends_with("= 0");
            }
        } else if is(&["<... fdatasync resumed>", "<... fsync resumed>"]) {
            let ours = syncing.remove(thread) == Some(steps.id);
            steps.synced |= ours && call.ends_with("= 0");
        } else if is(&["sendto(", "sendmsg(", "write(", "writev("]) && call.contains("HTTP/1.1 ") {
            answers += usize::from(leaves(call, &steps, ends));
        }
    }
    answers
}

/// Whether a page holds the ledger's entry of this request's end.
fn holds_the_end(call: &str, id: &str) -> bool {
    let mention = format!("\\\"request\\\":\\\"{id}\\\"");
    let mut before = call.split(&mention).collect::<Vec<_>>();
    // What follows the last mention says nothing about this request.
    before.pop();
    before.iter().any(|text| {
        let kind = text.rsplit("\\\"kind\\\":").next().unwrap_or_default();
        kind.starts_with("\\\"approve\\\"") || kind.starts_with("\\\"deny\\\"")
    })
}

/// Whether this line is an answer that says how the request ended; it must not leave too early.
fn leaves(call: &str, steps: &Steps<'_>, ends: &HashMap<String, String>) -> bool {
    let Some(state) = ends.get(steps.id) else { return false };
    let says = format!("\\\"state\\\":\\\"{state}\\\"");
    if !call.contains(steps.id) || !call.contains(&says) {
        return false;
    }
    let kept = steps.written.is_some() && steps.synced;
    assert!(kept, "{} was answered before it was kept:\n{call}", steps.id);
    true
}
