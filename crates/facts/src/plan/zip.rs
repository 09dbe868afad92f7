//! One file of a zip archive. Only the plain form is read: an archive that two readers could take
//! apart differently has no content here.

use miniz_oxide::inflate::decompress_to_vec_with_limit;

/// The record at the end of an archive without a comment.
const END: usize = 22;
/// How many files an archive may list.
const MAX_FILES: usize = 10_000;
/// The ways in which a file is stored that are read.
const STORED: u16 = 0;
const DEFLATED: u16 = 8;

/// The content of the only file with this name, if it is at most `limit` long.
pub fn file(archive: &[u8], name: &str, limit: usize) -> Option<Vec<u8>> {
    let end = archive.len().checked_sub(END)?;
    let record = archive.get(end..)?;
    let count = usize::from(half(record, 10)?);
    let (length, start) = (word(record, 12)?, word(record, 16)?);
    let is_plain = record.starts_with(b"PK\x05\x06")
        && half(record, 4)? == 0
        && half(record, 20)? == 0
        && start.checked_add(length)? == end
        && count <= MAX_FILES;
    if !is_plain {
        return None;
    }
    let (mut at, mut found) = (start, None);
    for _ in 0..count {
        let entry = archive.get(at..end)?;
        if !entry.starts_with(b"PK\x01\x02") {
            return None;
        }
        let name_length = usize::from(half(entry, 28)?);
        if entry.get(46..46 + name_length)? == name.as_bytes() {
            if found.is_some() {
                return None;
            }
            found = Some(entry);
        }
        at += 46 + name_length + usize::from(half(entry, 30)?) + usize::from(half(entry, 32)?);
    }
    if at != end {
        return None;
    }
    content(archive, found?, limit)
}

fn content(archive: &[u8], entry: &[u8], limit: usize) -> Option<Vec<u8>> {
    let (packed, size, start) = (word(entry, 20)?, word(entry, 24)?, word(entry, 42)?);
    let head = archive.get(start..)?;
    if !head.starts_with(b"PK\x03\x04") || size > limit {
        return None;
    }
    let from = 30 + usize::from(half(head, 26)?) + usize::from(half(head, 28)?);
    let bytes = head.get(from..from.checked_add(packed)?)?;
    let content = match half(entry, 10)? {
        STORED => bytes.to_vec(),
        DEFLATED => decompress_to_vec_with_limit(bytes, size).ok()?,
        _ => return None,
    };
    (content.len() == size).then_some(content)
}

fn half(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn word(bytes: &[u8], at: usize) -> Option<usize> {
    let number = u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?);
    usize::try_from(number).ok()
}
