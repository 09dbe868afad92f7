//! The table of program names. Thousands of names share a few descriptions, so a name costs its
//! bytes and a few numbers instead of pointers.

use std::collections::BTreeMap;

use super::source::put;

/// What a name stands for: the number of its description, its rules and its runners, as source.
pub type Meaning = (usize, String, String);

/// Each description once; returns the new number of each.
pub fn unique(sources: &[String]) -> (Vec<&String>, Vec<usize>) {
    let mut known: BTreeMap<&String, usize> = BTreeMap::new();
    let mut list = Vec::new();
    let numbers = sources.iter().map(|source| {
        *known.entry(source).or_insert_with(|| {
            list.push(source);
            list.len() - 1
        })
    });
    let numbers = numbers.collect();
    (list, numbers)
}

/// Writes the names, which are sorted, and what they stand for.
pub fn write(names: &BTreeMap<&str, Meaning>, s: &mut String) -> Result<(), String> {
    let mut known: BTreeMap<&Meaning, usize> = BTreeMap::new();
    let mut meanings = String::new();
    let (mut keys, mut ends, mut numbers) = (String::new(), String::new(), String::new());
    let mut text = String::new();
    for (name, meaning) in names {
        let next = known.len();
        let number = *known.entry(meaning).or_insert(next);
        if number == next {
            let (spec, rules, runners) = meaning;
            put(&mut meanings, format!("({spec}, &{rules}, &{runners}),\n"));
        }
        text.push_str(name);
        put(&mut keys, format!("{:#x}, ", first_bytes(name)));
        put(&mut ends, format!("{}, ", text.len()));
        put(&mut numbers, format!("{number}, "));
    }
    u16::try_from(known.len()).map_err(|_| "too many kinds of programs")?;
    let (count, kinds) = (names.len(), known.len());
    let meaning = "(u16, &[&Rule], &[&Runner])";
    put(
        s,
        format!(
            "/// The names of all programs, sorted, one behind the other.\nstatic NAME_TEXT: &str = {text:?};\n"
        ),
    );
    put(s, format!("/// Where each name ends.\nstatic NAME_ENDS: [u32; {count}] = [{ends}];\n"));
    put(
        s,
        format!(
            "/// The first eight bytes of each name.\nstatic NAME_KEYS: [u64; {count}] = [{keys}];\n"
        ),
    );
    put(
        s,
        format!(
            "/// What each name stands for.\nstatic NAME_MEANINGS: [u16; {count}] = [{numbers}];\n"
        ),
    );
    put(
        s,
        format!(
            "/// Description, rules and runners.\nstatic MEANINGS: [{meaning}; {kinds}] = [\n{meanings}];\n"
        ),
    );
    Ok(())
}

/// The first eight bytes of a name as a number that sorts like the name.
pub fn first_bytes(name: &str) -> u64 {
    name.bytes().chain(std::iter::repeat(0)).take(8).fold(0, |n, b| n << 8 | u64::from(b))
}
