//! The house rules, kept by a test: sizes, names, core's closed dependency list, the code map.

#[cfg(test)]
mod tidy {
    use std::fs;
    use std::path::{Path, PathBuf};

    const SOFT_LINES: usize = 250;
    const HARD_LINES: usize = 500;
    const COLUMNS: usize = 100;
    const LONG_TEXT: usize = 60;
    const FORBIDDEN_NAMES: [&str; 5] = ["utils", "util", "common", "manager", "helper"];
    const CORE_MAY_USE: [&str; 3] = ["ryu-js", "serde", "sha2"];
    const CORE_BUILD_MAY_USE: [&str; 2] = ["serde", "toml"];

    fn root() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
    }

    fn read(path: &Path) -> String {
        fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
    }

    fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
        let Ok(entries) = fs::read_dir(folder) else { return };
        for path in entries.map(|entry| entry.unwrap().path()) {
            let name = path.file_name().unwrap().to_string_lossy().to_string();
            if name == "target" || name.starts_with('.') {
                continue;
            }
            if path.is_dir() {
                walk(&path, found);
            } else {
                found.push(path);
            }
        }
    }

    /// Files below the root, as seen from it.
    fn files(ending: &str) -> Vec<PathBuf> {
        let mut found = Vec::new();
        walk(&root(), &mut found);
        found.retain(|path| path.extension().is_some_and(|e| e == ending));
        found.sort();
        found
    }

    fn shown(path: &Path) -> String {
        path.strip_prefix(root()).unwrap_or(path).display().to_string()
    }

    #[test]
    fn every_file_says_what_it_is_and_stays_small() {
        let mut complaints = Vec::new();
        for path in files("rs") {
            let (name, text) = (shown(&path), read(&path));
            if !text.starts_with("//! ") {
                complaints.push(format!("{name}: the first line must be `//! what this is`"));
            }
            let code = |line: &&str| !line.trim().is_empty() && !line.trim().starts_with("//");
            let lines = text.lines().filter(code).count();
            if lines > HARD_LINES {
                complaints.push(format!("{name}: {lines} lines of code, at most {HARD_LINES}"));
            } else if lines > SOFT_LINES {
                println!("look again: {name} has {lines} lines of code");
            }
            for (at, line) in text.lines().enumerate() {
                // A long text in quotes cannot be broken without making it harder to read.
                let quoted = line.split('"').skip(1).step_by(2).map(str::len).max().unwrap_or(0);
                if line.chars().count() > COLUMNS && quoted <= LONG_TEXT {
                    complaints.push(format!("{name}:{}: wider than {COLUMNS} columns", at + 1));
                }
            }
        }
        assert!(complaints.is_empty(), "\n{}", complaints.join("\n"));
    }

    #[test]
    fn names_explain_themselves() {
        let mut found = Vec::new();
        walk(&root(), &mut found);
        for path in found {
            let name = shown(&path).to_lowercase();
            let mut words = name.split(|c: char| !c.is_alphanumeric());
            let bad = words.find(|word| FORBIDDEN_NAMES.contains(word));
            assert!(bad.is_none(), "{name}: `{}` says nothing", bad.unwrap_or_default());
        }
    }

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
        let forbidden = [
            "std::fs",
            "std::net",
            "std::process",
            "std::env",
            "std::time",
            "std::io",
            "std::thread",
        ];
        for path in files("rs") {
            let file = shown(&path);
            if !file.starts_with("crates/core/src/") || file.ends_with("/tests.rs") {
                continue;
            }
            let text = read(&path);
            let product = text.split("#[cfg(test)]").next().unwrap_or_default();
            for name in forbidden {
                assert!(!product.contains(name), "{file}: core is pure, no {name}");
            }
        }
    }

    #[test]
    fn only_the_store_speaks_to_a_database() {
        for path in files("toml") {
            let (file, text) = (shown(&path), read(&path));
            if file == "Cargo.toml" || file == "crates/store/Cargo.toml" {
                continue;
            }
            for name in ["rusqlite", "tokio-postgres", "sqlx"] {
                assert!(
                    !text.contains(&format!("\n{name}")),
                    "{file}: {name} belongs to the store"
                );
            }
        }
    }

    #[test]
    fn only_net_opens_tls_connections_and_it_knows_nothing_else_of_ours() {
        for path in files("toml") {
            let (file, text) = (shown(&path), read(&path));
            if file == "Cargo.toml" || file == "crates/net/Cargo.toml" {
                continue;
            }
            for name in ["hyper-rustls", "tokio-rustls", "rustls-native-certs"] {
                assert!(!text.contains(&format!("\n{name}")), "{file}: {name} belongs to net");
            }
        }
        let net = dependencies(&read(&root().join("crates/net/Cargo.toml")), "dependencies");
        assert!(!net.iter().any(|name| name.starts_with("countersign")), "{net:?}");
        let channels = read(&root().join("crates/channels/Cargo.toml"));
        assert!(!channels.contains("countersign-store"), "a channel cannot see the store");
    }

    #[test]
    fn the_code_map_names_every_crate_and_every_room_of_core() {
        let map = read(&root().join("ARCHITECTURE.md"));
        for entry in fs::read_dir(root().join("crates")).unwrap() {
            let name = entry.unwrap().file_name().to_string_lossy().to_string();
            assert!(map.contains(&format!("crates/{name}")), "crates/{name} is not on the map");
        }
        let lib = read(&root().join("crates/core/src/lib.rs"));
        let modules = lib.lines().filter_map(|line| {
            line.strip_prefix("pub mod ").or(line.strip_prefix("mod "))?.strip_suffix(';')
        });
        for module in modules {
            assert!(map.contains(&format!("`{module}`")), "core's `{module}` is not on the map");
        }
    }

    #[test]
    fn every_rule_stands_in_the_file_of_its_family() {
        for path in files("toml") {
            if !shown(&path).starts_with("crates/core/rules/commands/") {
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
        for (name, most) in [("README.md", 200), ("ARCHITECTURE.md", 300)] {
            let lines = read(&root().join(name)).lines().count();
            assert!(lines <= most, "{name}: {lines} lines, at most {most}");
        }
        for name in ["CONTRIBUTING.md", "SECURITY.md", "LICENSE-MIT", "LICENSE-APACHE"] {
            assert!(!read(&root().join(name)).trim().is_empty(), "{name}");
        }
        assert!(read(&root().join("CHANGELOG.md")).contains("## [Unreleased]"));
    }
}
