//! Jumps of the clock: nothing is approved after its deadline, or while the clock is behind.

use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use proofs::installation::{TestInstallation, UNLIMITED};
use serde_json::json;

use crate::fixture::{Fixture, decide, report_figures, risky, run, shared, size, within};

/// The offset of the daemon's clock in seconds, in a file that the daemon maps.
pub struct ClockOffset(PathBuf);

impl ClockOffset {
    pub fn set(&self, seconds: i64) {
        // In place and at once: eight aligned bytes are read atomically.
        let mut how = std::fs::OpenOptions::new();
        let file = how.write(true).create(true).truncate(false).open(&self.0).unwrap();
        file.write_all_at(&seconds.to_ne_bytes(), 0).unwrap();
    }
}

/// The library that moves the daemon's clock, built in this folder.
fn library(folder: &Path) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/gate/clock.c");
    let built = folder.join("clock.so");
    let [from, to] = [&source, &built].map(|path| path.to_str().unwrap());
    let (done, said) = run(&["cc", "-shared", "-fPIC", "-O1", "-o", to, from]);
    assert!(done, "{said}");
    built
}

/// A daemon whose clock can be moved.
pub fn fixture_with_clock(folder: &Path, settings: &str) -> (Fixture, ClockOffset) {
    let offset = ClockOffset(folder.join("clock"));
    offset.set(0);
    let installation = TestInstallation::new(&folder.join("installation"), settings).unwrap();
    let installation = installation
        .variable("LD_PRELOAD", library(folder).to_str().unwrap())
        .variable("PROOF_CLOCK", offset.0.to_str().unwrap());
    (Fixture::new(installation), offset)
}

/// After years all credentials have expired: creates new ones.
fn renew_credentials(mut fixture: Fixture, jump: i64) -> Fixture {
    if jump > 86_400 {
        fixture.owner = fixture.gate.owner().unwrap();
        fixture.agent = fixture.gate.agent(&fixture.owner, "later").unwrap();
    }
    fixture
}

/// The id and the digest of a request.
struct Shown(String, String);

fn ask(fixture: &Fixture, number: &mut usize, seconds: f64) -> Shown {
    *number += 1;
    let call = within(risky(*number), seconds);
    let reply = fixture.agent_client().post("/v1/requests", &call).unwrap();
    assert_eq!(reply.status, 201, "{}", reply.body);
    Shown(reply.text("id").to_owned(), reply.text("digest").to_owned())
}

/// The result of a decision.
fn says(fixture: &Fixture, Shown(id, digest): &Shown, yes: bool) -> (u16, String) {
    let reply = decide(&mut fixture.owner_client(), id, digest, yes).unwrap();
    (reply.status, reply.text("state").to_owned())
}

#[derive(Default, Debug)]
struct Tally {
    late: usize,
    held: usize,
    denied: usize,
    approved: usize,
}

#[test]
fn no_jump_of_the_clock_approves_anything_late() {
    let _shared = shared();
    let each = size(10, 800);
    let (start, mut tally) = (Instant::now(), Tally::default());
    let years = 10 * 365 * 86_400;
    for jump in [1, -1, 3_600, -3_600, years, -years] {
        let folder = tempfile::tempdir().unwrap();
        let (fixture, offset) = fixture_with_clock(folder.path(), UNLIMITED);
        let mut number = 0;
        let long: Vec<_> = (0..each).map(|_| ask(&fixture, &mut number, 300.0)).collect();
        let short: Vec<_> = (0..each).map(|_| ask(&fixture, &mut number, 1.0)).collect();
        offset.set(jump);
        // By any clock, one second has passed now.
        std::thread::sleep(Duration::from_millis(1_200));
        for shown in &short {
            let (status, state) = says(&fixture, shown, true);
            assert!(matches!(status, 401 | 409 | 503), "{jump} s: late, and {status} {state}");
            tally.late += 1;
        }
        for shown in &long {
            let said = says(&fixture, shown, true);
            match jump {
                -1..=1 => assert_eq!(said, (200, "approved".to_owned())),
                // By the clock five minutes have passed; after ten years the login has expired too.
                2..=3_600 => assert_eq!(said.0, 409, "{jump} s: {said:?}"),
                3_601.. => assert_eq!(said.0, 401, "{jump} s: {said:?}"),
                _ => assert_eq!(said.0, 503, "{jump} s: {said:?}"),
            }
        }
        let fixture = renew_credentials(fixture, jump);
        if jump > 1 {
            forward_and_back(&fixture, &offset, jump, &mut number, &mut tally);
        }
        if jump < -1 {
            clock_is_behind(&fixture, &mut number, each, &mut tally);
            offset.set(0);
            for shown in &long {
                assert_eq!(says(&fixture, shown, true).1, "approved", "{jump} s: recovers");
                tally.approved += 1;
            }
        }
    }
    report_figures(&format!("clock: 6 jumps, {tally:?}, {:.1?}", start.elapsed()));
}

/// The time of this machine, as the API writes it.
#[expect(clippy::disallowed_methods, reason = "an administrator states the real time")]
fn machine_time() -> String {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    countersign_types::time::Timestamp(i64::try_from(since.as_millis()).unwrap()).to_string()
}

/// A clock that was ten years ahead: an administrator rebases it, and the store stays.
#[test]
fn a_clock_that_was_ahead_is_rebased_without_losing_the_store() {
    let _shared = shared();
    let folder = tempfile::tempdir().unwrap();
    let years = 10 * 365 * 86_400;
    let (fixture, offset) = fixture_with_clock(folder.path(), UNLIMITED);
    offset.set(years);
    let fixture = renew_credentials(fixture, years);
    let mut number = 0;
    let used = ask(&fixture, &mut number, 300.0);
    assert_eq!(says(&fixture, &used, true).1, "approved");
    offset.set(0);
    let open = ask(&fixture, &mut number, 300.0);
    assert_eq!(says(&fixture, &open, true).0, 503, "approved while the clock stands back");
    let body = json!({ "time": machine_time(), "reason": "the battery was empty" });
    let rebased = fixture.owner_client().post("/v1/ledger/clock", &body).unwrap();
    assert_eq!(rebased.status, 200, "{}", rebased.body);
    let Fixture { installation, mut gate, .. } = fixture;
    let passphrase = gate.passphrase.clone();
    let end = Instant::now() + Duration::from_mins(2);
    while gate.is_alive() {
        assert!(Instant::now() < end, "the daemon did not stop");
        std::thread::sleep(Duration::from_millis(20));
    }
    let mut gate = installation.start().unwrap();
    gate.passphrase = passphrase;
    let owner = gate.owner().unwrap();
    let agent = gate.agent(&owner, "after").unwrap();
    let fixture = Fixture { installation, gate, owner, agent };
    let shown = ask(&fixture, &mut number, 300.0);
    assert_eq!(says(&fixture, &shown, true), (200, "approved".to_owned()));
    for Shown(id, _) in [&open, &used] {
        let old = fixture.owner_client().get(&format!("/v1/requests/{id}")).unwrap();
        assert_eq!(old.status, 200, "{}", old.body);
    }
    let old = fixture.owner_client().get(&format!("/v1/requests/{}", open.0)).unwrap();
    assert_eq!(old.text("state"), "expired", "{}", old.body);
    report_figures("clock: ten years ahead and back, rebased; the store has all its requests");
}

/// After a jump forwards: approvals work, stop when the clock is set back, and work again when it
/// has caught up.
fn forward_and_back(
    fixture: &Fixture,
    offset: &ClockOffset,
    forwards: i64,
    number: &mut usize,
    tally: &mut Tally,
) {
    let shown = ask(fixture, number, 300.0);
    assert_eq!(says(fixture, &shown, true).1, "approved", "after a jump forwards");
    offset.set(0);
    clock_is_behind(fixture, number, 10, tally);
    offset.set(forwards);
    let shown = ask(fixture, number, 300.0);
    assert_eq!(says(fixture, &shown, true).1, "approved", "caught up");
    tally.approved += 2;
}

/// The clock is behind the stored times: approvals are rejected, denials are accepted.
fn clock_is_behind(fixture: &Fixture, number: &mut usize, each: usize, tally: &mut Tally) {
    for _ in 0..each {
        let shown = ask(fixture, number, 300.0);
        let said = says(fixture, &shown, true);
        assert_eq!(said.0, 503, "approved while the clock stands back: {said:?}");
        tally.held += 1;
        assert_eq!(says(fixture, &shown, false), (200, "denied".to_owned()));
        tally.denied += 1;
    }
}
