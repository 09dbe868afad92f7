//! The README shows what the program says: every `console` block is run.
//!
//! After a wanted change: `UPDATE_GOLDEN=1 cargo test -p countersign --test command`.

use super::binary::{run, stdout};

const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../README.md");

#[test]
fn the_readme_shows_real_output() {
    let readme = std::fs::read_to_string(PATH).unwrap();
    let mut fresh = String::new();
    let mut commands = 0;
    let mut in_block = false;
    for line in readme.lines() {
        if line.starts_with("```") {
            in_block = line == "```console";
        } else if let Some(command) = line.strip_prefix("$ countersign").filter(|_| in_block) {
            commands += 1;
            let output = run(&words(command).iter().map(String::as_str).collect::<Vec<_>>());
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
    assert!(commands > 0, "the README shows nothing");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(PATH, &fresh).unwrap();
    }
    let readme = std::fs::read_to_string(PATH).unwrap();
    assert!(fresh == readme, "the README shows old output; see the head of this file");
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
