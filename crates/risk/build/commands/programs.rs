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

/// How many names a block of `SortedNames` has.
const BLOCK: usize = 8;

/// Writes the names, which are sorted, and what they stand for. A name is stored as the number of
/// bytes that it shares with the name before it, the number of its other bytes, and these.
pub fn write(names: &BTreeMap<&str, Meaning>, s: &mut String) -> Result<(), String> {
    let mut known: BTreeMap<&Meaning, usize> = BTreeMap::new();
    let (mut meanings, mut numbers) = (String::new(), String::new());
    let (mut bytes, mut before) = (Vec::new(), "");
    let (mut blocks, mut keys) = (String::new(), String::new());
    for (at, (name, meaning)) in names.iter().enumerate() {
        let next = known.len();
        let number = *known.entry(meaning).or_insert(next);
        if number == next {
            let (spec, rules, runners) = meaning;
            put(&mut meanings, format!("({spec}, {rules}, {runners}),\n"));
        }
        put(&mut numbers, format!("{number}, "));
        if at.is_multiple_of(BLOCK) {
            put(&mut blocks, format!("{}, ", bytes.len()));
            put(&mut keys, format!("{}, ", first_bytes(name)));
            before = "";
        }
        let shared = before.bytes().zip(name.bytes()).take_while(|(a, b)| a == b).count();
        let too_long = |_| format!("the name `{name}` is too long");
        bytes.push(u8::try_from(shared).map_err(too_long)?);
        bytes.push(u8::try_from(name.len() - shared).map_err(too_long)?);
        bytes.extend(name.bytes().skip(shared));
        before = name;
    }
    u16::try_from(known.len()).map_err(|_| "too many kinds of programs")?;
    let (count, kinds) = (names.len(), known.len());
    let names = bytes.escape_ascii();
    let meaning = "(u16, StaticList<&Rule>, StaticList<&Runner>)";
    put(s, "/// The names of all programs.\n");
    put(s, "static PROGRAM_NAMES: SortedNames = SortedNames {\n");
    put(s, format!("names: b\"{names}\",\nblocks: &[{blocks}],\nkeys: &[{keys}],\n}};\n"));
    put(s, "/// What each name stands for.\n");
    put(s, format!("static NAME_MEANINGS: [u16; {count}] = [{numbers}];\n"));
    put(s, "/// Description, rules and runners.\n");
    put(s, format!("static MEANINGS: [{meaning}; {kinds}] = [\n{meanings}];\n"));
    Ok(())
}

/// The first eight bytes of a name as a number that sorts like the name.
pub fn first_bytes(name: &str) -> u64 {
    name.bytes().chain(std::iter::repeat(0)).take(8).fold(0, |n, b| n << 8 | u64::from(b))
}
