//! Drills in a real browser: ordered, answered, told at once, counted.

use proofs::installation::{TestInstallation, UNLIMITED};

use crate::fixture::{Fixture, browse, has_browser, shared};

#[test]
fn a_drill_looks_like_any_other_until_it_is_answered() {
    let _shared = shared();
    if !has_browser("drill") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let fixture = Fixture::new(TestInstallation::new(folder.path(), UNLIMITED).unwrap());
    browse("drill", "people/drill.mjs", &fixture, &[]);
}
