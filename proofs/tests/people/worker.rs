//! The worker behind the inbox in a real browser: notifications, and what their buttons can do.

use proofs::installation::{TestInstallation, UNLIMITED};

use crate::fixture::{Fixture, browse, has_browser, shared};

#[test]
fn a_notification_can_deny_and_never_approve() {
    let _shared = shared();
    if !has_browser("worker") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let fixture = Fixture::new(TestInstallation::new(folder.path(), UNLIMITED).unwrap());
    browse("worker", "people/worker.mjs", &fixture, &[]);
}
