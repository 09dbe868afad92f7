//! The branches, tags and remote-tracking branches of a repository.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::folders::GitFolders;
use super::objects::{ObjectName, parse_name};
use crate::files;

/// The largest file of one reference.
const MAX_REFERENCE: u64 = 4 << 10;
/// How many references are read.
const MAX_REFERENCES: usize = 5_000;
/// How deep their folders are followed.
const MAX_DEPTH: usize = 16;

/// All references by their whole names, such as `refs/heads/main`.
#[derive(Debug)]
pub struct References {
    names: BTreeMap<String, ObjectName>,
    /// The branch that `HEAD` names.
    pub branch: Option<String>,
    /// The commit of `HEAD`.
    pub head: Option<ObjectName>,
}

impl References {
    /// Reads them. `None` if they are too many, or stored in a form that is not read.
    pub fn read(git: &GitFolders, limit: u64) -> Option<References> {
        let mut names = BTreeMap::new();
        let packed = match files::read_text(&git.common.join("packed-refs"), limit) {
            Ok(text) => text,
            Err(countersign_risk::facts::UnknownReason::Missing) => String::new(),
            Err(_) => return None,
        };
        for line in packed.lines().filter(|line| !line.starts_with(['#', '^'])) {
            let (name, reference) = line.split_once(' ')?;
            names.insert(reference.trim().to_owned(), parse_name(name)?);
            if names.len() > MAX_REFERENCES {
                return None;
            }
        }
        for kind in ["heads", "tags", "remotes", "replace"] {
            read_folder(&git.common, &format!("refs/{kind}"), &mut names, 0)?;
        }
        // With replacements git shows other commits than the ones that are stored.
        let is_replaced = names.keys().any(|name| name.starts_with("refs/replace/"));
        if is_replaced || git.common.join("info/grafts").symlink_metadata().is_ok() {
            return None;
        }
        let head = files::read_text(&git.private.join("HEAD"), MAX_REFERENCE).ok()?;
        let (branch, head) = match head.trim().strip_prefix("ref:").map(str::trim) {
            Some(name) => {
                let branch = name.strip_prefix("refs/heads/")?.to_owned();
                (Some(branch), names.get(name).copied())
            }
            None => (None, Some(parse_name(head.trim())?)),
        };
        Some(References { names, branch, head })
    }

    /// The object of a reference.
    pub fn get(&self, name: &str) -> Option<ObjectName> {
        self.names.get(name).copied()
    }

    /// The references whose names start like this.
    pub fn below(&self, start: &str) -> impl Iterator<Item = (&str, &ObjectName)> {
        let all = self.names.iter().filter(move |(name, _)| name.starts_with(start));
        all.map(|(name, object)| (name.as_str(), object))
    }
}

/// Adds the references that have a file of their own; those count before packed ones.
fn read_folder(
    common: &Path,
    folder: &str,
    names: &mut BTreeMap<String, ObjectName>,
    depth: usize,
) -> Option<()> {
    let Ok(entries) = fs::read_dir(common.join(folder)) else { return Some(()) };
    for entry in entries {
        let entry = entry.ok()?;
        let name = format!("{folder}/{}", entry.file_name().to_str()?);
        let kind = entry.file_type().ok()?;
        if kind.is_dir() {
            if depth >= MAX_DEPTH {
                return None;
            }
            read_folder(common, &name, names, depth + 1)?;
            continue;
        }
        if name.strip_suffix(".lock").is_some() {
            continue;
        }
        let text = files::read_text(&common.join(&name), MAX_REFERENCE).ok()?;
        // `refs/remotes/origin/HEAD` names another reference; no push needs it.
        if !text.starts_with("ref:") {
            names.insert(name, parse_name(text.trim())?);
        }
        if names.len() > MAX_REFERENCES {
            return None;
        }
    }
    Some(())
}
