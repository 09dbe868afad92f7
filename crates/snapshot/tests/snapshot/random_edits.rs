//! Random sequences of edits are restored byte for byte, with modes, times and symlinks.

use std::fs::{self, OpenOptions, Permissions};
use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use countersign_snapshot::SnapshotStore;

use crate::listing::{LIMITS, NOW, Numbers, assert_same, label, list, scratch};

const SEQUENCES: u64 = 1_000;
const NAMES: [&str; 7] = ["a", "b", "c d", "e\nf", "ü%41", "-rf", "\u{202e}x"];

fn place(numbers: &mut Numbers, root: &Path) -> PathBuf {
    let depth = 1 + numbers.below(3);
    (0..depth).fold(root.to_path_buf(), |path, _| path.join(numbers.one(&NAMES)))
}

fn content(numbers: &mut Numbers) -> Vec<u8> {
    let length = numbers.one(&[0, 1, 10, 200, 5_000]);
    (0..length).map(|_| u8::try_from(numbers.below(256)).unwrap()).collect()
}

/// One edit; one that the system refuses is one edit less.
pub fn edit(numbers: &mut Numbers, root: &Path) {
    let path = place(numbers, root);
    let _ = match numbers.below(10) {
        0 | 1 => fs::create_dir_all(path.parent().unwrap())
            .and_then(|()| fs::write(&path, content(numbers))),
        2 => OpenOptions::new()
            .append(true)
            .open(&path)
            .and_then(|mut file| file.write_all(&content(numbers))),
        3 => fs::set_permissions(
            &path,
            Permissions::from_mode(numbers.one(&[0o644, 0o600, 0o755, 0o700, 0o2755, 0o1777])),
        ),
        4 => symlink(numbers.one(&["a", "../b", "/nonexistent/x", "c d/e\nf"]), &path),
        5 => fs::rename(&path, place(numbers, root)),
        6 => fs::remove_file(&path),
        7 => fs::remove_dir_all(&path),
        8 => fs::create_dir_all(&path),
        _ => OpenOptions::new().write(true).open(&path).and_then(|file| file.set_len(3)),
    };
}

/// Whether a call can write at this path: folders above it, or nothing, and no symlink to nowhere.
fn is_writable(path: &Path) -> bool {
    let folders = path
        .ancestors()
        .skip(1)
        .all(|above| !above.is_symlink() && (above.is_dir() || !above.exists()));
    folders && (!path.is_symlink() || path.exists())
}

#[test]
fn a_thousand_random_sequences_are_restored_byte_for_byte() {
    let (mut numbers, mut restored) = (Numbers(0x1234_5678_9abc_def1), 0);
    let scratch = scratch();
    for sequence in 0..SEQUENCES {
        let project = scratch.project.join(sequence.to_string());
        fs::create_dir(&project).unwrap();
        for _ in 0..numbers.below(30) {
            edit(&mut numbers, &project);
        }
        // Either the whole project, or some paths in it, edited at and below these.
        let mut roots = vec![project.clone()];
        if numbers.below(2) == 0 {
            let some = 1 + numbers.below(3);
            let list: Vec<PathBuf> = (0..some).map(|_| place(&mut numbers, &project)).collect();
            roots = list.into_iter().filter(|path| is_writable(path)).collect();
        }
        let before = list(&project);
        let store = SnapshotStore::at(project.with_extension("undo"));
        let record = store.take(label("k"), &roots, LIMITS, NOW).unwrap();
        for _ in 0..=numbers.below(25) {
            let root = roots.get(numbers.below(roots.len().max(1))).unwrap_or(&project);
            let is_all = roots.first() == Some(&project);
            if is_all {
                edit(&mut numbers, &project);
            } else if roots.is_empty() {
                break;
            } else {
                edit_at(&mut numbers, root);
            }
        }
        if numbers.below(2) == 0 {
            store.record_after(&record, LIMITS, NOW).unwrap();
        }
        store.restore(&record.id, false, NOW).unwrap();
        let (mut after, mut before) = (list(&project), before);
        if roots.first() != Some(&project) {
            // Folders above a restored path are not part of the snapshot: their times may differ.
            for listing in [&mut after, &mut before] {
                listing
                    .values_mut()
                    .filter(|(mode, ..)| mode & 0o170_000 == 0o040_000)
                    .for_each(|(_, time, _)| *time = (0, 0));
            }
        }
        assert_same(&before, &after);
        restored += 1;
    }
    assert_eq!(restored, SEQUENCES);
}

/// An edit of exactly this path, as a call makes it.
fn edit_at(numbers: &mut Numbers, path: &Path) {
    // A call does not write through a symlink that it has just made.
    let _ = if path.is_symlink() { fs::remove_file(path) } else { Ok(()) };
    let _ = match numbers.below(7) {
        0 | 1 => fs::create_dir_all(path.parent().unwrap())
            .and_then(|()| fs::write(path, content(numbers))),
        2 => fs::remove_file(path),
        3 => fs::remove_dir_all(path),
        4 => fs::create_dir_all(path.join("new/deep")),
        5 => fs::set_permissions(path, Permissions::from_mode(0o700)),
        _ => fs::remove_file(path).and_then(|()| symlink("a", path)),
    };
}
