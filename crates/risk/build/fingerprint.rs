//! One number for all rule files, so that a ledger entry can say which rules were in force.

use std::fs;
use std::path::{Path, PathBuf};

/// FNV-1a over names and contents, in order. Whoever builds chooses the rules, so nothing has to
/// withstand forgery here: a change must show, no more.
pub fn generate(rules: &Path, out: &Path) -> Result<(), String> {
    let mut files = Vec::new();
    collect(rules, &mut files)?;
    // The knowledge that other crates hold counts too.
    for folder in ["../crisis/rules", "../redact/rules"] {
        println!("cargo::rerun-if-changed={folder}");
        collect(Path::new(folder), &mut files)?;
    }
    files.sort();
    let mut hash = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d_u128;
    for file in files {
        let content = fs::read(&file).map_err(|e| format!("{}: {e}", file.display()))?;
        for byte in file.to_string_lossy().bytes().chain([0]).chain(content) {
            hash = (hash ^ u128::from(byte)).wrapping_mul(0x0100_0000_0000_0000_0000_013b);
        }
    }
    let text = format!("/// Of all rule files.\nconst FINGERPRINT: &str = \"{hash:032x}\";\n");
    fs::write(out.join("fingerprint.rs"), text).map_err(|e| e.to_string())
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), String> {
    let entries = fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    for entry in entries {
        let path = entry.map_err(|e| e.to_string())?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}
