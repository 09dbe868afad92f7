//! A static hash table of words.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::hash::{SEED, step};

/// Writes the table `name`: words in hash buckets, each with its classes and language hints.
pub fn write(
    name: &str,
    words: &BTreeMap<String, (Vec<u16>, u16)>,
    out: &mut String,
) -> Result<(), String> {
    let buckets = (words.len() * 2).next_power_of_two().max(2);
    let mask = u32::try_from(buckets - 1).map_err(|_| "too many words")?;
    let hash = |word: &str| {
        let bytes: Vec<u8> =
            if name == "SUFFIX" { word.bytes().rev().collect() } else { word.into() };
        bytes.iter().fold(SEED, |h, b| step(h, *b))
    };
    let mut list: Vec<_> =
        words.iter().map(|(word, value)| (hash(word) & mask, word, value)).collect();
    list.sort_unstable_by_key(|(bucket, word, _)| (*bucket, *word));
    let at: Vec<usize> =
        (0..=mask + 1).map(|b| list.partition_point(|(bucket, _, _)| *bucket < b)).collect();
    // Which lengths occur, so that most prefixes and suffixes are never looked up.
    let lengths = words.keys().fold(0_u64, |set, word| set | 1 << word.len().min(63));
    let lengths = lengths.to_be_bytes();
    let _ = writeln!(
        out,
        "static {name}: Table = Table {{ mask: {mask}, lengths: u64::from_be_bytes({lengths:?}), "
    );
    let (mut text, mut word_ends) = (String::new(), Vec::new());
    let (mut all, mut class_ends, mut hints) = (Vec::new(), Vec::new(), Vec::new());
    for (_, word, (classes, langs)) in list {
        text.push_str(word);
        word_ends.push(text.len());
        all.extend_from_slice(classes);
        class_ends.push(all.len());
        hints.push(langs);
    }
    let _ = writeln!(out, "at: &{at:?}, text: {text:?}, word_ends: &{word_ends:?},");
    let _ = writeln!(out, "classes: &{all:?}, class_ends: &{class_ends:?}, hints: &{hints:?} }};");
    Ok(())
}
