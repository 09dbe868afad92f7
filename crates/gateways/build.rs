//! Embeds the plugins that the installer copies into agents.

use std::error::Error;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// The files of a plugin that are installed; tests and documents are not.
const INSTALLED: [&str; 4] = ["js", "json", "py", "yaml"];
const EXCLUDED: [&str; 2] = ["package-lock.json", "tsconfig.json"];
/// The folder of the source that all JavaScript plugins share.
const SHARED: &str = "shared";

fn main() -> Result<(), Box<dyn Error>> {
    let plugins = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("../../plugins");
    println!("cargo::rerun-if-changed={}", plugins.display());
    let shared = fs::canonicalize(plugins.join(SHARED).join("ask.js"))?;
    let mut code = String::new();
    for folder in entries(&plugins)? {
        let name = file_name(&folder);
        if !folder.is_dir() || name == SHARED {
            continue;
        }
        writeln!(code, "/// The files of the plugin for {name}.")?;
        writeln!(code, "pub const {}: &[(&str, &str)] = &[", name.to_uppercase())?;
        for path in entries(&folder)? {
            let file = file_name(&path);
            let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
            let is_test = file.contains(".test.") || file.starts_with("test_");
            let is_installed = INSTALLED.contains(&ending) && !EXCLUDED.contains(&file);
            if !path.is_file() || !is_installed || is_test {
                continue;
            }
            let path = fs::canonicalize(&path)?;
            // A plugin must be one file where it is installed, so the shared source is appended.
            if ending == "js" {
                let (own, shared) = (literal(&path), literal(&shared));
                let text = format!("concat!(include_str!({own}), '\\n', include_str!({shared}))");
                writeln!(code, "    ({file:?}, {text}),")?;
            } else {
                writeln!(code, "    ({file:?}, include_str!({})),", literal(&path))?;
            }
        }
        writeln!(code, "];")?;
    }
    fs::write(Path::new(&env::var("OUT_DIR")?).join("plugins.rs"), code)?;
    Ok(())
}

/// The entries of a folder, sorted by name.
fn entries(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths: Vec<_> = fs::read_dir(folder)?.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    Ok(paths)
}

fn file_name(path: &Path) -> &str {
    path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
}

/// A path as a Rust string literal.
fn literal(path: &Path) -> String {
    format!("{:?}", path.to_string_lossy())
}
