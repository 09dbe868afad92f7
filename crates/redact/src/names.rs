//! Names whose values are secret: the name before a separator, and the value after it.

use super::reading::{self, Stop};
use super::scan::{Scan, SecretRange};
use super::tables::{self, Fit, Name};

/// Longer names are matched by their end.
const LONGEST: usize = 64;

/// The secret name that matches, if any.
pub(super) fn lookup(name: &[u8]) -> Option<&'static Name> {
    let skipped = name.len().saturating_sub(LONGEST);
    let name = name.get(skipped..)?;
    // Nearly all names are rejected by their last letter.
    let last = name.iter().rev().find(|b| b.is_ascii_alphanumeric())?.to_ascii_lowercase();
    if !tables::may_end(last) {
        return None;
    }
    let (mut compact, mut words, mut length) = ([0_u8; LONGEST], [false; LONGEST], 0);
    let (mut parted, mut was_small) = (true, false);
    for &byte in name {
        if !byte.is_ascii_alphanumeric() {
            parted = true;
            continue;
        }
        *compact.get_mut(length)? = byte.to_ascii_lowercase();
        *words.get_mut(length)? = parted || (was_small && byte.is_ascii_uppercase());
        (parted, was_small) = (false, !byte.is_ascii_uppercase());
        length += 1;
    }
    let compact = compact.get(..length)?;
    // The working directory, not a password.
    if name == b"PWD" || tables::is_no_secret(compact) {
        return None;
    }
    tables::names().iter().find(|listed| {
        let Some(head) = compact.strip_suffix(listed.text.as_bytes()) else { return false };
        match listed.fit {
            Fit::Ends => true,
            Fit::Word => words.get(head.len()) == Some(&true),
            Fit::Whole => head.is_empty(),
        }
    })
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.')
}

/// The value after the `=` or `:` at this offset, if the text before it is a secret name.
pub(super) fn value_of(scan: &Scan<'_>, at: usize) -> Option<SecretRange> {
    let before = scan.bytes.get(..at)?;
    let spaced = before.last().is_some_and(|b| matches!(b, b' ' | b'\t'));
    let skip = |bytes: &[u8], signs: &[u8], most: usize| {
        bytes.iter().rev().take(most).take_while(|b| signs.contains(b)).count()
    };
    let blanks = skip(before, b" \t", 8);
    let before = before.get(..before.len() - blanks)?;
    let quotes = skip(before, b"\"'`\\]", 16);
    let before = before.get(..before.len() - quotes)?;
    let length = before.iter().rev().take(LONGEST).take_while(|&&b| is_name(b)).count();
    let name = lookup(before.get(before.len() - length..)?)?;
    let sign = scan.bytes.get(at)?;
    let (mut start, next) = (at + 1, scan.bytes.get(at + 1).copied());
    match (sign, next) {
        // `a::b` is a path of names.
        (b':', Some(b':')) => return None,
        (b':', Some(b'=')) | (b'=', Some(b'=' | b'>' | b'~')) => start += 1,
        _ => {}
    }
    if *sign == b':' && start == at + 1 && quotes == 0 && matches!(next, Some(b'/' | b':')) {
        return None;
    }
    let blank = matches!(scan.bytes.get(start), Some(b' ' | b'\t'));
    // `NAME= command` sets an empty variable for the command; the command is not a value.
    if *sign == b'=' && start == at + 1 && blank && !spaced {
        return None;
    }
    let stop = if name.line { Stop::Line } else { Stop::Word };
    let code = *sign == b'=' && spaced || start > at + 1;
    reading::value(scan, start, name.kind, stop, code)
}
