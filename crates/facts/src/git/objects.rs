//! Commits in a repository's store of objects, loose or in a pack.

use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use countersign_text::decode::hex_exact;
use miniz_oxide::inflate::decompress_to_vec_zlib_with_limit;
use ring::digest::{Context, SHA1_FOR_LEGACY_USE_ONLY};

use crate::files;
use crate::limits::Budget;

/// The name of an object.
pub type ObjectName = [u8; 20];

/// The largest commit that is read.
const MAX_COMMIT: usize = 64 << 10;
/// How many packs are searched.
const MAX_PACKS: usize = 64;
/// The bytes of a pack's index before its names: a header and 256 counts.
const NAMES: u64 = 8 + 256 * 4;
/// The form of a pack's index that is read.
const INDEX_HEADER: [u8; 8] = *b"\xfftOc\0\0\0\x02";
/// The type of a commit that is stored as a whole.
const COMMIT: u8 = 1;

/// The tree of a commit; `None` if it is not found or stored in a form that is not read.
pub fn tree_of(common: &Path, commit: &ObjectName, budget: &Budget) -> Option<ObjectName> {
    let store = common.join("objects");
    let body = loose(&store, commit).or_else(|| packed(&store, commit, budget))?;
    // A forged store may have another object under this name.
    let mut hash = Context::new(&SHA1_FOR_LEGACY_USE_ONLY);
    hash.update(format!("commit {}\0", body.len()).as_bytes());
    hash.update(&body);
    if hash.finish().as_ref() != commit {
        return None;
    }
    let line = body.strip_prefix(b"tree ")?;
    parse_name(std::str::from_utf8(line.get(..40)?).ok()?)
}

/// An object's name from its 40 digits.
pub fn parse_name(digits: &str) -> Option<ObjectName> {
    hex_exact(digits)?.try_into().ok()
}

fn loose(store: &Path, name: &ObjectName) -> Option<Vec<u8>> {
    use std::fmt::Write as _;

    let mut digits = String::with_capacity(40);
    for byte in name {
        write!(digits, "{byte:02x}").ok()?;
    }
    let (folder, rest) = digits.split_at_checked(2)?;
    let file = files::read(&store.join(folder).join(rest), MAX_COMMIT as u64).ok()?;
    let object = decompress_to_vec_zlib_with_limit(&file.bytes, MAX_COMMIT).ok()?;
    let body = object.strip_prefix(b"commit ")?;
    let start = body.iter().position(|byte| *byte == 0)?;
    body.get(start + 1..).map(<[u8]>::to_vec)
}

fn packed(store: &Path, name: &ObjectName, budget: &Budget) -> Option<Vec<u8>> {
    let entries = fs::read_dir(store.join("pack")).ok()?;
    let indexes = entries.take(MAX_PACKS * 4).filter_map(Result::ok).map(|entry| entry.path());
    let indexes = indexes.filter(|path| path.as_os_str().as_bytes().ends_with(b".idx"));
    for index in indexes.take(MAX_PACKS) {
        if budget.is_over() {
            return None;
        }
        let Some(offset) = offset_in(&index, name) else { continue };
        return whole_commit(&index.with_extension("pack"), offset);
    }
    None
}

/// Where an object is in the pack of this index.
fn offset_in(index: &Path, name: &ObjectName) -> Option<u64> {
    let file = files::open_regular(index).ok()?;
    if read_at::<8>(&file, 0)? != INDEX_HEADER {
        return None;
    }
    let count = |byte: u8| read_number(&file, 8 + u64::from(byte) * 4);
    let [first, ..] = *name;
    let mut low = first.checked_sub(1).map_or(Some(0), count)?;
    let mut high = count(first)?;
    while low < high {
        let middle = low + (high - low) / 2;
        let found = read_at::<20>(&file, NAMES + u64::from(middle) * 20)?;
        match found.cmp(name) {
            std::cmp::Ordering::Equal => {
                let names = u64::from(count(u8::MAX)?);
                let offset = read_number(&file, NAMES + names * 24 + u64::from(middle) * 4)?;
                // A larger offset is in another table.
                return (offset >> 31 == 0).then_some(u64::from(offset));
            }
            std::cmp::Ordering::Less => low = middle + 1,
            std::cmp::Ordering::Greater => high = middle,
        }
    }
    None
}

/// A commit that is not stored as a difference to another object.
fn whole_commit(pack: &Path, offset: u64) -> Option<Vec<u8>> {
    let file = files::open_regular(pack).ok()?;
    let mut bytes = vec![0; MAX_COMMIT];
    let read = file.read_at(&mut bytes, offset).ok()?;
    bytes.truncate(read);
    let first = *bytes.first()?;
    if (first >> 4) & 7 != COMMIT {
        return None;
    }
    let header = bytes.iter().position(|byte| byte & 0x80 == 0)? + 1;
    decompress_to_vec_zlib_with_limit(bytes.get(header..)?, MAX_COMMIT).ok()
}

fn read_at<const N: usize>(file: &File, offset: u64) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    file.read_exact_at(&mut bytes, offset).ok()?;
    Some(bytes)
}

fn read_number(file: &File, offset: u64) -> Option<u32> {
    read_at::<4>(file, offset).map(u32::from_be_bytes)
}
