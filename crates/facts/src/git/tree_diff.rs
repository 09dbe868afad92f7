//! The files that differ between two trees.

use std::collections::BTreeMap;

use super::objects::{ObjectKind, ObjectName, ObjectStore};

/// How many trees are read for one comparison.
const MAX_TREES: usize = 2_000;
/// How many names are kept.
const MAX_NAMES: usize = 5;
/// How deep folders are followed.
const MAX_DEPTH: usize = 64;
/// The mode of a folder.
const FOLDER: &[u8] = b"40000";

/// The files that differ.
#[derive(Debug, Default)]
pub struct ChangedFiles {
    pub count: usize,
    /// The first of them.
    pub names: Vec<String>,
    /// Whether all trees were read.
    pub is_exact: bool,
}

struct TreeWalk<'s> {
    store: &'s mut ObjectStore,
    read: usize,
    found: ChangedFiles,
}

/// The mode and the object of each name.
type Entries = BTreeMap<Vec<u8>, (Vec<u8>, ObjectName)>;

/// Compares two trees; none is an empty one.
pub fn changed_files(
    store: &mut ObjectStore,
    old: Option<ObjectName>,
    new: Option<ObjectName>,
) -> ChangedFiles {
    let found = ChangedFiles { is_exact: true, ..ChangedFiles::default() };
    let mut walk = TreeWalk { store, read: 0, found };
    walk.compare(old, new, "", 0);
    walk.found
}

impl TreeWalk<'_> {
    fn compare(
        &mut self,
        old: Option<ObjectName>,
        new: Option<ObjectName>,
        above: &str,
        depth: usize,
    ) {
        if old == new {
            return;
        }
        if depth > MAX_DEPTH {
            self.found.is_exact = false;
            return;
        }
        let (Some(old), Some(new)) = (self.entries(old), self.entries(new)) else {
            self.found.is_exact = false;
            return;
        };
        let added = new.keys().filter(|name| !old.contains_key(*name));
        let mut names: Vec<&Vec<u8>> = old.keys().chain(added).collect();
        names.sort();
        for name in names {
            let (before, after) = (old.get(name), new.get(name));
            if before == after {
                continue;
            }
            let path = format!("{above}{}", String::from_utf8_lossy(name));
            let folder = |entry: Option<&(Vec<u8>, ObjectName)>| {
                entry.filter(|(mode, _)| mode == FOLDER).map(|(_, name)| *name)
            };
            let is_file =
                |entry: Option<&(Vec<u8>, ObjectName)>| entry.is_some_and(|(m, _)| m != FOLDER);
            if is_file(before) || is_file(after) {
                self.found.count += 1;
                if self.found.names.len() < MAX_NAMES {
                    self.found.names.push(path.clone());
                }
            }
            self.compare(folder(before), folder(after), &format!("{path}/"), depth + 1);
        }
    }

    fn entries(&mut self, tree: Option<ObjectName>) -> Option<Entries> {
        let Some(tree) = tree else { return Some(Entries::new()) };
        self.read += 1;
        if self.read > MAX_TREES {
            return None;
        }
        let body = self.store.read(&tree, ObjectKind::Tree)?;
        let (mut entries, mut rest) = (Entries::new(), body.as_slice());
        while !rest.is_empty() {
            let space = rest.iter().position(|byte| *byte == b' ')?;
            let mode = rest.get(..space)?;
            let end = rest.iter().position(|byte| *byte == 0)?;
            let name = rest.get(space + 1..end)?.to_vec();
            let object: ObjectName = rest.get(end + 1..end + 21)?.try_into().ok()?;
            entries.insert(name, (mode.to_vec(), object));
            rest = rest.get(end + 21..)?;
        }
        Some(entries)
    }
}
