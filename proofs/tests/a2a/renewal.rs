//! A node renews its own certificate before it expires, and serves with the new one.

use std::time::Duration;

use countersign_a2a::OutgoingTask;
use countersign_tls::CertificateFacts;
use serde_json::json;

use crate::fixture::{ECHO, Fleet, HANG, state, until};

const DAY: i64 = 86_400;

#[test]
fn a_certificate_with_less_than_a_third_left_is_renewed_while_the_node_runs() {
    // Issued six days ago for seven days.
    let mut fleet = Fleet::with_clock(-6 * DAY);
    let bob = fleet.issue("bob");
    let old = bob.own_certificate().unwrap();
    fleet.kill_daemon();
    std::fs::write(fleet.folder.path().join("clock"), 0_i64.to_ne_bytes()).unwrap();
    fleet.start_daemon();
    let node = fleet.node(ECHO, &json!({ "agents": fleet.socket() }));
    until("the renewal", || (bob.own_certificate().unwrap() != old).then_some(()));
    let new = bob.own_certificate().unwrap();
    let (old, new) =
        (CertificateFacts::parse(&old).unwrap(), CertificateFacts::parse(&new).unwrap());
    assert_eq!(old.public_key, new.public_key, "the key stays");
    assert!(new.not_after.0 > old.not_after.0 + 5 * DAY * 1000);
    let listed = fleet.page("/fleet");
    assert!(listed.contains("as a renewal"), "{listed}");
    let alice = fleet.peer(&fleet.issue("alice"), &node);
    let task = OutgoingTask { text: "After the renewal".to_owned(), ..OutgoingTask::default() };
    let id = alice.send(&task).unwrap()["id"].as_str().unwrap().to_owned();
    fleet.approve("After the renewal");
    let done = alice.wait(&id, (HANG, Duration::from_millis(50)), |_, _| {}).unwrap();
    assert_eq!(state(&done), "TASK_STATE_COMPLETED");
}
