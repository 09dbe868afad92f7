//! No file of a crate uses, through others, itself.

use std::collections::{BTreeMap, BTreeSet};

use crate::imports::edges;
use crate::ratchet::{Counts, hold};

/// The files that lead back to themselves.
fn in_cycles(edges: &BTreeSet<(String, String)>) -> BTreeSet<&String> {
    let mut next: BTreeMap<&String, Vec<&String>> = BTreeMap::new();
    for (from, to) in edges {
        next.entry(from).or_default().push(to);
    }
    let comes_back = |start: &&String| {
        let (mut seen, mut open) = (BTreeSet::new(), vec![*start]);
        while let Some(file) = open.pop() {
            for to in next.get(file).into_iter().flatten() {
                if to == start {
                    return true;
                }
                if seen.insert(*to) {
                    open.push(to);
                }
            }
        }
        false
    };
    next.keys().copied().filter(comes_back).collect()
}

#[test]
fn files_of_a_crate_do_not_use_each_other_in_a_cycle() {
    let edges = edges();
    assert!(edges.len() > 200, "only {} imports were found", edges.len());
    let found: Counts = in_cycles(&edges).into_iter().map(|file| (file.clone(), 1)).collect();
    hold(
        "cycles",
        &found,
        "these files are now in an import cycle: move what both need below both",
    );
}

/// The module right below the crate's root that a file belongs to.
fn top_module(file: &str) -> Option<String> {
    let (name, inside) = file.split_once("/src/")?;
    let module = inside.split('/').next()?.trim_end_matches(".rs");
    (module != "lib").then(|| format!("{name} {module}"))
}

/// Methods may be added to a type in any file of its module, so that files call each other without
/// an import. Between modules every call needs one.
#[test]
fn modules_of_a_crate_do_not_use_each_other_in_a_cycle() {
    let edge = |(from, to): &(String, String)| Some((top_module(from)?, top_module(to)?));
    let edges: BTreeSet<(String, String)> =
        edges().iter().filter_map(edge).filter(|(from, to)| from != to).collect();
    assert!(edges.len() > 50, "only {} imports between modules were found", edges.len());
    let found: Counts = in_cycles(&edges).into_iter().map(|name| (name.clone(), 1)).collect();
    let what_to_do = "these modules now use each other: move what both need below both";
    hold("module_cycles", &found, what_to_do);
}

#[test]
fn a_cycle_is_found() {
    let edge = |from: &str, to: &str| (from.to_owned(), to.to_owned());
    let edges = [edge("a", "b"), edge("b", "c"), edge("c", "a"), edge("c", "d"), edge("e", "a")];
    let edges = BTreeSet::from(edges);
    let found: Vec<&str> = in_cycles(&edges).into_iter().map(String::as_str).collect();
    assert_eq!(found, ["a", "b", "c"]);
    let top = |file| top_module(file).unwrap_or_default();
    assert_eq!(top("crates/a/src/b/c/d.rs"), "crates/a b");
    assert_eq!(top("crates/a/src/b.rs"), "crates/a b");
    assert_eq!(top_module("crates/a/src/lib.rs"), None);
}
