//! What crates may depend on: closed lists of the pure crates, layers, the store's database.

use std::fs;

use crate::files::{ending_in, product, read, root, shown};
use crate::source::without_tests;

/// The pure crates, lowest first, each with the closed list of what it may depend on.
const PURE: [(&str, &[&str]); 11] = [
    ("types", &["serde"]),
    ("text", &["countersign-types", "serde"]),
    ("json", &["base64ct", "countersign-text", "ryu-js", "serde", "sha2"]),
    ("redact", &["countersign-json", "countersign-text", "countersign-types", "serde"]),
    ("crisis", &["countersign-text", "countersign-types", "serde"]),
    ("ledger", &["countersign-json", "countersign-text", "countersign-types", "serde", "sha2"]),
    ("shell", &[]),
    (
        "risk",
        &[
            "countersign-crisis",
            "countersign-json",
            "countersign-redact",
            "countersign-shell",
            "countersign-text",
            "countersign-types",
            "serde",
            "smallvec",
        ],
    ),
    ("workflow", &["countersign-json", "countersign-risk", "countersign-types", "serde"]),
    (
        "judge",
        &[
            "countersign-json",
            "countersign-redact",
            "countersign-risk",
            "countersign-text",
            "countersign-types",
            "serde",
        ],
    ),
    (
        "policy",
        &[
            "cedar-policy",
            "countersign-json",
            "countersign-risk",
            "countersign-shell",
            "countersign-types",
            "countersign-workflow",
            "miette",
            "serde",
            "serde_json",
            "toml",
        ],
    ),
];
const PURE_BUILD_MAY_USE: [&str; 3] = ["countersign-text", "serde", "toml"];
/// The other crates from the lowest to the highest. A crate may use only those before it; the pure
/// crates come before all of them.
const LAYERS: [&str; 13] = [
    "tls",
    "net",
    "guard",
    "judge-client",
    "store",
    "channels",
    "client",
    "facts",
    "a2a",
    "snapshot",
    "daemon",
    "gateways",
    "cli",
];

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
fn the_pure_crates_have_closed_dependency_lists() {
    for (name, may_use) in PURE {
        let manifest = read(&root().join(format!("crates/{name}/Cargo.toml")));
        assert_eq!(dependencies(&manifest, "dependencies"), may_use, "crates/{name}");
        for used in dependencies(&manifest, "build-dependencies") {
            let known = PURE_BUILD_MAY_USE.contains(&used.as_str());
            assert!(known, "crates/{name}: the build may not use {used}");
        }
        assert!(!manifest.contains("[target."), "no dependencies by target either");
        assert!(!manifest.contains("[dependencies."), "one line for each dependency");
    }
}

#[test]
fn the_pure_crates_do_no_io_and_read_no_clock() {
    let forbidden =
        ["std::fs", "std::net", "std::process", "std::env", "std::time", "std::io", "std::thread"];
    let pure =
        |file: &str| PURE.iter().any(|(name, _)| file.starts_with(&format!("crates/{name}/")));
    for path in product().into_iter().filter(|path| pure(&shown(path))) {
        let text = read(&path);
        let product = without_tests(&text).split("#[cfg(test)]").next().unwrap_or_default();
        for name in forbidden {
            assert!(!product.contains(name), "{}: this crate is pure, no {name}", shown(&path));
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
fn only_tls_and_net_configure_tls_and_net_uses_no_other_crate_of_ours() {
    for path in ending_in("toml") {
        let (file, text) = (shown(&path), read(&path));
        if file == "Cargo.toml" || file == "crates/net/Cargo.toml" {
            continue;
        }
        for name in ["hyper-rustls", "rustls-native-certs"] {
            assert!(!text.contains(&format!("\n{name}")), "{file}: {name} belongs to net");
        }
        // Servers accept connections with it, as `tls` configures them.
        let servers = ["crates/daemon/Cargo.toml", "crates/a2a/Cargo.toml"];
        let accepts = servers.contains(&file.as_str()) || !text.contains("\ntokio-rustls");
        assert!(accepts, "{file}: tokio-rustls belongs to net and the servers");
        let configures = file == "crates/tls/Cargo.toml" || !text.contains("\nrustls.");
        assert!(configures, "{file}: rustls belongs to tls");
    }
    let net = dependencies(&read(&root().join("crates/net/Cargo.toml")), "dependencies");
    assert!(!net.iter().any(|name| name.starts_with("countersign")), "{net:?}");
    let channels = read(&root().join("crates/channels/Cargo.toml"));
    assert!(!channels.contains("countersign-store"), "a channel cannot see the store");
}

#[test]
fn no_crate_uses_one_above_it() {
    for entry in fs::read_dir(root().join("crates")).unwrap() {
        let name = entry.unwrap().file_name().to_string_lossy().to_string();
        let all: Vec<&str> = PURE.iter().map(|(name, _)| *name).chain(LAYERS).collect();
        let layer = all.iter().position(|one| *one == name);
        let layer = layer.unwrap_or_else(|| panic!("crates/{name} is in no layer"));
        let manifest = read(&root().join(format!("crates/{name}/Cargo.toml")));
        for used in dependencies(&manifest, "dependencies") {
            let Some(used) = used.strip_prefix("countersign-") else { continue };
            let below = all.iter().take(layer).any(|one| *one == used);
            assert!(below, "crates/{name} uses crates/{used}, which is not below it");
        }
    }
}
