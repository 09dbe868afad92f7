//! The web inbox in a real browser: people sign in, see requests and decide them.

use proofs::installation::{TestInstallation, UNLIMITED};

use crate::fixture::{Fixture, alone, browse, has_browser};

#[test]
fn people_see_and_answer_in_a_browser() {
    let _alone = alone();
    if !has_browser("inbox") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let fixture = Fixture::new(TestInstallation::new(folder.path(), UNLIMITED).unwrap());
    browse("inbox", "gate/inbox.mjs", &fixture, &[]);
}
