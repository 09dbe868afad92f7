//! What changed after the call is not overwritten, and nothing is lost.

use std::fs;

use countersign_snapshot::{EntryState, SnapshotError, changes};

use crate::listing::{LIMITS, NOW, label, scratch};

#[test]
fn a_file_that_changed_again_is_only_overwritten_by_force_and_can_be_brought_back() {
    let scratch = scratch();
    let file = scratch.project.join("file");
    fs::write(&file, "before").unwrap();
    let record = scratch.store.take(label("k"), std::slice::from_ref(&file), LIMITS, NOW).unwrap();
    fs::write(&file, "by the agent").unwrap();
    scratch.store.record_after(&record, LIMITS, NOW).unwrap();
    fs::write(&file, "by a person").unwrap();
    assert_eq!(scratch.store.plan(&record.id).unwrap().conflicts, std::slice::from_ref(&file));
    let refused = scratch.store.restore(&record.id, false, NOW + 1).unwrap_err();
    assert!(matches!(refused, SnapshotError::Conflicts(paths) if paths == [file.clone()]));
    assert_eq!(fs::read_to_string(&file).unwrap(), "by a person");
    let report = scratch.store.restore(&record.id, true, NOW + 2).unwrap();
    assert_eq!(fs::read_to_string(&file).unwrap(), "before");
    scratch.store.restore(&report.redo.unwrap(), false, NOW + 3).unwrap();
    assert_eq!(fs::read_to_string(&file).unwrap(), "by a person");
}

#[test]
fn a_new_folder_with_other_files_is_not_removed_silently() {
    let scratch = scratch();
    let new = scratch.project.join("new/deep/file");
    let record = scratch.store.take(label("k"), std::slice::from_ref(&new), LIMITS, NOW).unwrap();
    assert_eq!(record.root_paths(), [scratch.project.join("new")]);
    fs::create_dir_all(new.parent().unwrap()).unwrap();
    fs::write(&new, "x").unwrap();
    scratch.store.record_after(&record, LIMITS, NOW).unwrap();
    let mine = scratch.project.join("new/mine");
    fs::write(&mine, "mine").unwrap();
    let refused = scratch.store.restore(&record.id, false, NOW + 1).unwrap_err();
    assert!(matches!(refused, SnapshotError::Conflicts(paths) if paths == [mine.clone()]));
    fs::remove_file(&mine).unwrap();
    scratch.store.restore(&record.id, false, NOW + 2).unwrap();
    assert!(!scratch.project.join("new").exists());
}

#[test]
fn files_that_the_call_did_not_touch_stay() {
    let scratch = scratch();
    fs::write(scratch.project.join("a"), "a").unwrap();
    let roots = [scratch.project.clone()];
    let record = scratch.store.take(label("k"), &roots, LIMITS, NOW).unwrap();
    fs::write(scratch.project.join("a"), "changed").unwrap();
    scratch.store.record_after(&record, LIMITS, NOW).unwrap();
    fs::write(scratch.project.join("later"), "mine").unwrap();
    scratch.store.restore(&record.id, false, NOW + 1).unwrap();
    assert_eq!(fs::read_to_string(scratch.project.join("a")).unwrap(), "a");
    assert_eq!(fs::read_to_string(scratch.project.join("later")).unwrap(), "mine");
    // Restoring twice does nothing more.
    assert_eq!(scratch.store.restore(&record.id, false, NOW + 2).unwrap().restored.len(), 0);
}

#[test]
fn without_a_recorded_end_the_next_snapshot_says_what_the_call_left() {
    let scratch = scratch();
    let file = scratch.project.join("file");
    fs::write(&file, "1").unwrap();
    let first = scratch.store.take(label("1"), std::slice::from_ref(&file), LIMITS, NOW).unwrap();
    fs::write(&file, "2").unwrap();
    let second =
        scratch.store.take(label("2"), std::slice::from_ref(&file), LIMITS, NOW + 1).unwrap();
    fs::write(&file, "3").unwrap();
    let after = scratch.store.after_of(&first).unwrap();
    let change = &changes(&first.before, &after)[0];
    let EntryState::File { sha256, .. } = &change.after else { panic!("no file") };
    assert_eq!(scratch.store.content(sha256, 100).unwrap(), b"2");
    // The later call has to be undone first.
    assert!(scratch.store.restore(&first.id, false, NOW + 2).is_err());
    scratch.store.restore(&second.id, false, NOW + 3).unwrap();
    scratch.store.restore(&first.id, false, NOW + 4).unwrap();
    assert_eq!(fs::read_to_string(&file).unwrap(), "1");
}
