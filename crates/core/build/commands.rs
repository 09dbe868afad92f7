//! `rules/commands` → a static table.

use std::path::Path;

/// Reads the rule files of this kind and writes the table into `out`.
pub fn generate(_rules: &Path, _out: &Path) -> Result<(), String> {
    Ok(())
}
