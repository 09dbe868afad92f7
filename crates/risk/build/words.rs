//! `rules/words.txt` → two static arrays of 1024 words.

use std::fmt::Write as _;
use std::path::Path;

/// Reads the list, `[first]` then `[second]`, and writes `words.rs` into `out`.
pub fn generate(file: &Path, out: &Path) -> Result<(), String> {
    let text =
        std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let mut code = String::new();
    let rest = text.split_once("[first]").ok_or("words.txt has no [first]")?.1;
    let (first, second) = rest.split_once("[second]").ok_or("words.txt has no [second]")?;
    for (name, list) in [("FIRST", first), ("SECOND", second)] {
        let words: Vec<&str> = list.split_whitespace().collect();
        if words.len() != 1024 {
            return Err(format!("words.txt: {name} has {} words, wanted 1024", words.len()));
        }
        writeln!(code, "static {name}: [&str; 1024] = {words:?};").map_err(|e| e.to_string())?;
    }
    std::fs::write(out.join("words.rs"), code).map_err(|error| format!("words.rs: {error}"))
}
