//! A snapshot that was recorded elsewhere: whatever was done to its folder since is noticed, and
//! nothing is restored then.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use countersign_snapshot::{RecordedSnapshot, Retention, SnapshotError, SnapshotRecord};

use crate::listing::{LIMITS, NOW, Scratch, assert_same, label, list, scratch};

/// Two files, a snapshot of both, and both changed.
fn changed(scratch: &Scratch) -> (SnapshotRecord, RecordedSnapshot) {
    let files = ["a", "b"].map(|name| scratch.project.join(name));
    for file in &files {
        fs::write(file, "before").unwrap();
    }
    let taken = scratch.store.take(label("k"), &files, LIMITS, NOW).unwrap();
    fs::write(&files[0], "after").unwrap();
    fs::remove_file(&files[1]).unwrap();
    let record = scratch.store.record_after(&taken, LIMITS, NOW).unwrap();
    let (id, before) = (record.id.clone(), record.before_digest().unwrap());
    assert_eq!(taken.before_digest().as_ref(), Some(&before), "the end of a call changes nothing");
    let after = record.after_digest();
    (record, RecordedSnapshot { id, before, after })
}

fn record_file(scratch: &Scratch) -> PathBuf {
    let folder = scratch.folder.path().join("undo/snapshots");
    fs::read_dir(folder).unwrap().next().unwrap().unwrap().path()
}

fn objects(scratch: &Scratch) -> Vec<PathBuf> {
    let folder = scratch.folder.path().join("undo/objects");
    let folders = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let inside = |folder: PathBuf| fs::read_dir(folder).unwrap().map(|e| e.unwrap().path());
    folders.flat_map(inside).collect()
}

/// Restoring fails, and no file changes.
fn refused(scratch: &Scratch, recorded: &RecordedSnapshot) -> SnapshotError {
    let before = list(&scratch.project);
    let error = scratch.store.restore_recorded(recorded, true, NOW + 1).unwrap_err();
    assert_same(&before, &list(&scratch.project));
    error
}

#[test]
fn an_untouched_snapshot_is_restored() {
    let scratch = scratch();
    let (_, recorded) = changed(&scratch);
    let report = scratch.store.restore_recorded(&recorded, false, NOW + 1).unwrap();
    assert_eq!(report.restored.len(), 2);
    assert_eq!(fs::read_to_string(scratch.project.join("a")).unwrap(), "before");
    assert_eq!(fs::read_to_string(scratch.project.join("b")).unwrap(), "before");
    // Repeating it changes nothing: the first one may have been interrupted after its last step.
    let again = scratch.store.restore_recorded(&recorded, false, NOW + 2).unwrap();
    assert!(again.restored.is_empty());
}

#[test]
fn an_edited_record_is_not_restored() {
    let edits: [fn(&str) -> String; 4] = [
        // Another place, another mode, another time, another content after the call.
        |text| text.replace("project/b", "project/c"),
        |text| text.replacen("\"mode\":", "\"mode\":1", 1),
        |text| text.replacen("\"at_ms\":1", "\"at_ms\":2", 1),
        |text| {
            let (before, after) = text.split_once("\"after\":").unwrap();
            format!("{before}\"after\":{}", after.replacen("\"size\":5", "\"size\":6", 1))
        },
    ];
    for edit in edits {
        let scratch = scratch();
        let (_, recorded) = changed(&scratch);
        let file = record_file(&scratch);
        let text = fs::read_to_string(&file).unwrap();
        let edited = edit(&text);
        assert_ne!(text, edited);
        fs::write(&file, edited).unwrap();
        let error = refused(&scratch, &recorded);
        assert!(matches!(error, SnapshotError::Edited(_)), "{error}");
    }
}

#[test]
fn another_snapshot_in_its_place_or_none_is_not_restored() {
    let scratch = scratch();
    let (record, recorded) = changed(&scratch);
    let file = record_file(&scratch);
    fs::write(scratch.project.join("a"), "chosen by the agent").unwrap();
    let place = [scratch.project.join("a")];
    let other = scratch.store.take(label("k"), &place, LIMITS, NOW + 1).unwrap();
    let forged = SnapshotRecord { id: record.id, at_ms: record.at_ms, ..other };
    fs::write(&file, serde_json::to_vec(&forged).unwrap()).unwrap();
    assert!(matches!(refused(&scratch, &recorded), SnapshotError::Edited(_)));
    fs::remove_file(&file).unwrap();
    assert!(matches!(refused(&scratch, &recorded), SnapshotError::Edited(_)));
}

#[test]
fn a_forged_missing_or_endless_content_is_noticed_before_the_first_step() {
    let attacks: [fn(&Path); 3] = [
        |path| fs::write(path, "forged").unwrap(),
        |path| fs::remove_file(path).unwrap(),
        |path| {
            fs::remove_file(path).unwrap();
            assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
        },
    ];
    for attack in attacks {
        let scratch = scratch();
        let (_, recorded) = changed(&scratch);
        for path in &objects(&scratch) {
            attack(path);
        }
        let error = refused(&scratch, &recorded);
        assert!(matches!(error, SnapshotError::Damaged(_)), "{error}");
    }
}

#[test]
fn a_folder_of_other_users_is_not_believed() {
    let scratch = scratch();
    let (_, recorded) = changed(&scratch);
    let undo = scratch.folder.path().join("undo");
    fs::set_permissions(&undo, fs::Permissions::from_mode(0o777)).unwrap();
    assert!(matches!(refused(&scratch, &recorded), SnapshotError::UnsafeFolder(_)));
}

#[test]
fn a_held_snapshot_is_not_removed_before_its_time() {
    let scratch = scratch();
    let (record, recorded) = changed(&scratch);
    scratch.store.hold(&record, NOW + 1_000).unwrap();
    let nothing = Retention { age_ms: 0, bytes: 0, count: 0 };
    let pruned = scratch.store.prune(nothing, NOW + 500).unwrap();
    assert_eq!((pruned.snapshots, pruned.left), (0, 1));
    scratch.store.restore_recorded(&recorded, false, NOW + 500).unwrap();
    scratch.store.prune(nothing, NOW + 1_000).unwrap();
    assert!(scratch.store.records().unwrap().is_empty());
}

#[test]
fn a_change_since_the_snapshot_is_noticed() {
    let scratch = scratch();
    let file = scratch.project.join("a");
    fs::write(&file, "before").unwrap();
    let paths = [file.clone(), scratch.project.join("new")];
    let record = scratch.store.take(label("k"), &paths, LIMITS, NOW).unwrap();
    assert_eq!(record.size(), (2, 6));
    scratch.store.check_whole(&record).unwrap();
    scratch.store.check_current(&record).unwrap();
    fs::write(scratch.project.join("new"), "").unwrap();
    assert!(scratch.store.check_current(&record).is_err());
    fs::remove_file(scratch.project.join("new")).unwrap();
    fs::write(&file, "beforE").unwrap();
    assert!(scratch.store.check_current(&record).is_err());
}
