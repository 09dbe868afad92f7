//! Takes the plugins that are copied into agents along, inside the program.

use std::error::Error;
use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

/// What of a plugin is installed; its tests and papers are not.
const SHIPPED: [&str; 4] = ["js", "json", "py", "yaml"];
const LEFT: [&str; 2] = ["package-lock.json", "tsconfig.json"];

fn main() -> Result<(), Box<dyn Error>> {
    let plugins = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("../../plugins");
    println!("cargo::rerun-if-changed={}", plugins.display());
    let mut code = String::new();
    for name in ["opencode", "openclaw", "hermes"] {
        let folder = plugins.join(name);
        let upper = name.to_uppercase();
        writeln!(code, "/// The files of the plugin for {name}.")?;
        writeln!(code, "pub const {upper}: &[(&str, &str)] = &[")?;
        let mut files: Vec<_> = fs::read_dir(&folder)
            .map(|entries| entries.flatten().map(|entry| entry.path()).collect())
            .unwrap_or_default();
        files.sort();
        for path in files {
            let file = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
            let is_test = file.contains(".test.") || file.starts_with("test_");
            if !path.is_file() || !SHIPPED.contains(&ending) || LEFT.contains(&file) || is_test {
                continue;
            }
            let whole = fs::canonicalize(&path)?.to_string_lossy().into_owned();
            writeln!(code, "    ({file:?}, include_str!({whole:?})),")?;
        }
        writeln!(code, "];")?;
    }
    fs::write(Path::new(&env::var("OUT_DIR")?).join("plugins.rs"), code)?;
    Ok(())
}
