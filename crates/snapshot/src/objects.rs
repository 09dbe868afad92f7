//! Contents of files, each stored once under its SHA-256.

use std::fmt::Write as _;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, open};
use sha2::{Digest as _, Sha256};

use crate::budget::CaptureBudget;
use crate::error::SnapshotError;

/// The content-addressed part of the store.
#[derive(Debug, Clone)]
pub struct Objects {
    root: PathBuf,
}

/// SHA-256 and length of a content.
pub struct StoredContent {
    pub sha256: String,
    pub size: u64,
}

impl Objects {
    pub fn at(root: &Path) -> Objects {
        Objects { root: root.to_path_buf() }
    }

    fn place(&self, sha256: &str) -> PathBuf {
        let (start, rest) = sha256.split_at_checked(2).unwrap_or(("", sha256));
        self.root.join("objects").join(start).join(rest)
    }

    /// Stores what is left of a file; synced when this returns.
    pub fn put(
        &self,
        from: &mut File,
        budget: &mut CaptureBudget,
    ) -> Result<StoredContent, SnapshotError> {
        let (temporary, mut file) = self.temporary()?;
        let stored = copy_hashed(from, &mut file, budget, &temporary);
        let moved = stored.and_then(|content| {
            self.keep(&temporary, &file, &content.sha256)
                .map_err(SnapshotError::io_at(&temporary))
                .map(|()| content)
        });
        // Gone already if it was moved to its place.
        let _ = fs::remove_file(&temporary);
        moved
    }

    fn keep(&self, temporary: &Path, file: &File, sha256: &str) -> io::Result<()> {
        let place = self.place(sha256);
        if place.exists() {
            return Ok(());
        }
        let folder = place.parent().unwrap_or(&self.root);
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        file.sync_all()?;
        fs::rename(temporary, &place)?;
        sync_folder(folder)
    }

    /// A new file in the folder of unfinished files.
    pub fn temporary(&self) -> Result<(PathBuf, File), SnapshotError> {
        let path = self.root.join("tmp").join(random_name()?);
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(0o600);
        let file = options.open(&path).map_err(SnapshotError::io_at(&path))?;
        Ok((path, file))
    }

    /// Copies a stored content and checks that it is what its name says.
    pub fn copy_to(
        &self,
        sha256: &str,
        into: &mut impl Write,
        at: &Path,
    ) -> Result<(), SnapshotError> {
        let damaged = || SnapshotError::Damaged(sha256.to_owned());
        // A FIFO in its place must not block.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let opened = open(self.place(sha256), flags, Mode::empty()).map_err(|_| damaged())?;
        let mut from = File::from(opened);
        let mut hasher = Sha256::new();
        let mut buffer = vec![0; 64 << 10];
        loop {
            let count = from.read(&mut buffer).map_err(|_| damaged())?;
            let Some(bytes) = buffer.get(..count).filter(|bytes| !bytes.is_empty()) else { break };
            hasher.update(bytes);
            into.write_all(bytes).map_err(SnapshotError::io_at(at))?;
        }
        if hex(&hasher.finalize()) == sha256 { Ok(()) } else { Err(damaged()) }
    }

    /// A stored content, if it is not larger than `most`.
    pub fn read(&self, sha256: &str, most: u64) -> Option<Vec<u8>> {
        let length = fs::metadata(self.place(sha256)).ok()?.len();
        let mut bytes = Vec::new();
        (length <= most).then(|| self.copy_to(sha256, &mut bytes, &self.root).ok())??;
        Some(bytes)
    }

    /// Calls `each` with the SHA-256, path and length of every stored content.
    pub fn each(&self, mut each: impl FnMut(String, PathBuf, u64)) -> io::Result<()> {
        for folder in fs::read_dir(self.root.join("objects"))? {
            let folder = folder?;
            for object in fs::read_dir(folder.path())? {
                let object = object?;
                let (start, rest) = (folder.file_name(), object.file_name());
                let name = format!("{}{}", start.display(), rest.display());
                each(name, object.path(), object.metadata()?.len());
            }
        }
        Ok(())
    }
}

/// Hashes what is left of a file without storing it.
pub fn hash_only(
    from: &mut File,
    budget: &mut CaptureBudget,
) -> Result<StoredContent, SnapshotError> {
    copy_hashed(from, &mut io::sink(), budget, Path::new("-"))
}

fn copy_hashed(
    from: &mut File,
    into: &mut impl Write,
    budget: &mut CaptureBudget,
    at: &Path,
) -> Result<StoredContent, SnapshotError> {
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 64 << 10];
    let mut size = 0;
    loop {
        let count = from.read(&mut buffer).map_err(SnapshotError::io_at(at))?;
        let Some(bytes) = buffer.get(..count).filter(|bytes| !bytes.is_empty()) else { break };
        let count = bytes.len() as u64;
        budget.bytes(count)?;
        size += count;
        hasher.update(bytes);
        into.write_all(bytes).map_err(SnapshotError::io_at(at))?;
    }
    Ok(StoredContent { sha256: hex(&hasher.finalize()), size })
}

/// The SHA-256 of some bytes, in hexadecimal.
pub fn sha256_hex(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// A name that nothing else has.
pub fn random_name() -> Result<String, SnapshotError> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes)
        .map_err(|error| SnapshotError::io_at(Path::new("random"))(io::Error::other(error)))?;
    Ok(hex(&bytes))
}

/// Makes the names in a folder durable.
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}
