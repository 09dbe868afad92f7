//! The web inbox in a real browser: people log in, see what comes, and answer it.

use proofs::house::{House, OPEN_HOUSE};

use crate::setting::{Setting, alone, browse, has_browser};

#[test]
fn people_see_and_answer_in_a_browser() {
    let _alone = alone();
    if !has_browser("inbox") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let setting = Setting::new(House::new(folder.path(), OPEN_HOUSE).unwrap());
    browse("inbox", "gate/inbox.mjs", &setting, &[]);
}
