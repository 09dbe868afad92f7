//! Drills in a real browser: ordered, answered, told at once, counted.

use proofs::house::{House, OPEN_HOUSE};

use crate::setting::{Setting, browse, has_browser, shared};

#[test]
fn a_drill_looks_like_any_other_until_it_is_answered() {
    let _shared = shared();
    if !has_browser("drill") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let setting = Setting::new(House::new(folder.path(), OPEN_HOUSE).unwrap());
    browse("drill", "people/drill.mjs", &setting, &[]);
}
