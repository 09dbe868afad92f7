//! Old snapshots and their contents are removed, others stay whole; damage is noticed.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};

use countersign_snapshot::{Retention, SnapshotError, SnapshotStore};

use crate::listing::{LIMITS, NOW, label, scratch};

#[test]
fn pruning_removes_by_age_and_by_size_and_what_is_left_can_be_restored() {
    let scratch = scratch();
    let file = scratch.project.join("file");
    let mut last = None;
    for number in 0..8u64 {
        fs::write(&file, vec![u8::try_from(number).unwrap(); 1_000]).unwrap();
        let taken =
            scratch.store.take(label("k"), std::slice::from_ref(&file), LIMITS, NOW + number);
        last = Some(taken.unwrap());
    }
    let by_age = Retention { age_ms: 5, bytes: u64::MAX, count: 100 };
    let pruned = scratch.store.prune(by_age, NOW + 9).unwrap();
    assert_eq!((pruned.snapshots, pruned.bytes, pruned.left), (4, 4_000, 4));
    let by_size = Retention { age_ms: u64::MAX, bytes: 2_000, count: 3 };
    let pruned = scratch.store.prune(by_size, NOW + 9).unwrap();
    assert_eq!((pruned.snapshots, pruned.left), (2, 2));
    assert_eq!(scratch.store.stored_bytes().unwrap(), 2_000);
    fs::write(&file, "changed").unwrap();
    scratch.store.restore(&last.unwrap().id, false, NOW + 10).unwrap();
    assert_eq!(fs::read(&file).unwrap(), vec![7; 1_000]);
}

#[test]
fn a_damaged_content_is_noticed_and_does_not_reach_the_file() {
    let scratch = scratch();
    let file = scratch.project.join("file");
    fs::write(&file, "before").unwrap();
    let record = scratch.store.take(label("k"), std::slice::from_ref(&file), LIMITS, NOW).unwrap();
    fs::write(&file, "after").unwrap();
    let objects = scratch.folder.path().join("undo/objects");
    for folder in fs::read_dir(objects).unwrap() {
        for object in fs::read_dir(folder.unwrap().path()).unwrap() {
            fs::write(object.unwrap().path(), "forged").unwrap();
        }
    }
    let damaged = scratch.store.restore(&record.id, false, NOW + 1).unwrap_err();
    assert!(matches!(damaged, SnapshotError::Damaged(_)), "{damaged}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "after");
}

#[test]
fn the_folder_is_private_or_not_used() {
    let scratch = scratch();
    let file = scratch.project.join("file");
    fs::write(&file, "x").unwrap();
    scratch.store.take(label("k"), std::slice::from_ref(&file), LIMITS, NOW).unwrap();
    let undo = scratch.folder.path().join("undo");
    assert_eq!(fs::metadata(&undo).unwrap().mode() & 0o777, 0o700);
    let open = scratch.folder.path().join("open");
    DirBuilder::new().mode(0o777).create(&open).unwrap();
    fs::set_permissions(&open, fs::Permissions::from_mode(0o777)).unwrap();
    let taken = SnapshotStore::at(open).take(label("k"), &[file], LIMITS, NOW);
    assert!(matches!(taken, Err(SnapshotError::UnsafeFolder(_))));
}
