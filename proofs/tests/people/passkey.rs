//! Passkeys in a real browser with a virtual authenticator: added, used, stolen, copied.

use proofs::installation::{TestInstallation, UNLIMITED};

use crate::fixture::{Fixture, browse, has_browser, shared};

#[test]
fn a_passkey_signs_what_is_critical_and_nothing_else_does() {
    let _shared = shared();
    if !has_browser("passkey") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let fixture = Fixture::new(TestInstallation::new(folder.path(), UNLIMITED).unwrap());
    browse("passkey", "people/passkey.mjs", &fixture, &[]);
}
