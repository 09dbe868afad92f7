//! Lists of what broke a rule before the rule existed: each may only shrink.
//!
//! A line is a key and a number, separated by a tab. A number above its line, or a key without a
//! line, is a new violation. A number below its line means that the list must shrink with it:
//! `UPDATE_TIDY=1 cargo test -p countersign --test tidy` lowers the numbers, and never raises one.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use crate::files::root;

/// Violations by key, and how many of them.
pub type Counts = BTreeMap<String, usize>;

/// Holds what was found against the list `allowed/NAME.txt`.
pub fn hold(name: &str, found: &Counts, what_to_do: &str) {
    let path = list(name);
    let allowed = parsed(&fs::read_to_string(&path).unwrap_or_default());
    let (new, stale) = compared(found, &allowed);
    if updates() && !stale.is_empty() {
        fs::write(&path, written(&lowered(found, &allowed))).unwrap();
    } else {
        let shrink = "UPDATE_TIDY=1 cargo test -p countersign --test tidy";
        assert!(stale.is_empty(), "better than {name}.txt says: {shrink}\n{}", stale.join("\n"));
    }
    assert!(new.is_empty(), "{what_to_do}:\n{}", new.join("\n"));
}

fn updates() -> bool {
    std::env::var_os("UPDATE_TIDY").is_some()
}

fn list(name: &str) -> PathBuf {
    root().join(format!("crates/cli/tests/tidy/allowed/{name}.txt"))
}

fn parsed(text: &str) -> Counts {
    let line = |line: &str| {
        let (key, count) = line.rsplit_once('\t')?;
        Some((key.to_owned(), count.parse().ok()?))
    };
    text.lines().map(|text| line(text).unwrap_or_else(|| panic!("unreadable: {text}"))).collect()
}

fn written(counts: &Counts) -> String {
    let lines = counts.iter().map(|(key, count)| format!("{key}\t{count}\n"));
    lines.collect::<Vec<_>>().concat()
}

/// What is worse than the list, and what is better.
fn compared(found: &Counts, allowed: &Counts) -> (Vec<String>, Vec<String>) {
    let of = |counts: &Counts, key: &str| counts.get(key).copied().unwrap_or(0);
    let line = |key: &String, is: usize, was: usize| format!("{key}: {is}, allowed {was}");
    let worse = found.iter().filter(|(key, count)| **count > of(allowed, key));
    let better = allowed.iter().filter(|(key, count)| **count > of(found, key));
    (
        worse.map(|(key, count)| line(key, *count, of(allowed, key))).collect(),
        better.map(|(key, count)| line(key, of(found, key), *count)).collect(),
    )
}

/// The list after what became better, and nothing that became worse.
fn lowered(found: &Counts, allowed: &Counts) -> Counts {
    let lower = |(key, most): (&String, &usize)| {
        let count = found.get(key).copied().unwrap_or(0).min(*most);
        (count > 0).then(|| (key.clone(), count))
    };
    allowed.iter().filter_map(lower).collect()
}

#[test]
fn a_list_may_only_shrink() {
    let counts = |pairs: &[(&str, usize)]| -> Counts {
        pairs.iter().map(|(key, count)| ((*key).to_owned(), *count)).collect()
    };
    let allowed = counts(&[("gone", 1), ("less", 3), ("same", 2), ("more", 1)]);
    let found = counts(&[("less", 2), ("same", 2), ("more", 4), ("new", 1)]);
    let (worse, better) = compared(&found, &allowed);
    assert_eq!(worse, ["more: 4, allowed 1", "new: 1, allowed 0"]);
    assert_eq!(better, ["gone: 0, allowed 1", "less: 2, allowed 3"]);
    let after = counts(&[("less", 2), ("same", 2), ("more", 1)]);
    assert_eq!(lowered(&found, &allowed), after);
    assert_eq!(parsed(&written(&after)), after);
}
