//! What is in a folder, read without the code under test.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use countersign_snapshot::{SnapshotLabel, SnapshotLimits, SnapshotStore};

pub const NOW: u64 = 1_800_000_000_000;
pub const LIMITS: SnapshotLimits =
    SnapshotLimits { files: 2_000, bytes: 64 << 20, time: Duration::from_mins(2) };

/// Kind, mode, time and content of everything below a folder.
pub type Listing = BTreeMap<PathBuf, (u32, (i64, i64), Vec<u8>)>;

pub fn list(root: &Path) -> Listing {
    let mut found = Listing::new();
    let mut open = vec![root.to_path_buf()];
    while let Some(path) = open.pop() {
        let Ok(meta) = fs::symlink_metadata(&path) else { continue };
        let time = (meta.mtime(), meta.mtime_nsec());
        let content = if meta.is_symlink() {
            fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes()
        } else if meta.is_dir() {
            open.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
            Vec::new()
        } else {
            fs::read(&path).unwrap()
        };
        found.insert(path, (meta.mode(), time, content));
    }
    found
}

/// Names the paths that differ.
pub fn assert_same(before: &Listing, after: &Listing) {
    let missing: Vec<_> = before.keys().filter(|path| !after.contains_key(*path)).collect();
    let extra: Vec<_> = after.keys().filter(|path| !before.contains_key(*path)).collect();
    let other: Vec<_> = before
        .iter()
        .filter_map(|(path, was)| {
            let is = after.get(path).filter(|is| *is != was)?;
            Some((path, (was.0, was.1, was.2.len()), (is.0, is.1, is.2.len())))
        })
        .collect();
    let same = missing.is_empty() && extra.is_empty() && other.is_empty();
    assert!(same, "missing {missing:?}, extra {extra:?}, other {other:?}");
}

/// A folder for the snapshots and one for a project. In memory where the system has such a folder,
/// because thousands of syncs to a disk take minutes.
pub struct Scratch {
    pub store: SnapshotStore,
    pub project: PathBuf,
    pub folder: tempfile::TempDir,
}

pub fn scratch() -> Scratch {
    let memory = Path::new("/dev/shm");
    let folder = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
    let folder = folder.unwrap();
    let root = folder.path().canonicalize().unwrap();
    let project = root.join("project");
    fs::create_dir(&project).unwrap();
    Scratch { store: SnapshotStore::at(root.join("undo")), project, folder }
}

pub fn label(key: &str) -> SnapshotLabel {
    SnapshotLabel {
        agent: "claude".to_owned(),
        session: Some("s1".to_owned()),
        tool: "Write".to_owned(),
        summary: "Writes a file".to_owned(),
        call_key: key.to_owned(),
        undo_of: None,
    }
}

/// A small generator of numbers, the same in each run.
pub struct Numbers(pub u64);

impl Numbers {
    pub fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % limit as u64).unwrap()
    }

    pub fn one<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }
}
