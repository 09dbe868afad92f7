//! A disk without room, a folder that no one may write to: what passes is written down, or asked
//! about; what is risky does not run; the answer comes in time.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use super::fixture::{RISKY, TestHome, bash};

/// A small file system of its own; gone with the test.
struct SmallDisk(PathBuf);

impl SmallDisk {
    /// Over this folder; nothing, and a word, where that is not allowed.
    fn mount(place: &Path, options: &str) -> Option<SmallDisk> {
        fs::create_dir_all(place).unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", options, "none"]).arg(place);
        if mount.output().is_ok_and(|done| done.status.success()) {
            return Some(SmallDisk(place.to_owned()));
        }
        proof_skip::skip(proof_skip::Cause::Machine, "no file system can be mounted");
        None
    }

    /// Fills it to the last byte.
    fn fill(&self) {
        let mut file = File::create(self.0.join("filler")).unwrap();
        for block in [65_536, 4_096, 1] {
            while file.write(&vec![b'x'; block]).is_ok_and(|written| written > 0) {}
        }
    }

    fn empty(&self) {
        fs::remove_file(self.0.join("filler")).unwrap();
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

/// A look at a file, with a name so long that a few of them fill a page.
fn look(number: usize) -> serde_json::Value {
    bash(&format!("cat notes-{number}-{}.txt", "x".repeat(1_500)), &format!("t{number}"))
}

/// What a hook of little patience says.
fn answer(home: &TestHome, input: &serde_json::Value) -> (String, String) {
    home.says(&["claude", "--patience", "1"], input).claude()
}

/// How many of these calls passed.
fn passed(home: &TestHome, numbers: std::ops::Range<usize>) -> usize {
    numbers.filter(|number| answer(home, &look(*number)).0 == "nothing").count()
}

/// That the ledger comes to hold exactly so many calls that passed.
fn come_into_the_ledger(home: &TestHome, many: usize) {
    let person = home.person();
    let end = Instant::now() + Duration::from_mins(2);
    loop {
        let entries = person.entries(0, 500).unwrap().entries;
        let lines: Vec<String> =
            entries.iter().map(|entry| format!("{entry:?}").replace('\\', "")).collect();
        let found = lines.iter().filter(|line| line.contains("\"kind\":\"pass\"")).count();
        if found == many {
            return;
        }
        assert!(Instant::now() < end && found < many, "{found} of {many}: {lines:#?}");
        // What the next hook would start; one that sends already is left alone.
        home.command(&["hook", "drain"]).status().unwrap();
        std::thread::sleep(Duration::from_millis(200));
    }
}

#[test]
fn on_a_full_disk_no_call_passes_unseen() {
    let mut home = TestHome::empty();
    let place = home.folder.path().join("countersign-gateways");
    let Some(disk) = SmallDisk::mount(&place, "size=256k") else { return };
    // No one sends while the disk is full: the file stays as it is.
    let sender = File::create(place.join("sender.lock")).unwrap();
    sender.lock().unwrap();
    let mut kept = passed(&home, 0..1);
    disk.fill();
    let on_full = passed(&home, 1..4);
    kept += on_full;
    assert!(on_full < 3, "the disk was not full");
    assert_eq!(answer(&home, &bash(RISKY, "risky")).0, "deny");
    // With a daemon they pass through it, and are in its ledger, too.
    home.start();
    kept += passed(&home, 4..6);
    assert_eq!(kept, on_full + 3);
    println!("{on_full} of 3 passed on a full disk without a daemon");
    disk.empty();
    // Behind a line that was cut short: that one is lost, and it did not pass; this one is kept.
    kept += passed(&home, 10..11);
    drop(sender);
    come_into_the_ledger(&home, kept);
    assert_eq!(passed(&home, 6..7), 1);
    come_into_the_ledger(&home, kept + 1);
}

#[test]
fn on_a_full_disk_beneath_the_daemon_nothing_risky_runs() {
    let mut home = TestHome::empty();
    let Some(disk) = SmallDisk::mount(home.folder.path(), "size=8m") else { return };
    home.start();
    let kept = passed(&home, 0..1);
    disk.fill();
    let kept = kept + passed(&home, 1..4);
    for number in 0..2 {
        let (word, why) = answer(&home, &bash(&format!("{RISKY}/{number}"), "risky"));
        assert!(word == "deny" && why.contains("not run"), "{why}");
    }
    println!("{} of 3 passed on a full disk", kept - 1);
    disk.empty();
    come_into_the_ledger(&home, kept);
    assert_eq!(passed(&home, 4..6), 2);
    come_into_the_ledger(&home, kept + 2);
    home.kill();
}

#[test]
fn where_nothing_may_be_written_a_call_goes_through_the_daemon() {
    let mut home = TestHome::empty();
    let place = home.folder.path().join("countersign-gateways");
    let Some(_disk) = SmallDisk::mount(&place, "ro") else { return };
    let (word, why) = answer(&home, &look(0));
    assert!(word == "deny" && why.contains("no person could be asked"), "{why}");
    home.start();
    assert_eq!(passed(&home, 0..3), 3);
    come_into_the_ledger(&home, 3);
}
