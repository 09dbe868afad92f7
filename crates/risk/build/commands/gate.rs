//! What a call's words must hold for a rule to fit: one comparison rules most of them out.

use super::schema::Rule;
use super::source::{self, needs, rarest};
use countersign_text::glob::bytes_of;

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
        gate |= shared(names.split('|').map(bytes_of)) | globs(values);
    }
    gate
}

/// Bytes of which the words of every call this rule fits hold one; all where nothing is sure.
pub fn marks(rule: &Rule) -> u64 {
    let lists = [&rule.arg, &rule.operand, &rule.first, &rule.last].into_iter();
    let sets = lists.filter(|list| !list.is_empty()).map(|list| source::marks(list));
    // The smallest set rules out most.
    sets.min_by_key(|set| set.count_ones()).unwrap_or(u64::MAX)
}

/// The same of the first operand.
pub fn head_marks(rule: &Rule) -> u64 {
    let heads = rule.sub.iter().map(|path| path.split(' ').next().unwrap_or_default());
    heads.map(|head| rarest(needs(head))).reduce(|a, b| a | b).unwrap_or(u64::MAX)
}

/// The same of the options.
pub fn flag_marks(rule: &Rule) -> u64 {
    let flags = rule.flags.iter().map(|flag| rarest(flag_needs(flag)));
    flags.reduce(|a, b| a | b).unwrap_or(u64::MAX)
}

/// The bytes that the options of every call this rule fits hold behind their first.
pub fn flag_gate(rule: &Rule) -> u64 {
    let every = rule.all_flags.iter().map(|either| shared(either.split('|').map(flag_needs)));
    every.fold(shared(rule.flags.iter().map(|f| flag_needs(f))), |set, needs| set | needs)
}

/// The bytes that all patterns of a list need; one of them is enough to fit.
pub fn shared(needs: impl Iterator<Item = u64>) -> u64 {
    needs.reduce(|a, b| a & b).unwrap_or(0)
}

/// A flag of one letter may be in a cluster, so only its letter is sure.
pub fn flag_needs(name: &str) -> u64 {
    let mut chars = name.chars();
    match (chars.next(), chars.next(), chars.next()) {
        (Some('-'), Some(c), None) if c != '*' => bytes_of(c.encode_utf8(&mut [0; 4])),
        // Every option begins with a dash; a second one is worth knowing.
        _ => needs(name.strip_prefix('-').unwrap_or(name)),
    }
}
