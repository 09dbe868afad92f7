//! The README and some pages show what the program prints: every `console` block is run, in
//! the folder of the sample logs.
//!
//! After a wanted change: `UPDATE_GOLDEN=1 cargo test -p countersign --test command`.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use super::binary::{countersign, stdout};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
const PAGES: [&str; 3] = ["README.md", "docs/assessment.md", "docs/rollout.md"];
const SAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../gateways/fixtures/logs");

#[test]
fn the_documents_show_real_output() {
    for page in PAGES {
        let path = format!("{ROOT}/{page}");
        let fresh = with_real_output(&std::fs::read_to_string(&path).unwrap(), page);
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            std::fs::write(&path, &fresh).unwrap();
        }
        let shown = std::fs::read_to_string(&path).unwrap();
        assert!(fresh == shown, "{page} shows old output; see the head of this file");
    }
}

/// The page with the output of each command in its `console` blocks.
fn with_real_output(text: &str, page: &str) -> String {
    let mut fresh = String::new();
    let mut commands = 0;
    let mut in_block = false;
    for line in text.lines() {
        if line.starts_with("```") {
            in_block = line == "```console";
        } else if let Some(command) = line.strip_prefix("$ countersign").filter(|_| in_block) {
            commands += 1;
            let mut program = countersign();
            program.args(words(command)).current_dir(SAMPLES).stdin(Stdio::null());
            let output = program.output().unwrap();
            assert_eq!(output.status.code(), Some(0), "{line}");
            fresh.push_str(line);
            fresh.push('\n');
            fresh.push_str(&stdout(&output));
            continue;
        } else if in_block {
            continue;
        }
        fresh.push_str(line);
        fresh.push('\n');
    }
    assert!(commands > 0, "{page} shows nothing");
    fresh
}

/// Every command in a block of commands, as its parser takes it.
#[test]
fn the_documents_name_real_commands() {
    let mut commands = 0;
    for path in pages() {
        let text = std::fs::read_to_string(&path).unwrap();
        for line in shown_commands(&text) {
            let mut program = countersign();
            // Help ends the parsing, but only behind valid arguments.
            let output = program.args(words(&line)).arg("--help").stdin(Stdio::null()).output();
            let output = output.unwrap();
            let error = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(0), "{}: {line}: {error}", path.display());
            commands += 1;
        }
    }
    assert!(commands > 40, "only {commands} commands were found");
}

/// README.md and all pages below `docs`.
fn pages() -> Vec<PathBuf> {
    let root = Path::new(ROOT);
    let mut pages = vec![root.join("README.md")];
    for folder in ["docs", "docs/agents"] {
        let files = std::fs::read_dir(root.join(folder)).unwrap().map(|file| file.unwrap().path());
        pages.extend(files.filter(|path| path.extension().is_some_and(|ending| ending == "md")));
    }
    pages
}

/// The arguments of each line that starts `countersign` in a block of commands.
fn shown_commands(text: &str) -> Vec<String> {
    let mut block = None;
    let mut found = Vec::new();
    for line in text.lines() {
        if let Some(kind) = line.trim_start().strip_prefix("```") {
            block = if block.is_none() { Some(kind) } else { None };
            continue;
        }
        let line = line.trim_start().trim_start_matches("$ ").trim_start_matches("sudo ");
        if let Some(rest) = line.strip_prefix("countersign ")
            && block.is_some_and(|kind| ["", "sh", "console", "text"].contains(&kind))
        {
            let ends = [" # ", "  #", " | ", " > ", " && ", " < "];
            let end = ends.iter().filter_map(|end| rest.find(end)).min().unwrap_or(rest.len());
            found.push(rest.get(..end).unwrap_or(rest).trim().to_owned());
        }
    }
    found
}

/// Words apart by spaces, single quotes keep them together.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (at, piece) in text.split('\'').enumerate() {
        if at % 2 == 1 {
            words.push(piece.to_owned());
        } else {
            words.extend(piece.split_whitespace().map(str::to_owned));
        }
    }
    words
}
