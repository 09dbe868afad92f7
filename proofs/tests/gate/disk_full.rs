//! A full disk: nothing is approved without being stored, and the daemon stays up and recovers.

use std::collections::HashMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use proof_skip::{Cause, skip};
use proofs::http::Client;
use proofs::installation::{TestInstallation, UNLIMITED};

use crate::fixture::{Fixture, decide, harmless, report_figures, risky, run, shared};
use crate::records;

const REQUESTS: usize = 500;
/// Passes that may be answered before their commit (`reserve` in the store's options).
const RESERVE: usize = 4_096;

/// A small file system of its own; gone with the proof.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn mount(place: &Path) -> Option<SmallDisk> {
        std::fs::create_dir_all(place).unwrap();
        let name = place.to_str().unwrap();
        let (done, _) = run(&["mount", "-t", "tmpfs", "-o", "size=8m", "none", name]);
        done.then(|| SmallDisk(place.to_owned()))
    }

    /// Fills it to the last byte.
    fn fill(&self) {
        let mut file = std::fs::File::create(self.0.join("filler")).unwrap();
        for block in [65_536, 4_096, 1] {
            while file.write(&vec![b'x'; block]).is_ok_and(|written| written > 0) {}
        }
    }

    fn empty(&self) {
        std::fs::remove_file(self.0.join("filler")).unwrap();
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        run(&["umount", "-l", self.0.to_str().unwrap()]);
    }
}

#[derive(Default, Debug)]
struct Tally {
    unavailable: usize,
    /// Kept although the disk is nearly full: there was room for these.
    kept: usize,
    passed: usize,
    passed_after_a_refusal: usize,
}

#[test]
fn nothing_is_approved_on_a_full_disk_and_it_recovers() {
    let _shared = shared();
    let folder = tempfile::tempdir().unwrap();
    let Some(disk) = SmallDisk::mount(&folder.path().join("disk")) else {
        return skip(Cause::Machine, "no file system can be mounted");
    };
    let mut fixture =
        Fixture::new(TestInstallation::new(&disk.0.join("installation"), UNLIMITED).unwrap());
    let open: Vec<_> =
        (0..50).map(|number| asked(&mut fixture.agent_client(), number).unwrap()).collect();
    assert_eq!(Client::new(fixture.gate.agents).get("/ready").unwrap().status, 200);
    disk.fill();
    let mut answered = HashMap::new();
    let tally = starve(&fixture, &open, &mut answered);
    let ready = Client::new(fixture.gate.agents).get("/ready").unwrap();
    assert_eq!(ready.status, 503, "ready on a full disk");
    assert!(fixture.gate.is_alive());
    assert!(tally.unavailable > REQUESTS / 2, "the disk was not full: {tally:?}");
    assert!(tally.passed <= RESERVE);
    disk.empty();
    let (start, end) = (Instant::now(), Instant::now() + Duration::from_mins(2));
    while Client::new(fixture.gate.agents).get("/ready").unwrap().status != 200 {
        assert!(Instant::now() < end, "does not recover");
        std::thread::sleep(Duration::from_millis(20));
    }
    let recovered = start.elapsed();
    let (id, digest) = asked(&mut fixture.agent_client(), 1_000_000).unwrap();
    let reply = decide(&mut fixture.owner_client(), &id, &digest, true).unwrap();
    assert_eq!(reply.text("state"), "approved");
    answered.insert(id, "approved".to_owned());
    assert!(fixture.gate.stop().unwrap());
    let ids = answered.keys().map(String::as_str);
    let records = records::read(&fixture.installation.store(), ids);
    assert_eq!(records.states, answered, "answered, but not kept");
    assert_eq!(records::integrity(&fixture.installation.store()), "ok");
    report_figures(&format!(
        "disk full: {REQUESTS} requests, {tally:?}, ready again after {recovered:.1?}"
    ));
}

fn asked(client: &mut Client, number: usize) -> Option<(String, String)> {
    let reply = client.post("/v1/requests", &risky(number)).unwrap();
    match reply.status {
        200 | 201 => Some((reply.text("id").to_owned(), reply.text("digest").to_owned())),
        _ => {
            assert_eq!((reply.status, reply.text("outcome")), (503, "unavailable"));
            None
        }
    }
}

/// New questions, yes to what is open, and harmless calls, in turn.
fn starve(
    fixture: &Fixture,
    open: &[(String, String)],
    answered: &mut HashMap<String, String>,
) -> Tally {
    let (mut agent_client, mut owner_client) = (fixture.agent_client(), fixture.owner_client());
    let (mut tally, mut open) = (Tally::default(), open.iter().cycle());
    for number in 0..REQUESTS {
        match number % 3 {
            0 => match asked(&mut agent_client, 10_000 + number) {
                Some((id, _)) => {
                    answered.insert(id, "pending".to_owned());
                    tally.kept += 1;
                }
                None => tally.unavailable += 1,
            },
            1 => {
                let (id, digest) = open.next().unwrap();
                let reply = decide(&mut owner_client, id, digest, true).unwrap();
                match reply.status {
                    200 => {
                        answered.insert(id.clone(), reply.text("state").to_owned());
                        tally.kept += 1;
                    }
                    409 => tally.kept += 1,
                    _ => {
                        assert_eq!(reply.status, 503, "{}", reply.body);
                        tally.unavailable += 1;
                    }
                }
            }
            _ => match agent_client.post("/v1/requests", &harmless()).unwrap().status {
                200 => {
                    tally.passed += 1;
                    tally.passed_after_a_refusal += usize::from(tally.unavailable > 0);
                }
                _ => tally.unavailable += 1,
            },
        }
    }
    tally
}
