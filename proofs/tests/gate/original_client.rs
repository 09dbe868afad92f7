//! Clients of the original API work unchanged, but can no longer approve their own requests.

use proof_skip::{Cause, skip};
use proofs::installation::{TestInstallation, UNLIMITED};

use crate::fixture::{Fixture, has, report_figures, run, shared};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/gate/original_client.py");

#[test]
fn a_client_of_the_first_daemon_works_unchanged() {
    let _shared = shared();
    if !has("python3") {
        return skip(Cause::Tool, "Python is not installed");
    }
    let folder = tempfile::tempdir().unwrap();
    // HIGH without the digest and a word of the call is off unless it is asked for.
    let settings = format!("respond_without_word = true\n{UNLIMITED}");
    let fixture = Fixture::new(TestInstallation::new(folder.path(), &settings).unwrap());
    let endpoint = fixture.gate.agents.to_string();
    let (well, out) = run(&["python3", SCRIPT, &endpoint, &fixture.owner]);
    assert!(well, "{out}");
    report_figures(&format!("seed client: {} things hold", out.lines().count()));
}
