//! Files that are no files, folders that are swapped, sizes without end: no snapshot, no hang, and
//! never the content of another place.

use std::ffi::OsString;
use std::fs::{self, File, Permissions};
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use countersign_snapshot::{SnapshotError, SnapshotLimits};

use crate::listing::{LIMITS, NOW, Scratch, assert_same, label, list, scratch};

fn refused(scratch: &Scratch, path: &Path, limits: SnapshotLimits) -> SnapshotError {
    let taken = scratch.store.take(label("k"), &[path.to_path_buf()], limits, NOW);
    assert!(scratch.store.records().unwrap().is_empty(), "a snapshot of {}", path.display());
    taken.unwrap_err()
}

#[test]
fn special_files_and_limits_mean_no_snapshot() {
    let scratch = scratch();
    let project = &scratch.project;
    let fifo = project.join("fifo");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    assert!(matches!(refused(&scratch, &fifo, LIMITS), SnapshotError::SpecialFile(_)));
    assert!(matches!(refused(&scratch, project, LIMITS), SnapshotError::SpecialFile(_)));
    let zero = Path::new("/dev/zero");
    assert!(matches!(refused(&scratch, zero, LIMITS), SnapshotError::SpecialFile(_)));
    fs::remove_file(&fifo).unwrap();

    let huge = project.join("huge");
    File::create(&huge).unwrap().set_len(1 << 40).unwrap();
    assert!(matches!(refused(&scratch, &huge, LIMITS), SnapshotError::TooManyBytes(_)));
    fs::remove_file(&huge).unwrap();

    fs::write(project.join("a"), "a").unwrap();
    fs::hard_link(project.join("a"), project.join("b")).unwrap();
    let twice = refused(&scratch, &project.join("a"), LIMITS);
    assert!(matches!(twice, SnapshotError::HardLink(_)));
    fs::remove_file(project.join("b")).unwrap();

    let none = SnapshotLimits { time: Duration::ZERO, ..LIMITS };
    assert!(matches!(refused(&scratch, project, none), SnapshotError::TooSlow));
    for path in ["relative", "/", "/a/../b"] {
        let bad = refused(&scratch, Path::new(path), LIMITS);
        assert!(matches!(bad, SnapshotError::BadPath(_)), "{path}: {bad}");
    }
    symlink("nowhere", project.join("dangling")).unwrap();
    let dangling = refused(&scratch, &project.join("dangling"), LIMITS);
    assert!(matches!(dangling, SnapshotError::DanglingLink(_)));
}

#[test]
fn a_hundred_thousand_files_mean_no_snapshot() {
    let scratch = scratch();
    for number in 0..100_000 {
        File::create(scratch.project.join(number.to_string())).unwrap();
    }
    let many = refused(&scratch, &scratch.project, SnapshotLimits::BEFORE_CALL);
    assert!(matches!(many, SnapshotError::TooManyFiles(_)), "{many}");
}

#[test]
fn an_unreadable_file_means_no_snapshot() {
    let scratch = scratch();
    let secret = scratch.project.join("secret");
    fs::write(&secret, "x").unwrap();
    fs::set_permissions(&secret, Permissions::from_mode(0o000)).unwrap();
    if File::open(&secret).is_ok() {
        // The administrator can read everything; then it is an ordinary file.
        scratch.store.take(label("k"), &[secret], LIMITS, NOW).unwrap();
    } else {
        let unreadable = refused(&scratch, &secret, LIMITS);
        assert!(matches!(unreadable, SnapshotError::System { .. }));
    }
}

#[test]
fn odd_names_are_restored() {
    let scratch = scratch();
    for name in [&b"new\nline"[..], b"\xff\xfe", b"100%41", b".countersign-undo", b" "] {
        let name = OsString::from_vec(name.to_vec());
        // Not every file system takes every name.
        let _ = fs::write(scratch.project.join(name), "content");
    }
    let before = list(&scratch.project);
    let roots = [scratch.project.clone()];
    let record = scratch.store.take(label("k"), &roots, LIMITS, NOW).unwrap();
    fs::remove_dir_all(&scratch.project).unwrap();
    scratch.store.restore(&record.id, false, NOW).unwrap();
    assert_same(&before, &list(&scratch.project));
}

#[test]
fn a_symlink_is_captured_as_a_link_and_with_what_a_write_through_it_changes() {
    let scratch = scratch();
    let (real, link) = (scratch.project.join("real"), scratch.project.join("link"));
    fs::write(&real, "before").unwrap();
    symlink("real", &link).unwrap();
    let record = scratch.store.take(label("k"), std::slice::from_ref(&link), LIMITS, NOW).unwrap();
    assert_eq!(record.root_paths(), [link.clone(), real.clone()]);
    fs::write(&link, "after").unwrap();
    scratch.store.restore(&record.id, false, NOW).unwrap();
    assert_eq!(fs::read_to_string(&real).unwrap(), "before");
    assert!(link.is_symlink());
}

struct EndOnDrop<'a>(&'a AtomicBool);

impl Drop for EndOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A folder is swapped for a symlink to a secret folder, again and again, while snapshots are taken
/// and restored: no snapshot has the secret, and the secret folder is never written to.
#[test]
fn a_swapped_folder_never_leads_to_another_place() {
    let scratch = scratch();
    let (folder, aside) = (scratch.project.join("folder"), scratch.project.join("aside"));
    let secret = scratch.folder.path().canonicalize().unwrap().join("secret");
    fs::create_dir(&folder).unwrap();
    fs::create_dir(&secret).unwrap();
    fs::write(folder.join("file"), "own").unwrap();
    fs::write(secret.join("file"), "secret").unwrap();
    let over = AtomicBool::new(false);
    let paths: Vec<PathBuf> = vec![folder.join("file")];
    let (mut taken, mut errors) = (0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                fs::rename(&folder, &aside).unwrap();
                symlink(&secret, &folder).unwrap();
                fs::remove_file(&folder).unwrap();
                fs::rename(&aside, &folder).unwrap();
            }
        });
        // Also when an assertion fails: the scope waits for the other thread.
        let _end = EndOnDrop(&over);
        for round in 0..2_000 {
            match scratch.store.take(label("k"), &paths, LIMITS, NOW + round) {
                Err(_) => errors += 1,
                Ok(record) => {
                    taken += 1;
                    let before = serde_json::to_value(&record.before).unwrap();
                    let hash = "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b";
                    // Where the symlink was there from the start, the call would write there too,
                    // and the snapshot says so: under the real path, never under another one.
                    for entry in before.as_array().unwrap() {
                        let is_secret = entry["path"] == secret.join("file").to_str().unwrap();
                        assert!(entry["sha256"] != hash || is_secret, "{before}");
                    }
                    if record.root_paths() == paths {
                        let _ = scratch.store.restore(&record.id, false, NOW + round);
                    }
                }
            }
        }
    });
    assert_eq!(fs::read_to_string(secret.join("file")).unwrap(), "secret");
    assert_eq!(fs::read_dir(&secret).unwrap().count(), 1);
    assert!(taken > 0 || errors > 0);
}
