//! The folder of the snapshots: contents, records and a lock.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::budget::{CaptureBudget, SnapshotLimits};
use crate::capture::{Contents, capture};
use crate::error::SnapshotError;
use crate::objects::{Objects, random_name, sync_folder};
use crate::path_text::encode_path;
use crate::record::{AfterState, SnapshotLabel, SnapshotRecord, SnapshotTree};
use crate::roots::resolve_all;

/// How long a busy lock is waited for between two tries.
const LOCK_INTERVAL: Duration = Duration::from_millis(10);
/// The largest record of a snapshot that is read.
const MAX_RECORD: u64 = 256 << 20;

/// The snapshots of one user.
#[derive(Debug, Clone)]
pub struct SnapshotStore {
    pub(crate) root: PathBuf,
    pub(crate) objects: Objects,
}

impl SnapshotStore {
    /// The snapshots in a folder, which is created with the first one.
    pub fn at(root: PathBuf) -> SnapshotStore {
        SnapshotStore { objects: Objects::at(&root), root }
    }

    /// Stores what is at these paths now.
    pub fn take(
        &self,
        label: SnapshotLabel,
        paths: &[PathBuf],
        limits: SnapshotLimits,
        now_ms: u64,
    ) -> Result<SnapshotRecord, SnapshotError> {
        self.prepare()?;
        let _lock = self.lock_shared(limits.time)?;
        let (contents, roots) = (Contents::StoreBefore(&self.objects), resolve_all(paths)?);
        let record = Self::read_locked(label, &roots, contents, limits, now_ms)?;
        // A folder that was replaced meanwhile may have looked like a missing one.
        if resolve_all(paths)? != roots {
            return Err(SnapshotError::Changed(roots.into_iter().next().unwrap_or_default()));
        }
        self.save(&record)?;
        Ok(record)
    }

    pub(crate) fn take_locked(
        &self,
        label: SnapshotLabel,
        roots: &[PathBuf],
        contents: Contents<'_>,
        limits: SnapshotLimits,
        now_ms: u64,
    ) -> Result<SnapshotRecord, SnapshotError> {
        let record = Self::read_locked(label, roots, contents, limits, now_ms)?;
        self.save(&record)?;
        Ok(record)
    }

    /// Stores the contents and returns the record, which is not stored yet.
    fn read_locked(
        label: SnapshotLabel,
        roots: &[PathBuf],
        contents: Contents<'_>,
        limits: SnapshotLimits,
        now_ms: u64,
    ) -> Result<SnapshotRecord, SnapshotError> {
        let look = || capture(roots, Contents::Count, &mut CaptureBudget::new(limits));
        // Whether it is too much is known before the first content is stored.
        let first = look()?;
        let before = capture(roots, contents, &mut CaptureBudget::new(limits))?;
        // While a folder is replaced it is missing for a moment.
        if let Some(path) = first.moved(&before).or(before.moved(&look()?)) {
            return Err(SnapshotError::Changed(path));
        }
        let id: String = random_name()?.chars().take(8).collect();
        let record = SnapshotRecord {
            id,
            at_ms: now_ms,
            label,
            roots: roots.iter().map(|root| encode_path(root)).collect(),
            before,
            after: None,
            undone_at_ms: None,
            hold_until_ms: None,
            restoring: false,
        };
        Ok(record)
    }

    /// Stores what is at the paths of a snapshot after its call.
    pub fn record_after(
        &self,
        record: &SnapshotRecord,
        limits: SnapshotLimits,
        now_ms: u64,
    ) -> Result<SnapshotRecord, SnapshotError> {
        let _lock = self.lock_shared(limits.time)?;
        self.record_after_locked(record, limits, now_ms)
    }

    pub(crate) fn record_after_locked(
        &self,
        record: &SnapshotRecord,
        limits: SnapshotLimits,
        now_ms: u64,
    ) -> Result<SnapshotRecord, SnapshotError> {
        let contents = Contents::Store(&self.objects);
        let tree = capture(&record.root_paths(), contents, &mut CaptureBudget::new(limits))?;
        let after = Some(AfterState { at_ms: now_ms, tree });
        let record = SnapshotRecord { after, ..record.clone() };
        self.save(&record)?;
        Ok(record)
    }

    /// What was there after the call of a snapshot: recorded, or what the next snapshot of the same
    /// place found, or what is there now.
    pub fn after_of(&self, record: &SnapshotRecord) -> Result<SnapshotTree, SnapshotError> {
        if let Some(after) = &record.after {
            return Ok(after.tree.clone());
        }
        let mut files = self.record_files()?;
        files.retain(|path| name_of(path).0 > record.at_ms);
        let later: Vec<SnapshotRecord> =
            files.iter().filter_map(|path| read_record(path)).collect();
        let mut tree = SnapshotTree::default();
        for root in record.root_paths() {
            match later.iter().find(|other| other.root_paths().contains(&root)) {
                Some(next) => next.before.below(&root).for_each(|(path, state)| {
                    tree.insert(path.clone(), state.clone());
                }),
                None => tree.extend(current(&[root])?),
            }
        }
        Ok(tree)
    }

    /// A stored content, if it is not larger than `most`.
    pub fn content(&self, sha256: &str, most: u64) -> Option<Vec<u8>> {
        self.objects.read(sha256, most)
    }

    /// All snapshots, oldest first. A record that cannot be read is left out.
    pub fn records(&self) -> Result<Vec<SnapshotRecord>, SnapshotError> {
        let names = self.record_files()?;
        Ok(names.iter().filter_map(|path| read_record(path)).collect())
    }

    /// The newest snapshot of a call whose end is not recorded.
    pub fn unfinished(&self, call_key: &str) -> Option<SnapshotRecord> {
        let files = self.record_files().ok()?;
        let its = files.iter().rev().filter(|path| name_of(path).2 == short_key(call_key));
        let is_its =
            |record: &SnapshotRecord| record.label.call_key == call_key && record.after.is_none();
        its.filter_map(|path| read_record(path)).find(is_its)
    }

    pub(crate) fn record_files(&self) -> Result<Vec<PathBuf>, SnapshotError> {
        let folder = self.root.join("snapshots");
        let listed = match fs::read_dir(&folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            listed => listed.map_err(SnapshotError::io_at(&folder))?,
        };
        let mut names: Vec<PathBuf> = listed.filter_map(|e| e.ok().map(|e| e.path())).collect();
        names.retain(|path| path.extension().is_some_and(|end| end == "json"));
        names.sort();
        Ok(names)
    }

    /// The one snapshot whose id starts with a text.
    pub fn find(&self, id: &str) -> Result<SnapshotRecord, SnapshotError> {
        let missing = || SnapshotError::NotFound(id.to_owned());
        let mut files = self.record_files()?;
        files.retain(|path| !id.is_empty() && name_of(path).1.starts_with(id));
        let [only] = files.as_slice() else { return Err(missing()) };
        read_record(only).ok_or_else(missing)
    }

    /// Removes the record of a call that did not run. Its contents go with the next pruning.
    pub fn discard(&self, record: &SnapshotRecord) {
        // A record that stays is one line more in a list.
        let _ = fs::remove_file(self.file_of(record));
    }

    fn file_of(&self, record: &SnapshotRecord) -> PathBuf {
        let key = short_key(&record.label.call_key);
        let name = format!("{:013}-{}-{key}.json", record.at_ms, record.id);
        self.root.join("snapshots").join(name)
    }

    /// Writes a record: the old one or the new one is there at every moment.
    pub(crate) fn save(&self, record: &SnapshotRecord) -> Result<(), SnapshotError> {
        let path = self.file_of(record);
        let (temporary, mut file) = self.objects.temporary()?;
        let written = serde_json::to_vec(record)
            .map_err(io::Error::other)
            .and_then(|bytes| file.write_all(&bytes))
            .and_then(|()| file.sync_all())
            .and_then(|()| fs::rename(&temporary, &path))
            .and_then(|()| sync_folder(path.parent().unwrap_or(Path::new("/"))));
        let _ = fs::remove_file(&temporary);
        written.map_err(SnapshotError::io_at(&path))
    }

    pub(crate) fn prepare(&self) -> Result<(), SnapshotError> {
        for folder in [self.root.clone(), self.root.join("objects"), self.root.join("snapshots")] {
            create(&folder)?;
        }
        create(&self.root.join("tmp"))?;
        self.check_private()
    }

    /// Whether the folder belongs to this user and to no one else.
    pub(crate) fn check_private(&self) -> Result<(), SnapshotError> {
        let found = fs::symlink_metadata(&self.root).map_err(SnapshotError::io_at(&self.root))?;
        let own = found.uid() == rustix::process::geteuid().as_raw();
        if !found.is_dir() || !own || found.mode() & 0o077 != 0 {
            return Err(SnapshotError::UnsafeFolder(self.root.clone()));
        }
        Ok(())
    }

    fn lock_file(&self) -> Result<File, SnapshotError> {
        let path = self.root.join("lock");
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false).mode(0o600);
        options.open(&path).map_err(SnapshotError::io_at(&path))
    }

    fn lock_shared(&self, patience: Duration) -> Result<File, SnapshotError> {
        let (file, end) = (self.lock_file()?, Instant::now() + patience);
        loop {
            match flock(&file, FlockOperation::NonBlockingLockShared) {
                Ok(()) => return Ok(file),
                Err(Errno::WOULDBLOCK) if Instant::now() < end => thread::sleep(LOCK_INTERVAL),
                Err(_) => return Err(SnapshotError::TooSlow),
            }
        }
    }

    /// The lock of whoever restores or prunes; waits for it.
    pub(crate) fn lock_exclusive(&self) -> Result<File, SnapshotError> {
        let file = self.lock_file()?;
        flock(&file, FlockOperation::LockExclusive).map_err(SnapshotError::at(&self.root))?;
        Ok(file)
    }
}

/// What is at some places now.
pub fn current(roots: &[PathBuf]) -> Result<SnapshotTree, SnapshotError> {
    capture(roots, Contents::Hash, &mut CaptureBudget::new(SnapshotLimits::FOR_PERSON))
}

/// Time, id and the end of the call's key, in the name of a record's file.
fn name_of(path: &Path) -> (u64, &str, &str) {
    let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    let (time, rest) = stem.split_once('-').unwrap_or_default();
    let (id, key) = rest.split_once('-').unwrap_or_default();
    (time.parse().unwrap_or(0), id, key)
}

/// The end of a call's key, as far as it fits into a file's name.
fn short_key(key: &str) -> String {
    let letters: Vec<char> = key.chars().filter(char::is_ascii_alphanumeric).collect();
    letters.iter().skip(letters.len().saturating_sub(8)).collect()
}

fn read_record(path: &Path) -> Option<SnapshotRecord> {
    // A FIFO in its place must not block.
    let found = fs::symlink_metadata(path).ok()?;
    if !found.is_file() || found.len() > MAX_RECORD {
        return None;
    }
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

fn create(folder: &Path) -> Result<(), SnapshotError> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.map_err(SnapshotError::io_at(folder))
}
