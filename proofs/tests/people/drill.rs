//! Drills in a real browser: ordered, answered, told at once, counted.

use proofs::house::{House, OPEN_HOUSE};

use crate::setting::{Setting, alone, browse, has_browser};

#[test]
fn a_drill_looks_like_any_other_until_it_is_answered() {
    let _alone = alone();
    if !has_browser("drill") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let setting = Setting::new(House::new(folder.path(), OPEN_HOUSE).unwrap());
    browse("drill", "people/drill.mjs", &setting, &[]);
}
