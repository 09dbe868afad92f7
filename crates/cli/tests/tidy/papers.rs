//! Documents: there, short, complete; rules in the file of their family.

use std::fs;

use crate::files::{ending_in, read, root, shown};

#[test]
fn the_code_map_names_every_crate_and_every_module_of_risk() {
    let map = read(&root().join("ARCHITECTURE.md"));
    for entry in fs::read_dir(root().join("crates")).unwrap() {
        let name = entry.unwrap().file_name().to_string_lossy().to_string();
        assert!(map.contains(&format!("crates/{name}")), "crates/{name} is not on the map");
    }
    let lib = read(&root().join("crates/risk/src/lib.rs"));
    let modules = lib.lines().filter_map(|line| {
        line.strip_prefix("pub mod ").or(line.strip_prefix("mod "))?.strip_suffix(';')
    });
    for module in modules {
        assert!(map.contains(&format!("`{module}`")), "risk's `{module}` is not on the map");
    }
}

#[test]
fn every_rule_is_in_the_file_of_its_family() {
    for path in ending_in("toml") {
        if !shown(&path).starts_with("crates/risk/rules/commands/") {
            continue;
        }
        let family = path.file_stem().unwrap().to_string_lossy().to_string();
        for line in read(&path).lines() {
            let Some(id) = line.strip_prefix("id = \"") else { continue };
            let fits = id.split('.').next() == Some(family.as_str());
            assert!(fits, "{}: {line} belongs elsewhere", shown(&path));
        }
    }
}

#[test]
fn the_papers_are_there_and_short() {
    for (name, most) in [("README.md", 200), ("ARCHITECTURE.md", 200)] {
        let lines = read(&root().join(name)).lines().count();
        assert!(lines <= most, "{name}: {lines} lines, at most {most}");
    }
    for name in ["CONTRIBUTING.md", "SECURITY.md", "LICENSE-MIT", "LICENSE-APACHE"] {
        assert!(!read(&root().join(name)).trim().is_empty(), "{name}");
    }
    assert!(read(&root().join("CHANGELOG.md")).contains("## [Unreleased]"));
}

/// The address of the repository is written once, in the workspace's Cargo.toml, or nowhere.
#[test]
fn no_metadata_is_empty() {
    for path in ending_in("toml") {
        let (file, text) = (shown(&path), read(&path));
        for field in ["repository", "homepage", "documentation", "authors"] {
            for value in ["\"\"", "[]"] {
                let line = format!("\n{field} = {value}");
                assert!(!text.contains(&line), "{file}: {field} is empty; leave it out");
            }
            let own = file != "Cargo.toml" && text.contains(&format!("\n{field} = \""));
            assert!(!own, "{file}: {field} belongs in the workspace's Cargo.toml");
        }
    }
}
