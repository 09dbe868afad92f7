//! What crates may depend on: core's closed list, the store's database, no imports upwards.

use std::fs;

use crate::files::{ending_in, product, read, root, shown};
use crate::source::without_tests;

const CORE_MAY_USE: [&str; 3] = ["ryu-js", "serde", "sha2"];
const CORE_BUILD_MAY_USE: [&str; 2] = ["serde", "toml"];
/// The crates from the lowest to the highest: each may use only those before it.
const LAYERS: [&str; 8] =
    ["core", "net", "store", "channels", "client", "daemon", "gateways", "cli"];

/// The names in one section of a Cargo.toml.
fn dependencies(manifest: &str, section: &str) -> Vec<String> {
    let head = format!("[{section}]");
    let lines = manifest.lines().skip_while(|line| line.trim() != head).skip(1);
    lines
        .take_while(|line| !line.starts_with('['))
        .filter_map(|line| line.split(['.', '=', ' ']).next())
        .filter(|name| !name.is_empty() && !name.starts_with('#'))
        .map(str::to_owned)
        .collect()
}

#[test]
fn core_s_dependencies_are_a_closed_list() {
    let manifest = read(&root().join("crates/core/Cargo.toml"));
    assert_eq!(dependencies(&manifest, "dependencies"), CORE_MAY_USE);
    assert_eq!(dependencies(&manifest, "build-dependencies"), CORE_BUILD_MAY_USE);
    assert!(!manifest.contains("[target."), "no dependencies by target either");
    assert!(!manifest.contains("[dependencies."), "one line each, so that the list is seen");
}

#[test]
fn core_does_no_io_and_reads_no_clock() {
    let forbidden =
        ["std::fs", "std::net", "std::process", "std::env", "std::time", "std::io", "std::thread"];
    for path in product().into_iter().filter(|path| shown(path).starts_with("crates/core/")) {
        let text = read(&path);
        let product = without_tests(&text).split("#[cfg(test)]").next().unwrap_or_default();
        for name in forbidden {
            assert!(!product.contains(name), "{}: core is pure, no {name}", shown(&path));
        }
    }
}

#[test]
fn only_the_store_uses_a_database() {
    for path in ending_in("toml") {
        let (file, text) = (shown(&path), read(&path));
        if file == "Cargo.toml" || file == "crates/store/Cargo.toml" {
            continue;
        }
        for name in ["rusqlite", "tokio-postgres", "sqlx"] {
            assert!(!text.contains(&format!("\n{name}")), "{file}: {name} belongs to the store");
        }
    }
}

#[test]
fn no_crate_uses_one_above_it() {
    for entry in fs::read_dir(root().join("crates")).unwrap() {
        let name = entry.unwrap().file_name().to_string_lossy().to_string();
        let layer = LAYERS.iter().position(|one| *one == name);
        let layer = layer.unwrap_or_else(|| panic!("crates/{name} is not in LAYERS"));
        let manifest = read(&root().join(format!("crates/{name}/Cargo.toml")));
        for used in dependencies(&manifest, "dependencies") {
            let Some(used) = used.strip_prefix("countersign-") else { continue };
            let below = LAYERS.iter().take(layer).any(|one| *one == used);
            assert!(below, "crates/{name} uses crates/{used}, which is not below it");
        }
    }
}
