//! Rows with a label, and what the reader makes of them.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use countersign_crisis::evidence::{features, lexicon, own_words, windows};
use countersign_crisis::{Screening, screen_by_rules};
use countersign_text::words::split_words;
use serde::Deserialize;

/// A row as it is in the file.
#[derive(Deserialize)]
struct RowFile {
    text: String,
    label: String,
    kind: String,
    lang: String,
}

/// A row with its features.
pub struct Row {
    /// The text.
    pub text: String,
    /// Whether it is a crisis.
    pub crisis: bool,
    /// What it is an example of.
    pub kind: String,
    /// The language that its author named.
    pub lang: String,
    /// The file it is from.
    pub batch: String,
    /// Whether the reader takes it for English.
    pub reads_english: bool,
    /// The features of its windows.
    pub windows: Vec<features::Features>,
    /// What the rules say.
    pub by_rules: Screening,
    /// Its part in cross-validation.
    pub fold: usize,
}

/// Parts in cross-validation.
pub const FOLDS: usize = 5;

/// Reads a file of rows.
pub fn read(path: &Path) -> Result<Vec<Row>, String> {
    let text = fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
    let batch = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let line = |line: &str| -> Result<Row, String> {
        let row: RowFile = serde_json::from_str(line).map_err(|e| format!("{batch}: {e}"))?;
        Ok(row_of(row, &batch))
    };
    text.lines().map(line).collect()
}

/// Reads the lines that the rules were written with: `+ ` is a crisis, `- ` is not.
pub fn read_lines(path: &Path) -> Result<Vec<Row>, String> {
    let text = fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
    let lang = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let row = |line: &str| {
        let (mark, text) = line.split_once(' ')?;
        let label = match mark {
            "+" => "crisis",
            "-" => "not_crisis",
            _ => return None,
        };
        let (text, label) = (text.to_owned(), label.to_owned());
        Some(row_of(RowFile { text, label, kind: "line".to_owned(), lang: lang.clone() }, LINES))
    };
    Ok(text.lines().filter_map(row).collect())
}

/// The batch of the lines that the rules were written with.
pub const LINES: &str = "lines";

fn row_of(row: RowFile, batch: &str) -> Row {
    let words = own_words(&row.text);
    let language = lexicon::language(&row.text, &words);
    let parts = windows::windows(&words);
    let parts = parts.iter().filter_map(|window| words.get(window.from..window.to));
    Row {
        windows: parts.map(|part| features::of(part, language)).collect(),
        by_rules: screen_by_rules(&row.text),
        reads_english: language.is_english(),
        fold: fold(&row.text),
        crisis: row.label == "crisis",
        kind: row.kind,
        lang: row.lang,
        batch: batch.to_owned(),
        text: row.text,
    }
}

fn fold(text: &str) -> usize {
    let hash = text.bytes().fold(0xCBF2_9CE4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3)
    });
    usize::try_from((hash >> 32) % FOLDS as u64).unwrap_or_default()
}

/// Puts look-alikes that were written as twins into the part of the row they resemble most.
pub fn keep_twins_together(rows: &mut [Row]) {
    let words: Vec<HashSet<String>> = rows
        .iter()
        .map(|row| split_words(&row.text).into_iter().map(|word| word.text).collect())
        .collect();
    for at in 0..rows.len() {
        if rows[at].kind != "benign_twin" {
            continue;
        }
        let same = |other: &usize| rows[*other].crisis && rows[*other].lang == rows[at].lang;
        let alike = |other: usize| {
            let both = words[at].intersection(&words[other]).count();
            both * 1000 / words[at].union(&words[other]).count().max(1)
        };
        let twin = (0..rows.len()).filter(same).max_by_key(|other| alike(*other));
        if let Some(twin) = twin {
            rows[at].fold = rows[twin].fold;
        }
    }
}
