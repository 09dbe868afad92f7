//! Random edits (modes, symlinks, deletions, renamed folders) whose restoration is killed at a
//! random moment: repeated, it leaves everything as it was, byte for byte.

use crate::killed::{kill, rounds, same_files, start};
use crate::listing::{LIMITS, NOW, Numbers, assert_same, label, list, scratch};
use crate::random_edits::edit;

/// How many edits make the project, so that a restoration takes long enough to be killed.
const FIRST_EDITS: usize = 400;

#[test]
fn random_edits_are_restored_after_a_kill_in_the_middle() {
    let (mut numbers, mut killed) = (Numbers(0x5eed_1234_abcd_0001), 0);
    for _ in 0..rounds() {
        let scratch = scratch();
        let project = &scratch.project;
        for _ in 0..FIRST_EDITS {
            edit(&mut numbers, project);
        }
        let before = list(project);
        let record =
            scratch.store.take(label("k"), std::slice::from_ref(project), LIMITS, NOW).unwrap();
        for _ in 0..10 + numbers.below(100) {
            edit(&mut numbers, project);
        }
        if numbers.below(2) == 0 {
            scratch.store.record_after(&record, LIMITS, NOW).unwrap();
        }
        let same = || same_files(&before, project);
        let start_at = same();
        let child = start(&format!("restore {}", record.id), scratch.folder.path());
        let most = before.len().saturating_sub(start_at);
        killed += usize::from(kill(child, &mut numbers, most, || same().saturating_sub(start_at)));
        scratch.store.restore(&record.id, false, NOW + 1).unwrap();
        assert_same(&before, &list(project));
    }
    println!("restored {0} of {0} random edits, {killed} killed in the middle", rounds());
    assert!(killed > rounds() / 20, "only {killed} processes were killed in time");
}
