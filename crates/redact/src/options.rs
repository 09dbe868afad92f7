//! Secrets given as options of a program: `--password X`, `mysql -pX`, `curl -u bob:X`.

use super::names;
use super::reading::{self, Stop};
use super::scan::{BETWEEN, Scan, SecretRange, is_reference};
use super::tables::{self, Flag, Form};

/// The longest name of a program with such options.
const LONGEST: usize = 16;

fn parts_words(byte: u8) -> bool {
    byte <= b' ' || matches!(byte, b'"' | b'\'' | b'`' | b'(' | b'{' | b',' | b'[')
}

fn before(scan: &Scan<'_>, at: usize) -> Option<u8> {
    at.checked_sub(1).and_then(|at| scan.bytes.get(at)).copied()
}

/// Remembers the program if its name begins here.
pub(super) fn word(scan: &mut Scan<'_>, at: usize) {
    let starts = |b: u8| parts_words(b) || matches!(b, b'/' | b';' | b'|' | b'&' | b'\\');
    if before(scan, at).is_some_and(|b| !starts(b)) {
        return;
    }
    let rest = scan.bytes.get(at..).unwrap_or_default();
    let part = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.');
    let length = rest.iter().take(LONGEST + 1).take_while(|b| part(b)).count();
    let ends = rest.get(length).is_none_or(|&b| parts_words(b) || b == b'\\');
    if !(2..=LONGEST).contains(&length) || !ends {
        return;
    }
    let name = scan.text.get(at..at + length).unwrap_or_default();
    if let Some(flags) = tables::program(name) {
        scan.program = Some(flags);
    }
}

/// Forgets the program where a new command begins. A separator without a space next to it may be
/// part of a URL.
pub(super) fn next_command(scan: &mut Scan<'_>, at: usize) {
    let blank = |b: Option<u8>| b.is_none_or(|b| b <= b' ');
    let after = scan.bytes.get(at + 1).copied();
    let continued = before(scan, at) == Some(b'\\');
    if scan.program.is_some() && !continued && (blank(after) || scan.bytes.get(at) == Some(&b'\n'))
    {
        scan.program = None;
    }
}

/// Reads the option that begins with the hyphen here. Returns where to continue if its value was
/// hidden.
pub(super) fn read(scan: &mut Scan<'_>, at: usize) -> Option<usize> {
    if before(scan, at).is_some_and(|b| !parts_words(b)) {
        return None;
    }
    let rest = scan.bytes.get(at..)?;
    let part = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.');
    let length = rest.iter().take(64).take_while(|b| part(b)).count();
    let value = flagged(scan, at).or_else(|| named(scan, at, length))?;
    Some(scan.hide(value))
}

/// `--password X`: the value is the next word.
fn named(scan: &Scan<'_>, at: usize, length: usize) -> Option<SecretRange> {
    let end = at + length;
    let after = *scan.bytes.get(end)?;
    // A bare name of more than one letter.
    if length < 4 {
        return None;
    }
    let quoted =
        matches!(after, b'"' | b'\'') && scan.bytes.get(at.checked_sub(1)?) == Some(&after);
    let start = if quoted { in_list(scan, end + 1)? } else { end };
    if !quoted && after > b' ' {
        return None;
    }
    let name = names::lookup(scan.bytes.get(at..end)?)?;
    let value = next_word(scan, start, name.kind)?;
    let text = scan.text.get(value.start..value.end)?;
    let key = text.split('=').next().unwrap_or_default();
    let pair = key.len() + 1 < text.len()
        && text.contains('=')
        && key.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
    // `--secret id=x,src=y` says where a secret is stored.
    (!pair || name.kind != "secret").then_some(value)
}

/// Skips the comma between two words of a list in code: `"--password", "X"`.
fn in_list(scan: &Scan<'_>, at: usize) -> Option<usize> {
    let rest = scan.bytes.get(at..)?;
    let blanks = rest.iter().take(4).take_while(|b| **b == b' ').count();
    (rest.get(blanks) == Some(&b',')).then_some(at + blanks + 1)
}

fn next_word(scan: &Scan<'_>, at: usize, kind: &'static str) -> Option<SecretRange> {
    if scan.bytes.get(at) == Some(&BETWEEN) {
        let first = scan.bytes.get(at + 1..)?;
        let option = first.starts_with(b"--");
        return (!option).then(|| reading::value(scan, at + 1, kind, Stop::Item, false))?;
    }
    let rest = scan.bytes.get(at..)?;
    let blanks = rest.iter().take(16).take_while(|b| matches!(b, b' ' | b'\t')).count();
    let starts = rest.get(blanks..)?;
    if starts.starts_with(b"--") || matches!(starts.first(), Some(b'\n' | b'|' | b';' | b'&')) {
        return None;
    }
    reading::value(scan, at + blanks, kind, Stop::Word, false)
}

/// An option of the current program.
fn flagged(scan: &Scan<'_>, at: usize) -> Option<SecretRange> {
    let sets = scan.program?;
    sets.iter().filter_map(|&index| tables::flag(index)).find_map(|set| given(scan, at, set))
}

fn given(scan: &Scan<'_>, at: usize, set: &'static Flag) -> Option<SecretRange> {
    let rest = scan.text.get(at..)?;
    set.flags.iter().find_map(|flag| {
        let tail = rest.strip_prefix(flag)?;
        let start = at + flag.len();
        let next = tail.bytes().next()?;
        let value = if next <= b' ' && set.form != Form::Glued {
            next_word(scan, start, set.kind)?
        } else if next == b'=' && flag.starts_with("--") {
            reading::value(scan, start + 1, set.kind, Stop::Word, false)?
        } else if next > b' ' && set.form != Form::Next && flag.len() == 2 && next != b'-' {
            reading::value(scan, start, set.kind, Stop::Word, false)?
        } else if matches!(next, b'"' | b'\'') && set.form != Form::Glued {
            next_word(scan, in_list(scan, start + 1)?, set.kind)?
        } else {
            return None;
        };
        let text = scan.text.get(value.start..value.end)?;
        let ports = |b: u8| b.is_ascii_digit() || matches!(b, b':' | b'.' | b'/' | b'-');
        if set.form == Form::Login && text.contains(':') && text.bytes().take(6).all(ports) {
            return None;
        }
        let skipped = text.find(set.after)? + set.after.len();
        let start = value.start + skipped;
        let text = text.get(skipped..)?;
        let said = text.is_empty() || is_reference(text.as_bytes());
        (!said).then_some(SecretRange { start, ..value })
    })
}
