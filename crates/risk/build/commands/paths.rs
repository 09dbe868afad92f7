//! `rules/paths.toml` → path classes and their patterns by first part.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::examples::Examples;

use super::programs::first_bytes;
use super::schema::PathFile;
use super::source::{glob, put, tier};

/// Path classes in file order: the first pattern that fits decides.
pub fn write_paths(file: &PathFile, s: &mut String) -> Result<(), String> {
    let mut rebuilt: Vec<&String> = file.rebuilt.iter().collect();
    rebuilt.sort();
    s.push_str("/// Folders of a project that its own tools make again, sorted.\n");
    let _ = writeln!(s, "pub static REBUILT: &[&str] = &{rebuilt:?};");
    let inside = &file.rebuilt_in_project;
    s.push_str("/// The same, where the project is known.\n");
    let _ = writeln!(s, "pub static REBUILT_IN_PROJECT: &[&str] = &{inside:?};");
    put(
        s,
        "/// Path classes, the order of `rules/paths.toml`.\npub static CLASSES: &[PathClass] = &[\n",
    );
    for c in &file.class {
        let wrap = |e: String| format!("path class `{}`: {e}", c.id);
        put(
            s,
            format!(
                "PathClass {{ id: {:?}, name: {:?}, read: {}, write: {}, delete: {}, delete_tree: {}, change: {}, change_tree: {} }},\n",
                c.id,
                c.name,
                tier(&c.read).map_err(wrap)?,
                tier(&c.write).map_err(wrap)?,
                tier(&c.delete).map_err(wrap)?,
                tier(&c.delete_tree).map_err(wrap)?,
                tier(&c.change).map_err(wrap)?,
                tier(&c.change_tree).map_err(wrap)?
            ),
        );
    }
    put(s, "];\n");
    write_patterns(file, s);
    write_guarded(file, s);
    Ok(())
}

/// Paths of each class, and paths of others.
pub fn path_examples(file: &PathFile) -> Result<String, String> {
    let mut examples = Examples::new("PATH_CLASSES");
    for class in &file.class {
        examples.add(&class.id, &class.examples, &class.counter_examples)?;
    }
    Ok(examples.source())
}

/// What patterns and parents of the protected classes are compared with.
fn write_guarded(file: &PathFile, s: &mut String) {
    put(s, "/// Paths that a pattern must not reach.\npub static GUARDED: &[GuardedPath] = &[\n");
    for (i, c) in file.class.iter().enumerate().filter(|(_, c)| c.guard) {
        for p in &c.paths {
            let (kind, rest) = if let Some(rest) = p.strip_prefix("name:") {
                ("Name", rest)
            } else if let Some(rest) = p.strip_prefix("dir:").or(p.strip_prefix("in:")) {
                ("Inside", rest)
            } else if let Some(rest) = p.strip_prefix("~/") {
                ("Home", rest)
            } else if let Some(rest) = p.strip_prefix('/') {
                ("Root", rest)
            } else {
                continue;
            };
            let tree = rest.ends_with("/**") || p.starts_with("dir:");
            let rest = rest.strip_suffix("/**").unwrap_or(rest);
            let parts: Vec<&str> = rest.split('/').collect();
            put(
                s,
                format!(
                    "GuardedPath {{ kind: GuardedKind::{kind}, parts: &{parts:?}, tree: {tree}, class: {i} }},\n"
                ),
            );
        }
    }
    put(s, "];\n");
}

/// The patterns, by what of a path they look at.
fn write_patterns(file: &PathFile, s: &mut String) {
    let mut names: BTreeMap<&str, usize> = BTreeMap::new();
    let mut dirs: BTreeMap<&str, usize> = BTreeMap::new();
    let mut name_globs = Vec::new();
    let mut kinds: [(&str, BTreeMap<String, Vec<String>>); 4] =
        ["ROOT", "HOME", "LOCAL", "INNER"].map(|kind| (kind, BTreeMap::new()));
    for (i, c) in file.class.iter().enumerate() {
        for p in &c.paths {
            if let Some(name) = p.strip_prefix("name:") {
                if name.contains('*') {
                    name_globs.push(format!("({}, {i})", glob(name)));
                } else {
                    names.entry(name).or_insert(i);
                }
                continue;
            }
            if let Some(name) = p.strip_prefix("dir:") {
                dirs.entry(name).or_insert(i);
                continue;
            }
            let (kind, p) = match p.strip_prefix("in:") {
                Some(inner) => (3, inner),
                None if p.starts_with('/') => (0, p.as_str()),
                None if p.starts_with('~') => (1, p.as_str()),
                None => (2, p.as_str()),
            };
            let first = first_part(p).filter(|f| !f.contains('*')).unwrap_or_default();
            if let Some((_, map)) = kinds.get_mut(kind) {
                map.entry(first.to_owned()).or_default().push(path_pattern(p, i));
            }
        }
    }
    put(
        s,
        format!(
            "/// Last parts of paths with their class, sorted, each behind its first eight bytes.\npub static NAMES: &[(u64, &str, u8)] = &{:?};\n",
            names.into_iter().map(|(n, c)| (first_bytes(n), n, c)).collect::<Vec<_>>()
        ),
    );
    put(
        s,
        format!(
            "/// Any part of a path with its class, sorted.\npub static DIRS: &[(&str, u8)] = &{:?};\n",
            dirs.into_iter().collect::<Vec<_>>()
        ),
    );
    put(
        s,
        format!(
            "/// Last parts with stars.\npub static NAME_GLOBS: &[(Glob, u8)] = &[{}];\n",
            name_globs.join(", ")
        ),
    );
    for (kind, map) in kinds {
        put(
            s,
            format!(
                "/// Patterns by their first part, sorted; those under `\"\"` hold for every path.\npub static {kind}_PATHS: &[(&str, &[PathPattern])] = &[\n"
            ),
        );
        for (first, patterns) in map {
            put(s, format!("({first:?}, &[{}]),\n", patterns.join(", ")));
        }
        put(s, "];\n");
    }
}

/// `/etc/x` → `etc`, `~/.ssh/x` → `.ssh`, `.git/x` → `.git`.
fn first_part(path: &str) -> Option<&str> {
    let rest = path.strip_prefix("~/").or(path.strip_prefix('/')).unwrap_or(path);
    rest.split('/').next().filter(|p| *p != "~")
}

fn path_pattern(p: &str, class: usize) -> String {
    let (shape, text) = if let Some(folder) = p.strip_suffix("**") {
        let folder = folder.strip_suffix('/').unwrap_or(folder);
        (if folder.contains('*') { "PartsTree" } else { "Tree" }, folder)
    } else if !p.contains('*') || p == "*" || p == ".*" {
        ("Exact", p)
    } else if let Some(folder) = p.strip_suffix("/*").filter(|f| !f.contains('*')) {
        ("Star", folder)
    } else {
        ("Parts", p)
    };
    format!("PathPattern {{ text: {text:?}, shape: PathShape::{shape}, class: {class} }}")
}
