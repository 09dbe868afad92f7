//! The worker behind the inbox in a real browser: notifications, and what their buttons can do.

use proofs::house::{House, OPEN_HOUSE};

use crate::setting::{Setting, browse, has_browser, shared};

#[test]
fn a_notification_can_deny_and_never_approve() {
    let _shared = shared();
    if !has_browser("worker") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let setting = Setting::new(House::new(folder.path(), OPEN_HOUSE).unwrap());
    browse("worker", "people/worker.mjs", &setting, &[]);
}
