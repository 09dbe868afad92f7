//! Objects in a repository's store, loose or in a pack. Every object is checked against its name,
//! because a forged store may have another object under it.

use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use countersign_text::decode::hex_exact;
use miniz_oxide::inflate::decompress_to_vec_zlib_with_limit;
use ring::digest::{Context, SHA1_FOR_LEGACY_USE_ONLY};

use super::delta;
use crate::files;

/// The name of an object.
pub type ObjectName = [u8; 20];

/// The largest object that is read.
const MAX_OBJECT: usize = 1 << 20;
/// How many packs are searched.
const MAX_PACKS: usize = 64;
/// How many differences are applied for one object.
const MAX_DELTAS: usize = 64;
/// The bytes of a pack's index before its names: a header and 256 counts.
const NAMES: u64 = 8 + 256 * 4;
/// The form of a pack's index that is read.
const INDEX_HEADER: [u8; 8] = *b"\xfftOc\0\0\0\x02";
/// The types of objects that are stored as differences: to one at an offset, to one with a name.
const OFFSET_DELTA: u8 = 6;
const NAME_DELTA: u8 = 7;

/// What an object is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ObjectKind {
    Commit,
    Tree,
    Tag,
}

impl ObjectKind {
    const fn label(self) -> &'static str {
        match self {
            ObjectKind::Commit => "commit",
            ObjectKind::Tree => "tree",
            ObjectKind::Tag => "tag",
        }
    }

    const fn number(self) -> u8 {
        match self {
            ObjectKind::Commit => 1,
            ObjectKind::Tree => 2,
            ObjectKind::Tag => 4,
        }
    }
}

/// The objects of a repository, read until a moment.
#[derive(Debug)]
pub struct ObjectStore {
    folder: PathBuf,
    packs: Option<Vec<Pack>>,
    end: Instant,
}

#[derive(Debug)]
struct Pack {
    index: File,
    objects: File,
}

impl ObjectStore {
    /// The store of a repository.
    pub fn new(common: &Path, end: Instant) -> ObjectStore {
        ObjectStore { folder: common.join("objects"), packs: None, end }
    }

    /// Whether the time is over.
    pub fn is_over(&self) -> bool {
        Instant::now() >= self.end
    }

    /// The content of an object of this kind; `None` if it is not found, not this kind or too
    /// large.
    pub fn read(&mut self, name: &ObjectName, kind: ObjectKind) -> Option<Vec<u8>> {
        if self.is_over() {
            return None;
        }
        let body = self.loose(name, kind).or_else(|| self.packed(name, kind))?;
        let mut hash = Context::new(&SHA1_FOR_LEGACY_USE_ONLY);
        hash.update(format!("{} {}\0", kind.label(), body.len()).as_bytes());
        hash.update(&body);
        (hash.finish().as_ref() == name).then_some(body)
    }

    fn loose(&self, name: &ObjectName, kind: ObjectKind) -> Option<Vec<u8>> {
        let digits = digits(name);
        let (folder, rest) = digits.split_at_checked(2)?;
        let path = self.folder.join(folder).join(rest);
        let file = files::read(&path, MAX_OBJECT as u64).ok().filter(|file| file.is_whole)?;
        let object = decompress_to_vec_zlib_with_limit(&file.bytes, MAX_OBJECT).ok()?;
        let body = object.strip_prefix(kind.label().as_bytes())?.strip_prefix(b" ")?;
        let start = body.iter().position(|byte| *byte == 0)?;
        body.get(start + 1..).map(<[u8]>::to_vec)
    }

    fn packed(&mut self, name: &ObjectName, kind: ObjectKind) -> Option<Vec<u8>> {
        let folder = self.folder.join("pack");
        let packs = self.packs.get_or_insert_with(|| open_packs(&folder));
        let found = packs.iter().find_map(|pack| Some((pack, pack.offset_of(name)?)));
        let (pack, offset) = found?;
        let (number, body) = pack.unpack(offset, self.end)?;
        (number == kind.number()).then_some(body)
    }
}

/// The tree of a commit; `None` if it is not found or stored in a form that is not read.
pub fn tree_of(common: &Path, commit: &ObjectName, end: Instant) -> Option<ObjectName> {
    let body = ObjectStore::new(common, end).read(commit, ObjectKind::Commit)?;
    let line = body.strip_prefix(b"tree ")?;
    parse_name(std::str::from_utf8(line.get(..40)?).ok()?)
}

/// An object's name from its 40 digits.
pub fn parse_name(digits: &str) -> Option<ObjectName> {
    hex_exact(digits)?.try_into().ok()
}

/// The 40 digits of an object's name.
pub fn digits(name: &ObjectName) -> String {
    use std::fmt::Write as _;

    let mut text = String::with_capacity(40);
    for byte in name {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

fn open_packs(folder: &Path) -> Vec<Pack> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let indexes = entries.take(MAX_PACKS * 4).filter_map(Result::ok).map(|entry| entry.path());
    let indexes = indexes.filter(|path| path.as_os_str().as_bytes().ends_with(b".idx"));
    let open = |path: PathBuf| {
        let index = files::open_regular(&path).ok()?;
        let objects = files::open_regular(&path.with_extension("pack")).ok()?;
        (read_at::<8>(&index, 0)? == INDEX_HEADER).then_some(Pack { index, objects })
    };
    indexes.take(MAX_PACKS).filter_map(open).collect()
}

impl Pack {
    /// Where an object is in the pack.
    fn offset_of(&self, name: &ObjectName) -> Option<u64> {
        let count = |byte: u8| read_number(&self.index, 8 + u64::from(byte) * 4);
        let [first, ..] = *name;
        let mut low = first.checked_sub(1).map_or(Some(0), count)?;
        let mut high = count(first)?;
        while low < high {
            let middle = low + (high - low) / 2;
            let found = read_at::<20>(&self.index, NAMES + u64::from(middle) * 20)?;
            match found.cmp(name) {
                std::cmp::Ordering::Equal => {
                    let names = u64::from(count(u8::MAX)?);
                    let at = NAMES + names * 24 + u64::from(middle) * 4;
                    let offset = read_number(&self.index, at)?;
                    // A larger offset is in another table.
                    return (offset >> 31 == 0).then_some(u64::from(offset));
                }
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        None
    }

    /// The type and content of the object at an offset.
    fn unpack(&self, offset: u64, end: Instant) -> Option<(u8, Vec<u8>)> {
        let (mut at, mut deltas) = (offset, Vec::new());
        let (kind, mut body) = loop {
            if deltas.len() > MAX_DELTAS || Instant::now() >= end {
                return None;
            }
            let entry = PackEntry::read(&self.objects, at)?;
            let content = inflate(&self.objects, entry.data, entry.size)?;
            match entry.base {
                None => break (entry.kind, content),
                Some(DeltaBase::Before(distance)) => at = at.checked_sub(distance)?,
                Some(DeltaBase::Named(name)) => at = self.offset_of(&name)?,
            }
            deltas.push(content);
        };
        for one in deltas.iter().rev() {
            body = delta::apply(&body, one, MAX_OBJECT)?;
        }
        Some((kind, body))
    }
}

/// What a stored difference is based on.
enum DeltaBase {
    Before(u64),
    Named(ObjectName),
}

/// The head of an object in a pack.
struct PackEntry {
    kind: u8,
    size: usize,
    base: Option<DeltaBase>,
    /// Where its compressed content starts.
    data: u64,
}

impl PackEntry {
    fn read(file: &File, at: u64) -> Option<PackEntry> {
        let mut head = [0; 48];
        let read = file.read_at(&mut head, at).ok()?;
        let mut bytes = head.iter().copied().take(read).enumerate();
        let (_, first) = bytes.next()?;
        let (kind, mut size, mut more) = ((first >> 4) & 7, usize::from(first & 15), first & 0x80);
        let (mut shift, mut last) = (4, 0);
        while more != 0 {
            let (index, byte) = bytes.next()?;
            if shift > 28 {
                return None;
            }
            size |= usize::from(byte & 0x7f) << shift;
            (shift, more, last) = (shift + 7, byte & 0x80, index);
        }
        let base = match kind {
            OFFSET_DELTA => {
                let mut distance = 0u64;
                loop {
                    let (index, byte) = bytes.next()?;
                    distance = distance.checked_mul(128)?.checked_add(u64::from(byte & 0x7f))?;
                    last = index;
                    if byte & 0x80 == 0 {
                        break Some(DeltaBase::Before(distance));
                    }
                    distance = distance.checked_add(1)?;
                }
            }
            NAME_DELTA => {
                let name: Vec<u8> = bytes.by_ref().take(20).map(|(_, byte)| byte).collect();
                last += name.len();
                Some(DeltaBase::Named(name.try_into().ok()?))
            }
            _ => None,
        };
        Some(PackEntry { kind, size, base, data: at + last as u64 + 1 })
    }
}

fn inflate(file: &File, at: u64, size: usize) -> Option<Vec<u8>> {
    if size > MAX_OBJECT {
        return None;
    }
    // Content that cannot be compressed takes a little more than its size.
    let mut bytes = vec![0; size + size / 100 + 64];
    let mut filled = 0;
    while let Some(rest) = bytes.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match file.read_at(rest, at + filled as u64).ok()? {
            0 => break,
            read => filled += read,
        }
    }
    bytes.truncate(filled);
    let content = decompress_to_vec_zlib_with_limit(&bytes, size).ok()?;
    (content.len() == size).then_some(content)
}

fn read_at<const N: usize>(file: &File, offset: u64) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    file.read_exact_at(&mut bytes, offset).ok()?;
    Some(bytes)
}

fn read_number(file: &File, offset: u64) -> Option<u32> {
    read_at::<4>(file, offset).map(u32::from_be_bytes)
}
