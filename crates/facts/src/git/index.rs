//! Git's index: which files are tracked, and how they were when git last looked at them.

use std::os::unix::fs::MetadataExt as _;

use super::config::GitConfig;
use super::folders::GitFolders;
use crate::files;
use crate::limits::LookLimits;

/// An index, as it is on the disk.
#[derive(Debug)]
pub struct IndexFile {
    bytes: Vec<u8>,
    version: u32,
    count: u32,
    /// When it was written, in seconds and nanoseconds.
    written: (i64, i64),
}

/// A tracked file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IndexEntry {
    pub changed: (u32, u32),
    pub modified: (u32, u32),
    pub inode: u32,
    pub mode: u32,
    pub size: u32,
    pub object: [u8; 20],
    /// Whether it is the only version: no merge is open.
    pub is_merged: bool,
}

/// The bytes of an entry before its flags.
const FIXED: usize = 60;
/// The entry has two more bytes of flags.
const EXTENDED: u16 = 0x4000;
const STAGE: u16 = 0x3000;
/// Extensions without which the entries are not the whole truth.
const UNSUPPORTED: [&[u8; 4]; 2] = [b"link", b"sdir"];

impl IndexFile {
    /// The index of a work tree; `None` if it cannot be read or has a form that is not supported.
    pub fn read(git: &GitFolders, limits: &LookLimits) -> Option<IndexFile> {
        // Objects with other names have other sizes.
        let config = files::read_text(&git.common.join("config"), limits.config_bytes).ok()?;
        let config = GitConfig::parse(&config);
        if config.value("extensions", "", "objectformat").is_some_and(|name| name != "sha1") {
            return None;
        }
        // The files may be somewhere else, and other files may say so.
        if config.value("core", "", "worktree").is_some() || config.includes_files() {
            return None;
        }
        let file = files::read(&git.private.join("index"), limits.index_bytes).ok()?;
        if !file.is_whole {
            return None;
        }
        let written = (file.metadata.mtime(), file.metadata.mtime_nsec());
        IndexFile::parse(file.bytes, written)
    }

    fn parse(bytes: Vec<u8>, written: (i64, i64)) -> Option<IndexFile> {
        let (version, count) = (number(&bytes, 4)?, number(&bytes, 8)?);
        if bytes.get(..4) != Some(b"DIRC") || !(2..=4).contains(&version) {
            return None;
        }
        let index = IndexFile { bytes, version, count, written };
        let end = index.each(|_, _| true)?;
        index.extensions_are_supported(end).then_some(index)
    }

    /// Whether the state of an entry was taken too late to be trusted: the file may have changed in
    /// the same moment in which the index was written.
    pub fn is_racy(&self, entry: &IndexEntry) -> bool {
        let modified = (i64::from(entry.modified.0), i64::from(entry.modified.1));
        modified >= self.written
    }

    /// The tracked files at a path of the work tree and below it, sorted. An empty path is the
    /// whole work tree.
    pub fn below(&self, path: &[u8]) -> Vec<(Vec<u8>, IndexEntry)> {
        let mut found = Vec::new();
        self.each(|name, entry| {
            let rest = name.strip_prefix(path);
            let is_below =
                |rest: &[u8]| path.is_empty() || rest.is_empty() || rest.first() == Some(&b'/');
            if rest.is_some_and(is_below) {
                found.push((name.to_vec(), *entry));
                return true;
            }
            // The names are sorted: behind everything that begins with the path there is no more.
            rest.is_some() || name < path
        });
        found
    }

    /// The tree that the whole index stands for, if git noted it and nothing was added since.
    pub fn cached_tree(&self) -> Option<[u8; 20]> {
        let mut at = self.each(|_, _| true)?;
        while at + 8 + 20 <= self.bytes.len() {
            let size = number(&self.bytes, at + 4)? as usize;
            let start = at + 8;
            at = start.checked_add(size)?;
            if self.bytes.get(start - 8..start - 4)? == b"TREE" {
                // The first entry is the root: an empty name, the counts, and the tree's name.
                let root = self.bytes.get(start..at)?.strip_prefix(b"\0")?;
                let end = root.iter().position(|byte| *byte == b'\n')?;
                let entries = root.get(..end)?.split(|byte| *byte == b' ').next()?;
                let count: u32 = std::str::from_utf8(entries).ok()?.parse().ok()?;
                let tree = root.get(end + 1..end + 21)?;
                return if count == self.count { tree.try_into().ok() } else { None };
            }
        }
        None
    }

    /// Calls `visit` for each entry until it returns false. Returns where the entries end; `None`
    /// if they are not valid.
    fn each(&self, mut visit: impl FnMut(&[u8], &IndexEntry) -> bool) -> Option<usize> {
        let mut at = 12;
        let mut name: Vec<u8> = Vec::new();
        for _ in 0..self.count {
            let start = at;
            let (entry, flags) = self.entry(start)?;
            at = start + FIXED + 2;
            if flags & EXTENDED != 0 {
                at += 2;
            }
            if self.version == 4 {
                let (strip, after) = varint(&self.bytes, at)?;
                name.truncate(name.len().checked_sub(strip)?);
                at = after;
            } else {
                name.clear();
            }
            let rest = self.bytes.get(at..)?;
            let length = rest.iter().position(|byte| *byte == 0)?;
            name.extend_from_slice(rest.get(..length)?);
            at += length + 1;
            if self.version < 4 {
                // Padded with one to eight zeros to a multiple of eight.
                at = start + (at - 1 - start + 8) / 8 * 8;
            }
            if !visit(&name, &entry) {
                return Some(at);
            }
        }
        Some(at)
    }

    fn entry(&self, at: usize) -> Option<(IndexEntry, u16)> {
        let word = |offset: usize| number(&self.bytes, at + offset);
        let object = self.bytes.get(at + 40..at + FIXED)?.try_into().ok()?;
        let flags = self.bytes.get(at + FIXED..at + FIXED + 2)?;
        let flags = u16::from_be_bytes(flags.try_into().ok()?);
        let entry = IndexEntry {
            changed: (word(0)?, word(4)?),
            modified: (word(8)?, word(12)?),
            inode: word(20)?,
            mode: word(24)?,
            size: word(36)?,
            object,
            is_merged: flags & STAGE == 0,
        };
        Some((entry, flags))
    }

    /// Whether no extension changes the meaning of the entries. The last 20 bytes are a checksum.
    fn extensions_are_supported(&self, mut at: usize) -> bool {
        while at + 8 + 20 <= self.bytes.len() {
            let Some(name) = self.bytes.get(at..at + 4) else { return false };
            if UNSUPPORTED.iter().any(|known| known.as_slice() == name) {
                return false;
            }
            let Some(size) = number(&self.bytes, at + 4) else { return false };
            at = at.saturating_add(8).saturating_add(size as usize);
        }
        at + 20 == self.bytes.len()
    }
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_be_bytes(bytes.try_into().ok()?))
}

/// A number of seven bits per byte, as git writes offsets; and where it ends.
fn varint(bytes: &[u8], mut at: usize) -> Option<(usize, usize)> {
    let mut value = 0_usize;
    for _ in 0..4 {
        let byte = *bytes.get(at)?;
        at += 1;
        value = (value << 7) | usize::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            return Some((value, at));
        }
        value += 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(name: &str) -> Vec<u8> {
        let mut bytes = vec![0; FIXED];
        bytes.extend_from_slice(&u16::try_from(name.len()).unwrap().to_be_bytes());
        bytes.extend_from_slice(name.as_bytes());
        bytes.push(0);
        while !bytes.len().is_multiple_of(8) {
            bytes.push(0);
        }
        bytes
    }

    fn index(names: &[&str], more: &[u8]) -> Vec<u8> {
        let mut bytes = b"DIRC\0\0\0\x02".to_vec();
        bytes.extend_from_slice(&u32::try_from(names.len()).unwrap().to_be_bytes());
        for name in names {
            bytes.extend_from_slice(&entry(name));
        }
        bytes.extend_from_slice(more);
        bytes.extend_from_slice(&[0; 20]);
        bytes
    }

    #[test]
    fn only_the_entries_below_a_path_are_returned() {
        let names = ["a", "a-b", "a/x", "a/y/z", "ab", "b"];
        let read = IndexFile::parse(index(&names, b""), (0, 0)).unwrap();
        let below = |path: &str| {
            let found = read.below(path.as_bytes());
            found.into_iter().map(|(name, _)| String::from_utf8(name).unwrap()).collect::<Vec<_>>()
        };
        assert_eq!(below(""), names);
        assert_eq!(below("a"), ["a", "a/x", "a/y/z"]);
        assert_eq!(below("a/y"), ["a/y/z"]);
        assert!(below("c").is_empty());
    }

    #[test]
    fn invalid_and_unsupported_files_are_no_index() {
        let good = index(&["a", "b/c"], b"TREE\0\0\0\x02xx");
        assert!(IndexFile::parse(good, (0, 0)).is_some());
        let good = index(&["a", "b/c"], b"");
        for end in 0..good.len() {
            assert!(IndexFile::parse(good[..end].to_vec(), (0, 0)).is_none(), "{end}");
        }
        for bad in [&b"link\0\0\0\0"[..], b"sdir\0\0\0\0", b"TREE\xff\xff\xff\xff"] {
            assert!(IndexFile::parse(index(&["a"], bad), (0, 0)).is_none());
        }
        let mut many = index(&["a"], b"");
        many[8..12].copy_from_slice(&u32::MAX.to_be_bytes());
        assert!(IndexFile::parse(many, (0, 0)).is_none());
    }

    #[test]
    fn any_bytes_are_read_without_a_panic() {
        let good = index(&["a", "b/c", "d"], b"TREE\0\0\0\x02xx");
        for at in 0..good.len() {
            for byte in [0, 1, 4, 0x7f, 0x80, 0xff] {
                let mut odd = good.clone();
                odd[at] = byte;
                if let Some(read) = IndexFile::parse(odd, (0, 0)) {
                    read.below(b"b");
                }
            }
        }
    }
}
