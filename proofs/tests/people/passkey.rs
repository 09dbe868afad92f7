//! Passkeys in a real browser with a virtual authenticator: added, used, stolen, copied.

use proofs::house::{House, OPEN_HOUSE};

use crate::setting::{Setting, browse, has_browser, shared};

#[test]
fn a_passkey_signs_what_is_critical_and_nothing_else_does() {
    let _shared = shared();
    if !has_browser("passkey") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let setting = Setting::new(House::new(folder.path(), OPEN_HOUSE).unwrap());
    browse("passkey", "people/passkey.mjs", &setting, &[]);
}
