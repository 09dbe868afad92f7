//! Names: paths that say what they hold, public types that exist once.

use crate::files::{all, product, read, shown};
use crate::ratchet::{Counts, hold};
use crate::source::{code, without_tests};

const FORBIDDEN: [&str; 5] = ["utils", "util", "common", "manager", "helper"];
const KINDS: [&str; 4] = ["struct", "enum", "trait", "type"];

#[test]
fn paths_explain_themselves() {
    for path in all() {
        let name = shown(&path).to_lowercase();
        let mut words = name.split(|c: char| !c.is_alphanumeric());
        let bad = words.find(|word| FORBIDDEN.contains(word));
        assert!(bad.is_none(), "{name}: `{}` says nothing", bad.unwrap_or_default());
    }
}

/// The public types that a file defines.
fn public_types(code: &str) -> Vec<String> {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let name = |line: &str| {
        let rest = line.trim_start().strip_prefix("pub ")?;
        let (kind, rest) = rest.split_once(' ')?;
        let name: String = rest.chars().take_while(|c| is_name(*c)).collect();
        // An associated type stands inside a trait and is named through it.
        (KINDS.contains(&kind) && !name.is_empty()).then_some(name)
    };
    code.lines().filter_map(name).collect()
}

#[test]
fn a_public_type_name_is_used_once() {
    let mut counts = Counts::new();
    for path in product() {
        for name in public_types(&code(without_tests(&read(&path)))) {
            *counts.entry(name).or_default() += 1;
        }
    }
    assert!(counts.len() > 200, "only {} public types were found", counts.len());
    counts.retain(|_, count| *count > 1);
    let what_to_do = "several public types have this name: add the word that distinguishes them";
    hold("type_names", &counts, what_to_do);
}

#[test]
fn public_types_are_found() {
    let text =
        "pub struct A;\n    pub enum B {\npub(crate) struct C;\npub fn d() {}\npub trait E<T> {";
    assert_eq!(public_types(text), ["A", "B", "E"]);
}
