//! What a call's words must hold for a rule to fit: one comparison rules most of them out.

use super::schema::Rule;
use super::source::needs;

/// The bytes that every call this rule fits holds in the words after the program.
pub fn gate(rule: &Rule) -> u64 {
    let globs = |list: &[String]| shared(list.iter().map(|p| needs(p)));
    let flags = |list: &[String]| shared(list.iter().map(|f| flag_needs(f)));
    let path = |p: &String| p.split(' ').fold(0, |set, part| set | needs(part));
    let mut gate = shared(rule.sub.iter().map(path)) | flags(&rule.flags);
    for alternatives in &rule.all_flags {
        gate |= shared(alternatives.split('|').map(flag_needs));
    }
    for words in [&rule.operand, &rule.first, &rule.last, &rule.arg] {
        gate |= globs(words);
    }
    for (names, values) in &rule.option {
        gate |= shared(names.split('|').map(letters)) | globs(values);
    }
    gate
}

/// The bytes that all patterns of a list need; one of them is enough to fit.
pub fn shared(needs: impl Iterator<Item = u64>) -> u64 {
    needs.reduce(|a, b| a & b).unwrap_or(0)
}

/// A flag of one letter may stand in a cluster, so only its letter is sure.
pub fn flag_needs(name: &str) -> u64 {
    let mut chars = name.chars();
    match (chars.next(), chars.next(), chars.next()) {
        (Some('-'), Some(c), None) if c != '*' => letters(c.encode_utf8(&mut [0; 4])),
        _ => needs(name),
    }
}

/// Every byte of a text, as `glob::bytes_of` counts them.
fn letters(text: &str) -> u64 {
    text.bytes().fold(0, |set, b| set | 1 << (b & 63))
}
