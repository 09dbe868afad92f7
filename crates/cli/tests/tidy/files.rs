//! The files of the repository.

use std::fs;
use std::path::{Path, PathBuf};

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

pub fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Every file that is not hidden and not built.
pub fn all() -> Vec<PathBuf> {
    let mut found = Vec::new();
    walk(&root(), &mut found);
    found.sort();
    found
}

fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for path in entries.map(|entry| entry.unwrap().path()) {
        let name = path.file_name().unwrap().to_string_lossy().to_string();
        if name == "target" || name == "node_modules" || name.starts_with('.') {
            continue;
        }
        if path.is_dir() {
            walk(&path, found);
        } else {
            found.push(path);
        }
    }
}

/// The files with this ending.
pub fn ending_in(ending: &str) -> Vec<PathBuf> {
    let mut found = all();
    found.retain(|path| path.extension().is_some_and(|e| e == ending));
    found
}

/// A path as seen from the root, with `/`.
pub fn shown(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).display().to_string()
}

/// Rust files of the product: `crates/*/src` without tests and what only tests use.
pub fn product() -> Vec<PathBuf> {
    let mut found = ending_in("rs");
    found.retain(|path| {
        let name = shown(path);
        name.starts_with("crates/") && name.contains("/src/") && !is_test(&name)
    });
    found
}

/// Whether a file of `src` holds tests only, by its name.
fn is_test(name: &str) -> bool {
    let stem = name.trim_end_matches(".rs");
    name.contains("/tests/") || stem.ends_with("/tests") || stem.ends_with("_tests")
}

/// What a running daemon writes: databases, keys, checkpoints.
#[test]
fn no_state_of_a_daemon_is_in_the_repository() {
    let endings = ["checkpoint", "db", "db-shm", "db-wal", "key", "mark", "pem"];
    let state: Vec<String> =
        endings.iter().flat_map(|ending| ending_in(ending)).map(|path| shown(&path)).collect();
    assert_eq!(state, [] as [String; 0]);
}
