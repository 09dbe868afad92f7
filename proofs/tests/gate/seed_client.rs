//! Clients of the first daemon work unchanged, but can no longer talk their way through.

use proof_skip::{Cause, skip};
use proofs::house::{House, OPEN_HOUSE};

use crate::setting::{Setting, has, run, say, shared};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/gate/seed_client.py");

#[test]
fn a_client_of_the_first_daemon_works_unchanged() {
    let _shared = shared();
    if !has("python3") {
        return skip(Cause::Tool, "Python is not installed");
    }
    let folder = tempfile::tempdir().unwrap();
    let setting = Setting::new(House::new(folder.path(), OPEN_HOUSE).unwrap());
    let door = setting.gate.agents.to_string();
    let (well, out) = run(&["python3", SCRIPT, &door, &setting.owner]);
    assert!(well, "{out}");
    say(&format!("seed client: {} things hold", out.lines().count()));
}
